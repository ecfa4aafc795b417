# SPDX-License-Identifier: GPL-2.0-or-later
"""A policy that allows what a log has, and nothing else.

It has names as they were asked for, addresses only where no name led to them, and exact
ports. A name that the guest only asks for has a rule that opens nothing. Rules that look
at what a stream says come behind the others: the first rule that matches decides, and an
address may also have a name whose streams say nothing.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from vmmnet.command import output

from . import replay
from .lines import printable
from .tally import Asked, Stream

_LABEL = r"[-_a-z0-9]{1,63}"
#: Names that a rule can have: a last label that begins with a digit is taken for an address.
_NAME = re.compile(rf"(?:{_LABEL}\.)*(?!\d){_LABEL}")
_NAME_MAX = 253
#: Octets of a name in a comment: a line has 512.
_COMMENT_MAX = 250

#: What rules of these protocols and ports may have.
_WORDS = {
    ("tcp", 80): "'http' to tcp 80",
    ("tcp", 443): "'tls' to tcp 443",
    ("udp", 443): "'tls' to udp 443",
}

_Item = TypeVar("_Item", bound=Stream | Asked)
#: place, protocol, port; the port is 0 where there is none
_Where = tuple[str, str, int]


@dataclass
class Learned:
    """A policy, and what it would refuse all the same, for people."""

    text: str
    rules: int
    missing: list[str]


def learn(
    streams: Iterable[Stream], asked: Iterable[Asked], wildcards: Sequence[str] = ()
) -> Learned:
    """Make a policy. All names below one of ``wildcards`` become one rule.

    Raises judge.Wrong if it would have more rules than a policy may, judge.Missing.
    """
    rules = _Rules([each.lower().removeprefix("*.").strip(".") for each in wildcards])
    opened = [each for each in streams if not each.fault]
    names = list(asked)
    for stream in opened:
        rules.add(stream)
    for name in names:
        rules.add_name(name)
    # A rule by name opens no address that is refused without a rule.
    for stream in _refused(rules, opened):
        rules.add(stream, by_name=False)
    missing: list[Stream | Asked] = [*_refused(rules, opened), *_refused(rules, names)]
    told = [_told(each) for each in missing]
    return Learned(rules.text(told), len(rules.of), told)


@dataclass
class _Rule:
    count: int = 0
    #: In which protocols its streams said their name; "": one did not, or the log is silent.
    #: Those on which nothing was sent do not count.
    says: set[str] = field(default_factory=set)

    @property
    def word(self) -> str:
        """The word about the protocol, or nothing."""
        (says, *others) = self.says or {""}
        return "" if others else says


class _Rules:
    """The rules that are learned."""

    def __init__(self, wildcards: Sequence[str]) -> None:
        self.of: dict[_Where, _Rule] = {}
        self._wildcards = wildcards
        self._places: set[str] = set()

    def add(self, stream: Stream, *, by_name: bool = True) -> None:
        """Allow a stream."""
        to = stream.to
        if not to.port and to.proto != "icmp":
            return  # no rule is for port 0 alone
        places = [place for place in map(self._place, to.names) if place and by_name]
        said = self._place(stream.said) if stream.said and places else None
        chosen = {places[0] if places else to.address}
        if said:
            # A name that has led to another one, which was said: both have to be allowed.
            chosen = {said} if said in places else {*chosen, said}
        says = stream.says if said and to.proto in ("tcp", "udp") else ""
        for place in chosen:
            self._add((place, to.proto, to.port), stream.count, None if stream.quiet else says)

    def add_name(self, asked: Asked) -> None:
        """Allow to ask for a name, if no other rule has it."""
        place = self._place(asked.name.name)
        if place and place not in self._places:
            self._add((place, "dns", 0), asked.count, None)
        elif place and (place, "dns", 0) in self.of:
            self.of[place, "dns", 0].count += asked.count

    def _add(self, where: _Where, count: int, says: str | None) -> None:
        rule = self.of.setdefault(where, _Rule())
        rule.count += count
        if says is not None:
            rule.says.add(says)
        self._places.add(where[0])

    def _place(self, name: str) -> str | None:
        """A name as it is in a rule; None: no rule can have it."""
        name = name.lower().removesuffix(".")
        for above in self._wildcards:
            if name.endswith(f".{above}"):
                return f"*.{above}"
        if len(name) > _NAME_MAX or not _NAME.fullmatch(name):
            return None
        return name if "." in name else f"{name}."

    def text(self, missing: Sequence[str] = ()) -> str:
        """The file."""
        rows = [_row(where, rule) for where, rule in sorted(self.of.items(), key=_order)]
        lines = [
            "# Learned from an audit log by 'vmmnet policy learn'; behind each rule, how often.",
            *(output.columns(rows) if rows else ()),
            "default deny",
            "dns listed",
            *(f"# {each}" for each in self._hints()),
            *(f"# not learned: {each}" for each in missing),
        ]
        return "".join(f"{line}\n" for line in lines)

    def _hints(self) -> Iterator[str]:
        """Words that the log cannot tell, as nobody has looked at what was said."""
        of = {_WORDS.get(where[1:]) for where, rule in self.of.items() if _is_unlooked(where, rule)}
        if words := sorted(each for each in of if each):
            yield f"No rule of that run looked at what is said: add {', '.join(words)},"
            yield "and run again under this policy. What does not say its name is refused then,"
            yield "which 'vmmnet audit LOG --verdict deny' shows; what does is learned."


def _is_unlooked(where: _Where, rule: _Rule) -> bool:
    """Whether streams may have said a name, and the log does not have it."""
    return "" in rule.says and _packed(where[0]) is None


def _row(where: _Where, rule: _Rule) -> list[str]:
    place, proto, port = where
    what = " ".join(filter(None, (proto, str(port or ""), rule.word)))
    return ["allow", place, what, f"# {rule.count:,}"]


def _order(item: tuple[_Where, _Rule]) -> tuple[object, ...]:
    """Rules that look at streams come last; names are with those of their domain."""
    (place, proto, port), rule = item
    address = _packed(place)
    return (
        bool(rule.word),
        address is not None,
        address or place.rstrip(".").split(".")[::-1],
        proto,
        port,
    )


def _packed(place: str) -> tuple[int, bytes] | None:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            return family, socket.inet_pton(family, place)
        except OSError:
            continue
    return None


def _refused(rules: _Rules, items: Sequence[_Item]) -> list[_Item]:
    """What the rules would refuse, or might."""
    outcomes = replay.replay(rules.text().encode(), "what is learned", items)
    return [each for each, outcome in zip(items, outcomes, strict=True) if not outcome.allows]


def _told(item: Stream | Asked) -> str:
    if isinstance(item, Asked):
        name = printable(item.name.name)[:_COMMENT_MAX]
        return f"the name {name}, asked for {times(item.count)}: no rule can have it"
    to = item.to
    return f"{to.proto} {to.address} {to.port}, {times(item.count)}"


def times(count: int) -> str:
    """How often."""
    return "once" if count == 1 else f"{count:,} times"
