# SPDX-License-Identifier: GPL-2.0-or-later
"""The series of QEMU: their patches and builds, and what fetch and weave refuse."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from lab.base import paths
from lab.guest import qemu

PATCHES = paths.ROOT / "qemu" / "patches"
SCRIPTS = ("apt.sh", "checksums", "disk.sh", "fetch", "series", "series.sh", "weave")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the scripts, which write beside themselves."""
    folder = tmp_path / "tree" / "qemu"
    folder.mkdir(parents=True)
    for name in SCRIPTS:
        shutil.copy(paths.ROOT / "qemu" / name, folder)
    return folder


def source(folder: Path, version: str, *files: str) -> Path:
    """A folder that looks like a QEMU of that version."""
    folder.mkdir()
    (folder / "VERSION").write_text(f"{version}\n")
    (folder / "configure").touch(mode=0o755)
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def refused(tree: Path, script: str, *options: str) -> str:
    """Run a script that must fail; returns its one sentence."""
    words = [str(tree / script), *options]
    end = subprocess.run(words, capture_output=True, text=True, check=False)
    assert end.returncode == 1, end
    return end.stderr


def test_a_series_without_patches(tree: Path) -> None:
    told = refused(tree, "fetch", "--series=9.2")
    assert "--series=9.2 is none of QEMU's series" in told
    assert "give one of 10.0 10.2" in told


def test_a_source_of_another_series(tree: Path, tmp_path: Path) -> None:
    given = source(tmp_path / "given", "10.2.2")
    told = refused(tree, "fetch", f"--qemu-src={given}")
    assert "is QEMU 10.2.2, but --series=10.0 was asked for" in told
    assert "give --series=10.2 with it" in told


def test_a_source_of_no_series(tree: Path, tmp_path: Path) -> None:
    given = source(tmp_path / "given", "9.2.1")
    told = refused(tree, "fetch", "--series=10.2", f"--qemu-src={given}")
    assert "is QEMU 9.2.1, but vmmnet's hooks are made for 10.0 or 10.2:" in told


def test_debians_archive_without_its_patches(tree: Path, tmp_path: Path) -> None:
    source(tmp_path / "qemu-10.0.13+ds", "10.0.13", "subprojects/keycodemapdb/meson.build")
    archive = tmp_path / "qemu_10.0.13+test.orig.tar"
    subprocess.run(["tar", "-cf", archive, "-C", tmp_path, "qemu-10.0.13+ds"], check=True)
    told = refused(tree, "fetch", f"--qemu-src={archive}")
    assert "is Debian's archive without the package's patches" in told
    assert "give the .dsc" in told


def test_a_series_that_is_not_fetched(tree: Path) -> None:
    told = refused(tree, "weave", "10.2")
    assert "qemu/src-10.2 is not there" in told
    assert "./configure --series=10.2" in told


# Patches


@pytest.fixture
def patched(tree: Path) -> Path:
    """The same with our patches, and a source of each series that has no file yet."""
    shutil.copytree(PATCHES, tree / "patches")
    for series in qemu.series():
        name = "src" if series == qemu.series()[0] else f"src-{series}"
        (tree / name / ".vmmnet").mkdir(parents=True)
        (tree / name / ".vmmnet" / "origin").touch()
        (tree / name / "VERSION").write_text(f"{series}.0\n")
    return tree


def series_of_patches() -> list[tuple[str, list[str]]]:
    """Each patch that is listed, and the series that it is for."""
    lines = (PATCHES / "series").read_text().splitlines()
    words = [line.split() for line in lines if line and not line.startswith("#")]
    return [(name, only or qemu.series()) for name, *only in words]


@pytest.mark.parametrize("series", qemu.series())
def test_each_series_has_its_patches(patched: Path, series: str) -> None:
    """All patches are there before the first is applied, which then lacks its file."""
    told = refused(patched, "weave", series)
    assert f"which QEMU {series}.0 does not have" in told


@pytest.mark.parametrize("series", qemu.series())
def test_a_patch_that_is_missing(patched: Path, series: str) -> None:
    for each in patched.glob("patches/**/stream-of-frames.patch"):
        each.unlink()
    told = refused(patched, "weave", series)
    assert "qemu/patches/series names fixes/stream-of-frames.patch, which is not there" in told


def test_each_patch_is_of_a_series_and_has_its_reason() -> None:
    listed = series_of_patches()
    assert all(each in qemu.series() for _, only in listed for each in only)
    for path in PATCHES.rglob("*.patch"):
        folder, *name = path.relative_to(PATCHES).parts
        of = folder if folder in qemu.series() else ""
        given = "/".join(name if of else (folder, *name))
        assert any(given == each and (not of or of in only) for each, only in listed), path
        reason = path.read_text().partition("\n--- ")[0].partition("Subject: ")[2]
        assert reason.partition("\n\n")[2].strip(), path


def test_only_one_header_asks_for_the_version_of_qemu() -> None:
    asks = []
    for room in ("base", "include", "net", "hw", "tests/qtest"):
        for path in sorted((paths.ROOT / room).rglob("*.[ch]")):
            if re.search("QEMU_AT_LEAST|QEMU_VERSION_M", path.read_text()):
                asks.append(str(path.relative_to(paths.ROOT)))
    assert asks == ["include/vmmnet/qemu-compat.h"]


# Builds


@pytest.mark.parametrize(
    ("used", "taken"),
    [
        ("build/qemu-lean", "build/qemu-asan"),
        ("build/qemu", "build/qemu-asan"),
        ("build/qemu-lean-10.2", "build/qemu-asan-10.2"),
        ("build/qemu-asan-10.2", "build/qemu-asan-10.2"),
        # It has no other build.
        ("build/qemu-lean-99.9", "build/qemu-lean-99.9"),
        ("elsewhere/qemu-lean", "elsewhere/qemu-lean"),
    ],
)
def test_sanitizers_are_of_the_same_series(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, used: str, taken: str
) -> None:
    for built in {used, "build/qemu-asan", "build/qemu-asan-10.2"}:
        (tmp_path / built).mkdir(parents=True, exist_ok=True)
        (tmp_path / built / "qemu-system-x86_64").touch()
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    monkeypatch.setenv("VMMNET_QEMU", str(tmp_path / used / "qemu-system-x86_64"))
    assert qemu.sanitized() == tmp_path / taken / "qemu-system-x86_64"


def test_make_hands_the_series_on() -> None:
    """Make exports what its command line sets, so the tests know it, and each make of theirs."""
    rules = "show: ; @env | grep -e ^SERIES= -e ^VMMNET_QEMU="
    words = ["make", "-s", "--eval", rules, "-C", str(paths.ROOT), "show", "SERIES=10.2"]
    environment = {k: v for k, v in os.environ.items() if k not in ("VMMNET_QEMU", "MAKEFLAGS")}
    said = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    emulator = paths.ROOT / "build/qemu-lean-10.2/qemu-system-x86_64"
    assert set(said.stdout.split()) == {"SERIES=10.2", f"VMMNET_QEMU={emulator}"}
