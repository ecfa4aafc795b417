# SPDX-License-Identifier: GPL-2.0-or-later
"""Two VMs that move at once in ``mobility``'s networks, and their traffic.

Both have the home network of host A; or the second one has that of host C, with a
home agent of its own.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..base import wait
from ..base.net import Namespace
from ..guest.guest import Guest
from ..guest.migration import Move
from ..packages import kernel
from . import mobility, roaming
from .mobility import AGENT_ADDRESS, HOME_ADDRESS, OTHER_PREFIX, SECOND_ADDRESS, Site, World

_taps = itertools.count()


@dataclass(frozen=True)
class Mobile:
    """A VM that keeps its address in all networks."""

    name: str
    address: str
    #: Its home agent's address.
    agent: str
    mac: str
    #: Port of its migrations.
    port: int

    def is_home(self, site: Site) -> bool:
        """Whether the site is its home network."""
        return self.address.startswith(f"{site.prefix}::")

    def place(self, site: Site, *more: str) -> dict[str, Any]:
        """The GuestConfig fields of its place, on its own tap, with more arguments."""
        tap = site.tap(f"pair{next(_taps)}")
        # A VM that pauses until another one does, too, may pause for long on a busy machine.
        tap.namespace.ip("link", "set", tap.name, "txqueuelen", "10000")
        words = mobility.arguments(tap, home=self.address, agent=self.agent)
        return {"netns": site.host.netns, "arguments": (*words, *more)}

    def guest(self, site: Site, *more: str) -> Guest:
        """Return the VM, to be started at a site, with more arguments."""
        return Guest(
            name=self.name,
            kernel=kernel.MAIN,
            memory="128M",
            smp=1,
            devices=[mobility.device(self.mac)],
            **self.place(site, *more),
        )

    def move(self, source: Guest, site: Site, *more: str) -> Move:
        """Return its move to a site, over the hosts' network, with more arguments there."""
        uri = f"tcp:[{site.address}]:{self.port}"
        return Move(source, uri=uri, **self.place(site, *more))

    def await_ready(self, target: Guest, site: Site) -> None:
        """Wait until its new QEMU knows the link, and has a care-of address if it needs one."""
        known = "location-known" if self.is_home(site) else "care-of"
        wait.until(lambda: roaming.info(target).get(known), f"{self.name} at {site.host.name}")

    def await_settled(self, guest: Guest, site: Site) -> None:
        """Wait until its home agent has its binding."""
        if not self.is_home(site):
            roaming.await_bound(guest, f"{site.prefix}:")
        wait.until(
            lambda: self.is_home(site) == (roaming.state(guest) == "home"),
            f"{self.name} settled at {site.host.name}",
        )


FIRST = Mobile("first", HOME_ADDRESS, AGENT_ADDRESS, mobility.GUEST_MAC, 4444)
#: A second VM with the home network of the first one.
NEIGHBOUR = Mobile("second", SECOND_ADDRESS, AGENT_ADDRESS, "52:54:00:6d:69:71", 4445)
#: A second VM with another home network.
STRANGER = Mobile("second", f"{OTHER_PREFIX}::10", f"{OTHER_PREFIX}::1", NEIGHBOUR.mac, 4445)


@contextlib.contextmanager
def agents(world: World) -> Iterator[list[Namespace]]:
    """Run a home agent for each home network; yields their namespaces, host A's first."""
    other = mobility.agent_host(world.network, "other-agent", world.other)
    config = world.folder / "other-ha.conf"
    with (
        world.agent(),
        mobility.agent_process(other, config, STRANGER.agent, STRANGER.address, "lifetime 60"),
    ):
        yield [world.agent_host, other.namespace]


def is_bound(agent: Namespace, mobile: Mobile) -> bool:
    """Return whether its home agent forwards its packets."""
    return mobile.address in agent.ip("-6", "route", "show", "dev", "mip6ha")


@contextlib.contextmanager
def running(*guests: Guest) -> Iterator[Sequence[Guest]]:
    """Boot guests in parallel."""
    with contextlib.ExitStack() as stack:
        for guest in guests:
            try:
                guest.launch()
            except BaseException:
                guest.close()
                raise
            stack.push(guest)
        for guest in guests:
            guest.boot()
        yield guests


def move_together(moves: Sequence[Move]) -> None:
    """Start all moves, wait until all guests are paused, then let all go on."""
    for move in moves:
        move.begin(slowly=True, standing=True)
    for move in moves:
        move.await_memory()
    for move in moves:
        move.hurry()
    for move in moves:
        move.await_stand()
    for move in moves:
        move.go_on()
    for move in moves:
        move.complete()


#: Reads what roaming.SERVE sends; each word of its input goes over the idle connection.
_READ = """
import hashlib, socket, sys, threading
bulk, line = (socket.create_connection((sys.argv[1], port)) for port in (7001, 7002))
digest = hashlib.sha256()
def read():
    size = 0
    while data := bulk.recv(1 << 16):
        digest.update(data)
        size += len(data)
        for piece in range((size - len(data)) >> 18, size >> 18):
            print("piece", flush=True)
reader = threading.Thread(target=read)
reader.start()
for word in sys.stdin:
    line.sendall(word.strip().encode())
    if word == "?\\n":
        print("answer", line.recv(1).decode(), flush=True)
    else:
        reader.join()
        theirs = line.recv(32, socket.MSG_WAITALL)
        print("whole" if theirs == digest.digest() else "broken", flush=True)
        break
"""


class Talk:
    """Like roaming.Transfer, but a guest reads; both may move."""

    def __init__(self, reader: Guest, sender: Guest, address: str, pause: float = 0.1) -> None:
        sender.spawn(["python3", "-u", "-c", roaming.SERVE, str(pause)]).wait_output("ready")
        self._reader = reader.spawn(["python3", "-u", "-c", _READ, address])
        self.goes_on()

    def _count(self, word: str) -> int:
        return self._reader.output().stdout.count(word)

    def goes_on(self, mib: int = 1) -> None:
        """Wait for another few MiB."""
        goal = self._count("piece") + 4 * mib
        wait.until(lambda: self._count("piece") >= goal or not self._reader.running, "a transfer")
        assert self._reader.running, self._reader.output().stderr

    def answers(self) -> None:
        """Send a question over the idle connection."""
        goal = self._count("answer !") + 1
        self._reader.write(b"?\n")
        wait.until(lambda: self._count("answer !") >= goal, "an answer")

    def end(self) -> None:
        """End the transfer over the idle connection, which returns the checksum."""
        self._reader.write(b".\n")
        result = self._reader.wait(check=True)
        assert result.stdout.endswith("whole\n")
