# SPDX-License-Identifier: GPL-2.0-or-later
"""Common code of the DNS benchmark's parts: programs, processes, and their time and memory."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from lab.base import paths as tree
from lab.base import tools
from lab.dns import room as dns_room

from ..base.loads import Metric
from ..base.report import Comparison, Rounds

#: Measured values, by kind and metric: a value a round, None where it failed.
Values = dict[tuple[str, str], list[float | None]]

_WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter")
_LINKED: Mapping[str, Sequence[str]] = {
    "start": (),
    "drain": (),
    "echo": ("-pthread",),
    "first": ("-lcares", "-lunbound", "-lvmmnet-dns"),
    "reader": (),
    "updates": ("-lcrypto",),
}
#: Octets of a server's log to show when it does not start.
_LOG_TAIL = 2000


def build(name: str, folder: Path) -> Path:
    """Compile one of the C programs beside this file."""
    libraries = dns_room.library()
    product = folder / name
    options = ["-std=gnu11", "-O2", "-D_GNU_SOURCE", *_WARNINGS, f"-I{tree.ROOT / 'include'}"]
    source = tree.ROOT / "bench/dns" / f"{name}.c"
    link = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", *_LINKED[name]]
    tools.run(["gcc", *options, "-o", product, source, *link])
    return product


def _parents() -> Iterator[tuple[int, int]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            # The process may have ended meanwhile.
            with contextlib.suppress(OSError):
                stat = (folder / "stat").read_text().rpartition(")")[2].split()
                yield int(folder.name), int(stat[1])


def family(pid: int, parents: Iterable[tuple[int, int]] | None = None) -> list[int]:
    """A process and all its descendants."""
    known = list(_parents() if parents is None else parents)
    found = [pid]
    for each in found:
        found += [child for child, parent in known if parent == each]
    return found


@contextlib.contextmanager
def logged(log: Path) -> Iterator[None]:
    """Add the end of a server's log to an error in the block."""
    try:
        yield
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        text = log.read_text(errors="replace")[-_LOG_TAIL:] if log.exists() else ""
        raise RuntimeError(f"{error}\n{log.name}: {text.strip() or 'empty'}") from error


def resident(pids: Iterable[int]) -> int:
    """Return the octets of processes in memory; shared pages count once."""
    total = 0
    for pid in pids:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        found = re.search(r"^Pss:\s+(\d+) kB$", text, re.MULTILINE)
        total += int(found[1]) << 10 if found else 0
    return total


def question(name: str, kind: int, *, dnssec: bool = False, ident: int = 0) -> bytes:
    """Return a query; with ``dnssec``, it has EDNS, 1232 octets and DO."""
    labels = [label for label in name.rstrip(".").split(".") if label]
    wire = b"".join(bytes([len(label)]) + label.encode() for label in labels) + b"\0"
    head = ident.to_bytes(2) + bytes([0, 0, 0, 1, 0, 0, 0, 0, 0, int(dnssec)])
    opt = b"\0\0\x29" + (1232).to_bytes(2) + b"\0\0\x80\0\0\0" if dnssec else b""
    return head + wire + kind.to_bytes(2) + b"\0\1" + opt


def comparisons(
    values: Values, metrics: Iterable[Metric], part: str, ours: str
) -> Iterator[Comparison]:
    """Compare each of our metrics with each peer that has it."""
    for metric in metrics:
        mine: Rounds | None = values.get((ours, metric.name))
        for (kind, name), rounds in values.items():
            if mine is not None and name == metric.name and kind != ours:
                title = f"{part}-{name}-vs-{kind}"
                yield Comparison(metric, title, kind, mine, rounds)
