# SPDX-License-Identifier: GPL-2.0-or-later
"""A stock Linux kernel, in a guest, as the peer of our ESP."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from lab.base import wait
from lab.cvsw.esp import ALGORITHMS, SPI, Algorithm, Ours
from lab.guest.guest import Guest
from lab.mip6 import mobile, mobility, roaming
from lab.mip6.mobility import AGENT_ADDRESS, HOME_PREFIX, World

PEER_ADDRESS = f"{HOME_PREFIX}::99"
LINUX_MAC = "52:54:00:6d:69:71"


@pytest.fixture(scope="module")
def world(series: str) -> Iterator[World]:
    with mobility.world() as built:
        yield built


@pytest.fixture(scope="module")
def linux(world: World, series: str) -> Iterator[Guest]:
    """Run the kernel, on the home link."""
    tap = world.home.tap("linux0")
    with Guest(
        name="linux",
        netns=world.home.host,
        kernel=series,
        memory="256M",
        devices=[f"virtio-net-pci,netdev=net0,mac={LINUX_MAC},romfile="],
        arguments=["-netdev", f"tap,id=net0,ifname={tap.name},script=no,downscript=no,vhost=off"],
    ) as guest:
        roaming.configure(guest, AGENT_ADDRESS)
        guest.run("for m in xfrm_user esp6; do modprobe $m || exit 1; done")
        yield guest


@pytest.fixture(scope="module")
def ours() -> Iterator[Ours]:
    peer = Ours()
    yield peer
    peer.close()


@pytest.fixture(scope="module")
def node(world: World, linux: Guest) -> Iterator[mobile.Node]:
    """Stand on the home link, as PEER_ADDRESS."""
    space = world.network.namespace("peer")
    end = world.network.connect(space, world.home.bridge).a
    linux.run(f"ip -6 neigh add {PEER_ADDRESS} lladdr {end.mac} dev eth0 nud permanent")
    found = mobile.Node(end, LINUX_MAC)
    yield found
    found.close()
    space.close()


def _algorithm(a: Algorithm) -> str:
    """An algorithm and its keys, as ip-xfrm has them."""
    keys = a.keys()
    crypt, auth = (f"0x{key.hex()}" if key else '""' for key in keys)
    if a.crypt == "AES-GCM":
        return f"aead 'rfc4106(gcm(aes))' {crypt} 128"
    cipher = "cbc(aes)" if a.crypt == "AES-CBC" else "ecb(cipher_null)"
    digest, bits = ("sha1", 96) if "SHA1" in a.auth else ("sha256", 128)
    return f"enc '{cipher}' {crypt} auth-trunc 'hmac({digest})' {auth} {bits}"


@contextlib.contextmanager
def _associations(linux: Guest, a: Algorithm, mode: str, esn: bool, last: int) -> Iterator[None]:
    """Have the kernel protect pings with PEER_ADDRESS; ``last`` is the last number used."""
    both = {"in": (PEER_ADDRESS, AGENT_ADDRESS), "out": (AGENT_ADDRESS, PEER_ADDRESS)}
    window = "replay-window 64 flag esn" if esn else "replay-window 32"
    script = []
    for direction, (source, destination) in both.items():
        ends = f"src {source} dst {destination}"
        name = "seq" if direction == "in" else "oseq"
        number = f"replay-{name} {last & 0xFFFFFFFF:#x}"
        if esn:
            number += f" replay-{name}-hi {last >> 32:#x}"
        script += [
            f"ip xfrm state add {ends} proto esp spi {SPI} mode {mode}"
            f" {window} {number} {_algorithm(a)}",
            f"ip xfrm policy add dir {direction} {ends} proto 58 tmpl {ends} proto esp mode {mode}",
        ]
    try:
        linux.run(" && ".join(script))
        yield
    finally:
        linux.run("ip xfrm policy flush; ip xfrm state flush")


def _replays(linux: Guest) -> int:
    counters = linux.run("cat /proc/net/xfrm_stat").stdout.split()
    return int(counters[counters.index("XfrmInStateSeqError") + 1])


@pytest.mark.parametrize("esn", [False, True], ids=["", "esn"])
@pytest.mark.parametrize("mode", ["transport", "tunnel"])
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.name)
def test_esp(
    linux: Guest, node: mobile.Node, ours: Ours, algorithm: Algorithm, mode: str, esn: bool
) -> None:
    """The kernel opens what we seal, and we what it seals; nobody takes a packet twice."""
    last = 0xFFFFFFFD if esn else 0
    tunnel = mode == "tunnel"
    with _associations(linux, algorithm, mode, esn, last):
        for at, size in enumerate((0, 1, 13, 14, 100, 1200), 1):
            request = mobile.icmp6(
                PEER_ADDRESS, AGENT_ADDRESS, mobile.ECHO, at.to_bytes(4, "big") + bytes(size)
            )
            proto = mobile.IP6 if tunnel else mobile.ICMP6
            sealed = ours.seal(
                algorithm, esn, last + at, proto, request if tunnel else request[40:]
            )
            outer = mobile.ip6(PEER_ADDRESS, AGENT_ADDRESS, 50, sealed)
            node.send(outer)
            answer = node.receive(lambda packet: packet.protocol == 50)
            opened = ours.open(algorithm, esn, last + at, answer.payload)
            reply = mobile.icmp6(AGENT_ADDRESS, PEER_ADDRESS, mobile.ECHO_REPLY, request[44:])
            assert not isinstance(opened, str), opened
            assert opened[0] == proto
            inner = opened[1] if tunnel else bytes(40) + opened[1]
            assert inner[40:] == reply[40:]
        before = _replays(linux)
        node.send(outer)
        wait.until(lambda: _replays(linux) > before, "a replay that the kernel refuses")
        forged = answer.payload[:-1] + bytes((answer.payload[-1] ^ 1,))
        assert ours.open(algorithm, esn, last + at, forged) == "icv"
        if esn:
            # The upper half of the number is not on the wire, but in the ICV.
            assert ours.open(algorithm, esn, last + at - (1 << 32), answer.payload) == "icv"
