# SPDX-License-Identifier: GPL-2.0-or-later
"""The world of the tests of faults: one guest, whose parts can be taken away."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from lab.base import wait
from lab.guest.guest import Guest
from lab.peers.lab import ECHO_PORT, Lab

from . import report
from .puppet import GUEST_PROGRAM, PROGRAM, InGuest, Outside, Puppet

MIB = 1 << 20
#: Where a peer listens.
PORT = 4600

Note = Callable[..., None]


def device(world: Lab) -> str:
    """The device, where it can be unplugged."""
    return world.device(bus="rp0", iothread="io0")


def guest(world: Lab, series: str, files: dict[str, bytes | Path], memory: str = "512M") -> Guest:
    """A guest whose memory is in a file: what else QEMU has is its own."""
    backend = f"memory-backend-memfd,id=ram,size={memory}"
    return world.guest(
        series,
        ipv6=False,
        machine="q35,memory-backend=ram",
        memory=memory,
        devices=["pcie-root-port,id=rp0,chassis=1,slot=1", device(world)],
        arguments=["-object", backend, "-object", "iothread,id=io0"],
        files={GUEST_PROGRAM: PROGRAM, **files},
    )


def noting(rows: list[report.Row], running: Guest) -> Note:
    """A function that writes down what became of a fault."""

    def note(fault: str, happened: str, **numbers: object) -> None:
        words = {key.replace("_", " "): value for key, value in numbers.items()}
        rows.append(report.Row(running.config.kernel, fault, happened, words))

    return note


def iothread(running: Guest) -> int:
    """The number of the thread that follows the sockets."""
    number: int = running.qmp("query-iothreads")[0]["thread-id"]
    return number


def cpus(running: Guest) -> Sequence[int]:
    """The numbers of the threads that run the guest, and its calls."""
    return [one["thread-id"] for one in running.qmp("query-cpus-fast")]


def sockets(running: Guest) -> int:
    """How many sockets the guest has on the host; none without a device."""
    return sum(device["sockets-open"] for device in running.qmp("query-vmrpc"))


@contextlib.contextmanager
def bystander(ours: Puppet) -> Iterator[None]:
    """A connection that has nothing to do with the fault, and must not notice it."""
    ours.do(f"bystander = connect('peer.test', {ECHO_PORT})")
    yield
    ours.do("bystander.sendall(b'still here')")
    assert ours.do("take(bystander, 10)") == "still here"


class Transfers:
    """A stream each way between the guest and a peer, for as long as it is wanted."""

    def __init__(self, world: Lab, guest: Guest, ours: InGuest, peer: Outside) -> None:
        self._world, self._guest, self._ours, self._peer = world, guest, ours, peer
        ours.do(f"up, down, end = connect(PEER, {PORT}), connect(PEER, {PORT}), threading.Event()")
        peer.do("up, down, end = l.accept()[0], l.accept()[0], threading.Event()")
        self.sent = [ours.begin("stream(up, end)"), peer.begin("stream(down, end)")]
        self.got = [peer.begin("drain(up)"), ours.begin("drain(down)")]
        self.flow()

    def _moved(self) -> tuple[int, int]:
        counters = self._world.counters(self._guest)
        return counters["bytes_sent"], counters["bytes_received"]

    def flow(self) -> None:
        """Wait until some more has passed, each way."""
        before = self._moved()
        wait.until(
            lambda: all(now - old > MIB for now, old in zip(self._moved(), before, strict=True)),
            "both streams to flow",
            30,
        )

    def finish(self) -> int:
        """End both; return the bytes of both, which must have arrived."""
        for puppet in self._ours, self._peer:
            puppet.do("end.set()")
        total = 0
        for sent, got in zip(self.sent, self.got, strict=True):
            assert sent.value(60) == got.value(60)
            total += sent.value()[0]
        return total
