# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-dnsd as a secondary of BIND, Knot, NSD, of itself, and of primaries that do wrong."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dns.edns
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.query
import dns.rcode
import dns.rdatatype
import dns.rrset
import dns.tsig
import dns.tsigkeyring
import dns.xfr
import dns.zone
import pytest
from lab.base import tools, wait
from lab.base.net import Network
from lab.dns import dnsd, odd_primary
from lab.dns import room as dns_room
from lab.dns.dnsd import Dnsd
from lab.dns.dnsd_world import (
    CLIENT,
    CLIENT6,
    OTHER,
    SERVER,
    SERVER6,
    World,
    made,
    query,
)
from lab.dns.odd_primary import OddPrimary
from lab.dns.primaries import BIND, KEY, NAMES, NSD, SECRET, Primary

RING = dns.tsigkeyring.from_text({KEY: SECRET})
EXPIRED = 3


@contextlib.contextmanager
def _world(network: Network) -> Iterator[World]:
    """The server's folder of zones is its own, and has no image."""
    with made(network) as hosts:
        hosts.folder = hosts.folder / "zones"
        hosts.folder.mkdir()
        (hosts.folder / "secret").write_text(f"{SECRET}\n")
        tools.run(["chown", "-R", dnsd.USER, hosts.folder])
        yield hosts


@pytest.fixture
def world(network: Network) -> Iterator[World]:
    with _world(network) as hosts:
        yield hosts


def _text(serial: int, *, names: int = 20, times: str = "3600 600 86400") -> str:
    """A version of the zone: names that say which, and others that never change."""
    lines = [f"$TTL 300\n@ SOA ns root {serial} {times} 300", "@ NS ns", "ns A 192.0.2.1"]
    lines += [f'h{number} TXT "{serial}"' for number in range(names)]
    lines += [f"f{number} A 192.0.2.9" for number in range(300)]
    lines += [f"v{serial} A 192.0.2.8", "*.wild AAAA 2001:db8::8"]
    return "\n".join(lines) + "\n"


def _zone(world: World, **more: Any) -> dict[str, Any]:
    """The zone "example", copied from the client's host with the key."""
    keys = {name.replace("_", "-"): value for name, value in more.items()}
    return {
        "name": "example",
        "image": str(world.folder / "example.vzi"),
        "primaries": [{"address": CLIENT, "key": KEY}],
        "allow-transfer": [f"{CLIENT}/32"],
        **keys,
    }


def _config(world: World, *zones: Mapping[str, Any]) -> dict[str, Any]:
    keys = [{"name": KEY, "secret-file": str(world.folder / "secret")}]
    return {"keys": keys, "zones": list(zones)}


def _server(world: World, *zones: Mapping[str, Any]) -> Dnsd:
    return Dnsd(world.server, world.folder, _config(world, *(zones or [_zone(world)])))


def _primary(world: World, name: str, text: str, address: str = CLIENT) -> Primary:
    folder = world.folder.parent / f"{name}-{address}"
    folder.mkdir(exist_ok=True)
    primary = Primary(name, world.client, folder, address, "example", SERVER)
    primary.zone.write_text(text)
    return primary


def _answer(world: World, name: str, kind: str, server: str = SERVER) -> list[str]:
    reply = world.udp(query(name, kind), server)
    return sorted(item.to_text() for rrset in reply.answer for item in rrset)


def _serial(world: World, server: str = SERVER, zone: str = "example") -> int:
    """What is served; 0 if nothing is."""
    soa = _answer(world, zone, "SOA", server)
    return int(soa[0].split()[2]) if soa else 0


def _await_serial(world: World, serial: int, server: str = SERVER) -> None:
    wait.until(lambda: _serial(world, server) == serial, f"serial {serial}")


def _all(world: World, server: str, *, signed: bool = False) -> dns.zone.Zone:
    """The zone as a server transfers it."""
    found = dns.zone.Zone("example")
    ask, _ = dns.xfr.make_query(found, keyring=RING if signed else None)
    with world.client.entered():
        dns.query.inbound_xfr(server, found, ask, timeout=wait.PATIENCE)
    return found


def _is_same(world: World, primary: str = CLIENT) -> bool:
    ours, theirs = _all(world, SERVER), _all(world, primary, signed=True)
    return set(ours.iterate_rdatas()) == set(theirs.iterate_rdatas())


def _command(server: Dnsd, *words: str) -> subprocess.CompletedProcess[str]:
    program = dns_room.program("vmmnet-dnsd")
    command = [program, *words, "--control", server.control]
    return subprocess.run(command, capture_output=True, text=True, timeout=wait.PATIENCE)


@pytest.mark.parametrize("name", NAMES)
def test_copy(world: World, name: str) -> None:
    """No image: AXFR; NOTIFY: IXFR; after a crash, with the primary away, it is served."""
    with _primary(world, name, _text(1)) as primary, _server(world) as server:
        _await_serial(world, 1)
        assert _is_same(world)
        assert server.metric('transfers_in_total{result="axfr"}') == 1
        server.ask("log debug")
        for serial in (2, 3):
            primary.replace(_text(serial))
            _await_serial(world, serial)
            assert _is_same(world)
        assert server.metric('transfers_in_total{result="ixfr"}') == 2, server.log.read_text()
        assert server.metric('transfers_in_total{result="axfr"}') == 1
        assert server.metric('notifies_total{result="taken"}') >= 2
        taken = rf"NOTIFY of {CLIENT}( with the key \S+)?: taken\n"
        assert re.search(taken, server.log.read_text())
        got = rf"zone example: serial 3 by IXFR from {CLIENT}, \d+ records, \d+ octets in \d+ ms\n"
        assert re.search(got, server.log.read_text())
        assert server.metric('zone_serial{zone="example"}') == 3
        assert server.metric('zone_last_success_seconds{zone="example"}') > time.time() - 3600
        (shown,) = json.loads(server.ask("show json"))["zones"]
        image = shown["image"]
        assert (shown["zone"], shown["role"], shown["state"]) == ("example", "secondary", "served")
        assert shown["serial"] == 3 and not shown["asking"] and not shown["failures"]
        assert 0 < shown["refresh-in"] < shown["expires-in"]
        assert shown["primaries"] == [{"address": CLIENT, "serial": 3}] and shown["journal"]
        assert "last-error" not in shown and image.endswith("/example.vzi")
        shown = server.ask("show")
        assert re.search(r"zone example secondary served serial 3 journal \d+ refresh in ", shown)
        assert f"\nimage example {image}\n" in shown
        server.kill()
        primary.stop()
        server.start()
        assert _serial(world) == 3 and _answer(world, "h7.example", "TXT") == ['"3"']
        wait.until(
            lambda: server.metric('transfers_in_failed_total{reason="connect"}'), "the failure"
        )
        error = f"nothing from {CLIENT}: no connection: "
        (shown,) = json.loads(server.ask("show json"))["zones"]
        assert shown["last-error"].startswith(error) and shown["primaries"] == [{"address": CLIENT}]
        assert f"primary example {CLIENT}\nerror example {error}" in server.ask("show")
        assert _answer(world, "v3.example", "A") and not _answer(world, "v2.example", "A")
        primary.replace(_text(4))
        primary.start()
        done = _command(server, "refresh", "Example.")
        assert done.returncode == 0 and CLIENT in done.stdout, done
        _await_serial(world, 4)
        assert server.metric('transfers_in_total{result="axfr"}') <= 1


class _Signer:
    """Signs versions of the zone; what does not change keeps its signature."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._signed: dict[tuple[str, ...], str] = {}
        keygen = ["dnssec-keygen", "-q", "-a", "ECDSAP256SHA256", "-K", folder]
        self.keys = [tools.run([*keygen, *more, "example"]).strip() for more in ((), ("-f", "KSK"))]

    def sign(self, text: str, *more: str) -> str:
        """The signed text; the same for every primary."""
        if (text, *more) not in self._signed:
            self._signed[text, *more] = self._sign(text, *more)
        return self._signed[text, *more]

    def _sign(self, text: str, *more: str) -> str:
        file, out = self.folder / "plain", self.folder / "signed"
        file.write_text(text + "".join((self.folder / f"{k}.key").read_text() for k in self.keys))
        command = ["dnssec-signzone", "-q", "-o", "example", "-O", "full", "-P", *more]
        tools.run([*command, "-K", self.folder, "-d", self.folder, "-f", out, file])
        return out.read_text()


@pytest.fixture(scope="module")
def signer(tmp_path_factory: pytest.TempPathFactory) -> _Signer:
    return _Signer(tmp_path_factory.mktemp("signer"))


def _proof(world: World, name: str, server: str) -> tuple[int, list[str]]:
    """The RCODE and the records that a server proves an answer with."""
    reply = world.udp(query(name, "A", want_dnssec=True, payload=4096), server)
    text = [rrset.to_text() for rrset in reply.answer + reply.authority]
    return int(reply.rcode()), sorted(text)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("denial", [(), ("-3", "-", "-H", "0"), ("-3", "-", "-A")])
def test_signed(world: World, signer: _Signer, name: str, denial: tuple[str, ...]) -> None:
    """A signed zone comes by IXFR, and what is denied is proven as the primary does."""
    sub = "sub NS ns.sub\nns.sub A 192.0.2.7\n"
    with (
        _primary(world, name, signer.sign(_text(1), *denial)) as primary,
        _server(world, {**_zone(world)}) as server,
    ):
        _await_serial(world, 1)
        for serial in (2, 3):
            more = sub if serial == 2 else ""
            primary.replace(signer.sign(_text(serial) + more, *denial))
            _await_serial(world, serial)
            assert _is_same(world)
            for asked in ("h3", "nope", "a.v1", f"v{serial}", "x.wild", "x.sub", "h3.h3"):
                ours, theirs = (_proof(world, f"{asked}.example", at) for at in (SERVER, CLIENT))
                assert ours[0] == theirs[0]
                assert ours[1] == theirs[1] or name != BIND
        # NSD 4.6 adds signatures at the apex twice: that is no change of the zone.
        came = server.metric('transfers_in_total{result="ixfr"}')
        assert came == 2 or name == NSD, server.log.read_text()


def test_expired(world: World) -> None:
    """Not confirmed for EXPIRE: SERVFAIL and why, also after a restart, until it is."""
    text = _text(1, times="30 10 20")
    success = world.folder / "example.vzi.time"
    with _primary(world, BIND, text) as primary, _server(world) as server:
        _await_serial(world, 1)
        wait.until(success.exists, "the time of the success")
        primary.stop()
        server.stop()
        # The least times are 30 s for a refresh and 10 s for a retry; the rest is waited for.
        begin = int(time.time()) - 30
        success.write_text(f"{begin}\n")
        server.start()

        def has_expired() -> bool:
            reply = world.udp(query("h1.example", "TXT", use_edns=0))
            return reply.rcode() == dns.rcode.SERVFAIL and [
                option.code for option in reply.options if option.otype == dns.edns.EDE
            ] == [dns.edns.EDECode.INVALID_DATA]

        wait.until(has_expired, "the end of the zone")
        assert server.metric('zone_state{zone="example"}') == EXPIRED
        with pytest.raises(dns.xfr.TransferError):
            _all(world, SERVER)
        # After a restart it counts whole seconds of another clock.
        wait.until(lambda: time.time() >= begin + 40, "the end by that clock")
        server.kill()
        server.start()
        assert has_expired() and server.metric('zone_state{zone="example"}') == EXPIRED
        primary.start()
        assert _command(server, "refresh", "example").returncode == 0
        _await_serial(world, 1)
        assert server.metric('zone_state{zone="example"}') == 0
        assert server.metric('transfers_in_total{result="axfr"}') == 0


def test_old_image(world: World) -> None:
    """The age of a zone is that of its last success, not of its file."""
    with _primary(world, BIND, _text(1)) as primary, _server(world) as server:
        _await_serial(world, 1)
        wait.until((world.folder / "example.vzi.time").exists, "the time of the success")
        primary.stop()
        server.stop()
        (world.folder / "example.vzi.time").write_text(f"{int(time.time()) - 86500}\n")
        server.start()
        assert _serial(world) == 0
        assert server.metric('zone_state{zone="example"}') == EXPIRED
        # A primary that has lost what it had is better than none.
        primary.replace(_text(4294967295))
        primary.start()
        assert _command(server, "refresh", "example").returncode == 0
        _await_serial(world, 4294967295)


@pytest.mark.parametrize("name", NAMES)
def test_restored_primary(world: World, name: str) -> None:
    """A backup has an older serial: refused, said, and taken when it is forced; so downstream."""
    first, second = _chain(world)
    with _primary(world, name, _text(200)) as primary, first, second:
        _await_serial(world, 200, OTHER)
        primary.replace(_text(201))
        _await_serial(world, 201, OTHER)
        primary.stop()
        primary.restore(_text(100))
        primary.start()
        told = "it has serial 100, which is older than 201; 'vmmnet-dnsd retransfer' takes it"

        def is_refused() -> bool:
            # A primary that has just started may listen before it has the zone.
            assert _command(first, "refresh", "example").returncode == 0
            return told in first.log.read_text()

        wait.until(is_refused, "the refusal")
        assert _serial(world) == 201
        done = _command(first, "retransfer", "Example.")
        assert done.returncode == 0 and "whatever its serial" in done.stdout, done
        _await_serial(world, 100)
        assert _is_same(world)
        # There is no way by changes from what was before.
        ask = query("example", "IXFR")
        ask.authority.append(dns.rrset.from_text("example.", 0, "IN", "SOA", "n. r. 200 9 9 9 9"))
        (soa,) = world.udp(ask).answer
        assert soa[0].serial == 100
        told = "it has serial 100, which is older than 201"
        wait.until(lambda: told in second.log.read_text(), "the refusal downstream")
        assert _command(second, "retransfer", "example").returncode == 0
        _await_serial(world, 100, OTHER)
        # From here on all is as before, also after a crash.
        first.kill()
        first.start()
        assert _serial(world) == 100
        primary.replace(_text(101))
        _await_serial(world, 101, OTHER)
        assert _is_same(world)


def test_retransfer(world: World) -> None:
    """Of the same serial too; where nobody sends the zone, what was there is served."""
    zone = _zone(world, primaries=["192.0.2.99", {"address": CLIENT, "key": KEY}])
    with _primary(world, BIND, _text(5)) as primary, _server(world, zone) as server:
        _await_serial(world, 5)
        before = server.metric('transfers_in_total{result="axfr"}')
        assert _command(server, "retransfer", "example").returncode == 0

        def is_taken() -> bool:
            return server.metric('transfers_in_total{result="axfr"}') == before + 1

        wait.until(is_taken, "the transfer")
        # Once is once.
        assert _command(server, "refresh", "example").returncode == 0
        wait.until(lambda: server.metric('transfers_in_total{result="current"}') > 0, "an answer")
        assert is_taken()
        primary.stop()
        failed = server.metric('transfers_in_failed_total{reason="connect"}')
        assert _command(server, "retransfer", "example").returncode == 0
        wait.until(
            lambda: server.metric('transfers_in_failed_total{reason="connect"}') >= failed + 2,
            "both primaries",
        )
        assert _serial(world) == 5
    assert _command(server, "retransfer", "example").returncode == 1


def test_retransfer_of_no_secondary(world: World) -> None:
    """The command names what is wrong."""
    with _server(world) as server:
        done = _command(server, "retransfer", "other")
        assert done.returncode == 1 and "'other' is no zone with 'primaries' here" in done.stderr
        done = _command(server, "retransfer")
        assert done.returncode == 2 and "retransfer: it needs more: ZONE" in done.stderr


def test_several_primaries(world: World) -> None:
    """One is away and one behind: the third is asked."""
    image = dns_room.compile_zone("example", _text(4), world.folder / "example.vzi")
    tools.run(["chown", dnsd.USER, image])
    third = {"address": CLIENT, "key": KEY}
    zone = _zone(world, primaries=["192.0.2.99", OTHER, third], allow_notify=[])
    old = OddPrimary(world.client, OTHER, {}, serial=3)
    with old, _primary(world, BIND, _text(5)), _server(world, zone) as server:
        _await_serial(world, 5)
        assert server.metric('transfers_in_failed_total{reason="connect"}') >= 1
        assert server.metric('transfers_in_failed_total{reason="behind"}') >= 1


def test_notify(world: World) -> None:
    """Who may say that there is news, and what others are told."""
    with _primary(world, BIND, _text(1)), _server(world) as server:
        _await_serial(world, 1)

        def tell(zone: str, source: str, kind: str = "SOA") -> dns.message.Message:
            message = dns.message.make_query(zone, kind)
            message.set_opcode(dns.opcode.NOTIFY)
            with world.client.entered():
                return dns.query.udp(message, SERVER, timeout=wait.PATIENCE, source=source)

        before = server.metric('transfers_in_total{result="current"}')
        reply = tell("EXAMPLE", CLIENT)
        assert reply.rcode() == dns.rcode.NOERROR and reply.opcode() == dns.opcode.NOTIFY
        wait.until(
            lambda: server.metric('transfers_in_total{result="current"}') > before, "a question"
        )
        assert tell("example", OTHER).rcode() == dns.rcode.REFUSED
        assert tell("example.net", CLIENT).rcode() == dns.rcode.NOTAUTH
        assert tell("example", CLIENT, "A").rcode() == dns.rcode.FORMERR
        for result in ("refused", "no-zone", "malformed"):
            assert server.metric(f'notifies_total{{result="{result}"}}') == 1
        server.configure(_config(world, _zone(world, allow_notify=[f"{OTHER}/32"])))
        server.reload()
        assert tell("example", OTHER).rcode() == dns.rcode.NOERROR
        assert tell("example", CLIENT).rcode() == dns.rcode.REFUSED


def _chain(world: World) -> tuple[Dnsd, Dnsd]:
    """A copy of the client's host, and at OTHER a copy of the copy."""
    folder = world.folder.parent / "chain"
    folder.mkdir()
    (folder / "secret").write_text(f"{SECRET}\n")
    tools.run(["chown", "-R", dnsd.USER, folder])
    first = _server(world, _zone(world, allow_transfer=[KEY, f"{CLIENT}/32"], notify=[OTHER]))
    zone = {
        "name": "example",
        "image": str(folder / "example.vzi"),
        "primaries": [{"address": SERVER, "key": KEY}],
    }
    keys = [{"name": KEY, "secret-file": str(folder / "secret")}]
    config = {"server": {"listen": [OTHER]}, "keys": keys, "zones": [zone]}
    return first, Dnsd(world.client, folder, config)


def test_chain(world: World) -> None:
    """A copy of a copy has a change by NOTIFY and IXFR, too."""
    first, second = _chain(world)
    with _primary(world, BIND, _text(1)) as primary, first, second:
        _await_serial(world, 1, OTHER)
        for serial in (2, 3):
            primary.replace(_text(serial))
            _await_serial(world, serial, OTHER)
        assert _answer(world, "h9.example", "TXT", OTHER) == ['"3"']
        assert second.metric('transfers_in_total{result="ixfr"}') == 2


def _allowing(world: World, folder: Path, asker: str) -> Dnsd:
    """A primary on the client's host, at both families' addresses."""
    zone = {"name": "example", "image": str(folder / "example.vzi"), "allow-transfer": [asker]}
    listen = [f"{CLIENT}@{dnsd.PORT}", f"{CLIENT6}@{dnsd.PORT}"]
    return Dnsd(world.client, folder, {"server": {"listen": listen}, "zones": [zone]})


def test_transfer_source(world: World) -> None:
    """Transfers leave from the address that the zone names, of whatever family."""
    folder = world.folder.parent / "primary"
    folder.mkdir()
    dns_room.compile_zone("example", _text(1), folder / "example.vzi")
    tools.run(["chown", "-R", dnsd.USER, folder])
    for primary, source in (
        (CLIENT, "192.0.2.11"),
        (CLIENT, SERVER),
        (CLIENT6, "2001:db8::11"),
        (CLIENT6, SERVER6),
    ):
        # Whichever the kernel would take, it is the wrong one in one of the cases.
        zone = _zone(world, primaries=[primary], transfer_source=[source])
        with _allowing(world, folder, source), _server(world, zone) as server:
            _await_serial(world, 1)
            assert server.metric('transfers_in_total{result="failed"}') == 0
        for file in world.folder.glob("example.vzi*"):
            file.unlink()


def test_wrong_transfer_source(world: World) -> None:
    """An address that is not this host's is told with its primary; a reload mends it."""
    zone = _zone(world, transfer_source=["203.0.113.9"])
    with _primary(world, BIND, _text(1)), _server(world, zone) as server:
        told = f"nothing from {CLIENT}: no connection from 203.0.113.9: Cannot assign"
        wait.until(lambda: told in server.log.read_text(), "the failure")
        assert _serial(world) == 0
        server.configure(_config(world, _zone(world, transfer_source=[SERVER])))
        server.reload()
        _await_serial(world, 1)


ODD = {
    "close": (odd_primary.close, "closed"),
    "babble": (odd_primary.babble, "malformed"),
    "flood": (odd_primary.flood, "too-large"),
    "swerve": (odd_primary.swerve, "no-zone"),
    "nothing": (odd_primary.nothing, "no-zone"),
    "refuse": (odd_primary.refuse, "refused"),
    "stall": (odd_primary.stall, "timeout"),
}


@pytest.fixture(scope="module", autouse=True)
def stalled() -> Iterator[tuple[World, Dnsd]]:
    """A server whose primary stalls: it waits for half a minute, which is beside other tests."""
    behaviours = {dns.name.from_text("example"): odd_primary.stall}
    with Network() as network, _world(network) as hosts:
        dns_room.compile_zone("example", _text(1), hosts.folder / "example.vzi")
        zone = _zone(hosts, primaries=[OTHER])
        with OddPrimary(hosts.client, OTHER, behaviours), _server(hosts, zone) as server:
            yield hosts, server


def test_wrong_primary(world: World) -> None:
    """Whatever a primary does, the zone is the old one, the reason is counted, others go on."""
    zones = []
    ended = {name: reason for name, (_, reason) in ODD.items() if name != "stall"}
    for name in ODD:
        image = dns_room.compile_zone(f"{name}.test", _text(1), world.folder / f"{name}.vzi")
        zone = {"name": f"{name}.test", "image": str(image), "primaries": [OTHER]}
        zones.append({**zone, "transfer-limit": 1})
    behaviours = {dns.name.from_text(f"{name}.test"): run for name, (run, _) in ODD.items()}
    good = _zone(world)
    with (
        _primary(world, BIND, _text(1)) as primary,
        OddPrimary(world.client, OTHER, behaviours),
        _server(world, *zones, good) as server,
    ):
        _await_serial(world, 1)
        primary.replace(_text(2))
        _await_serial(world, 2)
        for name in ended:
            told = f"zone {name}.test: nothing from {OTHER}: "
            wait.until(lambda told=told: told in server.log.read_text(), told)
        for reason in set(ended.values()):
            assert server.metric(f'transfers_in_failed_total{{reason="{reason}"}}')
        for name in ODD:
            assert _serial(world, zone=f"{name}.test") == 1
            assert _answer(world, f"h1.{name}.test", "TXT") == ['"1"']
            assert not _answer(world, f"h1.{name}.test", "A")
        # The stalled transfer goes on meanwhile: test_stalled_primary.
        assert {path.name for path in world.folder.glob("*.xfr")} <= {"stall.vzi.xfr"}
        assert server.metric('zone_serial{zone="example"}') == 2


NO_CHANGES = {
    "refused": odd_primary.refuse,
    "one SOA": odd_primary.one_soa,
    "elsewhere": odd_primary.elsewhere,
}


@pytest.mark.parametrize("name", NO_CHANGES)
def test_axfr_after_ixfr(world: World, name: str) -> None:
    """Whatever comes instead of changes, the zone comes whole; a stray signature is left out."""
    dns_room.compile_zone("example", _text(1), world.folder / "example.vzi")
    behaviours = {dns.name.from_text("example"): odd_primary.no_changes(NO_CHANGES[name])}
    zone = _zone(world, primaries=[OTHER])
    with OddPrimary(world.client, OTHER, behaviours), _server(world, zone) as server:
        _await_serial(world, 2)
        assert server.metric('transfers_in_total{result="axfr"}') == 1
        log = server.log.read_text()
        assert f"zone example: AXFR instead of IXFR from {OTHER}: " in log
        assert f"1 signature from {OTHER} covers nothing that the name has: not taken" in log
        assert _answer(world, "h0.example", "A") and not _answer(world, "h0.example", "RRSIG")


def test_wrong_signature(world: World) -> None:
    """A primary that does not sign, where a key is named, has nothing that is taken."""
    dns_room.compile_zone("example", _text(1), world.folder / "example.vzi")
    zone = _zone(world, primaries=[{"address": OTHER, "key": KEY}])
    behaviours = {dns.name.from_text("example"): odd_primary.close}
    with OddPrimary(world.client, OTHER, behaviours), _server(world, zone) as server:
        wait.until(
            lambda: server.metric('transfers_in_failed_total{reason="signature"}'), "the failure"
        )
        assert _serial(world) == 1
        assert "nothing from 192.0.2.3: the signature is missing or wrong" in server.log.read_text()


@pytest.mark.parametrize("ixfr", [True, False])
def test_killed(world: World, ixfr: bool) -> None:
    """kill -9 at any moment of transfers: the zone is an old or a new one, whole."""
    names, last = 3000, 7
    chance = random.Random(31)
    primary = _primary(world, BIND, _text(1, names=names))
    primary.ixfr = ixfr
    with primary, _server(world) as server:
        _await_serial(world, 1)
        for serial in range(2, last + 1):
            primary.replace(_text(serial, names=names))
            begun = threading.Event()
            begun.wait(chance.random() * 0.6)
            before = _serial(world)
            server.kill()
            server.start()
            ours = _all(world, SERVER)
            found = {item.to_text() for _, _, item in ours.iterate_rdatas("TXT")}
            assert len(found) == 1, found
            now = int(found.pop().strip('"'))
            assert now in range(before, serial + 1)
            assert len(list(ours.iterate_rdatasets("TXT"))) == names
            assert ours.get_rdataset(f"v{now}", "A") is not None
        assert _command(server, "refresh", "example").returncode == 0
        _await_serial(world, last)
        assert _is_same(world)


def test_reload(world: World) -> None:
    """Zones come and go; one that is taken away while it is transferred leaves nothing."""
    behaviours = {dns.name.from_text("slow.test"): odd_primary.stall}
    slow = {
        "name": "slow.test",
        "image": str(world.folder / "slow.vzi"),
        "primaries": [OTHER],
    }
    with (
        _primary(world, BIND, _text(1)) as primary,
        OddPrimary(world.client, OTHER, behaviours) as odd,
        _server(world) as server,
    ):
        _await_serial(world, 1)
        server.configure(_config(world, _zone(world), slow))
        server.reload()
        wait.until(lambda: odd.asked, "the transfer")
        assert _answer(world, "slow.test", "SOA") == []
        assert server.metric('zone_state{zone="slow.test"}') == 1
        server.configure(_config(world, _zone(world)))
        server.reload()
        wait.until(lambda: server.metric('transfers_in_failed_total{reason="dropped"}'), "the end")
        assert not list(world.folder.glob("slow*"))
        primary.replace(_text(2))
        _await_serial(world, 2)
        for word in ("slow.test", "example.net"):
            done = _command(server, "refresh", word)
            assert done.returncode == 1 and "no zone with 'primaries'" in done.stderr
        assert _command(server, "refresh").returncode == 2
        server.configure(_config(world, {**_zone(world), "primaries": [OTHER]}))
        server.reload()
        assert _serial(world) == 2


def test_first_secondary(world: World) -> None:
    """Without a secondary the server may not connect; the first one needs a restart."""
    image = dns_room.compile_zone("static", _text(7), world.folder / "static.vzi")
    static = {"name": "static", "image": str(image)}
    with _primary(world, BIND, _text(1)), _server(world, static) as server:
        server.configure(_config(world, static, _zone(world)))
        server.reload()
        assert "which takes a restart" in server.log.read_text()
        assert _serial(world) == 0
        server.stop()
        server.start()
        _await_serial(world, 1)


def test_foreign_image(world: World) -> None:
    """A file that is there and is no image of the zone is not replaced."""
    file = world.folder / "example.vzi"
    file.write_text("precious\n")
    with _primary(world, BIND, _text(1)), _server(world) as server:
        assert _serial(world) == 0 and file.read_text() == "precious\n"
        assert server.metric('zone_state{zone="example"}') == 1
        file.unlink()
        server.reload()
        _await_serial(world, 1)


def test_damaged(world: World) -> None:
    """An image that is cut short under the server is transferred anew."""
    with _primary(world, BIND, _text(1, names=3000)), _server(world) as server:
        _await_serial(world, 1)
        os.truncate(world.folder / "example.vzi", 8192)
        _answer(world, "h2999.example", "TXT")
        wait.until(lambda: server.metric('transfers_in_total{result="axfr"}') == 2, "a new one")
        wait.until(lambda: _answer(world, "h2999.example", "TXT") == ['"1"'], "the zone")
        assert server.metric('zone_state{zone="example"}') == 0 and _is_same(world)


def test_check(world: World) -> None:
    """--check: an image that has yet to come is no fault."""
    server = _server(world)
    done = dnsd.check(server.file)
    assert done.returncode == 0 and not (world.folder / "example.vzi").exists(), done


def test_stalled_primary(stalled: tuple[World, Dnsd]) -> None:
    """Defined last: the server has waited all the time for its primary, and gives up."""
    world, server = stalled
    told = f"zone example: nothing from {OTHER}: "
    wait.until(lambda: told in server.log.read_text(), told)
    _, reason = ODD["stall"]
    assert server.metric(f'transfers_in_failed_total{{reason="{reason}"}}')
    assert _serial(world) == 1
    assert _answer(world, "h1.example", "TXT") == ['"1"']
    assert not list(world.folder.glob("*.xfr"))
