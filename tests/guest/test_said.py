# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest says in its first bytes must be a name that it may reach there.

One guest for all; the server tells which name it was asked for.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base import tools, wait
from lab.guest.guest import Guest, Result
from lab.peers import servers as peers
from lab.peers.lab import DNS_ADDRESS, ECHO_PORT, WEB2_ADDRESS, WEB_ADDRESS, Lab, lab

OTHER_PORT = 5353
#: A server here wants another key share, so the client says hello twice.
SECOND_PORT = 444

RECORDS = (
    f"www.test. 60 IN AAAA {WEB_ADDRESS}",
    f"other.test. 60 IN AAAA {WEB_ADDRESS}",
    f"else.test. 60 IN AAAA {WEB2_ADDRESS}",
    "svc.test. 60 IN HTTPS 1 . alpn=h2 ech=AAT+DQAA",
    "origin.test. 60 IN HTTPS 1 www.test. alpn=h2",
)
RULES = f"""
allow *.test tcp 443-444 tls
allow *.test udp {ECHO_PORT} tls
allow *.test tcp 80 http
default deny
"""
#: Initials of QUIC version 1, which say www.test and nobody.test.
INITIAL = bytes.fromhex(
    "c100000001088394c8f03e515708000040805ee3df0946b451b29b7ca343c0a5ef34642bd36684b7b85701fbbbb6"
    "1fd90fdf2895b401bac25cd7feb0cbe4c2a807cb20c4d741dc345fef0882d815c0b8b6bb005b27079f666cc0c062"
    "ecde0a24eb7cdc2fbf52ae741def9dfc9d5a6f17df4421a0090289e225f21b6f260c48f98e64a585a324eef3d067"
    "ebbcd67dd09120ed"
)
WRONG_INITIAL = bytes.fromhex(
    "c100000001088394c8f03e515708000040832e3f772f46b451b19b7ca340c0a5ef34642bd36684b7b85701fbbbb6"
    "1fd90fdf2895b401bac25cd7feb0cbe4c2a807cb20c4d741dc345fef0882d815c0b8b6bb005b27079f666cc0c062"
    "ecde0a24eb7cdc2fbf52ae741def9dfc905a6f17df4421a014028ce225f10277334d58e5d3643b50205fb68053c5"
    "196672cdbe8ecbff1d01b0"
)
#: Sends ``data`` by ``send``; prints the errno of that, and what a read then gives.
ATTEMPT = """
import errno, os, socket, sys, tempfile
def name(e):
    return errno.errorcode[e.errno]
def read(s):
    try:
        return s.recv(100)
    except OSError as e:
        return name(e)
s = socket.socket()
{before}
s.connect(('www.test', 443))
try:
    print({send})
except OSError as e:
    print(name(e), read(s))
"""


@dataclass
class World:
    """A guest with a policy file, and a server of two names."""

    lab: Lab
    guest: Guest
    log: Path

    def refused(self) -> int:
        """How many streams were ended because of what they said."""
        return self.lab.counters(self.guest)["refused_hello"]

    @contextlib.contextmanager
    def refuses(self, reason: str, name: str = "") -> Iterator[None]:
        """One stream is refused in the block, for this reason."""
        before, traced = self.refused(), self.traced(reason, name)
        asked = self.log.read_text().count("\n")
        yield
        wait.until(lambda: self.refused() == before + 1, "a refusal")
        assert self.traced(reason, name) == traced + 1
        assert self.log.read_text().count("\n") == asked

    def traced(self, reason: str, name: str) -> int:
        """How many refusals of that kind QEMU has told of."""
        known = rf" name {re.escape(name)}" if name else ""
        lines = self.guest.stderr_path.read_text().splitlines()
        return sum(bool(re.search(rf"port \d+{known}.*: {reason}\b", line)) for line in lines)

    def python(self, send: str, before: str = "") -> str:
        """What an attempt to send gives."""
        script = ATTEMPT.format(send=send, before=before)
        return self.guest.run(["python3", "-c", script]).stdout.strip()

    def s_client(self, words: str, port: int = 443) -> Result:
        """Say hello with OpenSSL and ask for a page."""
        # Until the server hangs up
        command = f"openssl s_client -connect www.test:{port} -quiet {words} 2>&1"
        return self.guest.run(f"printf 'GET / HTTP/1.0\\r\\n\\r\\n' | {command}", check=False)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("said")
    file = folder / "vm.policy"
    file.write_text(RULES)
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subject = ["-subj", "/CN=www.test", "-days", "2", "-keyout", key, "-out", certificate]
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    tools.run(["openssl", "req", "-x509", *new, *subject])
    said = 'location / { return 200 "$ssl_server_name $ssl_protocol $ssl_session_reused\\n"; }\n'
    said += "ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:all:1m;\n"
    other = functools.partial(peers.dns, port=OTHER_PORT)
    web = functools.partial(peers.web, root=folder, certificate=(certificate, key))
    second = said + "ssl_ecdh_curve secp521r1;\n"
    with lab() as built, other(built.peer, RECORDS, DNS_ADDRESS):
        device = built.device(dns=f"{DNS_ADDRESS}@{OTHER_PORT}", policy=file)
        with (
            web(built.peer, port=443, server=said + "ssl_early_data on;\n") as log,
            web(built.peer, port=SECOND_PORT, server=second),
            built.guest(
                device=device, arguments=["-trace", "virtio_vmrpc_refused"], ipv6=False
            ) as guest,
        ):
            yield World(built, guest, log)


def test_right_name(world: World) -> None:
    before = world.refused()
    assert "www.test TLSv1.3" in world.guest.run("curl -ksS https://www.test/").stdout
    assert "other.test TLSv1.3" in world.guest.run("curl -ksS https://other.test/").stdout
    old = "curl -ksS --tls-max 1.2 https://www.test/"
    assert "www.test TLSv1.2" in world.guest.run(old).stdout
    assert world.refused() == before


def test_second_hello(world: World) -> None:
    before = world.refused()
    page = world.guest.run(f"curl -ksS https://www.test:{SECOND_PORT}/").stdout
    assert "www.test TLSv1.3" in page
    trace = world.s_client("-servername www.test -msg", SECOND_PORT).stdout
    assert trace.count(">>> TLS 1.3, Handshake [length") >= 2 and "www.test TLSv1.3" in trace
    assert trace.count("ClientHello") == 2
    assert world.refused() == before


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_resumed(world: World, version: str) -> None:
    before = world.refused()
    for way, reused in (("-sess_out", "."), ("-sess_in", "r")):
        page = world.s_client(f"-servername www.test {version} {way} /tmp/session").stdout
        assert re.search(rf"www\.test TLSv1\.[23] {re.escape(reused)}", page), page
    assert world.refused() == before


def test_fast_open(world: World) -> None:
    """The hello may be in the SYN, once it is agreed to."""
    before = world.refused()
    script = """
import socket, ssl
context = ssl._create_unverified_context()
s = socket.socket()
s.setsockopt(socket.IPPROTO_TCP, 30, 1)
s.connect(('www.test', 443))
s = context.wrap_socket(s, server_hostname='www.test')
s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
print(s.makefile().read())
"""
    assert "www.test TLSv1.3" in world.guest.run(["python3", "-c", script]).stdout
    assert world.refused() == before


def test_early_data(world: World) -> None:
    before = world.refused()
    world.s_client("-servername www.test -tls1_3 -sess_out /tmp/early")
    world.guest.put(b"GET / HTTP/1.0\r\n\r\n", "/tmp/request")
    words = "-servername www.test -sess_in /tmp/early -early_data /tmp/request"
    assert "www.test TLSv1.3 r" in world.s_client(words).stdout
    assert world.refused() == before


def test_wrong_name(world: World) -> None:
    front = "curl -ksS --connect-to ::www.test: https://{}/"
    with world.refuses("not-asked", "nobody.test"):
        result = world.guest.run(front.format("nobody.test"), check=False)
        assert result.rc != 0 and "nobody.test" not in result.stdout
    world.guest.run("getent ahosts else.test")
    with world.refuses("not-asked", "else.test"):
        world.guest.run(front.format("else.test"), check=False)
    with world.refuses("no-name"):
        assert "www.test" not in world.s_client("-noservername").stdout
    with world.refuses("malformed"):
        world.s_client("-servername www.test.")


def test_target_of_a_service(world: World) -> None:
    """The answer for one name says that another serves it."""
    get = "curl -ksS --connect-to ::www.test: https://origin.test/"
    with world.refuses("not-asked", "origin.test"):
        world.guest.run(get, check=False)
    world.guest.run("dig +short origin.test HTTPS")
    assert "origin.test TLSv1.3" in world.guest.run(get).stdout


@pytest.mark.parametrize(
    ("send", "before"),
    [
        ("s.send(b'GET / HTTP/1.0\\r\\n\\r\\n')", ""),
        ("s.send(b'x', socket.MSG_OOB)", ""),
        ("s.send(b'x', socket.MSG_MORE)", ""),
        # sendfile(2) and splice(2) go round the program's own buffers
        ("os.sendfile(s.fileno(), os.open('/etc/passwd', os.O_RDONLY), 0, 100)", ""),
        (
            "(os.splice(os.open('/etc/passwd', os.O_RDONLY), w, 100),"
            " os.splice(r, s.fileno(), 100))",
            "r, w = os.pipe()",
        ),
        ("s.send(b'GET /', 0x4000000)", "s.setsockopt(socket.SOL_SOCKET, 60, 1)"),
        ("s.dup().send(b'GET /')", ""),
        ("s.send(b'GET /')", "s.setsockopt(socket.IPPROTO_TCP, 30, 1)"),
    ],
    ids=["plain", "urgent", "more", "sendfile", "splice", "zero-copy", "dup", "fast-open"],
)
def test_no_way_round(world: World, send: str, before: str) -> None:
    with world.refuses("malformed" if "OOB" in send else "not-tls"):
        assert world.python(send, before).startswith("EACCES")


def test_part_of_a_hello(world: World) -> None:
    """The guest sends one and goes away: nothing of it arrives."""
    with world.refuses("malformed"):
        world.python("(s.send(b'\\x16\\x03\\x01\\x02\\x00\\x01'), s.close())")


def test_http(world: World) -> None:
    """Requests one after the other in a connection, with bodies of every kind."""
    before = world.refused()
    page = "an IPv6-only page\n"
    assert world.guest.run("curl -sS http://www.test/ http://www.test/").stdout == 2 * page
    world.guest.run("head -c 3000000 /dev/urandom >/tmp/body")
    sends = ("--data-binary @/tmp/body", "-T - -H 'Transfer-Encoding: chunked' </tmp/body")
    for send in (*sends, "-H 'Expect: 100-continue' -F file=@/tmp/body"):
        shown = world.guest.run(f"curl -sS -w '%{{size_upload}}' {send} http://www.test/").stdout
        assert "405 Not Allowed" in shown or "413" in shown
    assert world.refused() == before


def test_wrong_host(world: World) -> None:
    get = "curl -sS --connect-to ::www.test: -H 'Host: {}' http://www.test/"
    for host, reason in (("nobody.test", "not-asked"), ("192.0.2.1", "no-name")):
        with world.refuses(reason, "nobody.test" if reason == "not-asked" else ""):
            assert world.guest.run(get.format(host), check=False).rc != 0
    with world.refuses("not-http"):
        world.guest.run("curl -sS --http2-prior-knowledge http://www.test/", check=False)
    with world.refuses("not-http"):
        world.guest.run("curl -sS -H 'Upgrade: websocket' http://www.test/", check=False)


def test_quic(world: World) -> None:
    """The peer sends all datagrams back; what it has not got does not come."""
    script = f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
to = (socket.gethostbyname('www.test'), {ECHO_PORT})
def send(data):
    try:
        s.sendto(data, to)
    except PermissionError:
        return 'EACCES'
    return s.recv(2000) == data
wrong, right = bytes.fromhex('{WRONG_INITIAL.hex()}'), bytes.fromhex('{INITIAL.hex()}')
print(send(b'@short'), send(wrong), send(right), send(b'@short'), send(wrong), send(b'@short'))
"""
    before = world.refused()
    told = world.guest.run(["python3", "-c", script]).stdout
    # the last: what was begun goes on
    assert told == "EACCES EACCES True True EACCES True\n"
    assert world.refused() == before + 3
    assert world.traced("not-asked", "nobody.test") >= 1


def test_keys_for_ech_are_hidden(world: World) -> None:
    def dig(words: str) -> str:
        return world.guest.run(f"dig +short {words} svc.test HTTPS").stdout

    assert "h2" in dig("") and "ech" not in dig("").lower()
    assert dig("+dnssec +cdflag") == ""
