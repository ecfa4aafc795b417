# SPDX-License-Identifier: GPL-2.0-or-later
"""Bar charts as SVG that adapt to a light and to a dark page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from .report import Spread, number

_STYLE = """\
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.title { font-weight: 600; }
.quiet { fill: #59636e; }
.bar { fill: #8c959f; }
.ours { fill: #0969da; }
.range { stroke: #1f2328; stroke-width: 1; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .quiet { fill: #9198a1; }
  .bar { fill: #656c76; }
  .ours { fill: #4493f8; }
  .range { stroke: #f0f6fc; }
}
"""

# Pixels.
_PANEL, _GAP, _LINE, _BAR, _HEAD = 440, 20, 20, 13, 26
_LABEL, _VALUE = 130, 70
_COLUMNS = 2


@dataclass(frozen=True)
class Bar:
    """One value of a panel; ``ours`` is drawn in colour."""

    label: str
    value: Spread
    ours: bool


@dataclass(frozen=True)
class Panel:
    """Bars on a common scale that begins at zero."""

    title: str
    note: str
    bars: Sequence[Bar]

    @property
    def height(self) -> int:
        """Pixels from the title to the last bar."""
        return _HEAD + _LINE * len(self.bars)


def _bar(bar: Bar, scale: float, x: int, y: int) -> list[str]:
    start, middle = x + _LABEL, y + _BAR / 2
    least, greatest = start + bar.value.least * scale, start + bar.value.greatest * scale
    kind = "bar ours" if bar.ours else "bar"
    return [
        f'<text x="{start - 6}" y="{y + 11}" text-anchor="end">{escape(bar.label)}</text>',
        f'<rect class="{kind}" x="{start}" y="{y}" rx="2"'
        f' width="{max(1.0, bar.value.median * scale):.1f}" height="{_BAR}"/>',
        f'<line class="range" x1="{least:.1f}" x2="{greatest:.1f}" y1="{middle}" y2="{middle}"/>',
        f'<text x="{greatest + 6:.1f}" y="{y + 11}">{number(bar.value.median)}</text>',
    ]


def _panel(panel: Panel, x: int, y: int) -> list[str]:
    room = _PANEL - _LABEL - _VALUE
    longest = max(bar.value.greatest for bar in panel.bars)
    scale = room / longest if longest else 0.0
    lines = [
        f'<text class="title" x="{x}" y="{y + 12}">{escape(panel.title)}'
        f'<tspan class="quiet" font-weight="400"> {escape(panel.note)}</tspan></text>'
    ]
    for index, bar in enumerate(panel.bars):
        lines += _bar(bar, scale, x, y + _HEAD - 6 + index * _LINE)
    return lines


def write(file: Path, panels: Sequence[Panel], caption: str) -> None:
    """Draw the panels in columns, the caption below them."""
    lines: list[str] = []
    y = _GAP
    for first in range(0, len(panels), _COLUMNS):
        row = panels[first : first + _COLUMNS]
        for column, panel in enumerate(row):
            lines += _panel(panel, _GAP + column * (_PANEL + _GAP), y)
        y += max(panel.height for panel in row) + _GAP
    lines.append(f'<text class="quiet" x="{_GAP}" y="{y + 6}">{escape(caption)}</text>')
    write_svg(file, lines, _COLUMNS * (_PANEL + _GAP) + _GAP, y + _GAP)


def write_svg(file: Path, lines: Sequence[str], width: int, height: int) -> None:
    """Write elements of SVG, in pixels, with the style of all charts."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        f'{head} width="{width}" height="{height}" role="img">\n<style>\n{_STYLE}</style>\n'
        + "\n".join(lines)
        + "\n</svg>\n"
    )
