# SPDX-License-Identifier: GPL-2.0-or-later
"""Actions on frames, as rules for the switches in NICs and for Open vSwitch.

null        nothing
ip          both IPv4 addresses are set: VMs use each other's second address
vlan        the sender's side adds a tag, the receiver's side removes it
vxlan       frames are in VXLAN between the hosts
vxlan-aes   the same, encrypted
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from lab.cvsw import bed as cvsw
from lab.cvsw.bed import DECAP, GUEST, WIRE, Controller, encap, flow, output

from .station import End

NULL, IP, VLAN, VXLAN, AES = "null", "ip", "vlan", "vxlan", "vxlan-aes"
TITLES = {
    NULL: "nothing",
    IP: "IP addresses are set",
    VLAN: "a VLAN tag, added and taken off",
    VXLAN: "VXLAN",
    AES: "VXLAN, encrypted",
}
#: MTU in the tunnels of CVSW and of ESP in a guest.
MTUS = {VXLAN: 1450, AES: 1416}
_TAG, _VNI, _SPI = 100, 5000, 0x1000
_IPV4, _UDP, _ESP = 0x0800, 17, 50
#: The ports of Open vSwitch with its own tunnels, and the wire.
TUNNELS, UPLINK = {VXLAN: "vx", AES: "vxc"}, "wire"


@dataclass(frozen=True)
class Pair:
    """Two VMs that send to each other, on the first host and on the second."""

    first: End
    second: End

    @property
    def vni(self) -> int:
        """The number of its tunnel."""
        return _VNI + self.first.number

    @property
    def both(self) -> tuple[tuple[End, End], tuple[End, End]]:
        """Each VM with its peer."""
        return (self.first, self.second), (self.second, self.first)


def address(end: End) -> str:
    """Address of a VM in its guest."""
    return f"198.51.{end.net}.{end.number}"


def alias(end: End) -> str:
    """Address of a VM for its peer where addresses are set."""
    return f"198.51.{end.net}.{100 + end.number}"


def outer(end: End) -> str:
    """Address of the end of its NIC's tunnel."""
    return f"192.0.2.{end.number}"


def _set(kind: int, where: str) -> bytes:
    """OFPAT_SET_NW_SRC or _DST."""
    return struct.pack(">HH4s", kind, 8, IPv4Address(where).packed)


def _nic_flows(case: str, me: End, other: End, vni: int) -> list[bytes]:
    to_wire, to_guest = output(WIRE), output(GUEST)
    if case == IP:
        actions = _set(6, alias(me)), _set(7, address(other)), to_wire
        return [flow(*actions, in_port=GUEST, dl_type=_IPV4)]
    if case == VLAN:
        push, strip = struct.pack(">HHHxx", 1, 8, _TAG), struct.pack(">HHxxxx", 3, 8)
        return [flow(push, to_wire, in_port=GUEST), flow(strip, to_guest, in_port=WIRE)]
    if case == NULL:
        return []
    into = encap(vni, (me.mac, outer(me)), (other.mac, outer(other)))
    if case == VXLAN:
        out_of = flow(DECAP, to_guest, in_port=WIRE, dl_type=_IPV4, nw_proto=_UDP)
        return [flow(into, to_wire, in_port=GUEST), out_of]
    seal, opened = cvsw.encrypt(me.number), cvsw.decrypt(other.number)
    out_of = flow(opened, DECAP, to_guest, in_port=WIRE, dl_type=_IPV4, nw_proto=_ESP)
    return [flow(into, seal, to_wire, in_port=GUEST), out_of]


def set_keys(controller: Controller, me: End, other: End) -> None:
    """Set a pair's security associations, both ways; each has the number of its sender."""
    for end, outbound in ((me, True), (other, False)):
        key = bytes((end.number + i) & 0xFF for i in range(20))
        controller.set_sa(end.number, _SPI + end.number, key, outbound=outbound)


def set_nic(controller: Controller, case: str, me: End, other: End, vni: int) -> None:
    """Replace the rules of a NIC."""
    controller.clear()
    for each in _nic_flows(case, me, other, vni):
        controller.set(each)


def _port_flows(case: str, me: End, other: End, vni: int) -> Iterator[str]:
    tap, to_me = me.tap.name, f"dl_dst={me.mac}"
    if case == IP:
        changes = f"mod_nw_src:{alias(me)},mod_nw_dst:{address(other)}"
        yield f"priority=2,in_port={tap},ip,actions={changes},output:{UPLINK}"
    elif case == VLAN:
        yield f"priority=2,in_port={tap},actions=mod_vlan_vid:{_TAG},output:{UPLINK}"
        yield f"priority=2,in_port={UPLINK},{to_me},actions=strip_vlan,output:{tap}"
    elif case in TUNNELS:
        tunnel = TUNNELS[case]
        yield f"priority=2,in_port={tap},actions=set_tunnel:{vni},output:{tunnel}"
        yield f"priority=2,in_port={tunnel},tun_id={vni},actions=output:{tap}"


#: Flows of a switch without VMs.
NOTHING = "priority=0,actions=drop"


def switch_flows(case: str, served: Sequence[Pair], others: Sequence[Pair], side: int) -> str:
    """Return lines of ovs-ofctl for a host, 0 or 1: actions for some pairs, and pass on all frames.

    No learning and no flooding, as wire and tunnels would be a loop.
    """
    lines = [NOTHING]
    for pair in (*served, *others):
        me, other = pair.both[side]
        lines.append(f"priority=1,dl_dst={me.mac},actions=output:{me.tap.name}")
        lines.append(f"priority=1,dl_dst={other.mac},actions=output:{UPLINK}")
    for pair in served:
        lines += _port_flows(case, *pair.both[side], pair.vni)
    return "\n".join(lines) + "\n"
