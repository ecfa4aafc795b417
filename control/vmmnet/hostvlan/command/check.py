# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet hostvlan check``: compare the table, the ports and the interfaces.

A *fault* is a state in which wanted frames are dropped, unwanted frames pass, or ports
do not use the table.  A *note* is a state that is allowed but may be a mistake.
"""

from __future__ import annotations

import os
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vmmnet.values import mac

from ..bpf import nic
from ..host.domains import Nic
from ..host.ports import Port
from ..table import claim, layout, lnid
from ..table.entry import Entry
from ..table.filestore import sync_command, table_option
from ..table.table import Table, TableDamaged, TableError

if TYPE_CHECKING:
    from ..bpf import twin

# A note is given if more than this part of the keys in use belongs to removed MACs.
_DEAD = 0.25
# How many findings of a kind are listed.
_EACH = 10

# The number of an address, and once more with the entry that has it.
_Owned = tuple[int, tuple[int, Entry]]


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault or a note, in a sentence."""

    kind: Literal["fault", "note"]
    text: str


def fault(text: str) -> Finding:
    """Make a fault."""
    return Finding("fault", text)


def note(text: str) -> Finding:
    """Make a note."""
    return Finding("note", text)


def file(path: Path) -> Iterator[Finding]:
    """Notes about a file that is not damaged."""
    try:
        with Table.open(path, verify=False) as table:
            keys, values = table.slots()
            mode = table.mode
    except TableError:
        # FileStore.problems() reports damage.
        return
    used = len(keys) - keys.count(0)
    dead = sum(
        1
        for key, value in zip(keys, values, strict=True)
        if key and layout.kind(value) == layout.NONE
    )
    if used and dead > used * _DEAD:
        yield note(
            f"{dead:,} of {used:,} keys in use are of MAC addresses that were removed;"
            " they go when the table next needs room, or by 'export' and 'import --replace'"
        )
    if mode & 0o022:
        yield fault(f"{path}: others than its owner may write to it (mode {mode:04o}): chmod go-w")


def entries(found: Iterable[Entry]) -> Iterator[Finding]:
    """Notes about the entries of a table."""
    members: dict[int, list[int]] = defaultdict(list)
    # By LNID and family.
    owners: dict[tuple[int, int], list[_Owned]] = defaultdict(list)
    mixed = []
    lnids: dict[int, tuple[int, ...]] = {}
    senders = []
    for entry in found:
        for number in entry.lnids:
            # A note names the only member of a network; of more, two MACs are enough to know.
            if len(members[number]) < 2:
                members[number].append(entry.mac)
        for bits, numbers in ((32, entry.ip4), (128, entry.ip6)):
            for network in entry.lnids if numbers else ():
                owners[network, bits] += [(each, (each, entry)) for each in numbers]
        if lnid.GLOBAL in entry.lnids and len(entry.lnids) > 1:
            mixed.append(entry)
        lnids[entry.mac] = entry.lnids
        if entry.also:
            senders.append(entry)
    yield from _few(
        note(
            f"{mac.text(entry.mac)} has the global LNID, so that its other LNIDs"
            f" ({lnid.listed(entry.lnids[1:])}) make no difference"
        )
        for entry in mixed
    )
    yield from _few(
        note(f"LNID {number} has one member only, {mac.text(macs[0])}: it speaks to nobody there")
        for number, macs in sorted(members.items())
        if len(macs) == 1 and number != lnid.GLOBAL
    )
    yield from _few(_shared_addresses(owners, senders))
    yield from _few(_unheard(senders, lnids))


def _unheard(senders: list[Entry], lnids: dict[int, tuple[int, ...]]) -> Iterator[Finding]:
    """Notes about MACs as which ports may send although no other port hears them."""
    for entry in senders:
        for other in entry.also:
            if other not in lnids:
                yield note(unheard(entry.mac, other))
            elif not {*lnids[other], *entry.lnids} & {lnid.GLOBAL} and not (
                set(lnids[other]) & set(entry.lnids)
            ):
                yield note(
                    f"the port of {mac.text(entry.mac)} may send as {mac.text(other)}, which shares"
                    " no network with it: answers do not reach that port"
                )


def unheard(number: int, other: int) -> str:
    """A sentence about a further MAC of a port that is not in the table."""
    return (
        f"{mac.text(other)}, as which the port of {mac.text(number)} may send, is not in the table,"
        f" so that nobody hears it: vmmnet hostvlan add {mac.text(other)} LNID"
    )


def _shared_addresses(
    owners: dict[tuple[int, int], list[_Owned]], senders: list[Entry]
) -> Iterator[Finding]:
    """Faults: an IP address of two members of one network.  Other tenants may use it.

    Routers with VRRP share addresses through ``--also``: see _is_meant().
    """
    ports: dict[int, set[int]] = defaultdict(set)
    for entry in senders:
        for number in entry.also:
            ports[number].add(entry.mac)
    further: dict[int, Entry] = {}
    if ports:
        further = {
            entry.mac: entry
            for owned in owners.values()
            for _, (_, entry) in owned
            if entry.mac in ports
        }
    for (network, bits), owned in sorted(owners.items(), key=lambda each: each[0]):
        for (inner, one), (outer, other) in claim.overlaps(owned, bits):
            common = sorted(set(one.lnids) & set(other.lnids))
            # They meet in each of these.
            if one.mac == other.mac or network != common[0]:
                continue
            if not _is_meant(inner, one, other, bits, ports, further):
                yield fault(
                    f"{_shared(inner, one, outer, other, bits)},"
                    f" and both are in {lnid.named(common)}"
                )


def _is_meant(
    number: int,
    one: Entry,
    other: Entry,
    bits: int,
    ports: dict[int, set[int]],
    further: dict[int, Entry],
) -> bool:
    """Whether two MACs share an address as VRRP's routers do.

    One port may send as both; or the ports of both may send as a third MAC that has the
    address.  ``ports`` are those that may send as a further MAC, ``further`` its entry.
    """
    if ({one.mac} | ports.get(one.mac, set())) & ({other.mac} | ports.get(other.mac, set())):
        return True
    return any(
        claim.covers(each, number, bits)
        for third in set(one.also) & set(other.also)
        if third in further
        for each in (further[third].ip4 if bits == 32 else further[third].ip6)
    )


def _shared(inner: int, one: Entry, outer: int, other: Entry, bits: int) -> str:
    pair = (inner, outer)
    each, around = claim.join(pair, ()) if bits == 32 else claim.join((), pair)
    if each != around:
        return f"{each}, of {mac.text(one.mac)}, is in {around}, of {mac.text(other.mac)}"
    first, second = sorted((one.mac, other.mac))
    what = "a prefix" if inner >> bits else "an address"
    return f"{each} is {what} of {mac.text(first)} and of {mac.text(second)}"


def _few(findings: Iterable[Finding]) -> Iterator[Finding]:
    kind: Literal["fault", "note"] = "note"
    more = 0
    for number, finding in enumerate(findings, 1):
        if number <= _EACH:
            yield finding
        else:
            kind, more = finding.kind, more + 1
    if more:
        yield Finding(kind, f"… and {more:,} more like the last")


def followers(problems: Iterable[str]) -> Iterator[Finding]:
    """Faults: hosts that do not follow a store."""
    return _few(map(fault, problems))


def ports(found: Sequence[Port], path: Path) -> Iterator[Finding]:
    """Faults of QEMUs' ports with regard to the table at a path."""
    try:
        table = Table.open(path, verify=False)
    except TableError:
        table = None
    try:
        seen: dict[int, str] = {}
        for port in found:
            yield from _port(port, path, table)
            if port.mac is not None and seen.setdefault(port.mac, port.name) != port.name:
                yield fault(
                    f"{port.name} and {seen[port.mac]} have the same MAC address,"
                    f" {mac.text(port.mac)}"
                )
    finally:
        if table is not None:
            table.close()


def _port(port: Port, path: Path, table: Table | None) -> Iterator[Finding]:
    if port.error:
        yield fault(f"{port.name}: {port.error}")
    if os.path.realpath(port.table) != os.path.realpath(path):
        yield fault(f"{port.name} uses another table, {port.table}, not {path}")
        return
    if port.mac is None:
        yield fault(f"{port.name} has no MAC address: nothing passes; start QEMU with mac=")
        return
    if table is None:
        return
    yield from _in_table(port.name, port.mac, table)
    if port.generation is None:
        if not port.error:
            yield fault(f"{port.name} has no table in force: nothing passes")
    elif port.generation < table.generation:
        yield fault(
            f"{port.name} uses generation {port.generation} of the table,"
            f" which has reached {table.generation}"
        )


def _in_table(name: str, number: int, table: Table) -> Iterator[Finding]:
    spelled = mac.text(number)
    try:
        known = number in table
    except TableDamaged:
        yield fault(f"{name}: what the table has for {spelled} is damaged: nothing passes")
        return
    if not known:
        yield fault(
            f"{name}: {spelled} is not in the table, so that nothing passes:"
            f" vmmnet hostvlan add {spelled} LNID"
        )


def attachments(path: Path | None) -> Iterator[Finding]:
    """Faults of interfaces with the eBPF twin with regard to the table at a path.

    None: with regard to the table of each.
    """
    from ..bpf import twin

    try:
        found = [each for each in twin.status() if each.here]
    except twin.TwinError as error:
        yield note(f"the interfaces with HostVLAN are not known: {error}")
        return
    if path is not None:
        yield from _attachments(found, path)
        return
    for table in sorted({each.table for each in found}):
        yield from _attachments([each for each in found if each.table == table], table)


def _attachments(found: Sequence[twin.Attachment], path: Path) -> Iterator[Finding]:
    from ..bpf import twin

    if not found:
        return
    try:
        with Table.open(path, verify=False) as table:
            synced = twin.is_synced(path)
            for each in found:
                yield from _attachment(each, path, table, synced)
    except TableError:
        return


def _attachment(each: twin.Attachment, path: Path, table: Table, synced: bool) -> Iterator[Finding]:
    now = nic.own_mac(each.interface)
    if now not in (None, each.mac):
        yield fault(
            f"{each.interface} has the MAC address {mac.text(now)} now, and was attached with"  # type: ignore[arg-type,unused-ignore]  # mypy 1.18 does not narrow it, 2.4 does
            f" {mac.text(each.mac)}: 'ip link set {each.interface} address …' makes one stay"
        )
    if not each.whole:
        missing = ", ".join(hook.place for hook in each.hooks if hook.present is False)
        yield fault(f"{each.interface}: the programs are missing at {missing}: {_mend(each)}")
    if each.overtaken:
        yield fault(
            f"{each.interface}: another program comes before HostVLAN's at"
            f" {', '.join(each.overtaken)}, and what it lets pass is not checked: {_mend(each)}"
            " (HostVLAN comes first again)"
        )
    if os.path.realpath(each.table) != os.path.realpath(path):
        yield fault(f"{each.interface} uses another table, {each.table}, not {path}")
        return
    yield from _in_table(each.interface, each.mac, table)
    if each.generation < table.generation:
        yield fault(
            f"{each.interface} uses generation {each.generation} of the table, which has"
            f" reached {table.generation}: {sync_command(path)}"
        )
    elif not synced:
        # A change in place was interrupted before it raised the generation.
        yield fault(f"{each.interface} uses other contents than the table's: {sync_command(path)}")


def _mend(each: twin.Attachment) -> str:
    """The command that attaches an interface again, with the same arguments."""
    words = ["vmmnet hostvlan attach", each.interface, mac.text(each.mac)]
    if any((hook.verdict, hook.place) == ("send", "tc ingress") for hook in each.hooks):
        words.append("--sending tc")
    if each.l2_control:
        words.append("--l2-control on")
    for option in ("check_sender", "ra_guard", "dhcp_guard"):
        if getattr(each, option):
            words.append(f"--{option.replace('_', '-')} on")
    return " ".join([*words, table_option(each.table)]).rstrip()


def bridges(found: Sequence[Port], nics: Mapping[str, Nic]) -> Iterator[Finding]:
    """Faults and notes: bridge ports without HostVLAN.

    ``found`` are the ports of QEMUs, ``nics`` those of libvirt's domains by interface.
    """
    from ..bpf import twin

    try:
        guarded = {each.interface for each in twin.status() if each.here}
    except twin.TwinError:
        # attachments() reports this.
        return
    guarded |= {port.interface for port in found if port.interface}
    links = nic.links()
    for bridge in links:
        if bridge.kind == "bridge":
            members = [each for each in links if each.master == bridge.index]
            if any(each.name in guarded for each in (bridge, *members)):
                yield from _bridge(bridge, members, guarded, nics)


def _bridge(
    bridge: nic.Link, members: Sequence[nic.Link], guarded: set[str], nics: Mapping[str, Nic]
) -> Iterator[Finding]:
    for each in members:
        attach = f"vmmnet hostvlan attach {each.name} MAC"
        if each.name in guarded:
            continue
        if each.name in nics:
            domain, spelled = nics[each.name].domain, nics[each.name].mac
            yield fault(
                f"{each.name}, the NIC {spelled} of the domain {domain}, is a port of {bridge.name}"
                " without HostVLAN, so that this VM reaches all tenants:"
                f" vmmnet libvirt protect {shlex.quote(domain)} {spelled}"
            )
        elif each.kind == "tun":
            yield fault(
                f"{each.name} is a port of {bridge.name} without HostVLAN, so that its VM reaches"
                f" all tenants: {attach}; or its QEMU does not answer, see --qmp"
            )
        elif each.kind == "veth":
            yield note(
                f"{each.name} is a port of {bridge.name} without HostVLAN: right if it leads to"
                f" the network, wrong if to a container: {attach}"
            )
    if bridge.name not in guarded:
        yield note(
            f"{bridge.name} itself has no HostVLAN, so that every VM on it reaches this host:"
            f" vmmnet hostvlan attach {bridge.name}"
        )
