# SPDX-License-Identifier: GPL-2.0-or-later
"""Linux bridges that snoop IGMP and MLD, and their tables."""

from __future__ import annotations

import json
from typing import Any

from ..base.net import Interface, Namespace

#: Number of general queries until an unreported group has expired.
PAST_EXPIRY = 8


def bridge(space: Namespace, *, querier: bool) -> Interface:
    """Make a bridge, with or without its own querier."""
    return space.bridge(snooping=True, querier=querier)


def start(bridge: Interface, *, querier: bool) -> None:
    """Let a bridge snoop from now on, with or without its own querier."""
    words = ("mcast_snooping", "1", "mcast_querier", str(int(querier)))
    bridge.namespace.ip("link", "set", bridge.name, "type", "bridge", *words)


def stop(bridge: Interface) -> None:
    """Let it flood groups again."""
    words = ("mcast_querier", "0", "mcast_snooping", "0")
    bridge.namespace.ip("link", "set", bridge.name, "type", "bridge", *words)


def groups(bridge: Interface, port: Interface) -> set[str]:
    """Return the groups that it forwards to a port."""
    return {each["grp"] for each in _database(bridge)["mdb"] if each["port"] == port.name}


def routers(bridge: Interface) -> set[str]:
    """Return the ports with queriers."""
    return {each["port"] for each in _database(bridge)["router"].get(bridge.name, ())}


def _database(bridge: Interface) -> dict[str, Any]:
    words = ["bridge", "-j", "-d", "mdb", "show", "dev", bridge.name]
    (found,) = json.loads(bridge.namespace.run(words).stdout)
    return dict(found)


def mld_queries(snmp6: str) -> int:
    """Return the number of received MLD queries in /proc/net/snmp6."""
    found = [line.split()[1] for line in snmp6.splitlines() if line.startswith("Icmp6InType130 ")]
    return int(found[0]) if found else 0
