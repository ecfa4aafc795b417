# SPDX-License-Identifier: GPL-2.0-or-later
"""Flows as text, in the words of a NIC's own dump."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address

from .entry import Entry
from .flow import Flow, actions_of, cookie_of, fields_of
from .group import Group, buckets_of, is_indirect

_OURS = 0x00525400
_PORTS = {0xFFFFFFF8: "IN_PORT", 0xFFFFFFFA: "NORMAL",
          0xFFFFFFFB: "FLOOD", 0xFFFFFFFC: "ALL", 0xFFFFFFFD: "CONTROLLER"}  # fmt: skip


def mac(octets: bytes) -> str:
    """A MAC address."""
    return octets.hex(":")


def _number(octets: bytes) -> str:
    return str(int.from_bytes(octets))


def _hex(octets: bytes) -> str:
    return f"{int.from_bytes(octets):#06x}"


def _port(octets: bytes) -> str:
    number = int.from_bytes(octets)
    return _PORTS.get(number, str(number))


def _ip4(octets: bytes) -> str:
    return str(IPv4Address(octets)) if len(octets) == 4 else octets.hex()


def _ip6(octets: bytes) -> str:
    return str(IPv6Address(octets)) if len(octets) == 16 else octets.hex()


# oxm_ofb_match_fields (1.3.5 table 11).
_FIELDS: dict[int, tuple[str, Callable[[bytes], str]]] = {
    0: ("in_port", _port),
    3: ("eth_dst", mac),
    4: ("eth_src", mac),
    5: ("eth_type", _hex),
    6: ("vlan_vid", _hex),
    7: ("vlan_pcp", _number),
    8: ("ip_dscp", _number),
    9: ("nw_ecn", _number),
    10: ("ip_proto", _number),
    11: ("ip_src", _ip4),
    12: ("ip_dst", _ip4),
    13: ("tcp_src", _number),
    14: ("tcp_dst", _number),
    15: ("udp_src", _number),
    16: ("udp_dst", _number),
    17: ("sctp_src", _number),
    18: ("sctp_dst", _number),
    19: ("icmp_type", _number),
    20: ("icmp_code", _number),
    21: ("arp_op", _number),
    22: ("arp_spa", _ip4),
    23: ("arp_tpa", _ip4),
    24: ("arp_sha", mac),
    25: ("arp_tha", mac),
    26: ("ipv6_src", _ip6),
    27: ("ipv6_dst", _ip6),
    28: ("ipv6_label", _hex),
    29: ("icmpv6_type", _number),
    30: ("icmpv6_code", _number),
    31: ("nd_target", _ip6),
    32: ("nd_sll", mac),
    33: ("nd_tll", mac),
    38: ("tun_id", _number),
}


def entry(entry: Entry) -> str:
    """A flow or a group as a line."""
    return _group(entry) if isinstance(entry, Group) else _flow(entry)


def _group(group: Group) -> str:
    buckets = "".join(f",bucket=actions={_listed(each)}" for each in buckets_of(group))
    kind = "indirect" if is_indirect(group) else "all"
    return f"group_id={group.number},type={kind}{buckets}"


def _flow(flow: Flow) -> str:
    fields = ",".join([f"priority={flow.priority}", *map(field, fields_of(flow))])
    cookie = cookie_of(flow)
    actions = _listed(actions_of(flow))
    return (f"cookie={cookie:#x}, " if cookie else "") + f"{fields} actions={actions}"


def _listed(actions: list[bytes]) -> str:
    return ",".join(_actions(actions)) or "drop"


def field(oxm: bytes) -> str:
    """An OXM field of a match."""
    number, value = oxm[2] >> 1, oxm[4:]
    name, spell = _FIELDS.get(number, (f"field{number}", bytes.hex))
    if oxm[2] & 1:
        half = len(value) // 2
        return f"{name}={spell(value[:half])}/{spell(value[half:])}"
    return f"{name}={spell(value)}"


# ofp_match of OpenFlow 1.0.1 (section 5.2.3): wildcard, name, place, octets.
_FIELDS_10: list[tuple[int, str, int, int, Callable[[bytes], str]]] = [
    (0, "in_port", 4, 2, _number),
    (2, "eth_src", 6, 6, mac),
    (3, "eth_dst", 12, 6, mac),
    (1, "dl_vlan", 18, 2, _number),
    (20, "vlan_pcp", 20, 1, _number),
    (4, "eth_type", 22, 2, _hex),
    (21, "nw_tos", 24, 1, _number),
    (5, "ip_proto", 25, 1, _number),
    (6, "tp_src", 36, 2, _number),
    (7, "tp_dst", 38, 2, _number),
]
_PREFIXES_10 = [(8, "ip_src", 28), (14, "ip_dst", 32)]


def match10(octets: bytes) -> Iterator[str]:
    """The fields of a match of OpenFlow 1.0. Raises struct.error if it is truncated."""
    (wildcards,) = struct.unpack_from(">I36x", octets)
    for bit, name, at, size, spell in _FIELDS_10:
        if not wildcards >> bit & 1:
            yield f"{name}={spell(octets[at : at + size])}"
    for shift, name, at in _PREFIXES_10:
        length = 32 - min(wildcards >> shift & 63, 32)
        if length:
            yield f"{name}={_ip4(octets[at : at + 4])}" + (f"/{length}" if length < 32 else "")


def _actions(actions: list[bytes]) -> Iterator[str]:
    for action in actions:
        kind = int.from_bytes(action[:2])
        if kind == 0:
            yield f"output:{_port(action[4:8])}"
        elif kind == 22:
            yield f"group:{_number(action[4:8])}"
        elif kind == 25:
            name, _, value = field(action[4 : 8 + action[7]]).partition("=")
            yield f"set_field:{value}->{name}"
        elif kind == 0xFFFF and action[4:8] == struct.pack(">I", _OURS):
            yield _own(action)
        else:
            yield _PLAIN.get(kind, f"action{kind}({action[4:].hex()})")


_PLAIN = {18: "pop_vlan", 24: "dec_ttl"}


def _own(action: bytes) -> str:
    subtype = int.from_bytes(action[8:10])
    if subtype == 1:
        version, port, vni = action[10], int.from_bytes(action[14:16]), action[16:20]
        spell, size = (_ip4, 4) if version == 4 else (_ip6, 16)
        local, remote = action[32 : 32 + size], action[32 + size : 32 + 2 * size]
        return (
            f"tunnel_encap(vni={_number(vni)},local={spell(local)},remote={spell(remote)},"
            f"local_mac={mac(action[20:26])},remote_mac={mac(action[26:32])},port={port})"
        )
    if subtype in (6, 7):
        return f"answer_{'nd' if subtype == 6 else 'arp'}(mac={mac(action[10:16])})"
    number = _number(action[12:16])
    names = {2: "tunnel_decap", 3: f"encrypt(sa={number})", 4: f"decrypt(sa={number})"}
    return "decrypt" if (subtype, number) == (4, "0") else names.get(subtype, f"own{subtype}")
