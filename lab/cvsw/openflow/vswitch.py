# SPDX-License-Identifier: GPL-2.0-or-later
"""Open vSwitch between the tester's ports, which are taps."""

from __future__ import annotations

import collections
import contextlib
import itertools
import select
import time
from collections.abc import Iterator
from typing import Any

from ...base import wait
from ...base.net import Interface, Network
from ...hosts import bridged
from ...hosts.bridged import TapWire
from ..openvswitch import Switch
from .cases import AS_THEY_ARE, IN, Flood, Seen
from .channel import Channel
from .osken import OsKen
from .trial import error_name

_STRANGER = 0x02FFFFFFFFFD
#: Frames that Open vSwitch can always queue while it is busy.
_WINDOW = 16
#: A meter first passes its burst: one second of traffic.
_WARM, _MEASURED, _ATTEMPTS = 1.5, 4.0, 3
_BEAT = 0.005

Counted = dict[int, tuple[int, int]]


class OpenVSwitch:
    """Open vSwitch with its datapath in user space; one thread handles frames and OpenFlow."""

    ports = AS_THEY_ARE

    def __init__(self, switch: Switch, taps: dict[int, TapWire]) -> None:
        self._switch, self._taps = switch, taps
        self._osken: OsKen | None = None
        self._channel: Channel | None = None
        self._marks = itertools.count()

    @classmethod
    @contextlib.contextmanager
    def running(cls, network: Network) -> Iterator[OpenVSwitch]:
        """Start it in a namespace of its own, for the time of a block."""
        space = network.namespace("tester")
        space.sysctl(bridged.QUIET)
        with contextlib.ExitStack() as stack:
            switch = stack.enter_context(Switch.running(space))
            versions = "protocols=OpenFlow10,OpenFlow13"
            switch.set("set", "bridge", "sw", "fail-mode=secure", versions)
            taps = {}
            for port in AS_THEY_ARE:
                name = f"port{port}"
                taps[port] = TapWire.of_tap(space, name)
                stack.callback(taps[port].close)
                Interface(space, name).up()
                number = f"ofport_request={port}"
                switch.set("add-port", "sw", name, "--", "set", "interface", name, number)
            made = cls(switch, taps)
            stack.callback(made.hang_up)
            yield made

    def hang_up(self) -> None:
        """End the connection."""
        if self._channel:
            self._channel.close()
            self._channel = None

    @property
    def channel(self) -> Channel:
        """The connection, with the version of the last clear()."""
        assert self._channel is not None
        return self._channel

    def clear(self, osken: OsKen) -> None:
        """Delete all flows, groups and meters; use this version."""
        if self._channel is None or self._channel.version != osken.version:
            self.hang_up()
            self._osken = osken
            self._channel = Channel(self._switch.openflow, osken)
        for message in _deletions(osken):
            if answers := self.channel.ask(message):
                raise RuntimeError(error_name(osken, answers[0]))

    def set(self, message: bytes) -> str:
        """Send a message; return the name of the error, or nothing."""
        assert self._osken is not None
        answers = self.channel.ask(message)
        return error_name(self._osken, answers[0]) if answers else ""

    def send(self, frame: bytes) -> Seen:
        """Send a frame, and wait until it has been looked up and sent."""
        self._switch.forget()
        before = self.channel.tables()
        self.channel.packet_ins.clear()
        self._taps[IN].send(frame)
        after = self._looked_up(before)
        out = [(port, octets) for port in self._taps for octets in self._until_mark(port)]
        told = [each.data for each in self.channel.packet_ins if self._is_told(each)]
        changed = {
            number: (after[number][0] - before[number][0], after[number][1] - before[number][1])
            for number in after
        }
        return Seen(out, told, changed)

    def _looked_up(self, before: Counted) -> Counted:
        deadline = time.monotonic() + wait.PATIENCE
        while (after := self.channel.tables()) == before:
            if time.monotonic() > deadline:
                raise wait.Timeout("the frame is not looked up")
        return after

    def _until_mark(self, port: int) -> Iterator[bytes]:
        mark = bridged.frame(_STRANGER, f"mark {next(self._marks)}")
        self.channel.packet_out(mark, port)
        while (octets := self._taps[port].receive()) != mark:
            yield octets

    def _is_told(self, packet_in: Any) -> bool:
        """Whether a flow has sent it; os-ken's tester ignores others."""
        assert self._osken is not None
        return bool(packet_in.reason == self._osken.ofproto.OFPR_ACTION)

    # --- rates -----------------------------------------------------------------

    def flood(self, flood: Flood) -> str:
        """Measure a flood; return the fault, or nothing.

        A meter is measured for a time, shorter than os-ken's and without the first burst, and again
        if the machine was busy. Groups get the frames that os-ken sends in its time, as fast as
        Open vSwitch takes them.
        """
        self._switch.forget()
        if len(flood.wanted) > 1:
            return flood.fault(self._all(flood), flood.seconds)
        self._for_a_time(flood, _WARM)
        fault = ""
        for _ in range(_ATTEMPTS):
            fault = flood.fault(*self._for_a_time(flood, _MEASURED))
            if not fault:
                break
        return fault

    def _all(self, flood: Flood) -> Counted:
        counted: Counted = collections.defaultdict(lambda: (0, 0))
        number, patience = flood.pktps * flood.seconds, 1.0
        for sent, frame in enumerate(itertools.islice(flood.frames(), number), 1):
            self._taps[IN].send(frame)
            if sent % _WINDOW == 0 and not self._count(counted, sent - _WINDOW, patience):
                # The frames are lost, which is a result; do not wait for each.
                patience = 0.0
        self._count(counted, number * len(self._taps), 1.0)
        return counted

    def _for_a_time(self, flood: Flood, seconds: float) -> tuple[Counted, float]:
        counted: Counted = collections.defaultdict(lambda: (0, 0))
        frames, sent = flood.frames(), 0
        began = time.monotonic()
        while (now := time.monotonic() - began) < seconds:
            for frame in itertools.islice(frames, int(now * flood.pktps) - sent):
                self._taps[IN].send(frame)
                sent += 1
            self._count(counted, 1 << 62, _BEAT)
        return counted, now

    def _count(self, counted: Counted, wanted: int, patience: float) -> bool:
        """Count packets until ``wanted`` have left, or none has for ``patience`` seconds."""
        taps = {tap.fileno(): (port, tap) for port, tap in self._taps.items()}
        while sum(packets for _, packets in counted.values()) < wanted:
            ready, _, _ = select.select(list(taps), [], [], patience)
            if not ready:
                return False
            for device in ready:
                port, tap = taps[device]
                octets, packets = counted[port]
                counted[port] = (octets + len(tap.receive()), packets + 1)
        return True


def _deletions(osken: OsKen) -> list[bytes]:
    of, ofproto, datapath = osken.of, osken.ofproto, osken.datapath
    if osken.version == 1:
        return [osken.octets(of.OFPFlowMod(datapath, of.OFPMatch(), 0, ofproto.OFPFC_DELETE))]
    flows = of.OFPFlowMod(
        datapath,
        table_id=ofproto.OFPTT_ALL,
        command=ofproto.OFPFC_DELETE,
        out_port=ofproto.OFPP_ANY,
        out_group=ofproto.OFPG_ANY,
    )
    groups = of.OFPGroupMod(datapath, ofproto.OFPGC_DELETE, 0, ofproto.OFPG_ALL, [])
    meters = of.OFPMeterMod(datapath, ofproto.OFPMC_DELETE, 0, ofproto.OFPM_ALL)
    return [osken.octets(each) for each in (flows, groups, meters)]
