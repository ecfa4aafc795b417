# SPDX-License-Identifier: GPL-2.0-or-later
"""Two routers with keepalived, VRRP of both families and virtual MAC addresses (``use_vmac``).

They are those of docs/hostvlan.md, section VRRP, whose commands tests type.
"""

from __future__ import annotations

import ipaddress
import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..base import paths, wait
from ..base.net import Namespace

PAGE = paths.ROOT / "docs" / "hostvlan.md"
#: The real routers' MAC addresses; that of the client is the third.
MACS = ("52:54:00:00:00:01", "52:54:00:00:00:02", "52:54:00:00:00:03")
#: Their other addresses.
ADDRESSES = tuple((f"192.0.2.{n}", f"2001:db8::{n}") for n in (11, 12, 13))
#: The virtual router's addresses. The first one of IPv6 is link-local (RFC 9568, 5.2.9).
VIRTUAL = {4: ("192.0.2.1",), 6: ("fe80::10", "2001:db8::1")}
LNID = 7
_ID = 10
_LENGTHS = {4: 24, 6: 64}
#: The first router is master while it runs.
_PRIORITIES = (150, 100)


def documented() -> Iterator[list[str]]:
    """The arguments of ``vmmnet hostvlan`` in the page's section."""
    section = PAGE.read_text().partition("\n### VRRP\n")[2].partition("\n## ")[0]
    for line in section.replace("\\\n", "").splitlines():
        words = shlex.split(line) if line.startswith("    vmmnet hostvlan ") else []
        if words:
            yield words[2:]


def configuration(interface: str, number: int) -> str:
    """Of router 0 or 1, on an interface."""
    text = "global_defs {\n  vrrp_version 3\n}\n"
    for family, addresses in VIRTUAL.items():
        listed = "".join(f"    {each}/{_LENGTHS[family]}\n" for each in addresses)
        text += (
            f"vrrp_instance ip{family} {{\n"
            f"  state BACKUP\n  interface {interface}\n  use_vmac vrrp{family}\n"
            f"  virtual_router_id {_ID}\n  priority {_PRIORITIES[number]}\n  advert_int 0.2\n"
            f"  virtual_ipaddress {{\n{listed}  }}\n}}\n"
        )
    return text


def command(folder: str) -> list[str]:
    """The command line; ``folder`` has the configuration, ``conf``, and gets the PID files."""
    files = {"--use-file": "conf", "--pid": "pid", "--vrrp_pid": "vrrp.pid"}
    given = [word for option, file in files.items() for word in (option, f"{folder}/{file}")]
    return ["keepalived", "--dont-fork", "--log-console", "--vrrp", *given]


class Machine(Protocol):
    """A real router."""

    def start(self) -> None:
        """Start keepalived."""

    def stop(self) -> None:
        """End it, and wait until it has ended."""

    def addresses(self) -> str:
        """What ``ip -json address`` prints."""


def _is_master(router: Machine) -> set[int]:
    """The families of which a router has all virtual addresses."""
    found = {
        ipaddress.ip_address(each["local"])
        for interface in json.loads(router.addresses())
        for each in interface.get("addr_info", ())
    }
    return {
        family
        for family, addresses in VIRTUAL.items()
        if found >= {ipaddress.ip_address(each) for each in addresses}
    }


@dataclass(frozen=True)
class Pair:
    """Both routers, and a client's namespace and interface."""

    routers: Sequence[Machine]
    client: Namespace
    interface: str

    def master(self, number: int) -> None:
        """Wait until one router is master of both families and the other of none, and serves."""
        one, other = self.routers[number], self.routers[1 - number]
        wait.until(
            lambda: _is_master(one) == set(VIRTUAL) and not _is_master(other),
            f"only router {number} is master",
        )
        for addresses in VIRTUAL.values():
            for each in addresses:
                self._reaches(each)

    def _reaches(self, address: str) -> None:
        scope = f"%{self.interface}" if address.startswith("fe80:") else ""
        words = ["ping", "-c1", "-W1", address + scope]
        wait.until(
            lambda: self.client.run(words, check=False).returncode == 0,
            f"the client reaches {address}",
        )

    def fail_over(self, times: int) -> None:
        """Let the first router fail and come back by turns, from and to a state where it runs."""
        for number in range(times):
            if number % 2:
                self.routers[0].start()
                self.master(0)
            else:
                self.routers[0].stop()
                self.master(1)
