# SPDX-License-Identifier: GPL-2.0-or-later
"""The expansion of a whole domain."""

from __future__ import annotations

from copy import deepcopy

from lxml import etree  # type: ignore[import-untyped]

from .. import element, names
from . import inventory, nic, qemu, sockets


def expand(domain: etree._Element) -> etree._Element:
    """A domain with the expansion of its element, and a digest of it in the element.

    ``domain`` is the element ``<domain>``, and is not changed. A domain without the element
    loses an earlier expansion, except ``<driver name='qemu'/>`` of NICs, which may be the
    user's. Raises BadElement.
    """
    result = _copy(domain)
    net = element.read(result)
    # On the command line, too, a netdev comes before the devices that use it.
    words = [*nic.put(result, net), *sockets.put(result, net)]
    qemu.put(result, words)
    node = element.find(result)
    if node is not None:
        node.set("digest", inventory.digest(result))
    return result


def _copy(domain: etree._Element) -> etree._Element:
    """A copy whose root declares libvirt's namespace for QEMU, as libvirt requires."""
    if names.QEMU in domain.nsmap.values():
        return deepcopy(domain)
    copy = etree.Element(domain.tag, domain.attrib, nsmap={**domain.nsmap, "qemu": names.QEMU})
    copy.text, copy.sourceline = domain.text, domain.sourceline
    copy.extend(deepcopy(each) for each in domain)
    return copy
