# SPDX-License-Identifier: GPL-2.0-or-later
"""FLOW_MODs of os-ken, what Open vSwitch reads in them, and what CVSW does."""

from __future__ import annotations

import collections
import json
import random
import re
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from lab.base import tools
from lab.cvsw.openflow import cases
from lab.cvsw.openflow.codec import ask
from lab.cvsw.openflow.osken import EXPERIMENTER, VERSIONS, OsKen
from vmmnet.cvsw.control.nics import events
from vmmnet.cvsw.control.nics.events import Event

#: os-ken's own cases: how many of their FLOW_MODs are taken, and why others are not.  Of 1.3 they
#: use a second table, meters, MPLS and PBB. Groups are the flow table's matter.
TAKEN: dict[int, dict[str, int]] = {
    1: {"ok": 192},
    4: {
        "ok": 470,
        "OFPFMFC_BAD_TABLE_ID": 393,
        "OFPBAC_BAD_TYPE": 382,
        "OFPBMC_BAD_FIELD": 57,
        "OFPBIC_UNSUP_INST": 54,
        "OFPBIC_BAD_TABLE_ID": 21,
        "OFPBAC_BAD_SET_TYPE": 7,
    },
}


@pytest.fixture(params=list(VERSIONS), ids=list(VERSIONS.values()))
def osken(request: pytest.FixtureRequest) -> OsKen:
    """os-ken in each of the versions."""
    return OsKen(request.param)


def open_vswitch(messages: Iterable[bytes], folder: Path) -> list[str]:
    """What ovs-ofctl prints of messages; of one that it does not understand, its error."""
    (folder / "messages").write_bytes(b"".join(messages))
    text = tools.run(["ovs-ofctl", "ofp-parse", folder / "messages"])
    return re.split(r"^(?=OFP[TS]T?_)", text, flags=re.M)[1:]


def as_ours(text: str) -> str:
    """Open vSwitch's words for a flow in those of our program."""
    flow = " " + re.sub(r"^OFPT_FLOW_MOD.*?: ADD ", "", text.strip())
    flow = re.sub(r" (out_port|table|cookie|idle|hard|buf):\S+", "", flow)
    flow = re.sub(r" (send_flow_rem|check_overlap|reset_counts)", "", flow)
    match, actions = flow.split(" actions=")
    actions = re.sub(r"mod_dl_(src|dst):([0-9a-f:]+)", r"set_field:\2->eth_\1", actions)
    return f"ok\t{match.strip()}\t{actions.replace('strip_vlan', 'pop_vlan')}"


def meaning(message: Any) -> dict[str, Any]:
    """What of os-ken's FLOW_MOD says which flow there is, whoever has written it."""
    (flow,) = message.to_jsondict().values()
    keys = ("priority", "cookie", "idle_timeout", "hard_timeout")
    (match,) = flow["match"].values()
    if "wildcards" in match:
        for shift in (8, 14):
            if match["wildcards"] >> shift & 32:
                match["wildcards"] &= ~(31 << shift)
    else:
        match = sorted(json.dumps(field) for field in match["oxm_fields"])
    lists = [flow] if "actions" in flow else [i.popitem()[1] for i in flow["instructions"]]
    actions = [action.popitem() for one in lists for action in one["actions"]]
    for name, action in actions:
        # It matters to a controller alone.
        if name == "OFPActionOutput" and action["port"] not in (0xFFFD, 0xFFFFFFFD):
            action["max_len"] = 0
    # The other flags say how a flow is added.
    told = {"match": match, "actions": actions, "sends": flow["flags"] & 1}
    return told | {key: flow[key] for key in keys}


def check_same(osken: OsKen, messages: Sequence[bytes]) -> None:
    """What we tell of flows means to os-ken what it has asked for."""
    told = [bytes.fromhex(line) for line in ask(messages, "tell", osken.version)]
    for message, ours in zip(messages, told, strict=True):
        assert ours[0] == osken.version
        assert meaning(osken.parse(ours)) == meaning(osken.parse(message))


def test_cases(osken: OsKen, tmp_path: Path) -> None:
    """All that os-ken's cases send is understood as Open vSwitch does, or refused by its name."""
    messages = [each for case in cases.read(osken) for each in case.messages("OFPFlowMod")]
    answers = ask(messages, "show")
    count = collections.Counter(re.sub(r"ok\t.*|refused\t", "", one) or "ok" for one in answers)
    assert count == TAKEN[osken.version]
    for text, ours in zip(open_vswitch(messages, tmp_path), answers, strict=True):
        if "decode error" in text:
            # Open vSwitch has no IPV6_EXTHDR.
            assert ours.startswith("refused") or "ipv6_exthdr" in ours
        elif ours.startswith("ok"):
            assert ours == as_ours(text)
    check_same(osken, [m for m, ours in zip(messages, answers, strict=True) if ours[:2] == "ok"])


def _mac(rng: random.Random) -> str:
    return ":".join(f"{octet:02x}" for octet in rng.randbytes(6))


def _ip4(rng: random.Random) -> str:
    return ".".join(map(str, rng.randbytes(4)))


def _some(rng: random.Random, fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if rng.random() < 0.5}


def _match10(rng: random.Random) -> dict[str, Any]:
    link = _some(rng, {"in_port": 1, "dl_src": _mac(rng), "dl_dst": _mac(rng)})
    tag = _some(rng, {"dl_vlan": rng.randrange(4096)})
    tag |= _some(rng, {"dl_vlan_pcp": rng.randrange(8)}) if tag else {}
    kind = rng.choice([0x0800, 0x0806, 0x86DD, 0x88CC, None])
    if kind is None:
        return link | tag
    ip: dict[str, Any] = {"dl_type": kind}
    if kind != 0x88CC:
        protocol = rng.choice([6, 17, 132, 50]) if kind != 0x0806 else 2
        ip |= _some(rng, {"nw_proto": protocol})
    if kind in (0x0800, 0x0806):
        for name in ("nw_src", "nw_dst"):
            if rng.random() < 0.5:
                bits = rng.randrange(1, 33)
                octets = int.from_bytes(rng.randbytes(4)) >> (32 - bits) << (32 - bits)
                address = ".".join(map(str, octets.to_bytes(4)))
                ip |= {name: address, f"{name}_mask": bits}
    if ip.get("nw_proto") in (6, 17, 132):
        ip |= _some(rng, {"tp_src": rng.randrange(65536), "tp_dst": rng.randrange(65536)})
    return link | tag | ip


def _upper13(rng: random.Random, kind: int) -> dict[str, Any]:
    name, number = rng.choice([("tcp", 6), ("udp", 17), ("sctp", 132), ("icmp", 58), ("esp", 50)])
    if name == "esp":
        return {"ip_proto": number}
    if name == "icmp":
        name, number = ("icmpv4", 1) if kind == 0x0800 else ("icmpv6", 58)
        fields = {f"{name}_type": rng.randrange(128), f"{name}_code": rng.randrange(256)}
    else:
        fields = {f"{name}_src": rng.randrange(65536), f"{name}_dst": rng.randrange(65536)}
    return {"ip_proto": number} | _some(rng, fields)


def _match13(rng: random.Random) -> dict[str, Any]:
    fields = _some(rng, {"in_port": 2, "eth_src": _mac(rng), "tunnel_id": rng.randrange(1 << 24)})
    fields |= _some(rng, {"eth_dst": ("01:00:00:00:00:00", "01:00:00:00:00:00")})
    fields |= _some(rng, {"vlan_vid": 0x1000 | rng.randrange(4096)})
    fields |= _some(rng, {"vlan_pcp": rng.randrange(8)}) if "vlan_vid" in fields else {}
    kind = rng.choice([0x0800, 0x0806, 0x86DD, 0x88CC])
    fields |= {"eth_type": kind}
    if kind == 0x0806:
        fields |= _some(rng, {"arp_op": rng.randrange(256), "arp_spa": _ip4(rng)})
        fields |= _some(rng, {"arp_sha": _mac(rng), "arp_tpa": ("10.1.0.0", "255.255.0.0")})
    if kind in (0x0800, 0x86DD):
        fields |= _some(rng, {"ip_dscp": rng.randrange(64), "ip_ecn": rng.randrange(4)})
        fields |= _upper13(rng, kind) if rng.random() < 0.7 else {}
    if kind == 0x0800:
        fields |= _some(rng, {"ipv4_src": _ip4(rng), "ipv4_dst": ("10.0.0.9", "255.0.0.255")})
    if kind == 0x86DD:
        fields |= _some(rng, {"ipv6_src": "2001:db8::1", "ipv6_dst": ("fe80::", "ffc0::")})
        fields |= _some(rng, {"ipv6_flabel": rng.randrange(1 << 20)})
    return fields


def _actions10(osken: OsKen, rng: random.Random) -> list[Any]:
    of = osken.of
    actions = [
        of.OFPActionVlanVid(rng.randrange(4096)),
        of.OFPActionVlanPcp(rng.randrange(8)),
        of.OFPActionStripVlan(),
        of.OFPActionSetDlSrc(_mac(rng)),
        of.OFPActionSetDlDst(_mac(rng)),
        of.OFPActionSetNwSrc(_ip4(rng)),
        of.OFPActionSetNwDst(_ip4(rng)),
        of.OFPActionSetNwTos(rng.randrange(64) << 2),
        of.OFPActionSetTpSrc(rng.randrange(65536)),
        of.OFPActionSetTpDst(rng.randrange(65536)),
    ]
    ports = [of.OFPActionOutput(rng.choice([1, 2, 0xFFF8, 0xFFFA, 0xFFFB, 0xFFFD]), 128)]
    return rng.sample(actions, rng.randrange(len(actions))) + ports


def _actions13(osken: OsKen, rng: random.Random, match: dict[str, Any]) -> list[Any]:
    of = osken.of
    able = [
        name
        for name in match
        if name not in ("in_port", "eth_type", "ip_proto") and not isinstance(match[name], tuple)
    ]
    chosen = rng.sample(able, rng.randrange(len(able) + 1))
    actions = [of.OFPActionSetField(**{name: match[name]}) for name in chosen]
    if match["eth_type"] in (0x0800, 0x86DD):
        actions += [of.OFPActionDecNwTtl(), of.OFPActionSetNwTtl(rng.randrange(256))]
    actions += [of.OFPActionPushVlan(0x8100), of.OFPActionSetField(vlan_vid=0x1005)]
    actions += [of.OFPActionPopVlan()]
    return [*actions, of.OFPActionOutput(rng.choice([1, 2, 0xFFFFFFFA, 0xFFFFFFFD]), 128)]


def _random_flow(osken: OsKen, rng: random.Random) -> bytes:
    more = {
        "cookie": rng.getrandbits(64),
        "priority": rng.randrange(65536),
        "idle_timeout": rng.randrange(65536),
        "hard_timeout": rng.randrange(65536),
        "flags": rng.randrange(4),
    }
    if osken.version == 1:
        return osken.add(_match10(rng), _actions10(osken, rng), **more)
    match = _match13(rng)
    return osken.add(match, _actions13(osken, rng, match), **more)


def test_random(osken: OsKen, tmp_path: Path) -> None:
    """Flows of any sense: all three of us read the same in them."""
    rng = random.Random(29)
    messages = [_random_flow(osken, rng) for _ in range(300)]
    answers = ask(messages, "show")
    assert answers == [as_ours(text) for text in open_vswitch(messages, tmp_path)]
    check_same(osken, messages)


OWN = {
    "tunnel_encap(vni=100,local=10.0.0.1,remote=10.0.0.2,local_mac=02:00:00:00:00:01,"
    "remote_mac=02:00:00:00:00:02,port=4789,tos=184,ttl=64)": "0001 04 b8 00 00 12b5 00000064"
    "020000000001 020000000002 0a000001 0a000002",
    "tunnel_encap(vni=16777215,local=2001:db8::1,remote=2001:db8::2,local_mac=02:00:00:00:00:01,"
    "remote_mac=02:00:00:00:00:02,port=8472,tos=0,ttl=9)": "0001 06 00 09 00 2118 00ffffff"
    "020000000001 020000000002"
    "20010db8000000000000000000000001 20010db8000000000000000000000002",
    "tunnel_decap": "0002 000000000000",
    "encrypt(sa=7)": "0003 0000 00000007",
    "decrypt(sa=7)": "0004 0000 00000007",
    "decrypt": "0004 0000 00000000",
}


@pytest.mark.parametrize("name", OWN)
def test_own(osken: OsKen, name: str) -> None:
    """os-ken carries our actions to us, and we carry them back."""
    octets = bytes.fromhex(OWN[name])
    message = osken.add({}, [osken.own(octets)])
    assert ask([message], "show") == [f"ok\t\t{name}"]
    (told,) = ask([message], "tell", osken.version)
    flow = osken.parse(bytes.fromhex(told))
    (action,) = flow.actions if osken.version == 1 else flow.instructions[0].actions
    carried = struct.pack("!HHI", 0xFFFF, 8 + len(octets), EXPERIMENTER) + octets
    back = bytearray()
    action.serialize(back, 0)
    assert bytes(back) == carried


def test_error(osken: OsKen) -> None:
    """os-ken reads why a FLOW_MOD is refused, and which one."""
    queue = osken.of.OFPActionEnqueue(1, 1) if osken.version == 1 else osken.of.OFPActionSetQueue(1)
    message = osken.add({}, [queue], cookie=9)
    (answer,) = ask([message], "tell", osken.version)
    error = osken.parse(bytes.fromhex(answer))
    assert (error.type, error.code, error.data) == (2, 8, message[:64])


def test_removed(osken: OsKen) -> None:
    """os-ken reads which flow ended, and what it did."""
    match = {"dl_type": 0x0800, "nw_proto": 6, "tp_dst": 80}
    if osken.version == 4:
        match = {"eth_type": 0x0800, "ip_proto": 6, "tcp_dst": 80}
    message = osken.add(match, [], cookie=9, priority=5, idle_timeout=7)
    (answer,) = ask([message], "remove", osken.version)
    removed, asked = osken.parse(bytes.fromhex(answer)), osken.parse(message)
    assert (removed.cookie, removed.priority, removed.idle_timeout, removed.reason) == (9, 5, 7, 2)
    assert (removed.duration_sec, removed.duration_nsec) == (1, 500_000_000)
    assert (removed.packet_count, removed.byte_count) == (3, 300)
    # The controller says the same to people.
    layer = "tcp" if osken.version == 4 else "tp"
    assert events.read(Event(1, 1, 0.0, bytes.fromhex(answer)))["text"] == (
        "delete after 1.500 s, 3 packets, 300 octets: cookie=0x9, priority=5,eth_type=0x0800,"
        f"ip_proto=6,{layer}_dst=80"
    )
    if osken.version == 1:
        assert removed.match.wildcards & ~(31 << 8 | 31 << 14) == asked.match.wildcards & ~(
            31 << 8 | 31 << 14
        )
    else:
        assert sorted(removed.match.items()) == sorted(asked.match.items())


@pytest.mark.parametrize("osken", [4], indirect=True)
def test_dump(osken: OsKen, tmp_path: Path) -> None:
    """A line of the dump is what ovs-ofctl prints of a flow's statistics."""
    rng = random.Random(30)
    messages = [_random_flow(osken, rng) for _ in range(50)]
    replies = []
    for message in messages:
        cookie, idle, hard, priority = struct.unpack_from("!8xQ10xHHH", message)
        (flags,) = struct.unpack_from("!44xH", message)
        body = message[48:]
        numbers = (56 - 8 + len(body), 0, 1, 500_000_000, priority, idle, hard, flags & 1)
        stats = struct.pack("!HBxIIHHHH4xQQQ", *numbers, cookie, 3, 300) + body
        head = struct.pack("!BBHIHH4x", 4, 19, 16 + len(stats), 7, 1, 0)
        replies.append(head + stats)
    texts = [text.split("\n")[1] for text in open_vswitch(replies, tmp_path)]
    assert ask(messages, "dump") == texts
