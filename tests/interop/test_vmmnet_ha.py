# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-ha in namespaces: a mobile node that the test plays, and nodes of all sides."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from ipaddress import IPv6Address
from pathlib import Path

import pytest
from lab.base import process, wait
from lab.base.net import Interface, Network
from lab.hosts import snooping
from lab.mip6 import mobile
from lab.mip6.mobile import CARE_OF, Field, Packet
from lab.mip6.mobility import (
    AGENT_ADDRESS,
    CORRESPONDENT_ADDRESS,
    HOME_ADDRESS,
    HOME_PREFIX,
    SECOND_ADDRESS,
    agent_binary,
    agent_process,
)

ETH_P_IPV6 = 0x86DD
ANNOUNCEMENTS = 3  # of a bound address
ANYCAST = f"{HOME_PREFIX}:0:fdff:ffff:ffff:fffe"


@pytest.fixture(scope="module")
def field() -> Iterator[Field]:
    with mobile.field() as built:
        yield built


@pytest.fixture
def state(field: Field) -> Iterator[str]:
    """A line of configuration; what an agent leaves for the next one goes at the end."""
    file = field.folder / "ha.state"
    yield f"state {file}"
    file.unlink(missing_ok=True)
    field.agent_host.run(["ip", "link", "del", "mip6ha"], check=False)


@pytest.fixture
def control(field: Field) -> Iterator[str]:
    """A line of configuration."""
    yield f"control {field.folder / 'ha.sock'}"


def _show(field: Field, *options: str) -> str:
    command = [str(agent_binary()), "show", *options, str(field.folder / "ha.conf")]
    return field.agent_host.run(command).stdout


def _dropped(field: Field, reason: str) -> int:
    count: int = json.loads(_show(field, "--json"))["dropped"][reason]
    return count


def _is_echo(packet: Packet, kind: int, number: int) -> bool:
    return (
        packet.protocol == mobile.ICMP6
        and packet.payload[0] == kind
        and struct.unpack(">H", packet.payload[6:8]) == (number,)
    )


def _tunnel(care_of: str, packet: bytes) -> bytes:
    return mobile.ip6(care_of, AGENT_ADDRESS, mobile.IP6, packet)


def _both_ways(
    field: Field, number: int, care_of: str = CARE_OF[0], home: str = HOME_ADDRESS
) -> None:
    """An echo request goes out by the tunnel, and the reply comes in by it."""
    request = mobile.echo(home, CORRESPONDENT_ADDRESS, number)
    field.mobile.send(_tunnel(care_of, request))
    reply = field.mobile.receive(
        lambda p: p.protocol == mobile.IP6 and _is_echo(p.inner, mobile.ECHO_REPLY, number)
    )
    assert (reply.source, reply.destination) == (AGENT_ADDRESS, care_of)
    assert (reply.inner.source, reply.inner.destination) == (CORRESPONDENT_ADDRESS, home)


def _routes(field: Field) -> str:
    return field.agent_host.ip("-6", "route", "show", "dev", "mip6ha")


def test_registers_moves_and_ends(field: Field) -> None:
    with field.agent("lifetime 40"):
        ack = field.mobile.register(1, lifetime=60)
        assert (ack.status, ack.home, ack.lifetime) == (0, HOME_ADDRESS, 40)
        _both_ways(field, 1)
        assert field.mobile.register(2, care_of=CARE_OF[1]).status == 0
        _both_ways(field, 2, CARE_OF[1])
        assert HOME_ADDRESS in _routes(field)
        assert field.mobile.register(3, lifetime=0, care_of=CARE_OF[1]).status == 0
        assert HOME_ADDRESS not in _routes(field)
        assert field.mobile.register(4, lifetime=0).status == 133
    first, second = CARE_OF[:2]
    log = (field.folder / "ha.log").read_text()
    lines = (
        f"bound {HOME_ADDRESS} at {first}",
        f"moved {HOME_ADDRESS} from {first} to {second}",
        f"ended {HOME_ADDRESS} at {second} by its node",
        f"refused {HOME_ADDRESS} at {first}, status 133",
    )
    places = [log.find(line) for line in lines]
    assert places == sorted(places) and places[0] > 0, log


@pytest.fixture
def snoops(field: Field) -> Iterator[None]:
    """The home link's switch snoops MLD and has a querier."""
    bridge = Interface(field.router, "home")

    def queries() -> int:
        return snooping.mld_queries(field.neighbour.run(["cat", "/proc/net/snmp6"]).stdout)

    before = queries()
    snooping.start(bridge, querier=True)
    # From the first query to the end of its response time it still floods.
    wait.until(lambda: queries() >= before + 2, "two queries")
    yield
    snooping.stop(bridge)


@pytest.mark.usefixtures("snoops")
def test_a_switch_that_snoops(field: Field) -> None:
    """With a querier, solicitations reach only who has reported the group."""
    with field.agent():
        with _announced(field):
            assert field.mobile.register(1).status == 0
        for address in (AGENT_ADDRESS, HOME_ADDRESS):
            assert _solicited(address) in _groups(field).split()
        field.router.ip("neigh", "flush", "dev", "home")
        _both_ways(field, 1)
        field.mobile.send(mobile.icmp6(CARE_OF[0], ANYCAST, 144, b"\x12\x34\0\0"))
        field.mobile.receive(lambda p: p.protocol == mobile.ICMP6 and p.payload[0] == 145)
        _is_defended(field)
        assert field.mobile.register(2, lifetime=0).status == 0
        assert _solicited(HOME_ADDRESS) not in _groups(field).split()


def _solicited(address: str) -> str:
    """The address's solicited-node group."""
    low = int(IPv6Address(address)) & 0xFFFFFF
    return str(IPv6Address(int(IPv6Address("ff02::1:ff00:0")) | low))


def _far_end(field: Field) -> str:
    """The port of the home switch that the agent's interface is at."""
    words = ("ip", "-j", "link", "show")
    (ours,) = json.loads(field.agent_host.run([*words, field.agent_interface.name]).stdout)
    ports = json.loads(field.router.run([*words, "master", "home"]).stdout)
    (name,) = (port["ifname"] for port in ports if port["ifindex"] == ours["link_index"])
    return str(name)


def test_a_carrier_comes(field: Field) -> None:
    """What was announced without one reached nobody: it is announced again."""
    port, log = _far_end(field), field.folder / "ha.log"
    home = IPv6Address(HOME_ADDRESS).packed

    def is_announcement(p: Packet) -> bool:
        return p.protocol == mobile.ICMP6 and p.payload[0] == 136 and p.payload[8:24] == home

    node = mobile.Node(field.neighbour_interface, field.agent_interface.mac)
    try:
        with field.agent():
            assert field.mobile.register(1).status == 0
            for _ in range(3):
                node.receive(is_announcement)
            field.router.ip("link", "set", port, "down")
            wait.until(lambda: "has no carrier" in log.read_text(), "it is told")
            field.router.ip("link", "set", port, "up")
            node.receive(is_announcement)
            assert "has a carrier" in log.read_text()
    finally:
        node.close()
        field.router.ip("link", "set", port, "up")


def test_interface_is_renamed(network: Network, tmp_path: Path) -> None:
    """It stays on the interface, and says so; also when the old name is back."""
    host = network.namespace("host")
    link = network.connect(host, network.namespace("router")).a
    with agent_process(link, tmp_path / "ha.conf", AGENT_ADDRESS, HOME_ADDRESS) as (log, _):
        for old, new in ((link.name, "other0"), ("other0", link.name)):
            # A name can be changed in any kernel while it is down.
            for words in (["down"], ["name", new], ["up"]):
                host.ip("link", "set", old if words != ["up"] else new, *words)
            told = f"interface '{old}' was renamed '{new}': the agent stays on it"
            wait.until(lambda text=told: text in log.read_text(), "it is told")
            heard = f"interface '{new}' has a carrier"
            wait.until(lambda text=heard: text in log.read_text(), "it is heard under its name")


def test_interface_is_down_at_the_start(network: Network, tmp_path: Path) -> None:
    """It starts and says so, as nobody reaches it; and when that is over."""
    host = network.namespace("host")
    link = network.connect(host, network.namespace("router"))
    for end, told, after in (
        (link.a, "is down", "is up"),
        (link.b, "has no carrier", "has a carrier"),
    ):
        end.down()
        wait.until(lambda: not link.a.has_carrier(), "the end of the carrier")
        config = tmp_path / end.name
        with agent_process(link.a, config, AGENT_ADDRESS, HOME_ADDRESS) as (log, _):
            said = f"interface '{link.a.name}' "
            wait.until(lambda text=said + told: text in log.read_text(), told)
            end.up()
            wait.until(lambda text=said + after: text in log.read_text(), after)


def test_control_socket_is_removed(field: Field, control: str) -> None:
    """As by emptying /run: it is there again; one that cannot be made says why."""
    path = field.folder / "ha.sock"
    with field.agent(control):
        path.unlink()
        wait.until(path.exists, "the socket")
        assert _show(field).startswith(f"agent {AGENT_ADDRESS}/64")
    said = _refused(field, "control /nowhere/ha.sock")
    assert "ha.conf:3: cannot listen at control '/nowhere/ha.sock': No such file" in said


def _refused(field: Field, *lines: str) -> str:
    """What an agent says that does not start."""
    done = field.agent_host.run([agent_binary(), field.configure(*lines)], check=False)
    assert done.returncode == 1
    return done.stderr


def test_refuses_what_others_have(field: Field, control: str) -> None:
    """Each line names option and value; what is not the agent's stays as it is."""
    config, path = field.folder / "ha.conf", field.folder / "ha.sock"
    with field.agent(control):
        busy = _refused(field, control, "tun other")
        assert f"{config}:3: cannot listen at control '{path}': Address already in use" in busy
        assert "tun 'mip6ha': another program has it" in _refused(field)
    assert "tun 'lo': an interface of another kind has this name" in _refused(field, "tun lo")
    path.write_text("a file\n")
    assert f"{config}:3: cannot listen at control '{path}': File exists" in _refused(field, control)
    assert path.read_text() == "a file\n"
    path.unlink()
    said = _refused(field, control, "state /nowhere/ha.state")
    assert f"{config}:4: cannot write state '/nowhere/ha.state': No such file" in said


def test_address_of_the_host(field: Field, control: str) -> None:
    """At the start it is a mistake; later it is told, and when it is over."""
    link, log = field.agent_interface, field.folder / "ha.log"
    words = (f"{AGENT_ADDRESS}/64", "dev", link.name)
    with field.agent(control):
        field.agent_host.ip("addr", "add", *words, "nodad")
        taken = f"has taken the agent's address {AGENT_ADDRESS}, on {link.name}"
        wait.until(lambda: taken in log.read_text(), "it is told")
        field.agent_host.ip("addr", "del", *words)
        wait.until(lambda: "is its own again" in log.read_text(), "it is over")
        assert field.mobile.register(1).status == 0
    field.agent_host.ip("addr", "add", *words, "nodad")
    try:
        said = _refused(field)
    finally:
        field.agent_host.ip("addr", "del", *words)
    assert f"ha.conf:2: address '{AGENT_ADDRESS}' is the host's, on {link.name}" in said


def test_state_file_is_removed(field: Field, state: str) -> None:
    """With its folder, too: it is there again, with all bindings, also for who is killed."""
    folder = field.folder / "kept"
    file, log = folder / "ha.state", field.folder / "ha.log"
    again = f"state '{file}' was removed or replaced: it is there again"
    folder.mkdir()
    with field.agent(f"state {file}") as agent:
        assert field.mobile.register(1).status == 0
        file.unlink()
        wait.until(lambda: log.read_text().count(again) == 1, again)
        file.unlink()
        folder.rmdir()
        cannot = f"cannot write state '{file}': No such file or directory"
        wait.until(lambda: cannot in log.read_text(), cannot)
        folder.mkdir()
        wait.until(lambda: log.read_text().count(again) == 2, again)
        assert log.read_text().count(cannot) == 1
        file.rename(folder / "moved")
        file.write_text("of somebody else")
        wait.until(lambda: log.read_text().count(again) == 3, again)
        agent.kill()
    with field.agent(f"state {file}"):
        _both_ways(field, 1)


def test_settings_that_others_change(field: Field, control: str) -> None:
    """Forwarding, and IPv6 on the TUN device: what stops the tunnels is told, and heals."""
    with field.agent(control):
        assert field.mobile.register(1).status == 0
        before = _routes(field)
        log = field.folder / "ha.log"
        for key, wrong in (("all.forwarding", 0), ("mip6ha.disable_ipv6", 1)):
            name = "net/ipv6/conf/" + key.replace(".", "/")
            field.agent_host.sysctl({f"net.ipv6.conf.{key}": wrong})
            wait.until(lambda n=name: f"{n}={n[-1] == 'g':d}" in log.read_text(), "it is told")
            field.agent_host.sysctl({f"net.ipv6.conf.{key}": 1 - wrong})
            wait.until(lambda n=name: f"{n} is right again" in log.read_text(), "it is right")
        assert sorted(_routes(field).split()) == sorted(before.split())
        _both_ways(field, 1)


def test_routes_are_put_back(field: Field, control: str) -> None:
    """Removed by hand, and with the TUN device set down and up."""
    with field.agent(control):
        assert field.mobile.register(1).status == 0
        before = _routes(field)
        field.agent_host.ip("-6", "route", "del", HOME_ADDRESS, "dev", "mip6ha")
        wait.until(lambda: _routes(field) == before, "the route is back")
        _both_ways(field, 1)
        field.agent_host.ip("link", "set", "mip6ha", "down")
        field.agent_host.ip("link", "set", "mip6ha", "up")
        wait.until(lambda: sorted(_routes(field).split()) == sorted(before.split()), "all are back")
        _both_ways(field, 2)


def test_routes_are_fought_over(field: Field, control: str) -> None:
    """Another program puts its own in place of one: one line, until ours stays."""
    log = field.folder / "ha.log"
    words = ("-6", "route", "replace", "blackhole", HOME_ADDRESS, "metric", "1")
    with field.agent(control):
        assert field.mobile.register(1).status == 0
        before = _routes(field)

        def is_back() -> bool:
            return _routes(field) == before and "blackhole" not in field.agent_host.ip(
                "-6", "route", "show", HOME_ADDRESS
            )

        def fought() -> bool:
            wait.until(is_back, "the route is back")
            field.agent_host.ip(*words)
            return "gone again, soon after" in log.read_text()

        field.agent_host.ip(*words)
        wait.until(is_back, "the route is back")
        put_back = "1 routes into the TUN device were removed or replaced: put back"
        wait.until(lambda: put_back in log.read_text(), "it is told")
        wait.until(fought, "it is told")
        told = log.read_text()
        for _ in range(3):
            assert fought()
        wait.until(is_back, "the route is back")
        assert log.read_text() == told
        _both_ways(field, 1)
        wait.until(lambda: "the routes into the TUN device stay" in log.read_text(), "it is told")


def test_another_mac_address(field: Field) -> None:
    """The neighbours hear it."""
    with field.agent():
        assert field.mobile.register(1).status == 0
        _both_ways(field, 1)
        link, old = field.agent_interface.name, field.agent_interface.mac
        new = f"02{old[2:]}" if not old.startswith("02") else f"06{old[2:]}"
        field.agent_host.ip("link", "set", "dev", link, "address", new)
        try:
            wait.until(
                lambda: new in field.router.ip("neigh", "show", HOME_ADDRESS, "dev", "home"),
                "the router has the new address",
            )
            _both_ways(field, 2)
        finally:
            field.agent_host.ip("link", "set", "dev", link, "address", old)
            # The agent may end before it has announced the old one again.
            field.router.ip("neigh", "flush", "dev", "home")


def _marked(packet: bytes, field: int) -> bytes:
    """With ``field`` for explicit congestion notification (RFC 3168 section 5)."""
    return packet[:1] + bytes((packet[1] | field << 4,)) + packet[2:]


def test_marks(field: Field, control: str) -> None:
    """What a router marks in the tunnel, the correspondent hears (RFC 6040 section 4.2)."""
    rows = ((0, 0, 0, None), (1, 1, 1, 3), (2, 1, 2, 3), (3, 3, 3, 3))  # [inner][outer]
    fields = {(i, o): row[o] for i, row in enumerate(rows) for o in range(4)}
    with field.correspondent.entered():
        receiver = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    receiver.bind((CORRESPONDENT_ADDRESS, 7009))
    receiver.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
    receiver.settimeout(wait.PATIENCE)
    ends = (HOME_ADDRESS, CORRESPONDENT_ADDRESS)
    heard: dict[tuple[int, int], int] = {}
    with receiver, field.agent(control):
        assert field.mobile.register(1).status == 0
        for inner, outer in fields:
            udp = struct.pack(">HHHHBB", 7009, 7009, 10, 0, inner, outer)
            sealed = mobile.checksum(*ends, socket.IPPROTO_UDP, udp)
            udp = udp[:6] + struct.pack(">H", sealed) + udp[8:]
            packet = _marked(mobile.ip6(*ends, socket.IPPROTO_UDP, udp), inner)
            field.mobile.send(_marked(_tunnel(CARE_OF[0], packet), outer))
        while len(heard) < 15:
            data, messages, _, _ = receiver.recvmsg(64, socket.CMSG_SPACE(4))
            heard[data[0], data[1]] = struct.unpack("i", messages[0][2])[0]
        assert heard == {pair: mark for pair, mark in fields.items() if mark is not None}
        dropped = 'vmmnet_ha_dropped_packets_total{reason="ecn"} 1\n'
        wait.until(lambda: dropped in _show(field, "--metrics"), "the one that is dropped")


def test_two_home_addresses(field: Field) -> None:
    """They share a care-of address; each is allowed, and begins and ends, by itself."""
    with field.agent(f"allow {HOME_ADDRESS}", f"allow {SECOND_ADDRESS}"):
        assert field.mobile.register(1).status == 0
        ack = field.mobile.register(100, home=SECOND_ADDRESS)
        assert (ack.status, ack.home) == (0, SECOND_ADDRESS)
        assert field.mobile.register(1, home=f"{HOME_PREFIX}::12").status == 129
        _both_ways(field, 1)
        _both_ways(field, 2, home=SECOND_ADDRESS)
        assert field.mobile.register(2, lifetime=0).status == 0
        assert HOME_ADDRESS not in _routes(field).split()
        _both_ways(field, 3, home=SECOND_ADDRESS)


def test_two_nodes_have_one_address(field: Field, control: str) -> None:
    """The binding goes to and fro: one line names both care-of addresses, whoever sends on."""
    first, second = CARE_OF
    with field.agent(control) as agent:
        for turn in range(9):
            assert field.mobile.register(turn + 1, care_of=CARE_OF[turn % 2]).status == 0
        assert json.loads(_show(field, "--json"))["bindings"][0]["contested"]
        assert f"{first}" in _show(field) and " contested\n" in _show(field)
        assert "vmmnet_ha_contested_bindings 1\n" in _show(field, "--metrics")
        process.stop(agent)
    log = (field.folder / "ha.log").read_text()
    assert log.count("moved ") == 2, log
    assert log.count("contested: ") == 1, log
    said = f"contested: {HOME_ADDRESS} goes to and fro (2 times), now from"
    assert f"{said} {first} to {second}: do two nodes have this home address?" in log


def test_refuses_strangers(field: Field) -> None:
    with field.agent("allow 2001:db8:2000::11"):
        assert field.mobile.register(1).status == 129
        field.mobile.send(mobile.binding_update(CARE_OF[0], 2, 60, home="2001:db8:2001::11"))
        assert field.mobile.ack(2).status == 132


@pytest.mark.parametrize(
    ("kind", "header", "code", "pointer"),
    [
        (mobile.DESTINATION, bytes((0, 0, 0xC3, 4, 0, 0, 0, 0)), 2, 42),
        (mobile.ROUTING, bytes((0, 2, 0, 1)) + bytes(20), 0, 42),
    ],
    ids=["option", "type 0"],
)
def test_unknown_extension_headers(
    field: Field, control: str, kind: int, header: bytes, code: int, pointer: int
) -> None:
    """RFC 8200 sections 4.2, 4.4: a good update behind one is discarded, and its sender told."""
    with field.agent(control):
        update = mobile.binding_update(CARE_OF[0], 1, 60)
        field.mobile.send(mobile.behind(update, kind, header))
        error = field.mobile.receive(lambda p: p.protocol == mobile.ICMP6 and p.payload[0] == 4)
        assert (error.source, error.payload[1]) == (AGENT_ADDRESS, code)
        assert struct.unpack(">I", error.payload[4:8]) == (pointer,)
        assert HOME_ADDRESS not in _routes(field).split()
        assert _dropped(field, "extension") == 1
        # An option that may be skipped is.
        skipped = bytes((0, 0, 0x03, 4, 0, 0, 0, 0))
        field.mobile.send(mobile.behind(update, mobile.DESTINATION, skipped))
        assert field.mobile.ack(1).status == 0


@pytest.mark.parametrize("care_of", ["::ffff:192.0.2.1", "::192.0.2.1", "100::1", ANYCAST])
def test_care_of_that_nobody_routes(field: Field, care_of: str) -> None:
    """RFC 6275 section 10.3.1: a care-of address is unicast and routable."""
    with field.agent():
        field.mobile.send(mobile.binding_update(CARE_OF[0], 1, 60, alternate=care_of))
        assert field.mobile.ack(1).status == 174
        assert HOME_ADDRESS not in _routes(field).split()


def test_tells_that_it_has_no_binding(field: Field) -> None:
    with field.agent():
        request = mobile.echo(HOME_ADDRESS, CORRESPONDENT_ADDRESS, 7)
        field.mobile.send(_tunnel(CARE_OF[0], request))
        error = field.mobile.receive(lambda p: p.protocol == mobile.MOBILITY)
        assert (error.payload[2], error.payload[6]) == (mobile.BINDING_ERROR, 1)
        assert str(IPv6Address(error.payload[8:24])) == HOME_ADDRESS


def _killed(signum: signal.Signals, field: Field, state: str, sequence: int) -> None:
    with field.agent(state) as agent:
        assert field.mobile.register(sequence).status == 0
        agent.send_signal(signum)
        agent.wait(wait.PATIENCE)


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM])
def test_restart_keeps_bindings(field: Field, state: str, signum: signal.Signals) -> None:
    """The next agent goes on with binding and sequence; meanwhile the route stands."""
    _killed(signum, field, state, 10)
    assert HOME_ADDRESS in _routes(field)
    with field.agent(state):
        _both_ways(field, 3)
        # The sequence number is remembered, too.
        field.mobile.send(mobile.binding_update(CARE_OF[0], 9, 60))
        ack = field.mobile.ack(10)
        assert ack.status == 135
        assert field.mobile.register(11, lifetime=0).status == 0
    with field.agent(state):
        assert HOME_ADDRESS not in _routes(field)


def test_stale_routes_go(field: Field, state: str) -> None:
    _killed(signal.SIGKILL, field, state, 1)
    (field.folder / "ha.state").unlink()
    assert HOME_ADDRESS in _routes(field)
    with field.agent(state):
        routes = _routes(field)
        assert HOME_ADDRESS not in routes and AGENT_ADDRESS in routes
        assert field.mobile.register(1).status == 0


def test_restart_of_many_keeps_all(field: Field, state: str, control: str) -> None:
    """Killed while it registers: what was acknowledged is there again, and passes packets."""
    homes = [f"{HOME_PREFIX}::1:{number:x}" for number in range(1, 301)]
    with field.agent(state) as agent:
        for home in homes:
            field.mobile.send(mobile.binding_update(CARE_OF[0], 5, 3600, home=home))
        acknowledged = {field.mobile.ack(5).home for _ in range(200)}
        agent.kill()
        agent.wait(wait.PATIENCE)
    with field.agent(state, control):
        shown = json.loads(_show(field, "--json"))
        assert acknowledged <= {binding["home"] for binding in shown["bindings"]}
        assert shown["restored"] >= 200
        for home in sorted(acknowledged)[:20]:
            field.mobile.send(_tunnel(CARE_OF[0], mobile.echo(home, CORRESPONDENT_ADDRESS, 9)))
            reply = field.mobile.receive(
                lambda p: p.protocol == mobile.IP6 and _is_echo(p.inner, mobile.ECHO_REPLY, 9)
            )
            assert reply.inner.destination == home


def test_damaged_state_loses_only_the_damage(field: Field, state: str, control: str) -> None:
    _killed(signal.SIGKILL, field, state, 1)
    file = field.folder / "ha.state"
    damaged = file.read_text() + "bind x y\nbind cut"
    file.write_text(damaged)
    with field.agent(state, control):
        _both_ways(field, 8)
        log = (field.folder / "ha.log").read_text()
        assert f"{file}:" in log and "1 damaged lines are ignored" in log
        assert file.with_name("ha.state.damaged").read_text() == damaged
        assert "bind x y" not in file.read_text()


def test_refuses_a_wrong_state_file(field: Field, state: str) -> None:
    file = field.folder / "ha.state"
    file.write_text("something else\n")
    config = field.configure(state)
    done = field.agent_host.run([agent_binary(), config], check=False)
    assert done.returncode == 1
    assert f"{file}:1: this is not a state file of vmmnet-ha" in done.stderr
    assert file.read_text() == "something else\n"


def test_shows_what_it_has(field: Field, control: str) -> None:
    with field.agent(control, "lifetime 40") as agent:
        field.mobile.register(1)
        _both_ways(field, 4)
        shown = json.loads(_show(field, "--json"))
        (binding,) = shown["bindings"]
        assert 0 < binding.pop("left") <= 40
        assert binding == {
            "home": HOME_ADDRESS,
            "care-of": CARE_OF[0],
            "sequence": 1,
            "lifetime": 40,
            "sent": 1,
            "received": 1,
            "contested": False,
        }
        assert shown["acknowledged"] == {"0": 1}
        assert HOME_ADDRESS in _show(field)
        assert "vmmnet_ha_bindings 1\n" in _show(field, "--metrics")
        assert (field.folder / "ha.sock").stat().st_mode & 0o777 == 0o600
        agent.kill()
        agent.wait(wait.PATIENCE)
    # The socket that it leaves is no hindrance.
    with field.agent(control):
        assert json.loads(_show(field, "--json"))["bindings"] == []
    done = field.agent_host.run([agent_binary(), "show", field.folder / "ha.conf"], check=False)
    assert done.returncode == 1 and str(field.folder / "ha.sock") in done.stderr


def test_bears_odd_clients(field: Field, control: str) -> None:
    """What is no question gets an error, and holds nobody up who asks one."""
    with field.agent(control), contextlib.ExitStack() as stack:

        def client() -> socket.socket:
            made = stack.enter_context(socket.socket(socket.AF_UNIX))
            made.connect(str(field.folder / "ha.sock"))
            return made

        for question in (b"bindings\n", b"show all\n", b"\n", b"x" * 1024):
            asking = client()
            asking.sendall(question)
            assert asking.recv(6) == b"error "
        silent = [client() for _ in range(8)]
        silent[0].sendall(b"show\n")
        assert silent[0].recv(5) == b"agent"


@pytest.mark.parametrize("dad", ["optimistic", "strict"])
def test_finds_a_duplicate(field: Field, dad: str) -> None:
    """A node of the home link has the address: the binding does not stay, or not come."""
    field.neighbour_interface.add_address(f"{HOME_ADDRESS}/64")
    try:
        with field.agent(f"dad {dad}"):
            if dad == "optimistic":
                assert field.mobile.register(1).status == 0
            else:
                field.mobile.send(mobile.binding_update(CARE_OF[0], 1, 60))
            ack = field.mobile.ack(1)
            assert (ack.status, ack.lifetime) == (134, 0)
            assert HOME_ADDRESS not in _routes(field)
    finally:
        field.neighbour_interface.remove_address(f"{HOME_ADDRESS}/64")


@pytest.mark.usefixtures("snoops")
def test_hears_who_probes_at_the_same_time(field: Field) -> None:
    """Behind a switch that snoops, too: the agent is in the group before it probes."""
    group = _solicited(HOME_ADDRESS)
    body = bytes(4) + IPv6Address(HOME_ADDRESS).packed
    frame = bytes.fromhex("3333ff") + IPv6Address(group).packed[13:] + bytes.fromhex("020000000005")
    frame += b"\x86\xdd" + mobile.icmp6("::", group, 135, body, hops=255)
    with field.neighbour.entered():
        link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IPV6))
    link.bind((field.neighbour_interface.name, ETH_P_IPV6))
    over = threading.Event()

    def probe() -> None:
        while not over.wait(0.02):
            link.send(frame)

    numbers = itertools.count(1)

    def is_heard() -> bool:
        """On a busy machine the agent's second may pass without a probe."""
        number = next(numbers)
        field.mobile.send(mobile.binding_update(CARE_OF[0], number, 60))
        status = field.mobile.ack(number).status
        if status == 0:
            field.mobile.register(next(numbers), lifetime=0)
            switch = ("bridge", "mdb", "show", "dev", "home")
            wait.until(lambda: group not in field.router.run(switch).stdout, "no listener")
        return status == 134

    prober = threading.Thread(target=probe)
    with link, field.agent("dad strict"):
        prober.start()
        try:
            wait.until(is_heard, "the agent hears a probe")
        finally:
            over.set()
            prober.join()
        assert group not in _groups(field).split()


def test_binds_when_nobody_answers(field: Field) -> None:
    with field.agent("dad strict"):
        assert field.mobile.register(1).status == 0
        _both_ways(field, 5)


@contextlib.contextmanager
def _announced(field: Field) -> Iterator[None]:
    """At the end of the block the agent has announced the home address for the last time.

    Until then an announcement is enough for duplicate address detection to fail.
    """
    with field.neighbour.entered():
        link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IPV6))
    with link:
        link.bind((field.neighbour_interface.name, ETH_P_IPV6))
        link.settimeout(wait.PATIENCE)
        yield
        for _ in range(ANNOUNCEMENTS):
            while not _is_announcement(mobile.parse(link.recv(2048)[14:])):
                pass


def _is_announcement(packet: Packet) -> bool:
    return (
        packet.protocol == mobile.ICMP6
        and packet.payload[0] == 136
        and packet.payload[8:24] == IPv6Address(HOME_ADDRESS).packed
    )


def _is_defended(field: Field) -> None:
    """A kernel on the home link that wants the address finds that it is taken."""
    link = field.neighbour_interface
    for key, value in {"accept_dad": 1, "dad_transmits": 1}.items():
        field.neighbour.sysctl({f"net.ipv6.conf.{link.name}.{key}": value})
    show = ("-6", "address", "show", "dev", link.name, "to", HOME_ADDRESS)

    def result() -> str | None:
        shown = field.neighbour.ip(*show)
        if "dadfailed" in shown:
            return "refused"
        return None if "tentative" in shown else "taken"

    field.neighbour.ip("address", "add", f"{HOME_ADDRESS}/64", "dev", link.name)
    try:
        assert wait.until(result, "the end of duplicate address detection") == "refused"
    finally:
        link.remove_address(f"{HOME_ADDRESS}/64")


def test_defends_a_bound_address(field: Field) -> None:
    with field.agent():
        with _announced(field):
            assert field.mobile.register(1).status == 0
        _is_defended(field)
        _both_ways(field, 6)


def test_warns_of_a_host_that_does_not_forward(field: Field) -> None:
    field.agent_host.sysctl({"net.ipv6.conf.all.forwarding": 0})
    try:
        with field.agent():
            assert "does not forward IPv6" in (field.folder / "ha.log").read_text()
    finally:
        field.agent_host.sysctl({"net.ipv6.conf.all.forwarding": 1})


def test_is_found(field: Field) -> None:
    """By its anycast address; and its own is pinged."""
    with field.agent():
        field.mobile.send(mobile.icmp6(CARE_OF[0], ANYCAST, 144, b"\x12\x34\0\0"))
        reply = field.mobile.receive(lambda p: p.protocol == mobile.ICMP6 and p.payload[0] == 145)
        assert reply.source == AGENT_ADDRESS and reply.payload[4:6] == b"\x12\x34"
        assert str(IPv6Address(reply.payload[8:24])) == AGENT_ADDRESS
        field.correspondent.run(["ping", "-c1", AGENT_ADDRESS])


IPV6_RECVERR = 25  # linux/in6.h
GROUP, GROUP_PORT = "ff05::7", 7007


def _report(group: str, kind: int = 131) -> bytes:
    """A report of MLD's version 1, or with 132 a "done"."""
    message = mobile.icmp6("fe80::10", group, kind, bytes(4) + IPv6Address(group).packed)[40:]
    alert = bytes((mobile.ICMP6, 0, 5, 2, 0, 0, 1, 0))
    return mobile.ip6("fe80::10", group, 0, alert + message, hops=1)


def _member(field: Field) -> socket.socket:
    """A socket of the home link's neighbour in the group."""
    link = field.neighbour_interface.name
    with field.neighbour.entered():
        member = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        index = socket.if_nametoindex(link)
        member.bind(("", GROUP_PORT))
        request = IPv6Address(GROUP).packed + struct.pack("@I", index)
        member.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, request)
        member.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        member.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 5)
        member.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
    member.settimeout(wait.PATIENCE)
    return member


def _groups(field: Field) -> str:
    return field.agent_host.ip("maddress", "show", "dev", field.agent_interface.name)


def test_groups(field: Field, control: str) -> None:
    """A mobile node hears a group of the home link, and is heard there."""
    with field.agent(control, "multicast on"), _member(field) as member:
        assert field.mobile.register(1).status == 0
        field.mobile.send(_tunnel(CARE_OF[0], _report(GROUP)))
        wait.until(lambda: GROUP in _groups(field), "the agent in the group")
        member.sendto(b"from the home link", (GROUP, GROUP_PORT))
        heard = field.mobile.receive(
            lambda p: p.protocol == mobile.IP6 and p.inner.destination == GROUP
        ).inner
        assert heard.payload[8:] == b"from the home link"
        # A kernel beside it left the checksum to hardware that is not there.
        assert mobile.checksum(heard.source, GROUP, heard.protocol, heard.payload) == 0

        packet = _udp(HOME_ADDRESS, GROUP_PORT, b"from away")
        field.mobile.send(_tunnel(CARE_OF[0], packet))
        data, source = member.recvfrom(64)
        assert (data, source[0]) == (b"from away", HOME_ADDRESS)
        assert "listens to 1 groups" in _show(field)

        field.mobile.send(_tunnel(CARE_OF[0], _report(GROUP, 132)))
        wait.until(lambda: GROUP not in _groups(field), "the agent out of the group")
        # The binding ends, and with it what was listened to.
        field.mobile.send(_tunnel(CARE_OF[0], _report(GROUP)))
        wait.until(lambda: GROUP in _groups(field), "the agent in the group")
        assert field.mobile.register(2, lifetime=0).status == 0
        assert GROUP not in _groups(field)


def _udp(source: str, port: int, payload: bytes) -> bytes:
    """A datagram to the group, as an IPv6 packet."""
    datagram = struct.pack(">HHHH", 5, port, 8 + len(payload), 0) + payload
    sealed = mobile.checksum(source, GROUP, 17, datagram)
    datagram = datagram[:6] + struct.pack(">H", sealed) + datagram[8:]
    return mobile.ip6(source, GROUP, 17, datagram, hops=5)


def test_groups_of_another_vlan(field: Field, control: str) -> None:
    """Only packets of the home link's own VLAN reach the mobile node; a priority is no VLAN."""
    head = bytes.fromhex("333300000007 020000000005")
    tags = {"none": "", "priority": "8100 e000", "other": "8100 0005", "both": "8100 e005"}
    with field.neighbour.entered():
        trunk = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    with field.agent(control, "multicast on"), trunk:
        trunk.bind((field.neighbour_interface.name, 0))
        assert field.mobile.register(1).status == 0
        field.mobile.send(_tunnel(CARE_OF[0], _report(GROUP)))
        wait.until(lambda: GROUP in _groups(field), "the agent in the group")
        for name in ("other", "both", "priority", "none"):
            packet = _udp(f"{HOME_PREFIX}::99", GROUP_PORT, name.encode())
            trunk.send(head + bytes.fromhex(tags[name] + "86dd") + packet)
        heard: list[bytes] = []
        while b"none" not in heard:  # the last one
            found = field.mobile.receive(
                lambda p: p.protocol == mobile.IP6 and p.inner.destination == GROUP
            )
            heard.append(found.inner.payload[8:])
        assert heard == [b"priority", b"none"]
        wait.until(lambda: _dropped(field, "other-vlan") == 2, "two frames that count")


def test_sends_stragglers_on(field: Field) -> None:
    """What comes to the care-of address that was left is sent to the new one."""
    with field.agent():
        assert field.mobile.register(1).status == 0
        assert field.mobile.register(2, care_of=CARE_OF[1]).status == 0
        late = mobile.echo(CORRESPONDENT_ADDRESS, HOME_ADDRESS, 10)
        field.mobile.send(_tunnel(CARE_OF[0], late))
        found = field.mobile.receive(
            lambda p: p.protocol == mobile.IP6 and _is_echo(p.inner, mobile.ECHO, 10)
        )
        assert (found.source, found.destination) == (AGENT_ADDRESS, CARE_OF[1])
        # One hop less than it came with.
        assert found.payload[7] == late[7] - 1


def test_tells_that_a_node_is_unreachable(field: Field) -> None:
    """A router's error about the tunnel reaches the correspondent, as one about its packet."""
    route = ("-6", "route", "add", "unreachable", f"{CARE_OF[0]}/128")
    with field.correspondent.entered():
        sender = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sender.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVERR, 1)
    sender.connect((HOME_ADDRESS, 9))

    def fails() -> int | None:
        try:
            sender.send(b"are you there?")
        except OSError as error:
            return error.errno
        return None

    with field.agent(), sender:
        assert field.mobile.register(1).status == 0
        field.router.ip(*route)
        try:
            # The router says that it has no route, which would be ENETUNREACH.
            assert wait.until(fails, "an error") == errno.EHOSTUNREACH
        finally:
            field.router.ip("-6", "route", "del", "unreachable", f"{CARE_OF[0]}/128")


@contextlib.contextmanager
def _at_home(field: Field) -> Iterator[mobile.Node]:
    """The mobile node's kernel, on the home link, and what it hears there."""
    link = field.neighbour_interface
    address = (f"{HOME_ADDRESS}/64", "dev", link.name)
    field.neighbour.ip("address", "add", *address, "nodad")
    node = mobile.Node(link, field.agent_interface.mac)
    try:
        yield node
    finally:
        node.close()
        field.neighbour.ip("address", "del", *address)


def test_sends_stragglers_home(field: Field) -> None:
    """Of a node that has returned home, what its last host still gets or had sent arrives."""
    with field.agent("dad off"), _at_home(field) as home:
        assert field.mobile.register(1).status == 0
        body = struct.pack(">HHH", 2, mobile.ACKNOWLEDGE | mobile.HOME, 0)
        ends = mobile.mobility_header(HOME_ADDRESS, AGENT_ADDRESS, mobile.BINDING_UPDATE, body)
        home.send(mobile.ip6(HOME_ADDRESS, AGENT_ADDRESS, mobile.MOBILITY, ends))
        ack = home.receive(
            lambda p: p.protocol == mobile.MOBILITY and p.destination == HOME_ADDRESS
        )
        assert (ack.payload[2], ack.payload[6]) == (mobile.BINDING_ACK, 0)
        late = mobile.echo(CORRESPONDENT_ADDRESS, HOME_ADDRESS, 11)
        field.mobile.send(_tunnel(CARE_OF[0], late))
        assert home.receive(lambda p: _is_echo(p, mobile.ECHO, 11)).source == CORRESPONDENT_ADDRESS
        early = mobile.echo(HOME_ADDRESS, CORRESPONDENT_ADDRESS, 12)
        field.mobile.send(_tunnel(CARE_OF[0], early))
        home.receive(lambda p: _is_echo(p, mobile.ECHO_REPLY, 12))


def test_old_form_of_the_configuration(field: Field, control: str) -> None:
    """Lines of a word and a value hold for one more release, and the log says the new form."""
    log = field.folder / "ha.log"
    with field.agent(control) as agent:
        config = field.folder / "ha.conf"
        old = config.read_text().replace(": ", " ")
        config.write_text(f"{old}allow {HOME_PREFIX}::11\n")
        agent.send_signal(signal.SIGHUP)
        wait.until(lambda: "read again" in log.read_text(), "the old form")
        told = f"{config}:1: 'interface {field.agent_interface.name}' is the old form, which is"
        assert told in log.read_text()
        assert f"write 'interface: {field.agent_interface.name}'" in log.read_text()
        assert field.mobile.register(1).status == 129
        assert json.loads(_show(field, "--json"))["bindings"] == []


def test_reads_its_configuration_again(field: Field, control: str) -> None:
    log = field.folder / "ha.log"
    with field.agent(control) as agent:
        assert field.mobile.register(1).status == 0
        field.configure(control, "allow nobody")
        agent.send_signal(signal.SIGHUP)
        wait.until(lambda: "the earlier configuration holds" in log.read_text(), "a warning")
        assert f"{field.folder / 'ha.conf'}:4:9: allow 'nobody'" in log.read_text()
        assert HOME_ADDRESS in _routes(field)
        field.configure(control, f"allow {HOME_PREFIX}::11")
        agent.send_signal(signal.SIGHUP)
        wait.until(lambda: HOME_ADDRESS not in _routes(field), "the end of the binding")
        assert field.mobile.register(2).status == 129
        assert json.loads(_show(field, "--json"))["revoked"] == 1
        field.configure(control)
        agent.send_signal(signal.SIGHUP)
        wait.until(lambda: log.read_text().count("read again") == 2, "the third configuration")
        assert field.mobile.register(3).status == 0


def _solicit_prefixes(field: Field) -> bytes:
    """The mobile prefix advertisement that the bound mobile node gets."""
    message = struct.pack(">BBHHH", 146, 0, 0, 0x1234, 0)
    sealed = mobile.checksum(HOME_ADDRESS, AGENT_ADDRESS, mobile.ICMP6, message)
    message = struct.pack(">BBHHH", 146, 0, sealed, 0x1234, 0)
    options = struct.pack(">BBBBBBBB", mobile.ICMP6, 2, 1, 2, 0, 0, 0xC9, 16)
    options += IPv6Address(HOME_ADDRESS).packed
    field.mobile.send(mobile.ip6(CARE_OF[0], AGENT_ADDRESS, mobile.DESTINATION, options + message))
    found = field.mobile.receive(
        lambda p: p.protocol == mobile.ROUTING and p.payload[0] == mobile.ICMP6
    )
    assert str(IPv6Address(found.payload[8:24])) == HOME_ADDRESS
    advert = found.payload[24:]
    assert (advert[0], advert[4:6]) == (147, b"\x12\x34")
    return advert


def test_tells_prefixes(field: Field) -> None:
    """A mobile prefix solicitation is answered with what the configuration says."""
    prefix = f"{HOME_PREFIX}::"
    with field.agent(f"prefix {prefix}/64,7200,3600"):
        assert field.mobile.register(1).status == 0
        advert = _solicit_prefixes(field)
        assert struct.unpack(">BBBBII", advert[8:20]) == (3, 4, 64, 0xC0, 7200, 3600)
        assert str(IPv6Address(advert[24:40])) == prefix


def _router_advertisement(prefix: str, valid: int) -> bytes:
    """A home agent's, for the prefix, with its address (R), as an IPv6 packet."""
    option = struct.pack(">BBBBIII", 3, 4, 64, 0xE0, valid, valid, 0)
    option += IPv6Address(f"{prefix}66").packed
    body = struct.pack(">BBHII", 64, 0x20, 1800, 0, 0) + option
    return mobile.icmp6("fe80::5", "ff02::1", 134, body, hops=255)


def test_hears_its_own_host_and_no_vlan(field: Field, control: str) -> None:
    """Its host's router daemon counts; what other VLANs of a trunk carry does not."""
    head = bytes.fromhex("333300000001 020000000005")
    strange, home = f"{HOME_PREFIX[:-4]}5555::", f"{HOME_PREFIX}::"
    with field.agent(control):
        assert field.mobile.register(1).status == 0
        with field.neighbour.entered():
            trunk = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        with trunk:
            trunk.bind((field.neighbour_interface.name, 0))
            tagged = head + bytes.fromhex("8100 0005 86dd")
            trunk.send(tagged + _router_advertisement(strange, 600))
            trunk.send(tagged + _router_advertisement(home, 8))
        wait.until(lambda: _dropped(field, "other-vlan") == 2, "two frames that count")
        with field.agent_host.entered():
            daemon = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        with daemon:
            daemon.bind((field.agent_interface.name, 0))
            daemon.send(head + b"\x86\xdd" + _router_advertisement(home, 7200))
        _both_ways(field, 1)  # behind the advertisements
        advert = _solicit_prefixes(field)
        assert IPv6Address(strange).packed[:8] not in advert
        assert struct.unpack(">I", advert[12:16])[0] > 7000
        assert str(IPv6Address(advert[24:40])) == home


def test_waits_for_its_interface(field: Field) -> None:
    """It ends when the interface goes, so that systemd starts it again; that one waits."""
    field.router.ip("link", "add", "gone0", "type", "veth", "peer", "name", "gone1")
    field.router.ip("link", "set", "gone0", "netns", field.agent_host.netns)
    config = field.folder / "late.conf"
    config.write_text(f"interface gone0\naddress {AGENT_ADDRESS}/64\ntun late0\n")
    log = field.folder / "late.log"

    def started(line: str) -> subprocess.Popen[bytes]:
        with log.open("wb") as out:
            child = field.agent_host.popen([agent_binary(), config], stdout=out, stderr=out)
        wait.until(lambda: line in log.read_text(), line)
        return child

    child = started("ready")
    field.router.ip("link", "del", "gone1")
    assert child.wait(wait.PATIENCE) == 1
    assert "the home link's interface is gone" in log.read_text()
    assert log.read_text().count("is down") == 1, "at the start, not again when it goes"
    child = started("waiting for the interface 'gone0'")
    field.router.ip("link", "add", "gone0", "type", "veth", "peer", "name", "gone1")
    field.router.ip("link", "set", "gone0", "netns", field.agent_host.netns)
    wait.until(lambda: "ready" in log.read_text(), "it is ready")
    field.agent_host.ip("link", "del", "late0")
    assert child.wait(wait.PATIENCE) == 1
    assert "the TUN device is gone" in log.read_text()
    field.router.ip("link", "del", "gone1")


@pytest.mark.parametrize("kept", [True, False], ids=["state", "no-state"])
def test_says_what_its_end_costs(field: Field, state: str, kept: bool) -> None:
    """The TUN device is gone: bindings are in the state file, or lost."""
    config, log = field.configure(*([state] if kept else [])), field.folder / "ha.log"
    with log.open("wb") as out:
        child = field.agent_host.popen([agent_binary(), config], stdout=out, stderr=out)
    wait.until(lambda: "ready" in log.read_text(), "it is ready")
    assert field.mobile.register(1).status == 0
    field.agent_host.ip("link", "del", "mip6ha")
    assert child.wait(wait.PATIENCE) == 1
    said = log.read_text()
    file = state.split()[1]
    cost = f"1 bindings are in '{file}'" if kept else "1 bindings are lost, because"
    assert cost in said, said
    assert "the TUN device is gone" in said
    with field.agent(*([state] if kept else [])):
        assert ("restored 1" in log.read_text()) is kept
