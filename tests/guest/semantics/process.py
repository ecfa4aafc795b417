# SPDX-License-Identifier: GPL-2.0-or-later
"""Sockets and processes: signals, fork(), dup(), passing, exec() and exit."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import signal
import socket
import stat
import struct
import subprocess
import threading
from pathlib import Path

from .harness import (
    PATIENCE,
    Task,
    World,
    case,
    checked,
    expect,
    fails,
    libc,
    pending,
    receive_all,
    timeval,
    wait_for,
)

_F_SETSIG = 10
_O_ASYNC = 0o20000


# --- signals that interrupt ---------------------------------------------------


def _alarms(restart: bool = False) -> None:
    """Have a signal again and again, as the first may come before the call."""
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.siginterrupt(signal.SIGALRM, not restart)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)


def _receive(sock: socket.socket, size: int) -> bytes:
    """Call recv() once; Python's own would call it again after a signal."""
    room = ctypes.create_string_buffer(size)
    count = checked(libc.recv(sock.fileno(), room, size, 0))
    return room.raw[:count]


@case
def receive_is_interrupted(world: World) -> None:
    """A signal without SA_RESTART ends recv() with EINTR."""
    for sock in world.stream(), world.datagrams(), world.datagrams(connected=True):
        _alarms()
        with fails(errno.EINTR):
            _receive(sock, 10)


@case
def receive_is_restarted(world: World) -> None:
    """With SA_RESTART recv() goes on and gets the data."""
    sock, theirs = world.pair()
    awake, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes)

    def send_after_two_signals() -> None:
        for _ in range(2):
            os.read(awake, 1)
        theirs.send(b"x")

    threading.Thread(target=send_after_two_signals, daemon=True).start()
    # Only this thread is to be interrupted.
    _alarms(restart=True)
    expect(_receive(sock, 10), b"x")


@case
def with_a_timeout_nothing_is_restarted(world: World) -> None:
    """SO_RCVTIMEO: EINTR in spite of SA_RESTART."""
    sock = world.stream()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval(PATIENCE))
    _alarms(restart=True)
    with fails(errno.EINTR):
        _receive(sock, 10)


@case
def send_is_interrupted(world: World) -> None:
    """EINTR when nothing was sent."""
    sock, _ = world.pair()
    chunk = bytes(1 << 20)
    _alarms()
    with fails(errno.EINTR):
        while True:
            checked(libc.send(sock.fileno(), chunk, len(chunk), 0))


@case
def part_of_a_send_is_told(world: World) -> None:
    """A signal in the middle of a send(): how much was sent."""
    sock, _ = world.pair()
    data = bytes(32 << 20)
    _alarms()
    sent = checked(libc.send(sock.fileno(), data, len(data), 0))
    assert 0 < sent < len(data)


@case
def part_of_a_read_is_told(world: World) -> None:
    """A signal in the middle of a MSG_WAITALL: what there was."""
    sock, theirs = world.pair()
    theirs.send(b"12345")
    room = ctypes.create_string_buffer(10)
    wait_for(sock, select.POLLIN)
    _alarms()
    count = checked(libc.recv(sock.fileno(), room, 10, socket.MSG_WAITALL))
    expect(room.raw[:count], b"12345")


@case
def killed_while_it_waits(world: World) -> None:
    """A process in recv() can be killed; its peer sees the end."""
    sock, theirs = world.pair()
    pid = os.fork()
    if pid == 0:
        sock.recv(1)
        os._exit(1)
    sock.close()
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    expect(os.WTERMSIG(status), signal.SIGKILL)
    expect(theirs.receive(1), b"")


# --- signals that tell --------------------------------------------------------


def _told(number: signal.Signals) -> signal.struct_siginfo:
    found = signal.sigtimedwait([number], PATIENCE)
    if found is None:
        raise AssertionError(f"no {number.name}")
    return found


def _own(sock: socket.socket) -> None:
    fcntl.fcntl(sock, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(sock, fcntl.F_GETFL)
    fcntl.fcntl(sock, fcntl.F_SETFL, flags | _O_ASYNC)


@case
def sigio(world: World) -> None:
    """O_ASYNC: a signal when data arrive, on streams, listeners and datagrams."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
    sock, theirs = world.pair()
    _own(sock)
    theirs.send(b"x")
    _told(signal.SIGIO)
    listener, port = world.listener()
    _own(listener)
    world.hands.connect(port)
    _told(signal.SIGIO)
    datagrams = world.datagrams()
    _own(datagrams)
    world.hands.open().tell(datagrams.getsockname()[1], b"x")
    _told(signal.SIGIO)


@case
def sigio_asked_for_before_connect(world: World) -> None:
    """The connection is a signal, and so is each arrival, with nobody who looks at it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
    for blocking in True, False:
        peer = world.hands.listen()
        sock = socket.socket()
        sock.setblocking(blocking)
        _own(sock)
        sock.connect_ex((world.peer, peer.port))
        _told(signal.SIGIO)
        theirs = peer.accept()
        for _ in range(5):
            theirs.send(b"x")
            _told(signal.SIGIO)


@case
def sigio_behind_unread_data(world: World) -> None:
    """Each arrival is a signal, whether or not the one before has been read."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
    sock, theirs = world.pair()
    _own(sock)
    for _ in range(5):
        theirs.send(b"x")
        _told(signal.SIGIO)
    # Nor whether they were there before anyone wanted signals.
    sock, theirs = world.pair()
    theirs.send(b"ab")
    wait_for(sock, select.POLLIN)
    _own(sock)
    expect(sock.recv(1), b"a")
    for _ in range(5):
        theirs.send(b"x")
        _told(signal.SIGIO)
    datagrams = world.datagrams()
    _own(datagrams)
    peer = world.hands.open()
    for _ in range(5):
        peer.tell(datagrams.getsockname()[1], b"x")
        _told(signal.SIGIO)


@case
def sigurg_behind_unread_data(world: World) -> None:
    """Urgent data behind others that nobody has read are a signal, too."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
    sock, theirs = world.pair()
    fcntl.fcntl(sock, fcntl.F_SETOWN, os.getpid())
    theirs.send(b"a")
    for _ in range(5):
        theirs.send(b"!", socket.MSG_OOB)
        _told(signal.SIGURG)


@case
def signal_of_ones_choice(world: World) -> None:
    """F_SETSIG: the signal says that it is about input."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
    sock, theirs = world.pair()
    _own(sock)
    fcntl.fcntl(sock, _F_SETSIG, signal.SIGRTMIN)
    theirs.send(b"x")
    assert _told(signal.SIGRTMIN).si_band & select.POLLIN


@case
def sigurg(world: World) -> None:
    """Urgent data are a signal to the owner."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
    sock, theirs = world.pair()
    fcntl.fcntl(sock, fcntl.F_SETOWN, os.getpid())
    theirs.send(b"!", socket.MSG_OOB)
    _told(signal.SIGURG)
    expect(sock.recv(1, socket.MSG_OOB), b"!")


# --- sharing ------------------------------------------------------------------


def _in_child(work: object) -> None:
    """Run a function in a child and wait for it."""
    assert callable(work)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    expect(os.waitpid(pid, 0)[1], 0)


@case
def child_and_parent_share(world: World) -> None:
    """After fork() both use the connection; it ends with the last of them."""
    sock, theirs = world.pair()
    _in_child(lambda: sock.sendall(b"child"))
    expect(theirs.receive(100), b"child")
    sock.sendall(b"parent")
    expect(theirs.receive(100), b"parent")
    sock.close()
    expect(theirs.receive(1), b"")


@case
def child_reads_what_the_parent_does_not(world: World) -> None:
    """There is one stream, whoever reads it."""
    sock, theirs = world.pair()
    theirs.send(b"abcd")
    expect(receive_all(sock, 2), b"ab")
    _in_child(lambda: expect(receive_all(sock, 2), b"cd"))


@case
def child_accepts(world: World) -> None:
    """A listener works in the child; what it accepted ends with it."""
    listener, port = world.listener()
    theirs = world.hands.connect(port)
    _in_child(lambda: listener.accept()[0].sendall(b"from the child"))
    expect(theirs.receive(100), b"from the child")
    expect(theirs.receive(1), b"")


@case
def duplicate(world: World) -> None:
    """A dup() is the same socket: flags, data, and one life."""
    sock, theirs = world.pair()
    other = sock.dup()
    sock.setblocking(False)
    assert fcntl.fcntl(other, fcntl.F_GETFL) & os.O_NONBLOCK
    sock.close()
    other.send(b"x")
    expect(theirs.receive(1), b"x")
    theirs.send(b"y")
    wait_for(other, select.POLLIN)
    expect(other.recv(1), b"y")
    other.close()
    expect(theirs.receive(1), b"")


@case
def passed_to_another_process(world: World) -> None:
    """Descriptors go through a UNIX socket: a connection and a listener."""
    sock, theirs = world.pair()
    listener, port = world.listener()
    here, there = socket.socketpair()

    def take_over() -> None:
        here.close()
        _, numbers, _, _ = socket.recv_fds(there, 1, 2)
        connection, server = (socket.socket(fileno=number) for number in numbers)
        connection.sendall(b"passed")
        server.accept()[0].sendall(b"accepted")

    pid = os.fork()
    if pid == 0:
        sock.close()
        listener.close()
        take_over()
        os._exit(0)
    socket.send_fds(here, [b"x"], [sock.fileno(), listener.fileno()])
    sock.close()
    listener.close()
    expect(theirs.receive(100), b"passed")
    expect(world.hands.connect(port).receive(100), b"accepted")
    expect(os.waitpid(pid, 0)[1], 0)
    expect(theirs.receive(1), b"")


@case
def lost_on_the_way(world: World) -> None:
    """A socket that nobody takes from a UNIX socket ends with it."""
    sock, theirs = world.pair()
    here, there = socket.socketpair()
    socket.send_fds(here, [b"x"], [sock.fileno()])
    sock.close()
    here.close()
    there.close()
    expect(theirs.receive(1), b"")


@case
def standard_output(world: World) -> None:
    """A program can have a socket for its output."""
    sock, theirs = world.pair()
    subprocess.run(["echo", "hello"], stdout=sock.fileno(), check=True)
    expect(theirs.receive(100), b"hello\n")


@case
def closed_by_exec(world: World) -> None:
    """SOCK_CLOEXEC ends the socket in the new program."""
    sock, theirs = world.pair()
    sock.set_inheritable(False)
    pid = os.fork()
    if pid == 0:
        os.execvp("sleep", ["sleep", "60"])
    sock.close()
    try:
        expect(theirs.receive(1), b"")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@case
def exit_closes(world: World) -> None:
    """What a process leaves open ends with it."""
    listener = world.hands.listen()

    def connect_and_exit() -> None:
        left = socket.socket()
        left.connect((world.peer, listener.port))
        os._exit(0)

    _in_child(connect_and_exit)
    expect(listener.accept().receive(1), b"")


@case
def close_while_another_thread_reads(world: World) -> None:
    """The reader goes on with the socket that it has."""
    sock, theirs = world.pair()
    reader = Task(os.read, sock.fileno(), 10).wait_blocked()
    sock.close()
    theirs.send(b"x")
    expect(reader.result(), b"x")


@case
def reader_and_writer_in_two_threads(world: World) -> None:
    """Reading does not hold up writing."""
    sock, theirs = world.pair()
    reader = Task(sock.recv, 10).wait_blocked()
    sock.send(b"x")
    expect(theirs.receive(1), b"x")
    theirs.send(b"y")
    expect(reader.result(), b"y")


# --- what it looks like -------------------------------------------------------


@case
def looks_like_a_socket(world: World) -> None:
    """fstat() and /proc say so."""
    for sock in world.stream(), world.datagrams(connected=True):
        assert stat.S_ISSOCK(os.fstat(sock.fileno()).st_mode)
        link = str(Path(f"/proc/self/fd/{sock.fileno()}").readlink())
        assert link.startswith("socket:["), link


@case
def without_privileges(world: World) -> None:
    """An ordinary user connects, listens and sends."""
    os.setgid(65534)
    os.setuid(65534)
    sock = world.stream()
    sock.send(b"x")
    expect(sock.recv(1), b"x")
    datagrams = world.datagrams(connected=True)
    datagrams.send(b"y")
    expect(datagrams.recv(1), b"y")
    listener, port = world.listener()
    world.hands.connect(port)
    listener.accept()
    with fails(errno.EPERM):
        sock.setsockopt(socket.SOL_SOCKET, 36, struct.pack("i", 1))  # SO_MARK


@case
def other_kinds_of_sockets(world: World) -> None:
    """UNIX sockets and raw sockets are as ever."""
    one, two = socket.socketpair()
    one.send(b"x")
    expect(two.recv(1), b"x")
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    expect(pending(raw, select.POLLIN), 0)
    with fails(errno.EPROTONOSUPPORT):
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_UDP)
    with fails(errno.EOPNOTSUPP):
        socket.socketpair(socket.AF_INET)
