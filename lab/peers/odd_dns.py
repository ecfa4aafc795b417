# SPDX-License-Identifier: GPL-2.0-or-later
"""A DNS server over UDP that answers late, or is lame, IPv6 only; run with ``-m``.

Every name has one AAAA record and nothing else.  It also listens on TCP, but only to show that it
is ready.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import cast

_HEADER = 12
_AAAA = 28
_POINTER_TO_NAME = b"\xc0\x0c"


@dataclass
class _Datagrams(asyncio.DatagramProtocol):
    target: IPv6Address
    delay: float
    lame: bool

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Python 3.11's own datagram transport is not declared as one.
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str | int, ...]) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(self.delay, self._transport.sendto, self._reply(data), addr)

    def _reply(self, query: bytes) -> bytes:
        end = query.index(0, _HEADER) + 5
        kind = int.from_bytes(query[end - 4 : end - 2])
        records = b""
        if kind == _AAAA and not self.lame:
            fixed = _POINTER_TO_NAME + query[end - 4 : end]
            records = fixed + (60).to_bytes(4) + (16).to_bytes(2) + self.target.packed
        # QR and RD; RA is what a lame server does not set.
        flags = b"\x81\x00" if self.lame else b"\x81\x80"
        counts = b"\0\1" + (len(records) > 0).to_bytes(2) + bytes(4)
        return query[:2] + flags + counts + query[_HEADER:end] + records


async def _serve(options: argparse.Namespace) -> None:
    # A client that asks for many names at once sends many datagrams at once.
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    sock.bind((str(options.address), options.port))
    protocol = _Datagrams(options.target, options.delay, options.lame)
    await asyncio.get_running_loop().create_datagram_endpoint(lambda: protocol, sock=sock)
    server = await asyncio.start_server(
        lambda _reader, writer: writer.close(),
        str(options.address),
        options.port,
        family=socket.AF_INET6,
    )
    await server.serve_forever()


def main() -> None:
    """Parse the command line and serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", type=IPv6Address, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--target", type=IPv6Address, required=True, help="the AAAA record")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds until each answer")
    parser.add_argument("--lame", action="store_true", help="NOERROR, empty, AA and RA clear")
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
