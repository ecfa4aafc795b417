# SPDX-License-Identifier: GPL-2.0-or-later
"""The only controller: its state is in a file."""

from __future__ import annotations

from pathlib import Path

from . import state
from .keeper import File, Lead, Led
from .say import say


class Alone:
    """A keeper.Keeper whose controller always leads."""

    def __init__(self, path: Path, led: Led) -> None:
        self._path, self._led = path, led
        self._written = state.State()

    def load(self, path: Path | None) -> None:
        """Take the file that is given, or that of the last run."""
        try:
            before = state.read(self._path)
        except state.StateError as error:
            say(str(error))
            before = state.State()
        path = path or before.plan
        if path:
            file = File.read(path)
            self._led.set_plan(file.path, file.plan)
        self._led.lead(Lead(None, before.numbers))

    def start(self) -> None:
        """Nothing is to be done meanwhile."""

    async def stop(self) -> None:
        """Remember all."""
        self.save()

    def leads(self) -> bool:
        """There is nobody else."""
        return True

    async def apply(self, file: File) -> None:
        """Have everything so."""
        self._led.set_plan(file.path, file.plan)

    async def rekey(self) -> None:
        """Make all keys anew."""
        self._led.make_keys()

    def save(self) -> None:
        """Write the file if it would be another."""
        now = state.State(self._led.plan_path, tuple(self._led.numbers()))
        if now == self._written:
            return
        try:
            state.write(self._path, now)
            self._written = now
        except state.StateError as error:
            say(f"cannot remember what NICs have: {error}")

    def sharing(self) -> None:
        """Nobody."""
