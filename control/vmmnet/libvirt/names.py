# SPDX-License-Identifier: GPL-2.0-or-later
"""Namespaces, and the names that mark parts of an expansion.

libvirt keeps neither comments nor foreign attributes, so only names mark our parts: the next
expansion replaces whatever has an ID or alias with these prefixes.
"""

from __future__ import annotations

#: The namespace of the element.
NET = "https://vmmnet.example/net/1"
#: libvirt's namespace for arguments of QEMU.
QEMU = "http://libvirt.org/schemas/domain/qemu/1.0"
#: Prefix of IDs in QEMU.
OURS = "vmmnet-"
#: Prefix of aliases in the domain; libvirt requires ``ua-`` for user aliases.
OUR_ALIAS = "ua-vmmnet-"
#: Prefix of aliases that libvirt keeps.
USER_ALIAS = "ua-"
#: ID of QEMU's device with the sockets.
SOCKETS = OURS + "sockets"
#: ID of QEMU's character device with their audit log.
AUDIT = OURS + "audit"
#: ID of QEMU's object that hands addresses to another host.
HANDOFF = OURS + "handoff"


def net(tag: str) -> str:
    """A tag of the element's namespace, in lxml's form."""
    return f"{{{NET}}}{tag}"


def qemu(tag: str) -> str:
    """A tag of libvirt's namespace for QEMU, in lxml's form."""
    return f"{{{QEMU}}}{tag}"


def alias_of(mac: str) -> str:
    """The alias of a NIC without its own."""
    return OUR_ALIAS + mac.replace(":", "")


def id_of(kind: str, mac: str) -> str:
    """The ID of a netdev before a NIC, or of a key: ``vmmnet-KIND-MAC``."""
    return f"{OURS}{kind}-{mac.replace(':', '')}"
