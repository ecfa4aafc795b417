# SPDX-License-Identifier: GPL-2.0-or-later
"""The controller: the fabric's core on a clock, switches and a keeper."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vmmnet.etcd.place import Config

from ..plan.model import Plan
from ..plan.read import BadPlan
from ..wire import tls
from ..wire.channel import Channel, ChannelError, Handlers, PacketIn
from . import state
from .alone import Alone
from .keeper import Again, File, Keeper, Lead, NotDone
from .nics.fabric import Fabric
from .nics.keys import Timing
from .say import say
from .share import Share

#: Seconds until a refused switch is forgotten that does not come again.
_TWIN_FOR = 60.0


class Refused(Exception):
    """A switch has the ID of another one."""


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    host: str
    port: int
    socket: Path
    #: A file, or etcd if several controllers share the work.
    state: Path | Config
    plan: Path | None
    timing: Timing
    #: This controller's name among several.
    name: str
    #: None: OpenFlow without TLS.
    tls: ssl.SSLContext | None = None


class Controller:
    """One daemon."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.fabric = Fabric(options.timing, leads=False, log=say)
        #: What this controller knew when it led last; None: nothing.
        self._led: Fabric | None = None
        self.plan_path: Path | None = None
        self.started = time.time()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._is_woken = False
        #: Keys.changes at the last save; None: of another fabric.
        self._saved: int | None = None
        self._term: int | None = None
        self._channels: set[Channel] = set()
        #: Switches that were refused: datapath-id and address, and when they last came.
        self._twins: dict[tuple[int, str], float] = {}
        self._handlers = Handlers(
            self._switch_up, self._packet, self._switch_down, self._switch_known, self._port,
            lambda channel, text: say(f"switch {channel.datapath_id:016x}: {text}"),
            lambda: self.keeper.leads(),
        )  # fmt: skip
        self.keeper: Keeper
        if isinstance(options.state, Config):
            self.keeper = Share(options.state, options.name, self)
        else:
            self.keeper = Alone(options.state, self)

    # --- called by the keeper ------------------------------------------------------------

    def set_plan(self, path: Path, plan: Plan) -> None:
        """Put a file into force, or keep it for later."""
        self.keeper.leads()
        self.plan_path = path
        self.fabric.set_plan(plan, self._now())
        say(f"{path} is in force: NICs {len(self.fabric.nics)}, tenants {len(plan.tenants)}")
        self.keeper.save()
        self.wake()

    def lead(self, lead: Lead | Again) -> None:
        """Program NICs from now on; forget everything except what the keeper knows.

        If no other controller has led since this one did, NICs keep their sessions and keys.
        """
        if isinstance(lead, Again):
            self._go_on(lead.term)
        else:
            self._start_anew(lead.term, leads=True)
            for sender, receiver, number, is_used in lead.numbers:
                self.fabric.keys.restore((sender, receiver), number, is_used)
            if lead.number is not None:
                self.fabric.keys.count_from(lead.number)
        self._led = None
        for channel in self._channels:
            channel.lead(lead.term)
        self.wake()

    def stand_by(self, term: int) -> None:
        """Program none from now on; what was known serves until another controller leads."""
        led = self.fabric if self.fabric.leads else self._led
        is_other = term != self._term
        self._start_anew(term, leads=False)
        self._led = None if is_other else led
        for channel in self._channels:
            self._switch_known(channel)

    def _start_anew(self, term: int | None, *, leads: bool) -> None:
        plan, self._term, self._saved = self.fabric.plan, term, None
        self.fabric = Fabric(self._options.timing, leads=leads, log=say)
        self.fabric.set_plan(plan, self._now())

    def _go_on(self, term: int) -> None:
        assert self._led
        standby, self.fabric, self._term, self._saved = self.fabric, self._led, term, None
        self.fabric.go_on(standby.plan, standby.switches, self._now())

    def make_keys(self) -> None:
        """Replace all keys."""
        self.fabric.rekey(self._now())
        say("all keys are replaced, as 'rekey' was asked")
        self.wake()

    def numbers(self) -> Iterator[state.Number]:
        """The associations that NICs may have."""
        for (sender, receiver), number, is_used in self.fabric.keys.numbers():
            yield sender, receiver, number, is_used

    @property
    def last_number(self) -> int:
        """The last number that an association got."""
        return self.fabric.keys.last

    async def reload(self) -> None:
        """Read the file of the plan again; a bad one changes nothing."""
        try:
            if self.plan_path:
                await self.keeper.apply(File.read(self.plan_path))
        except (BadPlan, NotDone) as error:
            say(f"the plan is not changed: {error}")

    # --- events --------------------------------------------------------------------------

    def _now(self) -> float:
        return self._loop.time()

    def _switch_known(self, channel: Channel) -> None:
        for other in self._channels - {channel}:
            if other.datapath_id == channel.datapath_id:
                self._refuse(channel, other)
        if channel not in self._channels:
            self._channels.add(channel)
            self._twins.pop((channel.datapath_id, channel.peer), None)
            say(
                f"switch {channel.datapath_id:016x} is there (OpenFlow {channel.version}),"
                f" at {channel.peer}"
            )
        if self.keeper.leads():
            channel.lead(self._term)
        else:
            channel.stand_by(self._term or 0)
            self.fabric.switch_up(channel, self._now())

    def _refuse(self, channel: Channel, first: Channel) -> None:
        """Refuse a switch with the ID of one that answers; it comes again. Raises Refused."""
        first.prove()
        is_told = channel.peer in self.twins(channel.datapath_id)
        self._twins[channel.datapath_id, channel.peer] = self._now()
        if not is_told:
            say(
                f"switch at {channel.peer}: it has the datapath-id {channel.datapath_id:016x} of"
                f" the switch at {first.peer}, and is refused: give one of them another"
                " (ovs-vsctl set bridge BRIDGE other-config:datapath-id=…)"
            )
        raise Refused

    def twins(self, datapath_id: int) -> list[str]:
        """Addresses of switches that are refused, as a connected one has their ID."""
        since = self._now() - _TWIN_FOR
        self._twins = {twin: at for twin, at in self._twins.items() if at >= since}
        return sorted(peer for number, peer in self._twins if number == datapath_id)

    def _switch_up(self, channel: Channel) -> None:
        if self.keeper.leads():
            self.fabric.switch_up(channel, self._now())
            self.wake()

    def _switch_down(self, channel: Channel) -> None:
        if channel not in self._channels:
            return  # it was refused
        say(f"switch {channel.datapath_id:016x} has gone")
        self._channels.remove(channel)
        for peer in self.twins(channel.datapath_id):
            del self._twins[channel.datapath_id, peer]  # it is taken when it comes again
        self.fabric.switch_down(channel, self._now())

    def _packet(self, channel: Channel, packet: PacketIn) -> None:
        if self.keeper.leads():
            self.fabric.packet(channel, packet.port, packet.frame, self._now())
            self.wake()

    def _port(self, channel: Channel, number: int, is_there: bool) -> None:
        if self.keeper.leads():
            self.fabric.port_changed(channel, number, self._now(), is_there=is_there)
            self.wake()

    def wake(self) -> None:
        """Do what is due after all input was handled."""
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon(self._run)

    def _run(self) -> None:
        self._is_woken = False
        self.keeper.leads()
        at = self.fabric.tick(self._now())
        if self._saved != self.fabric.keys.changes:
            self._saved = self.fabric.keys.changes
            self.keeper.save()
        if self._timer:
            self._timer.cancel()
        self._timer = None if at is None else self._loop.call_at(at, self.wake)

    async def serve_switch(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve a connected switch until one side closes the connection."""
        try:
            if self._options.tls:
                await tls.begin(writer, self._options.tls)
            await Channel.serve(reader, writer, self._handlers)
        except Refused:
            pass  # it is told
        except (ChannelError, tls.Refused) as error:
            peer = writer.get_extra_info("peername")
            say(f"switch at {peer[0] if peer else 'an unknown place'}: {error}")
