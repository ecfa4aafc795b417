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

from .campaign import Begin, Campaign
from .outcome import Outcome, translations
from .watch import Watched

_BEGIN = re.compile(r"=== RUN +(\S+)$")
_END = re.compile(r" *--- (PASS|FAIL|SKIP): (\S+) \(([0-9.]+)s\)$")
_KINDS = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
# How many lines of what a test said are kept.
_DETAIL = 30


class Package:
    """The tests of a package, as a campaign runs them."""

    limit = 120.0
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
        return Watched([*command, f"-test.run=^({'|'.join(chosen)})$"], self._folder)

    def events(self, lines: Iterator[str]) -> Iterator[Begin | Outcome]:
        """Understand what ``-test.v`` prints; what a test says comes before its end."""
        begun: dict[str, int] = {}
        said: list[str] = []
        for line in lines:
            if begin := _BEGIN.search(line):
                begun[begin[1]] = translations()
                yield Begin(begin[1])
            elif end := _END.match(line):
                kind, test, seconds = end.groups()
                outside = begun.pop(test, 0) != translations()
                detail = "\n".join(said[-_DETAIL:]) if kind != "PASS" else ""
                yield Outcome(test, _KINDS[kind], detail, float(seconds), outside)
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
