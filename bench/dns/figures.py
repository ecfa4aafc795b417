# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's two figures with our measurements.

The paper's text gives only one value of its lines, the target: each added processor adds half the
rate of one. So only this line of the paper is drawn. The paper has one to four processors; our
values beyond two are estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from lab.dns import products as dns_peers

from ..base import chart, report
from . import server, start

# Pixels.
_LEFT, _TOP, _WIDTH, _HEIGHT, _RIGHT, _BELOW = 60, 50, 420, 260, 190, 58
_GAP = 14
#: Part of one processor's rate that each further one adds in the paper's target.
_TARGET = 0.5
_TARGET_NAME = "the paper's target"
_MEASURED = len(server.THREADS)
_NOTE = "dashes: estimated; each thread adds to a query's time what the second has added"
_THREADS = (*server.THREADS, 3, 4)


@dataclass(frozen=True)
class Line:
    """Relative speed with 1, 2, ... threads; ``ours`` is drawn in colour."""

    name: str
    speeds: Sequence[float]
    ours: bool = False
    #: Number of threads up to which values are measured; estimates beyond are dashed.
    measured: int = _MEASURED


def lines(found: server.Found) -> list[Line]:
    """Return each server's speeds with UDP, relative to one thread, and the target."""
    made = [Line(_TARGET_NAME, [1 + _TARGET * (n - 1) for n in _THREADS], measured=1)]
    for kind in server.kinds(found):
        value = report.spread(found.values.get((kind, server.SCALING), []))
        if value and kind != server.ECHO:
            more = [server.beyond(value.median, n) for n in _THREADS[_MEASURED:]]
            made.append(Line(kind, [1, value.median, *more], ours=kind == dns_peers.OURS))
    return made


def _places(values: Sequence[float]) -> list[float]:
    """Return heights for labels near the given heights, so that none covers another."""
    placed: dict[int, float] = {}
    last = float("-inf")
    for number, value in sorted(enumerate(values), key=lambda each: each[1]):
        last = max(value, last + _GAP)
        placed[number] = last
    return [placed[number] for number in range(len(values))]


def _axes(most: float) -> list[str]:
    bottom = _TOP + _HEIGHT
    drawn = []
    for speed in range(int(most) + 1):
        y = bottom - speed * _HEIGHT / most
        drawn.append(f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y}" y2="{y}"/>')
        drawn.append(f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{speed}</text>')
    for number, threads in enumerate(_THREADS):
        x = _x(number)
        drawn.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{threads}</text>')
    middle = _LEFT + _WIDTH / 2
    drawn.append(f'<text x="{middle}" y="{bottom + 36}" text-anchor="middle">threads</text>')
    return drawn


def _x(number: int) -> float:
    return _LEFT + _WIDTH * (number + 0.5) / len(_THREADS)


def scaling(file: Path, drawn: Sequence[Line], caption: str) -> None:
    """Figure 1: speed by the number of threads, relative to one thread."""
    most = max(2.2, *(1.1 * each for line in drawn for each in line.speeds))
    bottom = _TOP + _HEIGHT
    heights = [bottom - line.speeds[-1] * _HEIGHT / most for line in drawn]
    style = (
        "<style>.grid{stroke:#8c959f;stroke-opacity:.3}.line{fill:none;stroke:#8c959f;"
        "stroke-width:2}.line.ours{stroke:#0969da;stroke-width:3}.dashed{stroke-dasharray:6 4}"
        "</style>"
    )
    title = "Relative speed by the number of threads, UDP, as a root server"
    texts = [style, f'<text class="title" x="{_LEFT}" y="24">{title}</text>', *_axes(most)]
    for line, text_y in zip(drawn, _places(heights), strict=True):
        points = [
            f"{_x(number):.1f},{bottom - speed * _HEIGHT / most:.1f}"
            for number, speed in enumerate(line.speeds)
        ]
        kind = f"line{' ours' if line.ours else ''}"
        measured, estimated = points[: line.measured], points[line.measured - 1 :]
        texts.append(f'<polyline class="{kind}" points="{" ".join(measured)}"/>')
        texts.append(f'<polyline class="{kind} dashed" points="{" ".join(estimated)}"/>')
        label = f"{line.name} {line.speeds[-1]:.2f}"
        end = _x(len(line.speeds) - 1)
        texts.append(f'<text x="{end + 10:.1f}" y="{text_y + 4:.1f}">{escape(label)}</text>')
    below = [_NOTE, *caption.split("; ")]
    for number, text in enumerate(below):
        y = bottom + _BELOW + _GAP * number
        texts.append(f'<text class="quiet" x="{_LEFT}" y="{y}">{escape(text)}</text>')
    chart.write_svg(file, texts, _LEFT + _WIDTH + _RIGHT, bottom + _BELOW + _GAP * len(below))


def starting(file: Path, found: start.Found, caption: str) -> None:
    """Figure 2: time from start to the first right answer; below it, memory."""
    panels = []
    for metric, note in ((start.READY, "s, less is better"), (start.RESIDENT, "octets a record")):
        bars = []
        for kind in start.KINDS:
            value = report.spread(found.values.get((kind, metric.name), []))
            if value:
                bars.append(chart.Bar(kind, value, kind == dns_peers.OURS))
        if bars:
            panels.append(chart.Panel(metric.title, note, bars))
    chart.write(file, panels, caption)
