# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes of a host under what serves there: how long it is out, and whether anything says so."""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from ..base import conditions, paths
from ..base.net import Interface

#: Seconds that a change lasts; that service has to be there until it counts; until it is given up.
_LASTS, _STEADY, _LIMIT = 2.0, 2.0, 25.0


class Place:
    """An interface with what its owner has set up there, who does so again after a change."""

    def __init__(
        self,
        interface: Interface,
        not_his: Collection[str] = (),
        make: Callable[[], None] | None = None,
    ) -> None:
        """Note what is there, but the addresses that somebody else looks after.

        ``make`` makes an interface again that is no bridge.
        """
        self.interface, self.space = interface, interface.namespace
        (shown,) = json.loads(self.space.ip("-j", "-d", "address", "show", "dev", interface.name))
        self.mac = interface.mac
        self._is_bridge = shown["linkinfo"]["info_kind"] == "bridge"
        self._addresses = [
            f"{each['local']}/{each['prefixlen']}"
            for each in shown["addr_info"]
            if each["local"] not in not_his
        ]
        links = json.loads(self.space.ip("-j", "link", "show", "master", interface.name))
        self._ports = [each["ifname"] for each in links] if self._is_bridge else []
        self._make = make or (self._make_bridge if self._is_bridge else None)
        self.changes = [each for each in CHANGES if self._make or each != _REMADE]
        shown = self.space.ip("-6", "route", "show", "dev", interface.name)
        self._routes = [line.split()[:3] for line in shown.splitlines() if " via " in line]

    def link(self, *words: str) -> None:
        """Change the interface."""
        self.space.ip("link", "set", "dev", self.interface.name, *words)

    def put_back(self) -> None:
        """Add the addresses and routes that are missing."""
        for address in self._addresses:
            nodad = ["nodad"] if ":" in address else []
            words = ["address", "replace", address, "dev", self.interface.name, *nodad]
            self.space.ip(*words)
        for route in self._routes:
            self.space.ip("-6", "route", "replace", *route, "dev", self.interface.name)

    def delete(self) -> None:
        """Remove the interface."""
        self.space.ip("link", "delete", self.interface.name)

    def make(self) -> None:
        """Make it again."""
        assert self._make
        self._make()

    def _make_bridge(self) -> None:
        name = self.interface.name
        self.space.ip("link", "add", name, "address", self.mac, "type", "bridge")
        for port in self._ports:
            self.space.ip("link", "set", port, "master", name)
        self.interface.up()

    def rename(self, old: str, new: str) -> None:
        """Rename it; a bridge may be up."""
        self.space.ip("link", "set", old, "name", new)


_REMADE = "remade"


@contextlib.contextmanager
def _flushed(place: Place) -> Iterator[None]:
    # It fails if somebody puts an address back at once, ten times.
    place.space.ip("address", "flush", "dev", place.interface.name)
    yield
    place.put_back()


@contextlib.contextmanager
def _down(place: Place) -> Iterator[None]:
    place.interface.down()
    yield
    place.interface.up()
    place.put_back()


@contextlib.contextmanager
def _remade(place: Place) -> Iterator[None]:
    place.delete()
    yield
    place.make()
    place.put_back()


@contextlib.contextmanager
def _renamed(place: Place) -> Iterator[None]:
    place.rename(place.interface.name, "other9")
    yield
    place.rename("other9", place.interface.name)


@contextlib.contextmanager
def _other_mac(place: Place) -> Iterator[None]:
    place.link("address", f"02:00:5e{place.mac[8:]}")
    yield
    place.link("address", place.mac)


@contextlib.contextmanager
def _qdiscs(place: Place) -> Iterator[None]:
    rate = ("root", "tbf", "rate", "1gbit", "burst", "1mb", "latency", "50ms")
    for verb, *words in (("add", "clsact"), ("add", *rate)):
        place.space.run(["tc", "qdisc", verb, "dev", place.interface.name, *words])
    yield
    for words in (["clsact"], ["root"]):
        place.space.run(["tc", "qdisc", "del", "dev", place.interface.name, *words])


Change = Callable[[Place], AbstractContextManager[None]]

#: Each begins, lasts until the end of a ``with`` block, and is undone.
CHANGES: Mapping[str, Change] = {
    "addresses flushed": _flushed,
    "down, up": _down,
    _REMADE: _remade,
    "renamed, and back": _renamed,
    "another MAC": _other_mac,
    "qdiscs": _qdiscs,
}


@dataclass(frozen=True)
class Subject:
    """A daemon or a device of QEMU that serves on an interface."""

    name: str
    place: Place
    #: Asks once, and waits a moment for the answer.
    serves: Callable[[], bool]
    #: All that it says of its state, in logs, events and metrics.
    says: Callable[[], str]


@dataclass(frozen=True)
class Outcome:
    """What a change has done to a subject."""

    #: Whether service failed at all.
    out: bool
    #: Seconds from the end of the change to service that lasts; None: it did not return.
    after: float | None
    #: The new lines of what it says.
    lines: list[str] = field(default_factory=list)

    @property
    def silent(self) -> bool:
        """Whether it was out, and nothing was said."""
        return self.out and not self.lines

    def __str__(self) -> str:
        if not self.out:
            return "serves"
        after = "**does not return**" if self.after is None else f"{self.after:.1f} s"
        return f"{after}, {'**no line**' if self.silent else 'told'}"


def _tried(subject: Subject, change: Change) -> Outcome:
    """Make a change and undo it, while it is asked all the time."""
    before = Counter(subject.says().splitlines())
    failures, out = 0, False
    with change(subject.place):
        began = time.monotonic()
        while time.monotonic() < began + _LASTS:
            failures = 0 if subject.serves() else failures + 1
            # One answer may be late on a busy machine.
            out |= failures > 1
    began = good = time.monotonic()
    after: float | None = 0.0
    while time.monotonic() < good + _STEADY:
        failures = 0 if subject.serves() else failures + 1
        if failures:
            good = time.monotonic()
        if failures > 1:
            out, after = True, good - began
        if good > began + _LIMIT:
            after = None
            break
    new = Counter(subject.says().splitlines()) - before
    return Outcome(out, after, list(new.elements()))


def tried(subject: Subject) -> dict[str, Outcome]:
    """Try all changes of its place, one after another."""
    return {name: _tried(subject, CHANGES[name]) for name in subject.place.changes}


class Report:
    """A file below ``build``, written anew with every subject that is added."""

    def __init__(self, name: str) -> None:
        self._path = paths.BUILD / name
        self._rows: list[str] = []
        self._lines: list[str] = []

    def add(self, subject: str, outcomes: Mapping[str, Outcome]) -> None:
        """Add a subject."""
        cells = [str(outcomes[name]) if name in outcomes else "" for name in CHANGES]
        self._rows.append(f"| {' | '.join((subject, *cells))} |")
        for name, outcome in outcomes.items():
            self._lines += [f"{subject}, {name}: {line}" for line in outcome.lines]
        head = [f"| {' | '.join(('', *CHANGES))} |", "|---" * (len(CHANGES) + 1) + "|"]
        said = ["", "What was said:", "", *(f"    {line}" for line in self._lines)]
        text = [conditions.machine(), "", *head, *self._rows, *said]
        self._path.write_text("\n".join(text) + "\n")
        print(self._path.read_text())
