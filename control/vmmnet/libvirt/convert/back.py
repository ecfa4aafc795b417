# SPDX-License-Identifier: GPL-2.0-or-later
"""From a domain with the element to one without it, and without the hook."""

from __future__ import annotations

from dataclasses import dataclass

from lxml import etree  # type: ignore[import-untyped]

from .. import element, names
from ..expand import expand, nic, qemu
from . import arguments


@dataclass(frozen=True)
class Written:
    """A domain without the element."""

    domain: etree._Element
    #: What the user has to do from now on, in sentences.
    notes: tuple[str, ...]


def to_commandline(domain: etree._Element) -> Written:
    """A domain with the expansion of its element as the author's own arguments and overrides.

    ``domain`` is not changed. The parts get other names, as a later expansion would remove
    parts with its own names. Raises BadElement.
    """
    result = expand(domain)
    net, node = element.read(domain), element.find(result)
    if node is None:
        return Written(result, ())
    metadata = node.getparent()
    metadata.remove(node)
    if not len(metadata):
        metadata.getparent().remove(metadata)
    _rename(result)
    notes = []
    if net is not None and net.handoff:
        notes.append(
            "vmmnet-hostd has to know the VM and its address6, which the hook told it:"
            " docs/hostd.md has 'register'"
        )
    elif net is not None and net.sockets is not None and net.sockets.address6:
        address = net.sockets.address6
        notes.append(f"nobody looks any more whether {address} is an address of the host")
    if net is not None and any(each.hostvlan for each in net.interfaces):
        notes.append("an agent of HostVLAN is not told any more which ports are here")
    for each in net.interfaces if net is not None else ():
        if each.ebpf:
            notes.append(
                f"nobody attaches HostVLAN in eBPF to {each.mac} any more: 'vmmnet hostvlan attach'"
                " after each start"
            )
    return Written(result, tuple(notes))


def _rename(domain: etree._Element) -> None:
    taken = {each.id for each in arguments.read(domain)}
    taken |= {nic.alias_of(each) for each in nic.nics(domain)}
    new: dict[str, str] = {}
    for words in qemu.ours(domain):
        new[words.id] = _free(words.id.removeprefix(names.OURS), taken)
    for each in nic.nics(domain):
        alias = nic.alias_of(each)
        if alias.startswith(names.OUR_ALIAS):
            name = _free(names.USER_ALIAS + alias.removeprefix(names.OUR_ALIAS), taken)
            new |= {alias: name, f"host{alias}": f"host{name}"}
            each.find("alias").set("name", name)
    arguments.rename(domain, new)
    for device in domain.iter(names.qemu("device")):
        device.set("alias", new.get(device.get("alias"), device.get("alias")))
    for each in domain.iter(names.qemu("property")):
        if each.get("value") in new:
            each.set("value", new[each.get("value")])


def _free(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}-{number}", number + 1
    taken.add(name)
    return name
