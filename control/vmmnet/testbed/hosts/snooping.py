# SPDX-License-Identifier: GPL-2.0-or-later
"""Linux bridges that snoop IGMP and MLD, and their tables."""

from __future__ import annotations

import json
from typing import Any

from ..base.net import Interface, Namespace

# Hundredths of a second: a group expires after 6 s without a report; queries go out each second, as
# reports are late on a busy machine. A querier never expires during a test, as no test needs that.
_TIMERS = {
    "mcast_query_interval": 100,
    "mcast_startup_query_interval": 100,
    "mcast_query_response_interval": 50,
    "mcast_last_member_interval": 50,
    "mcast_membership_interval": 600,
    "mcast_querier_interval": 60000,
}
#: Number of general queries until an unreported group has expired.
PAST_EXPIRY = 8


def bridge(space: Namespace, *, querier: bool) -> Interface:
    """Make a bridge, with or without its own querier."""
    made = space.bridge()
    start(made, querier=querier)
    return made


def start(bridge: Interface, *, querier: bool) -> None:
    """Let a bridge snoop from now on, with or without its own querier."""
    timers = [word for name, value in _TIMERS.items() for word in (name, str(value))]
    for words in (["mcast_snooping", "1", *timers], ["mcast_querier", str(int(querier))]):
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
