# SPDX-License-Identifier: GPL-2.0-or-later
"""The keys of a LNID table in etcd, and their values.

    PREFIX/format                       "1"
    PREFIX/changed                      its revision is that of the last change of an entry
    PREFIX/mac/MAC                      the entry of a MAC, which is authoritative
    PREFIX/lnid/LNID/MAC                a copy of the entry for each of its LNIDs
    PREFIX/host/HOST/port/MAC           this host has to be ready for this MAC
    PREFIX/status/HOST/port/MAC         this host is ready for it
    PREFIX/status/HOST/agent            this host has, or had, an agent; its last report
    PREFIX/status/HOST/alive            the agent follows the store; it ends with a lease

A MAC is spelled 52:54:00:12:34:56, a LNID as eight hexadecimal digits, so that
keys sort like numbers.  An entry is JSON: {"lnids":[1,7],"ip4":["192.0.2.1"]}, with
"ip6", "offers":["router","dhcp-server"] and "also":[MAC] if they are not empty.  Among
the addresses are prefixes, spelled 10.8.0.0/24.

A transaction that changes a MAC writes all of its keys, before and after the change,
those of LNIDs in which it stays included.  A watch of one LNID therefore reports every
change of its members, and a host needs to watch only the LNIDs of its ports.  All
functions here are pure.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network
from typing import Any

from vmmnet.etcd.client import Json, Range, delete, put
from vmmnet.values import mac as macs

from ..table import claim, offer
from ..table.entry import Entry

FORMAT = b"1"
_FIELDS = {"lnids", "ip4", "ip6", "offers", "also"}


class BadValue(ValueError):
    """A key has a value that no program of ours writes; the message quotes it."""


class Kind(StrEnum):
    """The parts of the store that a host can need."""

    #: The MACs for which it has to be ready.
    ASSIGNED = "assigned"
    #: One MAC, by its number.
    MAC = "mac"
    #: The members of one LNID.
    LNID = "lnid"
    #: Every MAC.
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Topic:
    """A part of the store that is read and watched as a whole."""

    kind: Kind
    number: int = 0


ASSIGNED = Topic(Kind.ASSIGNED)
ALL = Topic(Kind.ALL)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of the table below a prefix, which does not end with a slash."""

    prefix: str

    def _key(self, *parts: str) -> bytes:
        return "/".join((self.prefix, *parts)).encode("ascii")

    @property
    def all(self) -> Range:
        """All keys below the prefix."""
        return Range.prefix(self._key(""))

    @property
    def format(self) -> bytes:
        """The key that exists if there is a table; its value is the format."""
        return self._key("format")

    @property
    def changed(self) -> bytes:
        """The key that each change of entries writes: its revision is that of the last one."""
        return self._key("changed")

    def mac(self, mac: int) -> bytes:
        """The key that holds a MAC's entry."""
        return self._key("mac", macs.text(mac))

    @property
    def macs(self) -> Range:
        """The entries of all MACs."""
        return Range.prefix(self._key("mac", ""))

    def member(self, lnid: int, mac: int) -> bytes:
        """The key with a MAC's entry for hosts that watch a LNID."""
        return self._key("lnid", f"{lnid:08x}", macs.text(mac))

    @property
    def members(self) -> Range:
        """The members of all LNIDs."""
        return Range.prefix(self._key("lnid", ""))

    def lnid(self, lnid: int) -> Range:
        """The members of a LNID."""
        return Range.prefix(self._key("lnid", f"{lnid:08x}", ""))

    def assigned(self, host: str, mac: int) -> bytes:
        """The key that assigns a MAC to a host, which has to be ready for it."""
        return self._key("host", host, "port", macs.text(mac))

    def ready(self, host: str, mac: int) -> bytes:
        """The key that a host writes when it is ready for a MAC."""
        return self._key("status", host, "port", macs.text(mac))

    def agent(self, host: str) -> bytes:
        """The key of each host that has, or had, an agent: the agent's last report."""
        return self._key("status", host, "agent")

    def alive(self, host: str) -> bytes:
        """The key that exists while a host's agent follows the store."""
        return self._key("status", host, "alive")

    @property
    def hosts(self) -> tuple[Range, Range]:
        """The keys for all hosts, and those from all hosts."""
        return Range.prefix(self._key("host", "")), Range.prefix(self._key("status", ""))

    def host_of(self, key: bytes) -> str:
        """The host of a key of ``hosts``."""
        return key[len(self.prefix) :].split(b"/")[2].decode("ascii", "backslashreplace")

    def status(self, host: str) -> Range:
        """All keys that a host may write."""
        return Range.prefix(self._key("status", host, ""))

    def topic(self, host: str, topic: Topic) -> Range:
        """The keys of a topic of a host."""
        match topic.kind:
            case Kind.ASSIGNED:
                return Range.prefix(self._key("host", host, "port", ""))
            case Kind.MAC:
                return Range(self.mac(topic.number))
            case Kind.LNID:
                return self.lnid(topic.number)
            case Kind.ALL:
                return self.macs


def mac_of(key: bytes) -> int:
    """The MAC at the end of a key; raises BadValue."""
    name = key.rpartition(b"/")[2].decode("ascii", errors="replace")
    try:
        number = macs.parse(name)
    except macs.BadMac as error:
        raise BadValue(f"the key {key.decode(errors='replace')} does not end with a MAC") from error
    if macs.text(number) != name:
        raise BadValue(f"the key {key.decode(errors='replace')}: write it {macs.text(number)}")
    return number


def lnid_of(key: bytes) -> int:
    """The LNID of a key of ``Keys.members``; raises BadValue."""
    name = key.split(b"/")[-2]
    if not re.fullmatch(rb"[0-9a-f]{8}", name):
        raise BadValue(f"the key {key.decode(errors='replace')} has no LNID of eight digits")
    return int(name, 16)


def encode(entry: Entry) -> bytes:
    """The value of a MAC's keys."""
    value: dict[str, Any] = {"lnids": entry.lnids}
    if entry.ip4:
        value["ip4"] = list(map(str, claim.join(entry.ip4, ())))
    if entry.ip6:
        value["ip6"] = list(map(str, claim.join((), entry.ip6)))
    if entry.offers:
        value["offers"] = offer.words(entry.offers)
    if entry.also:
        value["also"] = [macs.text(each) for each in entry.also]
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def decode(mac: int, value: bytes) -> Entry:
    """Read the value of a MAC's key; raises BadValue."""
    try:
        found = json.loads(value)
        if not isinstance(found, dict) or not found.keys() <= _FIELDS:
            raise ValueError("not an object of lnids, ip4, ip6, offers and also")
        lnids = found["lnids"]
        if not isinstance(lnids, list) or not all(type(each) is int for each in lnids):
            raise ValueError("lnids is not a list of numbers")
        # A network may be a single address, too.
        ip4 = [claim.number(IPv4Network(_text(each))) for each in found.get("ip4", [])]
        ip6 = [claim.number(IPv6Network(_text(each))) for each in found.get("ip6", [])]
        offers = offer.parse(map(_text, found.get("offers", [])))
        also = [macs.parse(_text(each)) for each in found.get("also", [])]
        return Entry.of(mac, lnids, ip4, ip6, offers, also)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadValue(f"the entry of {macs.text(mac)} is {value[:200]!r}: {error}") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")
    return value


def write(keys: Keys, mac: int, before: Entry | None, after: Entry | None) -> list[Json]:
    """The operations that replace one entry of a MAC by another."""
    old = set(before.lnids) if before else set()
    new = after.lnids if after else ()
    gone = [delete(keys.member(lnid, mac)) for lnid in sorted(old - set(new))]
    if after is None:
        return [*gone, delete(keys.mac(mac))]
    value = encode(after)
    return [
        *gone,
        *(put(keys.member(lnid, mac), value) for lnid in new),
        put(keys.mac(mac), value),
    ]


def encode_ready(assignment: int) -> bytes:
    """The value of a key of ``Keys.ready``: the revision of the assignment that it answers."""
    return json.dumps({"assignment": assignment}).encode("ascii")


def decode_ready(value: bytes) -> int:
    """The inverse of encode_ready(); 0 for a value that is not valid."""
    try:
        revision = json.loads(value)["assignment"]
    except (ValueError, KeyError, TypeError):
        return 0
    return revision if isinstance(revision, int) else 0
