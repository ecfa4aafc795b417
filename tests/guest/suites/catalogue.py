# SPDX-License-Identifier: GPL-2.0-or-later
"""Which suites there are, and how each is run in a guest."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from .image import GO_TESTS

#: Where the guest has the disk with the suites.
DISK = "/suites"


@dataclass(frozen=True)
class Suite:
    """The tests of a module of CPython, of a package of Go, or of libuv.

    A ``long`` one is not part of make check, which has no time for all.
    """

    origin: str
    name: str
    long: bool = False

    def command(self, without: Collection[str]) -> list[str]:
        """What runs it in the guest, but for some tests."""
        command = ["env", f"PYTHONPATH=/usr/lib/vmmnet/tests:{DISK}/python", "LANG=C.UTF-8"]
        command += ["python3", "-m"]
        if self.origin == "go":
            binary = f"{DISK}/go/bin/{GO_TESTS[self.name]}.test"
            command += ["suites.golang", binary, f"{DISK}/go/src/{self.name}"]
        elif self.origin == "libuv":
            command += ["suites.libuv", f"{DISK}/libuv/tests"]
        else:
            command += ["suites.cpython", self.name]
        return [*command, "--without", *without]

    def full_name(self, test: str) -> str:
        """The name of a test among those of all suites."""
        return test if self.origin == "cpython" else f"{self.name}.{test}"


_SHORT = ("test_epoll", "test_socket", "test_socketserver")
_LONG = (
    "test_select",
    "test_poll",
    "test_selectors",
    "test_ftplib",
    "test_urllib2_localnet",
    "test_httplib",
    "test_ssl",
)
_ASYNCIO = (
    "base_events",
    "buffered_proto",
    "context",
    "events",
    "futures",
    "futures2",
    "locks",
    "pep492",
    "proactor_events",
    "protocols",
    "queues",
    "runners",
    "selector_events",
    "sendfile",
    "server",
    "sock_lowlevel",
    "ssl",
    "sslproto",
    "streams",
    "subprocess",
    "taskgroups",
    "tasks",
    "threads",
    "timeouts",
    "transports",
    "unix_events",
    "waitfor",
)

SUITES = (
    *(Suite("cpython", name) for name in _SHORT),
    *(Suite("cpython", name, long=True) for name in _LONG),
    *(Suite("cpython", f"test_asyncio.test_{name}", long=True) for name in _ASYNCIO),
    *(Suite("go", name, long=True) for name in GO_TESTS),
    Suite("libuv", "libuv", long=True),
)
