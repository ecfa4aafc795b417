# SPDX-License-Identifier: GPL-2.0-or-later
"""When the device breaks, or has much to hold: unloading, unplugging, crowds, a kill.

What happened is in build/faults; see test_faults.py.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.base import tools, wait
from lab.guest.fixtures import KERNELS
from lab.guest.guest import Guest
from lab.peers.lab import PAGE, VM_ADDRESS, Lab, lab

_SCRIPTS = Path(__file__).parent / "faults"
sys.path.insert(0, str(_SCRIPTS.parent))

from faults import bed, host, report  # noqa: E402
from faults.bed import PORT, Note, Transfers  # noqa: E402
from faults.puppet import InGuest, Outside, in_guest, outside  # noqa: E402

_CROWD_PATH = "/usr/lib/vmmnet/tests/crowd"
_CROWD = 10_000
_STEPS = 4
_WARM_UP = 500
#: How long nothing happens, seconds: what is to be seen is that nothing does.
_IDLE = 2.0
_REST_ATTEMPTS = 4
#: What a connection may cost QEMU, bytes.
_MEMORY = 2048


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


@pytest.fixture(scope="module")
def rows() -> Iterator[list[report.Row]]:
    """What became of all faults; it is written down at the end."""
    listed: list[report.Row] = []
    yield listed
    report.write("devices", listed)


@pytest.fixture(scope="module")
def crowd_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    product = tmp_path_factory.mktemp("crowd") / "crowd"
    tools.run(["gcc", "-O2", "-s", "-static", "-o", product, _SCRIPTS / "crowd.c"])
    return product


@pytest.fixture(scope="module", params=KERNELS)
def guest(request: pytest.FixtureRequest, world: Lab, crowd_program: Path) -> Iterator[Guest]:
    files: dict[str, bytes | Path] = {_CROWD_PATH: crowd_program}
    with bed.guest(world, request.param, files) as running:
        yield running
        running.check_kernel()


@pytest.fixture
def note(guest: Guest, rows: list[report.Row]) -> Note:
    return bed.noting(rows, guest)


@pytest.fixture
def ours(guest: Guest) -> Iterator[InGuest]:
    with in_guest(guest, PEER="peer.test") as puppet:
        yield puppet


@pytest.fixture
def peer(world: Lab) -> Iterator[Outside]:
    with outside(world.peer, VM=VM_ADDRESS) as puppet:
        puppet.do(f"l = listen({PORT}, address='::')")
        yield puppet


# --- a crowd --------------------------------------------------------------------


class _Crowd:
    """Connections from the guest to a server that says how many it has."""

    def __init__(self, guest: Guest, server: subprocess.Popen[bytes]) -> None:
        self._server = server
        address = guest.run("getent ahostsv4 peer.test").stdout.split()[0]
        self._job = guest.spawn([_CROWD_PATH, "dial", address, str(PORT)])
        self._told = 0

    def tell(self, line: str, timeout: float = 120) -> None:
        """Have the guest's side do something, and wait until it is done."""
        self._job.write(f"{line}\n".encode())
        self._told += 1
        self._job.wait_output(f"(?:done\n){{{self._told}}}", timeout)

    def await_number(self, number: int) -> None:
        """Wait until the server has so many."""
        assert self._server.stdout is not None
        for line in self._server.stdout:
            if line == b"crowd %d\n" % number:
                return
        raise AssertionError("the server has ended")

    def end(self) -> None:
        """End the guest's side."""
        self._job.close_input()
        self._job.wait(check=True)


@pytest.fixture
def crowd(guest: Guest, world: Lab, crowd_program: Path) -> Iterator[_Crowd]:
    host.allow_descriptors(guest.pid, _CROWD + 1000)
    command: list[str | Path] = [crowd_program, "serve", str(PORT)]
    with world.peer.started(command, stdout=subprocess.PIPE) as server:
        wait.listening(server.pid, PORT)
        yield _Crowd(guest, server)


def _available(guest: Guest) -> int:
    """Bytes of the guest's memory that are free or could be."""
    words = guest.run("grep MemAvailable /proc/meminfo").stdout.split()
    return int(words[1]) * 1024


def _idle(guest: Guest, world: Lab) -> dict[str, int]:
    """What happens while nothing does."""
    thread = bed.iothread(guest)
    wakeups = host.quiet_switches(guest.pid, thread)
    counters, used = world.counters(guest), host.cpu_ms(guest.pid)
    time.sleep(_IDLE)
    after = host.cpu_ms(guest.pid)
    seen = {"IOThread": host.switches(guest.pid, thread) - wakeups}
    now = world.counters(guest)
    for what in "requests", "events":
        seen[what] = now[what] - counters[what]
    seen["CPU ms"] = sum(after.values()) - sum(used.get(name, 0) for name in after)
    seen["IOThread CPU ms"] = sum(
        after[name] - used[name] for name in after if name.endswith(f" {thread}")
    )
    return seen


def _at_rest(guest: Guest, world: Lab) -> dict[str, int]:
    """Such a time in which the IOThread is not woken: what comes late may end first."""
    for _ in range(_REST_ATTEMPTS):
        seen = _idle(guest, world)
        if not (seen["IOThread"] or seen["requests"] or seen["events"]):
            return seen
    raise AssertionError(f"no rest: {seen}")


def _grow(crowd: _Crowd, guest: Guest) -> float:
    """Open all connections; return the bytes that one costs QEMU.

    Some find room in what was freed before: the dearest step counts.
    """
    step = _CROWD // _STEPS
    each = 0.0
    for number in range(1, _STEPS + 1):
        before = host.memory(guest.pid)
        crowd.tell(f"open {step}")
        crowd.await_number(number * step)
        host.quiet_switches(guest.pid, bed.iothread(guest))
        each = max(each, (host.memory(guest.pid) - before) / step)
    return each


def test_ten_thousand_connections(crowd: _Crowd, guest: Guest, world: Lab, note: Note) -> None:
    """Idle they cost no CPU and little memory; all of them work, and go."""
    # What is needed once, and is then kept, is not theirs.
    crowd.tell(f"open {_WARM_UP}")
    crowd.tell("use")
    crowd.tell("close")
    crowd.await_number(0)
    wait.until(lambda: not bed.sockets(guest), "the host's sockets to be closed")
    open_before = len(host.descriptors(guest.pid))
    alone = _idle(guest, world)
    inside = _available(guest)

    began = time.monotonic()
    each = _grow(crowd, guest)
    opening = time.monotonic() - began
    each_inside = (inside - _available(guest)) / _CROWD
    together = _at_rest(guest, world)
    assert each <= _MEMORY

    began = time.monotonic()
    crowd.tell("use")
    using = time.monotonic() - began
    crowd.tell("close")
    crowd.await_number(0)
    wait.until(lambda: not bed.sockets(guest), "the host's sockets to be closed")
    assert len(host.descriptors(guest.pid)) == open_before
    crowd.end()
    note(
        f"{_CROWD:,} connections",
        "idle: the IOThread sleeps, no request, no event; all used once, all closed",
        bytes_each_by_which_QEMU_grew=round(each),
        bytes_each_in_the_guest=round(each_inside),
        CPU_ms_while_idle=f"{together['CPU ms']} in {_IDLE:g} s ({alone['CPU ms']} with none)",
        opened_a_second=round(_CROWD / opening),
        used_a_second=round(_CROWD / using),
    )


# --- the device goes ------------------------------------------------------------


def _device_names(world: Lab) -> dict[str, Any]:
    driver, *rest = bed.device(world).split(",")
    return {"driver": driver, **dict(word.split("=", 1) for word in rest)}


def _unbind(guest: Guest) -> str:
    folder = "/sys/bus/virtio/drivers/vmrpc"
    name = guest.run(f"cd {folder} && echo virtio*").stdout.strip()
    guest.run(f"echo {name} > {folder}/unbind")
    return f"echo {name} > {folder}/bind"


@contextlib.contextmanager
def _without_device(guest: Guest, world: Lab, way: str) -> Iterator[None]:
    """Take the device from the guest for the time of a block."""
    if way == "unbound":
        back = _unbind(guest)
        yield
        guest.run(back)
    else:
        guest.qmp("device_del", id="vmrpc0")
        guest.monitor.wait_event("DEVICE_DELETED", device="vmrpc0")
        yield
        guest.monitor.execute("device_add", _device_names(world))
    guest.wait_for("ip link show vmrpc0")


def _check_after_the_end(ours: InGuest) -> None:
    """What programs do next: nothing hangs, nothing is believed to work."""
    assert ours.error("down.send(b'x')") in ("ENETDOWN", "EPIPE")
    assert ours.do("'POLLERR' in events(poked, 0) or 'POLLHUP' in events(poked, 0)")
    assert ours.error(f"connect(address, {PORT})") == "ENETUNREACH"
    # Loopback is the guest's own, and new sockets are.
    ours.do("inner = listen(6700); near = connect('127.0.0.1', 6700)")
    ours.do("near.sendall(b'inside')")
    assert ours.do("take(inner.accept()[0], 6)") == "inside"


@pytest.mark.parametrize("way", [pytest.param("unbound", marks=pytest.mark.long), "unplugged"])
def test_device_taken_away_under_load(
    ours: InGuest, peer: Outside, guest: Guest, world: Lab, note: Note, way: str
) -> None:
    wait.until(lambda: not bed.sockets(guest), "the host's sockets to be closed")
    opened = len(host.descriptors(guest.pid))
    transfers = Transfers(world, guest, ours, peer)
    ours.do(f"quiet, poked = connect(PEER, {PORT}), connect(PEER, {PORT})")
    ours.do("listener = listen(6600); address = socket.gethostbyname(PEER)")
    ours.do("udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind(('', 6601))")
    waiting = [ours.begin(line) for line in ("listener.accept()", "quiet.recv(1)", "udp.recv(1)")]
    assert "in use" in guest.run("rmmod vmrpc", check=False).stderr
    transfers.flow()
    with _without_device(guest, world, way):
        for one in [*waiting, transfers.sent[0], transfers.got[1]]:
            assert one.error() == "ENETDOWN"
        # Its peers hear of it as well.
        assert transfers.sent[1].error() in ("ECONNRESET", "EPIPE")
        transfers.got[0].outcome()
        _check_after_the_end(ours)
    # The sockets of then stay dead, new ones live.
    assert ours.error("listener.accept()") == "ENETDOWN"
    assert guest.run("curl -sS http://www.test/").stdout == PAGE
    ours.do(
        "for name in ('up', 'down', 'quiet', 'poked', 'listener', 'udp'): globals()[name].close()"
    )
    wait.until(lambda: not bed.sockets(guest), "the host's sockets to be closed")
    left = len(host.descriptors(guest.pid)) - opened
    assert left == 0
    guest.check_kernel()
    note(
        f"device {way} under load",
        "rmmod refused; ENETDOWN for all who wait; works again when it is back",
        descriptors_left=left,
    )


# --- the end: it takes the guest with it -----------------------------------------


_SERVER = """
import socket
l = socket.create_server(('', 6800))
print('listens', flush=True)
c, _ = l.accept()
print('accepted', flush=True)
input()
"""


def test_qemu_killed(crowd: _Crowd, guest: Guest, world: Lab, note: Note) -> None:
    crowd.tell(f"open {_WARM_UP}")
    crowd.await_number(_WARM_UP)
    server = guest.spawn(["python3", "-c", _SERVER])
    with outside(world.peer, VM=VM_ADDRESS) as caller:
        server.wait_output("listens")
        caller.do("s = connect(VM, 6800); s.sendall(b'unread')")
        server.wait_output("accepted")
        reading = caller.begin("s.recv(1)")
        guest.kill()
        assert reading.error() == "ECONNRESET"
        assert caller.error("connect(VM, 6800)") == "ECONNREFUSED"
    crowd.await_number(0)
    note(
        "QEMU killed with open connections",
        "every peer sees the end: of the stream, or a reset where data were unread",
        connections=_WARM_UP + 1,
    )
