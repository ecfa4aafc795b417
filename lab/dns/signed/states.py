# SPDX-License-Identifier: GPL-2.0-or-later
"""A zone in one state: its published keys, its signing keys, and the keys with DS in the parent.

Tools sign with all keys that they publish. Other states, such as those of a key rollover, combine
the DNSKEY records of one signed zone with the other records of another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .signing import Key, Record, Style, Workshop

#: Changes the records of a signed zone.
Spoil = Callable[[list[Record]], list[Record]]
#: Changes the RDATA of DS records.
SpoilDs = Callable[[str], str]


@dataclass(frozen=True)
class State:
    """Of one zone."""

    label: str
    published: Sequence[Key] = ()
    #: Keys that have signed the DNSKEY records; None: all published keys.
    dnskey_by: Sequence[Key] | None = None
    #: Keys that have signed the other records; None: all published keys.
    by: Sequence[Key] | None = None
    #: Keys with DS records in the parent; None: the published key-signing keys.
    ds: Sequence[Key] | None = None
    style: Style = field(default_factory=Style)
    body: str = ""
    spoil: Spoil | None = None
    spoil_ds: SpoilDs | None = None
    #: The zone above; empty: the apex of all.
    parent: str = ""


def records(shop: Workshop, zone: str, state: State) -> list[Record]:
    """Return all records of the zone."""
    published = list(state.published)
    signers = published if state.by is None else list(state.by)
    keys = published if state.dnskey_by is None else list(state.dnskey_by)
    found = shop.sign(zone, state.body, published, state.style)
    if not set(signers) <= set(published):
        others = [each for each in signers if each not in published]
        signed = shop.sign(zone, state.body, [*published, *others], state.style)
        found = [each for each in found if _is_of_keys(each)]
        found += [each for each in signed if not _is_of_keys(each)]
    key_tags = {shop.tag(each) for each in keys}
    tags = {shop.tag(each) for each in signers}
    kept = [
        each
        for each in found
        if each.kind != "RRSIG" or each.tag in (key_tags if _is_of_keys(each) else tags)
    ]
    return state.spoil(kept) if state.spoil else kept


def ds_records(shop: Workshop, zone: str, state: State) -> str:
    """Return the parent's records of the zone, without NS."""
    named = state.ds
    if named is None:
        named = [each for each in state.published if each.is_ksk]
    rdata = [shop.ds(zone, each) for each in named]
    if state.spoil_ds:
        rdata = [state.spoil_ds(each) for each in rdata]
    return "".join(f"{zone}. DS {each}\n" for each in rdata)


def _is_of_keys(record: Record) -> bool:
    return "DNSKEY" in (record.kind, record.covered)
