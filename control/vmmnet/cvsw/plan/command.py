# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that need only a plan: ``vmmnet cvsw check`` and ``vmmnet cvsw lnids``."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vmmnet.command import output
from vmmnet.command.parser import Parser, subcommand
from vmmnet.command.status import Refused, Status
from vmmnet.hostvlan.table import exchange
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.values import mac

from . import flows, values
from .model import Address, Nic, Plan, Station, Tenant
from .read import MTU_MIN, BadPlan, examine

_CHECK_BRIEF = "check a file of tenants, and show its result"
_CHECK_TEXT = """\
Read a file of tenants and the keys that it names, and say all that is wrong
with it, each with its line. If nothing is, list tenants, NICs and the MTUs that
their guests get. No switch and no NIC is asked.
"""
_LNIDS_BRIEF = "the tenants' LNIDs, for 'vmmnet hostvlan import'"
_LNIDS_TEXT = """\
Write who is in which logical network of HostVLAN, as CSV: NICs, stations and
routers of the tenants that have an LNID in the file.

  vmmnet cvsw lnids tenants.yaml >lnids.csv
  vmmnet hostvlan import lnids.csv
"""
_COLUMNS = ("tenant", "VNI", "LNID", "cipher", "member", "MAC", "tunnel", "MTU", "offloads")


def add_commands(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """Add both to the command line."""
    for name, run, brief, text in (
        ("check", run_check, _CHECK_BRIEF, _CHECK_TEXT),
        ("lnids", run_lnids, _LNIDS_BRIEF, _LNIDS_TEXT),
    ):
        parser = subcommand(subparsers, name, run, brief, text)
        parser.add_argument("file", metavar="FILE", type=Path, help="the file of tenants")


def run_check(given: argparse.Namespace) -> int:
    """``check FILE``."""
    plan, faults = examine(given.file)
    notes = list(_notes(plan)) if plan else []
    if given.json:
        _print_json(given.file, plan, faults, notes)
    else:
        _print_text(given.file, plan, faults, notes)
    return Status.FAULTS if faults else Status.DONE


def run_lnids(given: argparse.Namespace) -> int:
    """``lnids FILE``."""
    plan, faults = examine(given.file)
    if plan is None:
        raise Refused("\n".join(map(str, faults)))
    exchange.write(lnids(plan), "json" if given.json else "csv", sys.stdout)
    return Status.DONE


def lnids(plan: Plan) -> Iterator[Entry]:
    """For HostVLAN: each NIC, station and router with the LNIDs of its tenants.

    A tunnel's address is the only one that a NIC claims in ARP.
    """
    networks: dict[bytes, set[int]] = defaultdict(set)
    addresses: dict[bytes, set[Address]] = defaultdict(set)
    for tenant in plan.tenants:
        if tenant.lnid is None:
            continue
        for tunnel in (member.tunnel for member in tenant.members):
            networks[tunnel.mac].add(tenant.lnid)
            addresses[tunnel.mac].add(tunnel.address)
            if tunnel.next_hop is not None:
                networks[tunnel.next_hop].add(tenant.lnid)
    for own in sorted(networks):
        ip4 = [int(each) for each in addresses[own] if each.version == 4]
        ip6 = [int(each) for each in addresses[own] if each.version == 6]
        yield Entry.of(int.from_bytes(own), networks[own], ip4, ip6)


def _notes(plan: Plan) -> Iterator[str]:
    """Legal settings that are probably mistakes."""
    if not plan.tenants:
        yield "there is no tenant"
    for tenant in plan.tenants:
        if len(tenant.members) == 1:
            yield f"tenant '{tenant.name}' has one member only: it reaches no other"
        least = min(flows.mtu(plan, nic) for nic in tenant.nics)
        if least < MTU_MIN:
            yield (
                f"guests of tenant '{tenant.name}' have an MTU of {least}, and IPv6 asks for"
                f" {MTU_MIN}"
            )


def _print_text(path: Path, plan: Plan | None, faults: list[BadPlan], notes: list[str]) -> None:
    for text in notes:
        print(f"note: {text}")
    for fault in faults:
        print(f"fault: {fault}")
    if plan is None:
        return
    rows = [_row(plan, tenant, each) for tenant in plan.tenants for each in tenant.members]
    if rows:
        print("\n".join(output.columns([_COLUMNS, *rows])))
    print(f"{path}: no fault found")


def _row(plan: Plan, tenant: Tenant, member: Nic | Station) -> tuple[str, ...]:
    return (
        tenant.name,
        str(tenant.vni),
        str(tenant.lnid or "-"),
        tenant.cipher or "-",
        member.name,
        ", ".join(_spelled(each) for each in member.macs),
        str(member.tunnel.address),
        str(flows.mtu(plan, member)) if isinstance(member, Nic) else "-",
        _offloads(member) if isinstance(member, Nic) else "-",
    )


def _offloads(nic: Nic) -> str:
    """Offloads as text; a dash if the file does not restrict them."""
    if nic.offloads is None:
        return "-"
    return ", ".join(values.offload_names(nic.offloads)) or "none"


def _print_json(path: Path, plan: Plan | None, faults: list[BadPlan], notes: list[str]) -> None:
    found: list[dict[str, Any]] = [{"kind": "note", "text": text} for text in notes]
    for fault in faults:
        place = {"line": fault.line, "column": fault.column}
        found.append({"kind": "fault", "text": fault.message, **place})
    tenants = [_tenant_json(plan, tenant) for tenant in plan.tenants] if plan else None
    listed = {"plan": str(path), "faults": len(faults), "findings": found, "tenants": tenants}
    output.print_json(listed)


def _tenant_json(plan: Plan, tenant: Tenant) -> dict[str, Any]:
    return {
        "name": tenant.name,
        "vni": tenant.vni,
        "lnid": tenant.lnid,
        "cipher": tenant.cipher,
        "group": str(tenant.group) if tenant.group else None,
        "vms": [
            {
                **_member_json(nic),
                "mac": _spelled(nic.mac),
                "mtu": flows.mtu(plan, nic),
                "offloads": values.offload_json(nic.offloads),
            }
            for nic in tenant.nics
        ],
        "stations": [
            {**_member_json(each), "macs": [_spelled(one) for one in each.macs]}
            for each in tenant.stations
        ],
    }


def _member_json(member: Nic | Station) -> dict[str, Any]:
    return {"name": member.name, "tunnel": str(member.tunnel.address)}


def _spelled(own: bytes) -> str:
    return mac.text(int.from_bytes(own))
