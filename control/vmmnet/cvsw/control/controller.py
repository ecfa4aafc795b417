# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon: the fabric's core on sockets and a clock."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...hostvlan import systemd
from ..channel import Channel, ChannelError, Handlers, PacketIn
from ..plan.model import Plan
from ..plan.read import BadPlan, read
from . import api, state
from .fabric import Fabric
from .keys import Timing

#: What changes at once is written at once, seconds.
_WRITE_AFTER = 1.0


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    host: str
    port: int
    socket: Path
    state: Path
    plan: Path | None
    timing: Timing


class StartError(Exception):
    """The daemon cannot start; the message says why."""


class Controller:
    """One daemon."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.fabric = Fabric(options.timing)
        self.plan_path: Path | None = None
        self.started = time.time()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._is_woken = False
        self._written = state.State()
        self._write_at: float | None = None
        self._handlers = Handlers(self._switch_up, self._packet, self._switch_down)

    # --- plan and state ------------------------------------------------------------------

    def load(self) -> None:
        """Begin with the state file, and the plan of the command line or of last time."""
        try:
            before = state.read(self._options.state)
        except state.StateError as error:
            say(str(error))
            before = state.State()
        path = self._options.plan or before.plan
        if path:
            self.apply(path)
        for sender, receiver, number, is_used in before.numbers:
            self.fabric.keys.restore((sender, receiver), number, is_used)

    def apply(self, path: Path) -> None:
        """Read a file, and bring everything to it. Raises BadPlan; all stays then."""
        self.take(path, read(path))

    def take(self, path: Path, plan: Plan) -> None:
        """Bring everything to what was read of a file."""
        self.plan_path = path.absolute()
        self.fabric.set_plan(plan, self._now())
        self._wake()

    def rekey(self) -> None:
        """Make all keys anew."""
        self.fabric.rekey(self._now())
        self._wake()

    def _reload(self) -> None:
        try:
            if self.plan_path:
                self.apply(self.plan_path)
        except BadPlan as error:
            say(f"the plan stays what it was: {error}")

    def _numbers(self) -> Iterator[state.Number]:
        for (sender, receiver), number, is_used in self.fabric.keys.numbers():
            yield sender, receiver, number, is_used

    def _save(self) -> None:
        now = state.State(self.plan_path, tuple(self._numbers()))
        if now == self._written:
            return
        try:
            state.write(self._options.state, now)
            self._written = now
        except state.StateError as error:
            say(f"cannot remember what NICs have: {error}")

    # --- events --------------------------------------------------------------------------

    def _now(self) -> float:
        return self._loop.time()

    def _switch_up(self, channel: Channel) -> None:
        say(f"switch {channel.datapath_id:016x} is there (OpenFlow {channel.version})")
        self.fabric.switch_up(channel, self._now())
        self._wake()

    def _switch_down(self, channel: Channel) -> None:
        say(f"switch {channel.datapath_id:016x} has gone")
        self.fabric.switch_down(channel, self._now())

    def _packet(self, channel: Channel, packet: PacketIn) -> None:
        self.fabric.packet(channel, packet.port, packet.frame, self._now())
        self._wake()

    def _wake(self) -> None:
        """Do what is due when all that has come is taken."""
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon(self._run)

    def _run(self) -> None:
        self._is_woken = False
        now = self._now()
        at = self.fabric.tick(now)
        if self._write_at is None:
            self._write_at = now + _WRITE_AFTER
        elif self._write_at <= now:
            self._write_at = None
            self._save()
        if self._timer:
            self._timer.cancel()
        due = [each for each in (at, self._write_at) if each is not None]
        self._timer = self._loop.call_at(min(due), self._wake) if due else None

    async def _serve_switch(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            await Channel.serve(reader, writer, self._handlers)
        except ChannelError as error:
            peer = writer.get_extra_info("peername")
            say(f"switch at {peer[0] if peer else 'an unknown place'}: {error}")

    # --- life ----------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve until a signal says that it is enough."""
        options, stop = self._options, asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, stop.set)
        self._loop.add_signal_handler(signal.SIGHUP, self._reload)
        async with contextlib.AsyncExitStack() as stack:
            with _named(f"--listen {options.host}:{options.port}"):
                switches = await asyncio.start_server(
                    self._serve_switch, options.host, options.port
                )
            await stack.enter_async_context(switches)
            with _named(f"--socket {options.socket}"):
                await stack.enter_async_context(api.serving(options.socket, self))
            host, port = switches.sockets[0].getsockname()[:2]
            say(f"switches connect to tcp:{host}:{port}, commands to {options.socket}")
            systemd.notify("READY=1")
            self._wake()
            await stop.wait()
            systemd.notify("STOPPING=1")
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
        self._save()


@contextlib.contextmanager
def _named(option: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StartError(f"{option}: {error.strerror or error}") from None


def say(text: str) -> None:
    """A line for the log."""
    print(f"vmmnet cvsw: {text}", file=sys.stderr, flush=True)


def run(options: Options) -> None:
    """Run the daemon to its end. Raises StartError and BadPlan."""

    async def life() -> None:
        controller = Controller(options)
        controller.load()
        await controller.run()

    asyncio.run(life())
