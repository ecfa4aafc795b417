# SPDX-License-Identifier: GPL-2.0-or-later
"""Run every case, or those that are named, and print one line of JSON each.

    python3 -m semantics.run PEER ME [CASE...]

Each case has a process of its own: it can hang, and leave anything behind.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import os
import select
import signal
import socket
import sys
import time
import traceback

from . import data, listen, options, poll, process, tcp, udp
from .harness import CASES, Case, World

__all__ = ["CASES", "data", "listen", "options", "poll", "process", "tcp", "udp"]

#: How long a case may take; then it hangs.
LIMIT = 25.0


def _perform(case: Case, world: World) -> dict[str, object]:
    try:
        case(world)
    except BaseException as error:  # whatever it is, it is the case's outcome
        frames = traceback.extract_tb(error.__traceback__)
        trace = [f"{frame.name}:{frame.lineno}: {frame.line}" for frame in frames[1:]]
        return {"error": f"{type(error).__name__}: {error}", "trace": trace}
    return {"error": None, "trace": []}


def _child(case: Case, world: World, report: int) -> None:
    """Run a case in this process, and end it."""
    with os.fdopen(report, "w") as stream:
        faulthandler.dump_traceback_later(LIMIT - 2, exit=True)
        json.dump(_perform(case, world), stream)
    # The sockets close in order, but neither threads nor handlers matter.
    os._exit(0)


def _outcome(case: Case, world: World) -> dict[str, object]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        os.setpgid(0, 0)
        _child(case, world, writer)
    os.close(writer)
    text = b""
    end = time.monotonic() + LIMIT
    while select.select([reader], [], [], max(0.0, end - time.monotonic()))[0]:
        part = os.read(reader, 1 << 16)
        if not part:
            break
        text += part
    os.close(reader)
    # Children of the case go with it.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    if not text:
        return {"error": "hangs or has crashed", "trace": []}
    outcome: dict[str, object] = json.loads(text)
    return outcome


def main() -> None:
    """Run the cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peer", help="name or address of the peer")
    parser.add_argument("me", help="our address, as a socket to the peer has it")
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args()
    peer = socket.gethostbyname(arguments.peer)
    for name in arguments.cases or CASES:
        begin = time.monotonic()
        outcome = _outcome(CASES[name], World(peer, arguments.me))
        seconds = round(time.monotonic() - begin, 2)
        print(json.dumps({"case": name, "seconds": seconds, **outcome}), flush=True)
        if outcome["error"]:
            sys.stderr.write(f"{name}: {outcome['error']}\n")


if __name__ == "__main__":
    main()
