# SPDX-License-Identifier: GPL-2.0-or-later
"""Outsourced sockets do what Linux's own sockets do.

The cases are in ``semantics``.  All of them run three times in one guest of
each kernel: before the module is loaded ("linux", which says what is right),
with it against a peer in the guest ("inside"), and against a peer beyond the
host, by name and over IPv6 ("outside").  The first of the three is not part of
make check.

With sockets of AF_INET6 in the place of the cases' own, what Linux's pass those on
the host pass, too.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base import wait
from lab.guest.fixtures import KERNELS
from lab.guest.guest import MODULE_PATH, Guest
from lab.packages import kernel
from lab.peers.lab import OWN_VM_ADDRESS, PEER_ADDRESS, VM_ADDRESS, Lab, lab

_SCRIPTS = Path(__file__).parent / "semantics"
sys.path.insert(0, str(_SCRIPTS.parent))

from semantics.harness import World  # noqa: E402
from semantics.run import CASES, run  # noqa: E402

_FOLDER = "/usr/lib/vmmnet/tests"
_ADDRESS = "192.0.0.2"
_STRESS_SECONDS = 4
# Of all cases on a side, ten times what they take.
_LIMIT = 10 * wait.PATIENCE
_PING_SOCKETS = {"net.ipv4.ping_group_range": "0 2147483647"}
#: Linux's own sockets only show that a case claims what is so; "inside" uses them, too.
_SIDES = (pytest.param("linux", marks=pytest.mark.long), "inside", "outside")
_RINGS = ("packed=off", "packed=on")
#: The guest's clock is not the host's.
_CLOCK = "+30 seconds"


@dataclass(frozen=True)
class Difference:
    """How a case fails, to the letter, and why it may; where, by kernel and side."""

    shows: str
    reason: str
    where: frozenset[tuple[str, str]] = frozenset((one, "outside") for one in kernel.SERIES)


_BOTH_SIDES = frozenset((one, side) for one in kernel.SERIES for side in ("inside", "outside"))
_NOT_PERMITTED = "PermissionError: [Errno 1] Operation not permitted"

_DIFFERENCES = {
    "listen.listening_again_elsewhere": Difference(
        "OSError: [Errno 98] Address already in use",
        "Both sides are bound to the port by number; the connections have it now.",
        _BOTH_SIDES,
    ),
    "udp.source_that_is_not_ours": Difference(
        "AssertionError: EINVAL instead of ENETUNREACH",
        "IPv6 says so, and the device says the same before it asks.",
    ),
    "options.packet_filter": Difference(
        "OSError: [Errno 92] Protocol not available",
        "Packets of the host never pass the guest's kernel, where the filter would be.",
        _BOTH_SIDES,
    ),
    "listen.options_of_who_waits": Difference(
        "AssertionError: 1 instead of 0",
        "Before 6.7 the module sees what a listener has got when accept() comes.",
        frozenset({("6.1", "outside")}),
    ),
    "options.signatures": Difference(
        _NOT_PERMITTED, "Keys and peers of TCP-MD5 are the host's.", _BOTH_SIDES
    ),
    "options.free_bind": Difference(
        _NOT_PERMITTED, "The host decides which addresses a VM uses.", _BOTH_SIDES
    ),
    "tcp.by_several_ways": Difference(
        "OSError: [Errno 93] Protocol not supported",
        "In the guest's stack it would listen where nobody is; so programs take TCP.",
        _BOTH_SIDES,
    ),
    "options.repair": Difference(
        _NOT_PERMITTED, "Moving connections of the host takes its administrator."
    ),
}


_SHOWN = "Who reaches a listener or a datagram socket is shown by the real address."
_AS_IPV4 = "As with AF_INET."
_ANY_PEER = "connect() to :: goes to ::1."

#: Where sockets of AF_INET6 differ, whatever the addresses, or with these.
_INET6_DIFFERENCES = {
    "listen.listening_again_elsewhere": _AS_IPV4,
    "options.packet_filter": _AS_IPV4,
    "options.repair": _AS_IPV4,
    "tcp.by_several_ways": _AS_IPV4,
    "options.free_bind": _AS_IPV4,
    "udp.peer_of_no_address": _ANY_PEER,
}
_INET6_DIFFERENCES_BY_NAMES: dict[str, dict[str, str]] = {
    "mapped": {
        "listen.accepted_connection_has_names": _SHOWN,
        "listen.reset_before_accept": _SHOWN,
        "listen.same_listener_from_inside": _SHOWN,
        "segments.received_together": _SHOWN,
        "udp.server": _SHOWN,
        "udp.destination_is_told": _SHOWN,
        "udp.interface_is_told_and_can_be_used": _SHOWN,
        "udp.source_that_is_not_ours": _AS_IPV4,
        "udp.ttl_and_tos_are_told": _SHOWN,
    },
    "plain": {},
}


@dataclass(frozen=True)
class Outcome:
    """What became of one case on one side."""

    error: str | None
    trace: tuple[str, ...]


Outcomes = dict[tuple[str, str], Outcome]


def _files() -> dict[str, bytes | Path]:
    return {f"{_FOLDER}/semantics/{path.name}": path for path in _SCRIPTS.glob("*.py")}


@contextlib.contextmanager
def _outer_peer(world: Lab) -> Iterator[None]:
    command: list[str | Path] = [sys.executable, _SCRIPTS / "peer.py", "::"]
    with world.peer.started(command, stdout=subprocess.PIPE) as peer:
        assert peer.stdout is not None
        assert peer.stdout.readline() == b"ready\n"
        yield


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built, _outer_peer(built):
        built.host.sysctl(_PING_SOCKETS)
        # Cases in a row send to closed ports; each wants to be told.
        built.peer.sysctl({"net.ipv6.icmp.ratelimit": 0})
        yield built


def _python() -> list[str]:
    """Python in a guest, for the scripts there, which wait as much longer as this bed does."""
    return ["env", f"PYTHONPATH={_FOLDER}", f"VMMNET_PATIENCE={wait.SLOWNESS}", "python3"]


def _in_guest(guest: Guest, module: str, *words: str, timeout: float) -> str:
    return guest.run([*_python(), "-m", f"semantics.{module}", *words], timeout=timeout).stdout


def _run_side(guest: Guest, side: str, peer: str, me: str, *words: str) -> Outcomes:
    found: Outcomes = {}
    for line in _in_guest(guest, "run", *words, peer, me, timeout=_LIMIT).splitlines():
        record = json.loads(line)
        outcome = Outcome(record["error"], tuple(record["trace"]))
        found[side, record["case"]] = outcome
    return found


def _is_wanted(request: pytest.FixtureRequest, side: str) -> bool:
    """Whether a test of that side is among those that run."""
    return any(f"-{side}]" in item.name for item in request.session.items)


@pytest.fixture(scope="module", params=KERNELS)
def outcomes(request: pytest.FixtureRequest, world: Lab) -> Iterator[Outcomes]:
    """Run every case on every side, in one guest of each kernel."""
    series: str = request.param
    module = kernel.build_module(series)
    with world.guest(
        series, ipv6=False, module=False, files={MODULE_PATH: module, **_files()}
    ) as guest:
        for key, value in _PING_SOCKETS.items():
            guest.run(["sysctl", "-qw", f"{key}={value}"])
        guest.run(["date", "--set", _CLOCK])
        peer = guest.spawn([*_python(), f"{_FOLDER}/semantics/peer.py", "127.0.0.1"])
        peer.wait_output("ready")
        found: Outcomes = {}
        if _is_wanted(request, "linux"):
            found |= _run_side(guest, "linux", "127.0.0.1", "127.0.0.1")
        guest.run(["insmod", MODULE_PATH])
        found |= _run_side(guest, "inside", "127.0.0.1", "127.0.0.1")
        found |= _run_side(guest, "outside", "peer.test", _ADDRESS)
        guest.check_kernel()
    yield found


@pytest.mark.parametrize("side", _SIDES)
@pytest.mark.parametrize("name", CASES)
def test_case(outcomes: Outcomes, request: pytest.FixtureRequest, name: str, side: str) -> None:
    outcome = outcomes[side, name]
    series = request.node.callspec.params["outcomes"]
    known = _DIFFERENCES.get(name)
    if known and (series, side) in known.where:
        assert outcome.error == known.shows, f"known, but no longer so: {known.reason}"
    elif outcome.error:
        pytest.fail("\n".join([outcome.error, *outcome.trace]), pytrace=False)


@pytest.fixture(scope="module", params=tuple(_INET6_DIFFERENCES_BY_NAMES))
def inet6_outcomes(request: pytest.FixtureRequest, world: Lab) -> Iterator[tuple[str, Outcomes]]:
    """Run every case with sockets of AF_INET6, on Linux's own inside and on the host."""
    names: str = request.param
    mapped = names == "mapped"
    files = {MODULE_PATH: kernel.build_module(kernel.NEWEST), **_files()}
    with world.guest(kernel.NEWEST, module=False, files=files) as guest:
        for key, value in _PING_SOCKETS.items():
            guest.run(["sysctl", "-qw", f"{key}={value}"])
        loopback = "127.0.0.1" if mapped else "::1"
        guest.spawn([*_python(), f"{_FOLDER}/semantics/peer.py", loopback]).wait_output("ready")
        word = "--inet6=" if mapped else "--inet6=127.0.0.1=::1"
        found = _run_side(guest, "linux", "127.0.0.1", "127.0.0.1", word)
        guest.run(["insmod", MODULE_PATH])
        peer = guest.run(["getent", "ahostsv4", "peer.test"]).stdout.split()[0]
        words = ["--inet6="]
        if not mapped:
            words = [f"--inet6={peer}={PEER_ADDRESS}", f"--inet6={_ADDRESS}={VM_ADDRESS}"]
        found |= _run_side(guest, "outside", peer, _ADDRESS, *words)
        guest.check_kernel()
    yield names, found


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_case_of_ipv6(inet6_outcomes: tuple[str, Outcomes], name: str) -> None:
    """What a case claims of AF_INET and is not so of AF_INET6 says nothing."""
    names, found = inet6_outcomes
    outcome = found["outside", name]
    known = (_INET6_DIFFERENCES | _INET6_DIFFERENCES_BY_NAMES[names]).get(name)
    if known:
        assert outcome.error, f"known, but no longer so: {known}"
    elif outcome.error and not found["linux", name].error:
        pytest.fail("\n".join([outcome.error, *outcome.trace]), pytrace=False)


def test_differences_are_of_cases() -> None:
    known = set(_DIFFERENCES) | set(_INET6_DIFFERENCES)
    assert known.union(*_INET6_DIFFERENCES_BY_NAMES.values()) <= set(CASES)


def test_case_reports_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A child of a case fails, and the case finds it: the report is the case's alone."""

    def forks(world: World) -> None:
        pid = os.fork()
        assert pid, "the child"
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
        raise AssertionError("the case")

    monkeypatch.setitem(CASES, "forks", forks)
    run(["forks"], World("127.0.0.1", "127.0.0.1"), jobs=1)
    (line,) = capfd.readouterr().out.splitlines()
    assert json.loads(line)["error"] == "AssertionError: the case"


@pytest.mark.parametrize("rings", _RINGS)
def test_stress(world: Lab, rings: str) -> None:
    """Six threads of random traffic: nothing stalls, nothing is corrupted."""
    device = f"{world.device(OWN_VM_ADDRESS)},{rings}"
    with world.guest(ipv6=False, device=device, files=_files()) as guest:
        words = ["peer.test", "--seconds", str(_STRESS_SECONDS)]
        report = json.loads(_in_guest(guest, "stress", *words, timeout=_LIMIT))
    assert report["failures"] == []
    assert all(report["rounds"]), report
    assert report["bytes"] > 0
