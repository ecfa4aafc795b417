# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-dnsd's zones that change: nsupdate's updates, kill -9, transfers to dig and to BIND."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import re
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dns.edns
import dns.exception
import dns.message
import dns.opcode
import dns.query
import dns.rcode
import dns.tsig
import dns.tsigkeyring
import dns.update
import pytest
from lab.base import process, wait
from lab.base.net import Network
from lab.dns import dnsd
from lab.dns import room as dns_room
from lab.dns.dnsd import Dnsd
from lab.dns.dnsd_world import CLIENT, CLIENT6, SERVER, World, query, with_own_zones
from vmmnet.controlsocket import Refused

KEY = "ddns.test"
SECRET = "c2VjcmV0IG9mIHRoZSB0ZXN0cyBvZiB1cGRhdGVz"
OTHER_SECRET = "YW5vdGhlciBzZWNyZXQgb2YgdGhlIHRlc3Rz"
SECONDARY_PORT = 5353
KEA_PORT = 53001
SHORT_COOKIE = dns.edns.GenericOption(dns.edns.OptionType.COOKIE, b"seven77")
_SCHED_GETATTR = {"x86_64": 315, "aarch64": 275}
_SHORT_NS = 100_000


@pytest.fixture
def world(network: Network) -> Iterator[World]:
    """The server's folder of zones is its own."""
    with with_own_zones(network, SECRET) as hosts:
        yield hosts


def _server(world: World, **zone: Any) -> Dnsd:
    """A server with a key; "allow-update" and the like as **zone."""
    secret = world.folder / "secret"
    secret.write_text(f"{SECRET}\n")
    more = {name.replace("_", "-"): value for name, value in zone.items()}
    zones = [{"name": "example", "image": str(world.folder / "example.vzi"), **more}]
    keys = [{"name": KEY, "secret-file": str(secret)}]
    return Dnsd(world.server, world.folder, {"keys": keys, "zones": zones})


def _nsupdate(
    world: World, text: str, secret: str = SECRET, server: str = SERVER
) -> subprocess.CompletedProcess[str]:
    """Have BIND's client do it; its status says whether the server did."""
    script = f"server {server}\nzone example\n{text}\nsend\n"
    command = ["nsupdate", "-y", f"hmac-sha256:{KEY}:{secret}"]
    return world.client.run(command, input=script, check=False)


def _answer(world: World, name: str, kind: str = "A") -> list[str]:
    reply = world.udp(query(name, kind))
    return sorted(item.to_text() for rrset in reply.answer for item in rrset)


def _serial(world: World) -> int:
    return int(_answer(world, "example", "SOA")[0].split()[2])


def _signed(message: dns.message.Message, secret: str = SECRET) -> dns.message.Message:
    keyring = dns.tsigkeyring.from_text({KEY: secret})
    message.use_tsig(keyring, KEY, algorithm=dns.tsig.HMAC_SHA256)
    return message


def test_nsupdate(world: World) -> None:
    """What nsupdate has heard of is there at once, and after kill -9; an image is as it was."""
    image = (world.folder / "example.vzi").read_bytes()
    with _server(world, allow_update=[KEY]) as server:
        done = _nsupdate(world, "update add new.example 60 A 192.0.2.99")
        assert done.returncode == 0, done.stderr
        assert _answer(world, "new.example") == ["192.0.2.99"]
        assert _serial(world) == 2
        assert server.metric('zone_serial{zone="example"}') == 2
        done = _nsupdate(world, "prereq nxdomain new.example\nupdate delete www.example")
        assert "YXDOMAIN" in done.stderr and _answer(world, "www.example") == ["192.0.2.80"]
        done = _nsupdate(world, "prereq yxdomain new.example\nupdate delete www.example A")
        assert done.returncode == 0, done.stderr
        assert _answer(world, "www.example") == [] and _answer(world, "www.example", "AAAA")
        server.kill()
        server.start()
        assert _answer(world, "new.example") == ["192.0.2.99"] and _serial(world) == 3
        assert (world.folder / "example.vzi").read_bytes() == image
        server.reload()
        assert _answer(world, "new.example") == ["192.0.2.99"] and _serial(world) == 3


def test_who_may_update(world: World) -> None:
    """No signature, a wrong one, another name or type, another zone: nothing is changed."""
    rules = [{"key": KEY, "below": "dyn.example", "types": ["A", "TXT"]}]
    with _server(world, allow_update=rules) as server:
        assert _nsupdate(world, "update add a.dyn.example 60 A 192.0.2.9").returncode == 0
        for text in (
            "update add a.example 60 A 192.0.2.9",
            "update add a.dyn.example 60 AAAA 2001:db8::9",
            "update add a.dyn.example 60 TXT x\nupdate add example 60 TXT x",
        ):
            assert "REFUSED" in _nsupdate(world, text).stderr
        wrong = _nsupdate(world, "update delete a.dyn.example A", OTHER_SECRET)
        assert "BADSIG" in wrong.stderr or "NOTAUTH" in wrong.stderr
        update = dns.update.UpdateMessage("example")
        update.delete("a.dyn.example.", "A")
        assert world.udp(update).rcode() == dns.rcode.REFUSED
        elsewhere = dns.update.UpdateMessage("example.net")
        elsewhere.delete("a", "A")
        assert world.udp(_signed(elsewhere)).rcode() == dns.rcode.NOTAUTH
        assert _answer(world, "a.dyn.example") == ["192.0.2.9"] and _serial(world) == 2
        assert f"an update by {KEY} gets RCODE 5" in server.log.read_text()
        assert SECRET not in server.log.read_text()


def test_refusals_are_told(world: World) -> None:
    """Who is refused has a line and a count; many have ten lines, and the number of the rest."""
    axfr = dns.message.make_query("example", "AXFR")
    key, secret = dns.name.from_text("other.test"), OTHER_SECRET
    with _server(world, allow_update=[KEY], allow_transfer=[KEY]) as server, world.client.entered():

        def ask(message: dns.message.Message, rcode: dns.rcode.Rcode) -> None:
            with contextlib.suppress(dns.tsig.PeerError):
                assert dns.query.tcp(message, SERVER, timeout=wait.PATIENCE).rcode() == rcode

        ask(axfr, dns.rcode.REFUSED)
        ask(_signed(dns.message.make_query("example", "SOA"), secret), dns.rcode.NOTAUTH)
        unknown = dns.message.make_query("example", "SOA")
        unknown.use_tsig(dns.tsigkeyring.from_text({"other.test": secret}), key)
        ask(unknown, dns.rcode.NOTAUTH)
        log = server.log.read_text()
        assert (
            f"zone example: a transfer is refused: 'allow-transfer' does not have {CLIENT}" in log
        )
        assert f"a request of {CLIENT} with the key {KEY}: BADSIG: " in log
        assert f"a request of {CLIENT} with the key other.test: BADKEY: " in log
        for _ in range(30):
            ask(axfr, dns.rcode.REFUSED)
        assert server.log.read_text().count("is refused") < 20
        for reason, count in (("transfer", 31), ("badsig", 1), ("badkey", 1), ("notify", 0)):
            assert server.metric(f'refused_total{{reason="{reason}"}}') == count


def test_edns(world: World) -> None:
    """Replies to updates, NOTIFY and AXFR have OPT if the request has; options are looked at."""
    update = dns.update.UpdateMessage("example")
    update.add("edns", 60, "A", "192.0.2.9")
    notify = dns.message.make_query("example", "SOA")
    notify.set_opcode(dns.opcode.NOTIFY)
    axfr = dns.message.make_query("example", "AXFR")
    with _server(world, allow_update=[KEY], allow_transfer=[f"{CLIENT}/32"]):
        for message in (update, notify, axfr):
            if message is update:
                _signed(message)
            for edns, options in ((-1, []), (0, []), (0, [SHORT_COOKIE])):
                message.use_edns(edns, options=options)
                with world.client.entered():
                    reply = dns.query.tcp(message, SERVER, timeout=wait.PATIENCE)
                assert (reply.edns == 0) == (edns == 0), (message, reply)
                if options:
                    assert reply.rcode() == dns.rcode.FORMERR, reply
                elif message is notify:
                    assert reply.rcode() == dns.rcode.REFUSED, "the zone is not copied"
                else:
                    assert reply.rcode() == dns.rcode.NOERROR, reply


def test_signed_query(world: World) -> None:
    """A query that is signed gets a signed reply, as a secondary's for the SOA."""
    with _server(world, allow_update=[KEY]):
        reply = world.udp(_signed(query("example", "SOA")))
        assert reply.had_tsig and reply.rcode() == dns.rcode.NOERROR and reply.answer


class _Updates(threading.Thread):
    """Twenty updates over TCP, each of two names; ends where the server ends."""

    def __init__(self, world: World, first: int) -> None:
        super().__init__()
        self.world = world
        self.first = first
        #: What the server has said to have done.
        self.done: list[int] = []

    def has(self, count: int) -> bool:
        """Whether so many are done."""
        return len(self.done) >= count

    def run(self) -> None:
        for number in range(self.first, self.first + 20):
            update = dns.update.UpdateMessage("example")
            update.replace("one", 60, "TXT", str(number))
            update.replace("two", 60, "TXT", str(number))
            try:
                with self.world.client.entered():
                    reply = dns.query.tcp(_signed(update), SERVER, timeout=wait.PATIENCE)
            except (OSError, EOFError):
                return
            assert reply.rcode() == dns.rcode.NOERROR
            self.done.append(number)


def test_killed_in_updates(world: World) -> None:
    """kill -9 in 200 updates: each is there whole or not at all, and all acknowledged are."""
    with _server(world, allow_update=[KEY]) as server:
        for round_ in range(10):
            updates = _Updates(world, 20 * round_)
            updates.start()
            wait.until(functools.partial(updates.has, 1 + round_), "updates")
            server.kill()
            updates.join()
            server.start()
            one, two = _answer(world, "one.example", "TXT"), _answer(world, "two.example", "TXT")
            assert one == two
            last = updates.done[-1]
            assert int(one[0].strip('"')) in (last, last + 1)


def test_axfr(world: World) -> None:
    """dig has the zone with the key, and nobody has it without."""
    with _server(world, allow_update=[KEY], allow_transfer=[KEY]):
        assert _nsupdate(world, "update add new.example 60 A 192.0.2.99").returncode == 0
        dig = ["dig", f"@{SERVER}", "example", "+noall", "+answer", "+onesoa"]
        key = ["-y", f"hmac-sha256:{KEY}:{SECRET}"]
        lines = world.client.run([*dig, *key, "AXFR"]).stdout.splitlines()
        records = {tuple(line.split(None, 4)[i] for i in (0, 3)) for line in lines if line}
        assert {("new.example.", "A"), ("www.example.", "AAAA"), ("example.", "NS")} <= records
        assert sum(line.startswith("big.example.") for line in lines) == 20
        lines = world.client.run([*dig, *key, "IXFR=1"]).stdout.splitlines()
        assert [line.split()[3] for line in lines if line] == ["SOA", "SOA", "SOA", "A", "SOA"]
        refused = world.client.run([*dig, "AXFR"], check=False).stdout
        assert "Transfer failed" in refused and "www" not in refused


@contextlib.contextmanager
def _bind(world: World, folder: Path) -> Iterator[Path]:
    """BIND as the secondary of "example"; the file that it writes."""
    config = folder / "named.conf"
    config.write_text(
        f'key "{KEY}" {{ algorithm hmac-sha256; secret "{SECRET}"; }};\n'
        f'options {{ directory "{folder}"; pid-file none; session-keyfile none;\n'
        f"  listen-on port 53 {{ {CLIENT}; }}; listen-on-v6 {{ none; }};\n"
        "  recursion no; dnssec-validation no; notify no; };\n"
        "controls { };\n"
        f'zone "example" {{ type secondary; primaries {{ {SERVER} key "{KEY}"; }};\n'
        "  allow-update-forwarding { any; };\n"
        '  file "example.db"; masterfile-format text; };\n'
    )
    log = folder / "named.log"
    with log.open("wb") as out:
        child = process.start(
            ["named", "-g", "-n", "1", "-c", config],
            netns=world.client.netns,
            stdout=out,
            stderr=out,
        )
    try:
        yield log
    finally:
        process.stop(child)


def test_bind_as_secondary(world: World) -> None:
    """BIND has the zone by AXFR, and hears of a change by NOTIFY and has it by IXFR."""
    folder = world.folder.parent / "bind"
    folder.mkdir()
    changing: Mapping[str, Any] = {
        "allow_update": [KEY],
        "allow_transfer": [KEY],
        "notify": [CLIENT],
    }
    with _server(world, **changing) as server, _bind(world, folder) as log:

        def secondary(name: str, kind: str) -> list[str]:
            with world.client.entered():
                reply = dns.query.udp(query(name, kind), CLIENT, timeout=1)
            return [item.to_text() for rrset in reply.answer for item in rrset]

        def has(name: str, address: str) -> bool:
            with contextlib.suppress(OSError, dns.exception.Timeout):
                return secondary(name, "A") == [address]
            return False

        wait.until(lambda: has("www.example", "192.0.2.80"), "BIND's copy")
        server.ask("log debug")
        assert _nsupdate(world, "update add new.example 60 A 192.0.2.99").returncode == 0
        wait.until(lambda: has("new.example", "192.0.2.99"), "the change")
        done = rf"zone example: an update of {CLIENT} with the key {KEY} is done, serial \d+\n"
        assert re.search(done, server.log.read_text())
        assert "received notify for zone 'example'" in log.read_text()
        taken = server.metric('notifies_out_total{result="taken"}')
        said = server.ask("notify example")
        assert said.endswith(" to 1 server\n") and said.startswith("example: serial ")
        wait.until(
            lambda: server.metric('notifies_out_total{result="taken"}') > taken, "the answer"
        )
        begun = f"IXFR to {CLIENT} with the key {KEY}"
        ended = f"{begun}: serial [0-9]+, [0-9]+ records, [0-9]+ octets in [0-9]+ ms"
        wait.until(
            lambda: re.search(ended, server.log.read_text()),
            "the transfer's end",
        )
        assert server.metric('transfers_out_total{result="ixfr"}') >= 1
        assert server.metric('updates_total{rcode="NOERROR"}') >= 1
        assert f"{begun} begins" in server.log.read_text()
        assert "IXFR failure" not in log.read_text()
        # BIND forwards an update with an ID of its own, and the signature of the client.
        done = _nsupdate(world, "update add forwarded.example 60 A 192.0.2.9", server=CLIENT)
        assert done.returncode == 0, done.stderr
        assert _answer(world, "forwarded.example") == ["192.0.2.9"]


@contextlib.contextmanager
def _kea(world: World, folder: Path) -> Iterator[Path]:
    """Kea's DHCP-DDNS server, which signs updates of "example"; its log."""
    folder.mkdir()
    log = folder / "d2.log"
    server = [{"ip-address": SERVER, "port": 53}]
    domains = [{"name": "example.", "key-name": KEY, "dns-servers": server}]
    d2 = {
        "ip-address": "127.0.0.1",
        "port": KEA_PORT,
        "dns-server-timeout": 2000,
        "tsig-keys": [{"name": KEY, "algorithm": "HMAC-SHA256", "secret": SECRET}],
        "forward-ddns": {"ddns-domains": domains},
        "reverse-ddns": {},
        "loggers": [
            {
                "name": "kea-dhcp-ddns",
                "severity": "INFO",
                "output_options": [{"output": "stdout"}],
            }
        ],
    }
    config = folder / "d2.json"
    config.write_text(json.dumps({"DhcpDdns": d2}))
    environment = [f"KEA_PIDFILE_DIR={folder}", "KEA_LOCKFILE_DIR=none"]
    with log.open("wb") as out:
        child = process.start(
            ["env", *environment, "kea-dhcp-ddns", "-c", config],
            netns=world.client.netns,
            stdout=out,
            stderr=out,
        )
    try:
        wait.until(lambda: "DHCP_DDNS_STARTED" in log.read_text(), "Kea's start")
        yield log
    finally:
        process.stop(child)


def test_dhcp_ddns(world: World) -> None:
    """A lease of Kea gets its names; the reply has the ID that Kea waits for."""
    change = {
        "change-type": 0,
        "forward-change": True,
        "reverse-change": False,
        "fqdn": "lease.example.",
        "ip-address": "192.0.2.77",
        "dhcid": "010203040A7F8E3D",
        "lease-expires-on": "20991121132405",
        "lease-length": 1300,
        "use-conflict-resolution": True,
    }
    request = json.dumps(change).encode()
    with _server(world, allow_update=[KEY]), _kea(world, world.folder.parent / "kea") as log:
        with world.client.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(struct.pack("!H", len(request)) + request, ("127.0.0.1", KEA_PORT))
        wait.until(lambda: "DHCP_DDNS_ADD_SUCCEEDED" in log.read_text(), "Kea's word")
        assert "TIMEOUT" not in log.read_text().upper()
        assert _answer(world, "lease.example") == ["192.0.2.77"]
        assert len(_answer(world, "lease.example", "DHCID")) == 1


def test_signed_notify(world: World) -> None:
    """A secondary whose entry names a key hears of changes with its signature; others without."""
    with world.client.entered():
        signed = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        plain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with signed, plain:
        for one, port in ((signed, SECONDARY_PORT), (plain, SECONDARY_PORT + 1)):
            one.settimeout(wait.PATIENCE)
            one.bind((CLIENT, port))
        address = f"{CLIENT}@{SECONDARY_PORT}"
        notify = [{"address": address, "key": KEY}, f"{CLIENT}@{SECONDARY_PORT + 1}"]
        with _server(world, allow_update=[KEY], notify=notify):
            keyring = dns.tsigkeyring.from_text({KEY: SECRET})
            for one in (signed, plain):
                message = dns.message.from_wire(one.recv(4096), keyring=keyring)
                assert message.opcode() == dns.opcode.NOTIFY
                assert message.question[0].to_text() == "example. IN SOA"
                assert message.had_tsig == (one == signed)


def test_refused_notify(world: World) -> None:
    """A secondary that does not take NOTIFY has a line and a count."""
    with world.client.entered():
        secondary = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with secondary:
        secondary.settimeout(wait.PATIENCE)
        secondary.bind((CLIENT, SECONDARY_PORT))
        with _server(world, allow_update=[KEY], notify=[f"{CLIENT}@{SECONDARY_PORT}"]) as server:
            for rcode in (dns.rcode.REFUSED, dns.rcode.NOERROR):
                wire, peer = secondary.recvfrom(4096)
                reply = dns.message.make_response(dns.message.from_wire(wire))
                reply.set_rcode(rcode)
                secondary.sendto(reply.to_wire(), peer)
                result = "refused" if rcode else "taken"
                name = f'notifies_out_total{{result="{result}"}}'
                wait.until(lambda name=name: server.metric(name) == 1, name)
                assert (
                    _nsupdate(world, f"update add n{rcode}.example 60 A 192.0.2.9").returncode == 0
                )
            told = f"zone example: NOTIFY to {CLIENT}@{SECONDARY_PORT} is answered with RCODE 5"
            assert server.log.read_text().count(told) == 1


def test_notify_source(world: World) -> None:
    """NOTIFY leaves from the addresses that the zone names; one that is not ours is told once."""
    with world.client.entered():
        four = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    with four, six:
        for one, address in ((four, CLIENT), (six, CLIENT6)):
            one.settimeout(wait.PATIENCE)
            one.bind((address, SECONDARY_PORT))
        more = {
            "allow_update": [KEY],
            "notify": [f"{CLIENT}@{SECONDARY_PORT}", f"{CLIENT6}@{SECONDARY_PORT}"],
        }
        with _server(world, **more, notify_source=["2001:db8::11", "192.0.2.11"]):
            for one, source in ((four, "192.0.2.11"), (six, "2001:db8::11")):
                wire, peer = one.recvfrom(4096)
                assert dns.message.from_wire(wire).opcode() == dns.opcode.NOTIFY
                assert peer[0] == source
        with _server(world, **more, notify_source=["203.0.113.9"]) as server:
            told = f"NOTIFY to {CLIENT}@{SECONDARY_PORT} cannot be sent from 203.0.113.9: "
            wait.until(lambda: told in server.log.read_text(), "the warning")
            # The other family is not concerned, and is told by whatever address there is.
            wire, _ = six.recvfrom(4096)
            assert dns.message.from_wire(wire).opcode() == dns.opcode.NOTIFY
            assert _nsupdate(world, "update add new.example 60 A 192.0.2.99").returncode == 0
            six.recvfrom(4096)
            assert server.log.read_text().count(told) == 1


def _turns(thread: int) -> tuple[int, int]:
    """Policy of a thread, and nanoseconds of its turns (sched_getattr(2))."""
    attr = ctypes.create_string_buffer(48)
    if ctypes.CDLL(None).syscall(_SCHED_GETATTR[os.uname().machine], thread, attr, 48, 0):
        raise OSError("sched_getattr")
    _, policy, _, _, _, runtime = struct.unpack("=IIQiIQ", attr.raw[:32])
    return policy, runtime


@pytest.mark.parametrize("changes", [True, False])
def test_turns(world: World, changes: bool) -> None:
    """Threads that answer go first when they wake; what makes changes interrupts none."""
    rules = {"allow_update": [KEY]} if changes else {}
    with _server(world, **rules) as server:
        assert _turns(server.pid)[0] == (os.SCHED_BATCH if changes else os.SCHED_OTHER)
        tasks = Path(f"/proc/{server.pid}/task")
        # Earlier kernels have no turns of a thread's own.
        kernel = tuple(map(int, os.uname().release.split(".")[:2]))
        short = (os.SCHED_OTHER, _SHORT_NS if kernel >= (6, 12) else 0)

        def workers() -> int:
            others = {int(task.name) for task in tasks.iterdir()} - {server.pid}
            return list(map(_turns, others)).count(short)

        # Each of them takes care of it when it runs first.
        wait.until(lambda: workers() == server.metric("threads"), "short turns")


def test_another_image(world: World) -> None:
    """A compiled image takes the place of one without changes, and of no other."""
    with _server(world, allow_update=[KEY]) as server:
        world.image(5)
        server.reload()
        assert _serial(world) == 5
        assert _nsupdate(world, "update add new.example 60 A 192.0.2.99").returncode == 0
        world.image(9)
        with pytest.raises(Refused):
            server.reload()
        assert "example.vzi.jnl" in server.log.read_text()
        assert _serial(world) == 6 and _answer(world, "new.example")
        (world.folder / "example.vzi.jnl").unlink()
        server.reload()
        assert _serial(world) == 9 and not _answer(world, "new.example")


def _history(world: World, serial: int) -> list[tuple[str, str]]:
    """Owners and types of what IXFR from a serial brings."""
    dig = ["dig", f"@{SERVER}", "example", "+noall", "+answer", "+onesoa", f"IXFR={serial}"]
    lines = world.client.run(dig).stdout.splitlines()
    return [(line.split()[0], line.split()[3]) for line in lines if line]


def test_compiled_anew(world: World) -> None:
    """A zone that nobody updates: its secondaries get what a new image changes, by IXFR."""
    file = world.folder / "example.vzi"
    soa = ("example.", "SOA")

    def compiled(serial: int, *lines: str) -> None:
        head = f"$TTL 300\n@ SOA ns root {serial} 3600 600 86400 300\n@ NS ns\nns A 192.0.2.1\n"
        dns_room.compile_zone("example", head + "".join(f"{line}\n" for line in lines), file)

    compiled(1, "a A 192.0.2.7", "b A 192.0.2.8")
    with _server(world, allow_transfer=[f"{CLIENT}/32"]) as server:
        compiled(2, "a A 192.0.2.7", "c.d A 192.0.2.9")
        server.reload()
        first = [soa, soa, ("b.example.", "A"), soa, ("c.d.example.", "A"), soa]
        assert _history(world, 1) == first
        compiled(3, "a A 192.0.2.6", "c.d A 192.0.2.9")
        server.reload()
        second = [soa, ("a.example.", "A"), soa, ("a.example.", "A"), soa]
        assert _history(world, 2) == [soa, *second]
        assert _history(world, 1) == [*first[:-1], *second]
        server.kill()
        server.start()
        assert _history(world, 2) == [soa, *second] and _answer(world, "a.example") == ["192.0.2.6"]
        # The same serial again: it is served, told, and has no history.
        compiled(3, "a A 192.0.2.5")
        server.reload()
        assert _answer(world, "a.example") == ["192.0.2.5"] and not _answer(world, "c.d.example")
        assert "the serial of the new image is not greater" in server.log.read_text()
        assert ("ns.example.", "A") in _history(world, 2)
        # While the server is stopped: there is nothing to compare it with.
        server.stop()
        compiled(4, "a A 192.0.2.4")
        server.start()
        assert _answer(world, "a.example") == ["192.0.2.4"] and _serial(world) == 4
        assert "the history begins anew" in server.log.read_text()
        assert file.with_name("example.vzi.jnl.left").exists()
        assert ("ns.example.", "A") in _history(world, 3)
        compiled(5, "a A 192.0.2.3")
        server.reload()
        assert _history(world, 4) == [soa, *second]


def test_updates_are_not_dropped(world: World) -> None:
    """Of a zone that may be updated no more: they are in no image, so the operator decides."""
    with _server(world, allow_update=[KEY]) as server:
        assert _nsupdate(world, "update add new.example 60 A 192.0.2.99").returncode == 0
    journal = world.folder / "example.vzi.jnl"
    before = journal.read_bytes()
    world.image(9)
    with _server(world, allow_transfer=[f"{CLIENT}/32"]) as server:
        assert world.udp(query()).rcode() == dns.rcode.SERVFAIL
        assert "is the journal of another image; remove it" in server.log.read_text()
        assert journal.read_bytes() == before


def test_without_rules(world: World) -> None:
    """A zone that has changed is served with its changes, also when it may not change any more."""
    image = str(world.folder / "example.vzi")
    with _server(world, allow_update=[KEY]) as server:
        assert _nsupdate(world, "update add new.example 60 A 192.0.2.99").returncode == 0
        keys = [{"name": KEY, "secret-file": str(world.folder / "secret")}]
        server.configure({"keys": keys, "zones": [{"name": "example", "image": image}]})
        for again in (server.reload, server.kill, server.reload):
            again()
            if again == server.kill:
                server.start()
            assert _answer(world, "new.example") == ["192.0.2.99"] and _serial(world) == 2
            assert "REFUSED" in _nsupdate(world, "update delete new.example").stderr
        assert server.metric('zone_state{zone="example"}') == 0


def test_journal_at_a_reload(world: World) -> None:
    """A server that may not write does not serve a zone without its changes: it says what to do."""
    image = str(world.folder / "example.vzi")
    with _server(world, allow_update=[KEY]) as server:
        assert _nsupdate(world, "update add new.example 60 A 192.0.2.99").returncode == 0
        server.stop()
        server.configure({"zones": []})
        server.start()
        server.configure({"zones": [{"name": "example", "image": image}]})
        with pytest.raises(Refused):
            server.reload()
        assert world.udp(query()).rcode() == dns.rcode.SERVFAIL
        assert "example.vzi.jnl' has changes" in server.log.read_text()
        server.stop()
        server.start()
        assert _answer(world, "new.example") == ["192.0.2.99"] and _serial(world) == 2


def test_image_cut_short(world: World) -> None:
    """The zone is SERVFAIL, no more than that, until its image is whole; no update is lost."""
    image = world.folder / "example.vzi"
    whole = image.read_bytes()
    with _server(world, allow_update=[KEY]) as server:
        assert _nsupdate(world, "update add new.example 60 A 192.0.2.99").returncode == 0
        os.truncate(image, 4096)
        for name in ("www.example", "new.example"):
            assert world.udp(query(name)).rcode() == dns.rcode.SERVFAIL
        assert "SERVFAIL" in _nsupdate(world, "update delete www.example").stderr
        assert world.udp(query("www.other")).rcode() == dns.rcode.REFUSED
        assert server.metric('zone_state{zone="example"}') == 2
        wait.until(lambda: "was truncated" in server.log.read_text(), "the log")
        with pytest.raises(Refused):
            server.reload()
        assert world.udp(query()).rcode() == dns.rcode.SERVFAIL
        image.write_bytes(whole)
        server.reload()
        assert _answer(world, "new.example") == ["192.0.2.99"] and _serial(world) == 2
        assert _answer(world, "www.example") == ["192.0.2.80"]
        assert _nsupdate(world, "update delete www.example").returncode == 0
        assert server.metric('zone_state{zone="example"}') == 0


def test_wrong_configuration(world: World) -> None:
    """Each mistake says where it is and what would be right."""
    server = _server(world)
    zone = {
        "name": "example",
        "image": str(world.folder / "example.vzi"),
        "allow-update": ["other.test", {"key": KEY, "below": "example.net"}, {"types": ["B"]}],
        "allow-transfer": ["10.0.0.1/8"],
        "notify": ["here"],
    }
    keys = [{"name": KEY, "algorithm": "hmac-md5", "secret-file": "secret"}, {"name": "x"}]
    server.file.write_text(json.dumps({"keys": keys, "zones": [zone]}))
    done = dnsd.check(server.file)
    assert done.returncode == 1
    for told in (
        r"keys\[0\].algorithm: 'hmac-md5' is no algorithm; right is 'hmac-sha256'",
        r"keys\[0\].secret-file: 'secret' is no absolute path",
        r"keys\[1\]: a map has no secret; right is either 'secret-file'",
        r"zones\[0\].allow-update\[0\]: 'other.test' is no key; right is the name of a key",
        r"zones\[0\].allow-update\[2\].types\[0\]: 'B' is no type",
        r"zones\[0\].allow-transfer\[0\]: '10.0.0.1/8' is neither a prefix nor a key",
        r"zones\[0\].notify\[0\]: 'here' is no address; right is a list of addresses",
    ):
        assert re.search(rf"^\S+:\d+:\d+: {told}", done.stderr, re.MULTILINE), done.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'key "{KEY}" {{\n  {SECRET};\n}};\n', "line 2: a key has an algorithm and a secret, and"),
        (f"key a {{ algorithm {SECRET};", "line 1: the algorithm must be hmac-sha1"),
        (f'key "{SECRET}"; secret {SECRET};', "line 1: '{' is missing"),
        (f"key other {{ algorithm hmac-sha256; secret {SECRET}; }};", "it has no key of this name"),
    ],
)
def test_wrong_key_file(world: World, text: str, told: str) -> None:
    """The message has the line and what is wrong, and nothing of what the file has."""
    server = _server(world)
    file = world.folder / "key"
    file.write_text(text)
    zone = {"name": "example", "image": str(world.folder / "example.vzi")}
    server.configure({"keys": [{"name": KEY, "key-file": str(file)}], "zones": [zone]})
    done = dnsd.check(server.file)
    assert done.returncode == 1 and SECRET not in done.stderr
    assert f"keys: {KEY}: '{file}': {told}" in done.stderr


def test_weak_keys(world: World) -> None:
    """A secret that can be guessed is told; one in the configuration is refused, not shown."""
    server = _server(world)
    (world.folder / "secret").write_text("MDEy\n")
    done = dnsd.check(server.file)
    assert done.returncode == 0 and "the secret has 3 octets, which can be guessed" in done.stderr
    zone = {"name": "example", "image": str(world.folder / "example.vzi")}
    server.configure({"keys": [{"name": KEY, "secret": SECRET}], "zones": [zone]})
    done = dnsd.check(server.file)
    assert done.returncode == 1 and SECRET not in done.stderr
    assert "keys[0]: a map has 'secret'; right is 'secret-file'" in done.stderr
