# SPDX-License-Identifier: GPL-2.0-or-later
"""select(), poll() and epoll."""

from __future__ import annotations

import array
import ctypes
import errno
import fcntl
import select
import socket
import termios

from .harness import (
    Task,
    World,
    case,
    case_of,
    checked,
    disconnect,
    expect,
    fails,
    fill,
    libc,
    pending,
    set_flag,
    until,
    wait_for,
)
from .remote import Stream

_IN = select.POLLIN | select.POLLRDNORM
_OUT = select.POLLOUT | select.POLLWRNORM
_EVERYTHING = _IN | _OUT | select.POLLPRI | select.POLLRDBAND | select.POLLWRBAND | select.POLLRDHUP
# Long enough for what must come; a known difference waits in vain for it.
_SOON = 1.5
_TIMEOUT_MS = 10_000


def _queued(sock: socket.socket) -> int:
    room = array.array("i", [0])
    fcntl.ioctl(sock, termios.FIONREAD, room)
    return room[0]


# --- the whole mask in every state --------------------------------------------


@case
def mask_of_new_sockets(world: World) -> None:
    """A stream is hung up, a datagram socket writable."""
    expect(pending(socket.socket(), _EVERYTHING), _OUT | select.POLLHUP)
    listener, _ = world.listener()
    expect(pending(listener, _EVERYTHING), 0)
    expect(pending(world.datagrams(), _EVERYTHING), _OUT | select.POLLWRBAND)
    connected = world.datagrams(connected=True)
    expect(pending(connected, _EVERYTHING), _OUT | select.POLLWRBAND)


@case
def mask_of_a_connection(world: World) -> None:
    """Idle, with data, read empty."""
    sock, theirs = world.pair()
    expect(pending(sock, _EVERYTHING), _OUT)
    theirs.send(b"data")
    wait_for(sock, select.POLLIN)
    expect(pending(sock, _EVERYTHING), _IN | _OUT)
    sock.recv(2)
    expect(pending(sock, _EVERYTHING), _IN | _OUT)
    sock.recv(2)
    expect(pending(sock, _EVERYTHING), _OUT)


@case
def mask_after_the_peers_end(world: World) -> None:
    """Readable and RDHUP; with our own end as well, HUP."""
    sock, theirs = world.pair()
    theirs.shutdown(socket.SHUT_WR)
    wait_for(sock, select.POLLRDHUP)
    expect(pending(sock, _EVERYTHING), _IN | _OUT | select.POLLRDHUP)
    sock.shutdown(socket.SHUT_WR)
    wait_for(sock, select.POLLHUP)
    expect(pending(sock, _EVERYTHING), _IN | _OUT | select.POLLRDHUP | select.POLLHUP)


@case
def mask_after_our_end(world: World) -> None:
    """Still writable, as a write would not block."""
    sock, _ = world.pair()
    sock.shutdown(socket.SHUT_WR)
    expect(pending(sock, _EVERYTHING), _OUT)


@case
def mask_after_a_reset(world: World) -> None:
    """Everything that can be said of it; ERR goes with the error."""
    sock, theirs = world.pair()
    theirs.reset()
    wait_for(sock, select.POLLHUP)
    ended = _IN | _OUT | select.POLLRDHUP | select.POLLHUP
    expect(pending(sock, _EVERYTHING), ended | select.POLLERR)
    sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    expect(pending(sock, _EVERYTHING), ended)


@case
def mask_with_urgent_data(world: World) -> None:
    """PRI, until the urgent byte is behind us."""
    sock, theirs = world.pair()
    theirs.send(b"!", socket.MSG_OOB)
    wait_for(sock, select.POLLPRI)
    expect(pending(sock, _EVERYTHING) & (select.POLLPRI | _IN), select.POLLPRI)
    sock.recv(1, socket.MSG_OOB)
    theirs.send(b"data")
    wait_for(sock, select.POLLIN)
    sock.recv(10)
    expect(pending(sock, _EVERYTHING), _OUT)


@case
def mask_of_datagrams(world: World) -> None:
    """Readable while there is one."""
    sock = world.datagrams(connected=True)
    sock.send(b"1")
    sock.send(b"2")
    for _ in range(2):
        wait_for(sock, select.POLLIN)
        expect(pending(sock, _EVERYTHING), _IN | _OUT | select.POLLWRBAND)
        sock.recv(10)
    expect(pending(sock, _EVERYTHING), _OUT | select.POLLWRBAND)


@case
def edges_of_a_connection(world: World) -> None:
    """A new stream is hung up, once; while it connects it is nothing, then writable, once."""
    for _ in range(50):
        with socket.socket() as sock, select.epoll() as poller:
            sock.setblocking(False)
            poller.register(sock, _IN | _OUT | select.EPOLLET)
            expect(poller.poll(0), [(sock.fileno(), _OUT | select.POLLHUP)])
            task = Task(poller.poll, _TIMEOUT_MS / 1000).wait_blocked()
            with fails(errno.EINPROGRESS):
                sock.connect(world.echo)
            expect(task.result(), [(sock.fileno(), _OUT)])
            expect(poller.poll(0.02), [])


@case_of("asked before", "not asked before", "asked otherwise")
def edge_of_a_refused_connection(world: World, way: str) -> None:
    """Who wants to know of room alone, and did before connect(), is told once that it failed."""
    for _ in range(50):
        with socket.socket() as sock, select.epoll() as poller:
            sock.setblocking(False)
            poller.register(sock, select.EPOLLOUT | select.EPOLLET)
            if way == "asked before":
                expect(poller.poll(0), [(sock.fileno(), select.POLLOUT | select.POLLHUP)])
            with fails(errno.EINPROGRESS):
                sock.connect(world.closed)
            if way == "asked otherwise":
                wait_for(sock, select.POLLERR)
            failed = until(lambda: poller.poll(0), "the refusal")
            expect(failed, [(sock.fileno(), select.POLLOUT | select.POLLERR | select.POLLHUP)])
            expect(poller.poll(0.02), [])


@case
def edge_of_a_listener_given_up(world: World) -> None:
    """It is hung up, once."""
    for _ in range(50):
        listener, _ = world.listener()
        with listener, select.epoll() as poller:
            poller.register(listener, select.EPOLLET)
            task = Task(poller.poll, _TIMEOUT_MS / 1000).wait_blocked()
            disconnect(listener)
            expect(task.result(), [(listener.fileno(), select.EPOLLHUP)])
            expect(poller.poll(0.02), [])


# --- room to write ------------------------------------------------------------


@case
def full_and_empty_again(world: World) -> None:
    """Not writable when full; writable when the peer has read enough."""
    sock, theirs = world.pair()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    sent = fill(sock)
    expect(pending(sock, _OUT), 0)
    expect(select.select([], [sock], [], 0)[1], [])
    expect(sock.send(b""), 0)
    theirs.read(sent)
    wait_for(sock, _OUT)
    sock.send(b"more")
    expect(theirs.receive(10), b"more")


@case
def edge_when_there_is_room_again(world: World) -> None:
    """An edge-triggered writer hears of it once."""
    sock, theirs = world.pair()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    poller = select.epoll()
    poller.register(sock, select.EPOLLOUT | select.EPOLLET)
    expect(poller.poll(10), [(sock.fileno(), select.EPOLLOUT)])
    expect(poller.poll(0), [])
    sent = fill(sock)
    poller.poll(0)
    theirs.read(sent)
    expect(poller.poll(10), [(sock.fileno(), select.EPOLLOUT)])


# --- epoll --------------------------------------------------------------------


@case
def level_triggered(world: World) -> None:
    """The event is there as long as the data are."""
    sock, theirs = world.pair()
    poller = select.epoll()
    poller.register(sock, select.EPOLLIN)
    expect(poller.poll(0), [])
    theirs.send(b"ab")
    for _ in range(3):
        expect(poller.poll(10), [(sock.fileno(), select.EPOLLIN)])
    sock.recv(1)
    expect(poller.poll(0), [(sock.fileno(), select.EPOLLIN)])
    sock.recv(1)
    expect(poller.poll(0), [])


@case
def edge_triggered(world: World) -> None:
    """An event a piece of news, also while old data are unread."""
    sock, theirs = world.pair()
    poller = select.epoll()
    poller.register(sock, select.EPOLLIN | select.EPOLLET)
    for count in range(1, 5):
        theirs.send(b"x")
        until(lambda: _queued(sock) == count, "the next byte")  # noqa: B023
        expect([events == select.EPOLLIN for _, events in poller.poll(_SOON)], [True])
        expect(poller.poll(0), [])
    expect(sock.recv(10), b"xxxx")
    theirs.send(b"y")
    expect(poller.poll(10), [(sock.fileno(), select.EPOLLIN)])


@case
def edge_tells_all_that_is_so(world: World) -> None:
    """News of two sockets come once each, together or not, with what was so before."""
    pairs = [world.pair() for _ in range(2)]
    numbers = [sock.fileno() for sock, _ in pairs]
    poller = select.epoll()
    for number in numbers:
        poller.register(number, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
    expect(sorted(poller.poll(0)), sorted((number, select.EPOLLOUT) for number in numbers))
    for _, theirs in pairs:
        theirs.send(b"x")
    told = poller.poll(10)
    told += poller.poll(10) if len(told) < len(pairs) else []
    both = select.EPOLLIN | select.EPOLLOUT
    expect(sorted(told), sorted((number, both) for number in numbers))
    poller.unregister(numbers[0])
    poller.modify(numbers[1], select.EPOLLOUT)
    expect(poller.poll(0), [(numbers[1], select.EPOLLOUT)])


@case
def edge_triggered_datagrams(world: World) -> None:
    """An event a datagram, also while old ones are unread."""
    sock = world.datagrams()
    theirs = world.hands.open()
    poller = select.epoll()
    poller.register(sock, select.EPOLLIN | select.EPOLLET)
    for _ in range(3):
        theirs.tell(sock.getsockname()[1], b"x")
        expect([events == select.EPOLLIN for _, events in poller.poll(_SOON)], [True])
        expect(poller.poll(0), [])


@case
def edge_of_the_end(world: World) -> None:
    """EPOLLRDHUP is news although the socket is readable already."""
    sock, theirs = world.pair()
    poller = select.epoll()
    poller.register(sock, select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET)
    theirs.send(b"x")
    expect(poller.poll(10), [(sock.fileno(), select.EPOLLIN)])
    theirs.shutdown(socket.SHUT_WR)
    expect(poller.poll(10), [(sock.fileno(), select.EPOLLIN | select.EPOLLRDHUP)])


@case
def registered_late(world: World) -> None:
    """What is the case already is an event for who comes later, level or edge."""
    sock, theirs = world.pair()
    theirs.send(b"x")
    wait_for(sock, select.POLLIN)
    for mode in 0, select.EPOLLET:
        poller = select.epoll()
        poller.register(sock, select.EPOLLIN | mode)
        expect(poller.poll(0), [(sock.fileno(), select.EPOLLIN)])


@case
def one_shot(world: World) -> None:
    """EPOLLONESHOT tells once and is silent until it is armed again."""
    sock, theirs = world.pair()
    poller = select.epoll()
    poller.register(sock, select.EPOLLIN | select.EPOLLONESHOT)
    theirs.send(b"x")
    expect(poller.poll(10), [(sock.fileno(), select.EPOLLIN)])
    theirs.send(b"x")
    until(lambda: _queued(sock) == 2, "the second byte")
    expect(poller.poll(0), [])
    poller.modify(sock, select.EPOLLIN | select.EPOLLONESHOT)
    expect(poller.poll(0), [(sock.fileno(), select.EPOLLIN)])


@case
def registered_before_connect(world: World) -> None:
    """An epoll set that has the fresh socket hears of the connection."""
    sock = socket.socket()
    sock.setblocking(False)
    poller = select.epoll()
    poller.register(sock, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
    expect(poller.poll(0), [(sock.fileno(), select.EPOLLOUT | select.EPOLLHUP)])
    sock.connect_ex(world.echo)
    expect(poller.poll(10), [(sock.fileno(), select.EPOLLOUT)])
    sock.send(b"x")
    [(_, events)] = poller.poll(10)
    assert events & select.EPOLLIN


@case
def many_sockets_one_set(world: World) -> None:
    """Of fifty sockets exactly those with data are reported."""
    poller = select.epoll()
    sockets = {}
    for _ in range(50):
        sock = world.stream()
        sockets[sock.fileno()] = sock
        poller.register(sock, select.EPOLLIN)
    chosen = list(sockets)[::7]
    for number in chosen:
        sockets[number].send(b"x")
    for number in chosen:
        wait_for(sockets[number], select.POLLIN)
    expect(sorted(poller.poll(0)), sorted((number, select.EPOLLIN) for number in chosen))


@case
def exclusive_of_a_listener(world: World) -> None:
    """EPOLLEXCLUSIVE: of two that sleep one is told of a connection, the other of the next."""
    listener, port = world.listener()
    listener.setblocking(False)
    pollers = [select.epoll() for _ in range(2)]
    for poller in pollers:
        poller.register(listener, select.EPOLLIN | select.EPOLLEXCLUSIVE)
    tasks = [Task(poller.poll, 10).wait_blocked() for poller in pollers]
    for count in 1, 2:
        theirs = world.hands.connect(port)
        until(lambda: sum(task.ended for task in tasks) >= count, "a connection")  # noqa: B023
        ours, _ = listener.accept()
        with fails(errno.EAGAIN):
            listener.accept()
        # Whoever has been woken needlessly has time to end as well.
        theirs.send(b"x")
        wait_for(ours, select.POLLIN)
        expect(sum(task.ended for task in tasks), count)
    for task in tasks:
        expect(task.result(), [(listener.fileno(), select.EPOLLIN)])


@case
def exclusive_of_a_connection(world: World) -> None:
    """EPOLLEXCLUSIVE: data concern one of two, the end concerns both."""
    sock, theirs = world.pair()
    pollers = [select.epoll() for _ in range(2)]
    for poller in pollers:
        poller.register(sock, select.EPOLLIN | select.EPOLLEXCLUSIVE)
    tasks = [Task(poller.poll, 10).wait_blocked() for poller in pollers]
    theirs.shutdown(socket.SHUT_WR)
    for task in tasks:
        expect(task.result(), [(sock.fileno(), select.EPOLLIN)])


# --- waiting ------------------------------------------------------------------


@case
def poll_waits(world: World) -> None:
    """poll() sleeps until there is something."""
    sock, theirs = world.pair()
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    expect(poller.poll(0), [])
    expect(poller.poll(1), [])
    task = Task(poller.poll, _TIMEOUT_MS).wait_blocked()
    theirs.send(b"x")
    expect(task.result(), [(sock.fileno(), select.POLLIN)])


@case
def select_waits(world: World) -> None:
    """select() sleeps until there is something."""
    sock, theirs = world.pair()
    expect(select.select([sock], [], [], 0.01), ([], [], []))
    task = Task(select.select, [sock], [], [sock], 10).wait_blocked()
    theirs.send(b"x")
    expect(task.result(), ([sock], [], []))


@case
def poll_waits_for_either_side(world: World) -> None:
    """A datagram from inside or outside wakes the same poll()."""
    sock, inside = world.datagrams(), world.datagrams()
    theirs = world.hands.open()
    port = sock.getsockname()[1]
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    for tell in (
        lambda: theirs.tell(port, b"x"),
        lambda: inside.sendto(b"x", ("127.0.0.1", port)),
    ):
        task = Task(poller.poll, _TIMEOUT_MS).wait_blocked()
        tell()
        expect(task.result(), [(sock.fileno(), select.POLLIN)])
        sock.recv(1)


@case
def two_readers(world: World) -> None:
    """Two tasks that wait on one socket share what comes."""
    sock, theirs = world.pair()
    tasks = [Task(sock.recv, 1).wait_blocked() for _ in range(2)]
    theirs.send(b"ab")
    expect(sorted(task.result() for task in tasks), [b"a", b"b"])


@case
def low_water_mark(world: World) -> None:
    """Below SO_RCVLOWAT a socket is not readable, although recv() finds data."""
    sock, theirs = world.pair()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 10)
    theirs.send(b"12345")
    until(lambda: _queued(sock) == 5, "five bytes")
    expect(pending(sock, select.POLLIN), 0)
    theirs.send(b"67890")
    expect(wait_for(sock, select.POLLIN), select.POLLIN)
    expect(sock.recv(100), b"1234567890")
    theirs.send(b"abc")
    until(lambda: _queued(sock) == 3, "three bytes")
    expect(sock.recv(100, socket.MSG_DONTWAIT), b"abc")
    set_flag(sock, socket.SOL_SOCKET, socket.SO_RCVLOWAT)
    theirs.send(b"d")
    wait_for(sock, select.POLLIN)


def _send_and_read_into_nowhere(sock: socket.socket, theirs: Stream, data: bytes) -> None:
    theirs.send(data)
    until(lambda: _queued(sock) == len(data), "the data")
    with fails(errno.EFAULT):
        checked(libc.recv(sock.fileno(), ctypes.c_void_p(8), 100, socket.MSG_DONTWAIT))


@case
def low_water_mark_after_a_read_into_nowhere(world: World) -> None:
    """For SO_RCVLOWAT what such a read could not take counts like the rest."""
    sock, theirs = world.pair()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 10)
    _send_and_read_into_nowhere(sock, theirs, b"12345")
    expect(pending(sock, select.POLLIN), 0)
    theirs.send(b"6789")
    until(lambda: _queued(sock) == 9, "nine bytes")
    expect(pending(sock, select.POLLIN), 0)
    theirs.send(b"0")
    wait_for(sock, select.POLLIN)
    expect(sock.recv(100), b"1234567890")

    _send_and_read_into_nowhere(sock, theirs, b"12345")
    expect(sock.recv(2, socket.MSG_DONTWAIT), b"12")
    theirs.send(b"678901")
    until(lambda: _queued(sock) == 9, "nine bytes")
    expect(pending(sock, select.POLLIN), 0)
    theirs.send(b"2")
    wait_for(sock, select.POLLIN)
    expect(sock.recv(100), b"3456789012")

    _send_and_read_into_nowhere(sock, theirs, b"12345")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 5)
    expect(pending(sock, select.POLLIN), select.POLLIN)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 6)
    expect(pending(sock, select.POLLIN), 0)
    theirs.shutdown(socket.SHUT_WR)
    wait_for(sock, select.POLLIN)
    expect(sock.recv(100), b"12345")
    expect(sock.recv(100), b"")
