# SPDX-License-Identifier: GPL-2.0-or-later
"""Cost of one look-up in CVSW's flow table, without a NIC.

core.c runs QEMU's code, and a GHashTable for each mask for comparison.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from lab.base import paths as tree
from lab.base import tools

from ..base.loads import Metric
from ..base.report import Comparison

#: The cases of core.c, with a description; the table has 1,024 entries.
TITLES = {
    "parse": "reading a frame's headers",
    "key": "making a key of them",
    "first": "a lookup, found in the first of 16 masks",
    "any": "a lookup, found in any of 16 masks",
    "last": "a lookup, found in the last of 16 masks",
    "none": "a lookup, found in none of 16 masks",
    "waiting": "a lookup in the last of 16 masks that waits for the one before",
    "full": "a lookup, found in none of 64 masks",
    "glib-any": "found in any of 16 masks, with a GHashTable for each",
    "glib-last": "found in the last of 16 masks, with a GHashTable for each",
    "glib-none": "found in none of 16 masks, with a GHashTable for each",
}
PEER = "glib"
_COMPARED = ("any", "last", "none")
_ROOMS = ("net/packet", "hw/net/cvsw/flow")

#: Nanoseconds of each round, by case.
Costs = dict[str, list[float]]


def build(folder: Path) -> Path:
    """Compile core.c with QEMU's sources and QEMU's optimization."""
    product = folder / "cvsw-core"
    flags = tools.run(["pkg-config", "--cflags", "--libs", "glib-2.0"]).split()
    includes = [f"-I{tree.ROOT}", f"-I{tree.ROOT / 'include'}"]
    sources = [tree.ROOT / "bench/cvsw/core.c"]
    for room in _ROOMS:
        sources += sorted((tree.ROOT / room).glob("*.c"))
    options = ["-std=gnu11", "-O2", "-Wall", *includes]
    tools.run(["gcc", *options, "-o", product, *sources, *flags])
    return product


def measure(program: Path, rounds: int) -> Costs:
    """Run core.c."""
    found = map(json.loads, tools.run([program, str(rounds)]).splitlines())
    return {each["what"]: each["ns"] for each in found}


def comparisons(costs: Costs) -> Iterator[Comparison]:
    """Look-ups in our table beside those in GLib's."""
    for what in _COMPARED:
        metric = Metric(f"flow-{what}", "ns", False, TITLES[what])
        name = f"flow-{what}-vs-{PEER}"
        yield Comparison(metric, name, PEER, costs[what], costs[f"{PEER}-{what}"])
