# SPDX-License-Identifier: GPL-2.0-or-later
"""Our Debian packages, built as by ``make deb``, for a release of Debian."""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from vmmnet.architecture import HOST

from ..base import paths, tools
from ..base.lock import locked
from . import debian

#: Releases that the packages are built for.
RELEASES = ("bookworm", "trixie")
NAMES = (
    *("libnss-vmmnet", "libvmmnet-dns-dev", "libvmmnet-dns0", "vmmnet-control", "vmmnet-dnsd"),
    *("vmmnet-guest-dkms", "vmmnet-guest-podman", "vmmnet-ha", "vmmnet-qemu"),
    "vmmnet-validate",
)
#: libvirt's packages on a host, and Debian's own emulator, to coexist with ours.
LIBVIRT = ("libvirt-daemon-system", "qemu-system-x86")
EMULATOR = HOST.emulator.name


def is_own(release: str) -> bool:
    """Whether this machine has that release."""
    return platform.freedesktop_os_release().get("VERSION_CODENAME") == release


def folder(release: str) -> Path:
    """Where the packages of a release are."""
    return paths.BUILD / ("deb" if is_own(release) else f"deb-{release}")


def build(release: str = debian.SUITE) -> dict[str, Path]:
    """Return all packages, by name; existing ones, if they belong to these sources.

    Test modules run in parallel, and one of them builds the packages for all.
    """
    where = folder(release)
    # Identifies the sources of the packages; a new build empties their folder.
    stamp = where / "sources"
    with locked("deb"):
        sources = _sources()
        if not stamp.exists() or stamp.read_text() != sources:
            suite = [] if is_own(release) else [f"SUITE={release}"]
            tools.run(["make", "-C", paths.ROOT, "deb", *suite])
            stamp.write_text(sources)
    found = {each.name.split("_")[0]: each for each in where.glob("*.deb")}
    assert tuple(sorted(found)) == NAMES
    return found


def _sources() -> str:
    """A digest of all sources except tests."""
    listed = tools.run(["git", "-C", paths.ROOT, "ls-files", "-co", "--exclude-standard"])
    names = sorted(set(listed.splitlines()))
    files = [
        paths.ROOT / name for name in names if not name.startswith(("tests/", "bench/", "lab/"))
    ]
    return paths.digest(f"{each} {each.stat().st_mtime_ns}" for each in files if each.exists())


def field(package: Path, name: str) -> str:
    """A field of a package's control file."""
    return tools.run(["dpkg-deb", "-f", package, name]).strip()


def dependencies(packages: Iterable[Path], *fields: str) -> set[str]:
    """Return Debian's packages in these fields; of alternatives the first."""
    values = (field(package, name) for package in packages for name in fields)
    items = (item for value in values for item in re.split(r",\s*", value) if item)
    return {re.split(r"[ :|(]", item, maxsplit=1)[0] for item in items} - {*NAMES}


def newer(package: Path, folder: Path, changes: Mapping[str, str] | None = None) -> Path:
    """Return the same package with the next version, also in dependencies on our packages.

    ``changes`` are lines to add to files, where the package has these.
    """
    old = field(package, "Version")
    new = f"{old}+1"
    tree = folder / package.stem
    tools.run(["dpkg-deb", "-R", package, tree])
    named = rf'(^Version: |^DKMS_VERSION=|^PACKAGE_VERSION="|\(= ){re.escape(old)}'
    for path in [*(tree / "DEBIAN").iterdir(), *tree.glob("usr/src/*/dkms.conf")]:
        path.write_text(re.sub(named, rf"\g<1>{new}", path.read_text(), flags=re.MULTILINE))
    # The folder of the module's sources has the version in its name.
    for path in tree.glob(f"usr/src/*-{old}"):
        path.rename(path.with_name(path.name.replace(old, new)))
    for name, line in (changes or {}).items():
        path = tree / name.lstrip("/")
        if path.exists():
            path.write_text(path.read_text() + line)
    product = folder / package.name.replace(old, new)
    tools.run(["dpkg-deb", "--root-owner-group", "-b", tree, product])
    shutil.rmtree(tree)
    return product
