# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts that checks go by: the domain, and what the host says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from ..host.secrets import SecretError

#: Bits of an access, as in a mode's last octal digit.
READ, SEARCH, RUN = 4, 1, 1


@dataclass(frozen=True)
class Finding:
    """Something that was found. A ``fault`` will fail; a ``note`` is good to know."""

    about: str
    wrong: str
    remedy: str
    severity: Literal["fault", "note"] = "fault"


@dataclass(frozen=True)
class Domain:
    """What is checked."""

    #: The domain, or the file.
    name: str
    #: What it is when it starts next.
    defined: Any
    #: What it is now; None: it does not run, or is a file.
    running: Any = None
    #: It is no domain of a daemon yet: 'define' will expand it.
    is_file: bool = False
    #: The daemon's version; None: no daemon was asked.
    version: tuple[int, int, int] | None = None
    #: IDs of HostVLAN's netdevs in its QEMU behind which there is no interface of the host.
    empty: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Node:
    """A file, or a folder that leads to it."""

    path: Path
    uid: int
    gid: int
    mode: int
    #: It has an access control list, so that the mode does not tell all.
    acl: bool = False
    #: The type in SELinux's label; empty: it has none.
    label: str = ""


@dataclass(frozen=True)
class User:
    """The user that QEMU runs as."""

    name: str
    uid: int
    groups: frozenset[int]

    def may(self, node: Node, access: int) -> bool:
        """Whether the mode lets the user do that; with an ACL nobody can tell, and it may.

        QEMU has no capabilities, so that root is a user as any other.
        """
        shift = 6 if node.uid == self.uid else 3 if node.gid in self.groups else 0
        return node.acl or bool(node.mode >> shift & access)


class Host(Protocol):
    """A host, as far as checks have to know it."""

    def qemu_conf(self) -> Mapping[str, str] | None:
        """Settings of libvirt's qemu.conf; None: it may not be read."""

    def hook(self) -> Path | None:
        """Where libvirt looks for our hook; None: the daemon is no system's."""

    def user(self) -> User | None:
        """Who QEMU runs as; None: the host has no such user."""

    def way(self, path: Path) -> list[Node]:
        """A file and the folders from the root to it, links followed. Raises OSError."""

    def help(self, emulator: Path, option: str, what: str) -> str | None:
        """What QEMU says to ``-OPTION WHAT``; None: it could not be asked."""

    def has_address6(self, address: str) -> bool:
        """Whether it is an address of this host."""

    def address6_device(self, address: str) -> str | None:
        """The interface that vmmnet-hostd would put it on; None: none. Raises ValueError."""

    def hostd(self) -> str:
        """Why vmmnet-hostd does not answer; empty: it does."""

    def secret(self, uuid: str) -> SecretError | None:
        """Why the hook cannot have a secret of libvirt; None: it can."""

    def sysctl(self, name: str) -> str | None:
        """A setting of the kernel; None: it has no such."""

    def apparmor(self) -> str | None:
        """The rules of all guests, includes followed; None: guests are not confined by it."""

    def selinux(self) -> bool:
        """Whether it is enforcing."""

    def filtered(self) -> set[str]:
        """MAC addresses that HostVLAN in eBPF looks after. In small letters."""
