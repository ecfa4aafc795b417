# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt rotate``: files of an audit log, with a simulated daemon."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from lab.base import commandline
from vmmnet import libvirtd
from vmmnet.command.status import Refused
from vmmnet.libvirt import names


class Daemon:
    """A daemon whose domain writes to the file that it was last told of."""

    def __init__(self, log: Path, attributes: str) -> None:
        self.xml = f"""<domain type='kvm'><name>guest</name><metadata>
            <vmmnet:net xmlns:vmmnet='{names.NET}'>
            <vmmnet:sockets address6='2001:db8:1::c0de' {attributes}/></vmmnet:net>
            </metadata><devices/></domain>"""
        self.runs, self.takes, self.where = True, True, "qemu:///system"
        self._file = log.open("a")

    def uri(self) -> str:
        """What is given."""
        return self.where

    def is_running(self, _: str) -> bool:
        """What is given."""
        return self.runs

    def running(self, _: str) -> str:
        """What is given."""
        return self.xml

    def monitor(self, _: str, command: str, arguments: Mapping[str, Any]) -> None:
        """Take another file."""
        assert command == "chardev-change" and arguments["id"] == names.AUDIT
        backend = arguments["backend"]
        assert backend["type"] == "file" and backend["data"]["append"] is True
        if not self.takes:
            raise Refused("QEMU does not answer to chardev-change: it is busy")
        # QEMU may open it, and not make it.
        self._file = os.fdopen(os.open(backend["data"]["out"], os.O_WRONLY | os.O_APPEND), "a")

    def write(self, text: str) -> None:
        """A line of the log."""
        self._file.write(f"{text}\n")
        self._file.flush()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "guest.jsonl"


@pytest.fixture
def daemon(log: Path, monkeypatch: pytest.MonkeyPatch) -> Daemon:
    made = Daemon(log, f"audit='{log}'")

    @contextlib.contextmanager
    def opened(_: str | None) -> Iterator[Daemon]:
        yield made

    monkeypatch.setattr(libvirtd, "opened", opened)
    return made


def rotate(*words: str) -> commandline.Answer:
    return commandline.run("libvirt", "rotate", "guest", *words)


def files(log: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in sorted(log.parent.iterdir())}


def test_lines_go_on_in_another_file(daemon: Daemon, log: Path) -> None:
    for number in range(4):
        daemon.write(f"line {number}")
        assert rotate("--keep", "2").status == 0
    daemon.write("line 4")
    assert files(log) == {
        "guest.jsonl": "line 4\n",
        "guest.jsonl.1": "line 3\n",
        "guest.jsonl.2": "line 2\n",
    }
    assert log.stat().st_mode & 0o777 == 0o600


def test_qemu_that_refuses_keeps_its_file(daemon: Daemon, log: Path) -> None:
    daemon.write("before")
    daemon.takes = False
    answer = rotate()
    assert answer.status == 1 and "it is busy" in answer.err
    daemon.write("after")
    assert files(log) == {"guest.jsonl": "before\nafter\n"}


def test_what_cannot_be(daemon: Daemon, log: Path) -> None:
    daemon.runs = False
    assert "does not run" in rotate().err
    daemon.runs = True
    daemon.where = "qemu+ssh://other/system"
    assert "another host's" in rotate().err
    daemon.where = "qemu:///system"
    assert "'0' is no number from 1 to 1000" in rotate("--keep", "0").err
    log.unlink()
    answer = rotate()
    assert answer.status == 1 and str(log) in answer.err
    daemon.xml = daemon.xml.replace("audit=", "policy=")
    assert "has no audit log" in rotate().err
