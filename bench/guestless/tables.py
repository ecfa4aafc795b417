# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures beside one another, and beside the goals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path as File

from lab.base import conditions

from ..base import report
from ..base.loads import Metric
from ..base.overhead import ROUNDS_MIN, Goal
from ..base.report import Comparison, Spread
from ..cvsw.rules import AES, TITLES, VXLAN
from . import switched
from .bed import CVSW, FOREIGN, HOSTVLAN, MIP6, NATIVE, PASST, STAGE, VIRTIO_NET, VMRPC, Load

#: Rounds by load and path.
Values = Mapping[tuple[str, str], Sequence[float]]
#: NICs of ours, and what each is compared with.
_NICS = {STAGE: VIRTIO_NET, HOSTVLAN: VIRTIO_NET, CVSW: VIRTIO_NET, MIP6: FOREIGN}


def _compared(values: Values, load: Load, ours: str, peer: str) -> Iterator[Comparison]:
    pair = [values.get((load.name, path)) for path in (ours, peer)]
    if pair[0] and pair[1]:
        metric = Metric(load.name, "ns", False, load.title)
        yield Comparison(metric, f"{ours}-{load.name}-vs-{peer}", peer, pair[0], pair[1])


def _sockets(loads: Sequence[Load], values: Values) -> Iterator[Comparison]:
    for load in loads:
        # Datagrams of virtio-net end at the tap.
        peers = (NATIVE, PASST) if load.sends_datagrams else (NATIVE, VIRTIO_NET, PASST)
        for peer in peers:
            yield from _compared(values, load, VMRPC, peer)


def _frames(loads: Sequence[Load], values: Values) -> Iterator[Comparison]:
    for load in loads:
        for ours, peer in _NICS.items():
            yield from _compared(values, load, ours, peer)


def _frame_rows(loads: Sequence[Load], values: Values) -> Iterator[list[str]]:
    yield ["", VIRTIO_NET, STAGE, HOSTVLAN, CVSW, FOREIGN, MIP6]
    for load in loads:
        cells = [load.title]
        for path in (VIRTIO_NET, STAGE, HOSTVLAN, CVSW, FOREIGN, MIP6):
            found = values.get((load.name, path))
            text = str(report.spread(found)) if found else "-"
            ratios = (_compared(values, load, path, _NICS[path]) for _ in [0] if path in _NICS)
            for one in (one for ratio in ratios for one in ratio):
                text += f"<br>**{one.ratio}**"
            cells.append(text)
        if any(cell != "-" for cell in cells[1:]):
            yield cells


def _peers(case: str) -> list[str]:
    """The others that do the same; nobody else here encrypts."""
    case = VXLAN if case == AES else case
    return [f"{name}-{case}" for name in switched.CASES[case] if name != switched.CVSW]


def _at_switches(values: Values) -> Iterator[Comparison]:
    for case in switched.CASES:
        for load in switched.LOADS:
            for peer in _peers(case):
                yield from _compared(values, load, f"{switched.CVSW}-{case}", peer)


def _switch_rows(values: Values) -> Iterator[list[str]]:
    names = {switched.BRIDGE: "kernel", switched.CVSW: "CVSW", switched.OVS: "Open vSwitch"}
    yield ["to a frame", "by", *(load.title for load in switched.LOADS)]
    for case, switches in switched.CASES.items():
        for switch in switches:
            path, cells = f"{switch}-{case}", []
            for load in switched.LOADS:
                text = str(report.spread(values.get((load.name, path), [])) or "-")
                for peer in _peers(case) if switch == switched.CVSW else []:
                    for one in _compared(values, load, path, peer):
                        text += f"<br>**{one.ratio}** of {names[peer.partition('-')[0]]}"
                cells.append(text)
            if any(cell != "-" for cell in cells):
                yield [TITLES[case], names[switch], *cells]


def _goals(values: Values) -> Iterator[Goal]:
    def paired(
        load: str, ours: str, peer: str, what: Callable[[float, float], float]
    ) -> tuple[Spread | None, bool]:
        pair = [values.get((load, path), ()) for path in (ours, peer)]
        found = [what(a, b) for a, b in zip(*pair, strict=True)] if all(pair) else []
        return report.spread(found), len(found) >= ROUNDS_MIN

    def above(text: str, load: str, bound: int) -> Goal:
        value, enough = paired(load, VMRPC, NATIVE, lambda a, b: a - b)
        shown = f"{value} ns"
        return Goal(text, f"at most {bound:,} ns", bound, value, shown, enough)

    def ratio(text: str, load: str, ours: str, peer: str, bound: float) -> Goal:
        value, enough = paired(load, ours, peer, lambda a, b: a / b)
        return Goal(text, f"at most {bound:g}", bound, value, str(value), enough)

    yield above("TCP send of 1 octet, above native", "send-1", 400)
    yield above("TCP send of 64 KiB, above native", "send-65536", 1500)
    yield ratio("TCP send of 64 KiB, of passt's", "send-65536", VMRPC, PASST, 0.5)
    yield ratio("TCP receive of 64 KiB, of passt's", "receive-65536", VMRPC, PASST, 0.6)
    yield ratio("UDP datagram of 1,400 octets, of passt's", "datagrams-1400", VMRPC, PASST, 0.5)
    yield ratio("the same by UDP_SEGMENT, of passt's", "segments-1400", VMRPC, PASST, 0.2)
    yield ratio("TCP connection, of passt's", "connect", VMRPC, PASST, 0.5)
    yield ratio("TCP connection, of native's", "connect", VMRPC, NATIVE, 1.67)
    for octets in (64, 1400):
        text = f"a frame of {octets:,} octets through CVSW, of virtio-net's"
        yield ratio(text, f"datagrams-{octets}", CVSW, VIRTIO_NET, 1.05)


def publish(
    loads: Sequence[Load], values: Values, rounds: int, others: float, output: File
) -> None:
    """Print all tables, and write them with the JSON; switches have files of their own."""
    run = f"{'1 round' if rounds == 1 else f'{rounds} rounds'}; {report.background(others)}"
    sockets, frames = (list(of(loads, values)) for of in (_sockets, _frames))
    goals = [row for goal in _goals(values) if (row := goal.row())]
    tables = {
        "Sockets": list(report.matrix(sockets, VMRPC)) if sockets else [],
        "Frames": list(_frame_rows(loads, values)) if frames else [],
        "Goals": [["metric", "goal", "measured", ""], *goals] if goals else [],
    }
    _write(output / "guestless", "passt", run, tables, [*sockets, *frames])
    switches = list(_at_switches(values))
    tables = {"Switches": list(_switch_rows(values))}
    _write(output / "guestless-switches", "openvswitch-switch", run, tables, switches)


def _write(
    file: File,
    peer: str,
    run: str,
    tables: Mapping[str, Sequence[Sequence[str]]],
    comparisons: Sequence[Comparison],
) -> None:
    """Write a page and its JSON, if anything was compared; ``peer`` is a package."""
    if not comparisons:
        return
    about = f"{run}; {conditions.machine(peer)}"
    pages = [f"{about}.\n"]
    for title, rows in tables.items():
        if rows:
            print(f"\n{title}: ns of processor time a unit\n\n{report.plain(rows)}")
            pages.append(f"### {title}\n\n{report.markdown(rows)}")
    report.write_json(file.with_suffix(".json"), comparisons, {"conditions": about})
    file.with_suffix(".md").write_text("\n".join(pages))
    print(f"\n{about}\n\nwritten: {file}.json, {file}.md")
