# SPDX-License-Identifier: GPL-2.0-or-later
"""The guide, docs/libvirt.md: its XML elements and its session, for tests that type it.

The session is in the indented blocks that begin with a prompt:

    one# virsh domstate guest
    running
    client$ curl http://[2001:db8:1::c0de]/
    …

A line that is ``…`` stands for any number of lines, and ``…`` in a line for any text.
"""

from __future__ import annotations

import re
import select
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lxml import etree  # type: ignore[import-untyped]

from ..base import paths, wait
from ..base.net import Namespace

PAGE = paths.ROOT / "docs/libvirt.md"

_PROMPT = re.compile(r"^([a-z]+)[#$] (.+)$")
_INDENT = "    "
_ANY = "…"
# Text that no command writes.
_END = "\4"
_PATIENCE = 4 * wait.PATIENCE


@dataclass(frozen=True)
class Step:
    """A command, its machine, and its output in the page."""

    where: str
    command: str
    shown: tuple[str, ...]

    def agrees(self, seen: Sequence[str]) -> bool:
        """Whether the output agrees with the page; blank lines do not count."""
        lines = [line.rstrip() for line in seen if line.strip()]
        pattern = "".join(
            r"(?:.*\n)*" if line.strip() == _ANY else f"{_line(line.rstrip())}\n"
            for line in self.shown
            if line.strip()
        )
        return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def _line(text: str) -> str:
    return ".*".join(re.escape(part) for part in text.split(_ANY))


def elements() -> list[etree._Element]:
    """The elements of the page, in its order."""
    shown = re.findall(r"^```xml\n(<vmmnet:net .*?)```$", PAGE.read_text(), re.M | re.S)
    return [etree.fromstring(each) for each in shown]


def steps() -> list[Step]:
    """All steps of the page, in its order."""
    result: list[Step] = []
    within = False
    for line in PAGE.read_text().splitlines():
        text = line.removeprefix(_INDENT)
        if not line.startswith(_INDENT) and line:
            within = False
            continue
        prompt = _PROMPT.match(text) if line else None
        if prompt:
            within = True
            result.append(Step(prompt[1], prompt[2], ()))
        elif within and result:
            last = result[-1]
            result[-1] = Step(last.where, last.command, (*last.shown, text))
    return result


class Shell:
    """An interactive shell."""

    def __init__(self, space: Namespace, *words: str | Path) -> None:
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._child = space.popen([*words], **streams, stderr=subprocess.STDOUT)

    def type(self, command: str) -> list[str]:
        """Run a command; returns the lines that it prints until its end."""
        assert self._child.stdin is not None
        line = f"{{ {command}\n}} </dev/null\nprintf '{_END}'\n"
        self._child.stdin.write(line.encode())
        self._child.stdin.flush()
        return self._read(command).splitlines()

    def _read(self, command: str) -> str:
        assert self._child.stdout is not None
        descriptor, deadline, seen = self._child.stdout.fileno(), time.monotonic() + _PATIENCE, b""
        while not seen.endswith(_END.encode()):
            left = deadline - time.monotonic()
            if left < 0 or not select.select([descriptor], [], [], left)[0]:
                raise TimeoutError(f"{command}: no end within {_PATIENCE:g} s, but {seen!r}")
            piece = self._child.stdout.read1(1 << 16)  # type: ignore[attr-defined]
            if not piece:
                raise EOFError(f"{command}: the shell has ended after {seen!r}")
            seen += piece
        return seen.decode(errors="replace").removesuffix(_END)
