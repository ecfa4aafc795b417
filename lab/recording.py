# SPDX-License-Identifier: GPL-2.0-or-later
"""Record what a command prints as an SVG, in which each line appears at its time.

    python3 -m lab.recording docs/make-run.svg make run RUN=--no-shell

A browser plays it once. What does not animate, or a reader who wants no motion, sees the whole.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

# Pixels.
_WIDTH, _LINE, _MARGIN = 760, 17, 16
#: Characters; a longer line is cut.
_COLUMNS = 98
#: Seconds; a longer pause, such as that of a compiler, is shortened to this.
_PAUSE = 2.0
#: The progress of a long step, which a shortened pause does not need.
_TICK = re.compile(r" +\d+ s(, \d+ MiB in build/)?$")

_STYLE = """\
rect { fill: #f6f8fa; stroke: #d1d9e0; }
text { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; fill: #1f2328; white-space: pre;
       animation: appear 0.01s backwards; }
.typed { fill: #0969da; font-weight: 600; }
.step { font-weight: 600; }
.quiet { fill: #59636e; }
@keyframes appear { from { opacity: 0; } }
@media (prefers-reduced-motion) { text { animation: none; } }
@media (prefers-color-scheme: dark) {
  rect { fill: #151b23; stroke: #3d444d; }
  text { fill: #f0f6fc; }
  .typed { fill: #4493f8; }
  .quiet { fill: #9198a1; }
}
"""
_KINDS = (
    ("typed", r"\s*[\w-]*[$#] "),
    ("step", r"\[\d+\] "),
    ("quiet", r"    (done in|-device|TCG:|KVM:)|All of it"),
)


@dataclass(frozen=True)
class Line:
    """A line, and the seconds from the start until it came."""

    at: float
    text: str


def record(command: Sequence[str]) -> Iterator[Line]:
    """Run a command and yield its lines; raises CalledProcessError if it fails."""
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        for text in running.stdout:
            yield Line(time.monotonic() - began, text.rstrip())
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, command)


def shortened(lines: Iterable[Line]) -> Iterator[Line]:
    """The same lines without long pauses and their ticks, from the first step on."""
    shown = before = 0.0
    begun = False
    for line in lines:
        begun = begun or line.text.startswith("[")
        if _TICK.match(line.text):
            continue
        if begun:
            shown += min(line.at - before, _PAUSE)
            text = line.text if len(line.text) <= _COLUMNS else f"{line.text[: _COLUMNS - 1]}…"
            yield Line(shown, text)
        before = line.at


def _drawn(line: Line, row: int) -> str:
    kind = next((name for name, start in _KINDS if re.match(start, line.text)), "")
    css = f' class="{kind}"' if kind else ""
    y = _MARGIN + _LINE * (row + 1) - 4
    delay = f"animation-delay:{line.at:.2f}s"
    return f'<text{css} x="{_MARGIN}" y="{y}" style="{delay}">{escape(line.text)}</text>'


def svg(title: str, lines: Sequence[Line]) -> str:
    """The picture."""
    rows = [Line(0, f"# {title}"), *lines]
    height = _LINE * len(rows) + 2 * _MARGIN
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    drawn = [_drawn(line, row) for row, line in enumerate(rows) if line.text]
    frame = f'<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1}" rx="6"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    label = f"<title>What {escape(title)} prints</title>"
    return "\n".join([head, label, f"<style>\n{_STYLE}</style>", frame, *drawn, "</svg>", ""])


def main(arguments: Sequence[str]) -> int:
    """Record the command that follows the name of the file."""
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    output, *command = arguments
    lines = list(shortened(record(command)))
    title = " ".join(word for word in command if not word.startswith("RUN="))
    Path(output).write_text(svg(title, lines))
    print(f"{output}: {len(lines)} lines in {lines[-1].at:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
