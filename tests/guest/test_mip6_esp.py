# SPDX-License-Identifier: GPL-2.0-or-later
"""A mobile VM in ESP: its move, what strangers see and send, and mistakes of keys."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.base import tools, wait
from lab.guest import qemu
from lab.guest.guest import Guest
from lab.guest.migration import migrated
from lab.mip6 import guestless, mobility
from lab.mip6.mobile_esp import Keys
from lab.mip6.mobility import (
    AGENT_ADDRESS,
    CORRESPONDENT_ADDRESS,
    FOREIGN_PREFIX,
    HOME_ADDRESS,
    SECOND_ADDRESS,
    World,
)
from lab.packages import kernel
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import ESP
from scapy.utils import rdpcap

_ECHO = """
import socket
server = socket.create_server(("::", 7001), family=socket.AF_INET6)
print("ready", flush=True)
peer = server.accept()[0]
while data := peer.recv(1 << 16):
    peer.sendall(data)
"""
#: From another host of the foreign link: what only the agent may say.
_FORGE = """
import sys
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrRouting
from scapy.layers.inet6 import MIP6MH_BA, MIP6MH_BE, MIP6MH_BRR
from scapy.sendrecv import send
care_of, agent, home, far = sys.argv[1:]
route = IPv6(src=agent, dst=care_of) / IPv6ExtHdrRouting(type=2, addresses=[home], segleft=1)
for message in (MIP6MH_BA(status=129), MIP6MH_BE(status=1, ha=home), MIP6MH_BRR()):
    send(route / message, verbose=False)
send(IPv6(src=agent, dst=care_of) / IPv6(src=far, dst=home) / ICMPv6EchoRequest(), verbose=False)
"""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with mobility.world() as built:
        yield built


def _info(guest: Guest) -> dict[str, Any]:
    (info,) = guest.qmp("query-mip6")
    return dict(info)


def _dropped(info: dict[str, Any]) -> dict[str, int]:
    return {drop["reason"]: drop["count"] for drop in info["dropped"]}


def _show(world: World) -> str:
    """What the agent has counted."""
    config = world.folder / "vmmnet-ha.conf"
    return world.agent_host.run([mobility.agent_binary(), "show", config]).stdout


def _arguments(keys: Keys, tap: mobility.Interface, *options: str) -> list[str]:
    return [*keys.objects(), *mobility.arguments(tap, *keys.options(), *options)]


def _agent_lines(world: World, keys: Keys) -> list[str]:
    return [*keys.lines(HOME_ADDRESS, world.folder), f"control {world.folder / 'ha.sock'}"]


def _echoes(connection: socket.socket) -> None:
    connection.sendall(bytes(20000))
    left = 20000
    while left:
        data = connection.recv(left)
        assert data, "the connection has ended"
        left -= len(data)


def _check_capture(file: Path, keys: Keys) -> None:
    """Between host and agent is nothing but ESP; tshark finds in it what has to be."""
    packets = [packet[IPv6] for packet in rdpcap(str(file)) if IPv6 in packet]
    tunnelled = [ip for ip in packets if AGENT_ADDRESS in (ip.src, ip.dst) and ESP in ip]
    care_of = {ip.src for ip in tunnelled} - {AGENT_ADDRESS}
    assert len(care_of) == 1 and care_of.pop().startswith(FOREIGN_PREFIX)
    for ip in packets:
        assert HOME_ADDRESS not in (ip.src, ip.dst), ip.summary()
        if AGENT_ADDRESS in (ip.src, ip.dst):
            assert ESP in ip or ip.nh == 58, ip.summary()
    options = [word for row in keys.tshark() for word in ("-o", f"uat:esp_sa:{row}")]
    fields = [word for field in ("mip6.mhtype", "icmpv6.type") for word in ("-e", field)]
    command = ["tshark", "-r", file, "-o", "esp.enable_encryption_decode:TRUE", *options]
    seen = tools.run([*command, "-Y", "esp", "-T", "fields", *fields]).splitlines()
    types, echoes = (
        set(column) for column in zip(*(line.split("\t") for line in seen), strict=True)
    )
    assert {"5", "6"} <= types and {"128", "129"} <= echoes


@pytest.mark.long
def test_move(world: World, tmp_path: Path) -> None:
    """Ping and TCP go on over the move; strangers see ESP only, and are not believed."""
    keys = Keys()
    home_tap, foreign_tap = world.home.tap("tap0"), world.foreign.tap("tap0")
    with (
        world.agent(60, *_agent_lines(world, keys)) as log,
        Guest(
            name="esp",
            netns=world.home.host,
            kernel=kernel.MAIN,
            memory="256M",
            devices=[mobility.DEVICE],
            arguments=_arguments(keys, home_tap),
        ) as source,
    ):
        source.run("modprobe virtio_net; until ip link show eth0; do :; done")
        source.run("sysctl -w net.ipv6.conf.eth0.autoconf=0 net.ipv6.conf.eth0.accept_dad=0")
        source.run(f"ip link set eth0 up; ip address add {HOME_ADDRESS}/64 dev eth0")
        source.wait_for("ip -6 route show default | grep -q via")
        ping = source.spawn(["ping", "-n", "-i", "0.1", CORRESPONDENT_ADDRESS])
        source.spawn(["python3", "-u", "-c", _ECHO]).wait_output("ready")
        with world.correspondent.entered():
            connection = socket.create_connection((HOME_ADDRESS, 7001), timeout=wait.PATIENCE)
        _echoes(connection)
        there = {
            "netns": world.foreign.host.netns,
            "arguments": tuple(_arguments(keys, foreign_tap)),
        }
        link = world.foreign.link.name
        with contextlib.ExitStack() as stack:
            with world.foreign.router.capture(link, tmp_path / "link.pcap") as file:
                target = stack.enter_context(migrated(source, **there))
                wait.until(lambda: _info(target)["state"] == "bound", "a binding in ESP")
                _echoes(connection)
            _forge(world, target)
            _echoes(connection)
            ping.kill(signal.SIGINT)
            assert " 0 received" not in ping.wait().stdout
            info = _info(target)
            assert {esp["name"] for esp in info["esp"] if esp["packets"]} == {
                *("signal-out", "signal-in", "tunnel-out", "tunnel-in"),
            }, (info, log.read_text())
            assert "unprotected 0, esp 0" in _show(world)
            connection.close()
    _check_capture(file, keys)


def _forge(world: World, target: Guest) -> None:
    """Say from another host of the link what only the agent may say."""
    before = _info(target)
    command = [sys.executable, "-c", _FORGE, before["care-of"]]
    addresses = [AGENT_ADDRESS, HOME_ADDRESS, CORRESPONDENT_ADDRESS]
    world.foreign.router.run([*command, *addresses])
    wait.until(lambda: _dropped(_info(target)).get("unprotected", 0) >= 4, "four drops")
    after = _info(target)
    assert (after["state"], after["reason"]) == (before["state"], before["reason"])
    assert after["care-of"].startswith(FOREIGN_PREFIX)


def test_two_addresses(world: World) -> None:
    """Each is registered in associations of its own, with other keys."""
    keys, more = Keys(), Keys(seed=128, spi=0x1011, more=True)
    options = (f"more-home-address={SECOND_ADDRESS}", *more.options(), "location=away")
    arguments = _arguments(keys, world.foreign.tap("tap2"), *options)
    lines = [*_agent_lines(world, keys), *more.lines(SECOND_ADDRESS, world.folder)]
    with (
        world.agent(60, *lines),
        guestless.node(world, [*more.objects(), *arguments]) as node,
    ):
        monitor = node.monitor

        def info() -> dict[str, Any]:
            return dict(monitor.command("query-mip6")[0])

        def states() -> list[str]:
            return [binding["state"] for binding in info()["bindings"]]

        wait.until(lambda: states() == ["bound", "bound"], "two bindings")
        used = {(esp["home-address"], esp["name"]) for esp in info()["esp"] if esp["packets"]}
        signals = ("signal-out", "signal-in")
        assert used == {(home, sa) for home in (HOME_ADDRESS, SECOND_ADDRESS) for sa in signals}
        spis = [*range(0x1001, 0x1005), *range(0x1011, 0x1015)]
        assert [esp["spi"] for esp in info()["esp"]] == spis
        text = monitor.command("human-monitor-command", command_line="info mip6")
        assert f"ESP      signal-in of {SECOND_ADDRESS} aes-gcm-128 SPI 0x1012, good=" in text
        assert "unprotected 0, esp 0" in _show(world)


def test_wrong_key(world: World) -> None:
    """The VM runs and is not registered; it says so, and the agent counts why."""
    tap = world.foreign.tap("tap1")
    arguments = _arguments(Keys(seed=7), tap, "location=away")
    with (
        world.agent(60, *_agent_lines(world, Keys())),
        guestless.node(world, arguments) as node,
    ):
        monitor = node.monitor
        for reason in ("no-answer", "update-unanswered"):
            monitor.wait_event("MIP6_STATE", state="registering", reason=reason)
        assert monitor.command("query-status")["running"]
        wait.until(lambda: "unprotected 0, esp 0" not in _show(world), "a reason")
        assert " 0 of 10000 bindings" in _show(world)


MISTAKES = {
    "signal-in-key=nobody": "mip6 'mip0': signal-in-key=nobody: No secret with id 'nobody'",
    "tunnel-in-spi=255": "mip6 'mip0': tunnel-in-spi=255 is below 256, which is reserved",
    "tunnel-in-spi=0x1002": "mip6 'mip0': tunnel-in-spi=4098 is the SPI of signal-in, too",
    "tunnel-in-key=signal-out": "mip6 'mip0': tunnel-in-key=signal-out: the secret is the key "
    "of signal-out, too: each needs its own",
    "esp-cipher=aes-gcm-256": "mip6 'mip0': signal-out-key=signal-out: the secret has 20 octets, "
    "and aes-gcm-256 needs 36: 32 of cipher, 4 of salt",
    "esp-cipher=des": "mip6 'mip0': esp-cipher=des is not one of aes-gcm-128, ",
    "replay-window=65": "mip6 'mip0': replay-window=65 is not 0, 64, 128, ... 1024",
    "esp-payload=off": "mip6 'mip0': tunnel-out-key= has no use with esp-payload=off, which",
    "ipsec=off": "mip6 'mip0': esp-cipher= needs ipsec=esp: nothing is protected without it",
    "-signal-out-key=signal-out": "mip6 'mip0': ipsec=esp needs signal-out-key=, the ID of",
    "-tunnel-out-spi=0x1003": "mip6 'mip0': ipsec=esp needs tunnel-out-spi=, the SPI,",
    "heard-addresses=on": "mip6 'mip0': heard-addresses=on with ipsec=esp: only configured",
    # Of the second address.
    "more-signal-in-key=nobody": "mip6 'mip0': more-signal-in-key=nobody: No secret with id",
    "more-tunnel-in-spi=0x1002": "mip6 'mip0': more-tunnel-in-spi=4098 is the SPI of signal-in of "
    "another home address, too: each needs its own",
    "more-tunnel-in-key=signal-out": "mip6 'mip0': more-tunnel-in-key=signal-out: the secret is "
    "the key of signal-out of another home address, too: each needs its own",
    "more-tunnel-in-spi=255": "mip6 'mip0': more-tunnel-in-spi=255 is below 256, which is reserved",
    "-more-signal-out-key=more-signal-out": "mip6 'mip0': more-signal-out-key= is given 0 times, "
    "and more-home-address= 1 times: with ipsec=esp each address needs its own, in their order",
    "-more-home-address=": "mip6 'mip0': more-signal-out-spi= is given 1 times, and "
    "more-home-address= 0 times",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake: str) -> None:
    """QEMU does not start, and says which option is wrong."""
    keys, more = Keys(), Keys(seed=128, spi=0x1011, more=True)
    words = dict(word.split("=", 1) for word in (*keys.options(), *more.options()))
    words["more-home-address"] = SECOND_ADDRESS
    if mistake.startswith("-"):
        del words[mistake[1:].split("=")[0]]
    else:
        words.update([mistake.split("=", 1)])
    netdev = f"mip6,id=mip0,netdev=net0,home-address={HOME_ADDRESS},home-prefix-length=64"
    options = "".join(f",{name}={value}" for name, value in words.items())
    done = subprocess.run(
        [
            *(qemu.binary(), "-M", "none", "-display", "none", "-nodefaults"),
            *(*keys.objects(), *more.objects()),
            *("-netdev", "socket,id=net0,listen=127.0.0.1:0"),
            *("-netdev", f"{netdev},home-agent={AGENT_ADDRESS}{options}"),
        ],
        capture_output=True,
        text=True,
        timeout=wait.PATIENCE,
        check=False,
    )
    assert done.returncode == 1
    assert MISTAKES[mistake] in done.stderr
