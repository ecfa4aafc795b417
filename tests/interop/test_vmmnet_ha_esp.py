# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-ha and a mobile node in ESP that the test plays, with ciphers of somebody else."""

from __future__ import annotations

import json
import signal
import socket
import struct
import time
from collections.abc import Iterator

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from lab.base import wait
from lab.mip6 import mobile
from lab.mip6.mobile import CARE_OF, Field, Packet
from lab.mip6.mobile_esp import Keys
from lab.mip6.mobility import HOME_ADDRESS, agent_binary

ESP = 50
KEYS = Keys()
IPV6_MTU_DISCOVER, IPV6_MTU, IPV6_PMTUDISC_DO = 23, 24, 2  # linux/in6.h


@pytest.fixture(scope="module")
def field() -> Iterator[Field]:
    with mobile.field() as built:
        yield built


@pytest.fixture
def lines(field: Field) -> Iterator[list[str]]:
    """Of an agent's configuration; what it leaves for the next one goes at the end."""
    file = field.folder / "ha.state"
    control = f"control {field.folder / 'ha.sock'}"
    yield [f"state {file}", control, *KEYS.lines(HOME_ADDRESS, field.folder)]
    file.unlink(missing_ok=True)
    field.agent_host.run(["ip", "link", "del", "mip6ha"], check=False)


def _seal(number: int, protocol: int, payload: bytes) -> bytes:
    """Signalling of the node, in ESP."""
    spi, key = KEYS.of("signal-out")
    payload += bytes(range(1, 1 + -(len(payload) + 2) % 4))
    padding = -(len(payload) + 2) % 4
    payload += bytes((padding, protocol))
    head, iv = struct.pack(">II", spi, number), struct.pack(">Q", number)
    return head + iv + bytes(AESGCM(key[:16]).encrypt(key[16:] + iv, payload, head))


def _update(number: int, sequence: int, lifetime: int = 60) -> bytes:
    """A Binding Update whose mobility header is in ESP."""
    packet = mobile.parse(mobile.binding_update(CARE_OF[0], sequence, lifetime))
    options, message = packet.payload[:24], packet.payload[24:]
    payload = bytes((ESP,)) + options[1:] + _seal(number, mobile.MOBILITY, message)
    return mobile.ip6(packet.source, packet.destination, packet.protocol, payload)


def _is_sealed(packet: Packet) -> bool:
    return packet.protocol == mobile.ROUTING and packet.payload[0] == ESP


def _number(packet: Packet) -> int:
    """The ESP number of an acknowledgement."""
    number: int = struct.unpack(">I", packet.payload[28:32])[0]
    return number


def _status(packet: Packet, sequence: int) -> int | None:
    """Of an acknowledgement in ESP, if it is the one of ``sequence``."""
    if not _is_sealed(packet):
        return None
    sealed, key = packet.payload[24:], KEYS.of("signal-in")[1]
    opened = AESGCM(key[:16]).decrypt(key[16:] + sealed[8:16], sealed[16:], sealed[:8])
    status, _, found = struct.unpack(">BBH", opened[6:10])
    return int(status) if found == sequence else None


def _register(field: Field, number: int, sequence: int, lifetime: int = 60) -> int | None:
    field.mobile.send(_update(number, sequence, lifetime))
    heard = field.mobile.receive(lambda packet: _status(packet, sequence) is not None)
    return _status(heard, sequence)


def _dropped(field: Field, reason: str) -> int:
    command = [str(agent_binary()), "show", "--json", str(field.folder / "ha.conf")]
    return int(json.loads(field.agent_host.run(command).stdout)["dropped"][reason])


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_takes_no_replay(field: Field, lines: list[str], signum: signal.Signals) -> None:
    """A Binding Update that was recorded has no effect when the agent has begun again."""
    number = int(time.time())
    with field.agent(*lines) as agent:
        assert _register(field, number, 1) == 0
        assert _register(field, number + 1, 2, lifetime=0) == 0
        agent.send_signal(signum)
        if signum is signal.SIGHUP:
            log = field.folder / "ha.log"
            wait.until(lambda: "read again" in log.read_text(), "the same configuration")
            _replay(field, number)
        else:
            agent.wait(wait.PATIENCE)
    if signum is not signal.SIGHUP:
        with field.agent(*lines):
            _replay(field, number)


def _replay(field: Field, number: int) -> None:
    before = _dropped(field, "esp")
    field.mobile.send(_update(number, 1))
    field.mobile.send(_update(number + 1, 2))
    wait.until(lambda: _dropped(field, "esp") == before + 2, "two drops")
    assert HOME_ADDRESS not in field.agent_host.ip("-6", "route", "show", "dev", "mip6ha")
    assert _register(field, number + 2, 3) == 0


def _acknowledged(field: Field, number: int, sequence: int) -> int:
    """Register; the ESP number of the answer."""
    field.mobile.send(_update(number, sequence))
    return _number(field.mobile.receive(lambda packet: _status(packet, sequence) == 0))


def _sent(state: str) -> int:
    """Up to which number a state file says that numbers may have been used."""
    return max(int(line[5:]) for line in state.splitlines() if line.startswith("sent "))


def test_clock_goes_back(field: Field, lines: list[str]) -> None:
    """Nodes hear an agent whose clock is behind: its numbers go on, also at a reload."""
    file, number = field.folder / "ha.state", int(time.time())
    with field.agent(*lines) as agent:
        first = _acknowledged(field, number, 1)
        assert _sent(file.read_text()) >= first
        agent.kill()
        agent.wait(wait.PATIENCE)
    # As if the clock had been a day ahead until now.
    ahead = first + 86400
    file.write_text(file.read_text() + f"sent {ahead}\n")
    with field.agent(*lines) as agent:
        second = _acknowledged(field, number + 1, 2)
        assert second > ahead
        log = field.folder / "ha.log"
        assert f"s behind the ESP numbers in state '{file}'" in log.read_text()
        agent.send_signal(signal.SIGHUP)
        wait.until(lambda: "read again" in log.read_text(), "the same configuration")
        third = [_acknowledged(field, number + 2 + turn, 3 + turn) for turn in range(9)]
        assert third[0] > second and third == sorted(set(third))
        assert _sent(file.read_text()) >= third[-1]


def test_path_of_esp(field: Field, lines: list[str]) -> None:
    """A router's error about ESP becomes one that the correspondent understands."""
    link = json.loads(field.router.ip("-j", "-6", "route", "get", CARE_OF[0]))[0]["dev"]
    with field.correspondent.entered():
        sender = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sender.setsockopt(socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO)
    sender.connect((HOME_ADDRESS, 9))

    def mtu() -> int:
        return sender.getsockopt(socket.IPPROTO_IPV6, IPV6_MTU)

    def is_told() -> bool:
        if mtu() >= 1380:
            # 1,380 octets, and what ESP adds.
            sender.send(bytes(1380 - 48))
        return mtu() < 1380

    with field.agent(*lines), sender:
        assert _register(field, int(time.time()) + 10, 1) == 0
        field.router.ip("link", "set", link, "mtu", "1400")
        try:
            wait.until(is_told, "packet too big")
        finally:
            field.router.ip("link", "set", link, "mtu", "1500")
        assert 1280 < mtu() < 1360
        assert _dropped(field, "too-big") >= 1
