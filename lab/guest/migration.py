# SPDX-License-Identifier: GPL-2.0-or-later
"""Move a running guest to a second QEMU."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from ..base import wait
from .guest import Guest

# Octets a second.
_SLOW, _USUAL = 1 << 20, 128 << 20


class MigrationFailed(RuntimeError):
    """QEMU did not complete the migration; the message is its reason."""


def _await_status(guest: Guest, wanted: str, timeout: float = wait.PATIENCE) -> None:
    """Wait until this side of the migration has the status ``wanted``."""

    def there() -> bool:
        info = guest.qmp("query-migrate")
        status: str = info.get("status", "none")
        if status != wanted and status in ("failed", "cancelled"):
            raise MigrationFailed(info.get("error-desc", status))
        return status == wanted

    wait.until(there, f"migration: {wanted}", timeout)


def _enable(guest: Guest, capability: str) -> None:
    wanted = [{"capability": capability, "state": True}]
    guest.qmp("migrate-set-capabilities", capabilities=wanted)


class Move:
    """A migration in its steps, for tests that do something between them.

        with Move(source, netns=there) as move:
            move.begin(standing=True)
            move.await_stand()
            move.go_on()
            move.complete()
            move.target.run("true")

    It goes through a UNIX socket, or to ``uri``, which the source must reach.
    ``changes`` are fields of GuestConfig that differ there, such as ``netns``
    or ``qemu``.  With ``postcopy``, switch() lets the guest run at the target
    before its memory is there.  Inside the block the target waits; commands that run in the
    guest keep running, and their jobs stay valid.  Nothing can be said to the
    guest from ``begin`` to ``complete``.  Leave this block before that of the
    source.
    """

    def __init__(
        self, source: Guest, *, uri: str | None = None, postcopy: bool = False, **changes: Any
    ) -> None:
        self.source = source
        self._postcopy = postcopy
        self.target = Guest(**{**dataclasses.asdict(source.config), **changes})
        self._uri = uri or f"unix:{self.target.folder / 'stream'}"
        self._life = contextlib.ExitStack()
        self._silence = contextlib.ExitStack()
        self._switch: Callable[[socket.socket], None] | None = None

    def __enter__(self) -> Move:
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.target.arriving())
            if self._postcopy:
                _enable(self.target, "postcopy-ram")
            self.target.qmp("migrate-incoming", uri=self._uri)
            self._life = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._silence.close()
        self._life.__exit__(kind, error, trace)

    @property
    def uri(self) -> str:
        """Where the target waits."""
        return self._uri

    def begin(
        self, *, slowly: bool = False, standing: bool = False, through: str | None = None
    ) -> None:
        """Start the migration; with ``slowly``, it does not end before ``hurry`` is called.

        The source connects to ``through``, if given, in the target's place.

        With ``standing`` the guest pauses before the last part of the transfer until go_on();
        management software does the same when disks move as well.
        """
        if standing:
            _enable(self.source, "pause-before-switchover")
        if self._postcopy:
            _enable(self.source, "postcopy-ram")
        if slowly:
            self._limit(_SLOW)
        self._switch = self._silence.enter_context(self.source.agent.handed_over())
        self.source.qmp("migrate", uri=through or self._uri)

    def _limit(self, octets: int) -> None:
        """Send so many octets a second."""
        self.source.qmp(
            "migrate-set-parameters", max_bandwidth=octets, max_postcopy_bandwidth=octets
        )

    def switch(self) -> None:
        """Let the guest go on at the target; its memory follows."""
        self.source.qmp("migrate-start-postcopy")
        _await_status(self.source, "postcopy-active")

    def await_memory(self) -> None:
        """Wait until some of the guest's memory is being transferred."""

        def some() -> bool:
            ram = self.source.qmp("query-migrate").get("ram", {})
            return bool(ram.get("transferred", 0) > 1 << 20)

        wait.until(some, "memory on its way")

    def hurry(self) -> None:
        """Switch to QEMU's usual speed."""
        self._limit(_USUAL)

    def await_stand(self) -> None:
        """Wait until the guest is paused."""
        _await_status(self.source, "pre-switchover")

    def go_on(self) -> None:
        """Let a paused guest go on, at the target."""
        self.source.qmp("migrate-continue", state="pre-switchover")

    def complete(self, timeout: float = wait.PATIENCE, heard: bool = True) -> Guest:
        """Wait until the guest is at the target; returns it.

        Without ``heard``, the source has heard nothing of that: for it, the migration failed.
        """
        assert self._switch is not None
        _await_status(self.source, "completed" if heard else "failed", timeout)
        _await_status(self.target, "completed", timeout)
        self.target.adopt(self.source, self._switch)
        self._silence.close()
        return self.target


@contextlib.contextmanager
def migrated(
    source: Guest,
    *,
    uri: str | None = None,
    timeout: float = wait.PATIENCE,
    ready: Callable[[Guest], object] | None = None,
    under_way: Callable[[], object] | None = None,
    **changes: Any,
) -> Iterator[Guest]:
    """Migrate ``source`` and yield the guest at its target: see Move.

    It begins when the target is ``ready``, if given; then it calls ``under_way``.
    """
    with Move(source, uri=uri, **changes) as move:
        if ready:
            wait.until(lambda: ready(move.target), "a target that is ready")
        move.begin()
        if under_way:
            under_way()
        yield move.complete(timeout)
