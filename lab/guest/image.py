# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that a guest boots: Debian in a read-only image, and an initramfs.

The image is a bookworm, or another release, made by mmdebstrap, packed as an uncompressed
squashfs: under TCG a guest would pay dearly for decompression.  A second
squashfs brings the modules of the guest's kernel.  The initramfs puts a
tmpfs over the image and starts the agent as process 1, without systemd, so
that a guest is at work after a few seconds (init.c).  Each product is named by the
hash of what it is made from and is built once.
"""

from __future__ import annotations

import lzma
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..base import architecture, paths, tools
from ..base.lock import locked
from ..packages import debian
from ..packages.conclude import conclude
from ..packages.kernel import SERIES, Kernel, build_module, get, plain_image
from . import cpio
from .cpio import File

PACKAGES = (
    "bash",
    "bind9-dnsutils",
    "busybox",
    "ca-certificates",
    "curl",
    "ethtool",
    "iperf3",
    "iproute2",
    "iputils-ping",
    "kmod",
    "mount",
    "netcat-openbsd",
    "nginx-light",
    "openssl",
    "procps",
    "python3",
    "redis-tools",
    "socat",
    "strace",
    "wget",
)
_GUESTS = architecture.guests()
_EXCLUDED = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*", "/usr/share/info/*")

_MERGED = "/usr/share/mmdebstrap/hooks/merged-usr"
#: Names of programs that update-alternatives would make.
_ALTERNATIVES = {"awk": "mawk", "nc": "nc.openbsd"}

# Modules that are needed before the root file system; the order is free.
_BOOT_MODULES = (
    "virtio_pci",
    "virtio_mmio",
    "virtio_blk",
    "virtio_console",
    "virtio_rng",
    "squashfs",
    "overlay",
)
#: Parameters of a kernel's command line.  Neither part is under test, and each takes half a
#: second of a boot under TCG: the self-tests of ciphers, and the keys of signed modules.
QUICK_BOOT = ("cryptomgr.notests", "initcall_blacklist=load_system_certificate_list")
_AGENT_SOURCE = paths.ROOT / "guest-linux" / "agent" / "agent.c"
_INIT_SOURCE = Path(__file__).with_name("init.c")
#: Folder of images.
FOLDER = paths.BUILD / "image"


def squash(folder: Path, product: Path) -> None:
    """Pack a folder without compression; the product appears complete."""
    fresh = product.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    plain = ["-noI", "-noD", "-noF", "-noX"]
    tools.run(["mksquashfs", folder, fresh, "-quiet", "-no-progress", *plain])
    fresh.rename(product)


def _bootstrap(packages: Iterable[str], folder: Path, release: str) -> None:
    if is_foreign := _GUESTS != architecture.HOST:
        # No program of it runs here: packages are unpacked, and not configured.
        options = ["--variant=extract", "--include=?essential", f"--hook-dir={_MERGED}"]
    else:
        options = ["--variant=essential"]
        options += [f"--dpkgopt=path-exclude={pattern}" for pattern in _EXCLUDED]
        # Java's scripts make links there.
        options += ['--setup-hook=mkdir -p "$1/usr/share/man/man1"']
    # On a busy machine its /proc in the folder may stay mounted, which then cannot be removed.
    tools.run(
        [
            "unshare",
            "--mount",
            "mmdebstrap",
            "--mode=root",
            f"--architectures={_GUESTS.name}",
            f"--include={','.join(packages)}",
            '--aptopt=APT::Install-Recommends "false"',
            *options,
            release,
            folder,
            *debian.sources_of(release),
        ]
    )
    if is_foreign:
        _configure(folder)
    # Names come from the kernel command line and the boot's own files.
    (folder / "etc" / "resolv.conf").unlink(missing_ok=True)
    (folder / "etc" / "hosts").write_text("127.0.0.1 localhost guest\n::1 localhost\n")


def _configure(folder: Path) -> None:
    """Do what dpkg and the packages' scripts would do, as far as guests need it."""
    # mmdebstrap's own filter takes minutes.
    for pattern in _EXCLUDED:
        shutil.rmtree(folder / pattern.strip("/*"))
    for name in ("passwd", "group"):
        shutil.copy(folder / "usr/share/base-passwd" / f"{name}.master", folder / "etc" / name)
    for name, target in _ALTERNATIVES.items():
        (folder / "usr/bin" / name).symlink_to(target)
    certificates = (folder / "usr/share/ca-certificates").rglob("*.crt")
    bundle = folder / "etc/ssl/certs/ca-certificates.crt"
    bundle.write_text("".join(each.read_text() for each in sorted(certificates)))


def root(more: tuple[str, ...] = (), release: str = debian.SUITE) -> Path:
    """Return the root file system image, building it when its recipe is new.

    ``more`` are packages beyond those that every guest has, of that release of Debian.
    """
    packages = (*PACKAGES, *more)
    recipe = [release, *packages, *_EXCLUDED, "layout 1"]
    product = FOLDER / f"root-{paths.digest(recipe)}{_GUESTS.tail}.squashfs"
    # A user of an image that exists does not wait for one that is being made.
    if product.exists():
        return product
    with locked(f"image{_GUESTS.tail}"):
        if product.exists():
            return product
        tools.require("mmdebstrap", "mksquashfs")
        FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
            folder = Path(scratch) / "root"
            _bootstrap(packages, folder, release)
            squash(folder, product)
    return product


def modules(kernel: Kernel) -> Path:
    """Return the image of a kernel's modules, mounted on ``/lib/modules``."""
    product = FOLDER / f"modules-{kernel.release}.squashfs"
    with locked("modules"):
        if not product.exists():
            FOLDER.mkdir(parents=True, exist_ok=True)
            squash(kernel.modules.parent, product)
    return product


def load_order(kernel: Kernel, names: Iterable[str] = _BOOT_MODULES) -> list[Path]:
    """The files of modules, each after those it depends on; by default those of a guest's boot."""
    depends: dict[str, tuple[str, list[str]]] = {}
    for line in (kernel.modules / "modules.dep").read_text().splitlines():
        file, _, needed = line.partition(":")
        depends[_module_name(file)] = (file, needed.split())
    order: dict[str, None] = {}
    for name in names:
        # A module that is not listed is built into this kernel.
        if name in depends:
            target, first = depends[name]
            order.update(dict.fromkeys([*reversed(first), target]))
    return [kernel.modules / file for file in order]


def _module_name(file: str) -> str:
    return Path(file).name.split(".")[0].replace("-", "_")


def _module_data(file: Path) -> bytes:
    data = file.read_bytes()
    return lzma.decompress(data) if file.suffix == ".xz" else data


def _compiled(source: Path) -> bytes:
    """Compile a program, statically: the initramfs has no libraries."""
    compiler = "gcc" if _GUESTS == architecture.HOST else f"{_GUESTS.triplet}-gcc"
    tools.require(compiler)
    with tempfile.TemporaryDirectory() as scratch:
        product = Path(scratch) / source.stem
        warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]
        tools.run([compiler, "-O2", "-s", "-static", *warnings, "-o", product, source])
        return product.read_bytes()


def initramfs(kernel: Kernel) -> Path:
    """Return the initramfs that every guest with this kernel boots from."""
    recipe = paths.digest([kernel.release, _AGENT_SOURCE, _INIT_SOURCE, Path(__file__)])
    product = FOLDER / f"initramfs-{kernel.release}-{recipe}.cpio"
    with locked("initramfs"):
        if product.exists():
            return product
        FOLDER.mkdir(parents=True, exist_ok=True)
        files = {
            "/init": File(_compiled(_INIT_SOURCE), 0o755),
            "/overlay/usr/sbin/vmmnet-agent": File(_compiled(_AGENT_SOURCE), 0o755),
        }
        order = []
        for module in load_order(kernel):
            name = f"/{_module_name(module.name)}.ko"
            files[name] = File(_module_data(module))
            order.append(name)
        files["/modules"] = File("".join(f"{name}\n" for name in order).encode())
        fresh = product.with_suffix(".new")
        fresh.write_bytes(cpio.archive(files))
        fresh.rename(product)
    return product


def _merged(name: str) -> str:
    """Return the path below /usr, where Debian keeps these folders; / has links to them."""
    return f"/usr{name}" if name.startswith(("/bin/", "/lib/", "/sbin/")) else name


def boot_archive(kernel: Kernel, files: Mapping[str, File], product: Path) -> None:
    """Write the initramfs of one boot: the common one and ``files`` for the guest."""
    with product.open("wb") as out:
        with initramfs(kernel).open("rb") as common:
            shutil.copyfileobj(common, out)
        added = {f"/overlay{_merged(name)}": file for name, file in files.items()}
        # Programs that watch files for changes, such as dnsmasq, take a file of 1970 for a missing
        # one.
        out.write(cpio.archive(added, int(time.time())))


def prepare() -> None:
    """Build the common boot files, so that the first guests need not wait."""
    print("guests: fetching Debian and its kernels", flush=True)
    root()
    for series in SERIES:
        build_module(series)
        plain_image(get(series))
        modules(get(series))
        initramfs(get(series))
    print("guests: ready", flush=True)


if __name__ == "__main__":
    sys.exit(conclude("make guests", prepare))
