# SPDX-License-Identifier: GPL-2.0-or-later
"""Listening at addresses that this host does not have, or not yet."""

from __future__ import annotations

import contextlib
import socket

import pytest
from vmmnet import listen


@pytest.mark.parametrize(("host", "missing"), [("127.0.0.1", 0), ("192.0.2.77", 1)])
def test_address(host: str, missing: int) -> None:
    """One of another host is bound as well, and reported."""
    with contextlib.closing(listen.bound(host, 0)) as made:
        (one,) = made.sockets
        assert one.getsockname()[0] == host
        assert made.missing() == (host,)[:missing]
        assert made.index == 0


def test_interface_is_missing() -> None:
    """It may come: that is no error."""
    with pytest.raises(listen.NotYet, match="interface none7 is not there"):
        listen.bound("fe80::1%none7", 0)
    assert listen.index("fe80::1%none7") == 0
    assert listen.index("fe80::1%lo") == socket.if_nametoindex("lo")


@pytest.mark.parametrize("host", ["300.0.2.1", "224.0.0.1", "1:2:3"])
def test_wrong_address(host: str) -> None:
    """What no host can have is an error."""
    with pytest.raises(OSError, match=r"Name or service|multicast"):
        listen.bound(host, 0)


def test_taken() -> None:
    with contextlib.closing(listen.bound("127.0.0.1", 0)) as made:
        port = made.sockets[0].getsockname()[1]
        with pytest.raises(OSError, match="in use"):
            listen.bound("127.0.0.1", port)


def test_place() -> None:
    assert listen.place("192.0.2.1", 1) == "192.0.2.1:1"
    assert listen.place("::1", 1) == "[::1]:1"
