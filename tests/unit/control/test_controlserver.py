# SPDX-License-Identifier: GPL-2.0-or-later
"""The control socket of daemons in Python, as the agent of HostVLAN runs it."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.base import paths, wait
from vmmnet import controlserver, controlsocket, log


class Told:
    """A daemon with little to say."""

    def show(self) -> str:
        """Two lines."""
        return "one\ntwo\n"

    def value(self) -> Any:
        """Not only ASCII."""
        return {"ports": ["\u00e4"]}

    def metrics(self) -> str:
        """One number."""
        return "m 1\n"


@pytest.fixture
def said() -> list[str]:
    """What it has said."""
    return []


@pytest.fixture
def path(tmp_path: Path, said: list[str]) -> Iterator[Path]:
    """A socket that is served, in a folder that tests may remove."""
    folder = tmp_path / "run"
    folder.mkdir()
    path = folder / "control"
    with contextlib.closing(controlserver.Background(path, 0o666, Told(), said.append)):
        wait.until(path.exists, "the socket is there")
        yield path
    assert not path.exists()


@pytest.fixture
def level() -> Iterator[None]:
    """The level of the log is as before."""
    before = log.level()
    yield
    log.set_level(before)


def raw(path: Path, octets: bytes) -> bytes:
    """The answer to octets, as from a client that sends no more."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(str(path))
        client.sendall(octets)
        client.shutdown(socket.SHUT_WR)
        return client.makefile("rb").read()


def test_requests(path: Path) -> None:
    assert controlsocket.ask(path, "show") == "one\ntwo\n"
    assert json.loads(controlsocket.ask(path, "show json")) == Told().value()
    assert controlsocket.ask(path, "metrics") == "m 1\n"
    assert raw(path, b"metrics\nlog\nmetrics\n") == b"m 1\nok\nlog level notice\nok\nm 1\nok\n"
    assert path.stat().st_mode & 0o777 == 0o666


@pytest.mark.parametrize("line", ["", "shows", "show  json", "log notice notice", "show JSON"])
def test_a_request_that_is_none(path: Path, line: str) -> None:
    with pytest.raises(controlsocket.Refused, match=f"'{line}' is no request: there are show,"):
        controlsocket.ask(path, line)


def test_a_line_that_is_too_long_ends_the_connection(path: Path) -> None:
    long = b"show" * 300 + b"\n"
    assert raw(path, long + b"show\n") == b"error a line has at most 1024 octets\n"
    answer = raw(path, b"metrics\n" + long + b"metrics\n")
    assert answer == b"m 1\nok\nerror a line has at most 1024 octets\n"


def test_a_level_changes_what_is_logged(
    path: Path, level: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert controlsocket.ask(path, "log") == "log level notice\n"
    assert controlsocket.ask(path, "log error") == "log level error\n"
    log.say("d", "a notice")
    log.say("d", "an error", "error")
    assert controlsocket.ask(path, "log debug") == "log level debug\n"
    logging.getLogger("vmmnet").debug("more")
    assert capsys.readouterr().err == "d: an error\nmore\n"
    with pytest.raises(controlsocket.Refused, match="'loud' is none of error, warning, notice"):
        controlsocket.ask(path, "log loud")


def test_lines_in_the_journal_have_their_level(tmp_path: Path) -> None:
    """And no name, which the journal knows."""
    code = "from vmmnet import log; log.say('d', 'a notice'); log.say('d', 'an error', 'error')"
    with (tmp_path / "journal").open("wb") as journal:
        at = os.fstat(journal.fileno())
        for stream in (f"{at.st_dev}:{at.st_ino}", f"{at.st_dev}:1"):
            env = os.environ | {"JOURNAL_STREAM": stream, "PYTHONPATH": str(paths.ROOT / "control")}
            subprocess.run([sys.executable, "-c", code], env=env, stderr=journal, check=True)
    lines = (tmp_path / "journal").read_text().splitlines()
    assert lines == ["<5>a notice", "<3>an error", "d: a notice", "d: an error"]


def test_others_may_not_change_the_level(path: Path, level: None) -> None:
    """They may ask for it."""
    reading, writing = os.pipe()
    for each in path.parents:
        if each.stat().st_uid == os.geteuid() and not each.stat().st_mode & 0o001:
            each.chmod(each.stat().st_mode | 0o011)
    child = os.fork()
    if not child:
        os.setuid(65534)
        os.write(writing, raw(path, b"log\nlog debug\n"))
        os._exit(0)
    os.waitpid(child, 0)
    answer = os.read(reading, 4096)
    os.close(reading)
    os.close(writing)
    assert answer.startswith(b"log level notice\nok\nerror log: only root")
    assert log.level() == "notice"


def test_many_clients(path: Path) -> None:
    """One too many is told so, and hinders none of the others."""
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            for _ in range(controlserver.CLIENTS_MAX)
        ]
        for each in clients:
            each.connect(str(path))
            # It is served, not only in the queue of the socket.
            each.sendall(b"log\n")
            assert each.recv(100)
        assert raw(path, b"") == b"error too many connections\n"
        clients[0].sendall(b"metrics\n")
        assert clients[0].recv(100) == b"m 1\nok\n"
    wait.until(lambda: raw(path, b"metrics\n") == b"m 1\nok\n", "there is room again")


def test_a_socket_that_was_removed_is_there_again(path: Path, said: list[str]) -> None:
    """Also if its folder was, as others may empty /run."""
    path.unlink()
    wait.until(path.exists, "it is there again")
    wait.until(lambda: said == [f"{path} was removed: it is there again"], "it was said")
    path.unlink()
    path.parent.rmdir()
    wait.until(lambda: said[-1] == f"{path} was removed: No such file or directory", "it was said")
    path.parent.mkdir()
    wait.until(path.exists, "it is there again")
    assert controlsocket.ask(path, "metrics") == "m 1\n"


def test_a_folder_that_comes_later(tmp_path: Path, said: list[str]) -> None:
    path = tmp_path / "run" / "control"
    with contextlib.closing(controlserver.Background(path, 0o600, Told(), said.append)):
        wait.until(lambda: said == [f"{path}: No such file or directory"], "it was said")
        path.parent.mkdir()
        wait.until(path.exists, "it is there")
        assert controlsocket.ask(path, "metrics") == "m 1\n"
        wait.until(lambda: said[1:] == [f"{path}: it is there now"], "it was said")


def test_a_file_that_is_no_socket_stays(tmp_path: Path, said: list[str]) -> None:
    path = tmp_path / "control"
    path.write_text("mine")
    with contextlib.closing(controlserver.Background(path, 0o600, Told(), said.append)):
        wait.until(lambda: said, "it was said")
    assert (path.read_text(), said) == ("mine", [f"{path}: there is a file that is no socket"])


def test_the_socket_of_a_dead_daemon_is_replaced(tmp_path: Path, said: list[str]) -> None:
    """That of a living one is not."""
    path = tmp_path / "control"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))
    with contextlib.closing(controlserver.Background(path, 0o600, Told(), said.append)):

        def answers() -> bool:
            try:
                return controlsocket.ask(path, "metrics") == "m 1\n"
            except controlsocket.Unanswered:
                return False

        wait.until(answers, "it answers")
        more: list[str] = []
        with contextlib.closing(controlserver.Background(path, 0o600, Told(), more.append)):
            wait.until(lambda: more == [f"{path}: another daemon answers there"], "it was said")
        assert answers()
    assert not said
