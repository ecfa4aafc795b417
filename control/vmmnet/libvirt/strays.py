# SPDX-License-Identifier: GPL-2.0-or-later
"""Elements that are meant as ``<vmmnet:net>``, and are none by their namespace or place.

libvirt keeps or drops them in silence, and the VM would start without what they ask for.
"""

from __future__ import annotations

import difflib
import re

from lxml import etree  # type: ignore[import-untyped]

from . import names
from .schema import BadElement

_PREFIX = "vmmnet"
# How a namespace that is meant to be ours begins. The hook's script, libvirt/vmmnet, has the same.
_LIKE_OURS = re.compile(r"\s*(?:[a-z]*[:/]+)?vmmnet\.", re.IGNORECASE)
_PLACE = f"metadata/{names.net('net')}"


def check(domain: etree._Element) -> None:
    """Raise BadElement for the first stray of a domain; ``net.rng`` has the rest."""
    right = domain.findall(_PLACE)
    for node in domain.iter(etree.Element):
        if any(each in right for each in (node, *node.iterancestors())):
            continue
        name = etree.QName(node)
        if name.namespace == names.NET:
            raise BadElement(node, "", "", _misplaced(node, name.localname))
        if _is_meant(node, name.namespace or ""):
            raise _mistyped(node, name.namespace or "")


def _is_meant(node: etree._Element, namespace: str) -> bool:
    """Whether an element of another namespace is meant as ours."""
    if node.prefix == _PREFIX or _LIKE_OURS.match(namespace):
        return True
    # Other tools may have a <net>, and an <interface> in it.
    return etree.QName(node).localname == "net" and any(map(_is_our_part, node))


def _is_our_part(node: etree._Element) -> bool:
    if not isinstance(node.tag, str):
        return False
    name = etree.QName(node).localname
    inside = {etree.QName(each).localname for each in node.iterchildren(etree.Element)}
    in_a_nic = "hostvlan" in node.attrib or not inside.isdisjoint(("mip6", "cvsw"))
    return name == "sockets" or (name == "interface" and in_a_nic)


def _mistyped(node: etree._Element, namespace: str) -> BadElement:
    write = f"write xmlns:{node.prefix or _PREFIX}='{names.NET}'"
    if not namespace:
        right = f"has no namespace: {write}, and <{_PREFIX}:{etree.QName(node).localname}>"
        return BadElement(node, "", "", right)
    declared = f"xmlns:{node.prefix}" if node.prefix else "xmlns"
    if not node.prefix:
        write = f"write xmlns='{names.NET}'"
    right = f"this namespace is not that of <{_PREFIX}:net>: {write}"
    return BadElement(node, declared, namespace, right)


def _misplaced(node: etree._Element, name: str) -> str:
    parent = node.getparent()
    if name == "net":
        return "is not a child of the domain's <metadata>: put it there"
    near = difflib.get_close_matches(name, ["net"], n=1)
    if near and parent is not None and parent.tag == "metadata":
        return f"there is no element '{name}' here: is it 'net'?"
    return f"is not in <{_PREFIX}:net>, a child of the domain's <metadata>: put it there"
