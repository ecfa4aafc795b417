# SPDX-License-Identifier: GPL-2.0-or-later
"""A broken relay to a DNS server: it loses queries for one type, or forges addresses.

Run with ``-m``: a relay over UDP and TCP, IPv6 only.
"""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from typing import cast

import dns.flags
import dns.message
import dns.rdatatype
import dns.rrset

Address = tuple[str, int]


class Relay:
    """The relay's treatment of queries."""

    def __init__(self, server: Address, drop: str | None, forge: list[str]) -> None:
        self._server = server
        self._drop = dns.rdatatype.from_text(drop) if drop else None
        self._forged = {
            dns.rdatatype.A if ipaddress.ip_address(each).version == 4 else dns.rdatatype.AAAA: each
            for each in forge
        }

    async def ask(self, message: bytes) -> bytes | None:
        """The reply to a query; None: it is lost."""
        question = dns.message.from_wire(message).question[0]
        if question.rdtype == self._drop:
            return None
        reader, writer = await asyncio.open_connection(*self._server)
        try:
            writer.write(len(message).to_bytes(2, "big") + message)
            size = int.from_bytes(await reader.readexactly(2), "big")
            return self._pass(await reader.readexactly(size))
        finally:
            writer.close()

    def _pass(self, message: bytes) -> bytes:
        reply = dns.message.from_wire(message)
        # Clients expect a resolver's flags, which an authoritative server does not set.
        reply.flags |= dns.flags.RA
        for number, rrset in enumerate(reply.answer):
            if rrset.rdtype in self._forged:
                reply.answer[number] = dns.rrset.from_text(
                    rrset.name, rrset.ttl, "IN", rrset.rdtype, self._forged[rrset.rdtype]
                )
        return bytes(reply.to_wire())


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, ask: Callable[[bytes], Awaitable[bytes | None]]) -> None:
        self._ask = ask
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Python 3.11's own datagram transport is not declared as one.
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str | int, ...]) -> None:
        task = asyncio.get_running_loop().create_task(self._relay(data, addr))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _relay(self, data: bytes, addr: tuple[str | int, ...]) -> None:
        reply = await self._ask(data)
        if reply is not None:
            self._transport.sendto(reply, addr)


async def _serve(options: argparse.Namespace) -> None:
    relay = Relay((options.server, options.server_port), options.drop, options.forge or [])

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(2), "big")
                reply = await relay.ask(await reader.readexactly(size))
                if reply is not None:
                    writer.write(len(reply).to_bytes(2, "big") + reply)
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    place = (options.address, options.port)
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(
        lambda: _Datagrams(relay.ask), local_addr=place, family=socket.AF_INET6
    )
    server = await asyncio.start_server(stream, *place, family=socket.AF_INET6)
    await server.serve_forever()


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("server")
    parser.add_argument("--port", type=int, default=53)
    parser.add_argument("--server-port", type=int, default=53)
    parser.add_argument("--drop", metavar="TYPE", help="lose queries for it")
    parser.add_argument("--forge", metavar="ADDRESS", action="append", help="in every answer")
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
