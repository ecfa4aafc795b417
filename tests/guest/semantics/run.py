# SPDX-License-Identifier: GPL-2.0-or-later
"""Run every case, or those that are named, and print one line of JSON each.

    python3 -m semantics.run [--inet6 [FOUR=SIX]] PEER ME [CASE...]

Each case has a process of its own: it can hang, and leave anything behind.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import json
import os
import select
import signal
import socket
import time
import traceback
from collections.abc import Iterable

from . import (
    clock,
    data,
    edges,
    group,
    inet6,
    listen,
    many,
    options,
    packets,
    peers,
    ping,
    poll,
    process,
    reuse,
    segments,
    tcp,
    udp,
    uring,
)
from .harness import CASES, Case, World
from .peer import SLOWNESS

__all__ = [
    "CASES",
    "clock",
    "data",
    "edges",
    "group",
    "listen",
    "many",
    "options",
    "packets",
    "peers",
    "ping",
    "poll",
    "process",
    "reuse",
    "segments",
    "tcp",
    "udp",
    "uring",
]

#: How long a case may take; then it hangs.  Longer than a wait in it, as a case of many turns takes
#: a minute on a machine that has much else to do.
LIMIT = 180.0 * SLOWNESS


def _perform(case: Case, world: World) -> dict[str, object]:
    try:
        case(world)
    except BaseException as error:  # whatever it is, it is the case's outcome
        frames = traceback.extract_tb(error.__traceback__)
        trace = [f"{frame.name}:{frame.lineno}: {frame.line}" for frame in frames[1:]]
        return {"error": f"{type(error).__name__}: {error}", "trace": trace}
    return {"error": None, "trace": []}


def _watch() -> None:
    """Have a thread that ends the case before it hangs for ever.

    The thread blocks all signals, but only once it runs.  Until then it must
    not be the one that takes a signal which the case itself has blocked.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    faulthandler.dump_traceback_later(LIMIT - 2, exit=True)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _child(case: Case, world: World, report: int) -> None:
    """Run a case in this process, and end it."""
    me = os.getpid()
    with os.fdopen(report, "w") as stream:
        _watch()
        outcome = _perform(case, world)
        if os.getpid() != me:
            os._exit(1)  # a child of the case, which has failed
        json.dump(outcome, stream)
    # The sockets close in order, but neither threads nor handlers matter.
    os._exit(0)


def _end(status: int) -> str:
    """Tell how a case ended that has not reported."""
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGKILL:
        return "hangs"
    return f"ended by {signal.Signals(-code).name}" if code < 0 else "hangs: where is in stderr"


class _Running:
    """A case in its process."""

    def __init__(self, name: str, world: World) -> None:
        self._name = name
        self._begin = time.monotonic()
        self._text = b""
        self.reader, writer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self.reader)
            os.setpgid(0, 0)
            _child(CASES[name], world, writer)
        os.close(writer)

    @property
    def left(self) -> float:
        """How many seconds it may still take."""
        return max(0.0, self._begin + LIMIT - time.monotonic())

    def listen(self) -> bool:
        """Take what it reports; tell whether there is more to come."""
        part = os.read(self.reader, 1 << 16)
        self._text += part
        return bool(part)

    def finish(self) -> None:
        """End it and tell its outcome."""
        os.close(self.reader)
        # Children of the case go with it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        outcome = {"error": _end(os.waitpid(self._pid, 0)[1]), "trace": []}
        if self._text:
            outcome = json.loads(self._text)
        seconds = round(time.monotonic() - self._begin, 2)
        print(json.dumps({"case": self._name, "seconds": seconds, **outcome}), flush=True)


def run(names: Iterable[str], world: World, jobs: int) -> None:
    """Run cases, some at the same time; print the outcome of each."""
    waiting = list(names)
    running: dict[int, _Running] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            new = _Running(waiting.pop(0), world)
            running[new.reader] = new
        left = min(each.left for each in running.values())
        ready, _, _ = select.select(list(running), [], [], left)
        for each in list(running.values()):
            more = each.reader not in ready or each.listen()
            if not more or not each.left:
                del running[each.reader]
                each.finish()


def main() -> None:
    """Run the cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peer", help="name or address of the peer")
    parser.add_argument("me", help="our address, as a socket to the peer has it")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--jobs", type=int, default=2, help="cases at the same time")
    parser.add_argument(
        "--inet6",
        action="append",
        metavar="FOUR=SIX",
        help="with sockets of AF_INET6, to which SIX is what FOUR is to the cases; '' for none",
    )
    arguments = parser.parse_args()
    if arguments.inet6:
        inet6.use(dict(pair.split("=", 1) for pair in arguments.inet6 if pair))
    world = World(socket.gethostbyname(arguments.peer), arguments.me)
    # A collection in each child would copy the pages that it shares with this process.
    gc.freeze()
    run(arguments.cases or CASES, world, arguments.jobs)


if __name__ == "__main__":
    main()
