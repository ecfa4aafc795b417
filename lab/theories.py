# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the index of the theories of operation, docs/theories.md.

    python3 -m lab.theories

A theory of operation is a part of the comment that a file opens with, and begins with these words.
The first sentence of the comment says what it is about. A unit test compares the page with the
sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from .base import paths, tools

PAGE = paths.ROOT / "docs" / "theories.md"
#: Tests explain themselves where they are.
_PATTERNS = ("*.c", "*.h", "*.py", ":!tests", ":!bench", ":!lab", ":!examples")
_LINES = 25
_HEAD = """\
# Theories of operation

A file that has one explains there how its part works, and why it works so. `python3 -m
lab.theories` writes this page.
"""


def about(text: str) -> str | None:
    """What the comment at the top of a file is about; None: it has no theory of operation."""
    lines = [re.sub(r'^(/\*| \*|""")?/? ?', "", line) for line in text.splitlines()[:_LINES]]
    if not any(line.startswith("Theory of operation") for line in lines):
        return None
    said = [line.strip() for line in lines if "SPDX-License-Identifier" not in line]
    while said and not said[0]:
        del said[0]
    first = " ".join(said[: said.index("")])
    return re.split(r"(?<=\w)\. ", first)[0].rstrip(".").replace("|", "\\|")


def _found() -> Iterator[tuple[str, str]]:
    # The clone may be of another user than root, who runs the checks.
    git = ["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard", "--"]
    for name in sorted(tools.run([*git, *_PATTERNS], cwd=paths.ROOT).splitlines()):
        path = paths.ROOT / name
        if path.is_file() and (what := about(path.read_text())):
            yield name, what


def _room(name: str) -> str:
    """The folder that a file's part is listed by."""
    parts = Path(name).parts[:-1]
    deep = 3 if parts[:2] == ("hw", "net") else 2 if parts[0] in ("hw", "net", "control") else 1
    return "/".join(parts[:deep])


def page() -> str:
    """The whole page."""
    text = _HEAD
    for room, files in groupby(_found(), lambda each: _room(each[0])):
        text += f"\n## {room}\n\n"
        for name, what in files:
            text += f"- [`{name}`](../{name}): {what}\n"
    return text


if __name__ == "__main__":
    PAGE.write_text(page())
