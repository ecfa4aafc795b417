# SPDX-License-Identifier: GPL-2.0-or-later
"""The controller, as a daemon, with a tenant of many NICs that all share keys."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest
from lab.base.net import Network
from lab.cvsw import plans as cvsw_plans
from lab.cvsw.controller import PORT, Controller
from lab.cvsw.nics import SimNic
from lab.cvsw.switch import Switch
from vmmnet.cvsw.control.table.flow import Flow, fields_of
from vmmnet.cvsw.plan.openflow import Field
from vmmnet.cvsw.plan.read import read

NICS = 100
#: Commands between two looks at what NICs have: it takes more than four for each pair.
_AT_A_TIME = NICS**2 // 8
#: NICs that are looked at before all have answered once more.
_NICS_AT_A_TIME = 5

#: By which association a NIC seals to another one; by both MAC addresses.
Uses = dict[tuple[bytes, bytes], int]


class Bed:
    """A switch of NICs."""

    def __init__(self, switch: Switch, nics: list[SimNic]) -> None:
        self._switch, self.nics = switch, {nic.mac: nic for nic in nics}
        for port, nic in enumerate(nics, 1):
            switch.plug(port, nic)

    def run(self, is_done: Callable[[], bool], what: str) -> None:
        """Let NICs do what they are told until something is so."""
        goal = 0

        def is_next() -> bool:
            return self._commands() >= goal or self._is_still()

        while not is_done():
            goal = self._commands() + _AT_A_TIME
            self._switch.until(is_next, what)

    def _commands(self) -> int:
        return sum(nic.commands.total() for nic in self.nics.values())

    def _is_still(self) -> bool:
        """Nothing has come for a while."""
        before = self._commands()
        for _ in range(20):
            self._switch.pump()
        return self._commands() == before

    def uses(self) -> Uses:
        """Who seals to whom by what the other one can open; NICs answer meanwhile."""
        found = {}
        for at, nic in enumerate(self.nics.values()):
            for peer, number in (each for flow in nic.flows for each in _seals(flow)):
                if peer in self.nics and self._works(nic, self.nics[peer], number):
                    found[nic.mac, peer] = number
            if at % _NICS_AT_A_TIME == 0:
                self._switch.pump()
        return found

    @staticmethod
    def _works(sender: SimNic, receiver: SimNic, number: int) -> bool:
        mine, theirs = sender.sas.get(number), receiver.sas.get(number)
        if mine is None or theirs is None:
            return False
        return theirs.is_inbound and not mine.is_inbound and mine.key == theirs.key

    def has(self, each_of: int) -> bool:
        """Whether each NIC has so many associations."""
        return all(len(nic.sas) == each_of for nic in self.nics.values())


def _seals(each: Flow) -> list[tuple[bytes, int]]:
    fields = (oxm for oxm in fields_of(each) if oxm[2] == Field.ETH_DST << 1)
    return [(oxm[4:], number) for oxm in fields for number in each.numbers]


@pytest.mark.long
def test_keys(network: Network, tmp_path: Path) -> None:
    """All pairs get keys, and new ones; meanwhile each NIC can speak with all others."""
    vms = {
        f"vm{number}": cvsw_plans.vm(number, f"198.18.{number >> 8}.{number & 255}")
        for number in range(1, NICS + 1)
    }
    tenant = {"vni": 1, "cipher": "aes-gcm-128", "vms": vms}
    file = cvsw_plans.write(tmp_path, {"underlay": {"mtu": 1500}, "tenants": {"red": tenant}})
    host = network.namespace("host")
    controller = Controller(host, "127.0.0.1", tmp_path, str(file))
    pairs, ends = NICS * (NICS - 1), 2 * (NICS - 1)
    with contextlib.ExitStack() as stack:
        stack.callback(controller.stop)
        controller.start()
        with host.entered():
            switch = stack.enter_context(contextlib.closing(Switch(("127.0.0.1", PORT), 4)))
        bed = Bed(switch, [SimNic(nic.mac, nic.key, lambda _: None) for nic in read(file).nics()])

        bed.run(lambda: len(bed.uses()) == pairs, "all pairs have keys")
        first = bed.uses()

        controller.command("rekey")

        def is_new() -> bool:
            now = bed.uses()
            assert len(now) == pairs
            return not set(now.values()) & set(first.values())

        bed.run(is_new, "all pairs have new keys")
        bed.run(lambda: bed.has(ends), "old ones are deleted")
        assert len(bed.uses()) == pairs
        bed.run(
            lambda: {nic["state"] for nic in controller.nics().values()} == {"ready"},
            "the controller says so",
        )
        assert not any(nic.forged for nic in bed.nics.values())
