# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet hostvlan roles``: the command line of ``etcd.roles``."""

from __future__ import annotations

import argparse
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from vmmnet.command import output
from vmmnet.command.parser import Parser, subcommand
from vmmnet.command.status import Refused, Status, UsageError
from vmmnet.etcd.place import read_password
from vmmnet.values import hostname

from . import options

if TYPE_CHECKING:
    from ..etcd.roles import Roles

_ACTIONS = ("agent", "writer", "enable", "show", "remove")
_PASSWORD_OCTETS = 24


def password_in(path: Path) -> str:
    """Read the password from a file; a missing file is made, with a new password."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return read_password(path)
    except OSError as error:
        raise Refused(f"--password-file {path}: {error.strerror}") from error
    password = secrets.token_urlsafe(_PASSWORD_OCTETS)
    try:
        with os.fdopen(file, "w") as stream:
            stream.write(password + "\n")
    except OSError as error:
        # An empty file would be read as an empty password.
        path.unlink(missing_ok=True)
        raise Refused(f"--password-file {path}: {error.strerror}: no user is made") from error
    return password


def add_command(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """Add ``roles`` to the sub-commands."""
    parser = subcommand(
        subparsers,
        "roles",
        run,
        "make and remove users of a table in etcd",
        "Make users of etcd, in this order:\n\n"
        "  vmmnet hostvlan roles agent HOST     may read the table, not change it\n"
        "  vmmnet hostvlan roles writer NAME    may change it\n"
        "  vmmnet hostvlan roles enable         refuse clients without a password;\n"
        "                                       the user root may do everything\n"
        "  vmmnet hostvlan roles show           list the users\n"
        "  vmmnet hostvlan roles remove USER    remove a user that 'show' lists\n\n"
        "For an existing user, 'agent', 'writer' and 'enable' change the password. After\n"
        "'enable', use --store-user root.",
    )
    parser.add_argument("action", choices=_ACTIONS, help="see above")
    parser.add_argument("name", metavar="NAME", nargs="?", help="of the host, or of the user")
    parser.add_argument(
        "--password-file",
        metavar="FILE",
        type=Path,
        help="the new password, on the first line; made up if there is no such file",
    )
    options.add_store_options(parser)


def run(given: argparse.Namespace) -> int:
    """``roles ACTION [NAME]``."""
    if (given.name is not None) != (given.action in ("agent", "writer", "remove")):
        wants = "no name" if given.name is not None else "a name"
        raise UsageError(f"'{given.action}' takes {wants}")
    makes = given.action in ("agent", "writer", "enable")
    if (given.password_file is not None) != makes:
        wants = "--password-file" if makes else "no --password-file"
        raise UsageError(f"'{given.action}' takes {wants}")
    from vmmnet.etcd.client import Client

    from ..etcd.roles import Roles

    with Client(options.store_config(given)) as client:
        roles = Roles(client)
        if given.action == "show":
            _show(roles.users(), given.json)
            return Status.DONE
        if given.action == "remove":
            _remove(roles, given.name, given.json)
            return Status.DONE
        name = _make(roles, given)
    if given.json:
        output.print_json({"user": name})
    else:
        print(f"{name}: its password is that in {given.password_file}")
    return Status.DONE


def _make(roles: Roles, given: argparse.Namespace) -> str:
    try:
        name = hostname.check(given.name) if given.name is not None else ""
    except hostname.BadHost as error:
        raise UsageError(str(error)) from error
    password = password_in(given.password_file)
    match given.action:
        case "agent":
            return roles.agent(name, password)
        case "writer":
            return roles.writer(name, password)
    return roles.enable(password)


def _remove(roles: Roles, name: str, as_json: bool) -> None:
    from ..etcd.roles import NotRemoved

    try:
        removed = roles.remove(name)
    except NotRemoved as error:
        raise Refused(f"{error}; nothing is removed") from None
    if as_json:
        output.print_json(
            {"user": removed.user or None, "roles": removed.roles, "kept": removed.kept}
        )
        return
    parts = [f"user {removed.user}"] if removed.user else []
    parts += [f"role {role}" for role in removed.roles]
    if parts:
        print(f"removed: {', '.join(parts)}")
    if removed.kept:
        print(f"{name} stays, with {', '.join(removed.kept)}")


def _show(users: dict[str, list[str]], as_json: bool) -> None:
    if as_json:
        output.print_json(users)
        return
    for name, roles in users.items():
        print(f"{name}: {', '.join(roles) or 'no role'}")
