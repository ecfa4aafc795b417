# SPDX-License-Identifier: GPL-2.0-or-later
"""Some of os-ken's cases on a whole NIC: a guest on one side, the host's tap on the other.

tests/interop/test_cvsw_cases.py has all cases, on the switch in the NIC without QEMU.  Here
only what passes a NIC can be seen: a device tells nobody how many frames had no flow.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import wait
from lab.base.net import Network
from lab.cvsw import bed as cvsw
from lab.cvsw.bed import NORMAL, Controller, flow, output
from lab.cvsw.openflow import cases, lacks
from lab.cvsw.openflow import end as ends
from lab.cvsw.openflow.cases import IN, OUT, Case
from lab.cvsw.openflow.end import End
from lab.cvsw.openflow.nic import GUEST, SIDES, WIRE
from lab.cvsw.openflow.osken import VERSIONS, OsKen
from lab.cvsw.openflow.trial import error_name
from lab.guest.agent import Job
from lab.guest.guest import Guest
from lab.hosts import bridged
from lab.packages import kernel
from vmmnet.cvsw.wire.message import Refusal, Type

MAC = "52:54:00:00:00:01"
PROGRAM = "/usr/lib/vmmnet/tests/end.py"
#: IEEE 802's second local experimental EtherType: frames behind which a case ends.
MARK = 0x88B6
#: Of each group of a version.
SOME = 5


class GuestEnd:
    """The guest's end of the NIC, as End is the host's."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._lines = job.lines()
        assert next(self._lines) == "ready"

    def say(self, frame: bytes) -> None:
        """Send a frame."""
        self._job.write(frame.hex().encode() + b"\n")

    def until(self, mark: bytes) -> list[bytes]:
        """What comes before a frame."""
        self._job.wait_output(mark.hex())
        lines = itertools.takewhile(lambda line: line != mark.hex(), self._lines)
        return [bytes.fromhex(line) for line in lines]


class HostEnd:
    """The wire's end."""

    def __init__(self, end: End) -> None:
        self._end = end

    def say(self, frame: bytes) -> None:
        """Send a frame."""
        self._end.say(frame)

    def until(self, mark: bytes) -> list[bytes]:
        """What comes before a frame."""
        frames: list[bytes] = []
        while mark not in frames:
            frame = wait.until(lambda: self._end.hear(1.0), "the mark comes out of the NIC")
            frames.append(frame)
        return frames[:-1]


class Device:
    """A NIC between its guest and its wire."""

    def __init__(self, controller: Controller, guest: GuestEnd, host: HostEnd) -> None:
        self._controller = controller
        self._ends = {GUEST: guest, WIRE: host}
        self._marks = itertools.count()

    def through(self, case: Case, side: str) -> list[str]:
        """What is wrong with a case whose frames come from one side."""
        ports = SIDES[side]
        self._controller.clear()
        # Marks go to the other side, whatever the case's flows are.
        self._controller.set(flow(output(NORMAL), dl_type=MARK, priority=0xFFFF))
        for message in case.messages(ports=ports):
            answer = self._controller.order(Type.SET_ENTRY, message)
            if isinstance(answer, Refusal):
                return [f"{case.name}: {error_name(case.osken, answer.openflow)}"]
        faults = []
        for step in case.steps():
            mark = self._mark()
            for frame in (step.ingress, mark):
                self._ends[ports[IN]].say(frame)
            seen = self._ends[ports[OUT]].until(mark)
            if seen != [frame for frame in (step.egress,) if frame is not None]:
                faults.append(f"{case.name}: {[frame.hex() for frame in seen]}")
        return faults

    def _mark(self) -> bytes:
        head = bytes.fromhex("02fffffffffe 02fffffffffd") + struct.pack("!H", MARK)
        return (head + struct.pack("!I", next(self._marks))).ljust(60, b"\0")


@functools.cache
def some_cases() -> tuple[Case, ...]:
    """Some of each group that a NIC can have and that have nothing for the controller."""
    found: list[Case] = []
    for version in VERSIONS:
        able = [case for case in cases.read(OsKen(version)) if not lacks.of(case)]
        able = [case for case in able if all(step.packet_in is None for step in case.steps())]
        for group in sorted({case.group for case in able}):
            found += cases.sample([case for case in able if case.group == group], SOME)
    return tuple(found)


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with Network() as network, contextlib.ExitStack() as stack:
        host = network.namespace("host")
        host.sysctl(bridged.QUIET)
        tap = host.tap("tap0")
        arguments = [
            *("-netdev", "tap,id=net0,ifname=tap0,script=no,downscript=no,vhost=off"),
            *("-object", f"secret,id=key,data={cvsw.KEY.decode().replace(',', ',,')}"),
        ]
        nic = (
            f"virtio-net-cvsw-pci,netdev=net0,mac={MAC},control-secret=key,miss=drop,"
            "addr=0x10,romfile="
        )
        guest = stack.enter_context(
            Guest(
                netns=host,
                kernel=kernel.MAIN,
                ipv6=False,
                memory="256M",
                smp=1,
                devices=[nic],
                arguments=arguments,
                files={PROGRAM: Path(str(ends.__file__))},
            )
        )
        guest.run("modprobe virtio_net")
        where = "/sys/bus/pci/devices/0000:00:10.0/virtio*/net/"
        name = guest.wait_for(f"ls {where}").stdout.strip()
        guest.run(f"ip link set {name} up")
        with host.entered():
            end = End(tap.name)
        stack.callback(end.close)
        controller = Controller(tap, MAC)
        stack.callback(controller.close)
        controller.hello()
        controller.meet()
        job = guest.spawn(["python3", "-u", PROGRAM, name])
        yield Device(controller, GuestEnd(job), HostEnd(end))
        job.close_input()
        job.wait(check=True)


@pytest.mark.parametrize("side", SIDES)
def test_cases(device: Device, side: str) -> None:
    """What leaves the NIC on its other side is what the case wants, and nothing else does."""
    assert not [fault for case in some_cases() for fault in device.through(case, side)]
