# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest may reach, by name, and how it gets there when an address is dead.

One guest for all: each test gives it another policy file, while it runs.
"""

from __future__ import annotations

import contextlib
import functools
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base import paths, wait
from lab.guest.guest import Guest, Job
from lab.peers import servers as peers
from lab.peers.lab import (
    DNS_ADDRESS,
    ECHO_PORT,
    PAGE,
    PEER_ADDRESS,
    VM_ADDRESS,
    WEB_ADDRESS,
    Lab,
    lab,
)

#: The peer's host drops what comes for it without a word.
# One for each name: what two names have in common tells nothing of the rest.
DEAD_ADDRESSES = ("2001:db8:80::dead", "2001:db8:80::deaf")
NAT64_PREFIX = "2001:db8:64::/96"
#: 203.0.113.80 as the NAT64 has it; the peer answers there itself.
NAT64_ADDRESS = "2001:db8:64::cb00:7150"
OTHER_PORT = 5353

RECORDS = (
    f"www.test. 60 IN AAAA {WEB_ADDRESS}",
    f"ads.test. 60 IN AAAA {WEB_ADDRESS}",
    f"peer.test. 60 IN AAAA {PEER_ADDRESS}",
    # where a search list may lead
    f"ads.other.test. 60 IN AAAA {PEER_ADDRESS}",
    f"ads.test.other.test. 60 IN AAAA {PEER_ADDRESS}",
    "alias.test. 60 IN CNAME www.test.",
    f"half.test. 60 IN AAAA {DEAD_ADDRESSES[0]}",
    f"half.test. 60 IN AAAA {WEB_ADDRESS}",
    f"via64.test. 60 IN AAAA {DEAD_ADDRESSES[1]}",
    "via64.test. 60 IN A 203.0.113.80",
    "v4only.test. 60 IN A 203.0.113.80",
    # names that lead inside, of one's own and of others
    "db.corp.test. 60 IN AAAA fd00::1",
    "evil.test. 60 IN AAAA fd00::1",
    "evil4.test. 60 IN A 10.0.0.1",
    f"mixed.test. 60 IN AAAA {WEB_ADDRESS}",
    "mixed.test. 60 IN AAAA fd00::1",
)


@dataclass
class World:
    """A guest with a policy file that tests may change."""

    lab: Lab
    guest: Guest
    file: Path
    anchor: Path

    def counters(self) -> dict[str, int]:
        """What the device has counted."""
        return self.lab.counters(self.guest)

    @contextlib.contextmanager
    def policy(self, text: str, secrets: bool = False) -> Iterator[dict[str, int]]:
        """Other rules for the time of a block; yields the counters before.

        A file with new ``secrets`` is read by command.
        """
        before = self.reload(text, secrets)
        yield before
        self.reload("")

    def reload(self, text: str, secrets: bool = False) -> dict[str, int]:
        """Replace the file and wait until the device has read it."""
        before = self.counters()["policy_reloads"]
        new = self.file.with_suffix(".new")
        new.write_text(text)
        new.rename(self.file)
        if secrets:
            self.guest.qmp("vmrpc-reload-policy")
        wait.until(lambda: self.counters()["policy_reloads"] > before, "the new policy")
        return self.counters()

    def traced(self, reason: str) -> int:
        """How many refusals have been traced for a reason."""
        return self.guest.stderr_path.read_text().count(f": {reason}, line 0 ")

    def python(self, script: str, timeout: float = wait.PATIENCE) -> str:
        """Run a script in the guest; it fails by an exception."""
        return self.guest.run(["python3", "-c", script], timeout=timeout).stdout.strip()

    @contextlib.contextmanager
    def running(self, script: str) -> Iterator[Job]:
        """A script in the guest beside the block, which leaves nothing behind."""
        job = self.guest.spawn(["python3", "-c", script])
        try:
            yield job
        finally:
            job.kill(signal.SIGKILL)
            job.wait()

    def connect(self, host: str, port: int) -> str:
        """The name of the errno that a connect gets in the guest; "" for none."""
        return self.python(f"""
import errno, socket
try:
    socket.create_connection(({host!r}, {port}), timeout={wait.INNER})
except socket.gaierror as e:
    print('DNS')
except OSError as e:
    print(errno.errorcode.get(e.errno, e))
""")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    file = tmp_path_factory.mktemp("policy") / "vm.policy"
    file.write_text("")
    anchor = file.with_name("anchor")
    server = functools.partial(peers.dns, port=OTHER_PORT, anchor=anchor)
    with lab() as built, server(built.peer, RECORDS, DNS_ADDRESS):
        built.host.route(NAT64_PREFIX, PEER_ADDRESS)
        built.link.b.add_address(f"{NAT64_ADDRESS}/128")
        for dead in DEAD_ADDRESSES:
            built.peer.ip("-6", "route", "add", "blackhole", dead)
        device = built.device(
            dns=f"{DNS_ADDRESS}@{OTHER_PORT}", nat64_prefix=NAT64_PREFIX, policy=file
        )
        traced = ["-trace", "virtio_vmrpc_refused"]
        traced += ["-object", f"secret,id=web,data={SECRET}"]
        with built.guest(ipv6=False, device=device, arguments=traced) as guest:
            yield World(built, guest, file, anchor)


# --- names ----------------------------------------------------------------------


def test_only_named_servers(world: World) -> None:
    with world.policy("allow www.test tcp 80\ndefault deny\n") as before:
        assert world.guest.run("curl -sS http://www.test/").stdout == PAGE
        # the alias leads there, but is another name
        assert world.connect("alias.test", 80) == "DNS"
        assert world.connect("peer.test", ECHO_PORT) == "DNS"
        assert world.connect("203.0.113.80", 80) == "EACCES"
        assert world.connect("www.test", 81) == "EACCES"
        after = world.counters()
        assert after["refused_name"] > before["refused_name"]
        assert after["refused_default"] == before["refused_default"] + 2


def test_denied_name_and_the_search_list(world: World) -> None:
    """glibc goes on for a name with a dot, in spite of REFUSED; a dot at the end forbids it."""

    def found(name: str) -> bool:
        command = f"LOCALDOMAIN='test other.test' getent ahostsv4 {name}"
        status = world.guest.run(command, check=False).rc
        assert status in (0, 2)
        return status == 0

    with world.policy("deny ads.test\n"):
        assert found("ads.test") and found("ads.other.test")
        assert not found("ads.test.") and not found("ads")
    with world.policy("deny ads.test\ndeny *.other.test\n"):
        assert not found("ads.test")


def test_denied_name(world: World) -> None:
    """It is not looked up any more, and who remembers its address is refused, too."""
    client = world.guest.spawn(
        [
            "python3",
            "-c",
            f"""
import socket, sys
address = socket.gethostbyname('ads.test')
print('ready', flush=True)
sys.stdin.readline()
try:
    socket.gethostbyname('ads.test')
    print('found')
except socket.gaierror:
    print('refused')
try:
    socket.create_connection((address, 80), timeout={wait.INNER})
    print('connected')
except PermissionError:
    print('refused')
""",
        ]
    )
    client.wait_output("ready")
    with world.policy("deny ads.test\n") as before:
        client.write(b"go\n")
        assert client.wait(check=True).stdout.split() == ["ready", "refused", "refused"]
        assert world.counters()["refused_policy"] == before["refused_policy"] + 1
        # another address, and another name
        assert world.connect("peer.test", ECHO_PORT) == ""


def test_nat64_by_either_address(world: World) -> None:
    for rule in "allow 203.0.113.0/24", f"allow {NAT64_PREFIX}", "allow v4only.test":
        with world.policy(f"{rule}\ndefault deny\n"):
            assert world.connect("v4only.test", 80) == "", rule
    for rule in "deny 203.0.113.80", f"deny {NAT64_ADDRESS}":
        with world.policy(f"{rule}\n"):
            assert world.connect("203.0.113.80", 80) == "EACCES", rule


# --- reload ---------------------------------------------------------------------


def test_connections_outlive_new_rules(world: World) -> None:
    client = world.guest.spawn(
        [
            "python3",
            "-c",
            f"""
import socket, sys
s = socket.create_connection(('peer.test', {ECHO_PORT}), timeout={wait.INNER})
print('ready', flush=True)
sys.stdin.readline()
s.sendall(b'still here')
assert s.recv(100) == b'still here'
""",
        ]
    )
    client.wait_output("ready")
    with world.policy("default deny\n"):
        assert world.connect("peer.test", ECHO_PORT) == "DNS"
        client.write(b"go\n")
        client.wait(check=True)


def test_wrong_file_changes_nothing(world: World) -> None:
    with world.policy("deny www.test\n"):
        errors = world.counters()["policy_errors"]
        new = world.file.with_suffix(".new")
        new.write_text("allow www.test\ndney ads.test\n")
        new.rename(world.file)
        wait.until(lambda: world.counters()["policy_errors"] > errors, "the error")
        assert world.connect("www.test", 80) == "DNS"
        assert "vm.policy:2: 'dney'" in world.guest.stderr_path.read_text()


# --- terms of a rule --------------------------------------------------------------

PROXY_PORT = 3128
SECRET = "alice:s3cret"


def fetch(url: str) -> str:
    """A script that prints a page, or the name of the errno."""
    return f"""
import errno, urllib.error, urllib.request
try:
    print(urllib.request.urlopen({url!r}, timeout={wait.INNER}).read().decode().strip())
except urllib.error.URLError as e:
    print(errno.errorcode.get(getattr(e.reason, 'errno', None), e.reason))
"""


@pytest.mark.parametrize("kind", ["http", "socks5"])
def test_through_proxy(world: World, kind: str) -> None:
    """A program without any configuration goes through the proxy, or nowhere."""
    rules = (
        f"proxy corp {kind} {PEER_ADDRESS} {PROXY_PORT} secret web\n"
        "allow www.test tcp 80 via corp\n"
        "allow ads.test tcp 80 via corp\n"
        "default deny\n"
    )
    hosts = {"www.test": WEB_ADDRESS, "ads.test": WEB_ADDRESS}
    with world.policy(rules, secrets=True) as before:
        space = world.lab.peer
        with peers.proxy(
            space, kind, PEER_ADDRESS, PROXY_PORT, hosts, SECRET, denied="ads.test"
        ) as log:
            assert world.python(fetch("http://www.test/")) == PAGE.strip()
            if kind == "http":
                assert "CONNECT www.test:80" in log.read_text()
                assert world.python(fetch("http://ads.test/")) == "EACCES"
            assert world.connect("peer.test", ECHO_PORT) == "DNS"
        # Without the proxy there is no other way.
        assert world.python(fetch("http://www.test/")) == "ECONNREFUSED"
        after = world.counters()
        failed = 2 if kind == "http" else 1
        assert after["proxied_failed"] == before["proxied_failed"] + failed
        assert after["connections_proxied"] == before["connections_proxied"] + failed + 1


def test_budget_of_octets(world: World) -> None:
    """What leaves by a rule is bounded; what comes is not."""
    with world.policy("allow peer.test sent 100000/h\nallow www.test tcp 80\ndefault deny\n"):
        out = world.python(f"""
import errno, socket
s = socket.create_connection(('peer.test', {ECHO_PORT}), timeout={wait.INNER})
sent = got = 0
try:
    while True:
        n = s.send(bytes(7000))
        sent += n
        while got < sent:
            got += len(s.recv(65536))
except OSError as e:
    print(errno.errorcode[e.errno], sent, got)
# another connection by the same rule, and one by another
s = socket.create_connection(('peer.test', {ECHO_PORT}), timeout={wait.INNER})
try:
    s.send(b'x')
except OSError as e:
    print(errno.errorcode[e.errno])
""")
        assert out.split("\n") == ["EACCES 100000 100000", "EACCES"]
        rules = world.guest.qmp("query-vmrpc", rules=True)[0]["rules"]
        assert [rule.get("sent") for rule in rules] == [100000, None, None]
        assert world.python(fetch("http://www.test/")) == PAGE.strip()


def test_budget_of_names(world: World) -> None:
    """Data that leave as names below a wildcard."""
    with world.policy("allow *.test names 3/h\ndns listed\ndefault deny\n") as before:
        out = world.python("""
import socket
def look(name):
    try:
        socket.getaddrinfo(name, None)
    except socket.gaierror as e:
        return {socket.EAI_AGAIN: 'refused', socket.EAI_NONAME: 'none'}.get(e.errno, e)
    return 'found'
names = ['www.test', 'a.test', 'b.test', 'c.test', 'peer.test', 'www.test', 'A.test']
print(*(look(name + '.') for name in names))
""")
        assert out == "found none none refused refused found none"
        assert world.counters()["queries_refused_budget"] > before["queries_refused_budget"]


def test_rate_of_octets(world: World) -> None:
    """Programs wait, and lose nothing."""
    with world.policy("limit sent 2M/s burst 64K\nlimit received 2M/s burst 64K\n") as before:
        out = world.python(f"""
import hashlib, socket, threading, time
data = bytes(range(256)) * 12000
s = socket.create_connection(('peer.test', {ECHO_PORT}), timeout={wait.INNER})
begin = time.monotonic()
threading.Thread(target=s.sendall, args=(data,)).start()
got = b''
while len(got) < len(data):
    got += s.recv(1 << 20)
print(got == data, time.monotonic() - begin > 0.8)
""")
        assert out == "True True"
        assert world.counters()["throttled"] > before["throttled"]


def test_reload_closes(world: World) -> None:
    """A connection that the new file refuses ends, and tells the program."""
    with world.running(f"""
import errno, socket
s = socket.create_connection(('peer.test', {ECHO_PORT}), timeout={wait.INNER})
print('ready', flush=True)
try:
    s.recv(1)
except OSError as e:
    print(errno.errorcode[e.errno], flush=True)
""") as client:
        client.wait_output("ready")
        with world.policy("allow www.test\ndefault deny\n"):
            world.guest.qmp("vmrpc-reload-policy", established="close")
            client.wait_output("ECONNRESET")


# --- limits ---------------------------------------------------------------------


def test_connection_rate(world: World) -> None:
    """Beyond the burst connect() fails at once, and later works again."""
    with world.policy("limit connections 2/s burst 5\n") as before:
        out = world.python(f"""
import errno, socket, time
address = socket.gethostbyname('peer.test'), {ECHO_PORT}
def attempt():
    with socket.socket() as s:
        return s.connect_ex(address)
end = time.monotonic() + 60
while attempt() != errno.ENOBUFS:
    assert time.monotonic() < end
while attempt() != 0:
    assert time.monotonic() < end
print('ok')
""")
        assert out == "ok"
        after = world.counters()["connections_refused_limit"]
        assert after > before["connections_refused_limit"]


#: Room for two sockets is what both limits below leave.
_TWO_SOCKETS = f"""
import errno, socket
peer = socket.gethostbyname('peer.test'), {ECHO_PORT}
def new(kind=socket.SOCK_STREAM):
    s = socket.socket(socket.AF_INET, kind)
    s.settimeout({wait.INNER})
    return s
def error(call, *words):
    try:
        call(*words)
    except OSError as e:
        return errno.errorcode[e.errno]

input()
listener, first, more, udp = new(), new(), new(), new(socket.SOCK_DGRAM)
listener.bind(('', 0))
listener.listen()
first.connect(peer)
print('full', listener.getsockname()[1], flush=True)
# socket() has nothing to do with it; each of these needs one of the host's
print(error(more.connect, peer), error(more.bind, ('', 0)), error(more.listen),
      error(udp.connect, peer), error(udp.sendto, b'x', peer), error(listener.accept),
      'refused', flush=True)
input()
first.close()
with listener.accept()[0] as accepted:
    accepted.sendall(b'after all')
more.connect(peer)
more.sendall(b'again')
assert more.recv(10) == b'again'
"""

_CALLER = f"""
import socket, sys
with socket.create_connection(({VM_ADDRESS!r}, sys.argv[1]), timeout={wait.INNER}) as s:
    print(s.recv(100).decode(), end='')
"""


@pytest.mark.parametrize(
    ("limit", "error", "counter", "reason"),
    [
        ("sockets 2", "EMFILE", "sockets_refused_limit", "limit-sockets"),
        ("buffers 512K", "ENOBUFS", "buffers_refused_limit", "limit-buffers"),
    ],
    ids=["sockets", "buffers"],
)
def test_two_sockets(world: World, limit: str, error: str, counter: str, reason: str) -> None:
    """Beyond a limit each call that needs a socket of the host says so, and works later."""
    with world.running(_TWO_SOCKETS) as job, world.policy(f"limit {limit}\n") as before:
        traced = world.traced(reason)
        job.write(b"go\n")
        port = job.wait_output("full (.+)\n")[1]
        command = [sys.executable, "-c", _CALLER, port]
        with world.lab.peer.started(command, stdout=subprocess.PIPE) as caller:
            job.wait_output("refused")
            assert job.output().stdout.split() == ["full", port, *[error] * 6, "refused"]
            assert world.counters()[counter] == before[counter] + 6
            assert world.traced(reason) == traced + 6
            job.write(b"go\n")
            job.wait(check=True)
            assert caller.communicate(timeout=wait.PATIENCE)[0] == b"after all"


def test_larger_buffers(world: World) -> None:
    """What setsockopt() gets is taken from the limit, and no more than is left."""
    script = f"""
import errno, socket
peer = socket.gethostbyname('peer.test'), {ECHO_PORT}
input()
def size():
    return first.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
first, second = socket.socket(), socket.socket()
first.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
asked = size()
first.connect(peer)
assert size() == (512 - 128) << 10 < asked, (size(), asked)
print(errno.errorcode[second.connect_ex(peer)])
first.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 10)
first.sendall(b'x')
print(second.connect_ex(peer))
"""
    with world.running(script) as job, world.policy("limit buffers 512K\n") as before:
        job.write(b"go\n")
        assert job.wait(check=True).stdout.split() == ["ENOBUFS", "0"]
        after = world.counters()
        assert after["buffers_cut"] == before["buffers_cut"] + 1
        assert after["buffers_refused_limit"] == before["buffers_refused_limit"] + 1


# --- private addresses -------------------------------------------------------------


def test_private_addresses(world: World) -> None:
    """Who owns a zone does not lead the guest into networks that are not his."""

    def dig(name: str) -> str:
        return world.guest.run(f"dig {name} A").stdout

    assert "ANSWER: 1" in dig("evil.test") and "ANSWER: 1" in dig("evil4.test")
    rules = "private-address standard\nprivate-domain corp.test\n"
    with world.policy(rules) as before:
        assert "ANSWER: 1" in dig("db.corp.test")
        for name in "evil.test", "evil4.test":
            assert all(part in dig(name) for part in ("ANSWER: 0", "SOA", "EDE: 15 (Blocked)"))
        assert world.guest.run("curl -sS http://mixed.test/").stdout == PAGE
        after = world.counters()
        for counter in "refused_private", "dns_addresses_private":
            assert after[counter] >= before[counter] + 3
    trace = "destination fd00::1 port 0 name evil.test: private-address, line 1 of the policy"
    assert trace in world.guest.stderr_path.read_text()


def test_validator(world: World) -> None:
    """Who checks the signatures in the guest gets what is signed, or nothing."""

    def delv(question: str) -> str:
        command = f"delv @192.0.0.1 -a /run/anchor +root=. +cdflag {question} 2>&1 || true"
        return world.guest.run(command).stdout

    world.guest.put(world.anchor.read_bytes(), "/run/anchor")
    for question, answer in {
        "www.test AAAA": WEB_ADDRESS,
        "v4only.test A": "203.0.113.80",
        "alias.test AAAA": WEB_ADDRESS,
        # NSEC proves both
        "www.test A": "NXRRSET",
        "nothing.test A": "NXDOMAIN",
        "nothing.test AAAA": "NXDOMAIN",
    }.items():
        out = delv(question)
        assert "fully validated" in out and answer in out, out
    with world.policy("private-address standard\n"):
        assert "fd00::1" not in delv("evil.test AAAA")
        assert "10.0.0.1" not in delv("evil4.test A")
    # who leaves the checks to the DNS server has virtual addresses, and proofs as they are
    assert re.search(r"\s198\.1[89]\.", world.guest.run("dig +dnssec www.test A").stdout)
    proof = world.guest.run("dig +dnssec nothing.test A").stdout
    assert "NXDOMAIN" in proof and "NSEC" in proof and "RRSIG" in proof, proof


def test_names_of_the_guest_itself(world: World) -> None:
    """They are not looked up, so it is not for the policy to allow them."""
    with world.policy("allow www.test\ndefault deny\ndns listed\n"):
        assert world.guest.run("dig +short localhost").stdout.strip() == "127.0.0.1"
        assert "REFUSED" in world.guest.run("dig localhost.test").stdout


# --- several addresses ------------------------------------------------------------


@pytest.mark.parametrize("name", ["half.test", "via64.test"])
def test_dead_address(world: World, name: str) -> None:
    """Whichever address of the name is taken, the server answers.

    Nothing else than the other address can answer for the dead one.
    """
    before = world.counters()
    out = world.python(f"""
import selectors, socket
for address in socket.gethostbyname_ex({name!r})[2]:
    # a program that waits,
    with socket.create_connection((address, 80), timeout={wait.INNER}) as s:
        assert s.getpeername() == (address, 80)
        s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
        page = b''.join(iter(lambda: s.recv(4096), b''))
        assert page.endswith({PAGE.encode()!r}), page
    # and one that does not
    with socket.socket() as s, selectors.DefaultSelector() as sel:
        s.setblocking(False)
        s.connect_ex((address, 80))
        sel.register(s, selectors.EVENT_WRITE)
        assert sel.select(60)
        assert s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
        assert s.getpeername() == (address, 80)
print('ok')
""")
    assert out == "ok"
    after = world.counters()
    # both programs, at the dead address
    assert after["connections_raced_won"] == before["connections_raced_won"] + 2


def test_all_dead(world: World) -> None:
    """Giving up in the middle leaves nothing behind, in the guest or on the host."""
    with world.policy(f"deny {WEB_ADDRESS}\ndeny 203.0.113.80\n"):
        out = world.python("""
import socket
for name in 'half.test', 'via64.test':
    address = socket.gethostbyname(name)
    s = socket.socket()
    s.settimeout(1)
    try:
        s.connect((address, 80))
        print('connected')
    except TimeoutError:
        print('timeout')
    except PermissionError:
        print('refused')
    s.close()
""")
        assert set(out.split()) <= {"timeout", "refused"} and "timeout" in out, out
    wait.until(
        lambda: world.guest.qmp("query-vmrpc", id="vmrpc0")[0]["sockets"] == [],
        "an end of all sockets",
    )


# --- who reaches the guest ----------------------------------------------------------


def documented_rules() -> str:
    """The rules for the host's firewall, as docs/virtio-vmrpc.md gives them."""
    page = (paths.ROOT / "docs" / "virtio-vmrpc.md").read_text()
    found = re.search(r"^( +)table inet guests \{.*?^\1\}$", page, re.MULTILINE | re.DOTALL)
    assert found and VM_ADDRESS in found[0]
    return found[0]


def test_hosts_firewall(world: World, tmp_path: Path) -> None:
    """The rules of the docs close the guest's servers but those they name."""
    script = """
import socket
tcp = [socket.create_server(("", port)) for port in (443, 8080)]
udp = socket.socket(type=socket.SOCK_DGRAM)
udp.bind(("", 8080))
print("ready", flush=True)
while True:
    a = tcp[0].accept()[0]
    a.sendall(udp.recv(16) if a.recv(3) == b"udp" else b"tcp")
    a.close()
"""

    def send(data: bytes) -> None:
        with world.lab.peer.entered(), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as udp:
            udp.sendto(data, (VM_ADDRESS, 8080))

    def ask(port: int, what: bytes) -> bytes:
        with (
            world.lab.peer.entered(),
            socket.create_connection((VM_ADDRESS, port), timeout=wait.PATIENCE) as tcp,
        ):
            tcp.sendall(what)
            return tcp.recv(16)

    rules = tmp_path / "rules.nft"
    rules.write_text(documented_rules())
    with world.running(script) as server:
        server.wait_output("ready")
        send(b"before")
        assert ask(443, b"udp") == b"before"
        world.lab.host.run(["nft", "-f", rules])
        try:
            send(b"closed")
            assert ask(443, b"tcp") == b"tcp"
            with pytest.raises(ConnectionRefusedError):
                ask(8080, b"tcp")
        finally:
            world.lab.host.run(["nft", "delete", "table", "inet", "guests"])
        # the next that arrives is not the one that was sent meanwhile
        send(b"after")
        assert ask(443, b"udp") == b"after"
