# SPDX-License-Identifier: GPL-2.0-or-later
"""A host with KVM where there is none: Debian's kernel in an emulated AMD processor with SVM.

    status = kvmhost.run(["tests/run", "--accel", "kvm"], folder)

Debian 12's QEMU emulates SVM with nested paging, so kvm_amd of a stock kernel works in it, and
guests run on it with ``-accel kvm``: slowly, but on the real KVM.  The host's root is that of this
machine by 9p, read-only, below an overlay in its memory; so all programs and builds are there under
the same paths, and what is written there is lost, except in ``folder``, which is shared as
build/logs.  It has no network.

QEMU and busybox come from a Debian 12 that mmdebstrap unpacks below build/; nothing is installed.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base import paths, process, tools, wait
from ..base.lock import locked
from ..guest import cpio, image
from ..guest.cpio import File
from ..packages import chroot, debian
from ..packages.kernel import Kernel

_PACKAGES = ("busybox-static", "kmod", "qemu-system-x86")
# Before the root: its file systems, and what carries them.
_BOOT_MODULES = ("virtio_pci", "9p", "9pnet_virtio", "overlay", "virtio_console", "virtio_rng")
_BOOT = Path(__file__).with_name("kvmhost-boot.sh")
_INIT = Path(__file__).with_name("kvmhost.sh")
#: What the emulated processor lacks.  XSAVE: a guest on its KVM would find an area that its
#: processor does not describe.  CMPXCHG16B: QEMU before 8.0 leaves arbitrary EFLAGS after it, and
#: an exit to KVM before the next instruction that sets flags saves them; the guest's kernel, which
#: allocates memory by it, then faults.
_WITHOUT = (
    *("cx16", "xsave", "xsaveopt", "xsavec", "xsaves", "avx", "avx2", "pku", "fma", "f16c"),
    *("vaes", "vpclmulqdq"),
)
#: Seconds until the host is up; only one that hangs takes so long.
_UP = 2 * wait.PATIENCE
#: Boots of the host, of which the emulation may lose one.
_ATTEMPTS = 2
# Seconds of a whole layer.
_LIMIT = 4 * 3600.0


class HostFailed(RuntimeError):
    """The host did not start, or ended before its command."""


@dataclass(frozen=True)
class Settings:
    """The emulated machine."""

    accel: str = "tcg,thread=multi"
    cpu: str = "max"
    smp: int = 2
    memory: str = "7G"
    series: str = "6.1"
    append: str = ""
    #: Parameters of kvm_amd. Guests have no SVM: its state went wrong in a migration.
    kvm: str = "nested=0"


def stock_kernel(series: str) -> Kernel:
    """Debian's kernel for machines, which has KVM; guests' has not."""
    meta = {"6.1": "linux-image-amd64"}.get(series, f"linux-image-{series}-amd64")
    folder = paths.BUILD / "kernel-stock" / series
    with locked(f"kernel-stock-{series}"):
        if not folder.exists():
            (name,) = debian.newest(meta, series).depends
            file = debian.fetch(debian.newest(name, series), paths.BUILD / "guest" / "debs")
            fresh = folder.with_name(f"{folder.name}.new")
            shutil.rmtree(fresh, ignore_errors=True)
            debian.unpack(file, fresh)
            file.unlink()
            (found,) = (fresh / "lib" / "modules").iterdir()
            tools.run(["depmod", "-b", fresh, found.name])
            fresh.rename(folder)
    (found,) = (folder / "lib" / "modules").iterdir()
    return Kernel(f"stock-{series}", found.name, folder)


def _archive(host: Kernel, busybox: Path, script: str, product: Path) -> None:
    """Write the initramfs."""
    modules = image.load_order(host, _BOOT_MODULES)
    files = {f"/{path.name}": File(path.read_bytes()) for path in modules}
    files |= {
        "/init": File(_BOOT.read_bytes(), 0o755),
        "/bin/busybox": File(busybox.read_bytes(), 0o755),
        "/modules": File("".join(f"/{path.name}\n" for path in modules).encode()),
        "/host/init": File(_INIT.read_bytes(), 0o755),
        "/host/command": File(script.encode(), 0o755),
    }
    product.write_bytes(cpio.archive(files))


def run(
    command: Sequence[str | Path],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    settings: Settings | None = None,
) -> int:
    """Boot the host, run a command in the tree's root there, and return its status.

    A command that takes more than four hours ends with the host.  Its output is this
    process's; the console of the host, and all that the command leaves in build/logs, are in
    ``folder``.
    """
    settings = settings or Settings()
    folder.mkdir(parents=True, exist_ok=True)
    host = stock_kernel(settings.series)
    system = chroot.base(_PACKAGES, ())
    lines = {
        "ROOT": str(paths.ROOT),
        "MODULES": str(host.modules.parent),
        "KVM": settings.kvm,
        **(environment or {}),
    }
    script = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in lines.items())
    script += f"run() {{ {shlex.join(map(str, command))}; }}\n"
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return _boot(host, system, script, folder, settings)
        except HostFailed as error:
            log = folder / "host-console.log"
            kept = log.with_name(f"host-console-{attempt}.log")
            if log.exists():
                log.replace(kept)
            print(f"kvm: boot {attempt} of the host failed: {error}; see {kept}", flush=True)
            if attempt == _ATTEMPTS or (folder / "up").exists():
                raise
    raise AssertionError


def _boot(host: Kernel, system: Path, script: str, folder: Path, settings: Settings) -> int:
    """One boot, to its end."""
    up, status = folder / "up", folder / "status"
    for path in (up, status):
        path.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="vmmnet-kvm-") as scratch:
        initrd = Path(scratch) / "initrd"
        _archive(host, system / "usr" / "bin" / "busybox", script, initrd)
        append = (
            "console=ttyS0 loglevel=5 panic=-1 no_timer_check rcupdate.rcu_cpu_stall_timeout=180"
            " watchdog_thresh=60 mitigations=off net.ifnames=0"
        )
        console = folder / "host-console.log"
        qemu = [
            *_program(system, "qemu-system-x86_64"),
            *("-L", system / "usr/share/qemu", "-L", system / "usr/share/seabios"),
            *("-name", "kvm-host", "-machine", "q35", "-accel", settings.accel),
            *("-cpu", ",".join([settings.cpu, *(f"-{each}" for each in _WITHOUT)])),
            *("-smp", str(settings.smp), "-m", settings.memory),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-kernel", host.image, "-initrd", initrd),
            *("-append", " ".join([append, *image.QUICK_BOOT, settings.append])),
            *("-chardev", f"file,id=console,path={console}", "-serial", "chardev:console"),
            *("-chardev", "stdio,id=out,signal=off", "-device", "virtio-serial-pci"),
            *("-device", "virtconsole,chardev=out", "-device", "virtio-rng-pci"),
            *_share("root", Path("/"), ",readonly=on"),
            *_share("out", folder, ""),
        ]
        modules = system / "usr/lib/x86_64-linux-gnu/qemu"
        child = process.start(qemu, env={"QEMU_MODULE_DIR": str(modules)})
        try:
            wait.until(lambda: up.exists() or child.poll() is not None, "the host with KVM", _UP)
            if not up.exists():
                raise HostFailed(f"its QEMU ended with {child.returncode}")
            child.wait(_LIMIT)
        except wait.Timeout as error:
            raise HostFailed(str(error)) from error
        except subprocess.TimeoutExpired as error:
            raise HostFailed(f"its command did not end within {_LIMIT:g} s") from error
        finally:
            process.stop(child)
    if not status.exists():
        raise HostFailed(f"it ended before its command, QEMU with {child.returncode}")
    return int(status.read_text())


def _share(name: str, folder: Path, more: str) -> list[str]:
    """A folder of this machine for the host."""
    fsdev = f"local,id={name},path={folder},security_model=none,multidevs=remap{more}"
    return ["-fsdev", fsdev, "-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}"]


def _program(system: Path, name: str) -> list[str | Path]:
    """A program of the unpacked system with the libraries of that system, in this one."""
    folder = system / "usr" / "lib" / "x86_64-linux-gnu"
    words = (folder / "ld-linux-x86-64.so.2", "--library-path", folder)
    return [*words, system / "usr" / "bin" / name]
