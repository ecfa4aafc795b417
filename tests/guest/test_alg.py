# SPDX-License-Identifier: GPL-2.0-or-later
"""Protocols that carry addresses: FTP through the translator."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from vmmnet.testbed.guest import CommandError, Guest
from vmmnet.testbed.lab import PEER_ADDRESS, Lab, lab
from vmmnet.testbed.peers import ftp

_FILE = "a file that was fetched by FTP\n" * 1000

# How a client of IPv4 asks for a data connection, and what the server, which
# knows IPv6 only, is asked in its place.
_WAYS = {
    "passive": (["--disable-epsv"], "EPSV"),
    "extended-passive": ([], "EPSV"),
    "active": (["--ftp-port", "-", "--disable-eprt"], "EPRT |2|"),
    "extended-active": (["--ftp-port", "-"], "EPRT |2|"),
}

_FTPLIB = """
import ftplib, io
with ftplib.FTP("peer.test") as ftp:
    ftp.login()
    for passive in (True, False):
        ftp.set_pasv(passive)
        print(ftp.nlst())
        ftp.storbinary("STOR copy", io.BytesIO(b"x" * 100000))
        got = io.BytesIO()
        ftp.retrbinary("RETR copy", got.write)
        assert got.getvalue() == b"x" * 100000
"""


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ftp")
    (path / "file").write_text(_FILE)
    return path


@pytest.fixture(scope="module")
def log(world: Lab, folder: Path) -> Iterator[Path]:
    """The log of an FTP server on the peer, which has no IPv4."""
    with ftp(world.peer, folder, PEER_ADDRESS) as path:
        yield path


@pytest.fixture(scope="module")
def guest(world: Lab) -> Iterator[Guest]:
    with world.guest() as booted:
        yield booted


@contextlib.contextmanager
def _new_lines(log: Path) -> Iterator[list[str]]:
    before = len(log.read_text())
    lines: list[str] = []
    yield lines
    lines += log.read_text()[before:].splitlines()


@pytest.mark.parametrize("way", _WAYS)
def test_download(guest: Guest, log: Path, way: str) -> None:
    options, asked = _WAYS[way]
    with _new_lines(log) as lines:
        assert guest.run(["curl", "-sS", *options, "ftp://peer.test/file"]).stdout == _FILE
    assert any(f"<- {asked}" in line for line in lines), lines


@pytest.mark.parametrize("way", _WAYS)
def test_upload(guest: Guest, log: Path, folder: Path, way: str) -> None:
    options, _ = _WAYS[way]
    command = ["curl", "-sS", *options, "-T", "/etc/hostname", f"ftp://peer.test/{way}"]
    guest.run(command)
    assert (folder / way).read_text() == guest.run("cat /etc/hostname").stdout


def test_python_client(guest: Guest, log: Path) -> None:
    assert "file" in guest.run(["python3", "-c", _FTPLIB]).stdout


def test_counted(guest: Guest, log: Path, world: Lab) -> None:
    before = world.counters(guest)["alg_rewritten"]
    guest.run(["curl", "-sS", "--disable-epsv", "ftp://peer.test/file"])
    # the command and its reply
    assert world.counters(guest)["alg_rewritten"] == before + 2


def test_switched_off(world: Lab, log: Path) -> None:
    with world.guest(device=world.device(alg="off")) as booted:
        with pytest.raises(CommandError):
            booted.run(["curl", "-sS", "--disable-epsv", "ftp://peer.test/file"])
        # what needs no gateway goes on
        assert booted.run(["curl", "-sS", "ftp://peer.test/file"]).stdout == _FILE
