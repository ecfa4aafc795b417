# SPDX-License-Identifier: GPL-2.0-or-later
"""The expansion of a whole domain."""

from __future__ import annotations

from copy import deepcopy

from lxml import etree  # type: ignore[import-untyped]

from .. import element, names
from . import inventory, nic, qemu, sockets


def expand(domain: etree._Element) -> etree._Element:
    """A domain with all that its element asks for, and a digest of that in the element.

    ``domain`` is the element ``<domain>``, and stays as it is. A domain without the element
    comes back without what an earlier expansion has made, but for ``<driver name='qemu'/>``
    of NICs, as nothing tells whose that is. Raises BadElement.
    """
    result = _copy(domain)
    net = element.read(result)
    # A netdev comes before the devices that use it, on the command line as well.
    words = [*nic.put(result, net), *sockets.put(result, net)]
    qemu.put(result, words)
    node = element.find(result)
    if node is not None:
        node.set("digest", inventory.digest(result))
    return result


def _copy(domain: etree._Element) -> etree._Element:
    """A copy whose root declares libvirt's namespace for QEMU, as libvirt wants it there."""
    if names.QEMU in domain.nsmap.values():
        return deepcopy(domain)
    copy = etree.Element(domain.tag, domain.attrib, nsmap={**domain.nsmap, "qemu": names.QEMU})
    copy.text, copy.sourceline = domain.text, domain.sourceline
    copy.extend(deepcopy(each) for each in domain)
    return copy
