# SPDX-License-Identifier: GPL-2.0-or-later
"""Protocols that carry addresses: FTP and SIP through the translator."""

from __future__ import annotations

import contextlib
import importlib.util
import ipaddress
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import scratch, wait
from lab.guest.guest import CommandError, Guest, Job
from lab.peers.lab import (
    OWN_VM_ADDRESS,
    PEER_ADDRESS,
    VM_ADDRESS,
    WEB2_ADDRESS,
    Lab,
    lab,
)
from lab.peers.servers import ftp

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


_PHONE = Path(__file__).with_name("phone.py")
_PHONE_INSIDE = "/usr/lib/vmmnet/tests/phone.py"
_OWN = "192.0.0.2"


def _files() -> dict[str, bytes | Path]:
    """What guests have for these tests: a phone, and Debian's FTP server in Python."""
    found = importlib.util.find_spec("pyftpdlib")
    assert found is not None and found.origin is not None
    sources = Path(found.origin).parent.glob("*.py")
    inside = "/usr/lib/python3/dist-packages/pyftpdlib"
    return {_PHONE_INSIDE: _PHONE, **{f"{inside}/{file.name}": file for file in sources}}


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
    with world.guest(ipv6=False, files=_files()) as booted:
        yield booted


@pytest.fixture(scope="module")
def phone(world: Lab) -> Iterator[Path]:
    """What a phone on the peer has heard; it wants sound at another address of it."""
    with scratch.folder() as folder:
        log = Path(folder) / "phone"
        command = [sys.executable, _PHONE, "answer", PEER_ADDRESS, WEB2_ADDRESS]
        with log.open("wb") as out, world.peer.started(command, stdout=out, stderr=out) as child:
            wait.listening(child.pid, 5060)
            yield log


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


@pytest.fixture
def server(guest: Guest) -> Iterator[Job]:
    """An FTP server in the guest, which knows IPv4 only, and says what it is told."""
    guest.run("mkdir -p /srv/ftp")
    guest.put(_FILE.encode(), "/srv/ftp/file")
    job = guest.spawn("exec python3 -m pyftpdlib -D -w -i 0.0.0.0 -p 21 -d /srv/ftp 2>&1")
    job.wait_output("starting FTP server")
    yield job
    job.kill()
    job.wait()


@pytest.mark.parametrize(
    ("options", "told"),
    [([], "EPSV"), (["--ftp-port", "-"], "EPRT |1|198.1")],
    ids=["passive", "active"],
)
def test_server_in_the_guest(
    world: Lab, guest: Guest, server: Job, folder: Path, options: list[str], told: str
) -> None:
    """Clients outside know IPv6 only, whichever side makes the data connection."""
    curl = ["curl", "-6", "-sS", *options]
    assert world.peer.run([*curl, f"ftp://[{VM_ADDRESS}]/file"]).stdout == _FILE
    world.peer.run([*curl, "-T", folder / "file", f"ftp://[{VM_ADDRESS}]/copy"])
    assert guest.get("/srv/ftp/copy").decode() == _FILE
    server.wait_output(re.escape(f"<- {told}"))
    assert "2001:db8" not in server.output().stdout


# --- SIP --------------------------------------------------------------------------


def _heard(lines: str, call: str) -> dict[str, dict[str, str]]:
    """What came in a call: messages by their method or code, and "sound"."""
    records = [json.loads(line) for line in lines.splitlines()]
    return {
        record["kind"].removeprefix("SIP/2.0 ").split()[0]: record
        for record in records
        if record["call"] == call
    }


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_call(guest: Guest, phone: Path, transport: str) -> None:
    """Both phones read addresses of their own family, and what they read leads there."""
    command = ["python3", _PHONE_INSIDE, "call", "peer.test", transport, transport]
    inside = _heard(guest.run(command).stdout, transport)

    def over() -> dict[str, dict[str, str]] | None:
        heard = _heard(phone.read_text(), transport)
        return heard if {"200", "sound"} <= heard.keys() else None

    outside = wait.until(over, "the end of the call")
    assert outside is not None
    assert outside.keys() == {"REGISTER", "INVITE", "ACK", "200", "sound"}
    assert inside.keys() == {"200", "BYE", "sound"}

    invite = outside["INVITE"]["text"]
    assert invite.startswith(f"INVITE sip:peer@[{PEER_ADDRESS}] SIP/2.0\r\n")
    assert f"\r\nc=IN IP6 {VM_ADDRESS}\r\n" in invite
    for name in "REGISTER", "INVITE", "ACK":
        text = outside[name]["text"]
        assert re.search(rf"^Contact: <sip:guest@\[{VM_ADDRESS}\]:\d+>\r$", text, re.M)
    for record in outside.values():
        assert record["from"] == VM_ADDRESS
        assert _OWN not in record["text"] and not re.search(r"198\.1[89]\.", record["text"])

    answered = inside["200"]["text"]
    assert re.search(rf"^Via: SIP/2.0/\w+ {_OWN}:\d+;.*;received={_OWN}\r$", answered, re.M)
    media = re.search(r"^c=IN IP4 (\S+)\r$", answered, re.M)
    assert media and ipaddress.ip_address(media[1]) in ipaddress.ip_network("198.18.0.0/15")
    assert inside["BYE"]["text"].startswith(f"BYE sip:guest@{_OWN}:")
    assert not any("2001:db8" in record["text"] for record in inside.values())

    assert inside["sound"]["text"] == f"from outside, {transport}"
    assert inside["sound"]["from"] == media[1]
    assert outside["sound"]["text"] == f"from inside, {transport}"


# --- without ----------------------------------------------------------------------


def test_switched_off(world: Lab, log: Path, phone: Path) -> None:
    device = world.device(OWN_VM_ADDRESS, alg="off")
    with world.guest(ipv6=False, device=device, files=_files()) as booted:
        with pytest.raises(CommandError):
            booted.run(["curl", "-sS", "--disable-epsv", "ftp://peer.test/file"])
        # what needs no gateway goes on
        assert booted.run(["curl", "-sS", "ftp://peer.test/file"]).stdout == _FILE
        # each phone reads what the other has written
        call = ["python3", _PHONE_INSIDE, "call", "peer.test", "udp", "off"]
        inside = _heard(booted.run(call).stdout, "off")
        assert f"\r\nc=IN IP6 {WEB2_ADDRESS}\r\n" in inside["200"]["text"]
        outside = _heard(phone.read_text(), "off")
        assert f"\r\nc=IN IP4 {_OWN}\r\n" in outside["INVITE"]["text"]
