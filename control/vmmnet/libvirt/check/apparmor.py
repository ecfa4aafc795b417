# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of AppArmor for files, as far as it takes to say whether a path is allowed.

A reader of apparmor.d(5): rules without variables, their globs, ``deny``, and includes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from ..host import hostd
from .facts import Domain, Host

#: What all guests of libvirt may do, below /etc/apparmor.d, and where people add to it.
GUESTS = "abstractions/libvirt-qemu"
LOCAL = f"/etc/apparmor.d/local/{GUESTS}"
#: What people add to the rules of the daemon.
DAEMON = "/etc/apparmor.d/local/usr.sbin.libvirtd"
#: The socket of vmmnet-hostd.
HOSTD = str(hostd.SOCKET)

# Includes that include each other.
_DEEPEST = 8
_INCLUDE = re.compile(r'\s*#?include\s+(?:if\s+exists\s+)?[<"]([^>"]+)[>"]')
_RULE = re.compile(
    r"\s*(?:audit\s+)?(?P<deny>deny\s+)?(?:owner\s+)?(?:file\s+)?"
    r'(?P<path>"/[^"]*"|/\S*)\s+(?P<access>[a-zA-Z]+)\s*(?:->[^,]*)?,'
)


def of(domain: Domain, host: Host) -> str | None:
    """The rules that a domain is under; None: it is under none."""
    return host.apparmor() if is_confined(domain, host) else None


def is_confined(domain: Domain, host: Host) -> bool:
    """Whether libvirt has the domain confined, by whatever the host has."""
    labels = domain.defined.findall("seclabel")
    loose = any(each.get("type") == "none" and each.get("model") != "dac" for each in labels)
    return not loose and (host.qemu_conf() or {}).get("security_driver") != "none"


def flat(read: Callable[[str], list[str]], name: str, depth: int = 0) -> Iterator[str]:
    """The lines of a file below /etc/apparmor.d with those that it includes.

    ``read`` has the texts at a name: several, if it is a folder; none, if there is nothing.
    """
    for text in read(name) if depth < _DEEPEST else ():
        for line in text.splitlines():
            include = _INCLUDE.match(line)
            if include:
                yield from flat(read, include[1], depth + 1)
            else:
                yield line


def allows(rules: str, path: str, access: str) -> bool:
    """Whether rules allow a path all of an access, like ``rw``."""
    given: set[str] = set()
    for line in rules.splitlines():
        rule = _RULE.match(line)
        if rule is None or not _glob(rule["path"].strip('"')).fullmatch(path):
            continue
        letters = set(rule["access"].lower())
        if rule["deny"] and letters & set(access):
            return False
        if not rule["deny"]:
            given |= letters
    return set(access) <= given


def admit(emulator: Path) -> str:
    """How to have libvirt's daemon and guests run an emulator that they may not run."""
    remedy = f"add '{emulator} rmix,' to {LOCAL}"
    if emulator.parent != Path("/usr/bin"):
        remedy += f", and '{emulator} PUx,' to {DAEMON}, 'systemctl reload apparmor'"
    return remedy


def _glob(text: str) -> re.Pattern[str]:
    """A pattern of paths as a regular expression."""
    result, depth = "", 0
    for token in re.findall(r"\*\*|\\.|\[[^]]*\]|.", text):
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
        # A star that is all of a name is not empty.
        some = "+" if result.endswith("/") else "*"
        result += {
            "**": f".{some}",
            "*": f"[^/]{some}",
            "?": "[^/]",
            "{": "(?:",
            "}": ")",
        }.get(token) or ("|" if token == "," and depth else _literal(token))
    try:
        return re.compile(result)
    except re.error:
        # AppArmor itself would refuse it.
        return re.compile(re.escape(text))


def _literal(token: str) -> str:
    if token.startswith("[") and len(token) > 1:
        return token
    return re.escape(token.removeprefix("\\") or token)
