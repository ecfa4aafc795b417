# SPDX-License-Identifier: GPL-2.0-or-later
"""Hand-written netdevs before a NIC, and the switch in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..model import Interface
from .arguments import Argument
from .parts import CannotSay, Kept, Part, attributes
from .source import Nic, Source

_SWITCH = "virtio-net-cvsw-pci"
_SWITCH_PROPERTIES = ("control-secret", "miss", "flows", "masks", "link-mtu", "tunnel-gso")
# Kinds of netdevs in the order of the element's chain.
_KINDS = {"hostvlan": "HostVLAN", "mip6": "Mobile IPv6"}


def find(source: Source) -> Iterator[Part | Kept]:
    """Parts of the domain's NICs that the element can express."""
    for nic in source.nics:
        chain = _walk(source, nic)
        try:
            if chain:
                yield _chain(source, nic, chain)
        except CannotSay as error:
            yield Kept(f"{chain[0].name} at {nic.mac or nic.alias}", str(error), tuple(chain))
        try:
            part = _switch(source, nic)
            if part is not None:
                yield part
        except CannotSay as error:
            yield Kept(f"the switch at {nic.mac or nic.alias}", str(error))


def _walk(source: Source, nic: Nic) -> list[Argument]:
    """Our netdevs, from the NIC on; each names the one behind it."""
    result: list[Argument] = []
    behind = nic.properties.get("netdev", "")
    while True:
        found = source.find("-netdev", behind)
        if found is None or found.kind not in _KINDS or found in result:
            return result
        result.append(found)
        behind = _behind(source, found)


def _behind(source: Source, netdev: Argument) -> str:
    return dict(source.pairs(netdev)).get("netdev", "")


def _chain(source: Source, nic: Nic, chain: list[Argument]) -> Part:
    kinds = [each.kind for each in chain]
    if kinds != [each for each in _KINDS if each in kinds]:
        right = "the element has HostVLAN next to the guest, then Mobile IPv6"
        raise CannotSay(f"{right}, each once; here it is {', then '.join(kinds)}")
    behind = _behind(source, chain[-1])
    if behind != f"host{nic.alias}":
        right = f"which libvirt makes for the NIC and calls 'host{nic.alias}'"
        raise CannotSay(f"behind {chain[-1].name} is '{behind}', and not that {right}")
    before = _asked(source, nic)
    if before is not None and (before.hostvlan or before.mip6):
        raise CannotSay("the element has something before this NIC already")
    given: dict[str, dict[str, str]] = {"interface": {}}
    keys: list[Argument] = []
    for each in chain:
        pairs = [pair for pair in source.pairs(each) if pair[0] != "netdev"]
        if each.kind == "hostvlan":
            given["interface"] = _hostvlan(nic, pairs)
        else:
            pairs, keys = _with_files(source, pairs, "-key", "base64")
            given["mip6"] = attributes("mip6", pairs)
    name = " and ".join(_KINDS[each] for each in kinds)
    words = [word for each in chain for word in source.whole(each)]
    return _part(nic, name, given, ("netdev",), words, keys)


def _hostvlan(nic: Nic, pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    rest = []
    for name, value in pairs:
        # The default is the NIC's MAC address.
        if name != "mac":
            rest.append((name, value))
        elif value.lower().replace("-", ":") != nic.mac:
            raise CannotSay(f"its mac={value} is not the NIC's, which the element goes by")
    return attributes("interface", rest, {"table": "hostvlan"})


def _switch(source: Source, nic: Nic) -> Part | None:
    properties = nic.properties
    if properties.get("driver", nic.model) != _SWITCH:
        return None
    if "control-secret" not in properties:
        if "driver" not in properties:
            return None
        raise CannotSay("it has no control-secret, so that it is no switch")
    before = _asked(source, nic)
    if before is not None and before.cvsw is not None:
        # The NIC's model, or the expansion's own override.
        return None
    own = [(name, properties[name]) for name in _SWITCH_PROPERTIES if name in properties]
    own, keys = _with_files(source, own, "control-secret", "raw")
    given = {"interface": {}, "cvsw": attributes("cvsw", own)}
    return _part(nic, "CVSW", given, ("driver", *_SWITCH_PROPERTIES), (), keys)


def _with_files(
    source: Source, pairs: Iterable[tuple[str, str]], end: str, encoding: str
) -> tuple[list[tuple[str, str]], list[Argument]]:
    """Options with this suffix, with the key's file in place of its ID; and the keys."""
    result, keys = [], []
    for name, value in pairs:
        if name.endswith(end):
            value, found = source.key(value, encoding)
            keys.append(found)
        result.append((name, value))
    return result, keys


def _part(
    nic: Nic,
    name: str,
    given: dict[str, Any],
    properties: tuple[str, ...],
    words: Iterable[Argument],
    keys: Iterable[Argument],
) -> Part:
    if not nic.mac:
        raise CannotSay("the NIC has no <mac address='…'/>, by which the element names it")
    overridden = [each for each, _ in nic.overrides]
    sets = [each for each in nic.sets if each.pairs[0][0] in properties]
    return Part(
        f"{name} at {nic.mac}",
        given,
        (*words, *sets),
        nic.mac,
        frozenset((nic.alias, each) for each in properties if each in overridden),
        tuple(keys),
        not nic.is_named,
    )


def _asked(source: Source, nic: Nic) -> Interface | None:
    """The element's present settings of a NIC."""
    interfaces = () if source.net is None else source.net.interfaces
    return next((each for each in interfaces if each.mac == nic.mac), None)
