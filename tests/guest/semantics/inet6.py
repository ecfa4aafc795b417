# SPDX-License-Identifier: GPL-2.0-or-later
"""The same cases with sockets of AF_INET6.

A case asks for AF_INET and names IPv4 addresses.  Here it gets a socket of
AF_INET6, and its addresses become IPv6 addresses on their way to the kernel,
and IPv4 ones again on the way back: those of a table, others IPv4-mapped.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

_native = socket.socket
_MAPPED = "::ffff:"


#: Names of both kinds
_TO6 = {"": "::", "0.0.0.0": "::"}
_TO4 = {"::": "0.0.0.0"}


def _host6(host: Any) -> Any:
    if not isinstance(host, str) or ":" in host:
        return host
    return _TO6.get(host) or _MAPPED + socket.gethostbyname(host)


def _name6(name: Any) -> Any:
    """What the kernel is told."""
    if isinstance(name, tuple) and len(name) == 2:
        return _host6(name[0]), name[1]
    return name


def _name4(name: Any) -> Any:
    """What the case is told."""
    if isinstance(name, tuple) and len(name) == 4:
        host = name[0]
        return _TO4.get(host, host.removeprefix(_MAPPED)), name[1]
    return name


class _Socket(_native):
    """A socket of AF_INET6 in the place of one of AF_INET."""

    def __init__(
        self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None
    ) -> None:
        if fileno is None and family in (-1, socket.AF_INET) and proto != socket.IPPROTO_ICMP:
            plain = type if type == -1 else type & 15
            if plain in (-1, socket.SOCK_STREAM, socket.SOCK_DGRAM):
                family = socket.AF_INET6
        super().__init__(family, type, proto, fileno)

    def bind(self, name: Any) -> None:
        super().bind(_name6(name))

    def connect(self, name: Any) -> None:
        super().connect(_name6(name))

    def connect_ex(self, name: Any) -> int:
        return super().connect_ex(_name6(name))

    def sendto(self, data: Any, *words: Any) -> int:
        return super().sendto(data, *words[:-1], _name6(words[-1]))

    def sendmsg(self, buffers: Any, control: Any = (), flags: int = 0, name: Any = None, /) -> int:
        return super().sendmsg(buffers, control, flags, _name6(name))

    def accept(self) -> tuple[_Socket, Any]:
        new, name = super().accept()
        return new, _name4(name)  # type: ignore[return-value]

    def getsockname(self) -> Any:
        return _name4(super().getsockname())

    def getpeername(self) -> Any:
        return _name4(super().getpeername())

    def recvfrom(self, *words: Any) -> tuple[bytes, Any]:
        data, name = super().recvfrom(*words)
        return data, _name4(name)

    def recvfrom_into(self, *words: Any, **more: Any) -> tuple[int, Any]:
        size, name = super().recvfrom_into(*words, **more)
        return size, _name4(name)

    def recvmsg(self, *words: Any) -> Any:
        data, control, flags, name = super().recvmsg(*words)
        return data, control, flags, _name4(name)

    def recvmsg_into(self, *words: Any) -> Any:
        size, control, flags, name = super().recvmsg_into(*words)
        return size, control, flags, _name4(name)


def use(names: Mapping[str, str]) -> None:
    """Give cases such sockets from here on; these IPv4 addresses stand for IPv6 addresses."""
    _TO6.update(names)
    _TO4.update({six: four for four, six in names.items()})
    socket.socket = _Socket  # type: ignore[misc, assignment]
