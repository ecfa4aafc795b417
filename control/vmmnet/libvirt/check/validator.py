# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of who validates names: the unit that the hook starts, its library, or a socket.

The library's security fixes are those of net/dns/unbound/fixes.c.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .. import validation
from ..host import validator
from .facts import Domain, Finding, Host, Library, Unit

if TYPE_CHECKING:
    # 'place' may lack lxml.
    from ..element import Net, Sockets

#: The oldest version with fixes of heap overflows in the validator.
FIXED = (1, 26, 1)
#: The last revision of Debian's stable releases without them; None: all of an older version.
_LACKS = {"12": 4, "13": None}
_LIST = Path("/var/lib/dpkg/status")
_NAME, _PACKAGE = "libunbound.so.8", "libunbound8"


def check(domain: Domain, net: Net, host: Host) -> Iterator[Finding]:
    """Check what a VM whose names are validated needs for it."""
    if net.sockets is None or not validation.is_wanted(net.sockets):
        return
    if not validation.is_by_unit(net.sockets):
        yield from _socket(net.sockets, host)
        return
    yield from _unit(domain, net.sockets, host)
    library = host.unbound()
    if library is not None and lacks_fixes(library):
        told = "lacks fixes of heap overflows in its validator (CVE-2026-81642, CVE-2026-81634)"
        version = library.package or library.version
        remedy = "install 1.26.1 or later, which Debian 13 has, or leave 'dnssec' out"
        yield Finding(f"libunbound {version}", told, remedy, "note")


def _socket(sockets: Sockets, host: Host) -> Iterator[Finding]:
    """Check a socket of the administrator's, who may start the validator later."""
    silent = host.nobody_at(sockets.validator) if sockets.validator is not None else ""
    if silent:
        fate = "get SERVFAIL" if sockets.dnssec == "strict" else "are not validated"
        remedy = f"start vmmnet-validate with '--socket={sockets.validator}'"
        yield Finding("validator", f"{silent}: names {fate} meanwhile", remedy, "note")


def _unit(domain: Domain, sockets: Sockets, host: Host) -> Iterator[Finding]:
    about = f"dnssec='{sockets.dnssec}'"
    vm = domain.defined.findtext("name") or domain.name
    other = "start vmmnet-validate yourself, and name its socket with 'validator'"
    if host.hook() is None:
        told = f"a session has no hook that would start vmmnet-validate for '{vm}'"
        yield Finding(about, told, other)
        return
    name = validator.unit((domain.defined.findtext("uuid") or "").strip().lower() or "VM")
    wrong = _not_startable(name, host.unit(name))
    if wrong is not None:
        told, remedy = wrong
        yield Finding(about, f"{told}, so that '{vm}' does not start", remedy or other)


def _not_startable(name: str, unit: Unit) -> tuple[str, str] | None:
    """Why the hook cannot start a unit, and the remedy, which may be empty; None: it can."""
    if unit.silent:
        return f"the hook cannot start {name}: {unit.silent}", ""
    if unit.state == "not-found":
        return "vmmnet-validate is not installed", "'apt install vmmnet-validate'"
    if unit.state == "masked":
        return f"{name} is masked", f"'systemctl unmask {name}'"
    if unit.state != "loaded":
        return f"{name} is '{unit.state}'", f"'systemctl status {name}' tells why"
    if unit.missing:
        told = f"{unit.missing}, which {name} runs, is not there"
        return told, "'apt install --reinstall vmmnet-validate'"
    return None


def lacks_fixes(library: Library) -> bool:
    """Whether the library is known to lack them; others' packages may have them by a patch."""
    parts = [int(part) for part in re.findall(r"\d+", library.version)[:3]]
    if (*parts, 0, 0, 0)[:3] >= FIXED:
        return False
    revision = library.package.rpartition("-")[2]
    if stable := re.search(r"\+deb(\d+)u(\d+)", revision):
        last = _LACKS.get(stable[1], -1)
        return last is None or int(stable[2]) <= last
    return re.fullmatch(r"[\d.]*(\+b.*|~bpo.*)?", revision) is not None


def of_system() -> Library | None:
    """The library of this system; None: it is not installed, or its package is not known."""
    try:
        version = ctypes.CDLL(_NAME).ub_version
        text = _LIST.read_text(errors="replace") if _LIST.exists() else ""
    except (OSError, AttributeError):
        return None
    version.restype = ctypes.c_char_p
    found = re.search(rf"^Package: {_PACKAGE}\n(?:.+\n)*?Version: (.+)$", text, re.MULTILINE)
    return Library(version().decode(), found[1] if found else "")
