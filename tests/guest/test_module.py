# SPDX-License-Identifier: GPL-2.0-or-later
"""The module beside the rest of the kernel: how it waits, and what stays when it goes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import wait
from lab.guest.fixtures import kernels
from lab.guest.guest import MODULE_PATH, Guest, Job
from lab.packages import kernel
from lab.peers.lab import ECHO_PORT, REFLECTOR_ADDRESS, Lab, lab

#: The kernel module that makes the device hostile.
_HOSTILE = Path(__file__).parent / "faults" / "hostile"
_HOSTILE_PATH = "/usr/lib/vmmnet/hostile.ko"


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


@pytest.fixture(scope="module", params=kernels(kernel.NEWEST))
def guest(request: pytest.FixtureRequest, world: Lab) -> Iterator[Guest]:
    """One guest of each kernel."""
    files: dict[str, bytes | Path] = {_HOSTILE_PATH: kernel.build_module(request.param, _HOSTILE)}
    with world.guest(request.param, ipv6=False, files=files) as running:
        yield running


# --- waiting on the host ------------------------------------------------------

_VAIN = 192
_WAIT_US = "/sys/module/vmrpc/parameters/wait_us"


@pytest.fixture
def idle_socket(guest: Guest) -> Iterator[Job]:
    """Tries to receive, on one CPU, as often as a line says; nothing ever comes."""
    job = guest.spawn(
        [
            "python3",
            "-uc",
            f"""
import os, socket, struct, sys
os.sched_setaffinity(0, {{0}})
s = socket.create_connection(('peer.test', {ECHO_PORT}))
s.sendall(b'x')
assert s.recv(1) == b'x'
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack('ll', 0, 4000))
for line in sys.stdin:
    for _ in range(int(line)):
        try:
            s.recv(1)
            sys.exit('data?')
        except BlockingIOError:
            pass
    print('tried', line, end='')
""",
        ]
    )
    yield job
    job.close_input()
    job.wait()


def _requests(world: Lab, guest: Guest, job: Job, times: int) -> int:
    """How many requests so many attempts make.

    One that waits on the host is a request, and another has the socket watched
    again; one that does not knows that there is nothing, and asks nobody.
    """
    job.write(b"1\n")
    job.wait_output("tried 1\n")
    before = world.counters(guest)["requests"]
    job.write(f"{times}\n".encode())
    job.wait_output(f"tried {times}\n")
    return world.counters(guest)["requests"] - before


def test_vain_waiting_is_bounded(world: Lab, guest: Guest, idle_socket: Job) -> None:
    """After a few times in vain one call in 32 tries whether waiting pays again."""
    made = _requests(world, guest, idle_socket, _VAIN)
    assert 0 < made <= 2 * (_VAIN // 32 + 3), made


def test_waiting_can_be_turned_off(world: Lab, guest: Guest, idle_socket: Job) -> None:
    guest.run(f"echo 0 > {_WAIT_US}")
    try:
        assert _requests(world, guest, idle_socket, _VAIN) <= 2
    finally:
        guest.run(f"echo 1000 > {_WAIT_US}")


def test_a_cpu_with_other_work_does_not_wait(world: Lab, guest: Guest, idle_socket: Job) -> None:
    """Also where the kernel can preempt the module on its way to the host."""
    busy = "import os; os.sched_setaffinity(0, {0}); print('busy', flush=True)\nwhile True: pass"
    other = guest.spawn(["python3", "-uc", busy])
    other.wait_output("busy\n")
    try:
        # Idle, it waits at least this often in vain: see above.
        assert _requests(world, guest, idle_socket, _VAIN) < _VAIN // 32
    finally:
        other.kill()


def test_waiting_for_longer_is_refused(guest: Guest) -> None:
    """The device would not take it; what cannot be had is said, and nothing changes."""
    assert guest.run(f"echo 1001 > {_WAIT_US}", check=False).rc
    assert guest.run(f"cat {_WAIT_US}").stdout == "1000\n"
    assert "wait_us=1001 is refused: 1000 at most" in guest.run("dmesg").stdout


def test_a_connection_that_is_made_at_once_is_not_waited_for(world: Lab, guest: Guest) -> None:
    """The answer tells of it: to have the socket watched would be a request for nothing."""
    times = 100
    script = f"""
import socket
for _ in range({times}):
    s = socket.socket()
    s.connect((address, {ECHO_PORT}))
    s.close()
"""
    address = guest.run("getent ahostsv4 peer.test").stdout.split()[0]

    def requests() -> int:
        before = world.counters(guest)["requests"]
        guest.run(["python3", "-c", f"address = {address!r}\n{script}"])
        return world.counters(guest)["requests"] - before

    def at_once() -> bool:
        made = requests()
        # Connect, close.
        assert 2 * times <= made, made
        return made <= 2.5 * times

    # On a busy machine the peer may answer a little later, and all of them be waited for.
    wait.until(at_once, "connections that are made at once")


_KINDS = {
    "connected": "s.connect(address)",
    "bound": "s.bind(('', 0))",
    "sent from": "s.sendto(b'', address)",
}


@pytest.mark.parametrize("kind", _KINDS)
def test_a_socket_is_made_by_what_is_asked_of_it(world: Lab, guest: Guest, kind: str) -> None:
    """What nothing was set of before costs no request of its own."""
    script = f"""
import socket
for _ in range(100):
    s = socket.socket(type=socket.SOCK_DGRAM)
    {_KINDS[kind]}
    s.close()
"""
    found = guest.run("getent ahostsv4 peer.test").stdout.split()[0]
    before = world.counters(guest)
    guest.run(["python3", "-c", f"address = ({found!r}, {ECHO_PORT})\n{script}"])
    after = world.counters(guest)
    asked = after["requests"] - before["requests"]
    assert asked == 100 * (3 if kind == "sent from" else 2), asked
    assert after["sockets_opened"] - before["sockets_opened"] == 100


# --- room ---------------------------------------------------------------------

_SENDER = """
import select, socket, sys
s = socket.socket(type=socket.SOCK_DGRAM)
s.bind(('', 0))
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
poller = select.epoll()
poller.register(s, select.EPOLLOUT | select.EPOLLET)

def is_writable(seconds):
    level = select.select([], [s], [], seconds)[1] == [s]
    print(level, poller.poll(seconds) == [(s.fileno(), select.EPOLLOUT)])

is_writable(10)
nobody = socket.gethostbyname('reflector.test'), 9
try:
    while True:
        s.sendto(bytes(1000), socket.MSG_DONTWAIT, nobody)
except BlockingIOError:
    pass
is_writable(0)
print('full', flush=True)
input()
is_writable(10)
s.sendto(b'x', nobody)
"""


def test_a_sender_without_a_peer_waits_for_the_hosts_room(world: Lab, guest: Guest) -> None:
    """Its buffer is full while the host looks for a neighbour, and poll() says so."""
    name = world.link.a.name
    patience = f"net.ipv6.neigh.{name}.mcast_solicit"
    before = world.host.run(["sysctl", "-n", patience]).stdout.strip()
    world.host.sysctl({patience: 1000})
    entry = [REFLECTOR_ADDRESS, "dev", name]
    try:
        job = guest.spawn(["python3", "-uc", _SENDER])
        job.wait_output("full\n")
        found = ["lladdr", "02:00:00:00:00:01", "nud", "permanent"]
        world.host.ip("-6", "neigh", "replace", *entry, *found)
        job.write(b"\n")
        assert job.wait(check=True).stdout == "True True\nFalse False\nfull\nTrue True\n"
    finally:
        world.host.sysctl({patience: before})
        world.host.ip("-6", "neigh", "flush", "to", *entry, "nud", "all")


# --- TLS of the kernel --------------------------------------------------------

_TLS = """
import errno, socket

def ask(s):
    try:
        s.setsockopt(socket.IPPROTO_TCP, 31, b'tls')
        return 'ok'
    except OSError as e:
        return errno.errorcode[e.errno]

def inside():
    with socket.create_server(('127.0.0.1', 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        return ours, listener.accept()[0]
"""


def test_tls_of_the_kernel_keeps_nothing_of_ours(guest: Guest) -> None:
    """It copies the operations of a socket that asks for it, and gives them to others."""
    # Sockets of earlier tests may be on their way out.
    guest.wait_for("test $(wc -l < /proc/net/vmrpc) = 1")
    refs = guest.run("cat /sys/module/vmrpc/refcnt").stdout.strip()
    script = f"""{_TLS}
for _ in range(3):
    outer = socket.create_connection(('peer.test', {ECHO_PORT}))
    ours, accepted = inside()
    print(*map(ask, (socket.socket(), outer, ours, accepted)))
"""
    out = guest.run(["python3", "-c", script]).stdout
    assert out == "ENOTCONN ENOTCONN ENOPROTOOPT ok\n" * 3
    guest.wait_for(f"test $(cat /sys/module/vmrpc/refcnt) = {refs}")
    # Without the module, who has it goes on.
    guest.wait_for("rmmod vmrpc")
    script = f"""{_TLS}
ends = inside()
print(*map(ask, ends))
[s.close() for s in ends]
"""
    assert guest.run(["python3", "-c", script]).stdout == "ok ok\n"
    guest.run(["insmod", MODULE_PATH])
    guest.check_kernel()


def test_sockets_that_are_older_than_the_module_are_told(guest: Guest) -> None:
    """As those of socket units: nobody outside reaches them, and the log says how many."""
    guest.wait_for("rmmod vmrpc")
    script = """
import socket
server = socket.create_server(("", 8099))
print("ready", flush=True)
input()
"""
    server = guest.spawn(["python3", "-c", script])
    server.wait_output("ready\n")
    guest.run(["insmod", MODULE_PATH])
    log = guest.run("dmesg").stdout
    server.write(b"\n")
    server.wait()
    assert re.search(r"vmrpc: [1-9]\d* TCP and \d+ UDP sockets are older than the module", log)


# --- without IPv6 ---------------------------------------------------------------

_DEBIANS_NGINX = """
error_log stderr; pid /run/nginx.pid; events { worker_connections 64; }
http { server { listen 80 default_server; listen [::]:80 default_server; } }
"""


def test_the_module_says_what_there_is_without_ipv6(guest: Guest) -> None:
    """And it is so: who insists on [::] does not start, who can do without is reached."""
    said = guest.run("cat /proc/net/vmrpc_inet6").stdout
    assert said.startswith("ipv6: off (ipv6.disable=1)\nsockets: EAFNOSUPPORT\n")
    log = guest.run("dmesg").stdout
    assert "IPv6 is off (ipv6.disable=1); AF_INET6 sockets: EAFNOSUPPORT" in log
    guest.put(_DEBIANS_NGINX.encode(), "/run/nginx.conf")
    nginx = guest.run("nginx -t -c /run/nginx.conf", check=False)
    assert nginx.rc
    assert "socket() [::]:80 failed (97: " in nginx.stderr


# --- services of the kernel ---------------------------------------------------

#: Kernels whose services refuse a program's socket that a module has attached data to, as ours has.
_REFUSING = ("6.12-64k", "7.3")

# A listener of a program's becomes the kernel's own, which answers a call of nothing.
_NFSD = """
import os, socket, struct

def give(name, text):
    with open('/proc/fs/nfsd/' + name, 'w') as file:
        file.write(text + '\\n')

def ask():
    call = struct.pack('>10I', 7, 0, 2, 100003, 4, 0, 0, 0, 0, 0)
    with socket.create_connection(('127.0.0.1', 2049)) as s:
        s.sendall(struct.pack('>I', 1 << 31 | len(call)) + call)
        return struct.unpack('>3I', s.recv(100)[4:16])

for _ in range(3):
    listener = socket.create_server(('', 2049))
    give('versions', '-3')
    try:
        give('portlist', str(listener.fileno()))
    except OSError as e:
        print(os.strerror(e.errno))
        listener.close()
        # It makes a socket of its own.
        give('portlist', 'tcp 2049')
    give('threads', '1')
    print(*[ask() for _ in range(4)])
    listener.close()
    give('threads', '0')
"""


# A datagram socket becomes the kernel's own while a thread waits for what comes.
_NFSD_READ = """
import os, pathlib, socket, struct, threading

def give(name, text):
    with open('/proc/fs/nfsd/' + name, 'w') as file:
        file.write(text + '\\n')

def sleeps(thread):
    words = pathlib.Path(f'/proc/self/task/{thread.native_id}/syscall').read_text().split()
    return words[0] in ('45', '207')              # recvfrom() of amd64, of arm64

def read():
    try:
        s.recv(100)
    except BlockingIOError:
        pass

s = socket.socket(type=socket.SOCK_DGRAM)
s.bind(('', 2049))
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack('ll', 1, 0))
reader = threading.Thread(target=read, daemon=True)
reader.start()
while not sleeps(reader):
    pass
give('versions', '-3')
try:
    give('portlist', str(s.fileno()))
except OSError as e:
    print(os.strerror(e.errno))
    given = False
else:
    given = True
s.sendto(b'x', ('127.0.0.1', 2049))
reader.join(100)
print(reader.is_alive())
s.close()
if given:
    give('threads', '1')
give('threads', '0')
"""


@pytest.fixture
def refusal(request: pytest.FixtureRequest) -> str:
    """What a service says that is given one of our sockets."""
    series = request.node.callspec.params["guest"]
    return "Device or resource busy\n" if series in _REFUSING else ""


def test_a_service_of_the_kernel_takes_a_socket_that_is_read(guest: Guest, refusal: str) -> None:
    """Who waits meanwhile is woken, and does not look for what the socket has lost."""
    guest.run("modprobe nfsd && mount -t nfsd nfsd /proc/fs/nfsd")
    try:
        assert guest.run(["python3", "-c", _NFSD_READ]).stdout == f"{refusal}False\n"
    finally:
        guest.run("umount /proc/fs/nfsd")
    guest.wait_for("! grep -q ' 0801 ' /proc/net/vmrpc")
    guest.check_kernel()


def test_a_service_of_the_kernel_takes_a_listener(guest: Guest, refusal: str) -> None:
    """It serves the inside; the port is free afterwards, here and on the host."""
    guest.run("modprobe nfsd && mount -t nfsd nfsd /proc/fs/nfsd")
    refs = guest.run("cat /sys/module/vmrpc/refcnt").stdout
    try:
        out = guest.run(["python3", "-c", _NFSD]).stdout
        assert out == 3 * (refusal + " ".join(4 * ["(7, 1, 0)"]) + "\n")
    finally:
        guest.run("umount /proc/fs/nfsd")
    guest.wait_for(f"test $(cat /sys/module/vmrpc/refcnt) = {refs}")
    assert " 0801 " not in guest.run("cat /proc/net/vmrpc").stdout
    guest.check_kernel()


# --- another program that uses the pool's addresses ----------------------------

_SEND_TO = """
import errno, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    s.sendto(b'x', (sys.argv[1], 9))
    print('sent')
except OSError as e:
    print(errno.errorcode[e.errno])
"""


def test_addresses_of_the_pool_that_another_hands_out_are_told_once(
    world: Lab, guest: Guest
) -> None:
    """A VPN's "fake IP" DNS gives the guest what the device never gave."""
    for target in "198.19.200.1", "198.19.200.2":
        assert guest.run(["python3", "-c", _SEND_TO, target]).stdout == "EHOSTUNREACH\n"
    told = [line for line in guest.stderr_path.read_text().splitlines() if "pool4=" in line]
    assert len(told) == 1, told
    assert "the guest contacts 198.19.200.1 of pool4=198.18.0.0/15" in told[0]
    assert world.counters(guest)["unreachable_no_mapping"] >= 2


def test_a_route_that_takes_the_pool_away_is_told(guest: Guest) -> None:
    """As a VPN's "fake IP" DNS has it; a route elsewhere is none of our business."""
    guest.run(
        "ip link add tun0 type veth peer name tun1 && ip address add 203.0.113.1/24 dev tun0 &&"
        "ip link set tun0 up && ip link set tun1 up"
    )
    guest.run(["python3", "-c", _SEND_TO, "203.0.113.9"])
    assert "the guest's routes send" not in guest.run("dmesg").stdout
    guest.run("ip route add 198.18.0.0/15 dev tun0")
    for target in "198.18.0.9", "198.18.0.8":
        assert guest.run(["python3", "-c", _SEND_TO, target]).stdout == "sent\n"
    log = guest.run("dmesg").stdout
    guest.run("ip link del tun0")
    assert log.count("the guest's routes send 198.18.0.9 to tun0 and not to the host") == 1
    assert log.count("the guest's routes send") == 1


# --- operations of newer kernels ---------------------------------------------

_WINDOW = """
import socket
TCP_WINDOW_CLAMP = 10
with socket.create_server(('127.0.0.1', 0)) as server:
    with socket.create_connection(server.getsockname()) as s:
        before = s.getsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        print(before, s.getsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP))
"""


def test_a_receive_buffer_moves_the_window_inside(guest: Guest) -> None:
    """From 7.2 on Linux limits a connection's window with its buffer: ours inside, too.

    Another network namespace has the kernel's own sockets.
    """
    alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"]
    native = guest.run([*alone, "python3", "-c", _WINDOW]).stdout
    assert guest.run(["python3", "-c", _WINDOW]).stdout == native


# --- a hostile device ---------------------------------------------------------

_SENDMSG, _RECVMSG, _GETSOCKOPT = 7, 8, 12
#: More than any room of the module for a value; and a length that int cannot hold.
_LENGTHS = (0x10000, 0xFFFFFFFF)
#: Rooms for TCP_INFO, around the limits of an option's value and the struct's length.
_ROOMS = (1, 4, 255, 256, 257, 279, 280, 281, 512, 513, 1024)

_HOSTILE_PROGRAM = """
import errno, os, socket
s = socket.create_connection((address, port))
SO_TIMESTAMP = 29
def load(op):
    assert not os.system(f'insmod {path} op={op} value={value}')
def unload():
    with open('/sys/module/hostile/parameters/changed') as file:
        assert int(file.read()) > 0
    assert not os.system('rmmod hostile')
def fails(call):
    try:
        return call()
    except OSError as e:
        return errno.errorcode[e.errno]

# struct tcp_info of this kernel: 280 bytes from 6.18 on
whole = len(socket.socket().getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1024))
load(getsockopt)
for room in rooms:
    got = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, room)
    print('TCP_INFO', room, len(got) <= min(room, whole))
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
open('/proc/net/vmrpc').read()
unload()
s.close()

def receive(name, call):
    # After the error the data are gone: each attempt has a connection of its own.
    with socket.create_connection((address, port)) as s:
        s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMP, 1)
        s.sendall(b'12345')
        s.recv(5, socket.MSG_PEEK | socket.MSG_WAITALL)
        load(recvmsg)
        print(name, fails(lambda: call(s)))
        unload()

with socket.create_connection((address, port)) as s:
    for size in (5, 5000):
        load(sendmsg)
        print('send', fails(lambda: s.send(bytes(size))))
        unload()

buffer = bytearray(8)
for flags in (0, socket.MSG_PEEK, socket.MSG_TRUNC, socket.MSG_PEEK | socket.MSG_TRUNC):
    receive('recv', lambda s: s.recv_into(buffer, 0, flags))
    receive('recvmsg', lambda s: s.recvmsg_into([buffer], 256, flags))
"""


@pytest.mark.parametrize("value", _LENGTHS)
def test_a_device_that_answers_more_than_was_asked(guest: Guest, value: int) -> None:
    """No length that it gives counts beyond the room for it, whatever it claims to have written."""
    names = {
        "address": guest.run("getent ahostsv4 peer.test").stdout.split()[0],
        "port": ECHO_PORT,
        "path": _HOSTILE_PATH,
        "value": value,
        "rooms": _ROOMS,
        "sendmsg": _SENDMSG,
        "recvmsg": _RECVMSG,
        "getsockopt": _GETSOCKOPT,
    }
    given = "\n".join(f"{name} = {what!r}" for name, what in names.items())
    lines = guest.run(["python3", "-c", f"{given}\n{_HOSTILE_PROGRAM}"]).stdout.splitlines()
    assert lines[: len(_ROOMS)] == [f"TCP_INFO {room} True" for room in _ROOMS]
    assert lines[len(_ROOMS) :] == [*2 * ["send EIO"], *4 * ["recv EIO", "recvmsg EIO"]]
    guest.check_kernel()


# --- tracepoints --------------------------------------------------------------

_TRACED = """
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.sendall(b'traced')
assert s.recv(6) == b'traced'
"""


def test_tracepoints_tell_the_life_of_a_socket(guest: Guest) -> None:
    """Each step of a connection is a line, and nothing is one when they are off."""
    events = "/sys/kernel/tracing/events/vmrpc"
    address = guest.run("getent ahostsv4 peer.test").stdout.split()[0]
    connect = ["python3", "-c", _TRACED, address, str(ECHO_PORT)]
    guest.run("mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing")
    guest.run(f"echo 1 > {events}/enable && echo > /sys/kernel/tracing/trace")
    try:
        guest.run(connect)
    finally:
        guest.run(f"echo 0 > {events}/enable")
    lines = [
        line.split(": ", 1)[1]
        for line in guest.run("grep vmrpc_ /sys/kernel/tracing/trace").stdout.splitlines()
        if not line.startswith("#")
    ]
    (handle,) = re.findall(r"^vmrpc_mode: sock=(\d+) gen=\d+ from=0 to=2$", "\n".join(lines), re.M)
    mine = "\n".join(line for line in lines if f" sock={handle} " in f"{line} ")
    steps = (
        r"vmrpc_open: sock=\d+ gen=\d+ type=1 protocol=6",
        r"vmrpc_request: op=CONNECT .*",
        r"vmrpc_answer: op=CONNECT sock=\d+ status=0 error=(0|115) .* ns=[1-9]\d*",
        r"vmrpc_request: op=SENDMSG .* len=6 .*",
        r"vmrpc_answer: op=SENDMSG sock=\d+ status=0 error=0 value=6 .* ns=[1-9]\d*",
        r"vmrpc_answer: op=RECVMSG sock=\d+ status=0 error=0 value=6 .* ns=[1-9]\d*",
        r"vmrpc_request: op=CLOSE .*",
        r"vmrpc_answer: op=CLOSE sock=\d+ status=0 error=0 .* ns=[1-9]\d*",
        r"vmrpc_close: sock=\d+",
    )
    assert re.search("(.*\n)*".join(rf"^{step}\n" for step in steps), f"{mine}\n", re.M), mine
    guest.run("echo > /sys/kernel/tracing/trace")
    guest.run(connect)
    assert "vmrpc_" not in guest.run("cat /sys/kernel/tracing/trace").stdout
