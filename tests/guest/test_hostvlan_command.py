# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet hostvlan`` asks real QEMUs, and they follow the table that it writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from lab.base import commandline, scratch, wait
from lab.guest import qemu

A, B, C = "52:54:00:00:00:01", "52:54:00:00:00:02", "52:54:00:00:00:03"


class Host:
    """A table and QEMUs that have a port each, without a guest."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        self.table = folder / "lnid.table"

    def start(self, name: str, mac: str) -> None:
        """Start a QEMU and wait until it answers."""
        path = self.folder / f"{name}.qmp"
        command: list[str | Path] = [
            qemu.binary(),
            *("-name", name, "-machine", "none,accel=qtest", "-display", "none", "-nodefaults"),
            *("-qmp", f"unix:{path},server=on,wait=off"),
            *("-netdev", "hubport,id=net0,hubid=0"),
            *("-netdev", f"hostvlan,id=hv0,netdev=net0,table={self.table},mac={mac}"),
        ]
        process = qemu.QemuProcess(command, netns=None, stderr=self.folder / f"{name}.log")
        self._stack.callback(process.stop)
        process.connect(path).close()

    def run(self, *words: str) -> commandline.Answer:
        """Run a sub-command on this table."""
        return commandline.run("hostvlan", *words, "--table", str(self.table))

    def lnids(self) -> dict[str, list[int]]:
        """What the QEMUs go by, by VM."""
        qmp = str(self.folder / "*.qmp")
        answer = commandline.run("hostvlan", "watch", "--count", "1", "--json", "--qmp", qmp)
        assert answer.status == 0, answer.out
        return {port["vm"]: port["lnids"] for port in json.loads(answer.out)["ports"] if port["vm"]}

    def check(self) -> commandline.Answer:
        """Look for disagreement."""
        return self.run("check", "--qmp", str(self.folder / "*.qmp"))


@pytest.fixture
def host() -> Iterator[Host]:
    with scratch.folder() as folder, ExitStack() as stack:
        yield Host(Path(folder), stack)


def test_qemus_follow_the_command(host: Host) -> None:
    host.start("one", A)
    host.start("two", B)
    # There is no table yet.
    answer = host.check()
    assert answer.status == 3 and "one/hv0: " in answer.out
    host.run("add", A, "7")
    wait.until(lambda: host.lnids() == {"one": [7], "two": []}, "QEMU sees a new table")
    # In place.
    host.run("add", A, "8", "global")
    wait.until(lambda: host.lnids()["one"] == [0, 7, 8], "QEMU sees a change")
    answer = host.check()
    assert answer.status == 3
    assert f"two/hv0: {B} is not in the table, so that nothing passes" in answer.out
    assert "one/hv0" not in answer.out
    # In a new file, of which no frame tells them.
    many = host.folder / "many.csv"
    many.write_text(f"mac,lnids\n{A},9\n{B},9\n{C},9\n")
    assert host.run("import", str(many)).status == 0
    wait.until(lambda: host.lnids() == {"one": [9], "two": [9]}, "QEMU opens the new file")
    answer = host.check()
    assert (answer.status, answer.out) == (0, f"{host.table}: no fault found\n")


def test_check_finds_a_port_with_another_table(host: Host) -> None:
    host.start("one", A)
    host.run("add", A, "7")
    host.table = host.folder / "other.table"
    host.run("add", A, "7")
    answer = host.check()
    assert answer.status == 3
    assert f"one/hv0 uses another table, {host.folder / 'lnid.table'}" in answer.out
