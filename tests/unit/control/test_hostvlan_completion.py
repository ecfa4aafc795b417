# SPDX-License-Identifier: GPL-2.0-or-later
"""Completions of ``vmmnet`` in a real bash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lab.base import paths
from lab.packages import wheels
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table

CONTROL = paths.ROOT / "control"

# As readline calls the function, with the words as it splits them.
_ASK = """
source "$1"
complete -p vmmnet > /dev/null || exit 1
COMP_LINE=$2 COMP_POINT=${#2}
COMPREPLY=()
_python_argcomplete vmmnet
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offer(table: Path, line: str, argcomplete: Path | None = None) -> list[str]:
    """Return the completions of this line, by the system's argcomplete or that in a folder."""
    folder = argcomplete or Path("/nowhere")
    tools = table.parent / "bin"
    program = tools / "vmmnet"
    if not program.exists():
        tools.mkdir()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m vmmnet "$@"\n')
        program.chmod(0o755)
    script = CONTROL / "completion" / "vmmnet.bash"
    ended = subprocess.run(
        ["bash", "-c", _ASK, "bash", script, line],
        env={
            "PATH": f"{tools}:{folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": f"{CONTROL}:{folder}",
            "VMMNET_TABLE": str(table),
        },
        cwd=table.parent,
        text=True,
        capture_output=True,
        check=True,
    )
    assert ended.stderr == ""
    return ended.stdout.split()


@pytest.fixture
def filled(table: Path) -> Path:
    with Table.change(table) as change:
        change.set(Entry.of(0x525400000001, [7, 70], [0xC0000201]))
        change.set(Entry.of(0x525400000002, [8]))
        change.set(Entry.of(0x525500000003, [0]))
    with Table.change(table) as change:
        change.remove(0x525500000003)
    return table


@pytest.mark.parametrize(
    ("line", "replies"),
    [
        ("vmmnet h", ["hostvlan"]),
        ("vmmnet p", ["policy"]),
        ("vmmnet hostvlan s", ["set", "show", "status", "sync"]),
        ("vmmnet hostvlan show ", ["52:54:00:00:00:01", "52:54:00:00:00:02"]),
        # Bash puts them behind the last colon that is there.
        ("vmmnet hostvlan show 52:54:00:00:00:", ["01", "02"]),
        ("vmmnet hostvlan show 52:5", ["54:00:00:00:01", "54:00:00:00:02"]),
        ("vmmnet hostvlan remove 52:54:00:00:00:01 ", ["7", "70"]),
        ("vmmnet hostvlan remove 52:54:00:00:00:01 7 ", ["70"]),
        ("vmmnet hostvlan add 52:54:00:00:00:01 8 ", ["global", "7", "70"]),
        ("vmmnet hostvlan add 52:54:00:00:00:01 7", ["7", "70"]),
        ("vmmnet hostvlan list --lnid 7", ["7", "70"]),
        ("vmmnet hostvlan list --l", ["--lnid"]),
        ("vmmnet hostvlan remove 52:54:00:00:00:01 --address ", ["192.0.2.1"]),
        ("vmmnet hostvlan export --format ", ["csv", "json"]),
        ("vmmnet hostvlan export lnid.table.", ["lnid.table.lock"]),
        ("vmmnet hostvlan show --table /nowhere ", []),
        ("vmmnet hostvlan show 52:54:00:00:00:01 ", []),
        ("vmmnet hostvlan attach l", ["lo"]),
        ("vmmnet hostvlan attach lo --l2-control ", ["on", "off"]),
        ("vmmnet hostvlan sync --table lnid.table.", ["lnid.table.lock"]),
        ("vmmnet hostvlan import --a", ["--allow-empty"]),
        ("vmmnet hostvlan import --d", ["--dry-run"]),
        ("vmmnet hostvlan con", ["convert"]),
        ("vmmnet hostvlan add --r", ["--router"]),
        ("vmmnet hostvlan set --no-r", ["--no-router"]),
        (
            "vmmnet hostvlan remove 52:54:00:00:00:01 --also 52:5",
            ["54:00:00:00:01", "54:00:00:00:02"],
        ),
        ("vmmnet hostvlan attach lo --ra-guard ", ["on", "off"]),
        ("vmmnet hostvlan agent --q", ["--qmp"]),
        ("vmmnet hostvlan ho", ["hosts"]),
        ("vmmnet hostvlan check --stu", ["--stuck-after"]),
        ("vmmnet hostvlan roles r", ["remove"]),
        ("vmmnet hostvlan nonsense ", []),
        ("vmmnet cvsw run --state lnid.table.", ["lnid.table.lock"]),
        ("vmmnet cvsw run --tls-c", ["--tls-ca", "--tls-cert"]),
        ("vmmnet cvsw run --tls-ca lnid.table.", ["lnid.table.lock"]),
    ],
)
def test_completion(filled: Path, line: str, replies: list[str]) -> None:
    # Bash sorts them.
    assert sorted(offer(filled, line)) == sorted(replies)


@pytest.mark.parametrize(
    ("line", "replies"),
    [
        ("vmmnet hostvlan s", ["set", "show", "status", "sync"]),
        ("vmmnet hostvlan show 52:5", ["54:00:00:00:01", "54:00:00:00:02"]),
        ("vmmnet hostvlan export --format ", ["csv", "json"]),
        ("vmmnet hostvlan nonsense ", []),
    ],
)
def test_completion_with_debian_13s_argcomplete(
    filled: Path, line: str, replies: list[str]
) -> None:
    newer = wheels.installed(paths.ROOT / "tests/unit/control/wheels.txt")
    assert sorted(offer(filled, line, newer)) == sorted(replies)
