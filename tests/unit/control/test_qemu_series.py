# SPDX-License-Identifier: GPL-2.0-or-later
"""What qemu/fetch and qemu/weave say of a QEMU that they cannot take."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from vmmnet.testbed.base import paths

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
