# SPDX-License-Identifier: GPL-2.0-or-later
"""The user that libvirt of the system has QEMU run as."""

from __future__ import annotations

import grp
import pwd
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CONF = Path("/etc/libvirt/qemu.conf")

# Debian's and Fedora's, in whose libvirt they are built in.
_USERS = ("libvirt-qemu", "qemu")
_SETTING = re.compile(r"^\s*(\w+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|(\d+))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Account:
    """A user, with the group that QEMU has."""

    name: str
    uid: int
    gid: int


def settings(text: str) -> dict[str, str]:
    """Settings of libvirt's qemu.conf that are one word or number."""
    return {name: "".join(values) for name, *values in _SETTING.findall(text)}


def read(path: Path = CONF) -> dict[str, str]:
    """The settings of a file, which may be missing. Raises OSError."""
    try:
        return settings(path.read_text(errors="replace"))
    except FileNotFoundError:
        return {}


def of(given: Mapping[str, str], label: str = "") -> Account | None:
    """By settings, or by a domain's own DAC label, ``USER:GROUP``; None: there is no such."""
    user, group = given.get("user", ""), given.get("group", "")
    if label:
        user, _, group = label.partition(":")
    for name in [user] if user else _USERS:
        try:
            return _account(name, group)
        except KeyError:
            continue
    return None


def _account(name: str, group: str) -> Account:
    """By a name or, as ``+64055``, a number; the group may be empty. Raises KeyError."""
    number = name.removeprefix("+")
    user = pwd.getpwuid(int(number)) if number.isdecimal() else pwd.getpwnam(name)
    gid = user.pw_gid
    if group:
        number = group.removeprefix("+")
        gid = int(number) if number.isdecimal() else grp.getgrnam(group).gr_gid
    return Account(user.pw_name, user.pw_uid, gid)
