# SPDX-License-Identifier: GPL-2.0-or-later
"""Who is there, and who may hear whom: pure.

Steady VMs are with one tenant from beginning to end; their entries change all
the same, by LNIDs in which they are alone.  Moving VMs go from tenant to
tenant.  Idle ones have no port: they are what tables are full of.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

GLOBAL = 0
TENANTS = (1, 2, 3)
HOSTS = ("one", "two", "three", "four")
# The last host has no agent: its table is a file that the command changes.
FOLLOWING, ALONE = HOSTS[:-1], HOSTS[-1]
_MOVING = 2
_IDLE = 400
# LNIDs of one VM only.
_OWN, _OWN_EACH = 10_000, 100

#: In which LNIDs each MAC is; nobody: in none.
Policy = dict[int, frozenset[int]]


@dataclass(frozen=True)
class Vm:
    """A VM with a port."""

    number: int
    name: str
    host: str
    mac: int
    #: 0: it moves.
    tenant: int

    def own(self, dice: random.Random) -> frozenset[int]:
        """Some LNIDs in which nobody else is."""
        first = _OWN + _OWN_EACH * self.number
        return frozenset(dice.sample(range(first, first + _OWN_EACH), dice.choice((0, 0, 1, 3))))


def _vms() -> list[Vm]:
    result: list[Vm] = []
    for at, host in enumerate(HOSTS):
        for place, tenant in enumerate((*TENANTS, *(0,) * _MOVING)):
            name = f"{host}-{f'tenant{tenant}' if tenant else f'moves{place}'}"
            mac = 0x525400000000 + (at << 8) + place
            result.append(Vm(len(result), name, host, mac, tenant))
    return result


VMS = _vms()
STEADY = [vm for vm in VMS if vm.tenant]
MOVING = [vm for vm in VMS if not vm.tenant]
IDLE = [0x525410000000 + number for number in range(_IDLE)]


def may_hear(one: frozenset[int], other: frozenset[int]) -> bool:
    """Whether two VMs in these LNIDs may hear each other: the paper's rule."""
    return bool(one and other) and (GLOBAL in one | other or bool(one & other))


def first(dice: random.Random) -> Policy:
    """What everything begins with."""
    steady = {vm.mac: frozenset({vm.tenant}) for vm in STEADY}
    return steady | moved(dice) | {mac: idle(dice) for mac in IDLE}


def moved(dice: random.Random) -> Policy:
    """Another place for each VM that moves: in one tenant, two, none, or with all."""
    return {vm.mac: _place(vm, dice) for vm in MOVING}


def _place(vm: Vm, dice: random.Random) -> frozenset[int]:
    kind = dice.random()
    if kind < 0.1:
        return frozenset({GLOBAL})
    if kind < 0.2:
        return vm.own(dice) or frozenset({_OWN + _OWN_EACH * vm.number})
    return frozenset(dice.sample(TENANTS, 2 if kind < 0.4 else 1))


def idle(dice: random.Random) -> frozenset[int]:
    """LNIDs for a VM without a port."""
    return frozenset({dice.choice(TENANTS), *dice.sample(range(100, 200), dice.choice((0, 0, 2)))})


def a_change(dice: random.Random) -> tuple[int, frozenset[int]]:
    """A MAC of those that do not move, and LNIDs for it that let nobody hear another."""
    if dice.random() < 0.1:
        vm = dice.choice(STEADY)
        return vm.mac, frozenset({vm.tenant}) | vm.own(dice)
    mac = dice.choice(IDLE)
    return mac, frozenset() if dice.random() < 0.2 else idle(dice)


def mirrored(host: str, policy: Mapping[int, frozenset[int]]) -> Policy:
    """What the table of a host with an agent shall be."""
    ports = {vm.mac for vm in VMS if vm.host == host}
    wanted = frozenset({GLOBAL}).union(*(policy[mac] for mac in ports if mac in policy))
    everything = any(GLOBAL in policy.get(mac, ()) for mac in ports)
    return {
        mac: lnids
        for mac, lnids in policy.items()
        if lnids and (everything or mac in ports or lnids & wanted)
    }
