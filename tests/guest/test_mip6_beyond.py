# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM that is away, and what is beyond its link: strangers, and a path of small packets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any

import pytest
from lab.base import wait
from lab.base.net import Interface, Namespace
from lab.guest.guest import Guest
from lab.mip6 import mobile, mobility, roaming
from lab.mip6.mobile_esp import Keys
from lab.mip6.mobility import (
    AGENT_ADDRESS,
    CORE_PREFIX,
    CORRESPONDENT_ADDRESS,
    FOREIGN_PREFIX,
    HOME_ADDRESS,
    HOME_PREFIX,
    World,
    prefix_line,
)
from lab.mip6.narrow import SMALLEST_MTU, narrowed, told_mtu
from lab.mip6.stranger import (
    Stranger,
    acknowledgement,
    advertisement,
    binding_error,
    standing,
)
from lab.packages import kernel

STRANGER_ADDRESS = f"{CORE_PREFIX}::bad"
#: ICMPv6: what the errors and the messages of neighbour discovery have as a type.
UNREACHABLE, TOO_BIG, EXCEEDED, PARAMETER = 1, 2, 3, 4
NEIGHBOUR_ADVERTISEMENT, REDIRECT = 136, 137
FRAGMENT, ESP, UDP = 44, 50, 17


@dataclass
class Away:
    """A VM on the foreign link that is bound, and how it is protected."""

    guest: Guest
    keys: Keys | None
    config: Path

    @property
    def care_of(self) -> str:
        """Its address there."""
        return str(roaming.info(self.guest)["care-of"])

    @property
    def room(self) -> int:
        """Octets of the largest packet that the smallest path takes as it is."""
        # ESP: SPI, number, IV and ICV; with its trailer a multiple of four octets.
        return SMALLEST_MTU - 40 - (8 + 8 + 16 + 2 if self.keys else 0)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with mobility.world() as built:
        yield built


@pytest.fixture(scope="module", params=["plain", pytest.param("esp", marks=pytest.mark.long)])
def away(world: World, request: pytest.FixtureRequest) -> Iterator[Away]:
    """Start a VM away, with a home agent of ours."""
    keys = Keys() if request.param == "esp" else None
    words = keys.options() if keys else []
    arguments = mobility.arguments(world.foreign.tap(f"tap-{request.param}"), *words)
    lines = keys.lines(HOME_ADDRESS, world.folder) if keys else []
    with (
        world.agent(600, f"control {world.folder / 'ha.sock'}", *lines),
        Guest(
            name=request.param,
            netns=world.foreign.host,
            kernel=kernel.MAIN,
            memory="256M",
            devices=[mobility.DEVICE],
            arguments=[*(keys.objects() if keys else []), *arguments],
        ) as guest,
    ):
        roaming.configure(guest)
        guest.run("ip -6 route replace default via fe80::1 dev eth0")
        roaming.await_bound(guest, FOREIGN_PREFIX)
        roaming.pings(guest)
        yield Away(guest, keys, world.folder / "vmmnet-ha.conf")


def _binding(world: World, away: Away) -> dict[str, Any]:
    """The guest's, as the home agent has it."""
    command: list[str | Path] = [mobility.agent_binary(), "show", "--json", away.config]
    (binding,) = json.loads(world.agent_host.run(command).stdout)["bindings"]
    return dict(binding)


@pytest.fixture
def stranger(world: World, away: Away) -> Iterator[Stranger]:
    """Stand beside the correspondent, two routers away from the foreign link."""
    core = Interface(world.core, "core")
    with standing(world.network, core, core.mac, away.guest) as found:
        yield found


def test_forged_mobility(world: World, away: Away, stranger: Stranger) -> None:
    """Who has seen everything but is not the home agent cannot end or move a binding."""
    transfer = roaming.Transfer(world.correspondent, away.guest)
    binding, care_of = _binding(world, away), away.care_of
    sequence = binding["sequence"]
    not_the_agent = "unprotected" if away.keys else "stranger"
    for status in (0, 128, 134, 135):
        forged = acknowledgement(STRANGER_ADDRESS, care_of, sequence, status)
        stranger.refused(not_the_agent, forged)
    stranger.refused(not_the_agent, binding_error(STRANGER_ADDRESS, care_of))
    # In the agent's name: the answer to no question, an error about no address of the guest.
    no_answer = "unprotected" if away.keys else "mh-unexpected"
    stranger.refused(no_answer, acknowledgement(AGENT_ADDRESS, care_of, sequence, 128))
    elsewhere = f"{HOME_PREFIX}::77"
    stranger.refused(no_answer, binding_error(AGENT_ADDRESS, care_of, elsewhere))
    assert roaming.info(away.guest)["care-of"] == care_of
    assert _binding(world, away)["care-of"] == care_of
    transfer.goes_on()
    transfer.end()


def test_forged_tunnel(world: World, away: Away, stranger: Stranger) -> None:
    """Packets of a tunnel whose outer source is not the agent's do not come to the guest."""
    transfer = roaming.Transfer(world.correspondent, away.guest)
    seen = away.guest.spawn(["ping", "-n", "-i", "0.2", CORRESPONDENT_ADDRESS])
    inner = mobile.echo(CORRESPONDENT_ADDRESS, HOME_ADDRESS, 1)
    before = roaming.info(away.guest)["received"]
    reason = "unprotected" if away.keys else "stranger"
    fragment = bytes((mobile.IP6, 0, 0, 1)) + bytes(4) + inner
    for source in (STRANGER_ADDRESS, CORRESPONDENT_ADDRESS, HOME_ADDRESS, f"{HOME_PREFIX}::2"):
        stranger.refused(reason, mobile.ip6(source, away.care_of, mobile.IP6, inner))
        # Of fragments the sender is looked at first.
        stranger.refused("stranger", mobile.ip6(source, away.care_of, FRAGMENT, fragment))
    sealed = bytes(64)
    if away.keys:
        stranger.refused("stranger", mobile.ip6(STRANGER_ADDRESS, away.care_of, ESP, sealed))
        spi = away.keys.of("tunnel-in")[0].to_bytes(4, "big")
        stranger.refused("esp", mobile.ip6(AGENT_ADDRESS, away.care_of, ESP, spi + sealed))
    else:
        reason = "unknown-protocol"
        stranger.refused(reason, mobile.ip6(AGENT_ADDRESS, away.care_of, ESP, sealed))
    transfer.goes_on()
    transfer.end()
    seen.kill(2)
    assert before < roaming.info(away.guest)["received"]
    assert " 0 received" not in seen.wait().stdout


def _quoting(quoted: bytes, care_of: str, kind: int, code: int = 0, value: int = 0) -> bytes:
    """An ICMPv6 error about a packet, from nobody on its way."""
    body = value.to_bytes(4, "big") + quoted[: SMALLEST_MTU - 48]
    return mobile.icmp6(STRANGER_ADDRESS, care_of, kind, body, code=code)


def _tunnelled(source: str, destination: str, home: str = HOME_ADDRESS) -> bytes:
    inner = mobile.ip6(home, CORRESPONDENT_ADDRESS, UDP, bytes(1400))
    return mobile.ip6(source, destination, mobile.IP6, inner)


def test_forged_errors(world: World, away: Away, stranger: Stranger) -> None:
    """Errors about packets that were not sent count, and do nothing."""
    transfer = roaming.Transfer(world.correspondent, away.guest)
    care_of, mtu = away.care_of, roaming.info(away.guest)["mtu"]
    elsewhere = f"{HOME_PREFIX}::77"
    quotes = [
        _tunnelled(care_of, elsewhere),
        _tunnelled(elsewhere, AGENT_ADDRESS),
        mobile.ip6(care_of, AGENT_ADDRESS, UDP, bytes(1400)),
        mobile.ip6(HOME_ADDRESS, CORRESPONDENT_ADDRESS, UDP, bytes(1400)),
        mobile.binding_update(elsewhere, 1, 60),
        mobile.binding_update(care_of, 1, 60, home=elsewhere),
        b"",
    ]
    errors = [(TOO_BIG, 0, SMALLEST_MTU), (UNREACHABLE, 0, 0), (UNREACHABLE, 3, 0)]
    errors += [(EXCEEDED, 0, 0), (EXCEEDED, 1, 0), (PARAMETER, 1, 40), (PARAMETER, 2, 46)]
    for quoted in quotes:
        for kind, code, value in errors:
            reason = "icmpv6" if quoted else "malformed"
            stranger.refused(reason, _quoting(quoted, care_of, kind, code, value))
    # Of the guest's tunnel, but about another's packet; about an update that has an answer.
    other = _tunnelled(care_of, AGENT_ADDRESS, elsewhere)
    stranger.refused("icmpv6", _quoting(other, care_of, UNREACHABLE))
    update = mobile.binding_update(care_of, _binding(world, away)["sequence"], 60)
    stranger.refused("icmpv6", _quoting(update, care_of, PARAMETER, 1, 40))
    changed = bytearray(_quoting(_tunnelled(care_of, AGENT_ADDRESS), care_of, TOO_BIG, 0, 1280))
    changed[-1] ^= 1
    stranger.refused("malformed", bytes(changed))
    info = roaming.info(away.guest)
    assert (info["mtu"], info["reported"]) == (mtu, 0)
    transfer.goes_on()
    transfer.end()


def test_forged_neighbours(world: World, away: Away, stranger: Stranger) -> None:
    """No router and no neighbour speaks from beyond the link: its hop limit is below 255."""
    transfer = roaming.Transfer(world.correspondent, away.guest)
    care_of = away.care_of
    router = f"{FOREIGN_PREFIX}::ffff"
    for lifetime, prefix in ((0, FOREIGN_PREFIX), (1800, "2001:db8:6000"), (1800, HOME_PREFIX)):
        forged = advertisement(router, 255, 1, lifetime, prefix, care_of)
        stranger.refused("icmpv6", forged)
    target, mac = IPv6Address(router).packed, bytes.fromhex("020000000bad")
    agent = IPv6Address(AGENT_ADDRESS).packed
    for kind, body in (
        (NEIGHBOUR_ADVERTISEMENT, (0xA0 << 24).to_bytes(4, "big") + target + b"\2\1" + mac),
        (REDIRECT, bytes(4) + target + agent + b"\2\1" + mac),
    ):
        stranger.refused("icmpv6", mobile.icmp6(router, care_of, kind, body, 255))
    assert away.care_of == care_of
    transfer.goes_on()
    transfer.end()


def _segment_size(side: Guest | Namespace) -> int:
    """Of the TCP connection that is to port 7001 of the guest."""
    command = ["ss", "-6tinH", "state", "established", "( sport = :7001 or dport = :7001 )"]
    found = re.search(r"\bmss:(\d+)", side.run(command).stdout)
    assert found
    return int(found[1])


def _seen(file: Path) -> bool:
    """Is there a packet behind the file's header?"""
    return file.stat().st_size > 24


#: Fragments, and packets that are longer than the path has room for.
_WRONG = f"ip6[6] == {FRAGMENT} or greater {14 + SMALLEST_MTU + 1}"


def _transfers(world: World, away: Away, router: Namespace, link: str, file: Path) -> None:
    """TCP both ways, which has to fit; datagrams that do not are refused."""
    guest = away.guest
    with router.capture(link, file, _WRONG):
        assert told_mtu(guest, CORRESPONDENT_ADDRESS, 1400)[0] == SMALLEST_MTU
        assert told_mtu(world.correspondent, HOME_ADDRESS, 1400) == (SMALLEST_MTU, AGENT_ADDRESS)
        transfer = roaming.Transfer(world.correspondent, guest)
        transfer.goes_on()
        # Less than a segment of a packet of 1280 octets has.
        for side in (guest, world.correspondent):
            assert _segment_size(side) <= away.room - 60
        transfer.end()
        roaming.upload(world.correspondent, guest)
        guest.wait_for(f"ping -n -c 1 -W 5 -M do -s {away.room - 48} {CORRESPONDENT_ADDRESS}")
    assert not _seen(file)


def _sizes(away: Away, router: Namespace, link: str, file: Path) -> None:
    """Each packet that IPv6 lets a node send everywhere; the longest ones need fragments."""
    before = roaming.info(away.guest)["fragmented"]
    ping = f"ping -n -c 1 -W 5 {CORRESPONDENT_ADDRESS}"
    with router.capture(link, file, _WRONG):
        for size in (away.room + 1, SMALLEST_MTU - 1, SMALLEST_MTU):
            away.guest.wait_for(f"{ping} -M do -s {size - 48}")
        # The guest makes fragments itself.
        for size in (SMALLEST_MTU + 1, 4000):
            away.guest.wait_for(f"{ping} -s {size - 48}")
        too_long = away.guest.run(f"{ping} -M do -s {SMALLEST_MTU - 47}", check=False)
        assert too_long.rc
    assert roaming.info(away.guest)["fragmented"] > before
    assert _seen(file)


@pytest.mark.long
def test_narrow_link(world: World, away: Away, tmp_path: Path) -> None:
    """A foreign link of 1280 octets, whose router says so."""
    link = world.foreign.link
    link.set_mtu(SMALLEST_MTU)
    link.cut_super_frames()
    world.foreign.advertiser.change(f"AdvLinkMTU {SMALLEST_MTU};", prefix_line(FOREIGN_PREFIX))
    try:
        wait.until(lambda: roaming.info(away.guest)["mtu"] == SMALLEST_MTU, "the link's MTU")
        place = link.namespace, link.name
        _transfers(world, away, *place, tmp_path / "transfers.pcap")
        _sizes(away, *place, tmp_path / "sizes.pcap")
    finally:
        link.set_mtu(1500)
        link.cut_super_frames(on=False)
        world.foreign.advertiser.change("AdvLinkMTU 1500;", prefix_line(FOREIGN_PREFIX))


def test_narrow_path(world: World, away: Away, tmp_path: Path) -> None:
    """A path that becomes one of 1280 octets: no TCP segment and no refusal needs fragments."""
    wait.until(lambda: roaming.info(away.guest)["mtu"] > SMALLEST_MTU, "the link's own MTU")
    transfer = roaming.Transfer(world.correspondent, away.guest)
    transfer.goes_on()
    with narrowed(world) as wire:
        # What began before goes on.
        transfer.goes_on()
        transfer.end()
        place = wire.namespace, wire.name
        _transfers(world, away, *place, tmp_path / "transfers.pcap")
        _sizes(away, *place, tmp_path / "sizes.pcap")
