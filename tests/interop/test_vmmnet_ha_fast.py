# SPDX-License-Identifier: GPL-2.0-or-later
"""The fast path of vmmnet-ha: what the kernel forwards by itself, and what it must not."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from typing import Any

import pytest
from lab.base import paths, wait
from lab.base.net import Interface
from lab.mip6 import mobile, narrow
from lab.mip6.mobile import CARE_OF, Field, Packet
from lab.mip6.mobility import (
    AGENT_ADDRESS,
    CORRESPONDENT_ADDRESS,
    HOME_ADDRESS,
    agent_binary,
)
from lab.packages import programs

PACKETS = 150_000
#: Root without what loading programs needs.
UNABLE = ("setpriv", "--bounding-set=-bpf,-sys_admin", "--inh-caps=-bpf,-sys_admin")
FRAGMENT = 44
_OURS = (AGENT_ADDRESS, HOME_ADDRESS)


@pytest.fixture(scope="module")
def net() -> Iterator[Field]:
    with mobile.field() as built:
        yield built


@pytest.fixture
def state(net: Field) -> Iterator[str]:
    """A line of configuration; what an agent leaves for the next one goes at the end."""
    file = net.folder / "ha.state"
    yield f"state {file}"
    file.unlink(missing_ok=True)
    net.agent_host.run(["ip", "link", "del", "mip6ha"], check=False)


@pytest.fixture
def control(net: Field) -> str:
    """A line of configuration."""
    return f"control {net.folder / 'ha.sock'}"


def _show(net: Field) -> dict[str, Any]:
    command = [str(agent_binary()), "show", "--json", str(net.folder / "ha.conf")]
    shown: dict[str, Any] = json.loads(net.agent_host.run(command).stdout)
    return shown


def _fast(net: Field) -> tuple[int, int]:
    """Packets that the kernel has forwarded: to nodes, from nodes."""
    shown = _show(net)
    return shown["fast-sent"], shown["fast-received"]


def _is_echo(packet: Packet, kind: int, number: int) -> bool:
    return (
        packet.protocol == mobile.ICMP6
        and packet.payload[0] == kind
        and struct.unpack(">H", packet.payload[6:8]) == (number,)
    )


def _tunnel(care_of: str, packet: bytes) -> bytes:
    return mobile.ip6(care_of, AGENT_ADDRESS, mobile.IP6, packet)


def _ask(net: Field, number: int, care_of: str = CARE_OF[0]) -> None:
    """An echo request goes out by the tunnel."""
    request = mobile.echo(HOME_ADDRESS, CORRESPONDENT_ADDRESS, number)
    net.mobile.send(_tunnel(care_of, request))


def _both_ways(net: Field, number: int, care_of: str = CARE_OF[0]) -> None:
    """The same, and the reply comes in by it."""
    _ask(net, number, care_of)
    reply = net.mobile.receive(
        lambda p: p.protocol == mobile.IP6 and _is_echo(p.inner, mobile.ECHO_REPLY, number)
    )
    assert (reply.source, reply.destination) == (AGENT_ADDRESS, care_of)
    assert (reply.inner.source, reply.inner.destination) == (CORRESPONDENT_ADDRESS, HOME_ADDRESS)


@contextlib.contextmanager
def _known_to_the_router(net: Field) -> Iterator[None]:
    """An agent that is gone answers no neighbour solicitations."""
    words = [("neigh", verb, at, "dev", "home") for verb in ("replace", "del") for at in _OURS]
    for command in words[: len(_OURS)]:
        net.router.ip(*command, "lladdr", net.agent_interface.mac, "nud", "permanent")
    try:
        yield
    finally:
        for command in words[len(_OURS) :]:
            net.router.ip(*command)


def _filters(net: Field) -> str:
    return net.agent_host.run(["tc", "qdisc", "show", "dev", "mip6ha"]).stdout


@pytest.mark.parametrize("seed", [1, 6275])
def test_it_does_what_the_agent_does(seed: int) -> None:
    """Random packets, octet for octet; and what is not plain is left to the agent."""
    agent_binary()
    program = paths.BUILD / "programs/ha/fast.bpf.o"
    command = [str(programs.built("mip6-fast-agree")), str(program), str(PACKETS), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stderr


def test_binding_begins_moves_and_ends(net: Field, control: str) -> None:
    """Packets pass by the care-of address that is registered, and by no other."""
    with net.agent(control, "fast-path on"):
        assert net.mobile.register(1).status == 0
        _both_ways(net, 1)
        assert _fast(net) == (1, 1)
        assert net.mobile.register(2, care_of=CARE_OF[1]).status == 0
        _both_ways(net, 2, CARE_OF[1])
        assert _fast(net) == (2, 2)
        (binding,) = _show(net)["bindings"]
        assert (binding["sent"], binding["received"]) == (2, 2)
        _ask(net, 3, CARE_OF[0])
        wait.until(lambda: _show(net)["dropped"]["wrong-source"] == 1, "a refusal")
        assert net.mobile.register(3, lifetime=0, care_of=CARE_OF[1]).status == 0
        _ask(net, 4, CARE_OF[1])
        wait.until(lambda: _show(net)["dropped"]["no-binding"] == 1, "a refusal")
        shown = _show(net)
        assert (shown["fast-sent"], shown["fast-received"]) == (2, 2)
        assert (shown["sent"], shown["received"]) == (2, 2)


def test_somebody_removes_it(net: Field, control: str) -> None:
    """The agent forwards meanwhile, attaches it again, and says so."""
    log = net.folder / "ha.log"
    with net.agent(control, "fast-path on"):
        assert net.mobile.register(1).status == 0
        for times, words in enumerate((("qdisc", "del"), ("filter", "del")), 1):
            where = ("clsact",) if "qdisc" in words else ("egress",)
            net.agent_host.run(["tc", *words, "dev", "mip6ha", *where])
            wait.until(
                lambda n=times: log.read_text().count("it is there again") == n, "it is attached"
            )
            before = _fast(net)
            _both_ways(net, times)
            assert _fast(net) == (before[0] + 1, before[1] + 1)


def test_binding_ends_in_time(net: Field, control: str) -> None:
    """The kernel forwards nothing when the lifetime is over, even if the agent stands still."""
    with net.agent(control, "fast-path on") as agent:
        assert net.mobile.register(1).status == 0
        _both_ways(net, 1)
        assert net.mobile.register(2, lifetime=4).status == 0
        end = time.clock_gettime(time.CLOCK_BOOTTIME) + 4
        agent.send_signal(signal.SIGSTOP)
        wait.until(lambda: time.clock_gettime(time.CLOCK_BOOTTIME) > end, "the lifetime's end")
        net.correspondent.run(["ping", "-c1", "-W1", HOME_ADDRESS], check=False)
        agent.send_signal(signal.SIGCONT)
        wait.until(lambda: _show(net)["expired"] == 1, "the end of the binding")
        assert _fast(net) == (1, 1)


def test_agent_is_killed(net: Field, control: str, state: str) -> None:
    """Packets pass until there is another agent, which goes on, or lets none pass."""
    with net.agent(control, state, "fast-path on") as agent:
        assert net.mobile.register(1).status == 0
        agent.kill()
        agent.wait(wait.PATIENCE)
    with _known_to_the_router(net):
        _both_ways(net, 1)
    with net.agent(control, state, "fast-path on") as agent:
        _both_ways(net, 2)
        assert _fast(net) == (1, 1)
        agent.kill()
        agent.wait(wait.PATIENCE)
    with net.agent(control, state, "fast-path off"):
        _both_ways(net, 3)
        shown = _show(net)
        assert (shown["fast-path"], shown["fast-sent"]) == (False, 0)
        assert (shown["sent"], shown["received"]) == (1, 1)
        assert "clsact" not in _filters(net)


def test_agent_ends(net: Field, state: str) -> None:
    """Who stops it wants it stopped: nothing passes."""
    with net.agent(state, "fast-path on"):
        assert net.mobile.register(1).status == 0
        assert "clsact" in _filters(net)
    assert "clsact" not in _filters(net)


def test_narrow_path(net: Field, control: str) -> None:
    """What fits passes; what does not goes in fragments, or its sender is told."""
    net.foreign.b.set_mtu(narrow.SMALLEST_MTU)
    try:
        with net.agent(control, "fast-path on"):
            assert net.mobile.register(1).status == 0
            told = narrow.told_mtu(net.correspondent, HOME_ADDRESS, 1400)
            assert told == (narrow.SMALLEST_MTU, AGENT_ADDRESS)
            before, _ = _fast(net)
            for octets, fragments in ((1240, False), (1241, True), (1280, True), (1240, False)):
                ping = ["ping", "-c1", "-W0.2", "-Mdo", f"-s{octets - 48}", HOME_ADDRESS]
                net.correspondent.run(ping, check=False)
                wanted = FRAGMENT if fragments else mobile.IP6
                length = None if fragments else octets

                def comes(
                    packet: Packet, wanted: int = wanted, length: int | None = length
                ) -> bool:
                    return packet.protocol == wanted and length in (None, len(packet.payload))

                net.mobile.receive(comes)
            assert _fast(net)[0] == before + 2
    finally:
        net.foreign.b.set_mtu(1500)


def test_bulk_goes_by_the_agent(net: Field, control: str) -> None:
    """Much at once is put together by the agent; behind a pause the kernel goes on."""
    # Replies, which nobody answers.
    kind, data = mobile.ECHO_REPLY, bytes(1300)
    large = mobile.echo(HOME_ADDRESS, CORRESPONDENT_ADDRESS, 1, kind, data)

    def slow() -> int:
        shown = _show(net)
        return int(shown["received"] - shown["fast-received"])

    def burst() -> int:
        for _ in range(100):
            net.mobile.send(_tunnel(CARE_OF[0], large))
        return slow()

    def single() -> bool:
        before = _fast(net)[1]
        _both_ways(net, 2)
        return _fast(net)[1] > before

    with net.agent(control, "fast-path on"):
        assert net.mobile.register(1).status == 0
        _both_ways(net, 1)
        assert slow() == 0
        wait.until(burst, "bulk")
        wait.until(single, "a packet that the kernel forwards")


def test_kernel_that_takes_no_program(net: Field, control: str) -> None:
    """``auto`` says why and goes on without; ``on`` does not begin."""
    why = "the kernel does not take the program: Operation not permitted"
    with net.agent(control, under=UNABLE):
        assert f"there is no fast path: {why}" in (net.folder / "ha.log").read_text()
        assert net.mobile.register(1).status == 0
        _both_ways(net, 1)
        assert _show(net)["fast-path"] is False
    config = net.configure(control, "fast-path on")
    done = net.agent_host.run([*UNABLE, agent_binary(), config], check=False)
    assert done.returncode == 1
    assert f"{config}:4: fast-path 'on': {why}" in done.stderr


# --- super-frames --------------------------------------------------------------

_TUNSETIFF, _TUN_NO_PI = 0x400454CA, 0x1001
_SIOCETHTOOL, _ETHTOOL_STXCSUM = 0x8946, 0x17
_ETH_ALL, _ETH_IP6, _ETH_LEN, _IP6_LEN = 3, 0x86DD, 14, 40
_OCTETS = 6_000_000


def _complete_checksums(interface: Interface) -> None:
    """Have the kernel make checksums, and so cut super-frames, before this interface."""
    value = ctypes.create_string_buffer(struct.pack("II", _ETHTOOL_STXCSUM, 0))
    request = struct.pack("16sP16x", interface.name.encode(), ctypes.addressof(value))
    with interface.namespace.entered(), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as any_:
        fcntl.ioctl(any_, _SIOCETHTOOL, request)


def _packet_socket(interface: Interface, protocol: int) -> socket.socket:
    with interface.namespace.entered():
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    made.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
    made.bind((interface.name, protocol))
    return made


@dataclass
class _KernelNode:
    """A mobile node whose home address is on a TUN device: its kernel speaks TCP."""

    net: Field
    #: Octets of the longest packet that came by the tunnel, and how many were wrong.
    longest: int = 0
    wrong: int = 0
    #: Super-frames that left the agent's host whole.
    whole: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    def _open(self) -> int:
        space = self.net.foreign.a.namespace
        with space.entered():
            tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH22x", b"node0", _TUN_NO_PI))
        space.ip("address", "add", f"{HOME_ADDRESS}/128", "dev", "node0", "nodad")
        space.ip("link", "set", "dev", "node0", "up", "mtu", "1460")
        space.ip("-6", "route", "add", "default", "dev", "node0")
        return tun

    def _take(self, data: bytes, tun: int) -> None:
        outer = mobile.parse(data[_ETH_LEN:])
        if (outer.protocol, outer.destination) != (mobile.IP6, CARE_OF[0]):
            return
        inner = outer.inner
        summed = mobile.checksum(inner.source, inner.destination, inner.protocol, inner.payload)
        self.wrong += summed != 0
        self.longest = max(self.longest, _IP6_LEN + len(outer.payload))
        with contextlib.suppress(BlockingIOError):
            os.write(tun, outer.payload)

    def _run(self, tun: int, link: socket.socket, agent: socket.socket) -> None:
        head = bytes.fromhex((self.net.foreign.b.mac + self.net.foreign.a.mac).replace(":", ""))
        home = IPv6Address(HOME_ADDRESS).packed
        sources: list[int | socket.socket] = [tun, link, agent]
        while not self._stop.is_set():
            ready, _, _ = select.select(sources, [], [], 0.1)
            if link in ready:
                data, origin = link.recvfrom(65536)
                if origin[2] != socket.PACKET_OUTGOING:
                    self._take(data, tun)
            if agent in ready:
                data, origin = agent.recvfrom(1 << 17)
                outgoing = origin[2] == socket.PACKET_OUTGOING
                self.whole += outgoing and data[20] == mobile.IP6 and len(data) > 2000
            if tun in ready:
                packet = os.read(tun, 65536)
                if packet[8:24] == home:
                    link.send(head + b"\x86\xdd" + _tunnel(CARE_OF[0], packet))

    @contextlib.contextmanager
    def running(self) -> Iterator[_KernelNode]:
        with contextlib.ExitStack() as stack:
            tun = self._open()
            stack.callback(os.close, tun)
            link = stack.enter_context(_packet_socket(self.net.foreign.a, _ETH_IP6))
            agent = stack.enter_context(_packet_socket(self.net.agent_interface, _ETH_ALL))
            thread = threading.Thread(target=self._run, args=(tun, link, agent))
            thread.start()
            stack.callback(thread.join)
            stack.callback(self._stop.set)
            yield self


def _digest_of(line: socket.socket) -> str:
    digest = hashlib.sha256()
    while data := line.recv(1 << 16):
        digest.update(data)
    return digest.hexdigest()


def _exchange(net: Field) -> None:
    """Both ends send octets by TCP, one after the other, and get what was sent."""
    sent = os.urandom(_OCTETS)
    wanted = hashlib.sha256(sent).hexdigest()
    with net.foreign.a.namespace.entered():
        listener = socket.create_server((HOME_ADDRESS, 7010), family=socket.AF_INET6)
    with net.correspondent.entered():
        client = socket.socket(socket.AF_INET6)
    got: list[str] = []

    def serve() -> None:
        line, _ = listener.accept()
        with line:
            line.settimeout(wait.PATIENCE)
            got.append(_digest_of(line))
            line.sendall(sent)

    server = threading.Thread(target=serve)
    server.start()
    with listener, client:
        client.settimeout(wait.PATIENCE)
        client.connect((HOME_ADDRESS, 7010))
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        got.append(_digest_of(client))
        server.join()
    assert got == [wanted, wanted]


def test_super_frames() -> None:
    """TCP's super-frames pass whole; on the wire nothing is longer than the links' MTU."""
    with mobile.field() as net:
        _complete_checksums(net.foreign.b)
        with net.agent(f"control {net.folder / 'ha.sock'}", "fast-path on"):
            assert net.mobile.register(1, lifetime=600).status == 0
            with _KernelNode(net).running() as node:
                _exchange(net)
            assert node.whole > 10
            assert node.wrong == 0
            assert node.longest == 1500
            sent, received = _fast(net)
            assert sent > _OCTETS / 1500
            shown = _show(net)
            # But for the first packets, whose sender learns the MTU.
            assert shown["sent"] - sent < 100
            # How much of it is bulk depends on the machine.
            assert shown["received"] > _OCTETS / 1500 and 0 < received <= shown["received"]
