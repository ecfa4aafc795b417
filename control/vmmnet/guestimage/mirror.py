# SPDX-License-Identifier: GPL-2.0-or-later
"""The mirrors of this host, read from apt at run time."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .recipe import SUITE

_RELEASE = Path("/etc/os-release")
#: Names of releases that apt's sources may have beside the release's own.
_ALIASES = ("oldstable", "stable", "testing", "unstable", "sid")


def _release() -> dict[str, str]:
    text = _RELEASE.read_text() if _RELEASE.exists() else ""
    return dict(re.findall(r'^([A-Z_]+)="?([^"\n]*)"?$', text, re.MULTILINE))


def of_host(more: Sequence[str] = (), suite: str = SUITE) -> list[str]:
    """The host's mirrors as lines for apt; empty if it is no Debian, or has none.

    ``more`` are additional suites, such as backports of ``suite``.
    """
    release = _release()
    if release.get("ID") != "debian":
        return []
    fields = "$(RELEASE) $(COMPONENT) $(REPO_URI) $(ORIGIN)"
    command = ["apt-get", "indextargets", "--format", fields, "Created-By: Packages"]
    try:
        listing = subprocess.run(command, text=True, capture_output=True).stdout
    except FileNotFoundError:
        return []
    return lines(listing, release.get("VERSION_CODENAME", ""), more, suite)


def lines(listing: str, host: str, more: Sequence[str] = (), suite: str = SUITE) -> list[str]:
    """The same from apt-get's list on a host of the release ``host`` (codename).

    Other archives name their suites like Debian's. An archive has no origin while its
    lists were not fetched.
    """
    suites: dict[str, tuple[str, ...]] = {}
    for name in (host, *_ALIASES):
        suites |= {name: (suite, *more), f"{name}-security": (f"{suite}-security",)}
    entries: dict[str, None] = {}
    for line in listing.splitlines():
        release, component, uri, origin = [*line.split(" ", 3), ""][:4]
        if component == "main" and origin in ("Debian", ""):
            entries.update(dict.fromkeys(f"deb {uri} {s} main" for s in suites.get(release, ())))
    found = list(entries)
    return found if any(f" {suite} main" in each for each in found) else []
