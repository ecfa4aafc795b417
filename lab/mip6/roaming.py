# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests in ``mobility``'s networks, and a transfer that has to survive their moves."""

from __future__ import annotations

import hashlib
import random
import re
import socket
import threading
from typing import Any, Protocol

from vmmnet.qmp import Qmp

from ..base import wait
from ..base.net import Namespace
from ..guest.agent import Job
from ..guest.guest import Guest
from .mobility import CORRESPONDENT_ADDRESS, HOME_ADDRESS, World


def info(guest: Guest) -> dict[str, Any]:
    """query-mip6 of the guest's only mobile node."""
    (found,) = guest.qmp("query-mip6")
    return dict(found)


def state(guest: Guest) -> str:
    """The state of its registration."""
    return str(info(guest)["state"])


def dropped(guest: Guest, reason: str) -> int:
    """The number of packets dropped for a reason."""
    return sum(drop["count"] for drop in info(guest)["dropped"] if drop["reason"] == reason)


def probes(monitor: Qmp) -> dict[str, str]:
    """What the path to the home agent lets through: the last results, by name."""
    (found,) = monitor.command("query-mip6")
    return {probe["name"]: probe["result"] for probe in found["probes"]}


def await_bound(guest: Guest, prefix: str = "") -> None:
    """Wait until the home agent has the guest's binding, with a care-of address in ``prefix``."""

    def bound() -> bool:
        now = info(guest)
        return bool(now["state"] == "bound" and now["care-of"].startswith(prefix))

    wait.until(bound, f"a binding to {prefix or 'any address'}")


def home_router(world: World) -> str:
    """The home router's link-local address, which a guest's route has."""
    shown = world.home.router.ip("-6", "address", "show", "dev", "lan0", "scope", "link")
    found = re.search(r"inet6 (fe80[^/]*)", shown)
    assert found
    return found[1]


def configure(guest: Guest, *addresses: str) -> None:
    """Give the guest its home addresses; its mobile node simulates a missing router."""
    guest.run("modprobe virtio_net; until ip link show eth0; do :; done")
    guest.run("sysctl -w net.ipv6.conf.eth0.autoconf=0 net.ipv6.conf.eth0.accept_dad=0")
    guest.run("ip link set eth0 up")
    for address in addresses or (HOME_ADDRESS,):
        guest.run(f"ip address add {address}/64 dev eth0")


#: Sends without an end.  It answers questions on the idle connection; any other word ends it.
SERVE = """
import hashlib, os, socket, sys, time
out = socket.create_server(("::", 7001), family=socket.AF_INET6)
idle = socket.create_server(("::", 7002), family=socket.AF_INET6)
print("ready", flush=True)
bulk, line = out.accept()[0], idle.accept()[0]
out.close()
idle.close()
pause = float(sys.argv[1])
# A network that is full loses packets of others by itself.
block, digest = os.urandom(1 << 16 if pause else 1 << 20), hashlib.sha256()
while True:
    bulk.sendall(block)
    digest.update(block)
    time.sleep(pause)
    try:
        word = line.recv(1, socket.MSG_DONTWAIT)
        if word == b"?":
            line.sendall(b"!")
        elif word:
            break
    except BlockingIOError:
        pass
bulk.close()
line.sendall(digest.digest())
"""


class Starter(Protocol):
    """Starts programs in a guest."""

    def spawn(self, command: list[str], /) -> Job:
        """Start a command and go on."""


class Transfer:
    """Reads an endless transfer from the guest, and keeps an idle connection.

    Both connections go to the guest's ``address``; the idle one may have another. The guest waits
    ``pause`` seconds after each piece.
    """

    def __init__(
        self,
        reader: Namespace,
        guest: Starter,
        address: str = HOME_ADDRESS,
        idle: str = "",
        pause: float = 0,
    ) -> None:
        guest.spawn(["python3", "-u", "-c", SERVE, str(pause)]).wait_output("ready")
        with reader.entered():
            self._bulk, self._idle = (
                socket.create_connection(at, timeout=wait.PATIENCE)
                for at in ((address, 7001), (idle or address, 7002))
            )
        self._digest = hashlib.sha256()
        self.octets = 0
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            while data := self._bulk.recv(1 << 16):
                self._digest.update(data)
                self.octets += len(data)
        except OSError as error:
            self._failure = error

    @property
    def is_lost(self) -> bool:
        """Whether the connection of the transfer has ended, which ``end()`` has not asked for."""
        return not self._thread.is_alive()

    def goes_on(self, mib: int = 4) -> None:
        """Wait for another few MiB."""
        goal = self.octets + (mib << 20)
        wait.until(lambda: self.octets > goal or self._failure, "a transfer that goes on")
        assert self._failure is None

    def answers(self) -> None:
        """Send a question over the idle connection."""
        self._idle.sendall(b"?")
        assert self._idle.recv(1) == b"!"

    def end(self) -> None:
        """End the transfer over the idle connection, which returns the checksum."""
        self._idle.sendall(b".")
        self._thread.join(wait.PATIENCE)
        assert self._failure is None
        assert self._idle.recv(32, socket.MSG_WAITALL) == self._digest.digest()
        self._idle.close()
        self._bulk.close()


def upload(sender: Namespace, guest: Guest) -> None:
    """Send the guest some MiB, and compare checksums."""
    sink = guest.spawn("nc -6 -l 7003 | sha256sum")
    guest.wait_for("ss -6ltn | grep -q :7003")
    octets = random.randbytes(4 << 20)
    with (
        sender.entered(),
        socket.create_connection((HOME_ADDRESS, 7003), timeout=wait.PATIENCE) as line,
    ):
        line.sendall(octets)
        line.shutdown(socket.SHUT_WR)
        assert sink.wait().stdout.split()[0] == hashlib.sha256(octets).hexdigest()


def pings(guest: Guest, address: str = CORRESPONDENT_ADDRESS) -> None:
    """Wait until the guest gets an answer."""
    guest.wait_for(f"ping -n -c 1 -W 1 {address}")
