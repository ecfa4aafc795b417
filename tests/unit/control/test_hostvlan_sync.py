# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet hostvlan sync``, and changes of the table that do not reach everybody."""

from __future__ import annotations

import errno
import json
import mmap
import os
import stat
from pathlib import Path

import pytest
from lab.base.commandline import Command
from vmmnet.hostvlan.bpf import twin
from vmmnet.hostvlan.bpf.twin import Synced, TwinError
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table, TableError, TableUnsettled

A, B = "52:54:00:00:00:01", "52:54:00:00:00:02"


class Kernel:
    """Stands for the copy in the kernel: remembers who asked for what."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[Path, bool]] = []
        self.answer: Synced | TwinError = Synced.NOBODY
        monkeypatch.setattr(twin, "sync", self._sync)

    def _sync(self, table: Path, *, check: bool = True) -> Synced:
        self.asked.append((table, check))
        if isinstance(self.answer, TwinError):
            raise self.answer
        return self.answer


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    return Kernel(monkeypatch)


@pytest.mark.parametrize("synced", Synced)
def test_sync(hostvlan: Command, table: Path, kernel: Kernel, synced: Synced) -> None:
    """It believes nobody: the table may have been changed by other means."""
    kernel.answer = synced
    answer = hostvlan("sync")
    assert (answer.status, answer.out, answer.err) == (0, f"{table}: {synced.value}\n", "")
    told = json.loads(hostvlan("sync", "--json", "--table", "/other").out)
    assert told == {"table": "/other", "synced": synced.name.lower()}
    assert kernel.asked == [(table, True), (Path("/other"), True)]


def test_sync_that_cannot_be(hostvlan: Command, kernel: Kernel) -> None:
    kernel.answer = TwinError("only root can")
    answer = hostvlan("sync")
    assert (answer.status, answer.out) == (1, "")
    assert answer.err == "vmmnet hostvlan: only root can\n"


def test_who_has_checked_the_table_does_not_check_it_again(
    hostvlan: Command, table: Path, kernel: Kernel, tmp_path: Path
) -> None:
    source = tmp_path / "macs.csv"
    source.write_text(f"{A},1\n{B},2\n")
    commands = (
        ["add", A, "7"],
        ["add", A, "7"],
        ["set", A, "8"],
        ["import", str(source)],
        ["remove", A],
    )
    for words in commands:
        assert hostvlan(*words).status == 0
    assert kernel.asked == [(table, False)] * len(commands)


def test_a_change_that_interfaces_do_not_have(
    hostvlan: Command, table: Path, kernel: Kernel, tmp_path: Path
) -> None:
    """It is made, and said to be; what is left to do is said too."""
    kernel.answer = TwinError("the kernel has had enough")
    answer = hostvlan("add", A, "7")
    assert (answer.status, answer.out) == (4, f"{A}: new, in LNID 7\n")
    assert "may use an older one: the kernel has had enough" in answer.err
    assert "'vmmnet hostvlan sync'" in answer.err
    source = tmp_path / "macs.csv"
    source.write_text(f"{A},7\n{B},8\n")
    answer = hostvlan("import", str(source), "--table", str(table))
    assert answer.status == 4 and "1 new, 0 changed, 1 as before" in answer.out
    told = json.loads(hostvlan("remove", A, "--json").out)
    assert told["changed"] and "the kernel has had enough" in told["error"]
    with Table.open(table) as left:
        assert [entry.lnids for entry in left] == [(8,)]


def test_the_remedy_names_another_table(hostvlan: Command, tmp_path: Path, kernel: Kernel) -> None:
    kernel.answer = TwinError("no")
    other = tmp_path / "a table"
    answer = hostvlan("add", A, "7", "--table", str(other))
    assert f"run 'vmmnet hostvlan sync --table '{other}''" in answer.err


def failing_for_folders(fd: int) -> None:
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        raise OSError(errno.EIO, os.strerror(errno.EIO))


class Unflushed(mmap.mmap):
    """A mapping of a disk that fails."""

    def flush(self, *_: int) -> None:
        """Fail."""
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def failing(fd: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_disk_that_fails_before_or_after_the_change(
    hostvlan: Command, table: Path, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is said of the table is what is in it."""
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", failing)
        answer = hostvlan("add", A, "7")
    assert answer.status == 1 and "No space left on device: nothing is changed" in answer.err
    assert not table.exists()
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", failing_for_folders)
        answer = hostvlan("add", A, "7")
    assert answer.status == 4
    assert "Input/output error: the table is changed, but" in answer.err
    with Table.open(table) as left:
        assert len(left) == 1


def test_a_change_in_place_tells_the_same(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """QEMUs see one MAC's new value before the disk has it; a record they do not see."""
    Table.create(table)
    monkeypatch.setattr(mmap, "mmap", Unflushed)
    inline, record = Entry.of(0x525400000001, [7]), Entry.of(0x525400000001, [7, 8])
    for entry, seen in ((inline, TableUnsettled), (record, TableError)):
        with pytest.raises(TableError) as failed:
            with Table.change(table) as change:
                change.set(entry)
        assert type(failed.value) is seen
    with Table.open(table) as left:
        assert left.get(inline.mac) == inline
