# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM migrates to another network and keeps its address: the paper's section 3."""

from __future__ import annotations

import hashlib
import random
import signal
import socket
import threading
from collections.abc import Iterator

import pytest
from vmmnet.testbed import mobility, wait
from vmmnet.testbed.guest import Guest
from vmmnet.testbed.migration import migrated
from vmmnet.testbed.mobility import (
    CORRESPONDENT_ADDRESS,
    HOME_ADDRESS,
    SECOND_ADDRESS,
    World,
)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with mobility.world() as built:
        yield built


_SECOND = f"more-home-address={SECOND_ADDRESS}"


def _state(guest: Guest) -> str:
    (info,) = guest.qmp("query-mip6")
    return str(info["state"])


def _bound(guest: Guest) -> list[str]:
    """The home addresses that have a binding."""
    (info,) = guest.qmp("query-mip6")
    return [b["home-address"] for b in info["bindings"] if b["state"] == "bound"]


def _configure(guest: Guest) -> None:
    guest.run("modprobe virtio_net; until ip link show eth0; do :; done")
    guest.run("sysctl -w net.ipv6.conf.eth0.autoconf=0 net.ipv6.conf.eth0.accept_dad=0")
    guest.run("ip link set eth0 up")
    for address in (HOME_ADDRESS, SECOND_ADDRESS):
        guest.run(f"ip address add {address}/64 dev eth0")
    guest.wait_for("ip -6 route show default | grep -q via")


_SERVE = """
import hashlib, os, socket, sys
out = socket.create_server(("::", 7001), family=socket.AF_INET6)
idle = socket.create_server(("::", 7002), family=socket.AF_INET6)
print("ready", flush=True)
bulk, line = out.accept()[0], idle.accept()[0]
block, digest = os.urandom(1 << 20), hashlib.sha256()
while True:
    bulk.sendall(block)
    digest.update(block)
    try:
        if line.recv(1, socket.MSG_DONTWAIT):
            break
    except BlockingIOError:
        pass
bulk.close()
line.sendall(digest.digest())
"""


class Transfer:
    """Reads what the guest sends without an end, and holds an idle connection beside it.

    The idle one is to the guest's second address.
    """

    def __init__(self, world: World, guest: Guest) -> None:
        guest.spawn(["python3", "-u", "-c", _SERVE]).wait_output("ready")
        with world.correspondent.entered():
            self._bulk, self._idle = (
                socket.create_connection(address, timeout=wait.PATIENCE)
                for address in ((HOME_ADDRESS, 7001), (SECOND_ADDRESS, 7002))
            )
        self._digest = hashlib.sha256()
        self.octets = 0
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        try:
            while data := self._bulk.recv(1 << 16):
                self._digest.update(data)
                self.octets += len(data)
        except OSError as error:
            self._failure = error

    def goes_on(self) -> None:
        """Wait for another few MiB."""
        goal = self.octets + (4 << 20)
        wait.until(lambda: self.octets > goal or self._failure, "a transfer that goes on")
        assert self._failure is None

    def end(self) -> None:
        """End it by the idle connection, over which the checksum comes."""
        self._idle.sendall(b".")
        self._thread.join(wait.PATIENCE)
        assert self._failure is None
        assert self._idle.recv(32, socket.MSG_WAITALL) == self._digest.digest()
        self._idle.close()
        self._bulk.close()


def _upload(world: World, guest: Guest) -> None:
    """Send the guest some MiB, and compare."""
    sink = guest.spawn("nc -6 -l 7003 | sha256sum")
    guest.wait_for("ss -6ltn | grep -q :7003")
    octets = random.randbytes(4 << 20)
    with (
        world.correspondent.entered(),
        socket.create_connection((HOME_ADDRESS, 7003), timeout=wait.PATIENCE) as line,
    ):
        line.sendall(octets)
        line.shutdown(socket.SHUT_WR)
        assert sink.wait().stdout.split()[0] == hashlib.sha256(octets).hexdigest()


def test_keeps_its_address(world: World) -> None:
    """What the guest says and hears goes on over the move to a foreign network."""
    home_tap, foreign_tap = world.home.tap("tap0"), world.foreign.tap("tap0")
    with (
        world.agent() as log,
        Guest(
            name="mobile",
            netns=world.home.host,
            kernel="6.12",
            memory="256M",
            devices=[mobility.DEVICE],
            arguments=mobility.arguments(home_tap, _SECOND),
        ) as source,
    ):
        _configure(source)
        ping, second = (
            source.spawn(["ping", "-n", "-i", every, "-I", address, CORRESPONDENT_ADDRESS])
            for every, address in (("0.01", HOME_ADDRESS), ("0.1", SECOND_ADDRESS))
        )
        transfer = Transfer(world, source)
        transfer.goes_on()
        assert _state(source) == "home"
        there = {
            "netns": world.foreign.host.netns,
            "arguments": tuple(mobility.arguments(foreign_tap, _SECOND)),
        }
        with migrated(source, **there) as target:
            homes = [HOME_ADDRESS, SECOND_ADDRESS]
            wait.until(lambda: _bound(target) == homes, "a binding for each address")
            heard = second.output().stdout.count("icmp_seq")
            transfer.goes_on()
            transfer.end()
            wait.until(
                lambda: second.output().stdout.count("icmp_seq") > heard + 10, "more answers"
            )
            second.kill(signal.SIGINT)
            _upload(world, target)
            ping.kill(signal.SIGINT)
            print(ping.wait().stdout[-300:])
            (info,) = target.qmp("query-mip6")
            print(info, log.read_text())
            assert info["received"] > info["coalesced"] > 0
            assert info["care-of"].startswith(mobility.FOREIGN_PREFIX)
