# SPDX-License-Identifier: GPL-2.0-or-later
"""Hand-written virtio-vmrpc, and the object that hands its address off."""

from __future__ import annotations

from collections.abc import Iterator

from .parts import CannotSay, Kept, Part, attributes
from .source import Source

_DRIVER = "virtio-vmrpc-pci"


def find(source: Source) -> Iterator[Part | Kept]:
    """The device, if the element can express it."""
    found = source.of("-device", _DRIVER)
    if len(found) > 1:
        for each in found:
            yield Kept(
                each.name, f"a domain has one {_DRIVER} by the element, not {len(found)}", (each,)
            )
        return
    for each in found:
        try:
            part = _sockets(source)
        except CannotSay as error:
            yield Kept(each.name, str(error), (each,))
        else:
            yield part
            yield from _handoff(source, part)


def _sockets(source: Source) -> Part:
    (found,) = source.of("-device", _DRIVER)
    if source.net is not None and source.net.sockets is not None:
        raise CannotSay("the element has <vmmnet:sockets> already")
    given = source.pairs(found)
    place = {name: value for name, value in given if name in ("bus", "addr")}
    rest = [pair for pair in given if pair[0] not in ("bus", "addr")]
    return Part(
        f"VMRPC of {found.name}",
        {"sockets": attributes("sockets", rest)},
        source.whole(found),
        place=(place.get("bus", ""), _slot(place.get("addr", ""))),
    )


def _slot(text: str) -> str:
    """``SLOT[.FUNCTION]``, hexadecimal, in the expansion's form."""
    slot, _, function = text.partition(".")
    if not slot or slot == "-1":
        return ""
    try:
        if int(function or "0", 16):
            raise CannotSay(f"its place, addr={text}, is no slot of its own")
        return f"{int(slot, 16):#x}"
    except ValueError:
        raise CannotSay(f"addr={text} is no place in PCI") from None


def _handoff(source: Source, sockets: Part) -> Iterator[Part | Kept]:
    uuid = (source.domain.findtext("uuid") or "").strip().lower()
    for each in source.of("-object", "vmmnet-handoff"):
        vm = each.values("vm")
        if {name for name, _ in each.pairs} != {"vm"}:
            yield Kept(each.name, "the element has no 'path' for it", (each,))
        elif not uuid or vm[-1].lower() != uuid:
            reason = f"its VM, {vm[-1]}, is not the domain's <uuid>"
            yield Kept(each.name, reason, (each,))
        else:
            yield Part(
                f"handoff of {each.name}", {"net": {"handoff": "on"}}, (each,), needs=sockets
            )
