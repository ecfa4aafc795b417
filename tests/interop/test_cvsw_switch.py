# SPDX-License-Identifier: GPL-2.0-or-later
"""Control frames of CVSW through a real Open vSwitch, in both versions of OpenFlow.

NIC (by hand) --- Open vSwitch --- a neighbour
                       |
              PACKET_IN, PACKET_OUT
                       |
                  channel.py
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from lab.base import wait
from lab.base.net import Interface, Link, Namespace, Network
from lab.cvsw.openvswitch import Switch
from lab.packages import wheels
from vmmnet.cvsw.wire.message import (
    CONTROLLER_MAC,
    ETHERTYPE,
    NICS_MAC,
    NONCE_LEN,
    PAYLOAD_MAX,
    Ack,
    Keys,
    Message,
    Registration,
    Type,
    build,
    is_signed,
    parse,
)
from vmmnet.cvsw.wire.session import Answer, Command, Session

if TYPE_CHECKING:
    from vmmnet.cvsw.wire.channel import Channel, PacketIn

KEY = b"A key of a test, which is as long as keys have to be."
OURS = bytes.fromhex("02fffffffffe")
PORT, NUMBER = 6653, 0xC0DE
_LENGTHS = struct.Struct(">II")


class Controller:
    """channel.py in a thread of its own; what it tells is in queues."""

    def __init__(self, space: Namespace) -> None:
        wheels.use_os_ken()
        self.ready: queue.Queue[Channel] = queue.Queue()
        self.packets: queue.Queue[PacketIn] = queue.Queue()
        self.ended: queue.Queue[Channel] = queue.Queue()
        with space.entered():
            self._listener = socket.create_server(("127.0.0.1", PORT))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    @contextlib.contextmanager
    def running(self) -> Iterator[Controller]:
        """Take connections for the time of a block."""
        self._thread.start()
        server = self._do(asyncio.start_server(self._serve, sock=self._listener))
        try:
            yield self
        finally:
            self._do(self._end(server))
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def put_out(self, channel: Channel, frame: bytes, port: int | None = None) -> None:
        """Send a PACKET_OUT."""
        self._loop.call_soon_threadsafe(channel.put_out, frame, port)

    def prove(self, channel: Channel) -> None:
        """Another switch says that it is this one."""
        self._loop.call_soon_threadsafe(channel.prove)

    def cut(self) -> None:
        """Cut all connections, as a controller does that dies."""
        self._do(self._cut())

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(wait.PATIENCE)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from vmmnet.cvsw.wire.channel import Channel, ChannelError, Handlers

        handlers = Handlers(
            self.ready.put, lambda _, packet: self.packets.put(packet), self.ended.put
        )
        with contextlib.suppress(ChannelError, asyncio.CancelledError):
            await Channel.serve(reader, writer, handlers)

    async def _cut(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _end(self, server: asyncio.Server) -> None:
        server.close()
        await self._cut()


class Nic:
    """A NIC's side of the talk, by hand."""

    def __init__(self, end: Interface) -> None:
        with end.namespace.entered():
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
        self._socket.bind((end.name, ETHERTYPE))
        self.mac = bytes.fromhex(end.mac.replace(":", ""))
        self.heard: list[int] = []
        self._keys: Keys | None = None
        self._nonce = bytes(range(NONCE_LEN))

    def close(self) -> None:
        """Leave the wire."""
        self._socket.close()

    def hears(self, kind: Type) -> tuple[Message, bytes]:
        """The next frame of a type; those before it are in ``heard``."""
        self._socket.settimeout(wait.PATIENCE)
        while True:
            frame, address = self._socket.recvfrom(2000)
            if address[2] != socket.PACKET_OUTGOING:
                message, _ = parse(frame)
                self.heard.append(message.type)
                if message.type == kind:
                    return message, frame

    def register(self) -> None:
        """Say who we are."""
        about = struct.pack(">16sIIIHxx", self._nonce, 4096, 64, 0, 1450)
        key = Keys.registration(KEY, self.mac)
        self._say(Message(Type.REGISTER, self.mac, 0, about), key)

    def accept(self) -> None:
        """Take the ACCEPT that comes, and answer it."""
        message, frame = self.hears(Type.ACCEPT)
        ours, theirs = message.payload[:NONCE_LEN], message.payload[NONCE_LEN:]
        self._keys = Keys.session(KEY, self.mac, ours, theirs)
        assert ours == self._nonce
        assert is_signed(frame, parse(frame)[1], self._keys.to_nic)
        self._answer(0, b"")

    def obey(self, kind: Type, rest: bytes = b"") -> bytes:
        """Take the command that comes and acknowledge it; returns what it was to do."""
        assert self._keys
        message, frame = self.hears(kind)
        assert is_signed(frame, parse(frame)[1], self._keys.to_nic)
        self._answer(message.sequence, _LENGTHS.pack(1, 1) + rest)
        return message.payload

    def _answer(self, sequence: int, payload: bytes) -> None:
        assert self._keys
        self._say(Message(Type.ACK, self.mac, sequence, payload), self._keys.from_nic)

    def _say(self, message: Message, key: bytes) -> None:
        self._socket.send(build(message, self.mac, CONTROLLER_MAC, key))


class Bed:
    """A switch with a NIC, a neighbour and a controller."""

    def __init__(self, network: Network, host: Namespace, switch: Switch, version: str) -> None:
        self.switch, self.version = switch, version
        self.ports = [self._port(network, host, number) for number in (1, 2)]
        self.nic, self.neighbour = (Nic(port.a) for port in self.ports)
        self.controller = Controller(host)
        self.registrations: list[Registration] = []

    def _port(self, network: Network, host: Namespace, number: int) -> Link:
        space = network.namespace(f"vm{number}")
        link = network.connect(space, host, [f"192.0.2.{number}/24"])
        names = [link.b.name, "--", "set", "interface", link.b.name, f"ofport_request={number}"]
        self.switch.set("add-port", "sw", *names)
        return link

    def meet(self, channel: Channel) -> Session:
        """The way to an open session: HELLO to all, REGISTER, ACCEPT, ACK."""

        def send(frame: bytes) -> None:
            self.controller.put_out(channel, frame, 1)

        session = Session(self.nic.mac, KEY, OURS, send, self.registrations.append)
        self.controller.put_out(channel, build(Message(Type.HELLO), OURS, NICS_MAC, None))
        self.nic.hears(Type.HELLO)
        self.neighbour.hears(Type.HELLO)
        self.nic.register()
        self.take(session)
        self.nic.accept()
        self.take(session)
        return session

    def take(self, session: Session) -> None:
        """Have the session take the next PACKET_IN."""
        packet = self.controller.packets.get(timeout=wait.PATIENCE)
        assert packet.port == 1
        session.input(packet.frame, time.monotonic())


@pytest.fixture(params=["OpenFlow10", "OpenFlow13", "OpenFlow10,OpenFlow13"])
def bed(network: Network, request: pytest.FixtureRequest) -> Iterator[Bed]:
    host = network.namespace("host")
    host.sysctl({"net.ipv6.conf.all.disable_ipv6": 1})
    with Switch.running(host) as switch:
        made = Bed(network, host, switch, request.param)
        with made.controller.running():
            switch.obey(f"tcp:127.0.0.1:{PORT}", NUMBER, request.param)
            yield made
        made.nic.close()
        made.neighbour.close()


def test_a_nic_is_programmed(bed: Bed) -> None:
    """Frames as large as they can be come and go whole, and the neighbour hears none of them."""
    channel = bed.controller.ready.get(timeout=wait.PATIENCE)
    assert channel.datapath_id == NUMBER
    session = bed.meet(channel)
    assert session.is_open
    assert bed.registrations[0].entries_max == 4096
    answers: list[Answer] = []
    flows = bytes(number % 251 for number in range(PAYLOAD_MAX))
    session.command(Command(Type.SET_ENTRY, flows, answers.append), time.monotonic())
    rest = flows[: PAYLOAD_MAX - _LENGTHS.size]
    assert bed.nic.obey(Type.SET_ENTRY, rest) == flows
    bed.take(session)
    assert answers == [Ack(1, 1, rest)]
    # What the switch is told now comes behind all that it was told before.
    bed.controller.put_out(channel, build(Message(Type.HELLO), OURS, bed.nic.mac, None), 2)
    bed.neighbour.hears(Type.HELLO)
    assert set(bed.neighbour.heard) == {Type.HELLO}


def test_other_frames_are_switched(bed: Bed) -> None:
    """Who has no CVSW is switched as before, and the controller is not asked."""
    bed.controller.ready.get(timeout=wait.PATIENCE)
    space = bed.ports[0].a.namespace
    wait.until(
        lambda: space.run(["ping", "-c1", "-W1", "192.0.2.2"], check=False).returncode == 0,
        "the neighbour answers",
    )
    # Behind all of them.
    bed.nic.register()
    bed.controller.packets.get(timeout=wait.PATIENCE)
    assert bed.controller.packets.empty()


def test_the_connection_comes_again(bed: Bed) -> None:
    """After its controller is gone, the switch connects again, and the NIC is met again."""
    first = bed.controller.ready.get(timeout=wait.PATIENCE)
    bed.meet(first)
    bed.controller.cut()
    assert bed.controller.ended.get(timeout=wait.PATIENCE) is first
    second = bed.controller.ready.get(timeout=wait.PATIENCE)
    assert second is not first
    assert bed.meet(second).is_open


def test_a_switch_has_to_prove_itself(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """If another one claims to be it: it stays while it answers, and not longer."""
    first = bed.controller.ready.get(timeout=wait.PATIENCE)
    monkeypatch.setattr("vmmnet.cvsw.wire.channel._SILENCE_MAX", float("inf"))
    bed.controller.prove(first)
    bed.meet(first)
    with bed.switch.frozen():
        bed.controller.prove(first)
        assert bed.controller.ended.get(timeout=wait.PATIENCE) is first
