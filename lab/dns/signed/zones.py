# SPDX-License-Identifier: GPL-2.0-or-later
"""All zones: valid, invalid, in a key rollover, hostile.

Most exist twice, from BIND's tools and from ldns: the first word of the label is the maker.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from .. import signed_zones
from .signing import MAKERS, Key, Maker, Record, Style
from .states import Spoil, SpoilDs, State

APEX = "vm.example"
ADDRESS, WILD, FORGED = "192.0.2.1", "192.0.2.2", "192.0.2.66"

_BODY = f"""\
www A {ADDRESS}
alias CNAME www
*.wild A {WILD}
real.wild A {ADDRESS}
deep.ent A {ADDRESS}
old DNAME new
www.new A {ADDRESS}
othername A {ADDRESS}
"""
_EC, _ED, _RSA = "ECDSAP256SHA256", "ED25519", "RSASHA256"
_NSEC3 = Style(nsec3=True)
_OPTOUT = Style(nsec3=True, optout=True)


@dataclass(frozen=True)
class _Keys:
    """A pair of each kind, of one maker."""

    maker: Maker

    def ksk(self, algorithm: str = _EC, number: int = 0) -> Key:
        return Key(self.maker, algorithm, True, number)

    def zsk(self, algorithm: str = _EC, number: int = 0) -> Key:
        return Key(self.maker, algorithm, False, number)

    def pair(self, algorithm: str = _EC) -> list[Key]:
        return [self.ksk(algorithm), self.zsk(algorithm)]


# --- what is done to records --------------------------------------------------------------------


def _without_signatures(kind: str) -> Spoil:
    return lambda records: [each for each in records if each.covered != kind]


def _forged(records: list[Record]) -> list[Record]:
    return [
        replace(each, rdata=FORGED) if each.kind == "A" and each.owner.startswith("www.") else each
        for each in records
    ]


def _without_denial(records: list[Record]) -> list[Record]:
    denial = ("NSEC", "NSEC3")
    return [each for each in records if each.kind not in denial and each.covered not in denial]


def _without_keys(records: list[Record]) -> list[Record]:
    return [each for each in records if "DNSKEY" not in (each.kind, each.covered)]


def _corrupt(records: list[Record]) -> list[Record]:
    """Replace the signatures over addresses by those over other records."""
    other = {each.owner: each.rdata for each in records if each.covered in ("NSEC", "NSEC3")}
    any_other = next(iter(other.values())).split()[-1]
    return [
        replace(each, rdata=" ".join([*each.rdata.split()[:8], any_other]))
        if each.covered == "A"
        else each
        for each in records
    ]


def _ds(place: int, value: str) -> SpoilDs:
    """Set a field of DS records: 1 is the algorithm, 2 the type of the digest."""

    def spoil(rdata: str) -> str:
        words = rdata.split()
        words[place] = value
        return " ".join(words)

    return spoil


# --- zones --------------------------------------------------------------------------------------


def _ordinary(maker: Maker) -> Iterator[State]:
    """Yield valid zones, and zones with one fault."""
    keys = _Keys(maker)
    right = State("", keys.pair(), body=_BODY)
    yield replace(right, label="nsec")
    yield replace(right, label="nsec3", style=_NSEC3)
    yield replace(right, label="salted", style=replace(_NSEC3, salt="abcd", iterations=5))
    yield replace(right, label="limit", style=replace(_NSEC3, iterations=100))
    yield replace(right, label="iterated", style=replace(_NSEC3, iterations=101))
    optout = f"{maker}-plain NS ns.vm.example.\n"
    yield replace(right, label="optout", style=_OPTOUT, body=_BODY + optout)
    yield State("plain", body=_BODY, parent=f"{maker}-optout")
    yield replace(right, label="expired", style=Style(begin=-60, end=-30))
    yield replace(right, label="early", style=Style(begin=30, end=60))
    yield replace(right, label="stripped", spoil=_without_signatures("A"))
    yield replace(right, label="forged", spoil=_forged)
    yield replace(right, label="corrupt", spoil=_corrupt)
    yield replace(right, label="nodenial", spoil=_without_denial)
    yield replace(right, label="nodenial3", style=_NSEC3, spoil=_without_denial)
    yield replace(right, label="nokeys", spoil=_without_keys)
    yield replace(right, label="wrongds", ds=[keys.ksk(number=1)])
    yield replace(right, label="digest", spoil_ds=lambda ds: f"{ds[:-4]}0000")
    yield State("nods", keys.pair(), ds=[], body=_BODY)
    yield replace(right, label="dsgone")
    # Algorithm 200 and digest 200 are unknown: RFC 4035 section 5.2.
    yield replace(right, label="unknown", spoil_ds=_ds(1, "200"))
    yield replace(right, label="unknowndigest", spoil_ds=_ds(2, "200"))
    yield State("wrongchain", keys.pair(), body=f"www CNAME www.{maker}-forged.{APEX}.\n")
    yield State("openchain", keys.pair(), body=f"www CNAME www.{maker}-nods.{APEX}.\n")


def _key_roll(maker: Maker) -> Iterator[State]:
    """RFC 6781 section 4.1.1: rollover of the zone-signing and of the key-signing key."""
    keys = _Keys(maker)
    ksk, old, new = keys.ksk(), keys.zsk(), keys.zsk(number=1)
    yield State("zsk1", [ksk, old, new], by=[old], dnskey_by=[ksk], body=_BODY)
    yield State("zsk2", [ksk, old, new], by=[new], dnskey_by=[ksk], body=_BODY)
    yield State("zsk3", [ksk, old, new], by=[old, new], dnskey_by=[ksk], body=_BODY)
    # A signature by a key that is not published yet.
    yield State("zskwrong", [ksk, old], by=[new], dnskey_by=[ksk], body=_BODY)
    second = keys.ksk(number=1)
    both = [ksk, second, old]
    yield State("ksk1", both, ds=[ksk], dnskey_by=[ksk, second], by=[old], body=_BODY)
    yield State("ksk2", both, ds=[ksk, second], dnskey_by=[ksk, second], by=[old], body=_BODY)
    yield State("ksk3", both, ds=[second], dnskey_by=[ksk, second], by=[old], body=_BODY)
    # The parent has changed before the zone.
    yield State("kskwrong", [ksk, old], ds=[second], body=_BODY)


def _algorithm_roll(maker: Maker) -> Iterator[State]:
    """RFC 6781 section 4.1.4, figure 11, and the errors that the figure avoids."""
    keys = _Keys(maker)
    # RSA keys take a long time.
    rolls = (("ed", _EC, _ED), ("rsa", _RSA, _EC))[: 2 if maker == "bind" else 1]
    for label, old, new in rolls:
        # , _EC, _ED), ("rsa", _RSA, _EC)):
        before, after = keys.pair(old), keys.pair(new)
        both = [*before, *after]
        ksks = [each for each in both if each.is_ksk]
        yield State(f"{label}1", before, by=both[1::2], ds=ksks[:1], body=_BODY)
        yield State(f"{label}2", both, ds=ksks[:1], body=_BODY)
        yield State(f"{label}3", both, ds=ksks, body=_BODY)
        yield State(f"{label}4", both, ds=ksks[1:], body=_BODY)
        yield State(f"{label}5", after, by=both[1::2], ds=ksks[1:], body=_BODY)
        # One valid path is enough for a validator: RFC 6840 section 5.11.
        yield State(f"{label}half", both, by=before[1:], ds=ksks, body=_BODY)
        yield State(f"{label}early", before, ds=ksks, body=_BODY)
        # The old DS is gone while the new keys are not there.
        yield State(f"{label}wrong", before, ds=ksks[1:], body=_BODY)


def _trap(maker: Maker) -> State:
    """CVE-2023-50387: many keys with one tag, and signatures with this tag, all made up."""

    def spoil(records: list[Record]) -> list[Record]:
        owner = f"www.{maker}-keytrap.{APEX}."
        kept = [each for each in records if (each.owner, each.covered) != (owner, "A")]
        lines = signed_zones.trap_signatures(f"{maker}-keytrap.{APEX}").splitlines()
        return kept + [Record(owner, "300", "RRSIG", line.split(None, 4)[4]) for line in lines]

    body = _BODY + signed_zones.trap_keys()
    return State(f"{maker}-keytrap", _Keys(maker).pair(), body=body, spoil=spoil)


def states() -> Iterator[State]:
    """Yield all states, parents before children."""
    for maker in MAKERS:
        for found in (_ordinary(maker), _key_roll(maker), _algorithm_roll(maker)):
            yield from (replace(each, label=f"{maker}-{each.label}") for each in found)
    yield _trap("bind")


def name_of(state: State) -> str:
    """Return the name of a zone, without the final dot."""
    return ".".join(filter(None, (state.label, state.parent, APEX)))
