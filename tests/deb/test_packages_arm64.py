# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian packages for arm64, compiled on another architecture."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Mapping
from pathlib import Path

import pytest
from lab import cross
from lab.base import tools
from lab.base.architecture import ARM64, HOST
from lab.packages import debian, elsewhere
from lab.packages.debs import NAMES, field

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(HOST == ARM64, reason="'make deb' of this host builds them"),
]
#: ELF's numbers of machines.
_AARCH64, _BPF = 183, 247
_PROGRAMS = {
    "usr/bin/vmmnet-zone": "vmmnet-zone.1",
    "usr/sbin/vmmnet-dnsd": "vmmnet-dnsd.8",
    "usr/sbin/vmmnet-ha": "vmmnet-ha.8",
    "usr/sbin/vmmnet-hostd": "vmmnet-hostd.8",
    "usr/sbin/vmmnet-validate": "vmmnet-validate.8",
}


@pytest.fixture(scope="module")
def packages() -> Mapping[str, Path]:
    """All but vmmnet-qemu, which takes half an hour to compile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEB_BUILD_PROFILES", "pkg.vmmnet.noqemu")
        folder = elsewhere.build(debian.SUITE, ARM64)
    return {each.name.split("_")[0]: each for each in folder.glob("*.deb")}


@pytest.fixture(scope="module")
def tree(packages: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What they install."""
    folder = tmp_path_factory.mktemp("tree")
    for each in packages.values():
        tools.run(["dpkg-deb", "-x", each, folder])
    return folder


def _machines(tree: Path) -> dict[str, int]:
    """ELF's machine of each file that is ELF."""
    found = {}
    for path in tree.rglob("*"):
        if path.is_file() and not path.is_symlink():
            start = path.read_bytes()[:20]
            if start[:4] == b"\x7fELF":
                (found[str(path.relative_to(tree))],) = struct.unpack_from("<H", start, 18)
    return found


def test_they_are_of_arm64(packages: Mapping[str, Path], tree: Path) -> None:
    assert {*packages} == {*NAMES} - {"vmmnet-qemu"}
    kinds = {name: field(each, "Architecture") for name, each in packages.items()}
    for_all = {name for name in NAMES if name.startswith("vmmnet-guest-")}
    assert {kinds.pop(name) for name in for_all} == {"all"} and {*kinds.values()} == {"arm64"}
    machines = _machines(tree)
    assert machines.pop("usr/lib/vmmnet/hostvlan.bpf.o") == _BPF
    assert {*machines.values()} == {_AARCH64} and {*_PROGRAMS} <= {*machines}
    assert "libc6 (>= " in field(packages["vmmnet-dnsd"], "Depends")


@pytest.mark.parametrize("program", _PROGRAMS)
def test_a_program_runs_and_its_page_has_its_help(tree: Path, program: str) -> None:
    """In the emulation of processes, with Debian's libraries of arm64."""
    words = [*cross.emulation(), str(tree / program), "--help"]
    usage = tools.run(words).splitlines()[0]
    page = _PROGRAMS[program]
    (file,) = tree.glob(f"usr/share/man/man*/{page}.gz")
    shown = gzip.decompress(file.read_bytes()).decode().replace("\\-", "-")
    assert usage.removeprefix("usage: ") in shown
