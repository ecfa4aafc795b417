# SPDX-License-Identifier: GPL-2.0-or-later
"""What somebody types who does not know the command ``vmmnet`` yet."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import commandline, paths
from vmmnet.__main__ import ELSEWHERE, parser
from vmmnet.command.parser import Parser

ROOMS = (
    *("audit", "cvsw", "guest-image", "hostvlan", "libvirt", "policy"),
    *("show", "metrics", "log"),
)


def commands(line: Parser) -> Iterator[list[str]]:
    """All commands, rooms included."""
    for name, below in line._below().items():
        yield [name]
        yield from ([name, *each] for each in commands(below))


COMMANDS = list(commands(parser()))


@pytest.mark.parametrize(
    ("words", "prog"),
    [
        (["help"], "vmmnet"),
        (["help", "hostvlan"], "vmmnet hostvlan"),
        (["hostvlan", "help"], "vmmnet hostvlan"),
        (["help", "hostvlan", "add"], "vmmnet hostvlan add"),
        (["hostvlan", "help", "add"], "vmmnet hostvlan add"),
        (["help", "guest-image"], "vmmnet guest-image"),
    ],
)
def test_help_is_a_word(words: list[str], prog: str) -> None:
    answer = commandline.run(*words)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith(f"usage: {prog} [-h]")


def test_the_first_help_says_what_a_room_is_and_where_the_rest_is() -> None:
    said = commandline.run("help").out
    assert "A ROOM is a part of vmmnet" in said
    for program in ("vmmnet-dnsd", "vmmnet-zone", "vmmnet-ha", "vmmnet-hostd", "vmrpc-ss"):
        assert program in said


@pytest.mark.parametrize("word", ["dns", "ha", "mip6", "hostd", "vmrpc", "zone", "run", "version"])
def test_a_room_that_is_elsewhere(word: str) -> None:
    answer = commandline.run(word, "--port", "53")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == f"vmmnet: '{word}': {ELSEWHERE[word]}\nSee 'vmmnet --help'.\n"


def test_pages_that_are_named_are_there() -> None:
    pages = {word for said in ELSEWHERE.values() for word in said.replace(";", " ").split()}
    pages = {page for page in pages if page.startswith("docs/")}
    assert pages and all((paths.ROOT / page).is_file() for page in pages)


def test_a_room_or_a_command_is_missing() -> None:
    assert commandline.run().err.startswith(
        f"vmmnet: a ROOM is missing: there are {', '.join(ROOMS)}\n"
    )
    assert commandline.run("libvirt").err.startswith(
        "vmmnet libvirt: a COMMAND is missing: there are define, check, "
    )


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_wrong_option_is_told_as_one(words: list[str]) -> None:
    """By every command, and not as the value of something else."""
    answer = commandline.run(*words, "--tabel", "x")
    assert answer.status == 2 and ": there is no option '--tabel'" in answer.err, answer.err
    line = parser()
    for word in words:
        line = line._below()[word]
    if "--table" in line._option_string_actions:
        assert "'--tabel': is it '--table'" in answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["hostvlan", "--tabel", "x", "set"], "hostvlan: there is no option '--tabel': is it"
         " '--table', after the command: vmmnet hostvlan set … --table?"),
        (["hostvlan", "list", "-l", "7"], "list: there is no option '-l': is it '--lnid'?"),
        (["hostvlan", "show", "--tabel=x"], "show: there is no option '--tabel': is it '--table'?"),
        (["hostvlan", "show", "-tabel", "x"], "there is no option '-tabel': is it '--table'?"),
        (["-V"], ": there is no option '-V': is it '--version'?"),
        (["hostvlan", "set", "-table", "x"], "there is no option '-table': is it '--table'?"),
    ],
)  # fmt: skip
def test_the_right_option_is_named(words: list[str], said: str) -> None:
    answer = commandline.run(*words)
    assert answer.status == 2 and said in answer.err, answer.err


def test_nothing_is_downloaded_unasked(tmp_path: Path) -> None:
    """``vmmnet guest-image`` alone makes no image."""
    answer = commandline.run("guest-image")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("usage: vmmnet guest-image [-h]")
    assert "vmmnet guest-image: --output names the image to make" in answer.err


@pytest.mark.parametrize("command", ["define", "check", "show"])
def test_libvirt_without_lxml(tmp_path: Path, command: str) -> None:
    file = tmp_path / "guest.xml"
    file.write_text("<domain/>")
    code = "import sys; sys.modules['lxml'] = None; from vmmnet.__main__ import main"
    words = [sys.executable, "-c", f"{code}; sys.exit(main())", "libvirt", command, str(file)]
    env = {"PYTHONPATH": str(paths.ROOT / "control"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(words, env=env, text=True, capture_output=True, check=False)
    lacks = "needs Python's package lxml: apt install python3-lxml, or pip install lxml"
    assert (done.returncode, done.stderr) == (1, f"vmmnet libvirt: {lacks}\n")


def test_what_the_readme_says_to_try_is_in_a_clone() -> None:
    """Each line of its first table begins with a target of make."""
    readme, makefile = ((paths.ROOT / name).read_text() for name in ("README.md", "Makefile"))
    targets = re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)
    table = readme.partition("| try it |\n|---|---|---|\n")[2].partition("\n\n")[0]
    for row in table.splitlines():
        found = re.match(r"`make ([a-z-]+)`", row.split(" | ")[-1])
        assert found and found[1] in targets, row
