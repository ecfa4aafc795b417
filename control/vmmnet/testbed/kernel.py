# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's stock kernels for guests, and modules built against them.

The packages are unpacked below ``build/kernel/<series>``; nothing is
installed on the host.  A kernel stays until its folder is removed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import debian, paths, tools
from .lock import locked

SERIES = ("6.1", "6.12")
MODULE_SOURCES = paths.ROOT / "guest-linux" / "vmrpc"


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel: its image, its modules and the headers to build more."""

    series: str
    release: str
    root: Path

    @property
    def image(self) -> Path:
        """The compressed image that QEMU's ``-kernel`` takes."""
        return self.root / "boot" / f"vmlinuz-{self.release}"

    @property
    def modules(self) -> Path:
        """The folder that a guest sees as ``/lib/modules/<release>``."""
        return self.root / "lib" / "modules" / self.release

    @property
    def headers(self) -> Path:
        """The folder to pass to ``make -C`` for a module out of the tree."""
        return self.root / "usr" / "src" / f"linux-headers-{self.release}"


def _packages(series: str) -> Iterator[debian.Package]:
    """The packages of a series: image, headers, their common part, kbuild."""
    for meta in ("linux-image-cloud-amd64", "linux-headers-cloud-amd64"):
        (name,) = debian.newest(meta, series).depends
        package = debian.newest(name, series)
        yield package
        for needed in package.depends if "headers" in name else ():
            if needed.startswith(("linux-headers-", "linux-kbuild-")):
                yield debian.newest(needed, series)


def _relocate(root: Path) -> None:
    """Adapt paths in the unpacked headers to their folder."""
    for makefile in (root / "usr" / "src").glob("linux-headers-*/Makefile"):
        text = makefile.read_text()
        if text.startswith("include /usr/src/"):
            makefile.write_text(text.replace("/usr/src/", f"{root}/usr/src/"))
    for link in (root / "usr" / "src").glob("linux-headers-*/*"):
        if link.is_symlink() and link.readlink().is_absolute():
            target = root / str(link.readlink()).lstrip("/")
            link.unlink()
            link.symlink_to(os.path.relpath(target, link.parent))


def _release(root: Path) -> str:
    (image,) = (root / "boot").glob("vmlinuz-*")
    return image.name.removeprefix("vmlinuz-")


def _unpack_series(series: str, folder: Path) -> None:
    tools.require("apt-get", "dpkg-deb", "depmod")
    fresh = folder.with_name(folder.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    for package in _packages(series):
        file = debian.fetch(package, paths.BUILD / "guest" / "debs")
        debian.unpack(file, fresh)
        file.unlink()
    tools.run(["depmod", "-b", fresh, _release(fresh)])
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)
    _relocate(folder)
    (folder / ".complete").touch()


def get(series: str) -> Kernel:
    """Return the kernel of a series, fetching it when it is not there yet."""
    if series not in SERIES:
        raise ValueError(f"kernel={series}: the test bed has {', '.join(SERIES)}")
    folder = paths.BUILD / "kernel" / series
    with locked(f"kernel-{series}"):
        if not (folder / ".complete").exists():
            _unpack_series(series, folder)
    return Kernel(series, _release(folder), folder)


def build_module(series: str, sources: Path = MODULE_SOURCES) -> Path:
    """Build a module for a kernel; again only when its sources changed.

    ``sources`` is the folder of its Kbuild; it has the module's name.
    """
    tools.require("make", "gcc")
    if not (sources / "Kbuild").exists():
        raise FileNotFoundError(f"{sources}/Kbuild: no module to build")
    kernel = get(series)
    headers = paths.sources_below(paths.ROOT / "include")
    stamp = paths.digest([kernel.release, *paths.sources_below(sources), *headers])
    name = sources.name
    folder = paths.BUILD / "module" / series / name
    module, stamp_file = folder / f"{name}.ko", folder / ".stamp"
    with locked(f"module-{series}-{name}"):
        if module.exists() and stamp_file.exists() and stamp_file.read_text() == stamp:
            return module
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(sources, folder)
        settings = [
            f"M={folder}",
            f"KCPPFLAGS=-I{paths.ROOT / 'include'}",
            # Type information needs pahole and vmlinux; nothing here reads it.
            "CONFIG_DEBUG_INFO_BTF_MODULES=",
        ]
        tools.run(["make", "-C", kernel.headers, *settings, "modules"])
        stamp_file.write_text(stamp)
    return module
