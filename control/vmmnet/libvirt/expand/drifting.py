# SPDX-License-Identifier: GPL-2.0-or-later
"""Describes how our parts of a domain differ from the expansion of its element."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree  # type: ignore[import-untyped]

from .. import element, names
from . import nic, qemu
from .inventory import Item, digest, made, other_models
from .whole import expand

_REMEDY = "vmmnet libvirt define"


def drift(domain: etree._Element) -> list[str]:
    """The differences, in sentences; empty if the domain is as ``expand`` makes it.

    Only our parts count; their names and order, addresses that libvirt assigns, and the
    user's parts do not. Raises BadElement if the element itself is wrong.
    """
    found = differences(domain)
    net = element.read(domain)
    if net is None or (not found and net.digest == digest(domain)):
        return found
    if net.digest is None and not qemu.ours(domain) and not qemu.aliases(domain):
        return [f"the domain was never expanded: '{_REMEDY}' does that"]
    if not found and (models := list(_models(domain, net.digest or ""))):
        return [f"a NIC was changed since the domain was expanded: '{_REMEDY}' follows it", *models]
    if not found:
        return [
            "<vmmnet:net>, or a NIC that it names, and what was made of that were edited alike:"
            f" the digest is {_shown(net.digest or '')} instead of '{digest(domain)}'"
        ]
    if net.digest == digest(domain):
        reason = f"<vmmnet:net> was changed since the domain was expanded: '{_REMEDY}' follows it"
    else:
        reason = f"what was expanded has been edited: '{_REMEDY}' makes it anew"
    return [reason, *found]


def differences(domain: etree._Element) -> list[str]:
    """The same without the reason at its beginning, whatever the digest."""
    return list(_differences(made(domain), made(expand(domain))))


def changes(before: etree._Element, after: etree._Element) -> list[str]:
    """What two expanded domains differ in, in sentences: our parts, and the models of NICs."""
    found = list(_differences(made(before), made(after)))
    were = {nic.mac_of(each): nic.model_of(each) for each in nic.nics(before)}
    for each in nic.nics(after):
        mac, model = nic.mac_of(each), nic.model_of(each)
        if found and were.get(mac, model) != model:
            found.append(f"NIC {mac}: the model is {_shown(were[mac])} instead of {_shown(model)}")
    return found


def _models(domain: etree._Element, wanted: str) -> Iterator[str]:
    """NICs that were of virtio when the domain got its digest, or are now, in sentences."""
    macs = other_models(domain, wanted)
    for each in nic.nics(domain):
        if nic.mac_of(each) in macs:
            before = "another one than virtio's" if nic.is_virtio(each) else "virtio's"
            model = _shown(nic.model_of(each))
            yield f"NIC {nic.mac_of(each)}: the model is {model} instead of {before}"


def _differences(there: list[Item], wanted: list[Item]) -> Iterator[str]:
    have = {each.name: each.text for each in there}
    want = {each.name: each.text for each in wanted}
    for name, text in want.items():
        if name not in have:
            yield f"{name} is missing: {_shown(text)}"
        elif have[name] != text:
            yield f"{name} is {_shown(have[name])} instead of {_shown(text)}"
    for name, text in have.items():
        if name not in want:
            yield f"{name} is there, and nothing asks for it: {_shown(text)}"
    if there != wanted and sorted(have.items()) == sorted(want.items()):
        yield f"the words of QEMU whose IDs begin with '{names.OURS}' are in another order"


def _shown(text: str) -> str:
    return f"'{text}'" if text else "nothing"
