# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's stock kernels for guests, and modules built against them.

The packages are unpacked below ``build/kernel/<series>``; nothing is
installed on the host.  A kernel stays until its folder is removed.  One that
Debian has no package of is built from Debian's source when it is asked for.

A kernel's headers name the compiler of its release.  Where the host has not
that one, modules are built in a root of the release (chroot.py).
"""

from __future__ import annotations

import ctypes
import ctypes.util
import gzip
import lzma
import os
import re
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..base import architecture, paths, tools
from ..base.lock import locked
from . import chroot, debian

_GUESTS = architecture.guests()


@dataclass(frozen=True)
class Origin:
    """Where a series comes from: a release of Debian with its backports."""

    release: str
    #: Backports replace a series by the next one, which serves, too.
    or_later: bool = False
    #: The end of the packages' names; by default that of kernels for virtual machines.
    flavour: str = f"cloud-{_GUESTS.name}"
    #: What it is configured with if there is no package of it.
    config: Path | None = None


#: The kernels of the test bed, oldest first.
ORIGINS = {
    "6.1": Origin("bookworm"),
    "6.12": Origin("bookworm"),
    "7.3": Origin("trixie", or_later=True),
}
if _GUESTS == architecture.ARM64:
    ORIGINS["6.12-16k"] = Origin("bookworm", flavour="arm64-16k")
    pages_of_64k = Path(__file__).with_name("6.12-64k.config")
    ORIGINS["6.12-64k"] = Origin("bookworm", flavour="64k", config=pages_of_64k)
#: Those of Debian's packages, or the one of ``$VMMNET_KERNEL``.
SERIES = tuple(name for name, origin in ORIGINS.items() if not origin.config)
OLDEST, MAIN, NEWEST = "6.1", "6.12", "7.3"
if only := os.environ.get("VMMNET_KERNEL"):
    SERIES, OLDEST, MAIN, NEWEST = (only,), only, only, only
MODULE_SOURCES = paths.ROOT / "guest-linux" / "vmrpc"
# Packages of the release that a build of modules needs.
_NEEDS = "build-packages"
# The compiler of a kernel that is built here, what else that takes, and what of its source stays.
_COMPILER = "gcc-12"
_BUILDERS = ("bc", "bison", "flex", "kmod")
_FOR_MODULES = ("arch", "include", "scripts")
# The first octets of compressed data.
_ZSTD, _LZ4 = b"\x28\xb5\x2f\xfd", b"\x02\x21\x4c\x18"


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel: its image, its modules and the headers to build more."""

    series: str
    release: str
    root: Path

    @property
    def image(self) -> Path:
        """The compressed image, as Debian has it; guests boot plain_image()."""
        return self.root / "boot" / f"vmlinuz-{self.release}"

    @property
    def modules(self) -> Path:
        """The folder that a guest sees as ``/lib/modules/<release>``."""
        return self.root / "lib" / "modules" / self.release

    @property
    def headers(self) -> Path:
        """The folder to pass to ``make -C`` for a module out of the tree."""
        return self.root / "usr" / "src" / f"linux-headers-{self.release}"

    @property
    def compiler(self) -> str:
        """The compiler that the headers name, such as x86_64-linux-gnu-gcc-12."""
        text = (self.headers / ".kernelvariables").read_text()
        (version,) = re.findall(r"^CC = .*gcc-(\d+)$", text, re.MULTILINE)
        # Headers may name it without the prefix; Debian has both names.
        return f"{_GUESTS.triplet}-gcc-{version}"


def _packages(series: str) -> Iterator[debian.Package]:
    """The packages of a series: image, modules, headers, their common part, kbuild."""
    origin = ORIGINS[series]
    number = series.partition("-")[0]

    def newest(name: str) -> debian.Package:
        return debian.newest(name, number, origin.release, or_later=origin.or_later)

    for kind, parts in (("image", "base|binary|modules"), ("headers", "headers|kbuild")):
        versioned = re.compile(rf"linux-({kind}|{parts})-\d")
        meta = newest(f"linux-{kind}-{origin.flavour}")
        (name,) = (each for each in meta.depends if each.startswith(f"linux-{kind}-"))
        package = newest(name)
        yield package
        yield from (newest(needed) for needed in package.depends if versioned.match(needed))


def _relocate(root: Path) -> None:
    """Adapt paths in the unpacked headers to their folder."""
    for makefile in (root / "usr" / "src").glob("linux-headers-*/Makefile"):
        text = makefile.read_text()
        absolute = re.compile(r"^(include |KBUILD_OUTPUT=)/usr/src/", re.MULTILINE)
        makefile.write_text(absolute.sub(rf"\g<1>{root}/usr/src/", text))
    for link in (root / "usr" / "src").glob("linux-headers-*/*"):
        if link.is_symlink() and link.readlink().is_absolute():
            target = root / str(link.readlink()).lstrip("/")
            link.unlink()
            link.symlink_to(os.path.relpath(target, link.parent))


def _release(root: Path) -> str:
    (image,) = (root / "boot").glob("vmlinuz-*")
    return image.name.removeprefix("vmlinuz-")


def _lay_out(root: Path) -> None:
    """Give a kernel that has its files below /usr, and compressed modules, the older layout.

    Guests under TCG would pay for the decompression.
    """
    merged = root / "usr" / "lib" / "modules"
    if not merged.exists():
        return
    (root / "lib").symlink_to("usr/lib")
    (root / "boot").mkdir()
    (folder,) = merged.iterdir()
    for name in ("vmlinuz", "config", "System.map"):
        (folder / name).rename(root / "boot" / f"{name}-{folder.name}")
    for module in folder.rglob("*.ko.xz"):
        module.with_suffix("").write_bytes(lzma.decompress(module.read_bytes()))
        module.unlink()


def _for_host(package: str) -> str:
    """The package that has a compiler for the guests' architecture on this host."""
    named = re.fullmatch(r"(gcc-\d+)(-for-host)?", package)
    if named is None or _GUESTS == architecture.HOST:
        return package
    return f"{named[1]}-{_GUESTS.triplet.replace('_', '-')}"


def _unpack_series(series: str, fresh: Path) -> None:
    # The compiler alone does not bring the assembler under its plain name.
    needs = {"binutils", "make"}
    for package in _packages(series):
        builds = package.name.startswith("linux-kbuild-")
        file = debian.fetch(package, paths.BUILD / "guest" / "debs", for_host=builds)
        debian.unpack(file, fresh)
        file.unlink()
        if package.name.startswith(("linux-headers-", "linux-kbuild-")):
            needs.update(_for_host(name) for name in package.depends if name[:6] != "linux-")
    _lay_out(fresh)
    (fresh / _NEEDS).write_text("\n".join(sorted(needs)))


def _build_series(series: str, config: Path, fresh: Path) -> None:
    """Build a kernel from Debian's source; keep of the source what modules are built with."""
    origin, number = ORIGINS[series], series.partition("-")[0]
    package = debian.newest(f"linux-source-{number}", number, origin.release)
    file = debian.fetch(package, paths.BUILD / "guest" / "debs")
    debian.unpack(file, fresh)
    file.unlink()
    upstream = package.version.partition("-")[0]
    kernel = Kernel(series, f"{upstream}-{origin.flavour}", fresh)
    (archive,) = kernel.headers.parent.glob("linux-source-*.tar.xz")
    kernel.headers.mkdir()
    tools.run(["tar", "-xf", archive, "-C", kernel.headers, "--strip-components=1"])
    archive.unlink()
    (kernel.headers / ".kernelvariables").write_text(f"CC = $(CROSS_COMPILE){_COMPILER}\n")
    needs = [*_BUILDERS, "binutils", "gcc", "libc6-dev", "make", "perl", _for_host(_COMPILER)]
    (fresh / _NEEDS).write_text("\n".join(sorted(needs)))
    local = f"LOCALVERSION=-{origin.flavour}"
    _make(kernel, fresh, f"KCONFIG_ALLCONFIG={config}", "allnoconfig", programs=_BUILDERS)
    configured = (kernel.headers / ".config").read_text().splitlines()
    asked = [line for line in config.read_text().splitlines() if line.startswith("CONFIG_")]
    if refused := [line for line in asked if line not in configured]:
        raise ValueError(f"{config.name}: the kernel refuses {', '.join(refused)}")
    jobs = f"-j{os.cpu_count()}"
    _make(kernel, fresh, jobs, local, "Image", "modules", programs=_BUILDERS)
    _make(kernel, fresh, local, f"INSTALL_MOD_PATH={fresh}", "modules_install", programs=_BUILDERS)
    (kernel.modules / "build").unlink(missing_ok=True)
    (fresh / "boot").mkdir()
    image = kernel.headers / "arch" / _GUESTS.linux / "boot" / "Image"
    image.rename(kernel.image)
    for path in kernel.headers.iterdir():
        if path.is_dir() and path.name not in _FOR_MODULES:
            shutil.rmtree(path)
    (kernel.headers / "vmlinux").unlink()


def _make_series(series: str, folder: Path) -> None:
    tools.require("apt-get", "dpkg-deb", "depmod")
    fresh = folder.with_name(folder.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    if config := ORIGINS[series].config:
        _build_series(series, config, fresh)
    else:
        _unpack_series(series, fresh)
    tools.run(["depmod", "-b", fresh, _release(fresh)])
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)
    _relocate(folder)
    (folder / ".complete").touch()


def get(series: str) -> Kernel:
    """Return the kernel of a series, fetching or building it when it is not there yet."""
    if series not in ORIGINS:
        raise ValueError(f"kernel={series}: the test bed has {', '.join(ORIGINS)}")
    folder = paths.BUILD / "kernel" / f"{series}{_GUESTS.tail}"
    with locked(f"kernel-{folder.name}"):
        if not (folder / ".complete").exists():
            _make_series(series, folder)
    return Kernel(series, _release(folder), folder)


def plain_image(kernel: Kernel) -> Path:
    """Return the kernel as an ELF file, which boots by PVH, or as arm64's Image.

    Its compressed image would decompress itself in the guest; that takes two
    seconds under TCG.
    """
    product = kernel.root / "boot" / f"vmlinux-{kernel.release}"
    with locked(f"kernel-{kernel.root.name}"):
        if not product.exists():
            fresh = product.with_name(f"{product.name}.new")
            fresh.write_bytes(_decompressed(kernel.image.read_bytes()))
            fresh.rename(product)
    return product


def _decompressed(image: bytes) -> bytes:
    """What is in a compressed image: an ELF file, or arm64's Image.

    See Documentation/arch/x86/boot.rst of Linux: setup_sects, payload_offset
    and payload_length.  The last four octets of the payload are its size when
    decompressed.
    """
    if _GUESTS == architecture.ARM64:
        return _image_of_arm64(image)
    begin, length = struct.unpack_from("<II", image, 0x248)
    begin += (image[0x1F1] + 1) * 512
    end = begin + length - 4
    payload, (size,) = image[begin:end], struct.unpack_from("<I", image, end)
    out = ctypes.create_string_buffer(size)
    decompress = _unzstd if payload.startswith(_ZSTD) else _unlz4
    if decompress(out, payload) != size or not out.raw.startswith(b"\x7fELF"):
        raise ValueError("the kernel's image is compressed in an unknown way")
    return out.raw


def _image_of_arm64(image: bytes) -> bytes:
    """The Image in an EFI program that decompresses it, or as it is: zboot-header.S of Linux."""
    if image[4:8] == b"zimg":
        begin, length = struct.unpack_from("<II", image, 8)
        image = gzip.decompress(image[begin : begin + length])
    if image[0x38:0x3C] != b"ARM\x64":
        raise ValueError("the kernel's image is compressed in an unknown way")
    return image


def _library(name: str) -> ctypes.CDLL:
    """A library that every Debian has, as dpkg and apt use it."""
    found = ctypes.util.find_library(name)
    if not found:
        raise tools.MissingTool(f"lib{name} is missing")
    return ctypes.CDLL(found)


def _unzstd(out: ctypes.Array[ctypes.c_char], data: bytes) -> int:
    """Decompress a frame of Zstandard; return the size."""
    decompress = _library("zstd").ZSTD_decompress
    decompress.restype = ctypes.c_size_t
    arguments = out, ctypes.c_size_t(len(out)), data, ctypes.c_size_t(len(data))
    return int(decompress(*arguments))


def _unlz4(out: ctypes.Array[ctypes.c_char], data: bytes) -> int:
    """Decompress the legacy frame format of LZ4; return the size.

    Each block has 8 MiB when decompressed and refers to no earlier one.
    """
    decompress = _library("lz4").LZ4_decompress_safe
    if not data.startswith(_LZ4):
        return 0
    at, done = len(_LZ4), 0
    while at < len(data):
        (length,) = struct.unpack_from("<i", data, at)
        at += 4
        rest = ctypes.byref(out, done)
        size = decompress(data[at : at + length], rest, length, len(out) - done)
        if size < 0:
            return 0
        at += length
        done += size
    return done


def build_module(series: str, sources: Path = MODULE_SOURCES) -> Path:
    """Build a module for a kernel; again only when its sources changed.

    ``sources`` is the folder of its Kbuild; it has the module's name.
    """
    tools.require("make")
    if not (sources / "Kbuild").exists():
        raise FileNotFoundError(f"{sources}/Kbuild: no module to build")
    kernel = get(series)
    headers = paths.sources_below(paths.ROOT / "include")
    stamp = paths.digest([kernel.release, *paths.sources_below(sources), *headers])
    name = sources.name
    folder = paths.BUILD / "module" / kernel.root.name / name
    module, stamp_file = folder / f"{name}.ko", folder / ".stamp"
    with locked(f"module-{kernel.root.name}-{name}"):
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
        _make(kernel, folder, *settings, "modules")
        stamp_file.write_text(stamp)
    return module


def _make(kernel: Kernel, folder: Path, *arguments: str, programs: tuple[str, ...] = ()) -> None:
    """Run the kernel's make with its own compiler and ``programs``; it writes to ``folder``."""
    target = []
    if _GUESTS != architecture.HOST:
        target = [f"ARCH={_GUESTS.linux}", f"CROSS_COMPILE={_GUESTS.triplet}-"]
    command = ["make", "-C", str(kernel.headers), *target, *arguments]
    if all(map(shutil.which, (kernel.compiler, *programs))):
        tools.run(command)
        return
    needs = (kernel.root / _NEEDS).read_text().split()
    system = chroot.base(needs, [], ORIGINS[kernel.series].release)
    shared = {place.resolve() for place in (paths.ROOT, kernel.root, folder)}
    with chroot.Chroot(system, shared) as root:
        root.run(*command)
