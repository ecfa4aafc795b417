# SPDX-License-Identifier: GPL-2.0-or-later
"""Cost of CVSW's actions for a frame, without a guest and without a wire (actions.c)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lab.base import paths as tree
from lab.base import tools

from ..base.loads import Metric
from ..base.report import Comparison, Rounds, number, spread

#: The lists of actions of actions.c, with a description.
TITLES = {
    "null": "no flow: the frame goes on as it is",
    "output": "a flow without a change",
    "ip": "both IPv4 addresses are set",
    "vlan": "a VLAN tag is added",
    "vxlan4": "into VXLAN over IPv4",
    "vxlan6": "into VXLAN over IPv6",
    "vxlan4-whole": "into VXLAN over IPv4, for the kernel to cut",
    "vxlan+esp": "into VXLAN and ESP (AES-128-GCM)",
    "from-vxlan": "out of VXLAN",
    "from-vxlan+esp": "out of ESP and VXLAN",
}
PEER = "libcrypto"
_FLOORS = ("flow", "frame", "run", "tunnel")
_ROOMS = ("net/packet", "net/esp", *(f"hw/net/cvsw/{floor}" for floor in _FLOORS))


@dataclass
class Costs:
    """Results of one run of actions.c."""

    #: Nanoseconds a frame in each round, by actions and octets of the frame.
    actions: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    #: Gbit/s of ESP's core and of libcrypto alone.
    seal: list[tuple[float, float]] = field(default_factory=list)
    #: Gbit/s of all switches together, by their number.
    pairs: dict[int, list[float]] = field(default_factory=dict)


def build(folder: Path) -> Path:
    """Compile actions.c with QEMU's sources and QEMU's optimization."""
    product = folder / "cvsw-actions"
    flags = tools.run(["pkg-config", "--cflags", "--libs", "glib-2.0", "libcrypto"]).split()
    includes = [f"-I{tree.ROOT}", f"-I{tree.ROOT / 'include'}"]
    sources = [tree.ROOT / "bench/cvsw/actions.c"]
    for room in _ROOMS:
        sources += sorted((tree.ROOT / room).glob("*.c"))
    tools.run(["gcc", "-std=gnu11", "-O2", "-Wall", *includes, "-o", product, *sources, *flags])
    return product


def measure(program: Path, rounds: int) -> Costs:
    """Run actions.c."""
    costs = Costs()
    for line in tools.run([program, str(rounds)]).splitlines():
        found = json.loads(line)
        if found["what"] == "actions":
            costs.actions[found["name"], found["len"]] = found["ns"]
        elif found["what"] == "seal":
            costs.seal = [(ours, peer) for ours, peer in found["gbit"]]
        else:
            costs.pairs[found["pairs"]] = found["gbit"]
    return costs


def comparisons(costs: Costs) -> Iterator[Comparison]:
    """ESP's core beside libcrypto, and several switches beside one."""
    title = "ESP of 1,400 octets, AES-128-GCM, one core"
    metric = Metric("esp-seal", "Gbit/s", True, title)
    ours: Rounds = [pair[0] for pair in costs.seal]
    peer: Rounds = [pair[1] for pair in costs.seal]
    yield Comparison(metric, f"esp-seal-vs-{PEER}", PEER, ours, peer)
    one: Rounds = list(costs.pairs[1])
    for pairs, values in costs.pairs.items():
        if pairs > 1:
            metric = Metric(f"pairs-{pairs}", "Gbit/s", True, f"VXLAN and ESP, {pairs} switches")
            yield Comparison(metric, f"pairs-{pairs}-vs-one", "one", list(values), one)


def rows(costs: Costs) -> Iterator[list[str]]:
    """Return a row for each list of actions: nanoseconds a frame, and Gbit/s of one core."""
    lens = sorted({length for _, length in costs.actions})
    yield ["actions", *(f"{length:,} octets" for length in lens)]
    for name, title in TITLES.items():
        yield [title, *(_cell(costs.actions.get((name, length)), length) for length in lens)]


def _cell(values: list[float] | None, length: int) -> str:
    found = spread(list(values)) if values else None
    if found is None:
        return "-"
    return f"{found} ns<br>{number(length * 8 / found.median)} Gbit/s"
