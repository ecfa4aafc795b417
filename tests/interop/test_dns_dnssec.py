# SPDX-License-Identifier: GPL-2.0-or-later
"""Signed zones, right and wrong, by BIND's tools and ldns, in vmmnet-dnsd: our client judges them.

A row of a table is a name, a type, and what the client says: how secure it is, the code of RFC
8914 and a part of the sentence that tells why, and the addresses.  A bogus answer has none.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pytest
from lab.dns.signed import bed, zones
from lab.dns.signed.bed import ATTACKER, SERVER, Bed
from lab.dns.signed.signing import MAKERS
from lab.dns.signed.zones import ADDRESS, APEX, WILD
from lab.packages import programs

_OK, _NAME, _DATA = "no error", "there is no such name", "the name has no such records"
#: Of libunbound with nettle, as in Debian 12, and with OpenSSL, as in 13.
_UNVERIFIED = "signature verification failed|signature crypto failed"
_FORGED, _FAILED = "the answer is forged or wrongly signed", "the servers failed"
_TXT = 16


@dataclass(frozen=True)
class Row:
    """What is looked up, and what is told."""

    #: Without the maker's part of the zone.
    name: str
    error: str
    security: str
    data: tuple[str, ...] = ()
    ede: int = -1
    reason: str = ""
    kind: int = 0
    server: str = SERVER


_secure = partial(Row, error=_OK, security="secure", data=(ADDRESS,))
_insecure = partial(Row, error=_OK, security="insecure", data=(ADDRESS,))


def _bogus(name: str, ede: int, reason: str, kind: int = 0, server: str = SERVER) -> Row:
    return Row(name, _FORGED, "bogus", (), ede, reason, kind, server)


def _attacked(name: str, ede: int, reason: str, kind: int = 0) -> Row:
    return _bogus(name, ede, reason, kind, ATTACKER)


def _denials(zone: str, security: str) -> list[Row]:
    """All ways to deny, right, with how secure a denial is in the zone."""
    return [
        Row(f"nothing.{zone}", _NAME, security),
        Row(f"x.nothing.{zone}", _NAME, security),
        Row(f"a.old.{zone}", _NAME, security),
        Row(f"x.wild.{zone}", _OK, security, (WILD,)),
        Row(f"x.wild.{zone}", _DATA, security, kind=_TXT),
    ]


_RIGHT = [
    *(_secure(f"www.{zone}") for zone in ("nsec", "nsec3", "salted", "limit", "optout")),
    *(_secure(f"alias.{zone}") for zone in ("nsec", "nsec3")),
    *(_secure(f"www.old.{zone}") for zone in ("nsec", "nsec3", "iterated")),
    _secure("*.wild.nsec", data=(WILD,)),
    _secure("real.wild.nsec3"),
    *(row for zone in ("nsec", "nsec3", "salted", "limit") for row in _denials(zone, "secure")),
    *(Row(f"ent.{zone}", _DATA, "secure") for zone in ("nsec", "nsec3", "optout")),
    *(Row(f"www.{zone}", _DATA, "secure", kind=_TXT) for zone in ("nsec", "nsec3", "optout")),
]
_INSECURE = [
    # RFC 9276 section 3.2: above the limit a denial proves nothing; what needs none is secure.
    *_denials("iterated", "insecure"),
    _secure("www.iterated"),
    # RFC 5155 section 12.2: a name in a span that is opted out may be an insecure delegation.
    *_denials("optout", "insecure"),
    _insecure("www.{maker}-plain.optout"),
    Row("nothing.{maker}-plain.optout", _NAME, "insecure"),
    _insecure("www.nods"),
    # RFC 4035 section 5.2: a zone of which the parent knows only what we do not.
    _insecure("www.unknown"),
    _insecure("www.unknowndigest"),
    _insecure("www.openchain"),
]
_WRONG = [
    _bogus("www.expired", 7, "signature expired"),
    _bogus("nothing.expired", 7, "signature expired"),
    _bogus("www.early", 8, "signature before inception date"),
    _bogus("www.stripped", 10, "no signatures"),
    _bogus("www.forged", 6, _UNVERIFIED),
    _bogus("www.corrupt", 6, f"ECDSA signature|{_UNVERIFIED}"),
    _bogus("www.wrongds", 9, "no keys have a DS with algorithm ECDSAP256SHA256"),
    _bogus("www.digest", 9, "DS hash mismatches key"),
    _bogus("www.nokeys", 9, "No DNSKEY record"),
    _bogus("www.wrongchain", 6, _UNVERIFIED),
    _bogus("nothing.nodenial", 12, "no DNSSEC records"),
    _bogus("www.nodenial", 12, "no DNSSEC records", kind=_TXT),
    _bogus("x.wild.nodenial", 12, "wildcard proof failed"),
    # The server itself sees that a zone with NSEC3PARAM has no NSEC3.
    Row("nothing.nodenial3", _FAILED, "indeterminate", reason="the server says SERVFAIL"),
]
_ROLLS = [
    *(_secure(f"www.zsk{step}") for step in (1, 2, 3)),
    _bogus("www.zskwrong", 9, "signatures from unknown keys"),
    *(_secure(f"www.ksk{step}") for step in (1, 2, 3)),
    _bogus("www.kskwrong", 9, "no keys have a DS with algorithm ECDSAP256SHA256"),
    *(_secure(f"www.ed{step}") for step in (*range(1, 6), "half", "early")),
    *(Row(f"nothing.ed{step}", _NAME, "secure") for step in (1, 5, "half")),
    _bogus("www.edwrong", 9, "no keys have a DS with algorithm ED25519"),
]
# Made by one of the two only: keys of RSA take their time.
_RSA = [
    *(_secure(f"www.bind-rsa{step}") for step in (*range(1, 6), "half", "early")),
    _bogus("www.bind-rsawrong", 9, "no keys have a DS with algorithm ECDSAP256SHA256"),
]
_ATTACKED = [
    _attacked("noproof.nsec", 12, "no NSEC3 records"),
    _attacked("noproof.nsec3", 12, "covering NSEC3 was not opt-out"),
    _attacked("nosignatures.nsec", 12, "no NSEC3 records"),
    _attacked("nosignatures.wild.nsec", 10, "no signatures"),
    _attacked("wrongencloser.ent.nsec", 12, "nameerror proof failed"),
    _attacked("wrongencloser.ent.nsec3", 12, "proof failed"),
    _attacked("noencloser.ent.nsec3", 12, "proof failed"),
    _attacked("noencloser.nsec3", 12, "proof failed"),
    _attacked("othername.nsec", 12, "nameerror proof failed"),
    _attacked("othername.nsec3", 12, "proof failed"),
    _attacked("othername.optout", 12, "proof failed"),
    # A wildcard's address, without the proof that the name is not there, and for one that is.
    _attacked("noproof.wild.nsec", 12, "wildcard proof failed"),
    _attacked("noproof.wild.nsec3", 12, "wildcard proof failed"),
    _attacked("real.wild.nsec", 12, "wildcard proof failed"),
    _attacked("real.wild.nsec3", 12, "wildcard proof failed"),
    _attacked("noproof.wild.nsec3", 12, "covering NSEC3 was not opt-out", kind=_TXT),
    _attacked("www.dsgone", 12, "no DNSSEC records"),
]
# RFC 4470: the proof names nobody, and is as good.
_WHITE = [Row("white.bind-nsec", _NAME, "secure", server=ATTACKER)]


def _made_by(maker: str, row: Row) -> Row:
    """The row for the zones of one maker: the last label becomes theirs."""
    upper, _, zone = row.name.rpartition(".")
    name = f"{upper}.{maker}-{zone}".replace("{maker}", maker)
    return Row(**{**row.__dict__, "name": name})


_TWICE = [*_RIGHT, *_INSECURE, *_WRONG, *_ROLLS, *_ATTACKED]
ROWS = [*(_made_by(maker, row) for maker in MAKERS for row in _TWICE), *_RSA, *_WHITE]


@pytest.fixture(scope="module")
def world() -> Iterator[Bed]:
    """All zones."""
    with bed.made() as made:
        yield made


@pytest.fixture(scope="module")
def resolved(world: Bed) -> dict[tuple[str, str], tuple[int, list[str]]]:
    """What vmmnet_getaddrinfo() returns for all that are asked for addresses."""
    found = {}
    for server in (SERVER, ATTACKER):
        names = [f"{row.name}.{APEX}" for row in ROWS if not row.kind and row.server == server]
        for name, end in world.getaddrinfo(names, server).items():
            found[name, server] = end
    return found


@pytest.mark.parametrize(
    "row",
    ROWS,
    ids=lambda row: f"{row.name}{'-TXT' * bool(row.kind)}{'!' * (row.server != SERVER)}",
)
def test_judged(
    world: Bed, resolved: dict[tuple[str, str], tuple[int, list[str]]], row: Row
) -> None:
    """The callback says what it is worth and why; the blocking face has the addresses, or fails."""
    name = f"{row.name}.{APEX}"
    how = ("-t", str(row.kind)) if row.kind else ("-4",)
    told = world.lookup(*how, name, server=row.server)
    assert (told.error, told.security) == (row.error, row.security), told
    assert (tuple(told.data), told.ede) == (row.data, row.ede), told
    assert any(each in told.reason for each in row.reason.split("|"))
    if not row.kind:
        status, addresses = resolved[name, row.server]
        assert tuple(addresses) == row.data
        ends = {
            _OK: 0,
            _NAME: socket.EAI_NONAME,
            _DATA: socket.EAI_NONAME,
            _FORGED: socket.EAI_FAIL,
        }
        assert status == ends.get(row.error, socket.EAI_AGAIN)


#: Of libunbound since 1.17.1-2+deb12u2: signatures of an RRset that it tries before it gives up
#: (MAX_VALIDATE_RRSIGS), and how often it asks again for what was bogus (val-max-restart).
_SIGNATURES, _RESTARTS = 8, 5
#: Those over DNSKEY and DS records on the way.
_OTHERS = 16


def test_keytrap(world: Bed) -> None:
    """90 keys with one tag and 90 signatures: a few are tried, not 8,100 (CVE-2023-50387)."""
    command = world.command("-4", f"www.bind-keytrap.{APEX}")
    counter = programs.built("libdns-verify-count.so")
    count = world.folder / "verified"
    done = world.host.run(
        ["env", f"LD_PRELOAD={counter}", f"VERIFIED={count}", *command], check=False
    )
    assert "too many RRSIG validations" in done.stdout
    assert ADDRESS not in done.stdout
    most = (_SIGNATURES + 1) * (_RESTARTS + 1) + _OTHERS
    assert _SIGNATURES < int(count.read_text()) <= most


def test_all_zones_are_asked() -> None:
    """No zone is made for nothing."""
    labels = {row.name.rpartition(".")[2] for row in ROWS} | {"bind-keytrap"}
    assert {state.label for state in zones.states()} - {f"{m}-plain" for m in MAKERS} == labels
