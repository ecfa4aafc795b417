# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that the libunbound of vmmnet-validate has its security fixes.

As net/dns/unbound/fixes.c, by which dnsd and vmmnet-validate tell.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from pathlib import Path

from .. import validation
from ..element import Net
from .facts import Finding, Host, Library

#: The oldest version with fixes of heap overflows in the validator.
FIXED = (1, 26, 1)
#: The last revision of Debian's stable releases without them; None: all of an older version.
_LACKS = {"12": 4, "13": None}
_LIST = Path("/var/lib/dpkg/status")
_NAME, _PACKAGE = "libunbound.so.8", "libunbound8"


def check(net: Net, host: Host) -> Iterator[Finding]:
    """Check the library of a VM whose names are validated."""
    if net.sockets is None or not validation.is_by_unit(net.sockets):
        return
    library = host.unbound()
    if library is not None and lacks_fixes(library):
        told = "lacks fixes of heap overflows in its validator (CVE-2026-81642, CVE-2026-81634)"
        version = library.package or library.version
        remedy = "install 1.26.1 or later, which Debian 13 has, or leave 'dnssec' out"
        yield Finding(f"libunbound {version}", told, remedy, "note")


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
