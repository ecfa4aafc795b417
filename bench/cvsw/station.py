# SPDX-License-Identifier: GPL-2.0-or-later
"""VMs without a guest: a QEMU whose NIC a traffic generator drives (generator.c)."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.base import paths as tree
from lab.base import process, tools, wait
from lab.base.net import Interface
from lab.cvsw import bed as cvsw
from lab.guest import qemu

_MEMORY = "64M"
_SLOT = "addr=0x10"


@dataclass(frozen=True)
class Sent:
    """Report of a generator."""

    frames: int
    octets: int
    lost: int
    seconds: float


def build(folder: Path) -> Path:
    """Compile generator.c."""
    product = folder / "generator"
    sources = [tree.ROOT / "bench/cvsw" / name for name in ("generator.c", "queue.c")]
    tools.run(["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", product, *sources])
    return product


@dataclass(frozen=True)
class End:
    """Place of a VM: its tap, its MAC address, and the numbers in its addresses."""

    tap: Interface
    mac: str
    number: int
    net: int = 100


def nic_options(end: End, *words: str, is_cvsw: bool) -> tuple[str, ...]:
    """QEMU's options for the NIC."""
    if is_cvsw:
        return cvsw.options(end.tap, end.mac, *words)
    nic = ",".join(("virtio-net-pci,id=nic0,netdev=net0", *words))
    netdev = f"tap,id=net0,ifname={end.tap.name},script=no,downscript=no,vhost=off"
    return "-netdev", netdev, "-device", f"{nic},mac={end.mac},{_SLOT},romfile="


class Station:
    """One of them."""

    def __init__(self, end: End, vm: qemu.QemuProcess, generator: subprocess.Popen[bytes]) -> None:
        self.end = end
        self.pid = vm.pid
        self._generator = generator

    @property
    def generator_pid(self) -> int:
        """Process id of the generator."""
        return self._generator.pid

    def ask(self, *words: object) -> None:
        """Start the generator's command; ``answer`` waits for its end."""
        assert self._generator.stdin
        self._generator.stdin.write((" ".join(map(str, words)) + "\n").encode())
        self._generator.stdin.flush()

    def answer(self) -> Sent:
        """Wait for the report."""
        assert self._generator.stdout
        line = self._generator.stdout.readline()
        if not line:
            raise RuntimeError(f"the generator of {self.end.tap.name} has ended")
        return Sent(**json.loads(line))

    @classmethod
    @contextlib.contextmanager
    def running(
        cls, program: Path, folder: Path, end: End, other: End, *, is_cvsw: bool
    ) -> Iterator[Station]:
        """Start a station; its frames go to ``other``."""
        name = f"{end.tap.namespace.name}-{end.tap.name}"
        ram, socket, log = (folder / f"{name}.{kind}" for kind in ("ram", "qtest", "log"))
        command: list[str | Path] = [
            qemu.binary(),
            *qemu.firmware_options(),
            *("-machine", "q35,memory-backend=ram", "-accel", "qtest", "-m", _MEMORY),
            *("-object", f"memory-backend-file,id=ram,size={_MEMORY},mem-path={ram},share=on"),
            *("-display", "none", "-nodefaults", "-no-user-config"),
            *("-qtest", f"unix:{socket},server=on,wait=off", "-qtest-log", "none"),
            *nic_options(end, is_cvsw=is_cvsw),
        ]
        vm = qemu.QemuProcess(command, netns=end.tap.namespace.netns, stderr=log)
        try:
            # QEMU takes only one client, so look for its socket and do not connect.
            wait.until(lambda: socket.exists() or vm.status is not None, f"QEMU's {socket.name}")
            if vm.status is not None:
                raise qemu.QemuFailed(vm.errors())
            addresses = (other.mac, end.mac, str(end.number))
            words: list[str | Path] = [program, socket, ram, *addresses]
            generator = process.start(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            try:
                assert generator.stdout
                if generator.stdout.readline() != b"ready\n":
                    raise RuntimeError(f"the generator of {name} has not begun: {vm.errors()}")
                yield cls(end, vm, generator)
            finally:
                process.stop(generator)
        finally:
            vm.stop()
