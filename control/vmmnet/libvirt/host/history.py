# SPDX-License-Identifier: GPL-2.0-or-later
"""The hook's last events for each VM: /run/vmmnet/events/UUID, an event a line, in JSON.

The journal has all of them; this is for questions about one VM.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from . import whole

FOLDER = "events"

# Maximum events of a VM; the oldest is dropped.
_EVENTS = 8
# Maximum octets of one event.
_ACTIONS, _LONGEST = 16, 500
# Maximum VMs, as some never return.
_VMS = 512


@dataclass(frozen=True, slots=True)
class Event:
    """One call of the hook that did something."""

    #: In UTC, like 2026-11-26T02:10:11Z.
    time: str
    #: libvirt's name of it.
    event: str
    did: tuple[str, ...] = ()
    #: Reason of a failure; None: all was done.
    failed: str | None = None


def record(run: Path, uuid: str, kind: str, did: Sequence[str], failed: str | None) -> None:
    """Note an event, below the folder ``run``. Errors are ignored."""
    if not did and failed is None:
        return
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    actions = tuple(each[:_LONGEST] for each in did[:_ACTIONS])
    event = Event(now, kind, actions, failed and failed[:_LONGEST])
    lines = [json.dumps(asdict(each)) for each in [*read(run, uuid), event][-_EVENTS:]]
    with contextlib.suppress(OSError):
        whole.write(run / FOLDER / uuid, "".join(f"{line}\n" for line in lines))
        _prune(run / FOLDER)


def read(run: Path, uuid: str) -> list[Event]:
    """The last events of a VM, the oldest first; invalid lines are skipped."""
    try:
        lines = (run / FOLDER / uuid).read_text().splitlines()[-_EVENTS:]
    except (OSError, ValueError):
        return []
    found = []
    for line in lines:
        with contextlib.suppress(ValueError, TypeError):
            event = Event(**json.loads(line))
            found.append(Event(event.time, event.event, tuple(event.did), event.failed))
    return found


def _prune(folder: Path) -> None:
    files = list(folder.iterdir())
    if len(files) > _VMS:
        min(files, key=lambda each: each.stat().st_mtime).unlink()
