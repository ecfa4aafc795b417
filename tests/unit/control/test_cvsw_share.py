# SPDX-License-Identifier: GPL-2.0-or-later
"""Controllers that share the work: election of a leader, with a simulated etcd and clock."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from lab.cvsw.etcd import PREFIX, Value, World
from vmmnet.cvsw.control import records
from vmmnet.cvsw.control.member import BLOCK, MARGIN, TTL, Member, NotLeading
from vmmnet.cvsw.control.records import Answer, BadRecord, Names, Stored
from vmmnet.cvsw.plan.flows import MEMBERS_MAX
from vmmnet.etcd.client import NOT_FOUND
from vmmnet.etcd.errors import EtcdError, StoreError, Unreachable

A, B = bytes.fromhex("525400000001"), bytes.fromhex("525400000002")


def lead(world: World, *members: Member) -> Member:
    """Let them step until one of them leads."""
    for _ in range(100):
        for member in members:
            if member.step(None, may_lead=True).leads:
                return member
        world.wait(0.5)
    raise AssertionError("nobody leads")


@pytest.mark.parametrize("seed", range(60))
def test_never_two(seed: int) -> None:
    """Requests and answers are slow and get lost, leaders stop, but there are never two leaders.

    Terms grow, no number is in two blocks, and at the end there is a leader.
    """
    dice, world = random.Random(seed), World()
    members = [world.join(name, lambda: dice.choice([0.0, world.now])) for name in "abc"]
    terms: dict[str, int] = {}
    blocks: list[int] = []
    is_bad = True

    def on_the_way(_: bool) -> None:
        world.check()
        if is_bad and dice.random() < 0.3:
            world.wait(dice.choice([0.1, 1.0, 2.0, TTL]))
        if is_bad and dice.random() < 0.1:
            raise Unreachable("lost")

    def step(member: Member) -> None:
        try:
            look = member.step(None, may_lead=True)
            world.check()
            if look.leads and look.leader and terms.get(member.name) != look.leader.term:
                last = max(terms.values(), default=0)
                assert look.leader.term > last
                # Whoever led last knows that nobody has led since.
                if member.term_before == terms.get(member.name):
                    assert member.term_before == last
                terms[member.name] = look.leader.term
                blocks.append(member.reserve())
        except StoreError:
            pass
        world.check()

    world.on_the_way = on_the_way
    for _ in range(400):
        step(dice.choice(members))
        world.wait(dice.choice([0.0, 0.1, 0.5, 0.5, 2.0]))
    is_bad = False
    for _ in range(40):
        for member in members:
            step(member)
        world.wait(0.5)
    assert len(world.leaders()) == 1
    assert len(terms) > 1
    gaps = sorted((b - a) & 0xFFFFFFFF for a in blocks for b in blocks if a != b)
    assert not gaps or gaps[0] >= BLOCK
    assert len(set(blocks)) == len(blocks)


def test_leads_again() -> None:
    """A leader whose lease has ended sees whether another one has led before it leads again."""
    world = World()
    a, b = world.join("a"), world.join("b")
    assert lead(world, a) is a
    term = a.step(None, may_lead=True).leader
    assert term
    world.wait(2 * TTL)
    assert lead(world, a) is a
    assert a.term_before == term.term
    a.resign()
    assert lead(world, b) is b
    b.resign()
    assert lead(world, a) is a
    assert a.term_before > term.term + 1


def test_takeover() -> None:
    """Another one leads when the lease of the lost leader has ended, and not before."""
    world = World()
    a, b = world.join("a"), world.join("b")
    assert lead(world, a, b) is a
    a.put_plan(Stored.pack(Path("/x.yaml"), "a", b"text"))
    a.associations()
    a.save(records.numbers_by_sender([(A, B, 300, True), (A, B, 301, False), (B, A, 302, True)]))
    gone_at = world.now
    while not b.step(None, may_lead=True).leads:
        world.wait(0.5)
    assert TTL <= world.now - gone_at <= TTL + 1
    assert a.until <= world.now - MARGIN
    assert sorted(b.associations()) == [
        (A, B, 300, True),
        (A, B, 301, False),
        (B, A, 302, True),
    ]
    # Outstanding requests of the first one have no effect.
    with pytest.raises(NotLeading):
        a.save({})
    with pytest.raises(NotLeading):
        a.put_plan(Stored.pack(Path("/y.yaml"), "a", b"other"))
    assert len(b.associations()) == 3
    look = a.step(None, may_lead=True)
    assert not look.leads
    assert look.leader
    assert look.leader.name == "b"


def test_slow_answer() -> None:
    """A lease counts from when etcd was asked to keep it, however late the answer comes."""
    world = World()
    a, b = world.join("a"), world.join("b")
    assert lead(world, a, b) is a
    world.wait(1.5)
    asked_at = world.now
    answers = 0

    def on_the_way(is_request: bool) -> None:
        nonlocal answers
        answers += not is_request
        if answers and is_request:
            raise Unreachable("lost")  # all that follows
        if answers:
            world.wait(TTL - 0.5)

    world.on_the_way = on_the_way
    with pytest.raises(Unreachable):
        a.step(None, may_lead=True)
    world.on_the_way = lambda _: None
    assert a.until == asked_at + TTL - MARGIN
    world.wait(0.6)
    assert b.step(None, may_lead=True).leads
    world.check()


def test_resign() -> None:
    """After an orderly end the next leader need not wait."""
    world = World()
    a, b = world.join("a"), world.join("b")
    assert lead(world, a, b) is a
    b.step(None, may_lead=True)
    a.resign()
    assert not world.leaders()
    assert b.step(None, may_lead=True).leads
    assert [each.name for each in b.step(None, may_lead=True).members] == ["b"]


def test_plan_is_told_once() -> None:
    world = World()
    a, b = world.join("a"), world.join("b")
    assert lead(world, a) is a
    assert not b.step(None, may_lead=True).has_plan
    a.put_plan(Stored.pack(Path("/x.yaml"), "a", b"tenants: {}"))
    look = b.step(None, may_lead=True)
    assert look.plan
    assert (look.plan.file, look.plan.by, look.plan.text()) == ("/x.yaml", "a", b"tenants: {}")
    look = b.step(None, may_lead=True)
    assert (look.plan, look.has_plan) == (None, True)
    assert a.step(None, may_lead=True).plan is None


def test_plan_is_told_also_after_an_error() -> None:
    """A read that etcd's loss has interrupted is repeated."""
    world = World()
    a, b = world.join("a"), world.join("b")
    assert lead(world, a) is a
    a.put_plan(Stored.pack(Path("/x.yaml"), "a", b"text"))
    a.resign()
    requests = 0

    def on_the_way(is_request: bool) -> None:
        nonlocal requests
        requests += is_request
        if requests == 4:  # behind the lease, the member and the look
            raise Unreachable("lost")

    world.on_the_way = on_the_way
    with pytest.raises(Unreachable):
        b.step(None, may_lead=True)
    world.on_the_way = lambda _: None
    assert b.step(None, may_lead=True).plan
    # Restored from a backup, etcd's revisions begin anew.
    world.revision, world.keys[b"/t/plan"].revision = 3, 2
    plans = [b.step(None, may_lead=True).plan for _ in range(2)]
    assert plans[0] is None
    assert plans[1]


def test_who_may_not_lead_says_why() -> None:
    """The reason is visible to others."""
    world = World()
    a, b = world.join("a"), world.join("b")
    for _ in range(5):
        assert not a.step("a key is missing", may_lead=False).leads
        world.wait(1)
    assert lead(world, b) is b
    assert {each.name: each.fault for each in b.step(None, may_lead=True).members} == {
        "a": "a key is missing",
        "b": None,
    }


def test_orders() -> None:
    """The leader executes an order once; its remains are deleted."""
    world = World()
    a, b = world.join("a"), world.join("b")
    assert lead(world, a) is a
    with pytest.raises(EtcdError):
        b.order(None)
    b.step(None, may_lead=True)
    name = b.order(Stored.pack(Path("/x.yaml"), "b", b"text"))
    assert b.step(None, may_lead=True).orders == {}
    ((told, order),) = a.step(None, may_lead=True).orders.items()
    stored = order.stored()
    assert told == name
    assert stored
    assert stored.text() == b"text"
    a.answer(name, order, Answer("a", None), stored)
    look = b.step(None, may_lead=True)
    assert look.plan == stored
    assert look.answers == {name: Answer("a", None)}
    assert a.step(None, may_lead=True).orders == {}
    b.forget(name)
    assert not any(key.startswith((b"/t/orders", b"/t/answers")) for key in world.keys)
    # The client of this one has gone.
    b.order(None)
    ((name, order),) = a.step(None, may_lead=True).orders.items()
    b.resign()
    with pytest.raises(EtcdError) as error:
        a.answer(name, order, Answer("a", None))
    assert error.value.code == NOT_FOUND
    assert a.step(None, may_lead=True).orders == {}


def test_associations_are_saved_by_their_difference() -> None:
    world = World()
    a = world.join("a")
    assert lead(world, a) is a
    a.associations()
    many = [(number.to_bytes(6), A, number, True) for number in range(1, 251)]
    a.save(records.numbers_by_sender(many))
    before = {key: value.revision for key, value in world.keys.items()}
    del many[0]
    many[1] = (*many[1][:2], 5000, True)
    a.save(records.numbers_by_sender(many))
    changed = {key for key, value in world.keys.items() if before.get(key) != value.revision}
    names = Names(PREFIX)
    assert changed == {names.association(many[1][0])}
    assert names.association((1).to_bytes(6)) not in world.keys
    assert sorted(a.associations()) == sorted(many)


def test_associations_of_a_large_tenant() -> None:
    """They fit into etcd's requests and answers, also while all keys change."""
    world = World()
    a = world.join("a")
    assert lead(world, a) is a
    a.associations()
    macs = [number.to_bytes(6) for number in range(1, MEMBERS_MAX + 1)]
    pairs = [(sender, receiver) for sender in macs[:80] for receiver in macs if sender != receiver]
    many = [(*pair, 3000000000 + age, age == 1) for pair in pairs for age in range(3)]
    a.save(records.numbers_by_sender(many))
    assert sorted(a.associations()) == sorted(many)


def test_numbers() -> None:
    """New blocks are reserved before numbers run out, also at the wrap-around."""
    world = World()
    a = world.join("a")
    assert lead(world, a) is a
    first = a.reserve()
    assert not a.is_short(first)
    assert a.is_short((first + BLOCK // 2 + 1) & 0xFFFFFFFF)
    assert a.reserve() == (first + BLOCK) & 0xFFFFFFFF
    assert not a.is_short((first + BLOCK // 2 + 1) & 0xFFFFFFFF)


def test_damage_is_told() -> None:
    """Foreign values in etcd do not end a controller."""
    world = World()
    a = world.join("a")
    for key in (b"/t/plan", b"/t/term", b"/t/orders/x", b"/t/live/members/x"):
        world.keys[key] = Value(b"{}", 1, 0)
    world.keys[b"/t/associations/zz"] = Value(b"[]", 1, 0)
    world.keys[b"/t/associations/52:54:00:00:00:01"] = Value(b"[1]", 1, 0)
    look = a.step(None, may_lead=True)
    damaged = {text.partition(": ")[0] for text in look.damaged}
    assert damaged == {"/t/plan", "/t/term", "/t/live/members/x", "/t/orders/x"}
    assert look.leads
    assert a.associations() == []
    with pytest.raises(BadRecord):
        Stored("/x", "a", "no base 64!").text()
    with pytest.raises(records.TooLarge):
        Stored.pack(Path("/x"), "a", random.Random(1).randbytes(1 << 20))
