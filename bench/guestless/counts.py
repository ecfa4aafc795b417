# SPDX-License-Identifier: GPL-2.0-or-later
"""Count what a request of virtio-vmrpc takes: instructions and system calls.

Instructions are those of QEMU in user space, in the vCPU's thread and for the load alone
(callgrind).  System calls are what twice as many units need more (strace), without those that
wait.  Both are nearly the same in every run, on any machine with the same compiler, so the tree
keeps them: counts.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path as File

from ..base import report
from .bed import VMRPC, Load, Sockets

_FILE = File(__file__).parent / "counts.json"
#: More than this part, and than this much, is a failure.
_PART, _MUCH = 0.08, 0.6
_UNITS = 2000
#: Those of a program that uses sockets, but for waiting, which depends on the peer.
_CALLS = "trace=%network,poll,close,epoll_ctl"
#: Larger calls wait for the peer, now more often and now less.
_LARGEST = 65536
#: loads.c does a tenth more before it begins.
_WITH_WARM_UP = 1.1


def _instructions(sockets: Sockets, load: Load) -> float:
    out = sockets.folder / "callgrind"
    around = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
    around += ["--toggle-collect=guestless_measured", "--quiet"]
    sockets.run(load.line(VMRPC, _UNITS), around)
    found = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.M)
    assert found is not None
    return round(int(found[1]) / _UNITS)


def _system_calls(sockets: Sockets, load: Load) -> float:
    totals = []
    for count in (_UNITS, 2 * _UNITS):
        out = sockets.folder / "strace"
        sockets.run(load.line(VMRPC, count), ["strace", "-f", "-c", "-e", _CALLS, "-o", out])
        found = re.search(r"^100\.00 +\S+ +\S+ +(\d+) .*total$", out.read_text(), re.M)
        assert found is not None
        totals.append(int(found[1]))
    return round((totals[1] - totals[0]) / (_WITH_WARM_UP * _UNITS), 1)


def count(sockets: Sockets, loads: Sequence[Load], *, write: bool) -> bool:
    """Count, show beside counts.json, and write there; False if something has become more."""
    known = json.loads(_FILE.read_text()) if _FILE.exists() else {}
    rows, good = [["load", "instructions", "before", "system calls", "before"]], True
    for load in (load for load in loads if load.size <= _LARGEST):
        before = known.get(load.name, {})
        now = {
            "instructions": _instructions(sockets, load),
            "system calls": _system_calls(sockets, load),
        }
        rows.append([load.name])
        for name, value in now.items():
            old = before.get(name)
            good &= old is None or value <= old * (1 + _PART) + _MUCH
            rows[-1] += [str(value), "-" if old is None else str(old)]
        known[load.name] = now
    print(report.plain(rows))
    if write:
        _FILE.write_text(json.dumps(known, indent=1) + "\n")
    elif not good:
        print("more than in bench/guestless/counts.json: mend it, or say why and use --write")
    return good or write
