# SPDX-License-Identifier: GPL-2.0-or-later
"""What arrived at a NIC and should not have, and the report of a run.

It knows nothing of HostVLAN but the paper's rule: two VMs may hear each other
if they have an LNID in common, or one of them has the global one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lab.base import conditions, paths

GLOBAL = 0
REPORT = paths.BUILD / "hostvlan" / "experiment.md"
_HEAD = """\
# The experiment of the HostVLAN paper (section 5.1)

Three hosts on one physical network, real QEMUs and guests, one NIC each behind
`-netdev hostvlan`. Every VM sends broadcasts, ARP requests and broadcast pings;
every NIC is listened to in the guest, in promiscuous mode.
"""


@dataclass(frozen=True)
class Heard:
    """A frame that a guest's NIC has received; see voice.py."""

    source: str
    destination: str
    kind: str
    size: int
    text: str


@dataclass(frozen=True)
class Place:
    """A VM as the table knows it."""

    name: str
    host: str
    mac: str
    lnids: frozenset[int]

    def may_hear(self, other: Place) -> bool:
        """Whether what the other sends is for this VM."""
        return GLOBAL in self.lnids | other.lnids or bool(self.lnids & other.lnids)


@dataclass
class Row:
    """What a VM has received."""

    place: Place
    #: Frames of each VM that it may hear.
    own: Counter[str] = field(default_factory=Counter)
    #: The others, by who sent them or is said to.
    others: Counter[str] = field(default_factory=Counter)


def _sender(frame: Heard) -> str | None:
    """Who has sent it in truth: our own frames say that."""
    name, slash, _ = frame.text.partition("/")
    return name if slash else None


def _is_query(frame: Heard) -> bool:
    """Whether it goes to all hosts by IGMP: only switches, which are in no table, may do that."""
    return (frame.destination, frame.kind) == ("01:00:5e:00:00:01", "0800")


def judge(places: Sequence[Place], heard: Mapping[str, Iterable[Heard]]) -> list[Row]:
    """Tell what each VM has received, by sender."""
    by_mac = {place.mac: place for place in places}
    rows = []
    for place in places:
        row = Row(place)
        for frame in heard[place.name]:
            source = by_mac.get(frame.source)
            if _is_query(frame):
                continue
            if source is None:
                row.others[f"unknown {frame.source}"] += 1
            elif _sender(frame) not in (None, source.name):
                row.others[f"{_sender(frame)} as {source.name}"] += 1
            elif place.may_hear(source):
                row.own[source.name] += 1
            else:
                row.others[source.name] += 1
        rows.append(row)
    return rows


def wrong(rows: Iterable[Row]) -> dict[str, set[str]]:
    """Of each VM that has received what was not for it, whose that was."""
    return {row.place.name: set(row.others) for row in rows if row.others}


def gaps(
    places: Sequence[Place],
    heard: Mapping[str, Iterable[Heard]],
    said: Mapping[str, Sequence[str]],
) -> list[str]:
    """The texts of broadcasts that did not arrive exactly once at each friend of who said them."""
    found = []
    for place in places:
        # What comes back from a trunk has another source.
        times = Counter((frame.source, frame.text) for frame in heard[place.name])
        for other in places:
            if other is not place and place.may_hear(other):
                for text in said[other.name]:
                    if (count := times[other.mac, text]) != 1:
                        found.append(f"{place.name} has heard {text!r} {count} times")
    return found


def _counted(senders: Counter[str]) -> str:
    listed = ", ".join(f"{name}: {frames}" for name, frames in sorted(senders.items()))
    return f"{senders.total()} ({listed})" if senders else "0"


def _table(rows: Iterable[Row]) -> list[str]:
    lines = [
        "| VM | host | LNIDs | frames received from its own tenants | from others |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        lnids = " ".join(str(each) if each else "global" for each in sorted(row.place.lnids))
        cells = [row.place.name, row.place.host, lnids, _counted(row.own), _counted(row.others)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


class Report:
    """``build/hostvlan/experiment.md``, written anew with every run that is added."""

    def __init__(self) -> None:
        self._parts: list[str] = [_HEAD, conditions.machine() + "\n"]

    def add(self, title: str, rows: Iterable[Row], remark: str = "") -> None:
        """Add a run."""
        self._parts.append("\n".join([f"## {title}\n", *_table(rows)]) + "\n")
        if remark:
            self._parts.append(remark + "\n")
        REPORT.parent.mkdir(parents=True, exist_ok=True)
        REPORT.write_text("\n".join(self._parts))
