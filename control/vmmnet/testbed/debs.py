# SPDX-License-Identifier: GPL-2.0-or-later
"""Our Debian packages, as ``make deb`` makes them of the sources."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from . import paths, tools

NAMES = ("vmmnet-control", "vmmnet-guest-dkms", "vmmnet-ha", "vmmnet-qemu")
#: What libvirt needs on a host, and Debian's own emulator, to stand beside ours.
LIBVIRT = ("libvirt-daemon-system", "qemu-system-x86")
EMULATOR = "qemu-system-x86_64-vmmnet"


def build() -> dict[str, Path]:
    """All packages, by name."""
    tools.run(["make", "-C", paths.ROOT, "deb"])
    found = {each.name.split("_")[0]: each for each in (paths.BUILD / "deb").glob("*.deb")}
    assert tuple(sorted(found)) == NAMES
    return found


def field(package: Path, name: str) -> str:
    """A field of a package's control file."""
    return tools.run(["dpkg-deb", "-f", package, name]).strip()


def dependencies(packages: Iterable[Path], *fields: str) -> set[str]:
    """The packages of Debian that fields name, the first where there is a choice."""
    values = (field(package, name) for package in packages for name in fields)
    items = (item for value in values for item in re.split(r",\s*", value) if item)
    return {re.split(r"[ :|(]", item, maxsplit=1)[0] for item in items} - {*NAMES}


def newer(package: Path, folder: Path) -> Path:
    """The same package with a version that is one more."""
    old = field(package, "Version")
    new = f"{old}+1"
    tree = folder / package.stem
    tools.run(["dpkg-deb", "-R", package, tree])
    named = rf'^(Version: |DKMS_VERSION=|PACKAGE_VERSION="){re.escape(old)}'
    for path in [*(tree / "DEBIAN").iterdir(), *tree.glob("usr/src/*/dkms.conf")]:
        path.write_text(re.sub(named, rf"\g<1>{new}", path.read_text(), flags=re.MULTILINE))
    # The folder of the module's sources has the version in its name.
    for path in tree.glob(f"usr/src/*-{old}"):
        path.rename(path.with_name(path.name.replace(old, new)))
    product = folder / package.name.replace(old, new)
    tools.run(["dpkg-deb", "--root-owner-group", "-b", tree, product])
    shutil.rmtree(tree)
    return product
