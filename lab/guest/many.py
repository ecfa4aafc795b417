# SPDX-License-Identifier: GPL-2.0-or-later
"""Many microvms on one host, started by examples/microvm as a user starts them."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from vmmnet.qmp import Qmp

from ..base import paths, process, scratch, wait
from ..base.net import Namespace
from ..packages import kernel
from . import machine, qemu

EXAMPLE = paths.ROOT / "examples" / "microvm"
PREFIX = "2001:db8:77"
#: What a guest needs of TCG's buffer for its code; QEMU takes 1 GiB, and keeps what it has used.
_ACCEL = {qemu.TCG: "tcg,tb-size=32"}
#: With many more than processors, Linux finds that its emulated timers lose ticks, and hangs.
_AT_ONCE = {qemu.TCG: 4}
#: Seconds that one more VM may add until all have booted: they share the host's processors.
_BOOT = 0.1 * wait.PATIENCE


def initramfs(series: str, product: Path) -> Path:
    """Make the example's initramfs for a kernel."""
    found = kernel.get(series)
    command = [EXAMPLE / "initramfs", found.modules, kernel.build_module(series), product]
    subprocess.run(command, check=True, timeout=wait.PATIENCE)
    return product


@dataclass(frozen=True)
class Many:
    """Microvms that run, numbered from 1."""

    host: Namespace
    folder: Path
    count: int
    child: subprocess.Popen[bytes]

    def page(self, number: int) -> str:
        """What a VM's server says to the host, which waits for it."""
        address = f"[{PREFIX}::{number:x}]"
        command = ["curl", "-6", "-sS", "--max-time", "5", f"http://{address}/"]

        def answered() -> str:
            assert self.child.poll() is None, (self.folder / str(number) / "log").read_text()
            return self.host.run(command, check=False).stdout

        limit = wait.PATIENCE + self.count * _BOOT
        found = wait.until(answered, f"a page of vm{number}", limit)
        assert found
        return found

    def pid(self, number: int) -> int:
        """The process of a VM's QEMU."""
        words = f"\0-name\0vm{number}\0"
        return next(pid for pid in _leaves(self.child.pid) if words in _command(pid))

    def status(self, number: int) -> Mapping[str, str]:
        """What the kernel says of that process."""
        lines = Path(f"/proc/{self.pid(number)}/status").read_text().splitlines()
        return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}

    @contextlib.contextmanager
    def monitor(self, number: int) -> Iterator[Qmp]:
        """Connect to a VM's monitor."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.folder / str(number) / "qmp"))
            qmp = Qmp(connection)
            yield qmp
            qmp.close()

    def end(self) -> None:
        """End them as a user does; who runs tests in the background has SIGINT ignored."""
        self.child.send_signal(signal.SIGTERM)
        self.child.wait(wait.PATIENCE)


def _leaves(pid: int) -> Iterator[int]:
    """The descendants of a process that have no children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for child in children:
        yield from _leaves(int(child))
    if not children:
        yield pid


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


@contextlib.contextmanager
def running(host: Namespace, count: int, series: str) -> Iterator[Many]:
    """Start them, and end them after the block."""
    host.sysctl({"net.ipv4.ip_unprivileged_port_start": 80})
    accel = qemu.accelerator()
    kind = machine.of(machine.MICROVM, accel)
    with scratch.folder() as name:
        folder = Path(name)
        folder.chmod(0o755)
        found = kernel.get(series)
        command: list[str | Path] = [
            *("env", f"ACCEL={_ACCEL.get(accel, accel)}", f"APPEND={' '.join(kind.append)}"),
            f"AT_ONCE={_AT_ONCE.get(accel, count)}",
            f"OPTIONS={' '.join(map(str, qemu.firmware_options()))}",
            *(EXAMPLE / "start", str(count), qemu.binary(), kernel.plain_image(found)),
            *(initramfs(series, folder / "initramfs"), PREFIX, folder / "vms"),
        ]
        child = process.start(command, netns=host.netns)
        try:
            yield Many(host, folder / "vms", count, child)
        finally:
            process.stop(child)
