# SPDX-License-Identifier: GPL-2.0-or-later
"""DNS: vmmnet-dnsd beside BIND, NSD, Knot and unbound; libvmmnet-dns beside other libraries.

start     a zone of 8.5 million records in .NET's shape: from start to the first right
          answer, memory, disk, and how long the file takes to make (the paper's figure 2)
server    processor time of a query over UDP and TCP, like those of a root server, with one
          thread and with two, beside a server that only sends back (figure 1)
updates   durable updates a second, and what queries feel of them
client    time until a program has an address, with servers that are broken in fourteen ways
guest     processor time of an answer on a guest's queue, from a zone image

With --only, the names of the files have the parts: dns-server.md.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.base import net, scratch, tools

from ..base import commandline, measure
from . import changing, client, guest, publish, server, start

_PARTS = ("start", "server", "updates", "client", "guest")
#: Rounds at most of parts that take long and whose values vary little.
_ROUNDS_MOST = {"start": 3, "updates": 3, "client": 2}
_RECORDS = 8_500_000
_PEERS = ("named", "named-compilezone", "dnssec-signzone", "nsd", "knotd", "unbound", "dnsperf")


@dataclass(frozen=True)
class Plan:
    """Options of the command line."""

    rounds: int
    records: int
    seconds: int
    #: Seconds that a lookup of the client part may take.
    patience: float
    parts: tuple[str, ...]
    servers: tuple[str, ...]
    output: Path

    @property
    def rounds_of(self) -> dict[str, int]:
        """The rounds of each part."""
        return {part: min(self.rounds, _ROUNDS_MOST.get(part, self.rounds)) for part in self.parts}

    @property
    def name(self) -> str:
        """Files of some parts do not replace those of all."""
        return "dns" if self.parts == _PARTS else "-".join(("dns", *self.parts))


def parse(arguments: Sequence[str]) -> Plan:
    """Read the command line."""
    parser = commandline.parser(
        *("dns", __doc__),
        rounds=5,
        quick="1 round, 100,000 records, 1 s a measurement, 12 s for a lookup",
        kinds="json and .md, and -start.svg and -threads.svg,",
    )
    parser.add_argument(
        "--records", type=int, default=_RECORDS, metavar="N", help=f"(default {_RECORDS})"
    )
    commandline.add_only(parser, _PARTS, "part")
    commandline.add_both(parser, "servers of the part server")
    parser.add_argument("--seconds", type=int, default=4, metavar="N", help="of a measurement")
    parser.add_argument(
        "--servers",
        type=commandline.names(server.KINDS, "servers"),
        default=server.KINDS,
        metavar="SERVER,…",
        help=f"of the part server only these of {', '.join(server.KINDS)}",
    )
    chosen = parser.parse_args(arguments)
    quick = chosen.quick
    return Plan(
        rounds=1 if quick else chosen.rounds,
        records=min(chosen.records, 100_000) if quick else chosen.records,
        seconds=1 if quick else chosen.seconds,
        patience=12 if quick else 120,
        parts=chosen.only,
        servers=(*chosen.servers, *(server.OWN if chosen.both else ())),
        output=chosen.output,
    )


def _measure(plan: Plan, found: publish.Found, folder: Path) -> None:
    """Run each part; report a part that fails and go on."""
    rounds = plan.rounds_of
    parts: dict[str, Callable[[int], object]] = {
        "start": lambda rounds: start.measure(plan.records, rounds, folder),
        "server": lambda rounds: server.measure(rounds, plan.seconds, folder, plan.servers),
        "updates": lambda rounds: changing.measure(rounds, plan.seconds, folder),
        "client": lambda rounds: client.measure(rounds, plan.patience, folder),
        "guest": lambda rounds: guest.measure(rounds, folder),
    }
    for part in plan.parts:
        began = time.monotonic()
        try:
            setattr(found, part, parts[part](rounds[part]))
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            found.failed.append(f"{part}: {error}")
        print(f"  {part}: {time.monotonic() - began:.0f} s", flush=True)


def main(arguments: Sequence[str]) -> int:
    """Measure and write it down; 1 when a measurement failed."""
    plan = parse(arguments)
    tools.require("gcc", "ip")
    if {"start", "server", "updates"} & set(plan.parts):
        tools.require(*_PEERS)
    net.reap_stale()
    found = publish.Found(max(plan.rounds_of.values()))
    with scratch.folder() as folder:
        # Servers give up their privileges before they read.
        Path(folder).chmod(0o755)
        with measure.cost() as cost:
            _measure(plan, found, Path(folder))
        found.others = cost.others
        publish.publish(found, plan.output, plan.name)
    return 1 if found.failures else 0
