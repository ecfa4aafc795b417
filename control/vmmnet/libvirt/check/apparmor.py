# SPDX-License-Identifier: GPL-2.0-or-later
"""Decides by AppArmor's rules whether access to a path is allowed.

Reads a part of apparmor.d(5): rules without variables, globs, ``deny``, and includes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from ..host import hostd
from .facts import Domain, Finding, Host

#: Rules of all guests of libvirt, below /etc/apparmor.d, and the local additions.
GUESTS = "abstractions/libvirt-qemu"
LOCAL = f"/etc/apparmor.d/local/{GUESTS}"
#: Local additions to the daemon's rules.
DAEMON = "/etc/apparmor.d/local/usr.sbin.libvirtd"
#: The socket of vmmnet-hostd.
HOSTD = str(hostd.SOCKET)

# Maximum depth of includes, which may form a loop.
_DEEPEST = 8
_INCLUDE = re.compile(r'\s*#?include\s+(?:if\s+exists\s+)?[<"]([^>"]+)[>"]')
_RULE = re.compile(
    r"\s*(?:audit\s+)?(?P<deny>deny\s+)?(?:owner\s+)?(?:file\s+)?"
    r'(?P<path>"/[^"]*"|/\S*)\s+(?P<access>[a-zA-Z]+)\s*(?:->[^,]*)?,'
)


def of(domain: Domain, host: Host) -> str | None:
    """The rules of a domain; None: it is not confined."""
    return host.apparmor() if is_confined(domain, host) else None


def is_confined(domain: Domain, host: Host) -> bool:
    """Whether libvirt confines the domain, if the host can."""
    labels = domain.defined.findall("seclabel")
    loose = any(each.get("type") == "none" and each.get("model") != "dac" for each in labels)
    return not loose and (host.qemu_conf() or {}).get("security_driver") != "none"


def flat(read: Callable[[str], list[str]], name: str, depth: int = 0) -> Iterator[str]:
    """The lines of a file below /etc/apparmor.d, includes expanded.

    ``read`` returns the texts of a name: several for a folder, none if it does not exist.
    """
    for text in read(name) if depth < _DEEPEST else ():
        for line in text.splitlines():
            include = _INCLUDE.match(line)
            if include:
                yield from flat(read, include[1], depth + 1)
            else:
                yield line


def allows(rules: str, path: str, access: str) -> bool:
    """Whether rules allow all of an access, such as ``rw``, to a path."""
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


def not_allowed(about: str, missing: list[tuple[str, str]]) -> Finding:
    """A finding about paths with accesses that no rule allows."""
    lines = " and ".join(f"'{path} {permissions},'" for path, permissions in missing)
    told = "AppArmor does not let guests of libvirt have it"
    return Finding(about, told, f"add {lines} to {LOCAL}")


def admit(emulator: Path) -> str:
    """How to let libvirt's daemon and guests run an emulator."""
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
        # A star that is a whole name does not match the empty name.
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
        # AppArmor would refuse it, too.
        return re.compile(re.escape(text))


def _literal(token: str) -> str:
    if token.startswith("[") and len(token) > 1:
        return token
    return re.escape(token.removeprefix("\\") or token)
