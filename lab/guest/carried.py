# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of this machine in a guest, with their own libraries and loader."""

from __future__ import annotations

import re
from pathlib import Path

from ..base import tools

#: Their folder in a guest.
FOLDER = "/usr/lib/carried"


def files(program: Path) -> dict[str, Path]:
    """What a guest needs to run a program, for ``Guest(files=)``."""
    listed = re.findall(r"(/\S+) \(0x", tools.run(["ldd", program]))
    return {f"{FOLDER}/{file.name}": file for file in (program, *map(Path, listed))}


def command(program: Path) -> str:
    """The words that run it there."""
    (loader,) = (name for name in files(program) if Path(name).name.startswith("ld-linux"))
    return f"{loader} --library-path {FOLDER} {FOLDER}/{program.name}"
