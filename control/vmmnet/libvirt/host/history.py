# SPDX-License-Identifier: GPL-2.0-or-later
"""What the hook did for each VM of late: /run/vmmnet/events/UUID, an event a line, in JSON.

The journal has the same, and more of it; this is for who asks about one VM.
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

# Of a VM; then the oldest goes.
_EVENTS = 8
# Of one event.
_ACTIONS, _LONGEST = 16, 500
# Of the host: VMs that never come again shall not stay for ever.
_VMS = 512


@dataclass(frozen=True, slots=True)
class Event:
    """One call of the hook that had something to do."""

    #: In UTC, like 2026-11-26T02:10:11Z.
    time: str
    #: libvirt's word for it.
    event: str
    did: tuple[str, ...] = ()
    #: Why the rest could not be done; None: all is done.
    failed: str | None = None


def record(run: Path, uuid: str, kind: str, did: Sequence[str], failed: str | None) -> None:
    """Note an event of now, below the folder ``run``. A note is not worth a failure."""
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
    """The last events of a VM, the oldest first; a line that means nothing is passed over."""
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
