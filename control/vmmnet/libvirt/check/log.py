# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of the audit log: the hook makes the file and its folder, in a session QEMU the file."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from ..element import Net
from . import apparmor, selinux, ways
from .facts import SEARCH, WRITE, Domain, Finding, Host, Node


def check(domain: Domain, net: Net, host: Host) -> Iterator[Finding]:
    """Check whether QEMU can write it."""
    path = net.sockets.audit if net.sockets is not None else None
    if path is None:
        return
    about = f"audit {path}"
    try:
        yield from _way(about, path, host)
    except PermissionError as error:
        told = f"you may not read {error.filename or path}, so it was not checked"
        yield Finding(about, told, "run this as root", "note")
    except OSError as error:
        yield Finding(about, f"cannot be had: {error.strerror}", "name another file")
    rules = apparmor.of(domain, host)
    if rules is not None and not apparmor.allows(rules, str(path), "w"):
        yield apparmor.not_allowed(about, [(str(path), "w")])
    if host.selinux() and apparmor.is_confined(domain, host):
        yield from selinux.check_log(path, host)


def _way(about: str, path: Path, host: Host) -> Iterator[Finding]:
    """Check the file, if it is there, and the folders that are.  Raises OSError."""
    user, is_session = host.user(), host.hook() is None
    folder, way = _deepest(path.parent, host)
    if not stat.S_ISDIR(way[-1].mode):
        yield Finding(about, f"{folder} is no folder", "name another file")
        return
    if is_session and folder != path.parent:
        yield Finding(about, "its folder does not exist", f"'mkdir -p {ways.word(path.parent)}'")
        return
    try:
        file: Node | None = host.way(path)[-1]
    except FileNotFoundError:
        file = None
    if file is not None and not is_session and file.path != way[-1].path / path.name:
        yield Finding(about, "is a link, and the hook refuses it", "name the file itself")
        return
    if file is not None and not stat.S_ISREG(file.mode):
        yield Finding(about, "is no file", "name another one")
        return
    if user is None:
        # Reported once, not for each file.
        return
    for each in way:
        if not user.may(each, SEARCH):
            told = f"QEMU's user, {user.name}, may not search {each.path}"
            yield Finding(about, told, f"'chmod a+x {ways.word(each.path)}'")
            return
    # The hook gives the file to QEMU's user.
    place = file or way[-1]
    if is_session and not user.may(place, WRITE):
        told = f"QEMU's user, {user.name}, may not write {place.path}"
        yield Finding(about, told, f"'chmod u+w {ways.word(place.path)}', or name another file")


def _deepest(folder: Path, host: Host) -> tuple[Path, list[Node]]:
    """The deepest folder that exists, and the way to it.  Raises OSError."""
    while True:
        try:
            return folder, host.way(folder)
        except FileNotFoundError:
            if folder == folder.parent:
                raise
            folder = folder.parent
