# SPDX-License-Identifier: GPL-2.0-or-later
"""Timelines as SVG: a line for each event, with a bar since the event before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from . import chart
from .report import number

# Pixels.
_GAP, _LINE, _BAR, _HEAD = 20, 20, 13, 26
_LABEL, _ROOM, _VALUE = 330, 440, 150


@dataclass(frozen=True)
class Track:
    """Events with times in milliseconds since the first one; ``ours`` are coloured."""

    title: str
    events: Sequence[tuple[str, float]]
    ours: frozenset[str] = frozenset()


def steps(track: Track) -> list[tuple[str, float, float]]:
    """Return the events in order, with the time of the event before (at first 0) and its own."""
    ordered = sorted(track.events, key=lambda event: event[1])
    begins = [0.0, *(when for _, when in ordered)]
    return [(name, begin, when) for (name, when), begin in zip(ordered, begins, strict=False)]


def _track(track: Track, scale: float, y: int) -> list[str]:
    lines = [f'<text class="title" x="{_GAP}" y="{y + 12}">{escape(track.title)}</text>']
    for index, (name, begin, when) in enumerate(steps(track)):
        at, left = y + _HEAD - 6 + index * _LINE, _GAP + _LABEL
        kind = "bar ours" if name in track.ours else "bar"
        begin = min(begin, when)
        lines += [
            f'<text x="{left - 6}" y="{at + 11}" text-anchor="end">{escape(name)}</text>',
            f'<rect class="{kind}" x="{left + begin * scale:.1f}" y="{at}" rx="2"'
            f' width="{max(1.5, (when - begin) * scale):.1f}" height="{_BAR}"/>',
            f'<text x="{left + max(0.0, when) * scale + 8:.1f}" y="{at + 11}">{number(when)} ms'
            f'<tspan class="quiet"> +{number(when - begin)}</tspan></text>',
        ]
    return lines


def write(file: Path, tracks: Sequence[Track], caption: str) -> None:
    """Draw the tracks below each other on one scale, the caption below them."""
    longest = max(when for track in tracks for _, when in track.events)
    scale = _ROOM / longest if longest > 0 else 0.0
    lines: list[str] = []
    y = _GAP
    for track in tracks:
        lines += _track(track, scale, y)
        y += _HEAD + _LINE * len(track.events) + _GAP
    lines.append(f'<text class="quiet" x="{_GAP}" y="{y + 6}">{escape(caption)}</text>')
    chart.write_svg(file, lines, 2 * _GAP + _LABEL + _ROOM + _VALUE, y + _GAP)
