# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet hostvlan``: command lines and messages."""

from __future__ import annotations

import io
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.base import paths
from lab.base.commandline import Answer, Command
from vmmnet.hostvlan.table import layout
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table

CONTROL = paths.ROOT / "control"

A, B, C = "52:54:00:00:00:01", "52:54:00:00:00:02", "52:54:00:00:00:03"


def listed(hostvlan: Command, *words: str) -> dict[str, list[Any]]:
    answer = hostvlan("list", "--json", *words)
    assert answer.status == 0
    return {each["mac"]: each["lnids"] for each in json.loads(answer.out)}


def test_a_first_session(hostvlan: Command, table: Path) -> None:
    answer = hostvlan("add", A, "7")
    assert (answer.status, answer.out) == (0, f"{A}: new, in LNID 7\n")
    assert answer.err.startswith(f"made the table {table}: start QEMU with")
    answer = hostvlan("add", A, "8", "9", "--address", "192.0.2.1")
    assert answer.out == f"{A}: in LNIDs 7, 8, 9 with 192.0.2.1; was in LNID 7\n"
    assert answer.err == ""
    hostvlan("add", B, "global")
    assert listed(hostvlan) == {A: [7, 8, 9], B: ["global"]}
    assert listed(hostvlan, "--lnid", "8") == {A: [7, 8, 9]}
    assert listed(hostvlan, "--lnid", "global") == {B: ["global"]}
    assert hostvlan("list").out == (
        f"MAC                LNIDs    addresses\n{A}  7, 8, 9  192.0.2.1\n{B}  global\n"
    )
    answer = hostvlan("show", A, "--others")
    assert "7, 8, 9" in answer.out and "192.0.2.1" in answer.out
    assert "0 in LNID 7" in answer.out and "1 with the global LNID" in answer.out
    assert hostvlan("set", A, "7").out == f"{A}: in LNID 7 with 192.0.2.1; was in" + (
        " LNIDs 7, 8, 9 with 192.0.2.1\n"
    )
    assert hostvlan("set", A, "7", "--no-addresses").status == 0
    assert hostvlan("remove", B).out == f"{B}: removed; was in the global LNID\n"
    assert listed(hostvlan) == {A: [7]}
    assert hostvlan("remove", A, "7").out == f"{A}: removed; was in LNID 7\n"
    answer = hostvlan("list")
    assert (answer.out, answer.status) == ("", 0)
    assert "no MAC address is in the table" in answer.err


def test_what_is_so_already_is_no_fault(hostvlan: Command, table: Path) -> None:
    hostvlan("add", A, "7", "8")
    octets = table.read_bytes()
    answer = hostvlan("add", A, "8")
    assert (answer.status, answer.out) == (0, f"{A}: in LNIDs 7, 8 already; nothing changed\n")
    assert json.loads(hostvlan("set", A, "8", "7", "--json").out)["changed"] is False
    assert table.read_bytes() == octets


def test_addresses_come_and_go(hostvlan: Command) -> None:
    hostvlan("add", A, "7", "--address", "192.0.2.1", "--address", "2001:db8::1")
    hostvlan("remove", A, "--address", "192.0.2.1")
    shown = json.loads(hostvlan("show", A, "--json").out)
    assert (shown["lnids"], shown["addresses"]) == ([7], ["2001:db8::1"])
    hostvlan("set", A, "7", "--address", "192.0.2.9")
    assert json.loads(hostvlan("show", A, "--json").out)["addresses"] == ["192.0.2.9"]
    answer = hostvlan("remove", A, "--address", "192.0.2.1")
    assert answer.status == 1
    assert "does not have the address 192.0.2.1; it has 192.0.2.9" in answer.err


#: Command line, exit status, and message.
MISTAKES = [
    (f"add {A[:-3]} 7", 2, f"'{A[:-3]}' has 5 octets, not 6; a MAC address is six octets"),
    (f"add {A}:aa 7", 2, "has 7 octets, not 6"),
    ("add 52:54:00:00:00:0g 7", 2, "'g' is not a hexadecimal digit (0-9, a-f)"),
    ("add 52:54:0:0:0:1 7", 2, "the octet '0' does not have two digits: write 00"),
    ("add 52:54:00-00:00:01 7", 2, "mixes separators"),
    ("add 525400000 7", 2, "has 9 digits, not 12"),
    ("add 01:00:5e:00:00:01 7", 2, "is a multicast address (its first octet is odd)"),
    ("add 33:33:00:00:00:01 7", 2, "is it 32:33:00:00:00:01?"),
    ("add ff:ff:ff:ff:ff:ff 7", 2, "is the broadcast address; a port has a unicast one"),
    ("add 00:00:00:00:00:00 7", 2, "is not an address"),
    (f"add {A}", 2, "required: LNID"),
    (f"add {A} 4294967296", 2, "'4294967296' is out of range: LNIDs are 1 to 4294967295"),
    (f"add {A} -5", 2, "'-5' is not an LNID: a number from 1 to 4294967295, or 'global'"),
    (f"add {A} seven", 2, "'seven' is not an LNID"),
    (f"add {A} ٣", 2, "is not an LNID"),
    (f"add {A} 0x10", 2, "'0x10' is not an LNID"),
    (f"add {A} 0", 2, "write 'global' for a port that may speak to all tenants"),
    (f"add {A} Global", 2, "is written 'global'"),
    (f"add {A} 7 8 7", 2, "LNID 7 is given twice"),
    (f"add {A} " + " ".join(map(str, range(1, 66))), 2, "65 LNIDs are too many"),
    (f"add {A} 7 --address 192.0.2", 2, "'192.0.2' is not an IP address"),
    (
        f"add {A} 7 --address 192.0.2.7/24",
        2,
        "'192.0.2.7/24' has bits behind the prefix: give the prefix, 192.0.2.0/24, or the"
        " address alone, 192.0.2.7",
    ),
    (f"add {A} 7 --address 2001:db8::7/64", 2, "give the prefix, 2001:db8::/64, or the address"),
    (f"add {A} 7 --address 192.0.2.0/33", 2, "not the length of a prefix: of IPv4 it is 1 to 32"),
    (f"add {A} 7 --address 2001:db8::/129", 2, "'129' is not the length of a prefix: of IPv6"),
    (f"add {A} 7 --address 192.0.2.0/255.255.255.0", 2, "'255.255.255.0' is not the length"),
    (f"add {A} 7 --address 192.0.2.0/", 2, "'' is not the length of a prefix"),
    (f"add {A} 7 --address 192.0.2/24", 2, "'192.0.2' is not an IP address like"),
    (f"add {A} 7 --address 0.0.0.0/0", 2, "is every IPv4 address: a MAC address without any"),
    (f"add {A} 7 --address ::/0", 2, "'::/0' is every IPv6 address"),
    (f"add {A} 7 --address 128.0.0.0/1", 2, "has multicast addresses in it (224.0.0.0/4)"),
    (f"add {A} 7 --address 127.1.0.0/16", 2, "has loopback addresses in it (127.0.0.0/8)"),
    (f"add {A} 7 --address 224.0.0.1/32", 2, "is a multicast address"),
    (f"add {A} 7 --address ff02::/16", 2, "has multicast addresses in it (ff00::/8)"),
    (f"add {A} 7 --address ::ffff:10.8.0.0/112", 2, "IPv4 addresses as programs write them"),
    (
        f"add {A} 7 --address 10.8.0.0/16 --address 10.8.7.0/24",
        2,
        "the address 10.8.7.0/24 is in 10.8.0.0/16, which is given, too",
    ),
    (f"add {A} 7 --address fe80::1%eth0", 2, "names an interface: give fe80::1 alone"),
    (f"add {A} 7 --address 224.0.0.1", 2, "'224.0.0.1' is a multicast address"),
    (f"add {A} 7 --address 192.0.2.1 --address 192.0.2.1", 2, "192.0.2.1 is given twice"),
    (f"show {C}", 1, f"{C} is not in the table"),
    ("show 52:54:00:00:10:01", 1, f"near it: {A}, {B}"),
    (f"remove {C}", 1, "is not in the table"),
    (f"remove {A} 9", 1, f"{A} is not in LNID 9; it is in LNIDs 1, 2"),
    (f"add {A} 7 --table /nowhere/lnid.table", 1, "there is no folder /nowhere: make it first"),
    ("list --table /nowhere/lnid.table", 1, "there is no table: 'vmmnet hostvlan add'"),
    ("ad 7", 2, "there is no 'ad': is it 'add'?"),
    ("export --format xml", 2, "there is no 'xml': there are csv, json"),
    ("import /nowhere.csv", 1, "/nowhere.csv: No such file or directory"),
    ("watch --interval 0", 2, "'0' is not a number of seconds above 0"),
    ("list --table X --store etcd://localhost/v", 2, "are two places: give one of them"),
    ("attach nowhere0 52:54:00:00:00:01", 1, "nowhere0"),
    ("detach nowhere0", 1, "nowhere0"),
]


@pytest.mark.parametrize(
    ("words", "status", "said"), [pytest.param(*each, id=each[0][:40]) for each in MISTAKES]
)
def test_mistakes(hostvlan: Command, table: Path, words: str, status: int, said: str) -> None:
    hostvlan("add", A, "1", "2")
    hostvlan("add", B, "1")
    before = table.read_bytes()
    answer = hostvlan(*words.split())
    assert answer.status == status
    assert said in answer.err
    assert answer.out == ""
    assert answer.err.startswith("vmmnet hostvlan")
    assert "Traceback" not in answer.err
    assert table.read_bytes() == before


def test_a_65th_lnid(hostvlan: Command) -> None:
    hostvlan("add", A, *map(str, range(1, 65)))
    answer = hostvlan("add", A, "65")
    assert answer.status == 1
    assert f"{A}: 65 LNIDs are too many: a MAC address has 64 at most" in answer.err
    assert len(listed(hostvlan)[A]) == 64


def test_errors_are_json_too(hostvlan: Command) -> None:
    hostvlan("add", A, "1")
    answer = hostvlan("remove", C, "--json")
    assert answer.status == 1
    assert "is not in the table" in json.loads(answer.out)["error"]


def test_a_damaged_table_is_not_touched(hostvlan: Command, table: Path) -> None:
    hostvlan("add", A, "1")
    octets = bytearray(table.read_bytes())
    octets[8] = 9
    table.write_bytes(octets)
    for words in (["add", B, "1"], ["remove", A], ["list"], ["show", A]):
        answer = hostvlan(*words)
        assert answer.status == 1
        assert (
            f"{table}: it is a table of version 9; this program knows versions 2 to 4" in answer.err
        )
    answer = hostvlan("check")
    assert answer.status == 3 and "version 9" in answer.out
    assert table.read_bytes() == octets


def spoil(table: Path, spelled: str) -> int:
    """Invert a bit of the LNID of a MAC address; returns its slot."""
    number = int(spelled.replace(":", ""), 16)
    with Table.open(table, verify=False) as now:
        found = now.find(number)
    assert found is not None and found[1]
    with table.open("r+b") as file:
        at = 4096 + 16 * found[0] + 8
        file.seek(at)
        octet = file.read(1)[0]
        file.seek(at)
        file.write(bytes((octet ^ 2,)))
    return found[0]


def test_a_wrong_bit(hostvlan: Command, table: Path, tmp_path: Path) -> None:
    """LNID 2 becomes 0, the global one: neither readers nor writers accept it."""
    backup, other = tmp_path / "backup.csv", tmp_path / "other.csv"
    hostvlan("add", A, "2", "--address", "192.0.2.1")
    hostvlan("set", A, "2", "--no-addresses")
    hostvlan("add", B, "3")
    hostvlan("export", str(backup))
    other.write_text(f"{C},1\n")
    slot = spoil(table, A)
    octets = table.read_bytes()
    damage = f"{table}: slot {slot}: {A}: the value "
    answer = hostvlan("check")
    assert answer.status == 3
    assert f"fault: {damage}" in answer.out
    assert f"'vmmnet hostvlan remove {A}' removes the address" in answer.out
    for words in (
        ["add", B, "4"],
        ["add", A, "4"],
        ["set", A, "4"],
        ["remove", A, "2"],
        ["remove", B],
        ["import", str(other)],
    ):
        answer = hostvlan(*words)
        assert answer.status == 1, words
        assert damage in answer.err
        assert "nothing is changed" in answer.err and "import --replace" in answer.err
        assert table.read_bytes() == octets
    for words in (["list"], ["show", A], ["export"]):
        answer = hostvlan(*words)
        assert answer.status == 1 and "damaged" in answer.err


#: Each remedy, and the table afterwards.
WAYS_OUT = [
    ("remove A", {B: [3]}),
    ("set A 5 --no-addresses", {A: [5], B: [3]}),
    ("set A 5 --address 192.0.2.1", {A: [5], B: [3]}),
    ("import a.csv", {A: [2], B: [3]}),
    ("import a.csv --replace", {A: [2]}),
]


@pytest.mark.parametrize(("words", "after"), WAYS_OUT)
def test_out_of_damage(
    hostvlan: Command,
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    after: dict[str, list[int]],
) -> None:
    monkeypatch.chdir(table.parent)
    Path("a.csv").write_text(f"{A},2\n")
    hostvlan("add", A, "2")
    hostvlan("add", B, "3")
    spoil(table, A)
    answer = hostvlan(*words.replace("A", A).split())
    assert answer.status == 0, answer.err
    assert listed(hostvlan) == after
    assert "fault" not in hostvlan("check").out.replace("no fault found", "")


def version_1(entries: list[Entry]) -> bytes:
    """A table of version 1 of the format, made from its description."""
    buckets, area, slots = 64, [], bytearray(64 * 64)
    for entry in entries:
        if len(entry.lnids) == 1 and not entry.addresses:
            value = 1 << 62 | entry.lnids[0]
        else:
            value = 2 << 62 | len(area)
            area += [len(entry.lnids) | len(entry.ip4) << 8 | len(entry.ip6) << 16, *entry.lnids]
            area += entry.ip4
            area += [part >> shift & 0xFFFFFFFF for part in entry.ip6 for shift in (96, 64, 32, 0)]
        at = 64 * layout.first_bucket(entry.mac, buckets)
        assert not slots[at]
        struct.pack_into("<2Q", slots, at, entry.mac, value)
    area += [0] * 64
    fixed = struct.pack(
        "<8sIIQII", b"VMMNLNID", 1, 4096, 4096 + 4096 + 4 * len(area), buckets, len(area)
    )
    header = fixed + struct.pack("<I28xIIQII", zlib.crc32(fixed), 0, len(entries), 17, 0, 0)
    return header.ljust(4096, b"\0") + slots + struct.pack(f"<{len(area)}I", *area)


OLD = [
    Entry.of(0x525400000001, [7]),
    Entry.of(0x525400000002, [0]),
    Entry.of(0x525400000003, [1, 2**32 - 1], [0xC0000201, 5], [0x20010DB8 << 96 | 1, 2]),
    Entry.of(0x525400000004, [3], [], [9]),
]


def test_a_table_of_version_1(hostvlan: Command, table: Path) -> None:
    octets = version_1(OLD)
    table.write_bytes(octets)
    table.chmod(0o640)
    for words in (["list"], ["add", A, "9"], ["import", "/dev/null"]):
        answer = hostvlan(*words)
        assert answer.status == 1
        known = "of version 1; this program knows versions 2 to 4: 'vmmnet hostvlan convert'"
        assert known in answer.err
        assert table.read_bytes() == octets
    assert "'vmmnet hostvlan convert' makes it that" in hostvlan("check").out
    answer = hostvlan("convert")
    assert answer.status == 0, answer.err
    assert answer.out == f"{table}: version 2 of the format now, with all its 4 MAC addresses\n"
    with Table.open(table) as now:
        assert sorted(now) == OLD
        assert now.generation == 18
        assert now.mode == 0o640
    answer = hostvlan("convert")
    assert answer.status == 1 and "it is of version 2 already" in answer.err
    table.unlink()
    assert hostvlan("convert").status == 1


@pytest.mark.parametrize(
    ("at", "octets", "said"),
    [
        (8, b"\5", "it is a table of version 5"),
        (24, b"\3", "checksum"),
        (-64 * 4 - 4, b"\0\0\0\1", ""),
        (0, b"X", "it is not a table"),
    ],
)
def test_a_damaged_table_of_version_1(
    hostvlan: Command, table: Path, at: int, octets: bytes, said: str
) -> None:
    old = bytearray(version_1(OLD))
    if said == "":
        # The first slot there is.
        at = next(n for n in range(4096, 8192, 16) if any(old[n : n + 8])) + 12
        said = "is not valid"
    old[at : at + len(octets)] = octets
    table.write_bytes(old)
    answer = hostvlan("convert")
    assert answer.status == 1 and said in answer.err, answer.err
    assert table.read_bytes() == old


# Import and export.

CSV = f"""\
mac,lnids,addresses
{A},1 2,192.0.2.1 2001:db8::1
# a comment
{B},global,

52-54-00-00-00-03, 7
"""


def test_import_and_export(hostvlan: Command, table: Path, tmp_path: Path) -> None:
    source = tmp_path / "macs.csv"
    source.write_text(CSV)
    answer = hostvlan("import", str(source))
    assert answer.status == 0
    assert answer.out.startswith("3 MAC addresses imported: 3 new, 0 changed, 0 as before")
    assert listed(hostvlan) == {A: [1, 2], B: ["global"], C: [7]}
    whole = hostvlan("list", "--json").out
    for form in ("csv", "json"):
        target = tmp_path / f"out.{form}"
        assert hostvlan("export", str(target)).status == 0
        text = target.read_text()
        assert hostvlan("export", "--format", form).out == text
        for path in tmp_path.glob("lnid*"):
            path.unlink()
        assert hostvlan("import", str(target)).status == 0
        assert hostvlan("list", "--json").out == whole
    assert text == whole


def test_import_replaces_if_it_is_told(hostvlan: Command, tmp_path: Path) -> None:
    source = tmp_path / "macs.csv"
    source.write_text(f"{A},1\n{B},2\n")
    hostvlan("add", A, "1")
    hostvlan("add", B, "1")
    hostvlan("add", C, "1")
    counts = json.loads(hostvlan("import", str(source), "--json").out)
    counts.pop("table")
    assert counts == {"added": 0, "changed": 1, "removed": 0, "unchanged": 1}
    assert listed(hostvlan) == {A: [1], B: [2], C: [1]}
    assert "1 removed" in hostvlan("import", str(source), "--replace").out
    assert listed(hostvlan) == {A: [1], B: [2]}


@pytest.mark.parametrize("text", ["", "mac,lnids,addresses\n", "# nothing\n", "[]", "\n"])
def test_nothing_does_not_replace_a_table(
    hostvlan: Command, table: Path, tmp_path: Path, text: str
) -> None:
    source = tmp_path / "macs"
    source.write_text(text)
    hostvlan("add", A, "1")
    hostvlan("add", B, "2")
    octets = table.read_bytes()
    answer = hostvlan("import", str(source), "--replace")
    assert answer.status == 1 and answer.out == ""
    assert f"{source}: there is no MAC address in it" in answer.err
    assert "--allow-empty" in answer.err
    assert table.read_bytes() == octets
    # Without --replace it changes nothing.
    assert hostvlan("import", str(source)).status == 0
    assert listed(hostvlan) == {A: [1], B: [2]}
    answer = hostvlan("import", str(source), "--replace", "--allow-empty")
    assert answer.status == 0 and "2 removed" in answer.out
    assert listed(hostvlan) == {}


def test_import_tells_what_it_would_change(hostvlan: Command, table: Path, tmp_path: Path) -> None:
    source = tmp_path / "macs.csv"
    source.write_text(f"{A},1\n{B},2\n52:54:00:00:00:04,5\n")
    # Where there is no table yet, none is made.
    answer = hostvlan("import", str(source), "--dry-run")
    assert answer.status == 0 and f"{A}: new, in LNID 1\n" in answer.out
    assert [path.name for path in tmp_path.glob("lnid*")] == []
    for spelled in (A, B, C):
        hostvlan("add", spelled, "1")
    before = {path: path.read_bytes() for path in tmp_path.glob("lnid*")}
    answer = hostvlan("import", str(source), "--dry-run", "--replace")
    assert answer.status == 0
    assert answer.out == (
        f"{B}: in LNID 2; was in LNID 1\n"
        f"{C}: removed; was in LNID 1\n"
        "52:54:00:00:00:04: new, in LNID 5\n"
        "nothing is changed; without --dry-run: 3 MAC addresses imported: 1 new, 1 changed,"
        " 1 as before; 1 removed\n"
    )
    report = json.loads(hostvlan("import", str(source), "--dry-run", "--json").out)
    changes = report.pop("changes")
    assert report == {
        "table": str(table),
        "added": 1,
        "changed": 1,
        "removed": 0,
        "unchanged": 1,
        "dry_run": True,
    }
    assert [each["mac"] for each in changes] == [B, "52:54:00:00:00:04"]
    assert changes[0]["before"]["lnids"] == [1] and changes[0]["after"]["lnids"] == [2]
    source.write_text("")
    assert hostvlan("import", str(source), "--dry-run", "--replace").status == 1
    assert {path: path.read_bytes() for path in tmp_path.glob("lnid*")} == before


def test_an_export_leaves_the_files_of_others(hostvlan: Command, tmp_path: Path) -> None:
    hostvlan("add", A, "1")
    other = tmp_path / f"out.csv.{os.getpid()}"
    other.write_text("somebody else's")
    answer = hostvlan("export", str(tmp_path / "out.csv"))
    assert answer.status == 1 and "File exists" in answer.err
    assert other.read_text() == "somebody else's"


def test_import_from_a_pipe(hostvlan: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (f"addresses,lnids,mac\n,1,{A}\n", f'[{{"lnids": [1], "mac": "{A}"}}]'):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        assert hostvlan("import", "-", "--replace").status == 0
        assert listed(hostvlan) == {A: [1]}


BAD_FILES = [
    (
        "x.csv",
        f"{A},1\nmac\n{B},0\n{C},1 1\n",
        ["x.csv:2: ", "x.csv:3: '0' is not a tenant's", "x.csv:4: LNID 1 is given twice"],
    ),
    ("x.csv", f"{A},1\n{B},2\n{A},3\n", [f"x.csv:3: {A} is in line 1 already"]),
    ("x.csv", f"{A},1,2,3\n", ["x.csv:1: there are 4 columns, not 3", "separated by blanks"]),
    ("x.csv", f"mac,lnid\n{A},1\n", ["x.csv:1: there is no column 'lnid': the columns are"]),
    ("x.csv", f"mac,addresses\n{A},\n", ["x.csv:1: the column 'lnids' is missing"]),
    ("x.csv", f"{A},\n", ["x.csv:1: a MAC address needs at least one LNID"]),
    ("x.csv", "".join(f"{n}\n" for n in range(30)), ["x.csv:10: "]),
    ("x.json", "{}", ["x.json:1: it is not a list"]),
    ("x.json", f'[\n{{"mac": "{A}", "lnids": [0]}}]', ["x.json:2: '0' is not a tenant's LNID"]),
    ("x.json", f'[{{"mac": "{A}", "lnids": 1}}]', ["lnids: 1 is not a list"]),
    ("x.json", f'[{{"mac": "{A}", "lnids": [1.5]}}]', ["'1.5' is not an LNID"]),
    ("x.json", f'[{{"mac": "{A}", "vlan": [1]}}]', ["there is no member 'vlan'"]),
    ("x.json", f'[{{"mac": "{A}", "lnids": [1]}},\n', ["x.json:2: it is not JSON"]),
    (
        "x.json",
        f'[{{"mac": "{A}", "lnids": [1]}}\n5]',
        ["x.json:2: ',' or ']' must follow an element"],
    ),
    ("x.json", f'[{{"mac": "{A}", "lnids": [1]}}]\n5', ["x.json:2: the file goes on"]),
    (
        "x.json",
        f'[{{"mac": "{A}", "lnids": [1]}},{{"mac": "{A}", "lnids": [1]}}]',
        ["in line 1 already"],
    ),
    ("x.json", "[1]", ["1 is not an object with mac, lnids, addresses"]),
]


@pytest.mark.parametrize(("name", "text", "said"), BAD_FILES)
def test_nothing_is_imported_of_a_bad_file(
    hostvlan: Command,
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    text: str,
    said: list[str],
) -> None:
    hostvlan("add", A, "9")
    before = table.read_bytes()
    monkeypatch.chdir(table.parent)
    Path(name).write_text(text)
    answer = hostvlan("import", name, "--replace")
    assert answer.status == 1
    assert all(each in answer.err for each in said), answer.err
    assert answer.err.endswith("nothing is imported\n")
    assert len(answer.err.splitlines()) <= 11
    assert table.read_bytes() == before


# The ports of this host.


class Qemu:
    """A simulated QEMU on its QMP socket."""

    def __init__(self, path: Path, name: str | None, ports: list[dict[str, Any]]) -> None:
        self.ports = ports
        self._name = name
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection = self._listener.accept()[0]
            except OSError:
                return
            with connection, connection.makefile("rw") as stream:
                self._talk(stream)

    def _talk(self, stream: Any) -> None:
        def say(message: object) -> None:
            stream.write(json.dumps(message) + "\n")
            stream.flush()

        say({"QMP": {"version": {}, "capabilities": []}})
        answers = {
            "qmp_capabilities": {},
            "query-name": {"name": self._name} if self._name else {},
            "query-hostvlan": self.ports,
        }
        for line in stream:
            say({"return": answers[json.loads(line)["execute"]]})

    def end(self) -> None:
        """Close the socket."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


def port(path: Path, mac: str, **more: Any) -> dict[str, Any]:
    counters = {"send": {"passed": 5, "spoofed": 2}, "receive": {"passed": 7, "spoofed": 0}}
    with Table.open(path) as now:
        generation = now.generation
    return {
        "id": "hv0",
        "netdev": "tap0",
        "mac": mac,
        "table": str(path),
        "generation": generation,
        "lnids": [1],
        **counters,
        **more,
    }


@pytest.fixture
def qemu(hostvlan: Command, table: Path, tmp_path: Path) -> Iterator[Qemu]:
    """A table with A and B in LNID 1, and a VM with A."""
    hostvlan("add", A, "1")
    hostvlan("add", B, "1")
    result = Qemu(tmp_path / "one.qmp", "web", [port(table, A)])
    yield result
    result.end()


def test_watch(hostvlan: Command, qemu: Qemu) -> None:
    answer = hostvlan("watch", "--count", "2", "--interval", "0.01")
    assert answer.status == 0
    assert f"web/hv0  {A}  1" in answer.out
    assert "send spoofed 2" in answer.out
    assert "(+0/s)" in answer.out
    (line,) = hostvlan("watch", "--count", "1", "--json").out.splitlines()
    (seen,) = (each for each in json.loads(line)["ports"] if each["vm"] == "web")
    assert (seen["mac"], seen["lnids"]) == (A, [1])
    assert seen["send"] == {"passed": 5, "spoofed": 2}


def test_watch_without_a_qemu(hostvlan: Command, tmp_path: Path) -> None:
    answer = hostvlan("watch", "--count", "1", "--qmp", str(tmp_path / "none.qmp"))
    assert answer.status == 1
    assert "none.qmp: No such file or directory" in answer.out


def test_check_of_a_host_that_agrees(hostvlan: Command, table: Path, qemu: Qemu) -> None:
    answer = hostvlan("check")
    assert (answer.status, answer.out) == (0, f"{table}: no fault found\n")


def test_check_of_ports(hostvlan: Command, table: Path, tmp_path: Path, qemu: Qemu) -> None:
    generation = qemu.ports[0]["generation"]
    qemu.ports[:] = [
        port(table, A, generation=generation - 1),
        port(table, C, id="hv1"),
        port(table, B, id="hv2", table="/elsewhere/lnid.table"),
        port(table, "", id="hv3"),
        port(table, B, id="hv4", generation=None, error="version 2 of the format"),
    ]
    (tmp_path / "two.qmp").touch()
    answer = hostvlan("check", "--json")
    assert answer.status == 3
    report = json.loads(answer.out)
    texts = [each["text"] for each in report["findings"] if each["kind"] == "fault"]
    assert report["faults"] == len(texts) == 7
    for said in (
        f"web/hv0 uses generation {generation - 1} of the table, which has reached {generation}",
        f"web/hv1: {C} is not in the table, so that nothing passes: vmmnet hostvlan add {C} LNID",
        f"web/hv2 uses another table, /elsewhere/lnid.table, not {table}",
        "web/hv3 has no MAC address",
        "web/hv4: version 2 of the format",
        f"web/hv4 and web/hv2 have the same MAC address, {B}",
        "two.qmp: Connection refused: is it the QMP socket of a QEMU?",
    ):
        assert any(said in text for text in texts), said


def test_check_of_entries(hostvlan: Command, table: Path) -> None:
    hostvlan("add", A, "1", "global", "--address", "192.0.2.1")
    hostvlan("add", B, "1", "2", "--address", "192.0.2.1")
    hostvlan("add", C, "3", "--address", "192.0.2.1")
    answer = hostvlan("check")
    assert answer.status == 3
    assert f"fault: 192.0.2.1 is an address of {A} and of {B}, and both are in LNID 1" in answer.out
    assert (
        f"note: {A} has the global LNID, so that its other LNIDs (1) make no difference"
        in answer.out
    )
    assert f"note: LNID 3 has one member only, {C}" in answer.out
    table.chmod(0o666)
    assert "others than its owner may write to it (mode 0666)" in hostvlan("check").out


def addresses(*each: str) -> tuple[str, ...]:
    """Options that give these addresses."""
    return tuple(word for one in each for word in ("--address", one))


def shared(answer: Answer) -> list[str]:
    """What check says of addresses that are shared."""
    return [each for each in answer.out.splitlines() if " is an address of " in each]


def test_check_excuses_what_virtual_routers_share(hostvlan: Command) -> None:
    """As docs/hostvlan.md sets them up; each address that anyone else has, too, is a fault."""
    shared4, shared6 = "00:00:5e:00:01:0a", "00:00:5e:00:02:0a"
    local = ("fe80::1", "fe80::2")
    hostvlan("add", shared4, "7", *addresses("192.0.2.1", "192.0.2.2", "192.0.2.3"))
    hostvlan("add", shared6, "7", *addresses("fe80::10", "2001:db8::1", *local))
    for mac, own, link in ((A, 2, local[0]), (B, 3, local[1])):
        owned = (f"192.0.2.{own}", f"2001:db8::{own}", link, "192.0.2.1", "2001:db8::1")
        also = ("--also", shared4, "--also", shared6)
        assert hostvlan("add", mac, "7", *addresses(*owned), *also).status == 0
    answer = hostvlan("check")
    assert (answer.status, shared(answer)) == (0, [])
    # A stranger with the virtual router's address.
    hostvlan("add", C, "7", *addresses("2001:db8::1"))
    assert [each.split(", and")[0] for each in shared(hostvlan("check"))] == [
        f"fault: 2001:db8::1 is an address of {first} and of {second}"
        for first, second in sorted((mac, C) for mac in (shared6, A, B))
    ]
    hostvlan("remove", C)
    # An address of both that the virtual router has not.
    hostvlan("add", A, "7", *addresses("192.0.2.9"))
    hostvlan("add", B, "7", *addresses("192.0.2.9"))
    (said,) = shared(hostvlan("check"))
    assert said.startswith(f"fault: 192.0.2.9 is an address of {A} and of {B},")
    hostvlan("add", shared4, "7", *addresses("192.0.2.8/31"))
    assert not shared(hostvlan("check"))
    # One of them no longer may send as the virtual routers.
    hostvlan("set", B, "7", "--no-also")
    faults = hostvlan("check", "--json")
    texts = [each["text"] for each in json.loads(faults.out)["findings"]]
    assert sum(B in text for text in texts) == len(texts) == 8


def test_check_tells_of_an_interrupted_change(hostvlan: Command, table: Path) -> None:
    hostvlan("add", A, "1")
    hostvlan("add", B, "1")
    os.link(table, f"{table}.old-{table.stat().st_ino}")
    answer = hostvlan("check")
    assert answer.status == 3 and "was left by a change that was interrupted" in answer.out
    hostvlan("add", C, "1")
    assert hostvlan("check").status == 0


def test_help(hostvlan: Command) -> None:
    every = hostvlan("--help")
    assert every.status == 0
    names = "add set remove list show import export watch check convert attach detach status sync"
    for name in names.split():
        assert f"    {name} " in every.out
        answer = hostvlan(name, "--help")
        assert answer.status == 0 and "--json" in answer.out


# The program itself.


def run(*words: str, table: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "vmmnet", "hostvlan", *words],
        env={**os.environ, "PYTHONPATH": str(CONTROL), "VMMNET_TABLE": str(table)},
        text=True,
        capture_output=True,
        check=False,
        **more,
    )


def test_the_program(table: Path) -> None:
    assert run("add", A, "7", table=table).stdout == f"{A}: new, in LNID 7\n"
    assert run("import", "-", table=table, input=f"{B},7\n").returncode == 0
    ended = run("show", C, table=table)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"near it: {A}, {B}" in ended.stderr
    ended = run("--help", table=table)
    assert ended.returncode == 0 and "exit status" in ended.stdout


def test_who_stops_reading_is_not_scolded(table: Path) -> None:
    with Table.change(table) as change:
        change.replace(Entry.of(0x020000000000 + n, [n]) for n in range(1, 20_000))
    command = f"{sys.executable} -m vmmnet hostvlan list --table {table} | head -n 1"
    ended = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env={**os.environ, "PYTHONPATH": str(CONTROL)},
        text=True,
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("MAC")
