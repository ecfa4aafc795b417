# SPDX-License-Identifier: GPL-2.0-or-later
"""Prefixes of sender addresses: in tables and files, in etcd, in commands."""

from __future__ import annotations

import ipaddress
import itertools
import json
import random
import struct
from pathlib import Path

import pytest
from lab.base.commandline import Command
from vmmnet.hostvlan.command import check
from vmmnet.hostvlan.etcd import keys
from vmmnet.hostvlan.table import claim, layout
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.values.address import BadAddress

A, B, C = "52:54:00:00:00:01", "52:54:00:00:00:02", "52:54:00:00:00:03"
MAC_A, MAC_B = 0x525400000001, 0x525400000002


def numbers(*spelled: str) -> claim.Families:
    return claim.split(map(claim.parse, spelled))


def entry(*spelled: str, lnids: int = 1, offers: int = 0, also: tuple[int, ...] = ()) -> Entry:
    return Entry.of(MAC_A, range(1, 1 + lnids), *numbers(*spelled), offers, also)


def version(table: Path) -> int:
    number: int = struct.unpack_from("<I", table.read_bytes(), 8)[0]
    return number


def test_a_router_has_its_prefixes(hostvlan: Command, table: Path) -> None:
    given = ["--address", "192.0.2.1", "--address", "10.8.0.0/24", "--address", "2001:db8:1::/64"]
    answer = hostvlan("add", A, "7", *given)
    assert answer.out == f"{A}: new, in LNID 7 with 192.0.2.1, 10.8.0.0/24, 2001:db8:1::/64\n"
    assert "addresses  192.0.2.1, 10.8.0.0/24, 2001:db8:1::/64\n" in hostvlan("show", A).out
    shown = json.loads(hostvlan("list", "--json").out)
    assert shown[0]["addresses"] == ["192.0.2.1", "10.8.0.0/24", "2001:db8:1::/64"]
    answer = hostvlan("add", A, "7", "--address", "10.8.0.0/24")
    assert "nothing changed" in answer.out
    answer = hostvlan("remove", A, "--address", "10.8.0.7")
    assert answer.status == 1
    assert f"{A} does not have the address 10.8.0.7; it has 192.0.2.1, 10.8" in answer.err
    answer = hostvlan("remove", A, "--address", "10.8.0.0/24")
    assert answer.out.startswith(f"{A}: in LNID 7 with 192.0.2.1, 2001:db8:1::/64; was in")
    # A single address is spelled as one.
    answer = hostvlan("set", A, "7", "--address", "10.8.0.1/32", "--address", "2001:db8::1/128")
    assert answer.out.startswith(f"{A}: in LNID 7 with 10.8.0.1, 2001:db8::1; was in")


def test_what_is_in_a_prefix_is_not_given_beside_it(hostvlan: Command, table: Path) -> None:
    hostvlan("add", A, "7", "--address", "10.8.0.1")
    answer = hostvlan("add", A, "7", "--address", "10.8.0.0/24")
    assert answer.status == 1
    assert f"{A}: the address 10.8.0.1 is in 10.8.0.0/24, which is given, too" in answer.err
    answer = hostvlan("set", A, "7", "--address", "10.8.0.0/24")
    assert answer.out.startswith(f"{A}: in LNID 7 with 10.8.0.0/24; was in")
    many = [word for each in range(17) for word in ("--address", f"10.{each}.0.0/16")]
    answer = hostvlan("set", A, "7", *many)
    assert (answer.status, "17 IPv4 addresses are too many" in answer.err) == (2, True)
    assert hostvlan("set", A, "7", *many[2:]).status == 0


def test_files_have_prefixes(hostvlan: Command, table: Path) -> None:
    hostvlan("add", A, "7", "--address", "10.8.0.0/24", "--address", "2001:db8::/64", "--router")
    for form in ("csv", "json"):
        file = table.with_name(f"all.{form}")
        hostvlan("export", str(file))
        before = hostvlan("list", "--json").out
        table.unlink()
        hostvlan("import", str(file))
        assert hostvlan("list", "--json").out == before
    file = table.with_name("wrong.csv")
    file.write_text(f"{A},7,10.8.0.1/24\n{B},7,10.0.0.0/8 10.8.0.0/24\n")
    said = hostvlan("import", str(file)).err
    assert "wrong.csv:1: '10.8.0.1/24' has bits behind the prefix: give the prefix, 10.8" in said
    assert "wrong.csv:2: the address 10.8.0.0/24 is in 10.0.0.0/8, which is given, too" in said


def test_the_version_is_the_oldest_that_can_say_it(hostvlan: Command, table: Path) -> None:
    hostvlan("add", A, "7", "--address", "192.0.2.1")
    hostvlan("add", B, "7", "--router")
    assert version(table) == layout.WITH_RIGHTS
    third = table.stat().st_ino
    hostvlan("add", A, "7", "--address", "10.8.0.0/24")
    assert (version(table), table.stat().st_ino != third) == (layout.WITH_PREFIXES, True)
    file = table.with_name("all.csv")
    file.write_text(f"{A},7,192.0.2.1\n")
    hostvlan("import", "--replace", str(file))
    assert version(table) == layout.VERSION
    assert hostvlan("check").status == 0


ENTRIES = [
    entry("10.8.0.0/24"),
    entry("2001:db8:1::/64"),
    entry("192.0.2.1", "10.8.0.0/16", "2001:db8::1", "2001:db8:1::/64", "2001:db8:2::/127"),
    entry("128.0.0.0/2", "64.0.0.0/3", "4000::/2"),
    entry("10.8.0.0/31", lnids=63),
    entry("10.8.0.0/31", lnids=64),
    entry("10.8.0.0/24", offers=3, also=(MAC_B,)),
    entry(
        *(f"10.{each}.0.0/16" for each in range(16)),
        *(f"2001:db8:{each}::/48" for each in range(16)),
        lnids=64,
        offers=3,
        also=tuple(range(1, 32)),
    ),
]


@pytest.mark.parametrize("each", ENTRIES)
def test_an_entry_comes_back_as_it_was(table: Path, each: Entry) -> None:
    with Table.change(table) as change:
        change.set(each)
    with Table.open(table) as found:
        assert found.get(MAC_A) == each
        assert found.version == layout.WITH_PREFIXES
    assert keys.decode(MAC_A, keys.encode(each)) == each
    content = layout.encode(each)
    assert isinstance(content, bytes)
    assert layout.decode(MAC_A, content) == each
    # Its size is what the number of its addresses says.
    value = layout.record_value(layout.key_of(MAC_A), 0)
    assert len(layout.seal_record(value, content)) == 4 * layout.sealed_words(content)


def test_what_etcd_has() -> None:
    value = keys.encode(entry("10.8.0.0/24", "10.7.0.1", "2001:db8:1::/64"))
    assert value == b'{"lnids":[1],"ip4":["10.7.0.1","10.8.0.0/24"],"ip6":["2001:db8:1::/64"]}'
    for wrong in ("10.8.0.1/24", "0.0.0.0/0", "2001:db8::/64", "10.8.0.0/33"):
        with pytest.raises(keys.BadValue, match="52:54:00:00:00:01"):
            keys.decode(MAC_A, json.dumps({"lnids": [1], "ip4": [wrong]}).encode())
    # A single address, spelled as a prefix.
    assert keys.decode(MAC_A, b'{"lnids":[1],"ip4":["10.8.0.1/32"]}') == entry("10.8.0.1")


def damage(content: bytes, at: int, word: int) -> bytes:
    return content[: 4 * at] + struct.pack("<I", word) + content[4 * at + 4 :]


@pytest.mark.parametrize(
    ("at", "word", "said"),
    [
        # The head of an entry with a flag for prefixes and no addresses.
        (0, 0x41000041, "prefixes, but no addresses"),
        # Words 2 to 4 are the addresses, and their host bits.
        (4, 0x00002000, "a prefix that is none"),
        (4, 0x00001400, "a prefix that is none"),
        (4, 0x00000001, "a prefix that is none"),
        (4, 0x01000800, "go on after the last address"),
    ],
)
def test_a_record_that_no_writer_writes(at: int, word: int, said: str) -> None:
    content = layout.encode(entry("192.0.2.1", "10.8.0.0/16"))
    assert isinstance(content, bytes)
    with pytest.raises(layout.Damaged, match=said):
        layout.decode(MAC_A, damage(content, at, word))


def test_two_members_of_a_network_have_an_address(hostvlan: Command, table: Path) -> None:
    hostvlan("add", A, "7", "8", "--address", "10.8.0.0/16", "--address", "2001:db8::/64")
    hostvlan("add", B, "7", "8", "--address", "10.8.3.0/24", "--address", "2001:db8::7")
    hostvlan("add", C, "9", "--address", "10.8.3.1")
    answer = hostvlan("check")
    assert answer.status == 3
    faults = [line for line in answer.out.splitlines() if line.startswith("fault")]
    assert faults == [
        f"fault: 10.8.3.0/24, of {B}, is in 10.8.0.0/16, of {A}, and both are in LNIDs 7, 8",
        f"fault: 2001:db8::7, of {B}, is in 2001:db8::/64, of {A}, and both are in LNIDs 7, 8",
    ]
    hostvlan("set", C, "8", "--address", "10.8.0.0/16")
    faults = hostvlan("check").out
    assert f"10.8.0.0/16 is a prefix of {A} and of {C}, and both are in LNID 8" in faults
    assert f"10.8.3.0/24, of {B}, is in 10.8.0.0/16, of {C}, and both are in LNID 8" in faults


def test_overlaps_are_those_that_a_comparison_of_all_finds() -> None:
    dice = random.Random(1)
    for _ in range(200):
        spelled = [
            ipaddress.ip_network((dice.getrandbits(4) << 28, dice.randint(1, 6)), strict=False)
            for _ in range(12)
        ]
        found = claim.overlaps(((claim.number(each), at) for at, each in enumerate(spelled)), 32)
        expected = {
            frozenset(pair)
            for pair in itertools.combinations(range(12), 2)
            if spelled[pair[0]].overlaps(spelled[pair[1]])
        }
        pairs = list(found)
        assert {frozenset(pair) for pair in pairs} == expected
        assert len(pairs) == len(expected)
        for inner, outer in pairs:
            assert spelled[inner].subnet_of(spelled[outer])


def test_faults_are_few_where_tenants_have_the_same_addresses() -> None:
    """Ten thousand tenants with the same prefix: only those of one network are compared."""
    same = numbers("10.0.0.0/8")
    entries = [Entry.of(1 + each, [1 + each // 2], *same) for each in range(20_000)]
    faults = [each for each in check.entries(entries) if each.kind == "fault"]
    assert faults[-1].text == "… and 9,990 more like the last"


@pytest.mark.parametrize("bits", [32, 128])
def test_numbers_that_are_none(bits: int) -> None:
    wrong = [bits << bits, 1 << bits | 1, 1 << 2 * bits, -1]
    for number in wrong:
        families = ([number], []) if bits == 32 else ([], [number])
        with pytest.raises(BadAddress, match="is not the number of an IPv"):
            Entry.of(MAC_A, [1], *families)
