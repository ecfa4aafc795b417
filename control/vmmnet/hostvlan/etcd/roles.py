# SPDX-License-Identifier: GPL-2.0-or-later
"""Users and roles of etcd: writers may change the table, agents may read it.

An agent may read everything below the prefix, and write only the status of its host.
An attacker who controls a host can therefore not change the LNIDs of its VMs on other
hosts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vmmnet.etcd.client import Client, Range
from vmmnet.etcd.errors import EtcdError

from .keys import Keys

AGENT = "vmmnet-agent-"
WRITER = "vmmnet-writer"
ROOT = "root"


class NotRemoved(Exception):
    """A user was not removed; the message says why."""


@dataclass(frozen=True, slots=True)
class Removed:
    """What was removed, and what was kept."""

    #: Empty: the user was kept, with other roles.
    user: str
    roles: list[str]
    kept: list[str]


class Roles:
    """Users and roles of one etcd, for the table below a prefix."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._keys = Keys(client.config.prefix)

    def agent(self, host: str, password: str) -> str:
        """Make the user for a host's agent, or change its password; returns its name."""
        name = AGENT + host
        self._role(name)
        self._grant(name, "READ", self._keys.all)
        self._grant(name, "READWRITE", self._keys.status(host))
        self._user(name, password, name)
        return name

    def writer(self, name: str, password: str) -> str:
        """Make a user that may change the table, or change its password; returns its name."""
        self._role(WRITER)
        self._grant(WRITER, "READWRITE", self._keys.all)
        self._user(name, password, WRITER)
        return name

    def enable(self, password: str) -> str:
        """Make etcd refuse clients without a name and a password; root may do everything."""
        self._user(ROOT, password, ROOT)
        self._client.call("auth/enable", {})
        return ROOT

    def remove(self, name: str) -> Removed:
        """Remove a user that ``agent()`` or ``writer()`` has made; raises NotRemoved.

        A role is removed with its last user.  After an interruption, call it again.
        """
        if name == ROOT:
            raise NotRemoved(f"'{ROOT}' stays: it is the user that manages all others")
        users, is_agent = self.users(), name.startswith(AGENT)
        theirs = users.get(name, [])
        ours = [WRITER] if WRITER in theirs else []
        if is_agent and name in self._roles():
            ours.append(name)
        if name not in users and not ours:
            raise NotRemoved(f"there is no user '{name}'{_who_else(name, users)}")
        if not ours and not is_agent:
            raise NotRemoved(
                f"the user '{name}' is none of 'roles agent' or 'roles writer': its roles are"
                f" {', '.join(theirs) or 'none'}; 'etcdctl user delete' removes it"
            )
        kept = [role for role in theirs if role not in ours]
        gone = [role for role in ours if not _has_another(role, name, users)]
        for role in set(ours).intersection(theirs) if kept else ():
            self._client.call("auth/user/revoke", {"name": name, "role": role})
        if name in users and not kept:
            self._client.call("auth/user/delete", {"name": name})
        for role in gone:
            self._client.call("auth/role/delete", {"role": role})
        return Removed("" if kept or name not in users else name, gone, kept)

    def _roles(self) -> list[str]:
        found: list[str] = self._client.call("auth/role/list", {}).get("roles", [])
        return found

    def users(self) -> dict[str, list[str]]:
        """All users with their roles."""
        names = self._client.call("auth/user/list", {}).get("users", [])
        return {
            name: sorted(self._client.call("auth/user/get", {"name": name}).get("roles", []))
            for name in sorted(names)
        }

    def _role(self, name: str) -> None:
        _unless_there(lambda: self._client.call("auth/role/add", {"name": name}))

    def _grant(self, role: str, what: str, where: Range) -> None:
        self._client.call(
            "auth/role/grant", {"name": role, "perm": {"permType": what, **where.json()}}
        )

    def _user(self, name: str, password: str, role: str) -> None:
        new = {"name": name, "password": password}
        if not _unless_there(lambda: self._client.call("auth/user/add", new)):
            self._client.call("auth/user/changepw", new)
        _unless_there(lambda: self._client.call("auth/user/grant", {"user": name, "role": role}))


def _has_another(role: str, name: str, users: dict[str, list[str]]) -> bool:
    return any(role in theirs for user, theirs in users.items() if user != name)


def _who_else(name: str, users: dict[str, list[str]]) -> str:
    if AGENT + name in users:
        return f": is it '{AGENT}{name}'?"
    others = [user for user in users if user != ROOT]
    return f": there are {', '.join(others)}" if others else ": there is no user to remove"


def _unless_there(action: Callable[[], Any]) -> bool:
    """Make something; returns False if it existed."""
    try:
        action()
    except EtcdError as error:
        if "already" not in str(error):
            raise
        return False
    return True
