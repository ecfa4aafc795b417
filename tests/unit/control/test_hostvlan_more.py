# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may advertise routes and answer as a DHCP server, and ports with other MAC addresses."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest
from lab.base.commandline import Command
from vmmnet.hostvlan.etcd.keys import BadValue, decode, encode
from vmmnet.hostvlan.table import layout, verify
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table, TableDamaged

A, B, V = "52:54:00:00:00:01", "52:54:00:00:00:02", "00:00:5e:00:01:0a"
MAC_A, MAC_B, MAC_V = 0x525400000001, 0x525400000002, 0x00005E00010A


def plain_sum(total: int, *numbers: int) -> int:
    for number in numbers:
        total = (total + number) * 0x9E3779B97F4A7C15 % 2**64
    return total


def version(table: Path) -> int:
    number: int = struct.unpack_from("<I", table.read_bytes(), 8)[0]
    return number


def test_what_may_be_offered(hostvlan: Command, table: Path) -> None:
    hostvlan("add", A, "7")
    answer = hostvlan("add", A, "7", "--router", "--dhcp-server")
    assert answer.out == f"{A}: in LNID 7, router, dhcp-server; was in LNID 7\n"
    assert "in LNID 7, router, dhcp-server already" in hostvlan("add", A, "7", "--router").out
    # What is not named stays.
    assert hostvlan("set", A, "8").out.startswith(f"{A}: in LNID 8, router, dhcp-server; was")
    assert hostvlan("set", A, "8", "--no-router").out.startswith(f"{A}: in LNID 8, dhcp-server;")
    answer = hostvlan("remove", A, "--router")
    assert (answer.status, answer.err) == (1, f"vmmnet hostvlan: {A} is no router\n")
    assert hostvlan("remove", A, "--dhcp-server").out.startswith(f"{A}: in LNID 8; was in")
    answer = hostvlan("set", A, "8", "--router", "--no-router")
    assert answer.status == 2 and "not allowed with" in answer.err
    hostvlan("set", A, "8", "--router", "--address", "192.0.2.1")
    hostvlan("add", B, "8")
    assert hostvlan("list").out == (
        f"MAC                LNIDs  addresses  more\n{A}  8      192.0.2.1  router\n{B}  8\n"
    )
    assert "offers     router\n" in hostvlan("show", A).out
    assert json.loads(hostvlan("show", A, "--json").out)["offers"] == ["router"]
    assert "offers" not in json.loads(hostvlan("show", B, "--json").out)


def test_other_macs_of_a_port(hostvlan: Command, table: Path) -> None:
    answer = hostvlan("add", A, "7", "--also", V)
    assert answer.out == f"{A}: new, in LNID 7, also as {V}\n"
    assert f"note: {V}, as which the port of {A} may send, is not in the table" in answer.err
    assert f"note: {V}, as which the port of {A}" in hostvlan("check").out
    hostvlan("add", V, "8")
    assert "shares no network with it" in hostvlan("check").out
    hostvlan("set", V, "7")
    assert hostvlan("check").out == f"{table}: no fault found\n"
    answer = hostvlan("add", B, "7", "--also", V)
    assert answer.err == ""
    assert "note" not in json.loads(hostvlan("add", B, "7", "--also", V, "--json").out)
    said = hostvlan("remove", A, "--also", B).err
    assert f"the port of {A} does not send as {B}; beside its own it does as {V}" in said
    assert hostvlan("remove", A, "--also", V).out == (
        f"{A}: in LNID 7; was in LNID 7, also as {V}\n"
    )
    assert hostvlan("set", B, "7", "--no-also").out.startswith(f"{B}: in LNID 7; was in")
    for words, said in (
        ([A], f"{A} is the port's own MAC address already"),
        ([V, V], f"{V} is given twice"),
        (["01:00:5e:00:00:01"], "is a multicast address"),
    ):
        options = [word for each in words for word in ("--also", each)]
        answer = hostvlan("add", A, "7", *options)
        assert (answer.status, said in answer.err) == (2, True), answer.err
    many = [f"02:00:00:00:00:{number:02x}" for number in range(32)]
    for each in many[:31]:
        assert hostvlan("add", A, "7", "--also", each).status == 0
    answer = hostvlan("add", A, "7", "--also", many[31])
    assert answer.status == 1
    assert "32 MAC addresses beside its own are too many: 31 at most" in answer.err


def test_a_file_has_all_of_it(hostvlan: Command, table: Path) -> None:
    hostvlan("add", A, "7", "--address", "192.0.2.1", "--router", "--also", V)
    hostvlan("add", B, "global", "--dhcp-server", "--router")
    hostvlan("add", V, "7")
    for form in ("csv", "json"):
        file = table.with_name(f"all.{form}")
        assert hostvlan("export", str(file)).status == 0
        before = hostvlan("list", "--json").out
        assert hostvlan("import", str(file), "--replace").out.startswith(
            "3 MAC addresses imported: 0 new, 0 changed, 3 as before"
        )
        table.unlink()
        hostvlan("import", str(file))
        assert hostvlan("list", "--json").out == before
    assert table.with_name("all.csv").read_text() == (
        "mac,lnids,addresses,offers,also\n"
        f"{V},7,\n{A},7,192.0.2.1,router,{V}\n{B},global,,router dhcp-server,\n"
    )
    wrong = table.with_name("wrong.csv")
    wrong.write_text(f"mac,lnids,offers,also\n{A},7,gateway,\n{B},7,,{B}\n")
    said = hostvlan("import", str(wrong)).err
    assert "wrong.csv:2: 'gateway' is not an offer: it is router or dhcp-server" in said
    assert f"wrong.csv:3: {B} is the port's own MAC address already" in said


def test_the_version_is_the_oldest_that_can_say_it(hostvlan: Command, table: Path) -> None:
    """Who does not use it keeps a table that every program reads."""
    hostvlan("add", A, "7", "8", "--address", "192.0.2.1")
    first = table.stat().st_ino
    assert version(table) == 2
    hostvlan("add", B, "7", "--router")
    assert (version(table), table.stat().st_ino != first) == (3, True)
    third = table.stat().st_ino
    hostvlan("add", B, "7", "--also", V)
    hostvlan("set", B, "7", "--no-also", "--no-router")
    # In place: a file keeps its version.
    assert (version(table), table.stat().st_ino) == (3, third)
    file = table.with_name("all.csv")
    hostvlan("export", str(file))
    hostvlan("import", "--replace", str(file))
    file.write_text(f"{A},7\n{B},9\n")
    hostvlan("import", "--replace", str(file))
    assert version(table) == 2
    assert hostvlan("check").status == 0


ENTRIES = [
    Entry.of(MAC_A, [7], offers=1),
    Entry.of(MAC_A, [7], offers=2),
    Entry.of(MAC_A, [7], also=[MAC_V]),
    Entry.of(MAC_A, range(64), range(1, 17), range(1, 17), 3, range(1, 32)),
    Entry.of(MAC_A, [7], [0xC0000201], [], 3, [MAC_B, MAC_V]),
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_comes_back_as_it_was(table: Path, entry: Entry) -> None:
    with Table.change(table) as change:
        change.set(entry)
    with Table.open(table) as found:
        assert found.get(MAC_A) == entry
        assert not verify.census(found).damages
    assert decode(MAC_A, encode(entry)) == entry


def test_octets(table: Path) -> None:
    """The record, read with nothing but its description."""
    with Table.change(table) as change:
        change.set(ENTRIES[4])
    octets = table.read_bytes()
    buckets = struct.unpack_from("<I", octets, 24)[0]
    record = struct.unpack_from("<10I", octets, 4096 + 64 * buckets)
    slots = struct.unpack_from(f"<{8 * buckets}Q", octets, 4096)
    value = slots[slots.index(MAC_A | (MAC_A ^ MAC_A >> 16 ^ MAC_A >> 32) % 2**16 << 48) + 1]
    # One LNID, router; an IPv4 address, DHCP server, and the lower bits of two others.
    one, two = 1 | 1 << 7, 1 | 1 << 5 | 2 << 6
    numbers = (one | two << 8 | (one ^ two) << 24, 7)
    lnids = plain_sum(0, value, *numbers)
    also = (0x0000, 0x5E00010A, 0x5254, 0x00000002)
    assert record[:3] == (*numbers, lnids >> 32)
    assert record[3:5] == (0xC0000201, plain_sum(lnids, 0xC0000201) >> 32)
    assert record[5:] == (*also, plain_sum(lnids, *also) >> 32)


def test_each_bit_of_a_record_that_is_wrong_is_found(table: Path) -> None:
    with Table.change(table) as change:
        change.set(ENTRIES[4])
    with Table.open(table) as found:
        at = found.geometry.records_at
    with table.open("r+b") as file:
        good = os.pread(file.fileno(), 40, at)
        for bit in range(8 * len(good)):
            bad = bytearray(good)
            bad[bit // 8] ^= 1 << bit % 8
            os.pwrite(file.fileno(), bad, at)
            with pytest.raises(TableDamaged), Table.open(table) as found:
                found.get(MAC_A)
        os.pwrite(file.fileno(), good, at)
    with Table.open(table) as found:
        assert found.get(MAC_A) == ENTRIES[4]


@pytest.mark.parametrize(
    "value",
    [
        b'{"lnids":[7],"offers":["gateway"]}',
        b'{"lnids":[7],"offers":[1]}',
        b'{"lnids":[7],"also":["52:54:00:00:00:01"]}',
        b'{"lnids":[7],"also":[5]}',
    ],
)
def test_a_value_that_nobody_writes_is_refused(value: bytes) -> None:
    with pytest.raises(BadValue):
        decode(MAC_A, value)


def test_an_older_program_refuses_the_newer_version(table: Path) -> None:
    """As it refuses any that it does not know, and says which it is."""
    with Table.change(table) as change:
        change.set(ENTRIES[0])
    page = table.read_bytes()
    with pytest.raises(layout.Foreign, match=r"of version 3; this program knows version 2$"):
        layout.parse_header(page, len(page), (2,))
