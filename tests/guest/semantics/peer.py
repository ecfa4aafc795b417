# SPDX-License-Identifier: GPL-2.0-or-later
"""The other end of every case: run as ``python3 peer.py ADDRESS``.

Two services, over IPv4 or IPv6 as the address is: echo (TCP and UDP), and
hands.  A connection to the hands' port carries one line of JSON a request,
``{"do": NAME, "with": [ARGUMENTS]}``, and one an answer, ``{"value": V}`` or
``{"errno": N}``.  So a case decides when its peer does what.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import json
import os
import select
import socket
import struct
import termios
import threading
import zlib
from array import array
from collections.abc import Callable
from typing import Any

ECHO_PORT = 7007
HANDS_PORT = 7011
#: Nobody listens here.
CLOSED_PORT = 7001

#: How much slower this machine is than others, as the test bed is told.
SLOWNESS = float(os.environ.get("VMMNET_PATIENCE") or 1)
# Longer than that of the cases, which say what they waited for.
PATIENCE = 90.0 * SLOWNESS
_CHUNK = 1 << 18
_RESET = struct.pack("ii", 1, 0)


def numbered(size: int) -> bytes:
    """Bytes that tell where in the whole they belong."""
    return array("I", range(size // 4 + 1)).tobytes()[:size]


class _Hands:
    """The sockets that one case works with."""

    def __init__(self, control: socket.socket) -> None:
        self._family = control.family
        self._here = control.getsockname()[0]
        self._there = control.getpeername()[0]
        self._sockets: list[socket.socket] = []

    def _keep(self, new: socket.socket) -> int:
        new.settimeout(PATIENCE)
        self._sockets.append(new)
        return len(self._sockets) - 1

    def _new(self, kind: socket.SocketKind) -> socket.socket:
        new = socket.socket(self._family, kind)
        new.bind((self._here, 0))
        return new

    def release(self) -> None:
        for each in self._sockets:
            each.close()

    def do_nothing(self) -> None:
        """Say so."""

    # Streams.

    def do_listen(self) -> tuple[int, int]:
        listener = self._new(socket.SOCK_STREAM)
        listener.listen(64)
        return self._keep(listener), listener.getsockname()[1]

    def do_listen_full(self) -> int:
        """Listen, where there is no room for another connection: its beginnings are dropped."""
        listener = self._new(socket.SOCK_STREAM)
        listener.listen(0)
        self._keep(listener)
        self._keep(self._new(socket.SOCK_STREAM))
        self._sockets[-1].connect(listener.getsockname()[:2])
        select.select([listener], [], [], PATIENCE)
        port: int = listener.getsockname()[1]
        return port

    def do_accept(self, which: int) -> tuple[int, int]:
        connection, peer = self._sockets[which].accept()
        return self._keep(connection), peer[1]

    def do_connect(self, port: int) -> tuple[int, int]:
        new = self._new(socket.SOCK_STREAM)
        which = self._keep(new)
        new.connect((self._there, port))
        return which, new.getsockname()[1]

    def do_send(self, which: int, text: str, flags: int) -> None:
        data = bytes.fromhex(text)
        if flags:
            self._sockets[which].send(data, flags)
        else:
            self._sockets[which].sendall(data)

    def do_send_numbered(self, which: int, size: int) -> None:
        """Send in the background, then end the stream."""

        def work() -> None:
            self._sockets[which].sendall(numbered(size))
            self._sockets[which].shutdown(socket.SHUT_WR)

        threading.Thread(target=work, daemon=True).start()

    def do_receive(self, which: int, size: int, flags: int) -> str:
        sock = self._sockets[which]
        if flags & socket.MSG_OOB:
            return self._urgent(sock).hex()
        return sock.recv(size, flags).hex()

    def _urgent(self, sock: socket.socket) -> bytes:
        # Python's own waiting is for ordinary data.
        if not select.select([], [], [sock], PATIENCE)[2]:
            raise TimeoutError
        sock.setblocking(False)
        byte = sock.recv(1, socket.MSG_OOB)
        sock.settimeout(PATIENCE)
        return byte

    def do_readable(self, which: int) -> bool:
        """Is there something to read, or the end, now?"""
        return bool(select.select([self._sockets[which]], [], [], 0)[0])

    def do_delivered(self, which: int) -> bool:
        """Has everything that was sent been acknowledged?"""
        left = fcntl.ioctl(self._sockets[which], termios.TIOCOUTQ, bytes(4))
        return not any(left)

    def do_drain(self, which: int) -> tuple[int, int]:
        """Read to the end; return how much it was, and its CRC."""
        count = crc = 0
        while data := self._sockets[which].recv(_CHUNK):
            count += len(data)
            crc = zlib.crc32(data, crc)
        return count, crc

    def do_read(self, which: int, size: int) -> int:
        """Read exactly that much; return its CRC."""
        crc = 0
        while size:
            data = self._sockets[which].recv(min(size, _CHUNK))
            if not data:
                raise ConnectionResetError(errno.ECONNRESET, "the end came too early")
            size -= len(data)
            crc = zlib.crc32(data, crc)
        return crc

    def do_shutdown(self, which: int, how: int) -> None:
        self._sockets[which].shutdown(how)

    def do_close(self, which: int) -> None:
        self._sockets[which].close()

    def do_reset(self, which: int) -> None:
        self._sockets[which].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._sockets[which].close()

    # Datagrams.

    def do_open(self) -> tuple[int, int]:
        new = self._new(socket.SOCK_DGRAM)
        if self._family == socket.AF_INET6:
            new.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
            new.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
        else:
            new.setsockopt(socket.IPPROTO_IP, 12, 1)  # IP_RECVTTL
            new.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        return self._keep(new), new.getsockname()[1]

    def do_tell(self, which: int, port: int, text: str, service: int) -> None:
        """Send a datagram with a type of service."""
        if self._family == socket.AF_INET6:
            self._sockets[which].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, service)
        else:
            self._sockets[which].setsockopt(socket.IPPROTO_IP, socket.IP_TOS, service)
        self._sockets[which].sendto(bytes.fromhex(text), (self._there, port))

    def do_tell_segments(self, which: int, port: int, text: str, size: int) -> None:
        """Send many datagrams of that size in one call."""
        self._sockets[which].setsockopt(socket.IPPROTO_UDP, 103, size)  # UDP_SEGMENT
        self._sockets[which].sendto(bytes.fromhex(text), (self._there, port))

    def do_hear(self, which: int) -> tuple[str, int, int, int]:
        """Receive a datagram: data, port it came from, its TTL and TOS."""
        data, control, _, source = self._sockets[which].recvmsg(1 << 16, 256)
        values = {(level, kind): int.from_bytes(value, "little") for level, kind, value in control}
        if self._family == socket.AF_INET6:
            level, ttl, tos = socket.IPPROTO_IPV6, socket.IPV6_HOPLIMIT, socket.IPV6_TCLASS
        else:
            level, ttl, tos = socket.IPPROTO_IP, socket.IP_TTL, socket.IP_TOS
        return data.hex(), source[1], values[level, ttl], values[level, tos]


def _answer(hands: _Hands, line: bytes) -> dict[str, Any]:
    request = json.loads(line)
    try:
        value = getattr(hands, f"do_{request['do']}")(*request["with"])
    except TimeoutError:
        return {"timeout": request["do"]}
    except OSError as error:
        return {"errno": error.errno}
    return {"value": value}


def _serve_hands(control: socket.socket) -> None:
    hands = _Hands(control)
    with control, control.makefile("rb") as requests:
        for line in requests:
            control.sendall(json.dumps(_answer(hands, line)).encode() + b"\n")
    hands.release()


def _serve_echo(connection: socket.socket) -> None:
    with connection:
        while data := connection.recv(_CHUNK):
            connection.sendall(data)


def _ends_with_its_peer(serve: Callable[[socket.socket], None], peer: socket.socket) -> None:
    with contextlib.suppress(OSError):
        serve(peer)


def _serve_streams(listener: socket.socket, serve: Callable[[socket.socket], None]) -> None:
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_ends_with_its_peer, args=(serve, connection), daemon=True).start()


def _serve_datagrams(bound: socket.socket) -> None:
    while True:
        data, source = bound.recvfrom(1 << 16)
        bound.sendto(data, source)


def main() -> None:
    """Serve until killed; say "ready" when that has begun."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    address = parser.parse_args().address
    family = socket.AF_INET6 if ":" in address else socket.AF_INET

    for port, serve in (ECHO_PORT, _serve_echo), (HANDS_PORT, _serve_hands):
        listener = socket.create_server((address, port), family=family, backlog=256)
        threading.Thread(target=_serve_streams, args=(listener, serve), daemon=True).start()
    bound = socket.socket(family, socket.SOCK_DGRAM)
    bound.bind((address, ECHO_PORT))
    print("ready", flush=True)
    _serve_datagrams(bound)


if __name__ == "__main__":
    main()
