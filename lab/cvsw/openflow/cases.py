# SPDX-License-Identifier: GPL-2.0-or-later
"""os-ken's cases for switches: flows to set, input frames, expected output.

Its tester surrounds a switch: a frame enters at port 1, and leaves at port 2 (with groups, also at
port 3), goes to the controller, or matches no flow in a table.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import packets
from .osken import OsKen

#: Port numbers of the tester.
IN, OUT, OTHER = 1, 2, 3
AS_THEY_ARE = {IN: IN, OUT: OUT, OTHER: OTHER}
#: Tolerance of a rate, as in os-ken's tester.
MARGIN = 0.10
_KILOBIT = 1024 / 8


@dataclass(frozen=True)
class Seen:
    """A switch's treatment of a frame; ports are the tester's."""

    out: list[tuple[int, bytes]] = field(default_factory=list)
    #: PACKET_INs by an action, not those of a frame without a flow.
    told: list[bytes] = field(default_factory=list)
    #: By table: frames looked up, and frames with a matching flow.
    tables: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """A frame, and one of three expected results."""

    ingress: bytes
    egress: bytes | None = None
    packet_in: bytes | None = None
    #: Tables; in one of them no flow may match.
    missed: tuple[int, ...] = ()

    def fault(self, seen: Seen) -> str:
        """The difference from the expected result; empty: none."""
        out = [] if self.egress is None else [(OUT, self.egress)]
        told = [] if self.packet_in is None else [self.packet_in]
        if seen.out != out:
            return f"left: {_show(seen.out)}, not {_show(out)}"
        if seen.told != told:
            return f"PACKET_IN: {[each.hex() for each in seen.told]}"
        return self._fault_of_miss(seen) if self.missed else ""

    def _fault_of_miss(self, seen: Seen) -> str:
        asked = {number: seen.tables.get(number, (0, 0)) for number in self.missed}
        if not any(looked_up for looked_up, _ in asked.values()):
            return f"not looked up in the tables {sorted(asked)}"
        if any(matched for _, matched in asked.values()):
            return f"a flow of the tables {sorted(asked)} took it"
        return ""


@dataclass(frozen=True)
class Flood:
    """Many frames, and the expected rate of output."""

    layers: tuple[str, ...]
    pktps: int
    seconds: int
    #: Tester's port -> octets and packets a second; one of the two is None.
    wanted: Mapping[int, tuple[float | None, float | None]]

    def frames(self) -> Iterator[bytes]:
        """Yield frames without end."""
        chance = random.Random(packets.SEED)
        once = packets.octets(self.layers)
        varies = any("randint" in layer for layer in self.layers)
        while True:
            yield packets.octets(self.layers, chance) if varies else once

    def fault(self, counted: Mapping[int, tuple[int, int]], seconds: float) -> str:
        """Return the fault in the counts of a port; empty: none."""
        for port, wanted in self.wanted.items():
            pairs = zip(wanted, counted.get(port, (0, 0)), strict=True)
            for rate, number in pairs:
                if rate is not None and abs(number - rate * seconds) > MARGIN * rate * seconds:
                    return f"port {port}: {number / seconds:.0f} a second, not {rate:.0f}"
        return ""


@dataclass(frozen=True)
class Case:
    """One of os-ken's cases."""

    osken: OsKen
    #: Folder and file: "match/00_IN_PORT".
    place: str
    described: Mapping[str, Any]

    @property
    def version(self) -> int:
        """OpenFlow's number of its version."""
        return self.osken.version

    @property
    def group(self) -> str:
        """The folder: "match"."""
        return self.place.rpartition("/")[0]

    @property
    def name(self) -> str:
        """Its name, unique within its version."""
        return f"{self.place}: {self.described['description']}"

    @property
    def prerequisite(self) -> list[dict[str, Any]]:
        """The messages before its frames, as in its file."""
        return list(self.described["prerequisite"])

    def messages(
        self, kind: str | None = None, ports: Mapping[int, int] = AS_THEY_ARE
    ) -> list[bytes]:
        """Return these messages as octets, all or of a kind; ``ports``: tester's -> switch's."""
        wanted = (each for each in self.prerequisite if kind is None or kind in each)
        return [self.osken.message(_with_ports(each, ports)) for each in wanted]

    def steps(self) -> Iterator[Step]:
        """Yield its frames; none for a flood."""
        for test in self.described["tests"]:
            if isinstance(test["ingress"], list):
                egress, told = test.get("egress"), test.get("PACKET_IN")
                yield Step(
                    packets.octets(test["ingress"]),
                    packets.octets(egress) if egress else None,
                    packets.octets(told) if told else None,
                    tuple(test.get("table-miss", ())),
                )

    def flood(self) -> Flood | None:
        """Its flood, if the case measures rates."""
        (test,) = self.described["tests"]
        if isinstance(test["ingress"], list):
            return None
        sent = test["ingress"]["packets"]
        wanted = {}
        for each in test["egress"]["throughput"]:
            fields = {tlv["OXMTlv"]["field"]: tlv["OXMTlv"]["value"]
                      for tlv in each["OFPMatch"]["oxm_fields"]}  # fmt: skip
            if len(fields) > 1:
                raise ValueError(f"{self.name}: what leaves is told apart by more than its port")
            kbps = each.get("kbps")
            wanted[fields["in_port"]] = (kbps and kbps * _KILOBIT, each.get("pktps"))
        return Flood(tuple(sent["data"]), sent["pktps"], sent["duration_time"], wanted)


def _show(frames: list[tuple[int, bytes]]) -> str:
    return " ".join(f"{port}:{octets.hex()}" for port, octets in frames) or "nothing"


def _with_ports(node: Any, ports: Mapping[int, int]) -> Any:
    """Replace the tester's port numbers in a description by the switch's."""
    if isinstance(node, list):
        return [_with_ports(each, ports) for each in node]
    if not isinstance(node, dict):
        return node
    made = {key: _with_ports(value, ports) for key, value in node.items()}
    for key in ("port", "in_port"):
        if key in made:
            made[key] = ports.get(made[key], made[key])
    if made.get("field") == "in_port":
        made["value"] = ports.get(made["value"], made["value"])
    return made


def read(osken: OsKen) -> list[Case]:
    """All cases of a version, file by file."""
    found = []
    for path in sorted(osken.cases.rglob("*.json")):
        place = path.relative_to(osken.cases).with_suffix("").as_posix()
        found += [Case(osken, place, each) for each in _described(path)]
    return found


def _described(path: Path) -> list[dict[str, Any]]:
    # The first element is the title of the file.
    return [each for each in json.loads(path.read_text()) if isinstance(each, dict)]


def sample(cases: list[Case], number: int) -> list[Case]:
    """Return ``number`` evenly spaced cases."""
    return [cases[at * len(cases) // number] for at in range(min(number, len(cases)))]
