# SPDX-License-Identifier: GPL-2.0-or-later
"""The hosts that have an IPv6 address, state by state, by 'ip monitor'.

One socket receives the events of all hosts, so that they keep the kernel's order, even if this
process reads them late.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base import wait
from ..base.net import Namespace, Network

_PROBE = "2001:db8:ffff::1/128"


@dataclass(frozen=True)
class Holders:
    """The states of an address so far."""

    address: str
    names: Sequence[str]
    log: Path

    def history(self) -> list[frozenset[str]]:
        """The hosts with the address: at first, and after each change."""
        states: list[frozenset[str]] = []
        line = rf"\[nsid (\d+)\](Deleted )?\d+: .*inet6 {re.escape(self.address)}/"
        for number, gone in re.findall(line, self.log.read_text()):
            now = states[-1] if states else frozenset()
            name = {self.names[int(number)]}
            then = now - name if gone else now | name
            if not states or then != now:
                states.append(then)
        return states

    def several(self) -> int:
        """How often more than one host had the address."""
        return sum(len(each) > 1 for each in self.history())

    def await_only(self, name: str) -> None:
        """Wait until only this host has the address."""
        wait.until(
            lambda: (self.history() or [frozenset()])[-1] == {name},
            f"{self.address} at {name}",
        )


@contextlib.contextmanager
def watched(
    network: Network, address: str, hosts: Sequence[Namespace], log: Path
) -> Iterator[Holders]:
    """Listen during a block; at first no host has it."""
    ear = network.namespace("ear")
    for number, host in enumerate(hosts):
        ear.ip("netns", "set", host.netns, str(number))
    command = ["ip", "-o", "-6", "monitor", "all-nsid", "address"]
    with log.open("wb") as out, ear.started(command, stdout=out, stderr=subprocess.STDOUT):

        def hears() -> bool:
            for word in ("add", "del"):
                ear.ip("address", word, _PROBE, "dev", "lo")
            return _PROBE in log.read_text()

        wait.until(hears, "ip monitor")
        yield Holders(address, [host.name for host in hosts], log)
