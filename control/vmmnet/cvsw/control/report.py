# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports for programs: values for JSON, without keys."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..plan import model
from ..plan.flows import mtu
from ..plan.values import offload_json, offload_names
from ..wire.role import Role
from .nics import events as told
from .nics.fabric import Fabric, is_same
from .nics.nic import Nic, Phase, Trouble
from .table import text
from .table.entry import count_flows, setting_order

if TYPE_CHECKING:
    from .controller import Controller

#: Maximum number of events in an answer.
EVENTS_MAX = 1000
_NO_SWITCH, _SLAVE = "no switch", "slave"


def nics_of(plan: model.Plan) -> Iterator[model.Nic]:
    """All NICs of a plan."""
    return (nic for tenant in plan.tenants for nic in tenant.nics)


def nics(fabric: Fabric) -> dict[str, Any]:
    """All NICs, and NICs in no plan."""
    return {
        "nics": [nic(fabric, about.mac) for about in nics_of(fabric.plan)],
        "unknown": [
            {
                "mac": text.mac(mac),
                "frames": each.frames,
                "switch": f"{each.way.datapath_id:016x}",
                "port": each.way.port,
            }
            for mac, each in fabric.strangers.items()
        ],
        "malformed": fabric.malformed,
    }


def nic(fabric: Fabric, mac: bytes) -> dict[str, Any]:
    """One NIC."""
    about, one = fabric.plan.nic(mac), fabric.nics[mac]
    assert about is not None
    return {
        "mac": text.mac(mac),
        "name": about.name,
        "tenant": about.tenant,
        "state": _state(fabric, one),
        "switch": f"{one.way.datapath_id:016x}" if one.way else None,
        "port": one.way.port if one.way else None,
        "flows": None if one.table is None else count_flows(one.table.values()),
        "wanted": count_flows(one.wanted.values()),
        "mtu": one.mtu,
        "offloads": offload_json(about.offloads),
        "offloads_lacking": [] if about.offloads is None else offload_names(one.offloads.lacking),
        "associations": len(one.numbers),
        "peers_without_keys": fabric.keys.missing(mac),
        "wrong_key": one.session.strangers,
        "counters": {
            **one.counters,
            "frames_refused": one.session.refused,
            **one.events.counters,
            "events_lost": one.session.lost,
        },
        "troubles": [_trouble(each) for each in one.troubles.values()],
    }


def _state(fabric: Fabric, one: Nic) -> str:
    if not fabric.leads:
        return "standby"
    if one.way and one.way.datapath_id not in fabric.switches:
        return _NO_SWITCH
    if one.way and fabric.switches[one.way.datapath_id].role is Role.SLAVE:
        return _SLAVE
    if one.troubles:
        return "refused"
    if one.phase is Phase.READY and fabric.is_behind(one.mac):
        return Phase.PROGRAMMING.value
    if one.phase is Phase.READY and fabric.keys.missing(one.mac):
        return "keys"
    return one.phase.value


def unreached(fabric: Fabric) -> list[dict[str, Any]]:
    """The NICs that get nothing at present, and why."""
    said = [(about, _state(fabric, fabric.nics[about.mac])) for about in nics_of(fabric.plan)]
    return [
        {"mac": text.mac(about.mac), "name": about.name, "state": state}
        for about, state in said
        if state in (_NO_SWITCH, _SLAVE, Phase.AWAY.value, Phase.LOST.value)
    ]


def _trouble(each: Trouble) -> dict[str, Any]:
    flow = text.entry(each.flow) if each.flow else None
    return {"about": each.about, "error": each.error, "flow": flow}


def flows(fabric: Fabric, mac: bytes) -> dict[str, Any]:
    """A NIC's flows, and the difference from the wanted ones."""
    one = fabric.nics[mac]
    return {
        **nic(fabric, mac),
        "table": None if one.table is None else [text.entry(each) for each in _sorted(one.table)],
        **_changes(*one.changes()),
    }


def _sorted(table: dict[bytes, Any]) -> list[Any]:
    return sorted(table.values(), key=lambda each: (-setting_order(each)[0], each.key))


def _changes(deleted: list[Any], changed: list[Any]) -> dict[str, list[str]]:
    return {"delete": [text.entry(each) for each in deleted],
            "set": [text.entry(each) for each in changed]}  # fmt: skip


def events(fabric: Fabric, mac: bytes | None, since: int | None, shift: float) -> dict[str, Any]:
    """Events of all NICs or one: the last ones, or the first ones after a serial number.

    ``shift`` is the wall-clock time less the fabric's clock, seconds.
    """
    all_ = [
        (event.serial, one, event)
        for one in ([fabric.nics[mac]] if mac else fabric.nics.values())
        for event in one.events.behind(-1 if since is None else since)
    ]
    pick = heapq.nlargest if since is None else heapq.nsmallest
    some = sorted(pick(EVENTS_MAX, all_, key=lambda each: each[0]), key=lambda each: each[0])
    return {
        "events": [_event(fabric, one, event, shift) for _, one, event in some],
        "last": some[-1][0] if some else since or 0,
    }


def _event(fabric: Fabric, one: Nic, event: told.Event, shift: float) -> dict[str, Any]:
    about = fabric.plan.nic(one.mac)
    return {
        "time": round(event.at + shift, 6),
        "mac": text.mac(one.mac),
        "name": about.name if about else None,
        "number": event.number,
        **told.read(event),
    }


def switches(controller: Controller) -> list[dict[str, Any]]:
    """All switches that are connected, and those refused for their IDs."""
    fabric = controller.fabric
    places = [one.way.datapath_id for one in fabric.nics.values() if one.way]
    return [
        {
            "switch": f"{number:016x}",
            "address": switch.peer,
            "twins": controller.twins(number),
            "openflow": switch.version,
            "role": switch.role.value,
            "nics": places.count(number),
            "refused": switch.refused,
            "repairs": switch.repairs,
            "dropped": switch.dropped,
        }
        for number, switch in sorted(fabric.switches.items())
    ]


def plan(controller: Controller) -> dict[str, Any]:
    """The plan, without its keys."""
    now = controller.fabric.plan
    return {
        "file": str(controller.plan_path) if controller.plan_path else None,
        "underlay_mtu": now.underlay_mtu,
        "port": now.port,
        "tenants": [_tenant(each) for each in now.tenants],
    }


def _tenant(tenant: model.Tenant) -> dict[str, Any]:
    return {
        "name": tenant.name,
        "vni": tenant.vni,
        "lnid": tenant.lnid,
        "cipher": tenant.cipher,
        "nics": [
            {"name": each.name, "mac": text.mac(each.mac), "tunnel": str(each.tunnel.address)}
            for each in tenant.nics
        ],
        "stations": [
            {
                "name": each.name,
                "macs": [text.mac(mac) for mac in each.macs],
                "tunnel": str(each.tunnel.address),
            }
            for each in tenant.stations
        ],
    }


async def differences(fabric: Fabric, other: model.Plan) -> list[dict[str, Any]]:
    """The changes by another plan, NIC by NIC, with the present keys.

    It yields to other tasks meanwhile, as it takes a while for many NICs.
    """
    result = []
    for mac, about, what in changes(fabric, other):
        await asyncio.sleep(0)
        has, will = fabric.flows_of(mac), fabric.flows_of(mac, other)
        if what == "removed":
            will = {key: flow for key, flow in has.items() if flow.drops}
        deleted = [flow for key, flow in has.items() if key not in will]
        changed = [flow for key, flow in will.items() if has.get(key) != flow]
        settings = _settings(fabric.plan, other, mac)
        if deleted or changed or settings or what != "changed":
            result.append(
                {"mac": text.mac(mac), "name": about.name, "what": what}
                | _changes(deleted, changed)
                | {"settings": settings}
            )
    return result


def _settings(before: model.Plan, after: model.Plan, mac: bytes) -> list[dict[str, Any]]:
    """Other settings of a NIC of both plans that differ."""
    was, will = before.nic(mac), after.nic(mac)
    if not was or not will:
        return []
    values: dict[str, tuple[object, object]] = {
        "name": (was.name, will.name),
        "tenant": (was.tenant, will.tenant),
        "key": ("one", "one" if was.key == will.key else "another"),
        "cipher": (before.tenant(was).cipher, after.tenant(will).cipher),
        "mtu": (mtu(before, was), mtu(after, will)),
        "offloads": (offload_json(was.offloads), offload_json(will.offloads)),
    }
    return [
        {"name": name, "before": one, "after": other}
        for name, (one, other) in values.items()
        if one != other
    ]


def changes(fabric: Fabric, other: model.Plan) -> list[tuple[bytes, model.Nic, str]]:
    """The NICs that another plan changes, and how."""
    result = []
    for mac in sorted({about.mac for about in nics_of(other)} | set(fabric.nics)):
        before, after = fabric.plan.nic(mac), other.nic(mac)
        what = "new" if not before else "removed" if not after else "changed"
        about = after or before
        if about and (not is_same(fabric.plan, other, mac) or _settings(fabric.plan, other, mac)):
            result.append((mac, about, what))
    return result
