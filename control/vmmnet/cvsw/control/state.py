# SPDX-License-Identifier: GPL-2.0-or-later
"""The controller's state file, in JSON.

It has the plan's path, and the numbers of associations that NICs may have, but no keys. If
the file is lost, traffic stops until all keys are replaced.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

_VERSION = 1

#: Sender, receiver, number, and whether the sender's flows name it.
Number = tuple[bytes, bytes, int, bool]


class StateError(Exception):
    """The file cannot be read or written; the message names it."""


@dataclass(frozen=True)
class State:
    """The contents of the file."""

    plan: Path | None = None
    numbers: tuple[Number, ...] = ()


def read(path: Path) -> State:
    """The last state; an empty one if there is no file. Raises StateError."""
    try:
        value = json.loads(path.read_text())
        if value["version"] != _VERSION:
            raise StateError(f"{path}: version {value['version']}, not {_VERSION}")
        numbers = tuple(
            (bytes.fromhex(sender), bytes.fromhex(receiver), int(number), bool(is_used))
            for sender, receiver, number, is_used in value["associations"]
        )
        return State(Path(value["plan"]) if value["plan"] else None, numbers)
    except FileNotFoundError:
        return State()
    except OSError as error:
        raise StateError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise StateError(
            f"{path}: damaged ({error}): the file of tenants in force and the numbers of keys are"
            " forgotten"
        ) from None


def set_aside(path: Path) -> Path | None:
    """Keep a file that cannot be used under another name; None: that is not possible."""
    kept = path.with_name(f"{path.name}.damaged")
    try:
        return path.replace(kept)
    except OSError:
        return None


def write(path: Path, state: State) -> None:
    """Replace the file as a whole, on the disk; if that fails it stays. Raises StateError."""
    value = {
        "version": _VERSION,
        "plan": str(state.plan) if state.plan else None,
        "associations": [
            [sender.hex(), receiver.hex(), number, is_used]
            for sender, receiver, number, is_used in state.numbers
        ],
    }
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with contextlib.ExitStack() as made:
            made.callback(part.unlink, missing_ok=True)
            part.touch(0o600, exist_ok=False)
            with part.open("w") as stream:
                json.dump(value, stream)
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(path)
            folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
            made.callback(os.close, folder)
            os.fsync(folder)
    except OSError as error:
        raise StateError(f"{error.filename or path}: {error.strerror}") from None
