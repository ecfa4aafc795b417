# SPDX-License-Identifier: GPL-2.0-or-later
"""What other systems that take sockets out of a guest get wrong, or got.

Each case names the report.  ``test_peers_bugs`` has those that need more than
a program and a peer, and says which other cases here guard against a report.
"""

from __future__ import annotations

import array
import errno
import fcntl
import functools
import select
import socket
import termios
import time
from collections.abc import Callable

from .harness import (
    Task,
    World,
    case,
    expect,
    fails,
    fill,
    pending,
    receive_all,
    set_flag,
    wait_for,
)
from .peer import numbered
from .remote import Stream

# Many times a window that nobody empties.
_MUCH = 1 << 20
_REST = b"rest" * 50_000
_QUIET = 0.15
# Five seconds have several times as many; a thread that has to wait for a processor has fewer.
_TURNS = 1000


@case
def end_of_a_stream_is_not_late(world: World) -> None:
    """a3s-box #447: the end of a stream comes five seconds late, in either direction."""
    for sock, theirs in world.pair(), world.accepted():
        sock.setblocking(False)
        theirs.send(b"last")
        wait_for(sock, select.POLLIN)
        expect(sock.recv(4), b"last")
        theirs.shutdown(socket.SHUT_WR)
        _soon(lambda: pending(sock, select.POLLIN), theirs)  # noqa: B023
        expect(sock.recv(1), b"")
        sock.send(b"last")
        expect(theirs.receive(4), b"last")
        sock.close()
        _soon(theirs.readable, theirs)
        expect(theirs.receive(1), b"")


def _soon(condition: Callable[[], object], theirs: Stream) -> None:
    """While other streams go to and fro a few times; what a clock says does not matter."""
    for _ in range(_TURNS):
        if condition():
            return
        theirs.hands.do("nothing")
    raise AssertionError("the end is late")


def _calls(sock: socket.socket) -> list[Callable[[], object]]:
    """What any other thread may ask of a socket."""
    return [
        sock.getsockname,
        lambda: sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
        lambda: set_flag(sock, socket.SOL_SOCKET, socket.SO_KEEPALIVE),
        lambda: pending(sock, select.POLLIN | select.POLLOUT),
    ]


def _return(calls: list[Callable[[], object]]) -> None:
    """None of the calls may wait; each has a thread, since it might."""
    for call in calls:
        Task(call).result()


@case
def calls_while_accept_waits(world: World) -> None:
    """libkrun #819, libkrunfw #89: accept() keeps others from the listener while it waits."""
    listener, port = world.listener()
    waiting = Task(listener.accept).wait_blocked()
    _return(_calls(listener))
    theirs = world.hands.connect(port)
    ours, _ = waiting.result()
    theirs.send(b"x")
    expect(ours.recv(1), b"x")


@case
def calls_while_receive_waits(world: World) -> None:
    """libkrunfw #89: any call that waits keeps others from its socket."""
    for sock in world.stream(), world.datagrams(connected=True):
        waiting = Task(sock.recv, 1).wait_blocked()
        _return([*_calls(sock), sock.getpeername, functools.partial(_unread, sock)])
        sock.send(b"x")
        expect(waiting.result(), b"x")


@case
def calls_while_send_waits(world: World) -> None:
    """libkrun #809: send() to a peer that does not read stops everything else."""
    slow, theirs = world.pair()
    sent = fill(slow)
    waiting = Task(slow.sendall, _REST).wait_blocked()
    _return([*_calls(slow), slow.getpeername])
    theirs.send(b"news")
    expect(receive_all(slow, 4), b"news")
    fast = world.stream()
    for number in range(20):
        fast.send(b"%d" % number)
        expect(fast.recv(10), b"%d" % number)
    theirs.read(sent + len(_REST))
    waiting.result()


def _unread(sock: socket.socket) -> int:
    count = array.array("i", [0])
    fcntl.ioctl(sock, termios.FIONREAD, count)
    return count[0]


@case
def stream_stalled_and_resumed(world: World) -> None:
    """libkrun #772: a stream whose window was full once never goes on, or loses bytes."""
    sock, theirs = world.pair()
    theirs.send_numbered(_MUCH)
    wait_for(sock, select.POLLIN)
    # Nobody reads before the window is full and what is on its way stands still.
    unread, before = 1, 0
    while unread != before:
        time.sleep(_QUIET)
        unread, before = _unread(sock), unread
    assert receive_all(sock, _MUCH) == numbered(_MUCH)
    expect(sock.recv(1), b"")


@case
def connect_says_what_cannot_be_reached(world: World) -> None:
    """smol-machines/libkrunfw #20: connect() of a datagram socket succeeds wherever it goes,
    and so resolvers sort addresses wrongly.
    """
    for kind in socket.SOCK_DGRAM, socket.SOCK_STREAM:
        with fails(errno.ENETUNREACH):
            socket.socket(socket.AF_INET, kind).connect(("203.0.113.7", 9))
    reachable = world.datagrams()
    reachable.connect(world.echo)
    expect(reachable.getsockname()[0], world.me)
