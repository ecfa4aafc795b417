# SPDX-License-Identifier: GPL-2.0-or-later
"""The channel to a guest's agent: frames arrive, and others end it with a reason."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import pytest
from lab.guest.agent import Channel, ChannelClosed


@pytest.fixture
def pair() -> Iterator[tuple[Channel, socket.socket]]:
    """A channel, and the agent's end of it."""
    ours, agents = socket.socketpair()
    channel = Channel(ours)
    yield channel, agents
    channel.close()
    agents.close()


def _frame(number: int, kind: str, payload: bytes) -> bytes:
    return struct.pack("<III", len(payload), number, ord(kind)) + payload


def test_output_arrives_in_pieces(pair: tuple[Channel, socket.socket]) -> None:
    channel, agents = pair
    job = channel.start(["true"])
    data = _frame(1, "O", b"out\n") + _frame(1, "E", b"err\n") + _frame(1, "X", bytes(4))
    for at in range(len(data)):
        agents.sendall(data[at : at + 1])
    done = job.wait()
    assert (done.rc, done.stdout, done.stderr) == (0, "out\n", "err\n")
    assert not job.running


@pytest.mark.parametrize(
    "octets",
    [b"64 bytes from 2001:db8::1", struct.pack("<III", 4, 1, 0x20000000) + bytes(4)],
    ids=["length", "kind"],
)
def test_what_is_no_frame_ends_it(pair: tuple[Channel, socket.socket], octets: bytes) -> None:
    """A guest whose octets were lost is noticed: its jobs do not just seem quiet."""
    channel, agents = pair
    job = channel.start(["true"])
    agents.sendall(octets)
    with pytest.raises(ChannelClosed, match="not a frame of the agent"):
        job.wait()
    assert not job.running
    with pytest.raises(ChannelClosed, match="not a frame of the agent"):
        channel.start(["true"])
