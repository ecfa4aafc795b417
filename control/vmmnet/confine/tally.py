# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest did, by its audit log: every destination and every name, with counts.

A log of a million lines has some hundred different ones, so lines are only sorted into
counters here; what they say is checked afterwards, once for each counter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from .judge import Destination, Name, destination, word
from .lines import Event

#: protocol, address, port, names, the name said, in which protocol, why that was refused, and
#: whether nothing was sent
_Key = tuple[Any, ...]
_PROTO, _ADDRESS, _PORT, _ASKED, _SAID, _SAYS, _FAULT, _QUIET = range(8)

#: Why a device refuses what a stream or a flow of QUIC begins with (hw/vmrpc/said/said.c).
FAULTS = frozenset(
    (
        *("not-tls", "not-http", "no-name", "other-name", "not-asked"),
        *("malformed", "too-long", "late", "ech", "full"),
    )
)


@dataclass(frozen=True)
class Stream:
    """Streams, or datagrams, to one destination, that were alike."""

    to: Destination
    count: int
    #: The name in their first bytes, and the protocol of these; empty: the log does not have it.
    said: str = ""
    says: str = ""
    #: Why their first bytes were refused; empty: they were not.
    fault: str = ""
    #: Nothing was sent: no rule looks at what they say.
    quiet: bool = False


@dataclass(frozen=True)
class Asked:
    """Questions for one name."""

    name: Name
    count: int


class Tally:
    """The counters of a log."""

    def __init__(self) -> None:
        self._opened: Counter[_Key] = Counter()
        self._refused: Counter[_Key] = Counter()
        self._asked: Counter[Any] = Counter()
        self._denied: Counter[Any] = Counter()
        #: What each open socket is counted as, by VM, device and handle, and by address and port:
        #: of a stream, each address that is tried is open until one has won.
        self._open: dict[tuple[Any, ...], dict[tuple[Any, ...], _Key]] = {}
        self._host: set[Any] = set()
        #: Lines whose members cannot be right.
        self.wrong = 0

    def add(self, events: Iterable[Event]) -> None:
        """Count the lines of a log."""
        kinds = {
            "open": self._add_open,
            "refused": self._add_refused,
            "close": self._add_close,
            "name": self._add_name,
        }
        for event in events:
            take = kinds.get(event["event"])
            try:
                if take:
                    take(event)
                elif "said" in event:
                    self._add_said(event)
            except TypeError:  # a list or an object in place of a text
                self.wrong += 1

    def _add_open(self, event: Event) -> None:
        if event.get("incoming"):
            return  # no policy judges that
        key = _key(event)
        self._opened[key] += 1
        if "socket" in event:
            self._open.setdefault(_socket(event), {})[_peer(event)] = key

    def _add_refused(self, event: Event) -> None:
        reason = event.get("reason")
        if reason == "host":
            self._host.add(event.get("address"))
        if reason in FAULTS:
            self._add_fault(event)
        elif "proto" in event and not _is_limit(reason):
            self._refused[_key(event)] += 1

    def _add_fault(self, event: Event) -> None:
        """What it began with was refused, after it was opened, or what came after that."""
        peers, peer = self._open.get(_socket(event), {}), _peer(event)
        before = peers.get(peer)
        if before is None:
            return
        said = event.get("said")
        key = (*before[:_SAID], said, before[_SAYS], event["reason"], False)
        if before[_FAULT] is None and before[_SAID] in (None, said):
            self._opened[before] -= 1
        elif before == key:
            return
        peers[peer] = key
        self._opened[key] += 1

    def _add_close(self, event: Event) -> None:
        """Of a stream it has the address that has won; nothing was sent to others."""
        if "said" in event:
            self._add_said(event)
        peers = self._open.pop(_socket(event), {})
        for peer, key in peers.items() if "address" in event else ():
            is_quiet = peer != _peer(event) or event.get("sent") == 0
            if is_quiet and key[_SAID] is None and key[_FAULT] is None:
                self._opened[key] -= 1
                self._opened[*key[:_QUIET], True] += 1

    def _add_said(self, event: Event) -> None:
        """A line behind "open" says what its stream began with.

        A stream that says several names, as HTTP may, counts once for each.
        """
        peers, peer = self._open.get(_socket(event), {}), _peer(event)
        before = peers.get(peer)
        if before is None:
            return
        key = (*before[:_SAID], event["said"], _says(event), None, False)
        if before[_FAULT] is None and before[_SAID] is None:
            self._opened[before] -= 1
        elif before == key:
            return
        peers[peer] = key
        self._opened[key] += 1

    def _add_name(self, event: Event) -> None:
        if event.get("verdict") != "deny":
            self._asked[event.get("name")] += 1
        elif not _is_limit(event.get("reason")):
            self._denied[event.get("name")] += 1

    def streams(self) -> Iterator[Stream]:
        """What was opened."""
        return self._streams(self._opened)

    def refusals(self) -> Iterator[Stream]:
        """What was refused before it was opened."""
        return self._streams(self._refused)

    def _streams(self, counter: Counter[_Key]) -> Iterator[Stream]:
        for key, count in counter.items():
            if count <= 0:
                continue
            try:
                to = destination(key[_PROTO], key[_ADDRESS], key[_PORT], key[_ASKED])
                said = word(key[_SAID]) if key[_SAID] else ""
            except ValueError:
                self.wrong += count
                continue
            if key[_ADDRESS] in self._host:
                to = replace(to, is_host=True)
            says, fault = (str(each or "") for each in (key[_SAYS], key[_FAULT]))
            yield Stream(to, count, said, says, fault, key[_QUIET])

    def asked(self) -> Iterator[Asked]:
        """Names that the guest asked for, and might."""
        return self._names(self._asked)

    def denied(self) -> Iterator[Asked]:
        """Names that it might not ask for."""
        return self._names(self._denied)

    def _names(self, counter: Counter[Any]) -> Iterator[Asked]:
        for name, count in counter.items():
            try:
                yield Asked(Name(word(name)), count)
            except ValueError:
                self.wrong += count


def _key(event: Event) -> _Key:
    get = event.get
    asked = get("asked", ())
    if isinstance(asked, str):
        raise TypeError
    return (
        get("proto"),
        get("address"),
        get("port", 0),
        tuple(asked),
        get("said"),
        _says(event),
        None,
        False,
    )


def _is_limit(reason: object) -> bool:
    """Whether a limit or a budget refused it, and not what is refused."""
    return str(reason).startswith(("limit-", "budget-"))


def _says(event: Event) -> str | None:
    """The protocol of a name that is said. Only TLS has ALPN."""
    says: str | None = event.get("says")
    return says or ("tls" if "alpn" in event else None)


def _socket(event: Event) -> tuple[Any, ...]:
    get = event.get
    return get("vm"), get("dev"), get("socket")


def _peer(event: Event) -> tuple[Any, ...]:
    return event.get("address"), event.get("port")
