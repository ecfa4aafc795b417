# SPDX-License-Identifier: GPL-2.0-or-later
"""CPython's and Go's own tests cannot tell outsourced sockets from native ones.

Each suite runs twice in one guest: before the module is loaded, and with it and
127.0.0.1 an address of the outside; see ``suites``.  Every test has to end in
the same way, except for those that ``suites/known.toml`` names.  What was found
is in build/suites.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab.guest.guest import MODULE_PATH, Guest
from lab.packages import kernel
from lab.peers import servers as peers
from lab.peers.lab import REFLECTOR_ADDRESS, VM_ADDRESS, Lab, lab

_SCRIPTS = Path(__file__).parent / "suites"
sys.path.insert(0, str(_SCRIPTS.parent))

from suites import image, report  # noqa: E402
from suites.catalogue import DISK, SUITES, Suite  # noqa: E402
from suites.known import LEFT_OUT  # noqa: E402
from suites.outcome import Outcome, connections_and_datagrams  # noqa: E402
from suites.report import Comparison, Run  # noqa: E402

_FOLDER = "/usr/lib/vmmnet/tests/suites"
_DETOUR_PATH = "/usr/lib/vmmnet/detour.ko"
#: Seconds that one run of a suite may take.
_LIMIT = 2400
#: The kernel on which the suites that are not long are part of make check.
_SERIES = kernel.MAIN


@dataclass(frozen=True)
class Bed:
    """A guest with the suites of one origin, whose modules are not loaded."""

    world: Lab
    guest: Guest


@contextlib.contextmanager
def _bed(series: str, origin: str) -> Iterator[Bed]:
    files: dict[str, bytes | Path] = {
        MODULE_PATH: kernel.build_module(series),
        _DETOUR_PATH: kernel.build_module(series, _SCRIPTS / "detour"),
    }
    files |= {f"{_FOLDER}/{path.name}": path for path in _SCRIPTS.glob("*.py")}
    settings: dict[str, Any] = {"files": files, "disks": (image.suites(origin),), "memory": "1G"}
    with lab() as world, peers.reflector(world.host, VM_ADDRESS, REFLECTOR_ADDRESS):
        with world.guest(series, device=world.device(ipv6="on"), module=False, **settings) as guest:
            guest.run(f"mkdir {DISK} && mount -t squashfs -o ro /dev/vdc {DISK}")
            guest.run(f"cp -r {DISK}/etc/. /etc/")
            yield Bed(world, guest)


@pytest.fixture(scope="module")
def beds() -> Iterator[Callable[[str, str], Bed]]:
    """The bed of a kernel and an origin; the suites that follow one another share it."""
    with contextlib.ExitStack() as stack:

        @functools.lru_cache(maxsize=1)
        def bed(series: str, origin: str) -> Bed:
            stack.close()
            return stack.enter_context(_bed(series, origin))

        yield bed


@pytest.fixture(scope="module")
def found() -> list[Comparison]:
    """What the suites have found so far."""
    return []


@contextlib.contextmanager
def _outsourced(guest: Guest) -> Iterator[None]:
    """With the module, and 127.0.0.1 and ::1 outside."""
    guest.run(["insmod", MODULE_PATH])
    far = guest.run("getent ahostsv4 reflector.test").stdout.split()[0]
    places = [f"far={far}", f"own6={VM_ADDRESS}", f"far6={REFLECTOR_ADDRESS}"]
    guest.run(["insmod", _DETOUR_PATH, *places])
    try:
        yield
    finally:
        guest.run("rmmod detour")
        # It cannot go before the last socket is closed, which may happen later.
        guest.wait_for("rmmod vmrpc")


def _run(bed: Bed, suite: Suite) -> Run:
    prefix = suite.full_name("")
    without = [name.removeprefix(prefix) for name in LEFT_OUT if report.belongs(name, suite)]

    def inside() -> int:
        return connections_and_datagrams(bed.guest.run("cat /proc/net/snmp").stdout)

    inside_before, before = inside(), bed.world.counters(bed.guest)
    started = time.monotonic()
    lines = bed.guest.run(suite.command(without), timeout=_LIMIT).stdout.splitlines()
    seconds = time.monotonic() - started
    outcomes = {one.test: one for one in map(Outcome.from_line, lines)}
    counters = {name: value - before[name] for name, value in bed.world.counters(bed.guest).items()}
    return Run(outcomes, seconds, inside() - inside_before, counters)


def _cases() -> Iterator[Any]:
    for series, suite in itertools.product(kernel.SERIES, SUITES):
        long = [pytest.mark.long] * (suite.long or series != _SERIES)
        yield pytest.param(series, suite, marks=long, id=f"{suite.origin}-{suite.name}-{series}")


@pytest.mark.parametrize(("series", "suite"), [*_cases()])
def test_suite(
    beds: Callable[[str, str], Bed], found: list[Comparison], series: str, suite: Suite
) -> None:
    bed = beds(series, suite.origin)
    native = _run(bed, suite)
    with _outsourced(bed.guest):
        outsourced = _run(bed, suite)
    comparison = Comparison(series, suite, native, outsourced)
    found.append(comparison)
    report.write(found)
    bed.guest.check_kernel()
    assert native.passed()
    complaints = comparison.complaints()
    if complaints:
        pytest.fail("\n".join(complaints), pytrace=False)
