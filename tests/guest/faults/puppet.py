# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs on strings: in the guest, on the host, at the peer, and twins.

    client = InGuest(guest)
    client.do("s = connect(PEER, 7)")
    assert client.error("s.recv(1)") == "ECONNRESET"

What a line can say is in marionette.py.  ``begin`` does not wait; what it
returns does.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lab.base import wait
from lab.base.net import Namespace
from lab.guest.guest import Guest

PROGRAM = Path(__file__).with_name("marionette.py")
#: Where a guest finds it.
GUEST_PROGRAM = "/usr/lib/vmmnet/tests/marionette.py"
_LIMIT = wait.PATIENCE


class Failed(AssertionError):
    """A line raised what is no OSError, or ended in another way than expected."""


class Pending:
    """The answer to a line, when there is one."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._answers: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()
        self._answer: list[Any] | None = None

    def settle(self, answer: list[Any]) -> None:
        """The answer has come."""
        self._answers.put(answer)

    def _get(self, kind: str, timeout: float) -> Any:
        if self._answer is None:
            try:
                self._answer = self._answers.get(timeout=timeout)
            except queue.Empty:
                raise TimeoutError(f"{self._source}: not within {timeout:g} s") from None
        if self._answer[0] != kind:
            raise Failed(f"{self._source}: {self._answer[0]}: {self._answer[1]}")
        return self._answer[1]

    def value(self, timeout: float = _LIMIT) -> Any:
        """What it comes to."""
        return self._get("value", timeout)

    def error(self, timeout: float = _LIMIT) -> str:
        """The name of the error that it ends with."""
        name: str = self._get("errno", timeout)
        return name

    def outcome(self, timeout: float = _LIMIT) -> Any:
        """Either of them."""
        with contextlib.suppress(Failed):
            return self.value(timeout)
        return self.error(timeout)

    @property
    def over(self) -> bool:
        """Whether there is an answer."""
        return self._answer is not None or not self._answers.empty()


class Puppet:
    """What can be told to do something: numbers the lines, hands out the answers."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._pending: dict[int, Pending] = {}

    def _send(self, line: str) -> None:
        raise NotImplementedError

    def _receive(self, line: str) -> None:
        number, _, answer = line.partition(" ")
        self._pending.pop(int(number)).settle(json.loads(answer))

    def begin(self, source: str) -> Pending:
        """Begin to do it."""
        number, pending = next(self._numbers), Pending(source)
        self._pending[number] = pending
        self._send(json.dumps([number, source]) + "\n")
        return pending

    def do(self, source: str, timeout: float = _LIMIT) -> Any:
        """Do it; return what it comes to."""
        return self.begin(source).value(timeout)

    def error(self, source: str, timeout: float = _LIMIT) -> str:
        """Do it; return the name of the error that it ends with."""
        return self.begin(source).error(timeout)

    def give(self, names: Mapping[str, object]) -> None:
        """Set variables."""
        self.do("; ".join(f"{name} = {value!r}" for name, value in names.items()))


class Outside(Puppet):
    """A puppet in a network namespace."""

    def __init__(self, space: Namespace) -> None:
        super().__init__()
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._child = space.popen([sys.executable, PROGRAM], **pipes)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            self._receive(line.decode())

    def _send(self, line: str) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(line.encode())
        self._child.stdin.flush()

    def kill(self) -> None:
        """End it without warning."""
        self._child.kill()
        self._child.wait()

    def close(self) -> None:
        """End it, with all that it has open."""
        with contextlib.suppress(BrokenPipeError):
            assert self._child.stdin is not None
            self._child.stdin.close()
        self._child.wait(10)


class InGuest(Puppet):
    """A puppet in the guest."""

    def __init__(self, guest: Guest) -> None:
        super().__init__()
        self._job = guest.spawn(["python3", GUEST_PROGRAM])
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._job.lines():
            self._receive(line)

    def _send(self, line: str) -> None:
        self._job.write(line.encode())

    def kill(self) -> None:
        """End it without warning."""
        self._job.kill(signal.SIGKILL)

    def close(self) -> None:
        """End it, with all that it has open."""
        self._job.close_input()
        self._job.wait(check=True)


class Twins:
    """Two puppets that do the same; each line has to end in the same way."""

    def __init__(self, ours: Puppet, native: Puppet) -> None:
        self.ours, self.native = ours, native

    def begin(self, source: str) -> tuple[Pending, Pending]:
        """Begin to do it, both."""
        return self.ours.begin(source), self.native.begin(source)

    def same(self, both: str | tuple[Pending, Pending], timeout: float = _LIMIT) -> Any:
        """Do it, or wait for its end; return how it ends: a value or an error's name."""
        pair = self.begin(both) if isinstance(both, str) else both
        found, expected = (one.outcome(timeout) for one in pair)
        if found != expected:
            raise Failed(f"{both}: {found}, natively {expected}")
        return found

    def do(self, source: str, timeout: float = _LIMIT) -> tuple[Any, Any]:
        """Do it, both; what it comes to may differ."""
        pair = self.begin(source)
        return pair[0].value(timeout), pair[1].value(timeout)


@contextlib.contextmanager
def outside(space: Namespace, **names: object) -> Iterator[Outside]:
    """A puppet in a namespace for the time of a block."""
    puppet = Outside(space)
    try:
        if names:
            puppet.give(names)
        yield puppet
    finally:
        puppet.close()


@contextlib.contextmanager
def in_guest(guest: Guest, **names: object) -> Iterator[InGuest]:
    """A puppet in the guest for the time of a block."""
    puppet = InGuest(guest)
    try:
        puppet.give(names)
        yield puppet
    except BaseException:
        # It may not listen any more.
        puppet.kill()
        raise
    puppet.close()
