# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-validate: what it says of zones that are right and wrong, whom it serves, what it may do.

QEMU, which asks it, is in ``tests/guest/test_dnssec.py``.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dns.edns
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import pytest
from lab.base import scratch, wait
from lab.base.net import Namespace, Network
from lab.dns import room as dns_room
from lab.dns import signed_zones
from lab.dns.signed_zones import ADDRESS, FORGED
from lab.dns.validator import Validator
from lab.hosts.hostd import NOBODY
from vmmnet import controlsocket

SERVER = "127.0.0.1"


@dataclass
class World:
    """A host with all zones, and a folder."""

    host: Namespace
    folder: Path
    anchor: Path

    def validator(self, name: str, *options: str | Path) -> Validator:
        """One that asks the server of the zones."""
        own = ["--dns", SERVER, "--trust-anchor", self.anchor, *options]
        return Validator(self.host, self.folder / name, *own)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with Network() as network, scratch.folder() as folder:
        host = network.namespace("host")
        Path(folder).chmod(0o755)
        with signed_zones.served(host, Path(folder), SERVER) as anchor:
            yield World(host, Path(folder), anchor)


@pytest.fixture(scope="module")
def validator(world: World) -> Iterator[Validator]:
    with world.validator("shared", "--insecure", "early.vm.example+plain.vm.example") as made:
        yield made


class Stream:
    """A connection to a validator."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(wait.PATIENCE)
        self.socket.connect(str(path))

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, query: dns.message.Message) -> None:
        """Send a query."""
        wire = query.to_wire()
        self.socket.sendall(struct.pack(">H", len(wire)) + wire)

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def receive(self) -> dns.message.Message:
        """Receive the next reply."""
        (length,) = struct.unpack(">H", self._read(2))
        return dns.message.from_wire(self._read(length))

    def ask(self, name: str, kind: str = "A", *, cd: bool = False) -> dns.message.Message:
        """Ask a question with DO."""
        query = dns.message.make_query(name, kind, want_dnssec=True)
        query.flags |= dns.flags.CD if cd else 0
        self.send(query)
        reply = self.receive()
        assert reply.id == query.id
        assert reply.question == query.question
        return reply


def _ede(reply: dns.message.Message) -> tuple[int, str]:
    """The Extended DNS Error and its text; -1 for none."""
    for option in reply.options:
        if option.otype == dns.edns.OptionType.EDE:
            return int(option.code), option.text or ""
    return -1, ""


def _addresses(reply: dns.message.Message) -> list[str]:
    return [
        str(item) for found in reply.answer if found.rdtype == dns.rdatatype.A for item in found
    ]


@pytest.mark.parametrize(
    ("name", "is_secure", "ede"),
    [
        ("www.vm.example", True, -1),
        ("www.nsec3.vm.example", True, -1),
        ("www.wrongds.vm.example.plain.vm.example", False, 5),
        ("www.other.example", False, 5),
        # Below a name of --insecure
        ("www.early.vm.example", False, 5),
    ],
)
def test_right(validator: Validator, name: str, is_secure: bool, ede: int) -> None:
    """AD if it is secure, error 5 if nothing can be said, else neither."""
    with Stream(validator.socket) as stream:
        reply = stream.ask(name)
    assert bool(reply.flags & dns.flags.AD) == is_secure
    assert _ede(reply)[0] == ede
    assert _addresses(reply) == ([] if "wrongds" in name else [ADDRESS])


def test_insecure(world: World) -> None:
    """What is provably not signed has neither."""
    with world.validator("insecure") as made, Stream(made.socket) as stream:
        reply = stream.ask("www.plain.vm.example")
    assert not reply.flags & dns.flags.AD
    assert (_ede(reply)[0], _addresses(reply)) == (-1, [ADDRESS])


@pytest.mark.parametrize(
    ("zone", "ede", "reason"),
    [
        ("expired", 7, "this host's clock says 20"),
        ("wrongds", 9, "DS"),
        ("stripped", 10, "no signatures"),
        ("forged", 6, "signature"),
        ("keytrap", 6, "too many RRSIG validations"),
    ],
)
def test_bogus(validator: Validator, zone: str, ede: int, reason: str) -> None:
    """SERVFAIL with the reason; with CD the data, for who wants to see them, not for long."""
    with Stream(validator.socket) as stream:
        refused = stream.ask(f"www.{zone}.vm.example")
        shown = stream.ask(f"www.{zone}.vm.example", cd=True)
    assert refused.rcode() == dns.rcode.SERVFAIL
    assert not refused.answer
    for reply in (refused, shown):
        assert not reply.flags & dns.flags.AD
        assert _ede(reply)[0] == ede
        assert reason in _ede(reply)[1]
    if zone != "keytrap":
        assert shown.rcode() == dns.rcode.NOERROR
        assert _addresses(shown) == [FORGED if zone == "forged" else ADDRESS]
        assert max(found.ttl for found in shown.answer) <= 5


def test_pipelined(validator: Validator) -> None:
    """A thousand questions at once are answered, each with its id."""
    queries = {
        number: dns.message.make_query(f"n{number}.plain.vm.example", "A", id=number)
        for number in range(1000)
    }
    with Stream(validator.socket) as stream:
        for query in queries.values():
            stream.send(query)
        for _ in range(len(queries)):
            reply = stream.receive()
            assert reply.question == queries.pop(reply.id).question
    assert not queries


def test_wrong_clients(validator: Validator) -> None:
    """What is no query ends its connection; nobody else notices."""
    with Stream(validator.socket) as good:
        for wrong in (b"\xff\xff", b"\x00\x00", b"\x00\x0c" + b"\x00\x01\x80" + bytes(9)):
            with Stream(validator.socket) as stream:
                stream.socket.sendall(wrong)
                with pytest.raises(EOFError):
                    stream.receive()
        assert _addresses(good.ask("www.vm.example")) == [ADDRESS]


def test_strangers(world: World) -> None:
    """Others than QEMU's user are hung up on, also who has the validator's own."""

    def ask(path: Path, uid: int) -> None:
        """Send what is no query as a user, and wait until it is hung up on."""
        subprocess.run(
            [
                *("/usr/bin/python3", "-c"),
                f"import os, socket; os.setgid({uid}); os.setuid({uid}); s = socket.socket(1)\n"
                f"s.connect({str(path)!r})\ntry: s.send(bytes(2)); s.recv(1)\nexcept OSError: 0",
            ],
            check=True,
        )

    with world.validator("strangers", "--allow", "12345") as made:
        for uid in (12345, 54321, NOBODY):
            ask(made.socket, uid)
        said = made.log.read_text()
        assert "a client of user 54321 is refused" in said
        assert f"a client of user {NOBODY} is refused" in said
        assert "user 12345" not in said
        assert said.count("what it has sent is no query") == 1


def test_privileges(validator: Validator) -> None:
    """It has no privileges, a filter of its system calls, and little memory."""
    assert validator.child is not None
    text = Path(f"/proc/{validator.child.pid}/status").read_text()
    status = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    assert int(status["CapEff"], 16) == 0
    assert status["Seccomp"] == "2"
    assert status["NoNewPrivs"] == "1"
    assert "0" not in status["Uid"].split()


def test_servers_change(world: World) -> None:
    """Without --dns the servers are those of the file, followed as it changes."""
    conf = world.folder / "resolv.conf"
    conf.write_text("nameserver 127.0.0.9\n")
    own = ("--resolv-conf", conf, "--trust-anchor", world.anchor)
    with Validator(world.host, world.folder / "changes", *own) as made:
        with Stream(made.socket) as stream:
            assert _ede(stream.ask("www.vm.example"))[0] == 23
            conf.write_text(f"nameserver {SERVER}\n")
            wait.until(lambda: _addresses(stream.ask("www.vm.example")) == [ADDRESS], "an answer")
        assert f"the DNS servers are {SERVER}" in made.log.read_text()


def test_no_server(world: World) -> None:
    """Who cannot be reached is error 23, who is silent error 22."""
    with (
        Validator(
            world.host, world.folder / "none", "--dns", "127.0.0.9", "--trust-anchor", world.anchor
        ) as made,
        Stream(made.socket) as stream,
    ):
        reply = stream.ask("www.vm.example")
        assert (reply.rcode(), _ede(reply)[0]) == (dns.rcode.SERVFAIL, 23)


def _is_met(path: Path) -> bool:
    try:
        Stream(path).socket.close()
    except OSError:
        return False
    return True


def test_socket_comes_back(world: World) -> None:
    """It ends when somebody removes the socket's file, and replaces one that a kill has left."""
    with world.validator("again") as made:
        made.socket.unlink()
        assert made.ended() == 1
        made.start()
        with Stream(made.socket) as stream:
            assert _addresses(stream.ask("www.vm.example")) == [ADDRESS]
        made.kill()
        assert made.socket.exists()
        made.start()
        with Stream(made.socket) as stream:
            assert _addresses(stream.ask("www.vm.example")) == [ADDRESS]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--dns", "example.net"], "--dns: 'example.net' is no server"),
        (["--dns", "+".join(["::1"] * 9)], "one server more than the 8"),
        (["--insecure", "a..b"], "--insecure: 'a..b' is no domain name"),
        (["--insecure", "."], "--insecure: '.' is no domain name below the root"),
        (["--address6", "192.0.2.1"], "--address6: '192.0.2.1' is no IPv6 address"),
        (["--allow", "nobody-of-that-name"], "--allow: there is no user"),
        (["--trust-anchor", "/nonexistent"], "trust-anchor=/nonexistent: there is no file"),
        (["--user", "root"], "'root' is root"),
        ([], "--socket=PATH"),
    ],
)
def test_wrong_command_line(words: list[str], told: str, world: World) -> None:
    """What is wrong, and what would be right."""
    own = [] if "--user" in words else ["--user", "nobody"]
    own += [] if "--trust-anchor" in words else ["--trust-anchor", str(world.anchor)]
    own += ["--socket", str(world.folder / "wrong")] if words else []
    program = dns_room.program("vmmnet-validate")
    done = subprocess.run([program, *own, *words], capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2)
    assert told in done.stderr


def test_root_names_a_user() -> None:
    """Nothing validates as root."""
    if os.geteuid():
        pytest.skip("needs root")
    done = subprocess.run(
        [dns_room.program("vmmnet-validate"), "--socket", "/nonexistent/x"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "name another with --user" in done.stderr


def test_shown(world: World) -> None:
    """Its servers and its verdicts; the log's level changes while it runs."""
    control = world.folder / "shown" / "control"
    with world.validator("shown", "--control", control) as made, Stream(made.socket) as stream:
        for name in ("vm", "plain.vm", "forged.vm", "other"):
            stream.ask(f"www.{name}.example")
        said = controlsocket.ask(control, "show").splitlines()
        assert said[:3] == [f"server {SERVER}", "clients 1", "under-way 0"]
        assert said[3:] == [
            *("questions 4", "secure 1", "insecure 1", "bogus 1", "indeterminate 1"),
            "unanswered 0",
        ]
        assert controlsocket.ask(control, "log debug").strip() == "log level debug"
        control.unlink()
        assert made.ended() == 1


def test_memory(validator: Validator) -> None:
    """It fits its unit's limit by far, with the library and its cache."""
    assert validator.resident() < 32 << 20
