# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels of guests: which package is taken, and how the two kinds of packages become one."""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

import pytest
from lab.base import tools
from lab.packages import chroot, debian, kernel

_META = "linux-headers-cloud-amd64"
#: What apt-cache has of Debian 13 with backports, newest first.
_LISTED = {
    "linux-image-cloud-amd64": {
        "7.4.1-1~bpo13+1": "linux-base-cloud-amd64 (= 7.4.1), linux-image-7.4.1-cloud-amd64 (= 1)",
        "6.12.118-1": "linux-image-6.12.118+deb13-cloud-amd64 (= 6.12.118-1)",
    },
    "linux-image-7.4.1-cloud-amd64": {
        "7.4.1-1~bpo13+1": "dracut | initramfs-tools, linux-base-7.4.1-cloud-amd64 (= 1),"
        " linux-binary-7.4.1-cloud-amd64 (= 1), linux-modules-7.4.1-cloud-amd64 (= 1)",
    },
    "linux-image-6.12.118+deb13-cloud-amd64": {"6.12.118-1": "kmod, initramfs-tools (>= 0.120)"},
    _META: {
        "7.4.1-1~bpo13+1": "linux-base-cloud-amd64 (= 1), linux-headers-7.4.1-cloud-amd64 (= 1)",
        "6.12.118-1": "linux-headers-6.12.118+deb13-cloud-amd64 (= 6.12.118-1)",
    },
    "linux-headers-7.4.1-cloud-amd64": {
        "7.4.1-1~bpo13+1": "gcc-14-for-host, linux-base (>= 4.12~), linux-base-7.4.1-cloud-amd64,"
        " linux-headers-7.4.1-common (= 1), linux-kbuild-7.4.1",
    },
    "linux-headers-6.12.118+deb13-cloud-amd64": {
        "6.12.118-1": "linux-base (>= 4.12~), linux-headers-6.12.118+deb13-common (= 6.12.118-1),"
        " linux-image-6.12.118+deb13-cloud-amd64 | linux-image-x-unsigned,"
        " linux-kbuild-6.12.118+deb13, gcc-14",
    },
}


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Debian whose backports have gone on to 7.4."""

    def apt(release: str, tool: str, verb: str, name: str) -> str:
        assert (tool, verb) == ("apt-cache", "show")
        listed = _LISTED.get(name, {f"{each}-1": "" for each in ("7.4.1", "6.12.118")})
        return "\n\n".join(
            f"Package: {name}\nVersion: {version}\nDepends: {depends}\n"
            for version, depends in listed.items()
        )

    monkeypatch.setattr(debian, "_update", lambda _: None)
    monkeypatch.setattr(debian, "_apt", apt)
    trixie = {"6.12": kernel.Origin("trixie"), "7.3": kernel.Origin("trixie", or_later=True)}
    monkeypatch.setattr(kernel, "ORIGINS", trixie)


def test_one_package_or_three(archive: None) -> None:
    """An image is a package, or from 7.0 on base, binary and modules; a metapackage has more."""
    assert [package.name for package in kernel._packages("6.12")] == [
        "linux-image-6.12.118+deb13-cloud-amd64",
        "linux-headers-6.12.118+deb13-cloud-amd64",
        "linux-headers-6.12.118+deb13-common",
        "linux-kbuild-6.12.118+deb13",
    ]
    assert [package.name for package in kernel._packages("7.3")] == [
        "linux-image-7.4.1-cloud-amd64",
        "linux-base-7.4.1-cloud-amd64",
        "linux-binary-7.4.1-cloud-amd64",
        "linux-modules-7.4.1-cloud-amd64",
        "linux-headers-7.4.1-cloud-amd64",
        "linux-headers-7.4.1-common",
        "linux-kbuild-7.4.1",
    ]


def test_a_series_that_is_gone(archive: None) -> None:
    """Backports replace a series by the next; nothing replaces one that is not of backports."""
    assert debian.newest(_META, "7.3", "trixie", or_later=True).version == "7.4.1-1~bpo13+1"
    assert debian.newest(_META, "6.12", "trixie", or_later=True).version == "7.4.1-1~bpo13+1"
    assert debian.newest(_META, "6.12", "trixie").version == "6.12.118-1"
    with pytest.raises(RuntimeError, match=f"trixie has no {_META} of the 7.3 series"):
        debian.newest(_META, "7.3", "trixie")
    with pytest.raises(RuntimeError, match=f"trixie has no {_META} of the 7.5 series"):
        debian.newest(_META, "7.5", "trixie", or_later=True)


def test_files_below_usr_get_the_older_layout(tmp_path: Path) -> None:
    release = "7.3.4+deb13-cloud-amd64"
    modules = tmp_path / "usr" / "lib" / "modules" / release
    (modules / "kernel").mkdir(parents=True)
    for name in ("vmlinuz", "config", "System.map"):
        (modules / name).write_text(name)
    (modules / "kernel" / "one.ko.xz").write_bytes(lzma.compress(b"a module"))
    kernel._lay_out(tmp_path)
    found = kernel.Kernel("7.3", release, tmp_path)
    assert kernel._release(tmp_path) == release
    assert found.image.read_text() == "vmlinuz"
    assert [path.name for path in found.modules.iterdir()] == ["kernel"]
    assert (found.modules / "kernel" / "one.ko").read_bytes() == b"a module"
    assert len([*(found.modules / "kernel").iterdir()]) == 1


_HEADERS = {
    "6.1": (
        "CC = $(if $(DEBIAN_KERNEL_USE_CCACHE),$(CCACHE)) $(CROSS_COMPILE)gcc-12\n",
        "include /usr/src/linux-headers-6.1-common/Makefile\n",
    ),
    "7.3": (
        "CC = $(if $(DEBIAN_KERNEL_USE_CCACHE),$(CCACHE)) $(CROSS_COMPILE)gcc-14\n"
        "override CROSS_COMPILE = x86_64-linux-gnu-\n",
        "KBUILD_OUTPUT=/usr/src/linux-headers-7.3\n"
        "include /usr/src/linux-headers-7.3-common/Makefile\n",
    ),
}


def _headers(root: Path, series: str) -> kernel.Kernel:
    found = kernel.Kernel(series, series, root)
    found.headers.mkdir(parents=True)
    variables, makefile = _HEADERS[series]
    (found.headers / ".kernelvariables").write_text(variables)
    (found.headers / "Makefile").write_text(makefile)
    return found


@pytest.mark.parametrize("series", _HEADERS)
def test_headers_find_themselves(tmp_path: Path, series: str) -> None:
    found = _headers(tmp_path, series)
    kernel._relocate(tmp_path)
    made = (found.headers / "Makefile").read_text()
    assert made == _HEADERS[series][1].replace("/usr/src/", f"{tmp_path}/usr/src/")


@pytest.mark.parametrize("there", [True, False])
def test_where_modules_are_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    """On the host if it has the compiler that the headers name, else in a root of the release."""
    found = _headers(tmp_path, "7.3")
    (tmp_path / "build-packages").write_text("binutils\ngcc-14-for-host\nmake")
    done = []

    class Root:
        def __init__(self, system: Path, shared: set[Path]) -> None:
            done.append(f"in {system}")
            assert {found.root, tmp_path / "module"} <= shared

        def __enter__(self) -> Root:
            return self

        def __exit__(self, *_: object) -> None:
            done.append("left")

        def run(self, *words: str) -> str:
            done.append(" ".join(words))
            return ""

    monkeypatch.setattr(chroot, "base", lambda installed, _, suite: Path(suite, *installed))
    monkeypatch.setattr(chroot, "Chroot", Root)
    monkeypatch.setattr(tools, "run", lambda words: done.append(" ".join(words)))
    monkeypatch.setattr(
        shutil, "which", lambda name: name if there and name.endswith("-gcc-14") else None
    )
    kernel._make(found, tmp_path / "module", "modules")
    made = f"make -C {found.headers} modules"
    root = "in trixie/binutils/gcc-14-for-host/make"
    assert done == ([made] if there else [root, made, "left"])
