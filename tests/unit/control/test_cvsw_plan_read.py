# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of tenants: parsed values, and errors of invalid files."""

from __future__ import annotations

import os
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
from lab.cvsw import plans as cvsw_plans
from vmmnet.cvsw.plan.model import Endpoint, Nic, Plan, Station, Tenant
from vmmnet.cvsw.plan.read import BadPlan, examine, read
from vmmnet.cvsw.wire.message import Offload

#: Tests add lines from line 8 on.
BASE = """\
underlay: {mtu: 1500}
tenants:
  red:
    vni: 5001
    vms:
      red1: {mac: 52:54:00:00:00:01, key: 1.key, tunnel: 192.0.2.1}
      red2: {mac: 52:54:00:00:00:02, key: 2.key, tunnel: 192.0.2.2}
"""


def faults(folder: Path, text: str) -> list[str]:
    """The errors, without the file's name."""
    path = cvsw_plans.write(folder, text)
    said = [str(fault) for fault in examine(path)[1]]
    assert all(one.startswith(f"{path}:") for one in said)
    return [one.removeprefix(f"{path}:").replace(f"{folder}/", "") for one in said]


def test_whole(tmp_path: Path) -> None:
    """Each value of a file is in its place of the plan; MACs need no quotes."""
    text = """\
# A comment.
underlay: {mtu: 9000, next-hop: 02:00:00:00:00:fe}
tenants:
  red:
    vni: 0x1389
    lnid: 7
    group: 239.1.2.3
    vms:
      red1: {mac: 52:54:00:00:00:01, key: "1.key", tunnel: 192.0.2.1/24}
      red2: {mac: '52-54-00-00-00-02', key: 2.key, tunnel: 192.0.2.2/24, next-hop: 020000000afd}
    stations:
      7:
        macs: [02:00:00:00:00:07, 02:00:00:00:00:08]
        tunnel: 192.0.2.9
        tunnel-mac: 02:00:00:00:00:09
"""
    mac = bytes.fromhex
    network, router = ip_network("192.0.2.0/24"), mac("0200000000fe")
    one = Endpoint(mac("525400000001"), ip_address("192.0.2.1"), network, router)
    two = Endpoint(mac("525400000002"), ip_address("192.0.2.2"), network, mac("020000000afd"))
    behind = mac("020000000007"), mac("020000000008")
    third = Station("7", behind, Endpoint(mac("020000000009"), ip_address("192.0.2.9")), "red")
    nics = (
        Nic("red1", one.mac, (1).to_bytes(32), one, "red"),
        Nic("red2", two.mac, (2).to_bytes(32), two, "red"),
    )
    tenant = Tenant("red", 5001, 7, None, nics, (third,), ip_address("239.1.2.3"))
    plan = read(cvsw_plans.write(tmp_path, text))
    assert plan == Plan((tenant,), 9000, 4789)
    assert plan.nic(two.mac) == nics[1]
    assert plan.nic(third.tunnel.mac) is None
    assert plan.peers(nics[0]) == (nics[1], third)
    assert repr(nics[0].key) not in repr(plan)


def test_base(tmp_path: Path) -> None:
    """The base of the following tests is valid."""
    assert not faults(tmp_path, BASE)


#: Replaced lines, and their errors.
LINES = {
    "underlay: {mtu: 1279}": "1: mtu 1279 is out of range: it is 1280 to 65535",
    "underlay: {mtu: '1500'}": "1: mtu is a text, '1500', not a number",
    "underlay: {}": "1: underlay has no 'mtu'",
    "underlay: {mtu: 1500, nexthop: x}": "1: there is no 'nexthop' in underlay: is it 'next-hop'?",
    "underlay: {mtu: 1500, next-hop: 1}": "1: next-hop is a number, '1', not a text",
    "underlay: {mtu: 1500, zzz: 1}": "1: there is no 'zzz' in underlay: there are mtu, next-hop,"
    " offloads",
    "underlay: {mtu: 1500, mtu: 1500}": "1: 'mtu' is in underlay again: it is in line 1 already",
    "underlay: [1500]": "1: underlay is a list, not a mapping of names to values",
    "  re/d:": "3: a tenant's name: 're/d' is no name: 1 to 63 letters, digits, '.', '-' and '_',"
    " a letter or a digit first",
    "    vni: 16777216": "4: vni 16777216 is out of range: it is 1 to 16777215",
    "    vni: 0": "4: vni 0 is out of range: it is 1 to 16777215",
    "    vni: 5001.5": "4: vni is a number with a point, '5001.5', not a number",
    "    vni: yes": "4: vni is a text, 'yes', not a number",
    "    vni: true": "4: vni is true or false, 'true', not a number",
    "    vni:": "4: vni is nothing, '', not a number",
    "    vni: [1]": "4: vni is a list, not one value, not a number",
    "    lnid: 7": "4: tenant 'red' has no 'vni'",
    "    vni: 5001\n    lnid: 0": "5: lnid 0 is out of range: it is 1 to 4294967295",
    "    vni: 5001\n    cipher: aes": "5: cipher: there is no 'aes': there are aes-gcm-128,"
    " aes-gcm-256",
    "    vni: 5001\n    cypher: aes-gcm-128": "5: there is no 'cypher' in tenant 'red': is it"
    " 'cipher'?",
    "    vni: 5001\n    group: 192.0.2.9": "5: group: '192.0.2.9' is not a multicast group, which"
    " is like 239.1.2.3 or ff05::1:3",
    "    vni: 5001\n    group: many": "5: group: 'many' is not a multicast group like 239.1.2.3 or"
    " ff05::1:3",
    "    vni: 5001\n    group: ff05::1": "5: ff05::1 of 'group' is IPv6, and 'red1' in line 7 has"
    " IPv4: a tenant's tunnels have one of them",
}


@pytest.mark.parametrize("line", LINES)
def test_line(tmp_path: Path, line: str) -> None:
    """The error names the wrong line, its value and valid values."""
    said = LINES[line]
    at = {"u": 0, "r": 2, "v": 3, "l": 3}[line.lstrip()[0]]
    lines = BASE.splitlines()
    (one,) = faults(tmp_path, "\n".join([*lines[:at], line, *lines[at + 1 :]]))
    assert one == said


#: Wrong members of the second VM.
MEMBERS = {
    "mac: 52:54:00:00:00:01": "mac 52:54:00:00:00:01 is that of VM 'red1' in line 6: each has its"
    " own",
    "mac: 53:54:00:00:00:02": "mac: '53:54:00:00:00:02' is a multicast address (its first octet is"
    " odd); a port has a unicast one: is it 52:54:00:00:00:02?",
    "mac: 52:54:00:00:02": "mac: '52:54:00:00:02' has 5 octets, not 6; a MAC address is six octets"
    " of two hexadecimal digits, like 52:54:00:12:34:56",
    "key: none.key": "key: 'none.key' cannot be read: No such file or directory",
    "key: short.key": "key: 'short.key' has 31 octets: a key has 32 to 4096, as 'head -c 32"
    " /dev/urandom' writes them",
    "key: long.key": "key: 'long.key' has more octets: a key has 32 to 4096, as 'head -c 32"
    " /dev/urandom' writes them",
    "key: open.key": "key: others may read or write 'open.key' (mode 0604): 'chmod o= open.key',"
    " and make a new key",
    "key: folder": "key: 'folder' is no file",
    "key: pipe": "key: 'pipe' is no file",
    "key: /dev/zero": "key: '/dev/zero' is no file",
    "key: ''": "key: '' names no file",
    "key: 1.key": "the key in this file is that of VM 'red1' in line 6: each has its own",
    "key: 7": "key is a number, '7', not a text",
    "tunnel: 192.0.2.1": "tunnel 192.0.2.1 is that of VM 'red1' in line 6: each has its own",
    "tunnel: 2001:db8::2": "2001:db8::2 of 'red2' is IPv6, and 'red1' in line 6 has IPv4: a"
    " tenant's tunnels have one of them",
    "tunnel: 192.0.2.256": "tunnel: '192.0.2.256' is not an IP address like 192.0.2.1 or"
    " 2001:db8::1",
    "tunnel: 239.0.0.1": "tunnel: '239.0.0.1' is a multicast address; a port has one like 192.0.2.1"
    " or 2001:db8::1",
    "tunnel: 127.0.0.1": "tunnel: '127.0.0.1' is a loopback address, which never leaves a host; a"
    " port has one like 192.0.2.1 or 2001:db8::1",
    "tunnel: 192.0.2.2/33": "tunnel: '192.0.2.2/33': a prefix of IPv4 has 0 to 32 bits",
    "tunnel: 192.0.2.2/x": "tunnel: '192.0.2.2/x': a prefix of IPv4 has 0 to 32 bits",
    "tunnel: 192.0.2.2/31": "192.0.2.1 of 'red1' is not in 192.0.2.2/31: give 'red2' or underlay a"
    " 'next-hop', or leave out the prefix if there is no router",
    "tunnel: {a: 1}": "tunnel is a mapping, not one value, not a text",
    "tunel: 1": "there is no 'tunel' in VM 'red2': is it 'tunnel'?",
}


@pytest.mark.parametrize("member", MEMBERS)
def test_member(tmp_path: Path, member: str) -> None:
    """A member of a VM is wrong."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    cvsw_plans.key(tmp_path, "short.key", bytes(31))
    cvsw_plans.key(tmp_path, "long.key", bytes(4097))
    cvsw_plans.key(tmp_path, "open.key", bytes(32), 0o604)
    members = {"mac": "52:54:00:00:00:02", "key": "2.key", "tunnel": "192.0.2.2"}
    name, value = member.split(": ", 1)
    text = ", ".join(f"{each}: {value}" for each, value in {**members, name: value}.items())
    lines = BASE.splitlines()
    (one,) = faults(tmp_path, "\n".join([*lines[:6], f"      red2: {{{text}}}"]))
    assert one == f"7: {MEMBERS[member]}"


#: Text added after BASE, the wrong line, and its error.
ADDED = {
    "  blue: {vni: 5001, vms: {b: {mac: 52:54:00:00:00:03, key: 3.key, tunnel: 192.0.2.3}}}": (
        "8: vni 5001 is that of tenant 'red' in line 4: each has its own"
    ),
    "  blue: {vni: 2, vms: {red1: {mac: 52:54:00:00:00:03, key: 3.key, tunnel: 192.0.2.3}}}": (
        "8: the name 'red1' is that of another in line 6: each has its own"
    ),
    "  blue: {vni: 2, vms: {b: {mac: 52:54:00:00:00:01, key: 3.key, tunnel: 192.0.2.3}}}": (
        "8: mac 52:54:00:00:00:01 is that of VM 'red1' in line 6: each has its own"
    ),
    "  blue: {vni: 2, vms: {b: {mac: 52:54:00:00:00:03, key: 3.key, tunnel: 192.0.2.1}}}": (
        "8: tunnel 192.0.2.1 is that of VM 'red1' in line 6: each has its own"
    ),
    "  blue: {vni: 2, vms: {}}": "8: tenant 'blue' has no VM",
    "  blue: 2": "8: tenant 'blue' is a number, not a mapping of names to values",
    "  red: 2": "8: 'red' is in tenants again: it is in line 3 already",
    "  ? [a]\n  : b": "8: a key of tenants is a list, not a text",
    "    cipher: aes-gcm-128\n    group: 239.0.0.1": "9: tenant 'red' has a cipher, whose keys are"
    " of two NICs each: leave out 'group' or 'cipher'",
    "    cipher: aes-gcm-128\n    stations: {}": "9: tenant 'red' has a cipher, and stations"
    " without CVSW have no keys for it: leave out 'cipher', or let the stations be tenants of"
    " their own",
    "    stations: {s: {macs: [], tunnel: 192.0.2.9, tunnel-mac: 02:00:00:00:00:09}}": (
        "8: macs of station 's' is empty"
    ),
    "    stations: {s: {macs: 1, tunnel: 192.0.2.9, tunnel-mac: 02:00:00:00:00:09}}": (
        "8: macs of station 's' is a number, not a list"
    ),
    "    stations: {s: {macs: [02:00:00:00:00:08], tunnel: 192.0.2.9}}": (
        "8: station 's' has no 'tunnel-mac'"
    ),
    "    stations: {s: {macs: [02:00:00:00:00:08], tunnel: 192.0.2.9/24,"
    " tunnel-mac: 02:00:00:00:00:09}}": (
        "8: station 's' routes by itself: give its address alone, 192.0.2.9"
    ),
    "    stations: {s: {macs: [52:54:00:00:00:01], tunnel: 192.0.2.9,"
    " tunnel-mac: 02:00:00:00:00:09}}": (
        "8: mac 52:54:00:00:00:01 is that of VM 'red1' in line 6: each has its own"
    ),
    "    stations: {s: {macs: [02:00:00:00:00:08], tunnel: 192.0.2.9,"
    " tunnel-mac: 52:54:00:00:00:01}}": (
        "8: tunnel-mac is that of VM 'red1' in line 6: each has its own"
    ),
    "underlay: {mtu: 1500}": "8: 'underlay' is in the plan again: it is in line 1 already",
    "  - x": "8: this is no YAML: ",
    "extra: 1": "8: there is no 'extra' in the plan: there are tenants, underlay",
}


@pytest.mark.parametrize("text", ADDED)
def test_added(tmp_path: Path, text: str) -> None:
    """The added text conflicts with BASE."""
    (one,) = faults(tmp_path, BASE + text)
    assert one == ADDED[text] or (ADDED[text].endswith("YAML: ") and one.startswith(ADDED[text]))


#: Values of `offloads` of the second VM, and their errors.
OFFLOADS = {
    "[cksum]": "offloads: there is no 'cksum': is it 'csum'?",
    "[csum, x]": "offloads: there is no 'x': there are csum, tso4, tso6, ecn, ufo, uso4, uso6",
    "[csum, csum]": "offloads: 'csum' is there already",
    "[csum, 4]": "offloads is a number, '4', not a text",
    "[tso6, uso4]": "offloads: there is no tso6, uso4 without csum: frames of these have no"
    " checksum yet",
    "[csum, ecn, ufo]": "offloads: there is no ecn without tso4 or tso6, whose frames it is about",
    "[]": "offloads of VM 'red2' is empty",
    "csum": "offloads: 'csum' is not 'none', nor a list of offloads like [csum, tso4]",
    "{csum: 1}": "offloads of VM 'red2' is a mapping, not a list",
    "": "offloads is nothing, '', not a text",
}


@pytest.mark.parametrize("value", OFFLOADS)
def test_offloads(tmp_path: Path, value: str) -> None:
    """Wrong offloads of a guest."""
    text = BASE.rstrip().removesuffix("}") + f", offloads: {value}}}\n"
    (one,) = faults(tmp_path, text)
    assert one == f"7: {OFFLOADS[value]}"


def test_nearest_offloads(tmp_path: Path) -> None:
    """The VM's offloads have priority, then its tenant's, then the underlay's."""
    text = BASE.replace("1500}", "1500, offloads: [csum]}")
    text = text.replace("192.0.2.2}", "192.0.2.2, offloads: [csum, tso4, ecn]}")

    def given(text: str) -> list[Offload | None]:
        return [nic.offloads for nic in read(cvsw_plans.write(tmp_path, text)).nics()]

    own = Offload.CSUM | Offload.TSO4 | Offload.ECN
    assert given(text) == [Offload.CSUM, own]
    assert given(f"{text}    offloads: none\n") == [Offload(0), own]
    assert given(BASE) == [None, None]


def test_all_at_once(tmp_path: Path) -> None:
    """All faults are reported, in the order of the file; read() raises the first."""
    text = BASE.replace("1500", "1").replace("5001", "0").replace("2.key", "none")
    assert [one.split(":")[0] for one in faults(tmp_path, text)] == ["1", "4", "7"]
    with pytest.raises(BadPlan, match="mtu 1 is out of range") as error:
        read(tmp_path / "plan.yaml")
    assert (error.value.line, error.value.column) == (1, 17)


@pytest.mark.parametrize(
    ("text", "said"),
    {
        "": "1: the file is empty; a plan has 'tenants' and 'underlay'",
        "- 1": "1: the plan is a list, not a mapping of names to values",
        "a: [1\nb: }": "2: this is no YAML: ",
        "a: \x01": "1: this is no YAML: ",
        "tenants: *red": "1: this is no YAML: ",
        "a: 1\n---\nb: 2": "2: this is no YAML: ",
        "\n" + "[" * 100_000: "2: it is nested more than 20 deep",
    }.items(),
)
def test_no_plan(tmp_path: Path, text: str, said: str) -> None:
    """No YAML document, or one of another kind."""
    (one,) = faults(tmp_path, text)
    assert one.startswith(said)


def test_no_file(tmp_path: Path) -> None:
    """A file that is missing, a folder, and octets that are no text."""
    for name, said in (("none", "No such file or directory"), (".", "Is a directory")):
        (fault,) = examine(tmp_path / name)[1]
        assert str(fault) == f"{tmp_path / name}:1: the file cannot be read: {said}"
    (tmp_path / "latin").write_bytes(b"underlay:\n  mtu: 1\xff")
    (fault,) = examine(tmp_path / "latin")[1]
    assert str(fault) == f"{tmp_path / 'latin'}:2: an octet 0xff is no UTF-8"


@pytest.mark.parametrize("cipher", [None, "aes-gcm-128"])
def test_members(tmp_path: Path, cipher: str | None) -> None:
    """The number of members for broadcast is limited; a group of the underlay has no limit."""
    most = 512
    vms = {
        f"n{each}": cvsw_plans.vm(each, f"10.0.{each >> 8}.{each & 255}")
        for each in range(1, most + 2)
    }
    tenant = {"vni": 1, "vms": vms} | ({"cipher": cipher} if cipher else {})
    tree = {"underlay": {"mtu": 1500}, "tenants": {"red": tenant}}
    (fault,) = examine(cvsw_plans.write(tmp_path, tree))[1]
    way = "" if cipher else "; with 'group', there is no limit"
    assert fault.line == 4
    assert fault.message == (
        f"tenant 'red' has {most + 1} members, and {most} are the most: a copy of broadcast goes to"
        f" each{way}"
    )
    tenant |= {"group": "239.0.0.1"}
    assert bool(examine(cvsw_plans.write(tmp_path, tree))[1]) == bool(cipher)
    del tenant["group"], vms["n1"]
    assert not examine(cvsw_plans.write(tmp_path, tree))[1]


def test_shared(tmp_path: Path) -> None:
    """A router may be a station of several tenants, with one end of tunnels for all."""
    router = "    stations: {%s: {macs: [02:00:00:00:00:08], tunnel: 192.0.2.9, tunnel-mac: %s}}\n"
    blue = (
        "  blue:\n    vni: 2\n    vms: {b: {mac: 5254.0000.0003, key: 3.key, tunnel: 192.0.2.3}}\n"
    )
    outer = "02:00:00:00:00:09"
    assert not faults(tmp_path, BASE + router % ("r", outer) + blue + router % ("s", outer))
    # Not of one tenant twice.
    twice = (router % ("r", outer)).replace("}}\n", "}, ") + (router % ("s", outer)).partition("{")[
        2
    ]
    assert len(faults(tmp_path, BASE + twice.replace("\n", "") + "\n")) == 2


def test_group_and_router(tmp_path: Path) -> None:
    """A group does not go through a router."""
    text = BASE.replace("mtu: 1500", "mtu: 1500, next-hop: 02:00:00:00:00:fe")
    assert not faults(tmp_path, text)
    text += "    group: 239.0.0.1\n"
    (one,) = faults(tmp_path, text)
    assert one == (
        "8: 'red1' reaches 'red2' by its next-hop, and a group goes to one layer 2 only: leave out"
        " 'group'"
    )
    assert not faults(tmp_path, text.replace("192.0.2.1", "192.0.2.1/24").replace(
        "192.0.2.2", "192.0.2.2/24"))  # fmt: skip
