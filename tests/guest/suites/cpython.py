# SPDX-License-Identifier: GPL-2.0-or-later
"""Run one module of CPython's tests, in the guest, and print a line of JSON a test.

python3 -m suites.cpython MODULE [--without TEST...]
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import os
import signal
import sys
import tempfile
import time
import unittest
from collections.abc import Collection, Iterator
from dataclasses import asdict, replace
from typing import Any, TextIO

from .campaign import Begin, Campaign
from .outcome import Outcome, Traffic
from .watch import Watched

_PREFIX = "test."
# Seconds that a test may take.
_LIMIT = 120.0
# Nothing that takes the Internet, gigabytes or a display.
_RESOURCES = ["cpu", "walltime"]
# This module says "network" of what it does on loopback.
_ON_LOOPBACK = "test_socketserver"


class Module:
    """A module of CPython's tests, as a campaign runs it."""

    plea = signal.SIGABRT

    def __init__(self, name: str) -> None:
        self._name = name

    def start(self, without: Collection[str], only: Collection[str]) -> Watched:
        """Start a process that runs tests; see ``_perform``."""
        choice = json.dumps({"without": [*without], "only": [*only]})
        command = [sys.executable, "-m", "suites.cpython", self._name, "--choice", choice]
        return Watched(command, _LIMIT)

    def events(self, lines: Iterator[str]) -> Iterator[Begin | Outcome]:
        """Understand what ``_Reporter`` tells."""
        for line in lines:
            yield Begin(json.loads(line)["begin"]) if "begin" in line else Outcome.from_line(line)


# In the process that runs the tests.


def _name(test: unittest.TestCase) -> str:
    return test.id().removeprefix(_PREFIX)


class _Reporter(unittest.TestResult):
    """Tells of every test as it begins and ends."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._now = Outcome("", "passed")
        self._began = 0.0
        self._before = Traffic(0, 0)

    def tell(self, what: Begin | Outcome) -> None:
        """Write a line."""
        line = json.dumps({"begin": what.test}) if isinstance(what, Begin) else what.to_line()
        print(line, file=self._stream, flush=True)

    def _note(self, test: unittest.TestCase, kind: str, detail: str) -> None:
        if not isinstance(test, unittest.TestCase):
            # What prepares a class or a module, or cleans up after it.
            self.tell(Outcome(str(test).replace(_PREFIX, ""), kind, detail))
        elif self._now.kind != "failed":
            self._now = Outcome(_name(test), kind, detail)

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().startTest(test)
        self._now = Outcome(_name(test), "passed")
        self.tell(Begin(_name(test)))
        self._before = Traffic.now()
        self._began = time.monotonic()

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        seconds = round(time.monotonic() - self._began, 2)
        traffic = asdict(Traffic.now() - self._before)
        self.tell(replace(self._now, seconds=seconds, **traffic))
        super().stopTest(test)

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addError(test, err)
        self._note(test, "failed", self.errors.pop()[1])

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addFailure(test, err)
        self._note(test, "failed", self.failures.pop()[1])

    def addSubTest(  # noqa: N802
        self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any
    ) -> None:
        if err is not None:
            super().addFailure(test, err)
            self._note(test, "failed", f"{subtest}\n{self.failures.pop()[1]}")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        self._note(test, "skipped", reason)

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        self._note(test, "failed", "unexpected success")


def _flat(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from _flat(each)
        else:
            yield each


def _perform(module: str, without: Collection[str], only: Collection[str]) -> None:
    """Run tests of a module; the report goes where standard output was."""
    report = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    faulthandler.enable()
    support: Any = importlib.import_module("test.support")
    support.use_resources = _RESOURCES + (["network"] if module == _ON_LOOPBACK else [])
    reporter = _Reporter(report)
    try:
        loaded = unittest.defaultTestLoader.loadTestsFromName(_PREFIX + module)
    except unittest.SkipTest as reason:
        reporter.tell(Outcome(module, "skipped", str(reason)))
        return
    tests = unittest.TestSuite(
        test
        for test in _flat(loaded)
        if _name(test) not in without and (not only or _name(test) in only)
    )
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        tests.run(reporter)
        os.chdir("/")


def main() -> None:
    """Run a module, or be the process that runs its tests."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module", help="as in test.MODULE")
    parser.add_argument("--choice", help="run tests in this process")
    parser.add_argument("--without", nargs="*", default=[], help="tests to leave out")
    arguments = parser.parse_args()
    if arguments.choice is not None:
        _perform(arguments.module, **json.loads(arguments.choice))
        return
    for outcome in Campaign(Module(arguments.module), arguments.without).run():
        print(outcome.to_line(), flush=True)


if __name__ == "__main__":
    main()
