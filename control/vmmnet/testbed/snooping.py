# SPDX-License-Identifier: GPL-2.0-or-later
"""Linux bridges that snoop IGMP and MLD, and what they know then."""

from __future__ import annotations

import json
from typing import Any

from .net import Interface, Namespace

# Hundredths of a second: a group is gone after 6 s without a report, which is asked for
# each second, as reports are late on a busy machine.  Whoever has sent a query is a
# querier for as long as a test lasts: nobody waits until it is none any more.
_TIMERS = {
    "mcast_query_interval": 100,
    "mcast_startup_query_interval": 100,
    "mcast_query_response_interval": 50,
    "mcast_last_member_interval": 50,
    "mcast_membership_interval": 600,
    "mcast_querier_interval": 60000,
}
#: General queries that have come when a group that nobody reports is gone.
PAST_EXPIRY = 8


def bridge(space: Namespace, *, querier: bool) -> Interface:
    """Make one, that asks by itself or leaves that to others."""
    made = space.bridge(snooping=True)
    timers = [word for name, value in _TIMERS.items() for word in (name, str(value))]
    space.ip("link", "set", made.name, "type", "bridge", *timers)
    space.ip("link", "set", made.name, "type", "bridge", "mcast_querier", str(int(querier)))
    return made


def groups(bridge: Interface, port: Interface) -> set[str]:
    """The groups that it passes on to a port."""
    return {each["grp"] for each in _database(bridge)["mdb"] if each["port"] == port.name}


def routers(bridge: Interface) -> set[str]:
    """The ports that it has heard queries from."""
    return {each["port"] for each in _database(bridge)["router"].get(bridge.name, ())}


def _database(bridge: Interface) -> dict[str, Any]:
    words = ["bridge", "-j", "-d", "mdb", "show", "dev", bridge.name]
    (found,) = json.loads(bridge.namespace.run(words).stdout)
    return dict(found)


def mld_queries(snmp6: str) -> int:
    """How many MLD queries a system has heard, of what /proc/net/snmp6 says."""
    found = [line.split()[1] for line in snmp6.splitlines() if line.startswith("Icmp6InType130 ")]
    return int(found[0]) if found else 0
