# SPDX-License-Identifier: GPL-2.0-or-later
"""CPython's and Go's own tests cannot tell outsourced sockets from native ones.

Each suite runs twice in one guest: before the module is loaded, and with it and
127.0.0.1 an address of the outside; see ``suites``.  Every test has to end in
the same way, except for those that ``suites/known.toml`` names.  What was found
is in build/suites.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from vmmnet.testbed import kernel, peers
from vmmnet.testbed.guest import MODULE_PATH, Guest
from vmmnet.testbed.lab import REFLECTOR_ADDRESS, VM_ADDRESS, lab

_SCRIPTS = Path(__file__).parent / "suites"
sys.path.insert(0, str(_SCRIPTS.parent))

from suites import image, report  # noqa: E402
from suites.catalogue import DISK, SUITES, Suite  # noqa: E402
from suites.known import LEFT_OUT  # noqa: E402
from suites.outcome import Outcome  # noqa: E402
from suites.report import Comparison, Run  # noqa: E402

_FOLDER = "/usr/lib/vmmnet/tests/suites"
_DETOUR_PATH = "/usr/lib/vmmnet/detour.ko"
#: Seconds that one run of a suite may take.
_LIMIT = 2400
#: The kernel on which the suites that are not long are part of make check.
_SERIES = kernel.SERIES[-1]

T = TypeVar("T")


@pytest.fixture(scope="module")
def guest(request: pytest.FixtureRequest) -> Iterator[Guest]:
    """A guest with the suites, whose modules are not loaded."""
    series: str = request.param
    files: dict[str, bytes | Path] = {
        MODULE_PATH: kernel.build_module(series),
        _DETOUR_PATH: kernel.build_module(series, _SCRIPTS / "detour"),
    }
    files |= {f"{_FOLDER}/{path.name}": path for path in _SCRIPTS.glob("*.py")}
    settings: dict[str, Any] = {"files": files, "disks": (image.suites(),), "memory": "1G"}
    with lab() as world, peers.reflector(world.host, VM_ADDRESS, REFLECTOR_ADDRESS):
        with world.guest(series, ipv6=False, module=False, **settings) as running:
            running.run(f"mkdir {DISK} && mount -t squashfs -o ro /dev/vdc {DISK}")
            running.run(f"cp -r {DISK}/etc/. /etc/")
            yield running


@pytest.fixture(scope="module")
def found() -> Iterator[list[Comparison]]:
    """What all suites have found; it is written down at the end."""
    comparisons: list[Comparison] = []
    yield comparisons
    for file in report.write(comparisons):
        print(f"written: {file}")


@contextlib.contextmanager
def _outsourced(guest: Guest) -> Iterator[None]:
    """With the module, and 127.0.0.1 outside."""
    guest.run(["insmod", MODULE_PATH])
    far = guest.run("getent ahostsv4 reflector.test").stdout.split()[0]
    guest.run(["insmod", _DETOUR_PATH, f"far={far}"])
    yield
    guest.run("rmmod detour")
    # It cannot go before the last socket is closed, which may happen later.
    guest.wait_for("rmmod vmrpc")


def _run(guest: Guest, suite: Suite) -> Run:
    prefix = suite.full_name("")
    without = [name.removeprefix(prefix) for name in LEFT_OUT if report.belongs(name, suite)]
    started = time.monotonic()
    lines = guest.run(suite.command(without), timeout=_LIMIT).stdout.splitlines()
    outcomes = (Outcome.from_line(line) for line in lines)
    return Run({one.test: one for one in outcomes}, time.monotonic() - started)


def _short_or_long(values: Iterable[T], is_long: Callable[[T], bool]) -> list[Any]:
    return [pytest.param(each, marks=[pytest.mark.long] * is_long(each)) for each in values]


@pytest.mark.parametrize(
    "suite", _short_or_long(SUITES, lambda suite: suite.long), ids=lambda suite: suite.name
)
@pytest.mark.parametrize(
    "guest", _short_or_long(kernel.SERIES, lambda series: series != _SERIES), indirect=True
)
def test_suite(guest: Guest, found: list[Comparison], suite: Suite) -> None:
    native = _run(guest, suite)
    with _outsourced(guest):
        outsourced = _run(guest, suite)
    comparison = Comparison(guest.config.kernel, suite, native, outsourced)
    found.append(comparison)
    guest.check_kernel()
    assert any(outcome.kind == "passed" for outcome in native.outcomes.values())
    complaints = comparison.complaints()
    if complaints:
        pytest.fail("\n".join(complaints), pytrace=False)
