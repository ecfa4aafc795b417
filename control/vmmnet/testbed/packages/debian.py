# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages for guests, fetched without touching the host.

apt runs with a state directory of its own below ``build/``.  The mirror is that of the system,
which apt reports at run time, so that no setting of the machine gets into a file of ours;
signatures are checked with the system's keys.  One process at a time uses it.  The suite of the
guests is fixed: bookworm and its backports.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from vmmnet.guestimage import mirror, recipe

from ..base import paths, tools
from ..base.lock import locked

SUITE = recipe.SUITE
_STATE = paths.BUILD / "guest" / "apt"


class Unavailable(RuntimeError):
    """This system's apt does not lead to Debian's packages."""


@dataclass(frozen=True)
class Package:
    """One version of one package in the archive."""

    name: str
    version: str
    depends: tuple[str, ...]


@cache
def sources() -> tuple[str, ...]:
    """The guests' apt sources as one-line entries, from the system's mirrors."""
    entries = mirror.of_host((f"{SUITE}-backports",))
    if not entries:
        raise Unavailable(
            "this system is no Debian whose apt has a source for its main component: add a mirror"
            " of Debian, or see docs/other-systems.md"
        )
    return tuple(entries)


def _apt(tool: str, *arguments: str, cwd: Path | None = None) -> str:
    options = {
        "Dir::State": _STATE / "state",
        "Dir::State::status": _STATE / "status",
        "Dir::Cache": _STATE / "cache",
        "Dir::Etc::sourcelist": _STATE / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "APT::Sandbox::User": "root",
        "APT::Architecture": "amd64",
        "Acquire::Retries": "3",
    }
    words = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    return tools.run([tool, *words, *arguments], cwd=cwd)


@cache
def _update() -> None:
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (_STATE / folder).mkdir(parents=True, exist_ok=True)
    (_STATE / "status").touch()
    (_STATE / "sources.list").write_text("\n".join(sources()) + "\n")
    _apt("apt-get", "update", "-qq")


def _stanzas(text: str) -> list[Package]:
    found = []
    for stanza in text.strip().split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", stanza, re.MULTILINE))
        depends = tuple(
            re.split(r"[ |(:]", item.strip(), maxsplit=1)[0]
            for item in fields.get("Depends", "").split(",")
        )
        found.append(Package(fields["Package"], fields["Version"], depends))
    return found


@locked("apt")
def newest(name: str, series: str) -> Package:
    """The newest version of a package whose version starts with ``series``."""
    _update()
    for package in _stanzas(_apt("apt-cache", "show", name)):
        if package.version.startswith(series + "."):
            return package
    raise Unavailable(f"the mirror has no {name} of the {series} series")


@locked("apt")
def fetch(package: Package, folder: Path) -> Path:
    """Download one package file, verified by apt, into ``folder``."""
    _update()
    folder.mkdir(parents=True, exist_ok=True)
    pattern = f"{package.name}_*_*.deb"
    for stale in folder.glob(pattern):
        stale.unlink()
    _apt("apt-get", "download", "-q", f"{package.name}={package.version}", cwd=folder)
    (file,) = folder.glob(pattern)
    return file


def unpack(file: Path, folder: Path) -> None:
    """Extract the files of a package; its scripts do not run."""
    folder.mkdir(parents=True, exist_ok=True)
    tools.run(["dpkg-deb", "-x", file, folder])
