# SPDX-License-Identifier: GPL-2.0-or-later
"""pytest fixtures over the test bed; the conftest files re-export them."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from ..base import net, process, wait
from ..packages import kernel, peers
from . import guest


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker of tests that are not in make check, and choose the peers."""
    config.addinivalue_line("markers", "long: takes minutes; tests/run --layers suites runs it")
    try:
        peers.choose(peers.chosen())
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error


def kernels(*checked: str) -> list[Any]:
    """Guest kernels as parameters: of these some are in make check, the others in the suites."""
    return [
        pytest.param(one, marks=[pytest.mark.long] * (one not in checked)) for one in kernel.SERIES
    ]


#: Most files are in make check on one kernel; tests/README.md has which is on which.
KERNELS = kernels(kernel.MAIN)
#: Paths of an installed vmmnet.
_INSTALLED = (
    *("/etc/vmmnet", "/etc/libvirt/hooks", "/run/vmmnet", "/run/vmmnet-dns"),
    *("/var/lib/vmmnet", "/var/lib/vmmnet-dns"),
)


@contextlib.contextmanager
def nothing_installed() -> Iterator[None]:
    """Check that tests do not install vmmnet on this machine."""
    missing = [place for place in _INSTALLED if not Path(place).exists()]
    yield
    made = [place for place in missing if Path(place).exists()]
    assert not made, f"a test has made {', '.join(made)}"


@pytest.fixture(scope="session", autouse=True)
def clean_machine() -> Iterator[None]:
    """Remove what killed runs left behind, and prove that this one leaves nothing."""
    # With SystemExit, pytest would fail the current test and go on with the next.
    process.unwind_on_signals(KeyboardInterrupt)
    net.reap_stale()
    with nothing_installed():
        yield
    # Processes that were killed with their session end a moment later.
    wait.until(lambda: not process.owned(), "an end of all processes of the tests")


@pytest.fixture
def network() -> Iterator[net.Network]:
    """An empty test network; its namespaces end with the test."""
    with net.Network() as network:
        yield network


@pytest.fixture(params=kernels(kernel.OLDEST, kernel.NEWEST))
def kernel_series(request: pytest.FixtureRequest) -> str:
    """Run the test once for each guest kernel; in make check with the oldest and the newest."""
    series: str = request.param
    return series


@pytest.fixture(scope="module", params=KERNELS)
def series(request: pytest.FixtureRequest) -> str:
    """Run a file once for each guest kernel; what its other fixtures make is made anew."""
    kernel_series: str = request.param
    return kernel_series


# Debian 12 has no types of it.
@pytest.hookimpl(hookwrapper=True)  # type: ignore[misc,unused-ignore]
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]:
    """Show the folder with the logs of a failed test."""
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        folder = guest.log_folder(item.nodeid)
        logs = sorted(folder.glob("*")) if folder.is_dir() else []
        if logs:
            report.sections.append(("logs kept", "\n".join(map(str, logs))))
