# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-dnsd and BIND do the same updates, at random, in step: RCODE and zone are the same."""

from __future__ import annotations

import contextlib
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import dns.message
import dns.query
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.tsig
import dns.tsigkeyring
import dns.zone
import pytest
from lab.base import scratch, tools, wait
from lab.base.net import Namespace, Network
from lab.dns import dnsd
from lab.dns import room as dns_room
from lab.dns import updates as dns_updates
from lab.dns.dnsd import Dnsd

KEY = "ddns.test"
SECRET = "c2VjcmV0IG9mIHRoZSB0ZXN0cyBvZiB1cGRhdGVz"
OURS, THEIRS = 53, 5353
ADDRESS = "127.0.0.1"
#: A rule without types allows neither SOA nor NS at the apex.
_TYPES = sorted({*dns_updates.KINDS})
#: Records as they are, in a set: owner, TTL, type, RDATA.
Records = frozenset[tuple[str, int, str, str]]


@contextlib.contextmanager
def _ours(host: Namespace, folder: Path) -> Iterator[Dnsd]:
    folder.chmod(0o755)
    zones = folder / "zones"
    zones.mkdir()
    image = dns_room.compile_zone(dns_updates.ORIGIN, dns_updates.ZONE, zones / "example.vzi")
    tools.run(["chown", "-R", dnsd.USER, zones])
    changing = {"allow-update": [{"key": KEY, "types": _TYPES}], "allow-transfer": ["127.0.0.0/8"]}
    zone = {"name": "example", "image": str(image), **changing}
    secret = folder / "secret"
    secret.write_text(f"{SECRET}\n")
    keys = [{"name": KEY, "secret-file": str(secret)}]
    with Dnsd(host, folder, {"keys": keys, "zones": [zone]}) as server:
        yield server


@contextlib.contextmanager
def _bind(host: Namespace, folder: Path) -> Iterator[None]:
    (folder / "example.zone").write_text(dns_updates.ZONE)
    (folder / "named.conf").write_text(
        f'key "{KEY}" {{ algorithm hmac-sha256; secret "{SECRET}"; }};\n'
        f'options {{ directory "{folder}"; pid-file none; session-keyfile none;\n'
        f"  listen-on port {THEIRS} {{ {ADDRESS}; }}; listen-on-v6 {{ none; }};\n"
        "  recursion no; dnssec-validation no; notify no; check-names primary ignore; };\n"
        "controls { };\n"
        'zone "example" { type primary; file "example.zone"; check-integrity no;\n'
        f'  allow-update {{ key "{KEY}"; }}; allow-transfer {{ any; }}; }};\n'
    )
    command: list[str | Path] = ["named", "-g", "-n", "1", "-c", folder / "named.conf"]
    with (
        (folder / "named.log").open("ab") as log,
        host.started(command, stdout=log, stderr=subprocess.STDOUT) as child,
    ):
        wait.listening(child.pid, THEIRS)
        yield


def _ask(host: Namespace, port: int, message: dns.message.Message) -> str:
    """The RCODE that an update gets."""
    with host.entered():
        reply = dns.query.tcp(message, ADDRESS, port=port, timeout=wait.PATIENCE)
    return str(dns.rcode.to_text(reply.rcode()))


def _transferred(host: Namespace, port: int) -> Records:
    with host.entered():
        messages = dns.query.xfr(
            ADDRESS, dns_updates.ORIGIN, port=port, relativize=False, lifetime=wait.PATIENCE
        )
        return frozenset(
            (str(rrset.name).lower(), rrset.ttl, dns.rdatatype.to_text(rrset.rdtype), str(rdata))
            for message in messages
            for rrset in message.answer
            for rdata in rrset
        )


def _serial(records: Records) -> int:
    return next(int(rdata.split()[2]) for _, _, kind, rdata in records if kind == "SOA")


def _in_step(seed: int, count: int) -> Counter[str]:
    """Do so many updates; how many had which RCODE."""
    maker, rcodes = dns_updates.Maker(seed), Counter[str]()
    keyring = dns.tsigkeyring.from_text({KEY: SECRET})
    with (
        scratch.folder() as name,
        Network() as network,
        _ours(host := network.namespace("host"), folder := Path(name)),
        _bind(host, folder),
    ):
        zone = _transferred(host, OURS)
        assert zone == _transferred(host, THEIRS)
        for number in range(count):
            update = maker.update(_serial(zone))
            update.use_tsig(keyring, KEY, algorithm=dns.tsig.HMAC_SHA256)
            ours, theirs = (_ask(host, port, update) for port in (OURS, THEIRS))
            before, zone = zone, _transferred(host, OURS)
            other = _transferred(host, THEIRS)
            log = (folder / "named.log").read_text()[-1000:]
            told = f"seed {seed}, update {number}:\n{update}\nof {sorted(before)}\n{log}"
            differing = f"{ours}, {sorted(zone - other)}: ours; {theirs}, {sorted(other - zone)}"
            assert (ours, zone) == (theirs, other), f"{differing}\n{told}"
            rcodes[ours if ours != "NOERROR" or zone != before else "nothing to do"] += 1
    return rcodes


def _judge(rcodes: Counter[str], count: int) -> None:
    print(rcodes)
    # The dice have made updates that change something, and each refusal of RFC 2136.
    assert rcodes["NOERROR"] > count / 4
    assert {"FORMERR", "NOTZONE", "NXRRSET", "YXRRSET", "YXDOMAIN", "NXDOMAIN"} <= set(rcodes)


def test_some_updates() -> None:
    _judge(_in_step(31, 150), 150)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_many_updates(seed: int) -> None:
    _judge(_in_step(seed, 500), 500)
