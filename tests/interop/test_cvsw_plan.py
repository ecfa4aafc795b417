# SPDX-License-Identifier: GPL-2.0-or-later
"""The flows of plans, as the NIC's code and os-ken read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.cvsw import plans as cvsw_plans
from lab.cvsw.model import GROUP_MOD
from lab.cvsw.openflow.codec import ask
from lab.cvsw.openflow.osken import OsKen
from vmmnet.cvsw.control.table import flow, text
from vmmnet.cvsw.plan.flows import flows
from vmmnet.cvsw.plan.model import Nic, Plan


@pytest.fixture
def osken() -> OsKen:
    """os-ken in OpenFlow 1.3."""
    return OsKen(4)


def tree() -> cvsw_plans.Tree:
    """Every kind of tenant: also with a group, and as large as can be."""
    result = cvsw_plans.tree()
    for name, cipher, count, base in (
        ("clear", None, 17, "198.51.100."),
        ("sealed", "aes-gcm-128", 11, "198.51.101."),
        ("clear6", None, 17, "2001:db8:1::"),
        ("sealed6", "aes-gcm-256", 11, "2001:db8:2::"),
        # By groups.
        ("many", None, 30, "198.51.102."),
        ("manysealed", "aes-gcm-128", 20, "198.51.103."),
        ("many6", "aes-gcm-256", 14, "2001:db8:4::"),
    ):
        first = 100 * len(result["tenants"])
        numbers = range(first, first + count)
        vms = {
            f"{name}-{each}": cvsw_plans.vm(each, f"{base}{each - first + 1}") for each in numbers
        }
        tenant = {"vni": first, "vms": vms} | ({"cipher": cipher} if cipher else {})
        result["tenants"][name] = tenant
    result["tenants"]["clear6"]["vms"].popitem()
    result["tenants"]["clear6"]["stations"] = {"six": cvsw_plans.station(8, "2001:db8:1::99")}
    vms = {f"g{each}": cvsw_plans.vm(each, f"2001:db8:3::{each}") for each in range(27, 31)}
    result["tenants"]["group"] = {"vni": (1 << 24) - 1, "group": "ff05::1:3", "vms": vms}
    return result


def told(plan: Plan, nic: Nic) -> tuple[bytes, ...]:
    """The flows of a NIC; the associations with its n-th peer are 2n and 2n + 1."""
    numbers = {each.tunnel.mac: (2 * n, 2 * n + 1) for n, each in enumerate(plan.peers(nic), 1)}
    return flows(plan, nic, numbers)


def everything(folder: Path) -> Iterator[bytes]:
    """The flows of all NICs."""
    plan = cvsw_plans.plan(folder, tree())
    for nic in plan.nics():
        yield from told(plan, nic)


def test_nic(tmp_path: Path) -> None:
    """The NIC takes all of them, and tells them as they were, octet for octet."""
    messages = list(everything(tmp_path))
    assert len(messages) > 1000
    answers = [bytes.fromhex(line) for line in ask(messages, "tell", 4)]
    for message, answer in zip(messages, answers, strict=True):
        # All but the transaction's number.
        assert answer[:4] + message[4:8] + answer[8:] == message


def test_osken(osken: OsKen, tmp_path: Path) -> None:
    """os-ken reads the same in them that it would write."""
    for message in everything(tmp_path):
        is_group = message[1] == GROUP_MOD
        again = osken.parse_group(message) if is_group else osken.octets(osken.parse(message))
        assert again[:4] + message[4:8] + again[8:] == message


#: Who is asked for the end of its tunnels, and the flow that answers, as the NIC's dump and as
#: the controller show it.
ANSWERS = {
    "blue1": (
        "ok\tpriority=1,arp,tun_id=0x0,in_port=2,arp_tpa=192.0.2.11,arp_op=1"
        "\tanswer_arp(mac=52:54:00:00:00:0b),IN_PORT",
        "priority=1,in_port=2,eth_type=0x0806,arp_op=1,arp_tpa=192.0.2.11,tun_id=0"
        " actions=answer_arp(mac=52:54:00:00:00:0b),output:IN_PORT",
    ),
    "clear6-500": (
        "ok\tpriority=1,icmp6,tun_id=0x0,in_port=2,icmp_type=135,nd_target=2001:db8:1::1"
        "\tanswer_nd(mac=52:54:00:00:01:f4),IN_PORT",
        "priority=1,in_port=2,eth_type=0x86dd,ip_proto=58,icmpv6_type=135,"
        "nd_target=2001:db8:1::1,tun_id=0 actions=answer_nd(mac=52:54:00:00:01:f4),output:IN_PORT",
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers(tmp_path: Path, name: str) -> None:
    """A NIC with a station answers for the end of its tunnels, and for no other."""
    plan = cvsw_plans.plan(tmp_path, tree())
    (nic,) = (each for each in plan.nics() if each.name == name)
    messages = dict(zip(ask(told(plan, nic), "show"), told(plan, nic), strict=True))
    (shown,) = (line for line in messages if "answer" in line)
    assert (shown, text.entry(flow.read(messages[shown]))) == ANSWERS[name]


#: What a NIC's dump says of red1, of blue1 and of green1, without what is the same in all tunnels.
SHOWN = {
    "red1": """\
priority=0,in_port=1 actions=drop
priority=0,in_port=2 actions=drop
priority=1,tun_id=0x1389,in_port=2,dl_dst=52:54:00:00:00:01 actions=output:1
priority=1,tun_id=0x1389,in_port=2,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00 actions=output:1
priority=1,ip,tun_id=0x0,in_port=2,nw_src=192.0.2.2,nw_dst=192.0.2.1,nw_proto=50
  actions=decrypt(sa=3),tunnel_decap
priority=1,ip,tun_id=0x0,in_port=2,nw_src=192.0.2.3,nw_dst=192.0.2.1,nw_proto=50
  actions=decrypt(sa=5),tunnel_decap
priority=1,in_port=1,dl_src=52:54:00:00:00:01,dl_dst=52:54:00:00:00:02
  actions=tunnel_encap(vni=5001,local=192.0.2.1,remote=192.0.2.2),encrypt(sa=2),output:2
priority=1,in_port=1,dl_src=52:54:00:00:00:01,dl_dst=52:54:00:00:00:03
  actions=tunnel_encap(vni=5001,local=192.0.2.1,remote=192.0.2.3),encrypt(sa=4),output:2
priority=1,in_port=1,dl_src=52:54:00:00:00:01,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00
  actions=tunnel_encap(vni=5001,local=192.0.2.1,remote=192.0.2.2),encrypt(sa=2),output:2,
  tunnel_encap(vni=5001,local=192.0.2.1,remote=192.0.2.3),encrypt(sa=4),output:2
""",
    "blue1": """\
priority=0,in_port=1 actions=drop
priority=0,in_port=2 actions=drop
priority=1,tun_id=0x138a,in_port=2,dl_dst=52:54:00:00:00:0b actions=output:1
priority=1,tun_id=0x138a,in_port=2,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00 actions=output:1
priority=1,arp,tun_id=0x0,in_port=2,arp_tpa=192.0.2.11,arp_op=1
  actions=answer_arp(mac=52:54:00:00:00:0b),IN_PORT
priority=1,udp,tun_id=0x0,in_port=2,nw_src=192.0.2.9,nw_dst=192.0.2.11,tp_dst=4789
  actions=tunnel_decap
priority=1,udp,tun_id=0x0,in_port=2,nw_src=192.0.2.12,nw_dst=192.0.2.11,tp_dst=4789
  actions=tunnel_decap
priority=1,in_port=1,dl_src=52:54:00:00:00:0b,dl_dst=02:00:00:00:00:09
  actions=tunnel_encap(vni=5002,local=192.0.2.11,remote=192.0.2.9),output:2
priority=1,in_port=1,dl_src=52:54:00:00:00:0b,dl_dst=52:54:00:00:00:0c
  actions=tunnel_encap(vni=5002,local=192.0.2.11,remote=192.0.2.12),output:2
priority=1,in_port=1,dl_src=52:54:00:00:00:0b,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00
  actions=tunnel_encap(vni=5002,local=192.0.2.11,remote=192.0.2.12),output:2,
  tunnel_encap(vni=5002,local=192.0.2.11,remote=192.0.2.9),output:2
""",
    "green1": """\
priority=0,in_port=1 actions=drop
priority=0,in_port=2 actions=drop
priority=1,tun_id=0x138b,in_port=2,dl_dst=52:54:00:00:00:15 actions=output:1
priority=1,tun_id=0x138b,in_port=2,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00 actions=output:1
priority=1,ipv6,tun_id=0x0,in_port=2,ipv6_src=2001:db8::2,ipv6_dst=2001:db8::1,nw_proto=50
  actions=decrypt(sa=3),tunnel_decap
priority=1,in_port=1,dl_src=52:54:00:00:00:15,dl_dst=52:54:00:00:00:16
  actions=tunnel_encap(vni=5003,local=2001:db8::1,remote=2001:db8::2),encrypt(sa=2),output:2
priority=1,in_port=1,dl_src=52:54:00:00:00:15,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00
  actions=tunnel_encap(vni=5003,local=2001:db8::1,remote=2001:db8::2),encrypt(sa=2),output:2
""",
}


@pytest.mark.parametrize("name", SHOWN)
def test_golden(tmp_path: Path, name: str) -> None:
    """Flows for people."""
    plan = cvsw_plans.plan(tmp_path, cvsw_plans.tree())
    (nic,) = (each for each in plan.nics() if each.name == name)
    lines = [line.split("\t")[1:] for line in ask(told(plan, nic), "show")]
    shown = "".join(f"{match} actions={actions}\n" for match, actions in lines)
    shown = re.sub(r",(local_mac|remote_mac)=[0-9a-f:]+|,port=4789,tos=0,ttl=64", "", shown)
    expected = re.sub(r"\n  (?=actions)", " ", SHOWN[name])
    assert shown == re.sub(r"\n  ", "", expected)
