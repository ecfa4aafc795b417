# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet hostvlan watch``: the counters of this host's ports, live."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vmmnet.command import output
from vmmnet.values import mac

from ..host import ports
from ..host.ports import Port, PortsError
from ..table import lnid

# Cursor to the top, and clear the screen: the list may have become shorter.
_HOME = "\033[H\033[J"

Counts = Mapping[str, Mapping[str, int]]
Counters = Mapping[tuple[str, str], Counts]


def run(patterns: Sequence[str] | None, interval: float, count: int, as_json: bool) -> int:
    """Show the ports every ``interval`` seconds, ``count`` times (0: until interrupted)."""
    screen = sys.stdout.isatty() and not as_json
    before: Counters = {}
    taken, shown = 0.0, 0
    with ports.Monitors(patterns) as monitors:
        while True:
            found, faults = monitors.ports()
            try:
                found += ports.attached()
            except PortsError as error:
                faults.append(str(error))
            now = time.monotonic()
            seconds = now - taken
            if as_json:
                output.print_json(sample(found, faults))
            else:
                lines = [*describe(found, before, seconds), *faults]
                print((_HOME if screen else "") + "\n".join(lines))
            sys.stdout.flush()
            before = {(port.vm, port.id): port.counters for port in found}
            taken, shown = now, shown + 1
            if shown == count:
                return 1 if faults else 0
            time.sleep(interval)


def sample(found: Sequence[Port], faults: Sequence[str]) -> dict[str, Any]:
    """One sample as JSON."""
    return {
        "time": time.time(),
        "ports": [port.as_json() for port in found],
        "faults": list(faults),
    }


def describe(found: Sequence[Port], before: Counters, seconds: float) -> Iterator[str]:
    """One sample as text; with rates if there was one before."""
    if not found:
        yield (
            "no port: no QEMU with -netdev hostvlan answers, see --qmp,"
            " and no interface is attached"
        )
        return
    rows: list[tuple[str, ...]] = [("port", "MAC", "LNIDs", "sent", "received", "dropped")]
    for port in found:
        last = before.get((port.vm, port.id))
        rows.append(
            (
                port.name,
                "-" if port.mac is None else mac.text(port.mac),
                lnid.listed(port.lnids) or "-",
                *(_frames(port, last, each, ports.PASSED, seconds) for each in ports.DIRECTIONS),
                _dropped(port, last, seconds),
            )
        )
    yield from output.columns(rows)
    for port in found:
        if port.error:
            yield f"{port.name}: {port.error}"


def _frames(port: Port, last: Counts | None, way: str, reason: str, seconds: float) -> str:
    number = port.counters[way].get(reason, 0)
    if last is None:
        return f"{number:,}"
    # A QEMU that was started again counts from zero.
    grown = max(0, number - last.get(way, {}).get(reason, 0))
    return f"{number:,} (+{grown / seconds:,.0f}/s)"


def _dropped(port: Port, last: Counts | None, seconds: float) -> str:
    """Dropped frames by reason; most ports have none or one."""
    drops = [
        f"{way} {reason} {_frames(port, last, way, reason, seconds)}"
        for way in ports.DIRECTIONS
        for reason, number in port.counters[way].items()
        if number and reason != ports.PASSED
    ]
    return "; ".join(drops) or "-"
