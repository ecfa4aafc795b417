# SPDX-License-Identifier: GPL-2.0-or-later
"""Run libuv's tests of sockets, in the guest, and print a line of JSON a test.

python3 -m suites.libuv BINARY [--without TEST...]
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import time
from collections.abc import Collection, Iterator
from dataclasses import asdict

from .campaign import Begin, Campaign
from .outcome import Outcome, Traffic
from .watch import Watched

#: Tests of files, timers, processes and terminals are none of ours.
_OF_SOCKETS = re.compile(
    "(callback_stack|close_fd|connect|delayed_accept|getsockname|ipc_|multiple_listen|not_|poll_"
    "|readable_|shutdown_|socket_|spawn_tcp|tcp|udp)"
)
_END = re.compile(r"(ok|not ok) \d+ - (\w+)( # SKIP *(.*))?")
# Each test in a process of its own, as its authors have them run.
_EACH = 'binary=$1; shift; for each; do echo "begin $each"; "$binary" "$each" 2>&1; echo end; done'
_ROOM = {"UV_RUN_AS_ROOT": "1", "UV_TEST_TIMEOUT_MULTIPLIER": "20"}
# Seconds that a test may be silent.
_LIMIT = 300.0


class Tests:
    """The tests of the binary, as a campaign runs them."""

    plea = signal.SIGQUIT

    def __init__(self, binary: str) -> None:
        self._binary = binary
        self._words = ["env", *(f"{key}={value}" for key, value in _ROOM.items())]
        listing = subprocess.run(
            [*self._words, binary, "--list"], capture_output=True, text=True, check=True
        )
        names = [line.split()[0] for line in listing.stdout.splitlines() if line.strip()]
        self._tests = list(filter(_OF_SOCKETS.match, names))

    def start(self, without: Collection[str], only: Collection[str]) -> Watched:
        """Start them one after the other."""
        chosen = [test for test in only or self._tests if test not in without]
        command = [*self._words, "sh", "-c", _EACH, "libuv", self._binary, *chosen]
        return Watched(command, _LIMIT, "/tmp")

    def events(self, lines: Iterator[str]) -> Iterator[Begin | Outcome]:
        """Understand what is printed; what a test says comes behind its result."""
        test, kind, said = "", "crashes", list[str]()
        before, started = Traffic(0, 0), 0.0
        for line in lines:
            if line.startswith("begin "):
                test, kind, said = line.removeprefix("begin "), "crashes", []
                before, started = Traffic.now(), time.monotonic()
                yield Begin(test)
            elif line == "end" and test:
                traffic = asdict(Traffic.now() - before)
                detail = "\n".join(said) if kind != "passed" else ""
                yield Outcome(test, kind, detail, time.monotonic() - started, **traffic)
            elif (end := _END.match(line)) and end[2] == test:
                kind = "skipped" if end[3] else "passed" if end[1] == "ok" else "failed"
                said += [end[4]] * bool(end[4])
            else:
                said.append(line)


def main() -> None:
    """Run the tests of sockets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--without", nargs="*", default=[], help="tests to leave out")
    arguments = parser.parse_args()
    for outcome in Campaign(Tests(arguments.binary), arguments.without).run():
        print(outcome.to_line(), flush=True)


if __name__ == "__main__":
    main()
