# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages for guests, fetched without touching the host.

apt runs with a state directory of its own below ``build/``, one for each release.  The mirror is
that of the system, which apt reports at run time, so that no setting of the machine gets into a
file of ours; signatures are checked with the system's keys.  One process at a time uses it.  The
guests' system is bookworm; a release's packages include its backports.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from vmmnet.guestimage import mirror, recipe

from ..base import architecture, paths, tools
from ..base.lock import locked

SUITE = recipe.SUITE
#: Suites that are no release.
ROLLING = ("sid", "forky")
_STATE = paths.BUILD / "guest" / "apt"
#: Source packages have a state of their own, as few ask for them.
_SOURCES = "-sources"


class Unavailable(RuntimeError):
    """This system's apt does not lead to Debian's packages."""


@dataclass(frozen=True)
class Package:
    """One version of one package in the archive."""

    name: str
    version: str
    depends: tuple[str, ...]
    #: The release that it was looked up in, or its backports.
    release: str = SUITE

    @property
    def series(self) -> tuple[int, ...]:
        """The first two numbers of its version."""
        return series_of(self.version)


def series_of(version: str) -> tuple[int, ...]:
    """The first two numbers of a version."""
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


@cache
def sources(release: str = SUITE) -> tuple[str, ...]:
    """A release's apt sources as one-line entries, from the system's mirrors."""
    entries = mirror.of_host((f"{release}-backports",), release)
    if not entries:
        raise Unavailable(
            "this system is no Debian whose apt has a source for its main component: add a mirror"
            " of Debian, or see docs/other-systems.md"
        )
    return tuple(entries)


def sources_of(suite: str) -> tuple[str, ...]:
    """The same for another suite, without backports; sid and testing have no security suite."""
    entries = [entry for entry in sources() if "-backports" not in entry]
    if suite in ROLLING:
        entries = [entry for entry in entries if f" {SUITE} " in entry]
    return tuple(entry.replace(SUITE, suite) for entry in entries)


def _state(release: str) -> Path:
    return _STATE / f"{release}{architecture.guests().tail}"


def _apt(release: str, tool: str, *arguments: str, cwd: Path | None = None) -> str:
    state = _state(release)
    guests = architecture.guests().name
    options = {
        "Dir::State": state / "state",
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "APT::Sandbox::User": "root",
        "APT::Architecture": guests,
        "Acquire::Retries": "3",
    }
    words = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    # Programs that compile for guests run here.
    both = dict.fromkeys((guests, architecture.HOST.name))
    words += [word for name in both for word in ("-o", f"APT::Architectures::={name}")]
    return tools.run([tool, *words, *arguments], cwd=cwd)


@cache
def _update(release: str) -> None:
    state = _state(release)
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    entries = sources(release.removesuffix(_SOURCES))
    if release.endswith(_SOURCES):
        entries = tuple(entry.replace("deb ", "deb-src ", 1) for entry in entries)
    (state / "sources.list").write_text("\n".join(entries) + "\n")
    _apt(release, "apt-get", "update", "-qq")


def _stanzas(text: str, release: str) -> list[Package]:
    found = []
    for stanza in text.strip().split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", stanza, re.MULTILINE))
        depends = tuple(
            re.split(r"[ |(:]", item.strip(), maxsplit=1)[0]
            for item in fields.get("Depends", "").split(",")
            if item
        )
        found.append(Package(fields["Package"], fields["Version"], depends, release))
    return found


@locked("apt")
def newest(name: str, series: str, release: str = SUITE, *, or_later: bool = False) -> Package:
    """The newest version of a package that is of ``series``, or optionally of a later one."""
    _update(release)
    wanted = series_of(series)
    for package in _stanzas(_apt(release, "apt-cache", "show", name), release):
        if package.version.startswith(series + ".") or (or_later and package.series > wanted):
            return package
    raise Unavailable(f"the mirror's {release} has no {name} of the {series} series")


@locked("apt")
def fetch(package: Package, folder: Path, *, for_host: bool = False) -> Path:
    """Download one package file, verified by apt, into ``folder``.

    ``for_host`` is for programs that run here, whatever the guests' architecture is.
    """
    _update(package.release)
    folder.mkdir(parents=True, exist_ok=True)
    pattern = f"{package.name}_*_*.deb"
    for stale in folder.glob(pattern):
        stale.unlink()
    target = architecture.HOST if for_host else architecture.guests()
    named = f"{package.name}:{target.name}={package.version}"
    _apt(package.release, "apt-get", "download", "-q", named, cwd=folder)
    (file,) = folder.glob(pattern)
    return file


@locked("apt")
def fetch_source(name: str, folder: Path, release: str = SUITE) -> Path:
    """Download a source package, verified by apt, into ``folder``; return its description."""
    release += _SOURCES
    _update(release)
    words = ["source", "-qq", "--download-only", name]
    _apt(release, "apt-get", *words, cwd=folder)
    (file,) = folder.glob(f"{name}_*.dsc")
    return file


def unpack(file: Path, folder: Path) -> None:
    """Extract the files of a package; its scripts do not run."""
    folder.mkdir(parents=True, exist_ok=True)
    tools.run(["dpkg-deb", "-x", file, folder])
