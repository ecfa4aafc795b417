# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs the suites of others notices whatever a test may do."""

from __future__ import annotations

import signal
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from lab.packages import kernel

sys.path.insert(0, str(Path(__file__).parent))

from suites import known, report
from suites.campaign import WHOLE_SUITE, Begin, Campaign
from suites.catalogue import Suite
from suites.outcome import Outcome, connections_and_datagrams
from suites.report import Comparison, Run
from suites.watch import Watched

# Seconds of silence after which a test hangs: three times in a row one does.
_LIMIT = 8.0
#: A suite whose tests are named after what they do.
_SUITE = """
for name; do
    echo begin $name
    kind=passed
    case $name in
    hangs) sleep 100 ;;
    crashes) kill -KILL $$ ;;
    fails) kind=failed ;;
    busy) [ $# -eq 1 ] || kind=failed ;;
    esac
    echo end $name $kind
done
[ "$*" != broken ]
"""


class _Fake:
    plea = signal.SIGTERM

    def __init__(self, *tests: str) -> None:
        self._tests = tests

    def start(self, without: Collection[str], only: Collection[str]) -> Watched:
        tests = [test for test in only or self._tests if test not in without]
        return Watched(["sh", "-c", _SUITE, "suite", *tests], limit=_LIMIT)

    def events(self, lines: Iterator[str]) -> Iterator[Begin | Outcome]:
        for line in lines:
            what, test, *kind = line.split()
            yield Begin(test) if what == "begin" else Outcome(test, kind[0])


def _run(*tests: str, without: Collection[str] = ()) -> dict[str, tuple[str, int]]:
    campaign = Campaign(_Fake(*tests), without)
    return {one.test: (one.kind, one.attempts) for one in campaign.run()}


def test_a_campaign_survives_its_tests() -> None:
    names = ("one", "hangs", "two", "crashes", "busy", "fails", "three")
    assert _run(*names) == {
        "one": ("passed", 1),
        "two": ("passed", 1),
        "three": ("passed", 1),
        "hangs": ("hangs", 3),
        "crashes": ("crashes", 3),
        "busy": ("passed", 2),
        "fails": ("failed", 3),
    }


def test_a_campaign_leaves_out() -> None:
    assert _run("one", "hangs", without=["hangs"]) == {"one": ("passed", 1)}


def test_a_campaign_notices_a_suite_that_fails_without_a_test() -> None:
    assert _run("broken") == {"broken": ("passed", 1), WHOLE_SUITE: ("crashes", 1)}


def _comparison(**kinds: tuple[str, str]) -> Comparison:
    def run(side: int) -> Run:
        return Run({name: Outcome(name, both[side]) for name, both in kinds.items()}, 1.0)

    return Comparison(kernel.MAIN, Suite("go", "net"), run(0), run(1))


def test_differences_have_to_be_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "DIFFERENT", {"net.A": "why", "net/http.A": "why"})
    passed, failed = "passed", "failed"
    assert not _comparison(A=(passed, failed), B=(failed, failed)).complaints()
    (unknown,) = _comparison(A=(passed, failed), B=(passed, failed)).complaints()
    assert unknown.startswith("net.B: passed, outsourced failed")
    (stale,) = _comparison(A=(passed, passed)).complaints()
    assert stale.startswith("net.A: known to differ, but it does not")


def test_what_goes_by_the_clock_may_differ_but_has_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "DIFFERENT", {})
    monkeypatch.setattr(report, "BY_THE_CLOCK", {"net.A": "why"})
    assert not _comparison(A=("passed", "failed")).complaints()
    assert not _comparison(A=("passed", "passed")).complaints()
    (hangs,) = _comparison(A=("passed", "hangs")).complaints()
    assert hangs.startswith("net.A: passed, outsourced hangs")


def test_a_suite_has_to_go_outside() -> None:
    passed = {"A": Outcome("A", "passed")}
    native = Run(passed, 1.0, inside=7)
    suite = Suite("go", "internal/poll")
    outside = Run(passed, 1.0, counters={"sockets_opened": 3})
    assert not Comparison(kernel.MAIN, suite, native, outside).complaints()
    (stayed,) = Comparison(kernel.MAIN, suite, native, Run(passed, 1.0, inside=7)).complaints()
    assert stayed == "internal/poll: outsourced, but nothing was outside"


def test_known_tests_are_of_suites() -> None:
    from suites.catalogue import SUITES

    for name in [*known.LEFT_OUT, *known.DIFFERENT, *known.BY_THE_CLOCK]:
        assert any(report.belongs(name, suite) for suite in SUITES), name


_SNMP = """\
Ip: Forwarding InReceives
Ip: 1 90
Tcp: RtoMin ActiveOpens PassiveOpens
Tcp: 200 3 70
Udp: InDatagrams NoPorts OutDatagrams
Udp: 60 50 4
UdpLite: InDatagrams NoPorts OutDatagrams
UdpLite: 0 0 8
"""


def test_what_stays_in_the_guest_is_counted() -> None:
    assert connections_and_datagrams(_SNMP) == 7
