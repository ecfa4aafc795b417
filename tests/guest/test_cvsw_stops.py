# SPDX-License-Identifier: GPL-2.0-or-later
"""A NIC whose guest takes nothing, stands still or is gone: who else is heard, and what is lost."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from lab.base import wait
from lab.base.net import Interface, Network
from lab.cvsw import bed as cvsw
from lab.cvsw.bed import GUEST, WIRE, Controller, Machine, flow, output
from lab.hosts.bridged import QUIET, PacketWire
from vmmnet.cvsw.wire.message import Type
from vmmnet.cvsw.wire.session import Answer, Command

MAC = "52:54:00:00:00:01"
#: Of QEMU's announcements, and of nobody.
RARP, OTHERS = b"\x80\x35", b"\x88\xb6"
FRAME = b"\xff" * 6 + bytes.fromhex("020000000008") + OTHERS + bytes(46)
#: Frames that may wait for a guest (net/stage/stage.h).
WAITING_MAX = 256


@dataclass(frozen=True)
class Bed:
    """A NIC without a driver on a tap, its controller, and who else is there."""

    tap: Interface
    machine: Machine
    controller: Controller
    wire: PacketWire

    def flood(self) -> None:
        """Send more to the guest than can wait for it, less than what a tap holds."""
        for _ in range(2 * WAITING_MAX):
            self.wire.send(FRAME)

    def flooded(self) -> None:
        """Wait until all that cannot wait was dropped."""
        wait.until(
            lambda: self.machine.dropped("wire", "queue") == WAITING_MAX, "what does not fit"
        )

    def settle(self) -> None:
        """Give QEMU's main loop all occasions to do what it must not."""
        for _ in range(10):
            self.machine.info()

    def set_link(self, name: str, *, up: bool) -> None:
        """Pull a cable, or put it back."""
        self.machine.monitor.execute("set_link", {"name": name, "up": up})


@contextlib.contextmanager
def bed(*words: str, machine: str = "q35", arguments: Sequence[str] = ()) -> Iterator[Bed]:
    """A NIC that knows its controller."""
    with Network() as network, contextlib.ExitStack() as stack:
        host = network.namespace("host")
        host.sysctl(QUIET)
        tap = host.tap("tap0")
        running = Machine.running(tap, MAC, *words, machine=machine, arguments=arguments)
        made = stack.enter_context(running)
        controller = stack.enter_context(contextlib.closing(Controller(tap, MAC)))
        wire = stack.enter_context(contextlib.closing(PacketWire(tap)))
        controller.hello()
        controller.meet()
        yield Bed(tap, made, controller, wire)


def kinds(frames: Sequence[bytes]) -> set[bytes]:
    """The types of frames."""
    return {frame[12:14] for frame in frames}


@pytest.mark.parametrize("by_flow", [True, False], ids=["flow", "miss"])
def test_guest_takes_nothing(by_flow: bool) -> None:
    """The controller is heard however much waits for a guest, by a flow or without one."""
    with bed("miss=normal") as made:
        if by_flow:
            made.controller.set(flow(output(GUEST), in_port=WIRE))
        made.flood()
        made.controller.set(flow(in_port=GUEST))
        made.flooded()
        assert made.machine.info()["table"]["flows"] == 1 + by_flow


def test_link_is_down() -> None:
    """A guest without a link keeps its NIC from nobody; a wire that is down does."""
    with bed() as made:
        made.set_link("nic0", up=False)
        made.controller.set(flow(output(GUEST), in_port=WIRE))
        made.wire.send(FRAME)
        wait.until(lambda: made.machine.info()["table"]["hits"], "a frame for the guest")
        made.set_link("nic0", up=True)
        before = len(made.controller.registrations)
        made.set_link("net0", up=False)
        made.wire.heard()
        answers: list[Answer] = []
        command = Command(Type.SET_ENTRY, flow(priority=0), answers.append)
        made.controller.session.command(command, time.monotonic())
        made.settle()
        assert not made.wire.heard()
        made.set_link("net0", up=True)
        wait.until(
            lambda: made.controller.pump(0.1) or len(made.controller.registrations) > before,
            "it registers",
        )
        wait.until(lambda: made.controller.pump(0.1) or answers, "what the controller repeats")


def test_stopped() -> None:
    """A VM that stands still says nothing; what was said to it is done when it goes on."""
    with bed() as made:
        made.controller.set(flow(output(WIRE), in_port=GUEST))
        made.machine.monitor.command("stop")
        before = made.machine.info()["session"]["registrations"]
        made.wire.heard()
        answers: list[Answer] = []
        command = Command(Type.SET_ENTRY, flow(priority=0), answers.append)
        made.controller.session.command(command, time.monotonic())
        made.machine.announce()
        made.settle()
        assert not made.wire.heard()
        made.machine.monitor.command("cont")
        heard: list[bytes] = []
        wait.until(
            lambda: made.controller.pump(0.1) or answers, "an answer after it has stood still"
        )
        wait.until(lambda: heard.extend(made.wire.heard()) or RARP in kinds(heard), "its place")
        assert made.machine.info()["session"]["registrations"] == before


def test_stopped_with_frames() -> None:
    """What waits for a guest outlives no stop; the NIC does, and its controller is heard."""
    with bed() as made:
        made.controller.set(flow(output(GUEST), in_port=WIRE))
        made.flood()
        made.flooded()
        for command in ("stop", "system_reset", "cont"):
            made.machine.monitor.command(command)
        made.flood()
        made.controller.set(flow(priority=0))
        wait.until(
            lambda: made.machine.dropped("wire", "queue") >= 2 * WAITING_MAX, "the second flood"
        )


PLUG = {
    "driver": "virtio-net-cvsw-pci",
    "id": "nic0",
    "netdev": "net0",
    "control-secret": "key",
    "mac": MAC,
    "addr": "0x10",
    "romfile": "",
}


@pytest.mark.parametrize("netdev_first", [False, True], ids=["nic", "netdev"])
def test_pulled_out(netdev_first: bool) -> None:
    """Frames that wait go with the NIC, or its network; one in its place knows nothing of it."""
    with bed(machine="pc") as made:
        monitor = made.machine.monitor
        made.controller.set(flow(output(GUEST), in_port=WIRE))
        made.flood()
        made.flooded()
        if netdev_first:
            monitor.command("netdev_del", id="net0")
            assert made.machine.info()["netdev"] == ""
            made.machine.announce()
        monitor.command("device_del", id="nic0")
        # Nobody is there to agree: what was asked for is done at a reset.
        monitor.command("system_reset")
        monitor.wait_event("DEVICE_DELETED", device="nic0")
        assert monitor.command("query-cvsw") == []
        if netdev_first:
            tap = {"ifname": "tap0", "script": "no", "downscript": "no", "vhost": False}
            monitor.execute("netdev_add", {"type": "tap", "id": "net0", **tap})
        known = len(made.controller.registrations)
        monitor.execute("device_add", PLUG)
        wait.until(
            lambda: made.controller.pump(0.1) or len(made.controller.registrations) > known,
            "the new one registers",
        )
        assert made.controller.registrations[-1].entries == 0
        made.controller.set(flow(priority=0))
        assert made.machine.info()["table"]["flows"] == 1


@pytest.mark.parametrize("miss", ["drop", "normal"])
def test_announced_without_flows(miss: str) -> None:
    """Where a guest is goes the way of the guest's own frames: none, or that of any NIC."""
    with bed(f"miss={miss}") as made:
        made.wire.heard()
        made.machine.announce()
        if miss == "drop":
            wait.until(lambda: made.machine.dropped("guest", "miss") == 1, "it ends here")
            assert not made.wire.heard()
        else:
            heard = wait.until(made.wire.heard, "an announcement")
            assert kinds(heard) == {RARP}
            assert heard[0][6:12] == cvsw.mac_octets(MAC)
