# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the tests of one package of Go, in the guest, and print a line of JSON a test.

python3 -m suites.golang BINARY FOLDER [--without TEST...]
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
from collections.abc import Collection, Iterator
from dataclasses import asdict

from .campaign import Begin, Campaign
from .outcome import Outcome, Traffic
from .watch import Watched

_START = re.compile(r".*=== (RUN|PAUSE|CONT) +(\S+)$")
_END = re.compile(r" *--- (PASS|FAIL|SKIP): (\S+) \(([0-9.]+)s\)$")
_KINDS = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
# Seconds that a test may take: TestSplice sends 1 GiB twice, which takes 40 where nothing
# else runs, and ten times that where eight virtual processors want two.
_LIMIT = 600.0
# How many lines of what a test said are kept.
_DETAIL = 30


class Package:
    """The tests of a package, as a campaign runs them."""

    plea = signal.SIGQUIT

    def __init__(self, binary: str, folder: str) -> None:
        self._binary = binary
        self._folder = folder
        listing = subprocess.run(
            [binary, "-test.list", "^(Test|Example)"], capture_output=True, text=True, check=True
        )
        self._tests = [line for line in listing.stdout.splitlines() if line.isidentifier()]

    def start(self, without: Collection[str], only: Collection[str]) -> Watched:
        """Start the binary."""
        chosen = [test for test in only or self._tests if test not in without]
        command = [self._binary, "-test.v", "-test.timeout=0"]
        command.append(f"-test.run=^({'|'.join(chosen)})$")
        return Watched(command, _LIMIT, self._folder)

    def events(self, lines: Iterator[str]) -> Iterator[Begin | Outcome]:
        """Understand what ``-test.v`` prints; what a test says comes before its end.

        Tests that run at the same time share what their traffic is.
        """
        before: dict[str, Traffic] = {}
        paused: dict[str, Traffic] = {}
        said: list[str] = []
        for line in lines:
            if start := _START.match(line):
                what, test = start.groups()
                if what == "RUN":
                    before[test] = Traffic.now()
                    yield Begin(test)
                elif what == "PAUSE":
                    paused[test] = Traffic.now() - before[test]
                elif test in paused:
                    before[test] = Traffic.now() - paused.pop(test)
            elif (end := _END.match(line)) and end[2] in before:
                kind, test, seconds = end.groups()
                traffic = asdict(Traffic.now() - before.pop(test))
                detail = "\n".join(said[-_DETAIL:]) if kind != "PASS" else ""
                yield Outcome(test, _KINDS[kind], detail, float(seconds), **traffic)
                said = []
            else:
                said.append(line)


def main() -> None:
    """Run the tests of a package."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("folder", help="where they find their data")
    parser.add_argument("--without", nargs="*", default=[], help="tests to leave out")
    arguments = parser.parse_args()
    package = Package(arguments.binary, arguments.folder)
    for outcome in Campaign(package, arguments.without).run():
        print(outcome.to_line(), flush=True)


if __name__ == "__main__":
    main()
