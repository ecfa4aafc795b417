# SPDX-License-Identifier: GPL-2.0-or-later
"""Migrations of every kind under libvirt: at each moment one host at most owns the address."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from lab.base import wait
from lab.hosts.owners import Owners
from lab.libvirt import moves as libvirt_moves
from lab.libvirt.moves import NAME, Move, World


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with libvirt_moves.world() as made:
        yield made


def _is_on_two(world: World) -> None:
    """The VM runs there, and there alone."""
    assert world.two.virsh("domstate", NAME).strip() == "running"
    assert NAME not in world.one.virsh("list", "--all", "--name").split()


def _is_on_one(world: World) -> None:
    wait.until(lambda: world.one.virsh("domstate", NAME).strip() == "running", "a VM that goes on")
    assert NAME not in world.two.virsh("list", "--all", "--name").split()


def test_a_server_moves(world: World) -> None:
    """The client of a guest's server follows it, told by nothing but the link."""
    with world.guest(system=True), world.watched() as owners:
        world.fetch()
        with world.move() as move:
            move.stream.open()
            assert move.end() == ""
        _is_on_two(world)
        world.fetch()
        world.check(owners, ("one",), (), ("two",))


_WAYS = {
    "client": [],
    "p2p": ["--p2p"],
    "tunnelled": ["--p2p", "--tunnelled"],
    # By the address in the certificate.
    "tls": ["--p2p", "--tls", "--tls-destination", "127.0.0.1"],
}
#: What a stream begins with: QEMU's own, and a handshake of TLS (RFC 8446 section 5.1).
_PLAIN, _TLS = b"QEVM", b"\x16\x03"


@pytest.mark.parametrize(
    "way",
    [
        "client",
        "p2p",
        *(pytest.param(each, marks=pytest.mark.long) for each in ("tunnelled", "tls")),
    ],
)
def test_moves(world: World, way: str) -> None:
    """The address goes with the VM, and the link hears where it is."""
    words, streams = _WAYS[way], way != "tunnelled"
    with world.guest(), world.announced() as heard, world.watched() as owners:
        with world.move(*words, streams=streams) as move:
            if streams:
                move.stream.open()
            assert move.end() == ""
            if streams:
                assert move.stream.begin.startswith(_TLS if way == "tls" else _PLAIN)
        owners.await_owner("two")
        world.check(owners, ("one",), (), ("two",))
        _is_on_two(world)
        assert any(mac == world.macs["two"] for mac in heard)


def test_post_copy(world: World) -> None:
    """The VM goes on at the destination before its memory is there, and has its address."""
    with world.guest(), world.watched() as owners:
        with world.move("--postcopy") as move:
            move.await_transfer()
            assert owners.history[-1] == ("one",)
            world.one.virsh("migrate-postcopy", NAME)
            owners.await_owner("two")
            assert move.is_under_way()
            assert "post-copy" in world.one.virsh("domstate", "--reason", NAME)
            move.stream.open()
            assert move.end() == ""
        _is_on_two(world)
        world.check(owners, ("one",), (), ("two",))


@contextlib.contextmanager
def _standing_still(world: World, owners: Owners) -> Iterator[Move]:
    """A VM that has stopped for the last part of its move, which takes long.

    QEMU's monitor waits for that part as well, so that nobody can cancel it.
    """
    with world.move() as move:
        move.await_transfer()
        # So long may it be without the guest.
        world.one.virsh("migrate-setmaxdowntime", NAME, "2000000")
        owners.await_owner()
        assert move.is_under_way()
        yield move


def test_cancelled(world: World) -> None:
    """The source keeps the address."""
    with world.guest(), world.watched() as owners:
        with world.move() as move:
            move.await_transfer()
            world.one.virsh("domjobabort", NAME)
            assert move.end()
        _is_on_one(world)
        world.check(owners, ("one",))


@pytest.mark.parametrize(
    ("moment", "fault"),
    [
        ("standing still", "killed"),
        pytest.param("standing still", "cut", marks=pytest.mark.long),
        pytest.param("transfer", "killed", marks=pytest.mark.long),
        pytest.param("transfer", "cut", marks=pytest.mark.long),
    ],
)
def test_failed(world: World, moment: str, fault: str) -> None:
    """The destination's QEMU dies, or the wire breaks: the source has the address."""
    with world.guest(), world.watched() as owners:
        still = moment == "standing still"
        with _standing_still(world, owners) if still else world.move() as move:
            move.await_transfer()
            if fault == "killed":
                world.kill(world.two)
            else:
                move.stream.cut()
            assert move.end()
        _is_on_one(world)
        owners.await_owner("one")
        states = [("one",), (), ("one",)]
        world.check(owners, *states[: 3 if still else 1])


def test_refused(world: World) -> None:
    """A host without its helper takes no VM that needs it, and says what is missing."""
    with world.guest(), world.watched() as owners, world.without_helper(world.two):
        with world.move() as move:
            assert "systemctl start vmmnet-hostd" in move.end()
        _is_on_one(world)
        world.check(owners, ("one",))
