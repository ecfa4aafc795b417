# SPDX-License-Identifier: GPL-2.0-or-later
"""An echo server for TCP and UDP on one port, IPv6 only; run with ``-m``."""

from __future__ import annotations

import argparse
import asyncio
import socket
from typing import cast


class _Datagrams(asyncio.DatagramProtocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Python 3.11's own datagram transport is not declared as one.
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str | int, ...]) -> None:
        self._transport.sendto(data, addr)


async def _stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def _serve(address: str, port: int) -> None:
    await asyncio.get_running_loop().create_datagram_endpoint(
        _Datagrams, (address, port), family=socket.AF_INET6
    )
    server = await asyncio.start_server(_stream, address, port, family=socket.AF_INET6)
    await server.serve_forever()


def main() -> None:
    """Parse the command line and serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", default="::", help="IPv6 address to bind")
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    asyncio.run(_serve(options.address, options.port))


if __name__ == "__main__":
    main()
