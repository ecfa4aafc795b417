# SPDX-License-Identifier: GPL-2.0-or-later
"""A switch whose master is a foreign controller, and which grants no other role."""

from __future__ import annotations

import asyncio
import struct
from pathlib import Path

from lab.cvsw import plans as cvsw_plans
from lab.cvsw.nics import World
from lab.packages import wheels
from vmmnet.cvsw.control import report
from vmmnet.cvsw.wire.role import Role

FEATURES, ERROR, PACKET_OUT, ROLE = 5, 1, 13, 24
EQUAL, MASTER = 1, 2
TERM = 5


def message(kind: int, body: bytes, xid: int = 0) -> bytes:
    """One of OpenFlow 1.3."""
    return struct.pack(">BBHI", 4, kind, 8 + len(body), xid) + body


class Peer:
    """The switch's side: it answers what a channel asks, and keeps what it said."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.said: list[str] = []

    def send(self, kind: int, body: bytes, xid: int = 0) -> None:
        """Send a message."""
        self._writer.write(message(kind, body, xid))

    async def asks(self, kind: int) -> tuple[int, bytes]:
        """The next message of a type: transaction and body."""
        while True:
            _, what, size, xid = struct.unpack(">BBHI", await self._reader.readexactly(8))
            body = await self._reader.readexactly(size - 8)
            if what == kind:
                return xid, body

    async def asks_role(self, role: int) -> int:
        """The next request of a role: its transaction."""
        while True:
            xid, body = await self.asks(ROLE)
            if struct.unpack_from(">I", body) == (role,):
                return xid


def test_no_equals() -> None:
    """It says so once, sends no frames that would be refused, and asks again."""
    asyncio.run(_no_equals())


async def _no_equals() -> None:
    wheels.use_os_ken()
    from vmmnet.cvsw.wire.channel import Channel, Handlers

    said, channels = list[str](), list[Channel]()
    handlers = Handlers(
        channels.append, lambda *_: None, lambda _: None, lambda channel: channel.lead(TERM),
        told=lambda _, text: said.append(text),
    )  # fmt: skip
    server = await asyncio.start_server(
        lambda reader, writer: Channel.serve(reader, writer, handlers), "127.0.0.1", 0
    )
    peer = Peer(*await asyncio.open_connection(*server.sockets[0].getsockname()))
    peer.send(0, b"")
    xid, _ = await peer.asks(FEATURES)
    peer.send(6, struct.pack(">QIBxxxII", 0xC0DE, 0, 1, 0, 0), xid)
    xid = await peer.asks_role(MASTER)
    peer.send(ROLE + 1, struct.pack(">I4xQ", MASTER, TERM), xid)
    await peer.asks(14)  # it is set up
    (channel,) = channels
    assert channel.role is Role.MASTER
    channel.put_out(b"frame")
    xid, _ = await peer.asks(PACKET_OUT)
    for _ in range(3):  # one for each frame under way
        peer.send(ERROR, struct.pack(">HH", 1, 10), xid)
    for _ in range(2):
        xid = await peer.asks_role(EQUAL)
        peer.send(ERROR, struct.pack(">HH", 11, 1), xid)
    xid = await peer.asks_role(EQUAL)
    assert channel.role is Role.SLAVE
    channel.put_out(b"frame")
    assert channel.dropped == 1
    assert said == [
        "a controller that is none of ours has become its master, and this one a slave, which"
        " cannot program NICs: it asks to be an equal",
        "it refuses this controller's role: OpenFlow's error of type 11, code 1",
    ]
    peer.send(ROLE + 1, struct.pack(">I4xQ", EQUAL, TERM), xid)
    await peer.asks(14)
    assert channels == [channel, channel]
    assert channel.role is Role.EQUAL
    server.close()
    peer._writer.close()


def test_nics_of_a_slave(tmp_path: Path) -> None:
    """They are not reached, and commands name them."""
    world = World()
    world.populate(cvsw_plans.plan(tmp_path, cvsw_plans.tree()))
    world.settle()
    assert report.unreached(world.fabric) == []
    world.switch.role = Role.SLAVE
    unreached = report.unreached(world.fabric)
    assert len(unreached) == len(world.nics)
    assert {nic["state"] for nic in unreached} == {"slave"}
