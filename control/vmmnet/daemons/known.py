# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemons that a host may have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vmmnet.cvsw import client
from vmmnet.hostvlan.command.agent import CONTROL


@dataclass
class Daemon:
    """A daemon, and the control socket at which it is asked by default (docs/control.md)."""

    name: str
    path: Path
    brief: str


DAEMONS = (
    Daemon("hostd", Path("/run/vmmnet/hostd.sock"), "addresses of VMs"),
    Daemon("ha", Path("/run/vmmnet/ha.sock"), "the home agent of Mobile IPv6"),
    Daemon("dnsd", Path("/run/vmmnet-dns/control.sock"), "the DNS server"),
    Daemon("cvsw", client.DEFAULT, "the controller of CVSW"),
    Daemon("hostvlan", CONTROL, "the agent of HostVLAN's table"),
)
