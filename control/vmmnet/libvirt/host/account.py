# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's user with the system's libvirt."""

from __future__ import annotations

import grp
import pwd
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONF = Path("/etc/libvirt/qemu.conf")

# The built-in defaults of Debian's and Fedora's libvirt.
_USERS = ("libvirt-qemu", "qemu")
_SETTING = re.compile(r"^\s*(\w+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|(\d+))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Account:
    """A user, with QEMU's group."""

    name: str
    uid: int
    gid: int


def settings(text: str) -> dict[str, str]:
    """Settings of libvirt's qemu.conf whose value is one word or number."""
    return {name: "".join(values) for name, *values in _SETTING.findall(text)}


def read(path: Path = CONF) -> dict[str, str]:
    """The settings of a file, which may be missing. Raises OSError."""
    try:
        return settings(path.read_text(errors="replace"))
    except FileNotFoundError:
        return {}


def label(domain: Any) -> str:
    """The DAC label of a domain's own, ``USER:GROUP``; empty: it has none."""
    own = domain.find("seclabel[@model='dac']")
    return (own.findtext("label") or "") if own is not None else ""


def named(label: str, path: Path = CONF) -> str:
    """Where QEMU's user is named, for messages."""
    return f"<seclabel> ({label})" if label else str(path)


def of(given: Mapping[str, str], label: str = "") -> Account | None:
    """The user by settings, or by a domain's DAC label, ``USER:GROUP``; None: no such user."""
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
    """The user by name or by number, as ``+64055``; the group may be empty. Raises KeyError."""
    number = name.removeprefix("+")
    user = pwd.getpwuid(int(number)) if number.isdecimal() else pwd.getpwnam(name)
    gid = user.pw_gid
    if group:
        number = group.removeprefix("+")
        gid = int(number) if number.isdecimal() else grp.getgrnam(group).gr_gid
    return Account(user.pw_name, user.pw_uid, gid)
