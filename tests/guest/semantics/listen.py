# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP: bind(), listen() and accept()."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import socket
import struct
from functools import partial
from typing import Any

from .harness import (
    Task,
    World,
    case,
    checked,
    disconnect,
    expect,
    fails,
    free_port,
    libc,
    pending,
    receive_all,
    set_flag,
    timeval,
    until,
    wait_for,
)

_ANY = ("", 0)


@case
def bind_fails_and_then_does_not(world: World) -> None:
    """A port that is taken inside only leaves the socket as it was."""
    inside = socket.create_server(("127.0.0.1", 0))
    sock = socket.socket()
    # The host is asked, so it knows the socket before it is bound.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
    with fails(errno.EADDRINUSE):
        sock.bind(("", inside.getsockname()[1]))
    sock.bind(_ANY)
    sock.listen()
    theirs = world.hands.connect(sock.getsockname()[1])
    ours, _ = sock.accept()
    expect(ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0"), b"reno")
    ours.sendall(b"x")
    expect(theirs.receive(1), b"x")


@case
def accepted_connection_has_names(world: World) -> None:
    """accept() tells the peer; our address is the one that was called."""
    listener, port = world.listener()
    theirs = world.hands.connect(port)
    ours, peer = listener.accept()
    expect(peer, (world.peer, theirs.port))
    expect(ours.getpeername(), peer)
    expect(ours.getsockname(), (world.me, port))
    expect(listener.getsockname(), ("0.0.0.0", port))


@case
def data_both_ways(world: World) -> None:
    """An accepted connection carries data like any other."""
    ours, theirs = world.accepted()
    theirs.send(b"question")
    expect(receive_all(ours, 8), b"question")
    ours.sendall(b"answer")
    expect(theirs.receive(100), b"answer")
    ours.close()
    expect(theirs.receive(1), b"")


@case
def server_speaks_first(world: World) -> None:
    """The first call after accept() may be to write."""
    listener, port = world.listener()
    theirs = world.hands.connect(port)
    # Python's accept() asks for the name, by which the module hears of the socket.
    number = checked(libc.accept(listener.fileno(), None, None))
    expect(os.write(number, b"220 ready"), 9)
    expect(theirs.receive(9), b"220 ready")
    os.close(number)


@case
def bound_to_the_address_of_its_own(world: World) -> None:
    """A listener on one address has it in its name and can be called."""
    listener = socket.socket()
    listener.bind((world.me, 0))
    listener.listen()
    address, port = listener.getsockname()
    expect(address, world.me)
    theirs = world.hands.connect(port)
    ours, _ = listener.accept()
    ours.send(b"x")
    expect(theirs.receive(1), b"x")


@case
def same_listener_from_inside(world: World) -> None:
    """A listener serves the machine's own programs as well as others."""
    listener, port = world.listener()
    for address in "127.0.0.1", world.me:
        inside = socket.create_connection((address, port))
        ours, _ = listener.accept()
        inside.send(b"x")
        expect(ours.recv(1), b"x")
    world.hands.connect(port).send(b"y")
    ours, peer = listener.accept()
    expect(peer[0], world.peer)
    expect(ours.recv(1), b"y")


@case
def option_set_while_somebody_waits(world: World) -> None:
    """What the listener gets after a call has come, the connection can have too."""
    abortive = struct.pack("ii", 1, 0)
    listener, port = world.listener()
    theirs = world.hands.connect(port)
    wait_for(listener, select.POLLIN)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, abortive)
    ours, _ = listener.accept()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, abortive)
    ours.close()
    with fails(errno.ECONNRESET):
        theirs.receive(1)


@case
def with_the_error_of_a_connection(world: World) -> None:
    """The error that giving up a connection has left concerns neither accept() nor poll()."""
    sock, _ = world.pair()
    disconnect(sock)
    sock.listen()
    expect(pending(sock, select.POLLIN | select.POLLOUT), 0)
    task = Task(sock.accept).wait_blocked()
    theirs = world.hands.connect(sock.getsockname()[1])
    ours, _ = task.result()
    ours.send(b"x")
    expect(theirs.receive(1), b"x")
    with fails(errno.ECONNRESET):
        sock.send(b"x")
    with fails(errno.EPIPE):
        sock.send(b"x")


@case
def listening_without_bind(world: World) -> None:
    """listen() chooses a port."""
    listener = socket.socket()
    listener.listen()
    port = listener.getsockname()[1]
    assert port
    world.hands.connect(port)
    listener.accept()


@case
def accept_without_blocking(world: World) -> None:
    """EAGAIN while nobody calls; readable when somebody does, and only then."""
    listener, port = world.listener()
    listener.setblocking(False)
    with fails(errno.EAGAIN):
        listener.accept()
    expect(pending(listener, select.POLLIN | select.POLLOUT), 0)
    world.hands.connect(port)
    expect(wait_for(listener, select.POLLIN | select.POLLOUT), select.POLLIN)
    listener.accept()
    expect(pending(listener, select.POLLIN), 0)
    with fails(errno.EAGAIN):
        listener.accept()


@case
def edge_triggered_listener(world: World) -> None:
    """Each new connection is an event, also while others wait."""
    listener, port = world.listener()
    poller = select.epoll()
    poller.register(listener, select.EPOLLIN | select.EPOLLET)
    for _ in range(3):
        world.hands.connect(port)
        # A known difference waits in vain for the second.
        found = [bool(events & select.EPOLLIN) for _, events in poller.poll(1.5)]
        expect(found, [True])
    for _ in range(3):
        listener.accept()


@case
def flags_of_accept4(world: World) -> None:
    """The flags asked for are set; those of the listener are not inherited."""
    listener, port = world.listener()
    fcntl.fcntl(listener, fcntl.F_SETFL, os.O_NONBLOCK)
    for flags in 0, socket.SOCK_NONBLOCK, socket.SOCK_CLOEXEC:
        world.hands.connect(port)
        wait_for(listener, select.POLLIN)
        number = checked(libc.accept4(listener.fileno(), None, None, flags))
        blocking = not fcntl.fcntl(number, fcntl.F_GETFL) & os.O_NONBLOCK
        expect(blocking, flags != socket.SOCK_NONBLOCK)
        expect(bool(fcntl.fcntl(number, fcntl.F_GETFD)), flags == socket.SOCK_CLOEXEC)
    with fails(errno.EINVAL):
        checked(libc.accept4(listener.fileno(), None, None, 1))


@case
def waiting_connections_come_in_order(world: World) -> None:
    """Connections wait in the backlog and are accepted as they came."""
    listener, port = world.listener(32)
    calls = []
    for _ in range(20):
        calls.append(call := world.hands.connect(port))
        # Who connects is done before the listener is; then its ACK may be overtaken.
        call.send(b"here")
        until(call.delivered, "an acknowledgement")
    for call in calls:
        _, peer = listener.accept()
        expect(peer[1], call.port)


@case
def two_threads_accept(world: World) -> None:
    """Each of two connections goes to one of two threads that wait."""
    listener, port = world.listener()
    tasks = [Task(listener.accept).wait_blocked() for _ in range(2)]
    calls = {world.hands.connect(port).port for _ in range(2)}
    expect({task.result()[1][1] for task in tasks}, calls)


def _any_ended(tasks: list[Task[Any]]) -> bool:
    return any(task.ended for task in tasks)


@case
def accepted_after_a_rival(world: World) -> None:
    """Who has missed a connection gets one from inside, which takes options."""
    listener, port = world.listener()
    for _ in range(10):
        tasks = [Task(listener.accept).wait_blocked() for _ in range(2)]
        world.hands.connect(port)
        until(partial(_any_ended, tasks), "an accept() that returns")
        with socket.create_connection(("127.0.0.1", port)):
            for task in tasks:
                connection, _ = task.result()
                with connection:
                    set_flag(connection, socket.SOL_SOCKET, socket.SO_KEEPALIVE)


@case
def shutdown_wakes_accept(world: World) -> None:
    """An accept() that waits ends with EINVAL; nobody gets in any more."""
    listener, port = world.listener()
    task = Task(listener.accept).wait_blocked()
    listener.shutdown(socket.SHUT_RDWR)
    with fails(errno.EINVAL):
        task.result()
    with fails(errno.EINVAL):
        listener.accept()
    with fails(errno.ECONNREFUSED):
        world.hands.connect(port)


@case
def listening_again_after_shutdown(world: World) -> None:
    """The same socket listens again, on its port if it has chosen that itself."""
    for chosen in free_port(), 0:
        listener = socket.socket()
        listener.bind(("", chosen))
        listener.listen()
        listener.shutdown(socket.SHUT_RD)
        listener.listen()
        port = listener.getsockname()[1]
        assert port == chosen or not chosen
        theirs = world.hands.connect(port)
        ours, _ = listener.accept()
        theirs.send(b"x")
        expect(ours.recv(1), b"x")


@case
def listening_again_beside_connections(world: World) -> None:
    """With SO_REUSEADDR the connections of the former listener are no obstacle."""
    for chosen in free_port(), 0:
        listener = socket.socket()
        set_flag(listener, socket.SOL_SOCKET, socket.SO_REUSEADDR)
        listener.bind(("", chosen))
        listener.listen()
        former = world.hands.connect(listener.getsockname()[1])
        ours, _ = listener.accept()
        listener.shutdown(socket.SHUT_RD)
        listener.listen()
        world.hands.connect(listener.getsockname()[1])
        listener.accept()
        former.send(b"x")
        expect(ours.recv(1), b"x")


@case
def listening_again_in_vain(world: World) -> None:
    """When listen() fails, nobody is let in."""
    listener = socket.socket()
    listener.bind(("", free_port()))
    listener.listen()
    port = listener.getsockname()[1]
    # It has the port, from inside the guest, whoever the peer is.
    with socket.create_connection(("127.0.0.1", port)):
        connection, _ = listener.accept()
        listener.shutdown(socket.SHUT_RD)
        with fails(errno.EADDRINUSE):
            listener.listen()
        with fails(errno.ECONNREFUSED):
            world.hands.connect(port)
    connection.close()


@case
def listening_again_elsewhere(world: World) -> None:
    """Without it, a socket that has not chosen its port gets another one."""
    listener, port = world.listener()
    world.hands.connect(port)
    connection, _ = listener.accept()
    listener.shutdown(socket.SHUT_RD)
    listener.listen()
    world.hands.connect(listener.getsockname()[1])
    listener.accept()
    connection.close()


@case
def client_becomes_a_server(world: World) -> None:
    """A socket whose connection was dissolved can listen."""
    for chosen in free_port(), 0:
        sock = socket.socket()
        sock.bind(("", chosen))
        sock.connect(world.echo)
        disconnect(sock)
        sock.listen()
        port = sock.getsockname()[1]
        assert port == chosen or not chosen
        theirs = world.hands.connect(port)
        ours, _ = sock.accept()
        theirs.send(b"x")
        expect(ours.recv(1), b"x")


@case
def accept_times_out(world: World) -> None:
    """SO_RCVTIMEO limits accept(): EAGAIN."""
    listener, _ = world.listener()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval(0.05))
    task = Task(listener.accept)
    with fails(errno.EAGAIN):
        task.result()


@case
def accept_is_interrupted(world: World) -> None:
    """A signal without SA_RESTART ends accept() with EINTR."""
    signal.signal(signal.SIGALRM, lambda *_: None)
    listener, _ = world.listener()
    # Again and again, as the first may come before the call.
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    with fails(errno.EINTR):
        checked(libc.accept(listener.fileno(), None, None))


@case
def closed_listener_refuses(world: World) -> None:
    """After close() the peer is refused, and the port is free."""
    listener, port = world.listener()
    listener.close()
    with fails(errno.ECONNREFUSED):
        world.hands.connect(port)
    again = socket.socket()
    again.bind(("", port))


@case
def connection_outlives_its_listener(world: World) -> None:
    """Closing the listener leaves accepted connections alone."""
    ours, theirs = world.accepted()
    ours.send(b"x")
    expect(theirs.receive(1), b"x")


@case
def unaccepted_connections_are_reset(world: World) -> None:
    """Closing the listener breaks off what waited."""
    listener, port = world.listener()
    theirs = world.hands.connect(port)
    wait_for(listener, select.POLLIN)
    listener.close()
    with fails(errno.ECONNRESET):
        theirs.receive(1)


@case
def ended_before_accept(world: World) -> None:
    """A connection that has ended is accepted; its data are there."""
    listener, port = world.listener()
    theirs = world.hands.connect(port)
    theirs.send(b"bye")
    theirs.close()
    ours, _ = listener.accept()
    expect(receive_all(ours, 3), b"bye")
    expect(ours.recv(1), b"")


@case
def reset_before_accept_and_written_to(world: World) -> None:
    """A write tells why there is no connection any more, without a signal."""
    listener, port = world.listener()
    theirs = world.hands.connect(port)
    theirs.reset()
    number = checked(libc.accept(listener.fileno(), None, None))
    with fails(errno.ECONNRESET):
        os.write(number, b"220 ready")
    os.close(number)


@case
def reset_before_accept(world: World) -> None:
    """A connection that was reset is accepted; its first use tells."""
    listener, port = world.listener()
    theirs = world.hands.connect(port)
    wait_for(listener, select.POLLIN)
    theirs.reset()
    ours, peer = listener.accept()
    expect(peer, (world.peer, theirs.port))
    wait_for(ours, select.POLLHUP)
    with fails(errno.ECONNRESET):
        ours.recv(1)


@case
def port_in_use(world: World) -> None:
    """EADDRINUSE while a listener has it, whatever SO_REUSEADDR says."""
    listener, port = world.listener()
    for reuse in 0, 1:
        other = socket.socket()
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
        with fails(errno.EADDRINUSE):
            other.bind(("", port))
    listener.close()
    other.bind(("", port))


@case
def shared_ports(world: World) -> None:
    """With SO_REUSEPORT two listeners have one port; without, one."""
    first, second, third = (socket.socket() for _ in range(3))
    for sock in first, second:
        set_flag(sock, socket.SOL_SOCKET, socket.SO_REUSEPORT)
    first.bind(_ANY)
    port = first.getsockname()[1]
    first.listen()
    second.bind(("", port))
    second.listen()
    with fails(errno.EADDRINUSE):
        third.bind(("", port))
    world.hands.connect(port)
    ready, _, _ = select.select([first, second], [], [], 10)
    expect(len(ready), 1)


@case
def backlog_anew(world: World) -> None:
    """A second listen() changes the backlog; who waits stays."""
    listener = socket.socket()
    listener.bind(_ANY)
    with fails(errno.ENOTCONN):
        listener.shutdown(socket.SHUT_RD)
    listener.listen(5)
    theirs = world.hands.connect(listener.getsockname()[1])
    wait_for(listener, select.POLLIN)
    listener.listen(10)
    ours, _ = listener.accept()
    ours.sendall(b"kept")
    expect(theirs.receive(10), b"kept")


@case
def options_of_who_waits(world: World) -> None:
    """A connection does not have what its listener got after it."""
    listener, port = world.listener()
    theirs = world.hands.connect(port)
    wait_for(listener, select.POLLIN)
    set_flag(listener, socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    ours, _ = listener.accept()
    expect(ours.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), 0)
    ours.sendall(b"whole")
    ours.close()
    expect(theirs.receive(10), b"whole")
    expect(theirs.receive(10), b"")


@case
def reuse_after_a_server(world: World) -> None:
    """SO_REUSEADDR gives a port back although its connections are in TIME_WAIT."""
    listener = socket.socket()
    set_flag(listener, socket.SOL_SOCKET, socket.SO_REUSEADDR)
    listener.bind(_ANY)
    listener.listen()
    port = listener.getsockname()[1]
    theirs = world.hands.connect(port)
    ours, _ = listener.accept()
    listener.close()
    ours.close()
    expect(theirs.receive(1), b"")
    theirs.close()
    again = socket.socket()
    set_flag(again, socket.SOL_SOCKET, socket.SO_REUSEADDR)
    again.bind(("", port))
    again.listen()
    world.hands.connect(port)
    again.accept()


@case
def foreign_address(world: World) -> None:
    """An address of somebody else cannot be bound."""
    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
        with fails(errno.EADDRNOTAVAIL):
            socket.socket(socket.AF_INET, kind).bind(("203.0.113.99", 0))


@case
def privileged_port(world: World) -> None:
    """Without privileges a port below 1024 is EACCES."""
    os.setuid(65534)
    with fails(errno.EACCES):
        socket.socket().bind(("", 1000))
    unprivileged, port = world.listener()
    world.hands.connect(port)
    unprivileged.accept()


@case
def what_cannot_listen(world: World) -> None:
    """listen() of a connected socket and accept() without listen() are EINVAL."""
    with fails(errno.EINVAL):
        world.stream().listen()
    with fails(errno.EINVAL):
        world.stream().accept()
    bound = socket.socket()
    bound.bind(_ANY)
    with fails(errno.EINVAL):
        bound.accept()
    with fails(errno.EOPNOTSUPP):
        world.datagrams().listen()
    with fails(errno.EOPNOTSUPP):
        world.datagrams().accept()


@case
def what_a_listener_cannot(world: World) -> None:
    """It has no peer and no data."""
    listener, _ = world.listener()
    expect(listener.connect_ex(world.echo), errno.EISCONN)
    with fails(errno.ENOTCONN):
        listener.getpeername()
    with fails(errno.ENOTCONN):
        listener.recv(1)
    with fails(errno.EPIPE):
        listener.send(b"x")


@case
def backlog_can_be_changed(world: World) -> None:
    """listen() again is allowed and loses nobody."""
    listener, port = world.listener(1)
    calls = [world.hands.connect(port)]
    listener.listen(50)
    calls += [world.hands.connect(port) for _ in range(10)]
    expect({listener.accept()[1][1] for _ in calls}, {call.port for call in calls})


@case
def options_are_inherited(world: World) -> None:
    """What was set on the listener holds for the connection."""
    listener, port = world.listener()
    linger = struct.pack("ii", 1, 3)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval(2))
    set_flag(listener, socket.SOL_SOCKET, socket.SO_KEEPALIVE, socket.SO_OOBINLINE)
    set_flag(listener, socket.IPPROTO_TCP, socket.TCP_NODELAY)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 77)
    listener.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 44)
    world.hands.connect(port)
    ours, _ = listener.accept()
    expect(ours.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8), linger)
    expect(ours.getsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, 16), timeval(2))
    expect(ours.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), 1)
    expect(ours.getsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE), 1)
    expect(ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), 1)
    expect(ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE), 77)
    expect(ours.getsockopt(socket.IPPROTO_IP, socket.IP_TTL), 44)
    expect(ours.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN), 0)
    expect(listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN), 1)


@case
def deferred_accept(world: World) -> None:
    """With TCP_DEFER_ACCEPT a connection comes with its first data."""
    listener, port = world.listener()
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 5)
    theirs = world.hands.connect(port)
    expect(pending(listener, select.POLLIN), 0)
    theirs.send(b"first")
    ours, _ = listener.accept()
    expect(ours.recv(100, socket.MSG_DONTWAIT), b"first")


@case
def many_short_connections(world: World) -> None:
    """Connections one after the other leave nothing behind."""
    listener, port = world.listener()
    for number in range(30):
        theirs = world.hands.connect(port)
        ours, _ = listener.accept()
        ours.sendall(b"%d" % number)
        expect(theirs.receive(10), b"%d" % number)
        ours.close()
        theirs.close()
    until(lambda: pending(listener, select.POLLIN) == 0, "an empty backlog")
