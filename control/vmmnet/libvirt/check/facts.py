# SPDX-License-Identifier: GPL-2.0-or-later
"""The facts for checks: the domain and the host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from ..host.secrets import SecretError

#: Bits of an access, as in the last octal digit of a mode.
READ, WRITE, SEARCH, RUN = 4, 2, 1, 1


@dataclass(frozen=True)
class Finding:
    """A finding. A ``fault`` will fail; a ``note`` is information."""

    about: str
    wrong: str
    remedy: str
    severity: Literal["fault", "note"] = "fault"


@dataclass(frozen=True)
class Domain:
    """The checked domain."""

    #: Name of the domain or file.
    name: str
    #: The domain at its next start.
    defined: Any
    #: The running domain; None: it does not run, or is a file.
    running: Any = None
    #: Not defined yet: 'define' will expand it.
    is_file: bool = False
    #: The daemon's version; None: no daemon was asked.
    version: tuple[int, int, int] | None = None
    #: It ends with its QEMU: ``defined`` is what runs.
    is_transient: bool = False
    #: IDs of HostVLAN's netdevs in its QEMU without an interface.
    empty: frozenset[str] = frozenset()
    #: Other domains of the daemon with its ``address6``, and whether they run.
    sharing: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Node:
    """A file, or a folder of its path."""

    path: Path
    uid: int
    gid: int
    mode: int
    #: It has an access control list, so the mode is not conclusive.
    acl: bool = False
    #: The type of SELinux's label; empty: no label.
    label: str = ""


@dataclass(frozen=True)
class Library:
    """A library, and Debian's package of it; empty: it is of no package."""

    version: str
    package: str


@dataclass(frozen=True)
class Unit:
    """A unit of systemd, as it would be started."""

    #: systemd's word, such as "loaded", "not-found", "masked".
    state: str
    #: The program that it runs, if that is missing.
    missing: str = ""
    #: Why systemd does not tell.
    silent: str = ""


@dataclass(frozen=True)
class Policy:
    """A policy file."""

    #: Why QEMU would refuse it; empty: it would not.
    wrong: str
    #: IDs of the secrets that its proxies want.
    secrets: tuple[str, ...]


@dataclass(frozen=True)
class User:
    """QEMU's user."""

    name: str
    uid: int
    groups: frozenset[int]

    def may(self, node: Node, access: int) -> bool:
        """Whether the mode allows the user an access; yes with an ACL, which is not read.

        QEMU has no capabilities, so root is an ordinary user.
        """
        shift = 6 if node.uid == self.uid else 3 if node.gid in self.groups else 0
        return node.acl or bool(node.mode >> shift & access)


class Host(Protocol):
    """The host, as checks need it."""

    def qemu_conf(self) -> Mapping[str, str] | None:
        """Settings of libvirt's qemu.conf; None: not readable."""

    def hook(self) -> Path | None:
        """Path of our hook; None: not a system daemon."""

    def user(self) -> User | None:
        """QEMU's user; None: the host has no such user."""

    def way(self, path: Path) -> list[Node]:
        """A file and the folders of its path, with links resolved. Raises OSError."""

    def help(self, emulator: Path, option: str, what: str) -> str | None:
        """QEMU's answer to ``-OPTION WHAT``; None: it did not run."""

    def version(self, emulator: Path) -> str | None:
        """QEMU's answer to ``-version``; None: it did not run."""

    def address6_missing(self, address: str) -> str:
        """Why no program of this host can have the address; empty if it can."""

    def address6_device(self, address: str) -> str | None:
        """vmmnet-hostd's interface for an address; None: there is none. Raises ValueError."""

    def conf_wrong(self) -> str:
        """Why host.conf cannot be used; empty if it can."""

    def has_interface(self, name: str) -> bool:
        """Whether the host has an interface."""

    def has_user(self, label: str) -> bool:
        """Whether it has QEMU's user: of a DAC label, else of qemu.conf; also if not known."""

    def hostd(self) -> str:
        """Why vmmnet-hostd does not answer; empty if it does."""

    def secret(self, uuid: str) -> SecretError | None:
        """Why the hook cannot read a secret of libvirt; None: it can."""

    def unit(self, name: str) -> Unit:
        """A unit of systemd."""

    def nobody_at(self, path: Path) -> str:
        """Why nobody answers at a UNIX socket; empty: somebody does."""

    def policy(self, path: Path) -> Policy | None:
        """A policy file; None: it cannot be read."""

    def sysctl(self, name: str) -> str | None:
        """A kernel setting; None: it does not exist."""

    def apparmor(self) -> str | None:
        """AppArmor's rules of guests, includes expanded; None: it does not confine guests."""

    def selinux(self) -> bool:
        """Whether SELinux is enforcing."""

    def unbound(self) -> Library | None:
        """libunbound; None: it is not installed, or its package is not known."""

    def filtered(self) -> set[str]:
        """MAC addresses with HostVLAN in eBPF, in lower case."""
