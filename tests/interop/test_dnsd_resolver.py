# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-dnsd as a resolver, before a small internet that BIND serves."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dns.edns
import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import pytest
from lab.base import scratch, tools, wait
from lab.base.net import Network
from lab.dns import dnsd, small_internet
from lab.dns import room as dns_room
from lab.dns.dnsd import Dnsd
from lab.dns.dnsd_world import (
    CLIENT,
    OTHER,
    SERVER,
    ZONE,
    World,
    framed,
    made,
    query,
    read,
)
from lab.dns.signed_zones import ADDRESS, FORGED
from lab.dns.small_internet import LEAF, Internet
from vmmnet.controlsocket import Refused

#: The address that our own zone has for "www".
_OWN = "192.0.2.80"
_CLIENTS = 1000


@dataclass
class Room:
    """The hosts of a test, and the internet that all tests share."""

    world: World
    internet: Internet

    def config(self, threads: int | str = "auto", **resolver: Any) -> dict[str, Any]:
        """A server with the zone "example.net", and a resolver."""
        image = dns_room.compile_zone(
            "example.net", ZONE.format(serial=1), self.world.folder / "net.vzi"
        )
        settings = {
            "allow": [f"{CLIENT}/32", "10.1.0.0/16"],
            "trust-anchor": str(self.internet.anchor),
            "root-hints": str(self.internet.hints),
            **resolver,
        }
        return {
            "server": {"threads": threads},
            "zones": [{"name": "example.net", "image": str(image)}],
            "resolver": settings,
        }

    def dnsd(self, threads: int | str = "auto", **resolver: Any) -> Dnsd:
        """The server."""
        return Dnsd(self.world.server, self.world.folder, self.config(threads, **resolver))

    def ask(
        self, name: str, kind: str = "A", source: str = CLIENT, **more: Any
    ) -> dns.message.Message:
        """The reply over UDP."""
        with self.world.client.entered():
            asked = query(name, kind, **{"use_edns": 0, **more})
            return dns.query.udp(asked, SERVER, wait.PATIENCE, source=source)


@pytest.fixture(scope="module")
def whole() -> Iterator[Room]:
    """The hosts, and the small internet on a third one."""
    with Network() as network, made(network) as world, scratch.folder() as name:
        folder = Path(name)
        folder.chmod(0o755)
        host = network.namespace("internet")
        link = network.connect(world.server, host)
        world.server.ip("link", "set", link.a.name, "master", "br0")
        for address in small_internet.ADDRESSES:
            link.b.add_address(f"{address}/24")
        # Many clients, on one host
        world.client.ip("route", "add", "local", "10.1.0.0/16", "dev", "lo")
        world.server.route("10.1.0.0/16", CLIENT)
        with small_internet.served(host, folder) as internet:
            yield Room(world, internet)


def _data(reply: dns.message.Message) -> list[str]:
    return [item.to_text() for rrset in reply.answer for item in rrset if _is_data(item)]


def _is_data(item: Any) -> bool:
    return item.rdtype not in (dns.rdatatype.RRSIG, dns.rdatatype.CNAME)


def _ede(reply: dns.message.Message) -> list[int]:
    return [int(o.code) for o in reply.options if o.otype == dns.edns.OptionType.EDE]


def _types(reply: dns.message.Message) -> set[int]:
    return {rrset.rdtype for section in reply.sections[1:] for rrset in section}


@contextlib.contextmanager
def _silent(internet: Internet) -> Iterator[None]:
    internet.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        internet.signal(signal.SIGCONT)


@pytest.mark.parametrize(
    ("name", "is_secure"),
    [
        ("www.vm.example", True),
        ("alias.vm.example", True),
        ("www.nsec3.vm.example", True),
        ("www.plain.vm.example", False),
        ("www.open.example", False),
    ],
)
def test_recursion(whole: Room, name: str, is_secure: bool) -> None:
    """From the root on; AD for who wants to know, signatures for who asks for them."""
    with whole.dnsd() as server:
        plain = whole.ask(name, use_edns=False)
        assert _data(plain) == [ADDRESS]
        assert plain.flags & dns.flags.RA and not plain.flags & (dns.flags.AD | dns.flags.AA)
        assert dns.rdatatype.RRSIG not in _types(plain)
        asked = query(name)
        asked.flags |= dns.flags.AD
        assert bool(whole.world.udp(asked).flags & dns.flags.AD) == is_secure
        signed = whole.ask(name, want_dnssec=True)
        assert _data(signed) == [ADDRESS]
        assert bool(signed.flags & dns.flags.AD) == is_secure
        assert (dns.rdatatype.RRSIG in _types(signed)) == is_secure
        # One thread is the control thread's, one the resolver's.
        tasks = len(list(Path(f"/proc/{server.pid}/task").iterdir()))
        assert tasks == 2 + server.metric("threads")
        assert Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text() == ""


@pytest.mark.parametrize("zone", ["vm.example", "nsec3.vm.example", "plain.vm.example"])
def test_denied(whole: Room, zone: str) -> None:
    """What does not exist is proven to who asks for that, and kept for its own time."""
    with whole.dnsd():
        for _ in range(2):
            reply = whole.ask(f"nothing.{zone}")
            assert reply.rcode() == dns.rcode.NXDOMAIN
            assert _types(reply) == {dns.rdatatype.SOA}
            assert reply.authority[0].ttl <= 60
        reply = whole.ask(f"www.{zone}", "MX")
        assert reply.rcode() == dns.rcode.NOERROR and _types(reply) == {dns.rdatatype.SOA}
        proven = whole.ask(f"nothing.{zone}", want_dnssec=True)
        assert bool(proven.flags & dns.flags.AD) == (zone != "plain.vm.example")


def test_forward(whole: Room) -> None:
    """Another server is asked instead of the root, and validated from a trust anchor on."""
    anchor = str(whole.internet.leaf_anchor)
    with whole.dnsd(forward=[LEAF], **{"trust-anchor": anchor}):
        reply = whole.ask("www.vm.example", want_dnssec=True)
        assert _data(reply) == [ADDRESS] and reply.flags & dns.flags.AD
        assert whole.ask("www.expired.vm.example").rcode() == dns.rcode.SERVFAIL


def test_kept(whole: Room) -> None:
    """What has been asked is answered without anybody else, to other clients as well."""
    with whole.dnsd() as server:
        first = whole.ask("kept.many.open.example")
        with _silent(whole.internet):
            for number in range(20):
                again = whole.ask("KEPT.many.open.example", source=f"10.1.0.{number + 1}")
                assert _data(again) == [ADDRESS]
                assert again.answer[0].ttl <= first.answer[0].ttl
        assert server.metric('resolver_queries_total{from="kept"}') >= 1
        assert server.metric("resolver_waiting") == 0


@pytest.mark.parametrize(
    ("zone", "ede", "data"),
    [
        ("expired", 7, ADDRESS),
        ("early", 8, ADDRESS),
        ("wrongds", 9, ADDRESS),
        ("stripped", 10, ADDRESS),
        ("forged", 6, FORGED),
    ],
)
def test_bogus(whole: Room, zone: str, ede: int, data: str) -> None:
    """Bogus data is for who asks for it by CD, or for all where that is permitted."""
    name = f"www.{zone}.vm.example"
    with whole.dnsd() as server:
        for _ in range(2):
            refused = whole.ask(name)
            assert (refused.rcode(), _data(refused)) == (dns.rcode.SERVFAIL, [])
            assert _ede(refused) == [ede] and refused.flags & dns.flags.RA
        asked = query(name, use_edns=0)
        asked.flags |= dns.flags.CD
        reply = whole.world.udp(asked)
        assert _data(reply) == [data] and reply.flags & dns.flags.CD
        assert not reply.flags & dns.flags.AD
        assert server.metric('resolver_bogus_total{reply="servfail"}') == 2
        assert server.metric('resolver_bogus_total{reply="data"}') == 1
    with whole.dnsd(dnssec="permissive") as server:
        reply = whole.ask(name, want_dnssec=True)
        assert _data(reply) == [data] and not reply.flags & dns.flags.AD
        assert _ede(reply) == [ede]
        assert whole.ask("www.vm.example", want_dnssec=True).flags & dns.flags.AD
        assert server.metric('resolver_bogus_total{reply="data"}') == 1


def test_insecure(whole: Room) -> None:
    """Below a name, or in all, nothing is validated if the operator says so."""
    with whole.dnsd(insecure=["forged.vm.example"]):
        assert _data(whole.ask("www.forged.vm.example")) == [FORGED]
        assert whole.ask("www.expired.vm.example").rcode() == dns.rcode.SERVFAIL
    with whole.dnsd(dnssec="off"):
        assert _data(whole.ask("www.forged.vm.example")) == [FORGED]
        assert not whole.ask("www.vm.example", want_dnssec=True).flags & dns.flags.AD


def test_keytrap(whole: Room) -> None:
    """Thousands of signatures that nobody should try do not keep others waiting for good."""
    with whole.dnsd():
        assert whole.ask("www.keytrap.vm.example").rcode() == dns.rcode.SERVFAIL
        assert _data(whole.ask("www.vm.example")) == [ADDRESS]


def test_not_allowed(whole: Room) -> None:
    """Strangers get our zones, and nothing else; nor does who does not ask for recursion."""
    with whole.dnsd() as server:
        denied = whole.ask("www.vm.example", source=OTHER)
        assert (denied.rcode(), _ede(denied)) == (dns.rcode.REFUSED, [18])
        assert not denied.flags & dns.flags.RA
        own = whole.ask("www.example.net", source=OTHER)
        assert _data(own) == [_OWN] and not own.flags & dns.flags.RA
        assert server.metric("replies_denied_total") == 1
        own = whole.ask("www.example.net")
        assert _data(own) == [_OWN] and own.flags & dns.flags.RA and own.flags & dns.flags.AA
        asked = query("www.vm.example")
        asked.flags &= ~dns.flags.RD
        assert whole.world.udp(asked).rcode() == dns.rcode.REFUSED


def test_own_zone_first(whole: Room) -> None:
    """A zone of ours hides the one that the others have."""
    config = whole.config()
    folder = whole.world.folder
    image = dns_room.compile_zone("vm.example", ZONE.format(serial=1), folder / "split.vzi")
    config["zones"].append({"name": "vm.example", "image": str(image)})
    with Dnsd(whole.world.server, folder, config):
        assert _data(whole.ask("www.vm.example")) == [_OWN]
        assert whole.ask("alias.vm.example").rcode() == dns.rcode.NXDOMAIN
        assert _data(whole.ask("www.open.example")) == [ADDRESS]


def test_stale(whole: Room) -> None:
    """While nobody answers for a name, what was known of it is said; then what is true again."""
    with whole.dnsd(**{"serve-stale": "on"}):
        assert _data(whole.ask("short.open.example")) == [ADDRESS]
        whole.internet.stop()
        try:
            # Its rest of life falls until it is stale, when it has 30 s (RFC 8767 section 4); with
            # libunbound 1.26 no more than it had at first.
            lives = [small_internet.SHORT]

            def is_stale() -> bool:
                reply = whole.ask("short.open.example")
                if reply.answer:
                    assert _data(reply) == [ADDRESS]
                    lives.append(_ttl(reply))
                return len(lives) > 1 and lives[-1] > lives[-2]

            wait.until(is_stale, "a stale answer")
            assert lives[-1] <= 30
            assert whole.ask("unknown.many.open.example").rcode() == dns.rcode.SERVFAIL
        finally:
            whole.internet.start()
        wait.until(
            lambda: _ttl(whole.ask("short.open.example")) <= small_internet.SHORT, "a fresh answer"
        )
        wait.until(lambda: _data(whole.ask("unknown.many.open.example")), "the other one")


def _ttl(reply: dns.message.Message) -> int:
    return reply.answer[0].ttl if reply.answer else 0


def test_tcp(whole: Room) -> None:
    """What has no room in a datagram comes over TCP; queries of a connection are all answered."""
    with whole.dnsd():
        for _ in range(2):
            reply = whole.ask("big.open.example", "TXT")
            assert reply.flags & dns.flags.TC and reply.flags & dns.flags.RA and not reply.answer
        with whole.world.connect(source=CLIENT) as connection:
            connection.sendall(framed(query("big.open.example", "TXT")))
            assert len(read(connection).answer[0]) == 20
            asked = {}
            for number in range(100):
                names = ("www.example.net", f"{number}.many.open.example", "www.vm.example")
                one = query(names[number % 3], id=number + 1)
                asked[one.id] = one
                connection.sendall(framed(one))
            while asked:
                reply = read(connection)
                assert asked.pop(reply.id).is_response(reply) and _data(reply)


def _flood(whole: Room, sources: list[str], kind: str) -> list[socket.socket]:
    """A query of each, for a name that nobody knows yet."""
    out = []
    with whole.world.client.entered():
        for number, source in enumerate(sources):
            one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            one.bind((source, 0))
            one.sendto(query(f"{number}.{kind}.many.open.example").to_wire(), (SERVER, dnsd.PORT))
            out.append(one)
    return out


def test_bounded(whole: Room) -> None:
    """A thousand clients, and one that asks as much: neither keeps all others out."""
    limits = {"max-queries": 600, "max-queries-per-client": 50}
    with whole.dnsd(1, **limits) as server, contextlib.ExitStack() as stack:
        # The way to the zone is known, so that each name is one query.
        assert _data(whole.ask("www.open.example")) == [ADDRESS]
        with _silent(whole.internet):
            sent = _flood(whole, [CLIENT] * 200, "one")
            full = 'drops_total{reason="resolver-client"}'
            wait.until(lambda: server.metric(full) >= 100, "drops of one client")
            assert 0 < server.metric("resolver_waiting") <= 50
            many = [f"10.1.{n // 250}.{n % 250 + 1}" for n in range(_CLIENTS)]
            sent += _flood(whole, many, "all")
            full = 'drops_total{reason="resolver-full"}'
            wait.until(lambda: server.metric(full) >= 100, "drops of all")
            assert 0 < server.metric("resolver_waiting") <= 600
            # Cached names are answered, and so is our own zone.
            assert _data(whole.ask("www.open.example", source="10.1.200.1")) == [ADDRESS]
            assert _data(whole.ask("www.example.net")) == [_OWN]
        for one in sent:
            stack.enter_context(one)
        wait.until(lambda: server.metric("resolver_waiting") == 0, "the end of all")
        assert _data(whole.ask("after.many.open.example")) == [ADDRESS]


def _has_come(seen: list[list[str]], wanted: int, lost: list[BaseException]) -> bool:
    return bool(lost) or len(seen) > wanted


def test_reload(whole: Room) -> None:
    """No query is lost; the cache stays, unless it is made in another way."""
    seen: list[list[str]] = []
    lost: list[BaseException] = []
    over = threading.Event()

    def ask() -> None:
        number = 0
        try:
            while not over.is_set():
                number += 1
                seen.append(_data(whole.ask(f"{number}.reload.many.open.example")))
        except BaseException as err:
            lost.append(err)

    with whole.dnsd() as server:
        thread = threading.Thread(target=ask)
        thread.start()
        try:
            for number in range(5):
                wanted = len(seen) + 5
                wait.until(partial(_has_come, seen, wanted, lost), "queries")
                server.configure(whole.config(**{"cache-size": (2 + number) << 20}))
                server.reload()
        finally:
            over.set()
            thread.join()
        assert not lost and all(data == [ADDRESS] for data in seen)
        whole.ask("www.vm.example")
        server.configure(whole.config("auto", **{"cache-size": 6 << 20}, dnssec="permissive"))
        server.reload()
        with _silent(whole.internet):
            assert _data(whole.ask("www.vm.example", use_edns=False)) == [ADDRESS]
        assert _data(whole.ask("www.forged.vm.example")) == [FORGED]
        server.configure(whole.config(**{"cache-size": 7 << 20}))
        server.reload()
        before = whole.internet.queries("www.vm.example")
        whole.ask("www.vm.example")
        assert whole.internet.queries("www.vm.example") > before
        assert whole.ask("www.forged.vm.example").rcode() == dns.rcode.SERVFAIL


def test_wrong_files(whole: Room) -> None:
    """What is missing is named, with its key and where to have it from; a reload keeps all."""
    with whole.dnsd() as server:
        server.configure(whole.config(**{"trust-anchor": "/nonexistent"}))
        with pytest.raises(Refused, match=r"resolver\.trust-anchor: '/nonexistent'.*root-data"):
            server.reload()
        assert _data(whole.ask("www.vm.example")) == [ADDRESS]
        done = dnsd.check(server.file)
        assert done.returncode == 1 and "resolver.trust-anchor" in done.stderr


def _replace(file: Path, text: str) -> None:
    """As a package's new version is put in place."""
    new = file.with_suffix(".new")
    new.write_text(text)
    new.rename(file)


def _other_key(anchor: str) -> str:
    """The root's DS with a digest that none of its keys has."""
    head, digest = anchor.rsplit(None, 1)
    return f"{head} {digest[::-1]}\n"


def _is_secure(whole: Room) -> bool:
    reply = whole.ask("www.vm.example", want_dnssec=True)
    return reply.rcode() == dns.rcode.NOERROR and bool(reply.flags & dns.flags.AD)


def test_anchors_are_read_again(whole: Room) -> None:
    """A reload takes trust anchors that were replaced, and leaves those alone that are wrong."""
    right = whole.internet.anchor.read_text()
    file = whole.world.folder / "root.key"
    _replace(file, _other_key(right))
    with whole.dnsd(1, **{"trust-anchor": str(file)}) as server:
        assert whole.ask("www.vm.example").rcode() == dns.rcode.SERVFAIL
        server.reload()
        assert whole.ask("www.vm.example").rcode() == dns.rcode.SERVFAIL
        _replace(file, right)
        server.reload()
        assert _is_secure(whole)
        for wrong, told in (
            ("", "has no DS and no DNSKEY record"),
            ("; . DS 1 8 2 00\n", "has no DS and no DNSKEY record"),
            ("ds. 3600 IN TXT DS-less\n", "line 1: a trust anchor is a record of type DS or"),
            (". 3600 IN DS here\n", "line 1: a DS record has a key's tag"),
            (f". 3600 IN DS 1 253 2 {'00' * 32}\n", "nothing below it would be validated"),
        ):
            _replace(file, wrong)
            with pytest.raises(Refused, match=f"not reloaded: .*{told}"):
                server.reload()
            assert _is_secure(whole)
        # Nothing was lost by that: what is kept is not asked for again.
        with _silent(whole.internet):
            assert _is_secure(whole)
        _replace(file, _other_key(right))
        os.kill(server.pid, signal.SIGHUP)
        wait.until(lambda: not _is_secure(whole), "the reload")


def test_connection_in_the_place_of_another(whole: Room) -> None:
    """Who has the place of a connection that went has none of the answers that it waited for."""
    with whole.dnsd(1) as server, contextlib.ExitStack() as stack:
        assert _data(whole.ask("www.open.example")) == [ADDRESS]
        with _silent(whole.internet):
            gone = stack.enter_context(whole.world.connect(source=CLIENT))
            gone.sendall(framed(query("late.many.open.example")))
            wait.until(lambda: server.metric("resolver_waiting") == 1, "the query")
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            gone.close()
            wait.until(lambda: server.metric("tcp_connections") == 0, "the end of it")
            here = stack.enter_context(whole.world.connect(source=CLIENT))
            wait.until(lambda: server.metric("tcp_connections") == 1, "the next one")
        wait.until(lambda: server.metric("resolver_waiting") == 0, "the late answer")
        for _ in range(3):
            asked = query("www.example.net")
            here.sendall(framed(asked))
            assert asked.is_response(read(here))
        assert server.metric("tcp_connections") == 1


def test_no_libunbound(whole: Room) -> None:
    """Without the library there is no resolver, and its package is named; zones need none."""
    ldconfig = tools.in_system("/usr/sbin/ldconfig", "-p")
    (library,) = re.findall(r"libunbound\.so\.8 .*=> (\S+)", tools.run(ldconfig))
    hide = f'mount --bind /dev/null "$(realpath {library})" && exec "$@"'
    server = whole.dnsd()
    words = dnsd.check_command(server.file, "unshare", "--mount", "sh", "-c", hide, "hidden")
    done = subprocess.run(words, capture_output=True, text=True, timeout=wait.PATIENCE)
    assert done.returncode == 1
    assert "resolver.allow" in done.stderr and "libunbound8" in done.stderr
    config = whole.config()
    del config["resolver"]
    server.configure(config)
    done = subprocess.run(words, capture_output=True, text=True, timeout=wait.PATIENCE)
    assert done.returncode == 0


_LIST = "Package: libunbound8\nStatus: install ok installed\nVersion: {}\n"
_FIXED = (1, 26, 1)


@pytest.mark.parametrize(
    ("package", "lacks"), [("1.17.1-2+deb12u4", True), ("1.17.1-2+deb12u5", False)]
)
def test_libunbound_without_fixes_is_told(whole: Room, package: str, lacks: bool) -> None:
    """Of a package that is not known to lack them, nothing is told; nor of a fixed library."""
    version = "import ctypes; u = ctypes.CDLL('libunbound.so.8').ub_version; "
    version += "u.restype = ctypes.c_char_p; print(u().decode())"
    library = tools.run(tools.in_system("/usr/bin/python3", "-c", version)).strip()
    is_old = tuple(map(int, library.split("."))) < _FIXED
    fake = whole.world.folder / "status"
    fake.write_text(_LIST.format(package))
    mount = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"')
    server = whole.dnsd()
    words = dnsd.check_command(server.file, *mount, fake, "/var/lib/dpkg/status")
    done = subprocess.run(words, capture_output=True, text=True, timeout=wait.PATIENCE)
    assert done.returncode == 0, done.stderr
    assert ("CVE-2026-81642" in done.stderr and package in done.stderr) == (lacks and is_old)
    assert not lacks or not is_old or "install 1.26.1 or later" in done.stderr
    assert is_old or not done.stderr
