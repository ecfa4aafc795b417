# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-dnsd on a host with a VRF, which the kernels of guests have.

In the guest, the namespace "client" stands for two routers and what is behind them:

    client  10.8.0.2, 2001:db8:8::2
      c1 10.9.1.2 ---- s1 10.9.1.1 \\
                                     VRF "red"      the main table leads to "nowhere"
      c2 10.9.2.2 ---- s2 10.9.2.1 /
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.base import scratch
from lab.dns import room as dns_room
from lab.dns.dnsd_world import ZONE
from lab.guest import carried
from lab.guest.agent import Job
from lab.guest.fixtures import KERNELS
from lab.guest.guest import Guest

_BED = """\
set -e
modprobe vrf
modprobe veth
modprobe dummy
sysctl -qw net.ipv4.udp_l3mdev_accept=1 net.ipv4.tcp_l3mdev_accept=1
sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
sysctl -qw net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.default.dad_transmits=0
ip link add red up type vrf table 10
ip link add nowhere up type dummy
ip address add 203.0.113.1/24 dev nowhere
ip address add 2001:db8:ff::1/64 dev nowhere nodad
ip route add default dev nowhere
ip -6 route add default dev nowhere
ip netns add client
ip netns exec client sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv6.conf.default.accept_dad=0
ip -n client link set lo up
ip -n client address add 10.8.0.2/32 dev lo
ip -n client address add 2001:db8:8::2/128 dev lo
for number in 1 2
do
    ip link add s$number type veth peer name c$number netns client
    ip link set s$number master red up
    ip -n client link set c$number up
    ip address add 10.9.$number.1/24 dev s$number
    ip address add 2001:db8:9:$number::1/64 dev s$number nodad
    ip address add fe80::9/64 dev s$number nodad
    ip -n client address add 10.9.$number.2/24 dev c$number
    ip -n client address add 2001:db8:9:$number::2/64 dev c$number nodad
done
ip -n client address add fe80::8/64 dev c1 nodad
"""
# An interface that changes its VRF loses its IPv6 addresses.
_AGAIN = """\
set -e
ip link add red up type vrf table 10
for number in 1 2
do
    ip link set s$number master red
    ip address replace 2001:db8:9:$number::1/64 dev s$number nodad
    ip address replace fe80::9/64 dev s$number nodad
done
"""
_SERVERS = ("10.9.1.1", "2001:db8:9:1::1")


@pytest.fixture(scope="module", params=KERNELS)
def guest(request: pytest.FixtureRequest) -> Iterator[Guest]:
    """The host of the server."""
    program = dns_room.program("vmmnet-dnsd")
    with scratch.folder() as name:
        image = dns_room.compile_zone("example", ZONE.format(serial=1), Path(name) / "x.vzi")
        files = {**carried.files(program), "/var/zones/example.vzi": image}
        with Guest(kernel=request.param, files=files) as guest:
            guest.run(_BED)
            yield guest


@contextlib.contextmanager
def _served(guest: Guest, **server: Any) -> Iterator[Job]:
    zones = [{"name": "example", "image": "/var/zones/example.vzi"}]
    server = {"user": "nobody", "control": "off", "threads": 2, **server}
    guest.put(json.dumps({"server": server, "zones": zones}).encode(), "/var/dnsd.yaml")
    command = carried.command(dns_room.program("vmmnet-dnsd"))
    job = guest.spawn(f"exec {command} /var/dnsd.yaml")
    job.wait_output("serving 1 zone")
    try:
        yield job
    finally:
        job.kill()
        job.wait()


def _ask(guest: Guest, server: str, *, tcp: bool = False, source: str = "") -> str:
    """What the client gets."""
    words = f"dig @{server} www.example A +short +tries=3 +time=10"
    words += " +tcp" if tcp else " +notcp"
    words += f" -b {source}" if source else ""
    return guest.run(f"ip netns exec client {words}", check=False).stdout


@pytest.mark.parametrize("server", _SERVERS)
def test_replies_leave_by_the_vrf(guest: Guest, server: str) -> None:
    """A server of all addresses answers clients in a VRF over UDP and TCP."""
    with _served(guest):
        assert _ask(guest, server) == "192.0.2.80\n"
        assert _ask(guest, server, tcp=True) == "192.0.2.80\n"


def test_replies_take_the_route_of_the_vrf(guest: Guest) -> None:
    """The way back need not be that of the query: no interface is forced on a reply."""
    guest.run("ip route add 10.8.0.2/32 via 10.9.2.2 vrf red")
    guest.run("ip -6 route add 2001:db8:8::2/128 via 2001:db8:9:2::2 vrf red")
    with _served(guest):
        assert _ask(guest, _SERVERS[0], source="10.8.0.2") == "192.0.2.80\n"
        assert _ask(guest, _SERVERS[1], source="2001:db8:8::2") == "192.0.2.80\n"


@pytest.mark.parametrize("server", _SERVERS)
def test_interfaces_join_and_leave_a_vrf(guest: Guest, server: str) -> None:
    """A running server follows: a VRF that is made again has another index."""
    with _served(guest):
        guest.run("ip link delete red")
        guest.run("ip address replace 2001:db8:9:1::1/64 dev s1 nodad")
        assert _ask(guest, server) == "192.0.2.80\n"
        guest.run(_AGAIN)
        assert _ask(guest, server) == "192.0.2.80\n"


def test_addresses_of_a_vrf(guest: Guest) -> None:
    """Without the name of their VRF: told; with the sysctls they are served all the same."""
    with _served(guest, listen=list(_SERVERS)) as job:
        for server in _SERVERS:
            job.wait_output(rf"server.listen: {server} \(UDP\) is not an address .* name the VRF")
            for tcp in (False, True):
                assert _ask(guest, server, tcp=tcp) == "192.0.2.80\n"


@pytest.mark.parametrize("listen", ["10.9.1.1%red", "10.9.1.1", "2001:db8:9:1::1", "fe80::9%s1"])
def test_an_address_that_leaves_a_vrf(guest: Guest, listen: str) -> None:
    """It is told, with or without the name of the VRF, also when the address is back."""
    address = listen.partition("%")[0]
    length, flags = (64, " nodad") if ":" in address else (24, "")
    with _served(guest, listen=["127.0.0.1", listen]) as job:
        guest.run(f"ip address delete {address}/{length} dev s1")
        job.wait_output(f"server.listen: {listen} is no address of this host any more")
        guest.run(f"ip address add {address}/{length} dev s1{flags}")
        job.wait_output(f"server.listen: {listen} is an address of this host")


@pytest.mark.parametrize("server", _SERVERS)
def test_wildcards_of_a_vrf(guest: Guest, server: str) -> None:
    """All addresses of a VRF, and no others."""
    with _served(guest, listen=["0.0.0.0%red", "::%red"]):
        for tcp in (False, True):
            assert _ask(guest, server, tcp=tcp) == "192.0.2.80\n"
        assert guest.run("dig @127.0.0.1 www.example +tries=1 +time=1", check=False).rc == 9


@pytest.mark.parametrize("server", _SERVERS)
def test_listeners_of_a_vrf(guest: Guest, server: str) -> None:
    """Addresses are those of the VRF; a VRF that is not there, or goes, is waited for."""
    guest.run("ip link delete red")
    with _served(guest, listen=["127.0.0.1", f"{server}%red"]) as job:
        job.wait_output(f"server.listen: {server}%red: there is no interface 'red' yet: waiting")
        for _ in range(2):
            guest.run(_AGAIN)
            job.wait_output(f"server.listen: {server}%red: the interface 'red' is there")
            guest.wait_for(f"ip netns exec client dig @{server} www.example +short | grep 192")
            assert _ask(guest, server, tcp=True) == "192.0.2.80\n"
            guest.run("ip link delete red")
            job.wait_output(f"server.listen: {server}%red: the interface 'red' is gone: waiting")
    guest.run(_AGAIN)


def test_link_local_in_a_vrf(guest: Guest) -> None:
    """With its interface; the kernel does not tell a listener of all addresses which it was."""
    for listen in ("fe80::9%s1", "::%s1"):
        with _served(guest, listen=[listen]):
            for tcp in (False, True):
                assert _ask(guest, "fe80::9%c1", tcp=tcp) == "192.0.2.80\n"
