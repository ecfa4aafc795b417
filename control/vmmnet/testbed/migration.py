# SPDX-License-Identifier: GPL-2.0-or-later
"""Move a running guest to a second QEMU."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import scratch, wait
from .guest import Guest


class MigrationFailed(RuntimeError):
    """QEMU did not complete the migration; the message is its reason."""


def _await_completion(guest: Guest, timeout: float) -> None:
    """Wait until this side of the migration has ended."""

    def ended() -> str | None:
        info = guest.qmp("query-migrate")
        status: str = info.get("status", "none")
        if status in ("failed", "cancelled"):
            raise MigrationFailed(info.get("error-desc", status))
        return status if status == "completed" else None

    wait.until(ended, "migration", timeout)


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
    """Migrate ``source`` and yield the guest at its new place.

    It goes through a UNIX socket, or to ``uri``, which the source must reach.
    It begins when the target is ``ready``, if that is given; then ``under_way`` is called.

    ``changes`` are fields of GuestConfig that differ there, such as
    ``netns`` or ``qemu``.  Commands that run in the guest keep running, and
    their jobs stay valid.  Leave this block before that of the source.
    """
    target = Guest(**{**dataclasses.asdict(source.config), **changes})
    with scratch.folder() as folder:
        uri = uri or f"unix:{Path(folder) / 'stream'}"
        with target.arriving():
            target.qmp("migrate-incoming", uri=uri)
            if ready:
                wait.until(lambda: ready(target), "a target that is ready")
            with source.agent.handed_over() as switch:
                source.qmp("migrate", uri=uri)
                if under_way:
                    under_way()
                _await_completion(source, timeout)
                _await_completion(target, timeout)
                target.adopt(source, switch)
            yield target
