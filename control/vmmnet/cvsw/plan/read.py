# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the file of tenants. ``schema.json`` is its form; docs/cvsw-controller.md is the reference.

A fault does not end the reading: all are found at once, each with its line. What cannot be
read is left out, with all that depends on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path

import yaml  # type: ignore[import-untyped]
from vmmnet.cvsw.wire.message import Offload
from vmmnet.hostvlan.table import lnid
from vmmnet.values import mac

from . import flows, values
from .document import BadPlan, Document, Keys, line_of, shown
from .model import Address, Endpoint, Network, Nic, Plan, Station, Tenant

__all__ = ["BadPlan", "examine", "read"]

#: IPv6 asks for 1280 octets (RFC 8200 section 5).
MTU_MIN, MTU_MAX = 1280, 65535
VNI_MAX = (1 << 24) - 1

PLAN = Keys.of("tenants underlay")
UNDERLAY = Keys.of("mtu", "next-hop offloads")
TENANT = Keys.of("vms vni", "cipher group lnid offloads stations")
VM = Keys.of("key mac tunnel", "next-hop offloads")
STATION = Keys.of("macs tunnel tunnel-mac")


def read(path: Path, octets: bytes | None = None) -> Plan:
    """The plan of a file and of the key files that it names.

    ``octets``, if given, are the file's contents. Raises BadPlan: the first fault.
    """
    plan, faults = examine(path, octets)
    if faults:
        raise faults[0]
    assert plan
    return plan


def examine(path: Path, octets: bytes | None = None) -> tuple[Plan | None, list[BadPlan]]:
    """The same, with all faults; there is a plan if there are none."""
    document = Document(path, octets)
    root = document.compose()
    plan = _Reader(document).plan(root) if root else None
    faults = document.sorted_faults()
    return (None if faults else plan), faults


@dataclass(frozen=True)
class _Claim:
    """The owner of a unique value; ``scope`` None: unique in the whole file."""

    owner: str
    line: int
    scope: str | None


@dataclass(frozen=True)
class _Member:
    """A member of a tenant, and the node of its tunnel end."""

    member: Nic | Station
    at: yaml.Node


class _Reader:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._claims: dict[Hashable, list[_Claim]] = defaultdict(list)
        self._next_hop: bytes | None = None
        self._offloads: Offload | None = None

    def plan(self, root: yaml.Node) -> Plan | None:
        """The plan of a document, which collects the faults."""
        top = self._document.record(root, "the plan", PLAN)
        mtu = None
        if "underlay" in top:
            parts = self._document.record(top["underlay"], "underlay", UNDERLAY)
            mtu = self._document.number(parts.get("mtu"), "mtu", MTU_MIN, MTU_MAX)
            self._next_hop = self._mac(parts.get("next-hop"), "next-hop")
            self._offloads = self._on(parts, "underlay", None)
        named = self._document.named(top.get("tenants"), "tenants").values()
        tenants = tuple(self._tenant(key, node) for key, node in named)
        return Plan(tenants, mtu) if mtu else None

    # --- tenants -------------------------------------------------------------------------

    def _tenant(self, key: yaml.Node, node: yaml.Node) -> Tenant:
        document = self._document
        name = document.text(_as_text(key), "a tenant's name", values.name) or key.value
        what = f"tenant '{name}'"
        parts = document.record(node, what, TENANT)
        vni = document.number(parts.get("vni"), "vni", 1, VNI_MAX)
        number = document.number(parts.get("lnid"), "lnid", 1, lnid.MAX)
        cipher = document.text(parts.get("cipher"), "cipher", values.cipher)
        group = document.text(parts.get("group"), "group", values.group)
        on = self._on(parts, what, self._offloads)
        self._claim(("vni", vni), parts.get("vni"), f"vni {vni}", what)
        self._claim(("lnid", number), parts.get("lnid"), f"lnid {number}", what)
        members = [
            *(self._nic(name, on, *item) for item in self._named(parts, "vms", what)),
            *(self._station(name, *item) for item in self._named(parts, "stations", what)),
        ]
        found = [each for each in members if each]
        tenant = Tenant(
            name,
            vni or 0,
            number,
            cipher,
            tuple(each.member for each in found if isinstance(each.member, Nic)),
            tuple(each.member for each in found if isinstance(each.member, Station)),
            group,
        )
        self._check(tenant, found, key, parts)
        return tenant

    def _named(
        self, parts: dict[str, yaml.Node], which: str, what: str
    ) -> list[tuple[yaml.Node, yaml.Node]]:
        return list(self._document.named(parts.get(which), f"{which} of {what}").values())

    def _check(
        self, tenant: Tenant, members: list[_Member], key: yaml.Node, parts: dict[str, yaml.Node]
    ) -> None:
        """Checks that need the whole tenant."""
        bad, what = self._document.bad, f"tenant '{tenant.name}'"
        if "cipher" in parts and "stations" in parts:
            bad(
                parts["stations"],
                f"{what} has a cipher, and stations without CVSW have no keys for it: leave out"
                " 'cipher', or let the stations be tenants of their own",
            )
        if "cipher" in parts and "group" in parts:
            bad(
                parts["group"],
                f"{what} has a cipher, whose keys are of two NICs each: leave out 'group' or"
                " 'cipher'",
            )
        if "vms" in parts and isinstance(parts["vms"], yaml.MappingNode) and not parts["vms"].value:
            bad(parts["vms"], f"{what} has no VM")
        most = flows.members_max(tenant)
        if most is not None and len(members) > most:
            way = "" if tenant.cipher else "; with 'group', there is no limit"
            bad(
                key,
                f"{what} has {len(members)} members, and {most} are the most: a copy of broadcast"
                f" goes to each{way}",
            )
        self._check_family(tenant, members, parts)
        self._check_reach(tenant, members, parts)

    def _check_family(
        self, tenant: Tenant, members: list[_Member], parts: dict[str, yaml.Node]
    ) -> None:
        if not members:
            return
        first = members[0].member
        version = first.tunnel.address.version
        ends = [(each.at, each.member.tunnel.address, each.member.name) for each in members[1:]]
        if tenant.group is not None:
            ends.append((parts["group"], tenant.group, "group"))
        for node, address, name in ends:
            if address.version != version:
                self._document.bad(
                    node,
                    f"{address} of '{name}' is IPv{address.version}, and '{first.name}' in line"
                    f" {line_of(members[0].at)} has IPv{version}: a tenant's tunnels have one of"
                    " them",
                )

    def _check_reach(
        self, tenant: Tenant, members: list[_Member], parts: dict[str, yaml.Node]
    ) -> None:
        for each in members:
            mine, name = each.member.tunnel, each.member.name
            if isinstance(each.member, Station) or (not mine.network and not mine.next_hop):
                continue
            for other in (one.member for one in members if one is not each):
                address = other.tunnel.address
                if address.version != mine.address.version:
                    continue
                if not mine.reaches(address):
                    self._document.bad(
                        each.at,
                        f"{address} of '{other.name}' is not in {mine.network}: give '{name}' or"
                        " underlay a 'next-hop', or leave out the prefix if there is no router",
                    )
                    break
                if tenant.group is not None and not mine.is_beside(address):
                    self._document.bad(
                        parts["group"],
                        f"'{name}' reaches '{other.name}' by its next-hop, and a group goes to one"
                        " layer 2 only: leave out 'group'",
                    )
                    return

    # --- members -------------------------------------------------------------------------

    def _nic(
        self, tenant: str, offloads: Offload | None, key: yaml.Node, node: yaml.Node
    ) -> _Member | None:
        name = self._name(key)
        what = f"VM '{name}'"
        parts = self._document.record(node, what, VM)
        own = self._mac(parts.get("mac"), "mac")
        spelled = mac.text(int.from_bytes(own)) if own else ""
        # As a member's address, and as the outer one of its tunnels.
        if self._claim(("mac", own), parts.get("mac"), f"mac {spelled}", what):
            self._claim(("outer", own), parts.get("mac"), f"mac {spelled}", what)
        secret = self._document.text(
            parts.get("key"), "key", values.key(self._document.path.parent)
        )
        self._claim(("key", secret), parts.get("key"), "the key in this file", what)
        end = self._tunnel(parts.get("tunnel"), what, None)
        next_hop = self._mac(parts.get("next-hop"), "next-hop") or self._next_hop
        on = self._on(parts, what, offloads)
        if own is None or secret is None or end is None:
            return None
        tunnel = Endpoint(own, *end, next_hop)
        return _Member(Nic(name, own, secret, tunnel, tenant, on), parts["tunnel"])

    def _station(self, tenant: str, key: yaml.Node, node: yaml.Node) -> _Member | None:
        name = self._name(key)
        what = f"station '{name}'"
        parts = self._document.record(node, what, STATION)
        macs = []
        for each in self._document.elements(parts.get("macs"), f"macs of {what}"):
            one = self._mac(each, "mac")
            if one:
                macs.append(one)
                spelled = mac.text(int.from_bytes(one))
                self._claim(("mac", one), each, f"mac {spelled}", what, tenant)
        outer = self._mac(parts.get("tunnel-mac"), "tunnel-mac")
        self._claim(("outer", outer), parts.get("tunnel-mac"), "tunnel-mac", what, name)
        end = self._tunnel(parts.get("tunnel"), what, tenant)
        if not macs or outer is None or end is None:
            return None
        if end[1] is not None:
            self._document.bad(
                parts["tunnel"], f"{what} routes by itself: give its address alone, {end[0]}"
            )
        return _Member(Station(name, tuple(macs), Endpoint(outer, end[0]), tenant), parts["tunnel"])

    def _name(self, key: yaml.Node) -> str:
        name = self._document.text(_as_text(key), "a name", values.name)
        self._claim(("name", name), key, f"the name '{name}'", "another")
        return name or str(key.value)

    def _on(
        self, parts: dict[str, yaml.Node], what: str, otherwise: Offload | None
    ) -> Offload | None:
        """The allowed offloads: a list, or the word for none."""
        node = parts.get("offloads")
        if node is None:
            return otherwise
        if isinstance(node, yaml.ScalarNode):
            return self._document.text(node, "offloads", values.no_offload)
        on, bad = Offload(0), self._document.bad
        for each in self._document.elements(node, f"offloads of {what}"):
            one = self._document.text(each, "offloads", values.offload)
            if one is None:
                return None
            if one in on:
                bad(each, f"offloads: {shown(each)} is there already")
            on |= one
        try:
            values.check_offloads(on)
        except ValueError as error:
            bad(node, f"offloads: {error}")
        return on

    def _mac(self, node: yaml.Node | None, what: str) -> bytes | None:
        return self._document.text(node, what, values.station)

    def _tunnel(
        self, node: yaml.Node | None, what: str, scope: str | None
    ) -> tuple[Address, Network | None] | None:
        end = self._document.text(node, "tunnel", values.tunnel)
        if end:
            self._claim(("tunnel", end[0]), node, f"tunnel {end[0]}", what, scope)
        return end

    def _claim(
        self,
        value: tuple[str, Hashable],
        node: yaml.Node | None,
        what: str,
        owner: str,
        scope: str | None = None,
    ) -> bool:
        """Claim a value; it must be unique, except for owners that share it in another scope."""
        if node is None or value[1] is None:
            return True
        for claim in self._claims[value]:
            if claim.scope is None or scope is None or claim.scope == scope:
                self._document.bad(
                    node,
                    f"{what} is that of {claim.owner} in line {claim.line}: each has its own",
                )
                return False
        self._claims[value].append(_Claim(owner, line_of(node), scope))
        return True


def _as_text(key: yaml.Node) -> yaml.Node:
    """A mapping's key as text, whatever its YAML type."""
    return yaml.ScalarNode(key.tag, key.value, key.start_mark, key.end_mark, style="'")
