# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest on the home link whose Linux kernel is the home agent: ``linux_agent`` runs there."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..guest.agent import Job
from ..guest.guest import Guest
from . import linux_agent, roaming
from .mobility import AGENT_ADDRESS, HOME_ADDRESS, HOME_PREFIX, World

_PROGRAM = "/usr/lib/vmmnet/linux_agent.py"
_MAC = "52:54:00:6d:69:72"


def _start(guest: Guest, *esp: str) -> Job:
    job = guest.spawn(["python3", "-u", _PROGRAM, AGENT_ADDRESS, *esp])
    job.wait_output("ready")
    return job


@dataclass
class LinuxAgent:
    """The home agent's guest, and the program that answers there."""

    guest: Guest
    job: Job

    @contextlib.contextmanager
    def restarted(self) -> Iterator[None]:
        """Forget all bindings, as in a reboot; the program is started at the end."""
        self.job.kill(signal.SIGKILL)
        self.guest.run("ip -6 tunnel del mn0; ip xfrm policy flush; ip xfrm state flush")
        self.guest.run(f"ip -6 neigh del proxy {HOME_ADDRESS} dev {linux_agent.LINK}")
        yield
        self.job = _start(self.guest)

    def updates(self) -> list[str]:
        """What was asked of it, and what it has answered."""
        return re.findall(r"^update (.*)$", self.job.output().stdout, re.MULTILINE)

    @property
    def tunnel_mtu(self) -> int:
        """Of the kernel's tunnel."""
        return int(self.guest.run("cat /sys/class/net/mn0/mtu").stdout)


@contextlib.contextmanager
def running(world: World, series: str, *esp: str) -> Iterator[LinuxAgent]:
    """Run it on the home link; ``esp``: a home address, then SPI and key of each direction."""
    tap = world.home.tap("agent0")
    with Guest(
        name="linux-agent",
        netns=world.home.host,
        kernel=series,
        memory="256M",
        devices=[f"virtio-net-pci,netdev=net0,mac={_MAC},romfile="],
        arguments=["-netdev", f"tap,id=net0,ifname={tap.name},script=no,downscript=no,vhost=off"],
        files={_PROGRAM: Path(linux_agent.__file__)},
    ) as guest:
        roaming.configure(guest, AGENT_ADDRESS)
        job = _start(guest, *esp)
        # A router believes no router advertisements.
        guest.run(f"ip -6 route replace default via {HOME_PREFIX}::ffff")
        yield LinuxAgent(guest, job)
        guest.check_kernel()
