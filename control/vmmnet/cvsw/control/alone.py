# SPDX-License-Identifier: GPL-2.0-or-later
"""The only controller: its state is in a file."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from . import state
from .keeper import File, Lead, Led, NotDone
from .say import say

#: Changes within this many seconds are written together; or within longer, so that writing
#: takes at most this share of the time.
_WRITE_AFTER, _PART = 1.0, 0.1
#: Seconds until a file that cannot be written is tried again.
_RETRY_AFTER = 5.0


class Alone:
    """A keeper.Keeper whose controller always leads."""

    def __init__(self, path: Path, led: Led, write_after: float = _WRITE_AFTER) -> None:
        self._path, self._led, self._write_after = path, led, write_after
        self._written = state.State()
        self._timer: asyncio.TimerHandle | None = None
        self._pause = write_after
        #: Why the file cannot be written, as the log has it.
        self._fault: str | None = None
        self._has_stopped = False

    def load(self, path: Path | None) -> None:
        """Use the given file, or that of the last run."""
        try:
            before = state.read(self._path)
        except state.StateError as error:
            kept = state.set_aside(self._path)
            say(
                f"{error}{f'; it is kept as {kept}' if kept else ''}. All keys are replaced; "
                + (f"{path} is used" if path else "give the file again: 'vmmnet cvsw apply FILE'")
            )
            before = state.State()
        path = path or before.plan
        if path:
            file = File.read(path)
            self._led.set_plan(file.path, file.plan)
        self._led.lead(Lead(None, before.numbers))

    def start(self) -> None:
        """Nothing to start."""

    async def stop(self) -> None:
        """Write the state."""
        self._has_stopped = True
        self._write()

    def leads(self) -> bool:
        """Always: there is no other controller."""
        return True

    async def apply(self, file: File) -> None:
        """Put a file into force, if the next start will find it."""
        self._try(file.path)
        self._led.set_plan(file.path, file.plan)

    async def rekey(self) -> None:
        """Make all keys anew, if their numbers can be kept."""
        self._try(self._led.plan_path)
        self._led.make_keys()

    def _try(self, plan: Path | None) -> None:
        """Write the file with this path of tenants, also if nothing else has changed."""
        now = state.State(plan, tuple(self._led.numbers()))
        try:
            state.write(self._path, now)
        except state.StateError as error:
            raise NotDone(f"--state {error}: nothing is changed") from None
        self._written = now

    def save(self) -> None:
        """Write the file soon, if it would differ."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._pause, self._write)

    def _write(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer, began = None, time.perf_counter()
        self._write_changes()
        if not self._fault:
            self._pause = max(self._write_after, (time.perf_counter() - began) / _PART)

    def _write_changes(self) -> None:
        now = state.State(self._led.plan_path, tuple(self._led.numbers()))
        if now == self._written:
            return
        try:
            state.write(self._path, now)
        except state.StateError as error:
            if str(error) != self._fault:
                say(f"cannot save what NICs have, it is tried again: --state {error}")
            self._fault = str(error)
            self._pause = _RETRY_AFTER
            if not self._has_stopped:
                self.save()
            return
        self._written = now
        if self._fault:
            say(f"what NICs have is saved again: --state {self._path}")
        self._fault = None

    def sharing(self) -> None:
        """None: there is no other controller."""
