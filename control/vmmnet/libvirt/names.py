# SPDX-License-Identifier: GPL-2.0-or-later
"""Namespaces, and the names by which what the expansion made is known again.

libvirt keeps neither comments nor attributes of strangers, so a name is all that marks a thing
as ours: whatever has an ID or an alias with these prefixes is replaced with the next expansion.
"""

from __future__ import annotations

#: The namespace of the element.
NET = "https://vmmnet.example/net/1"
#: libvirt's namespace for what goes to QEMU as it is.
QEMU = "http://libvirt.org/schemas/domain/qemu/1.0"
#: IDs in QEMU begin so.
OURS = "vmmnet-"
#: Aliases in the domain begin so; libvirt wants ``ua-`` before those that are not its own.
OUR_ALIAS = "ua-vmmnet-"
#: Any alias that stays when a domain is defined begins so.
USER_ALIAS = "ua-"
#: QEMU's device with the sockets.
SOCKETS = OURS + "sockets"
#: QEMU's object that hands addresses to another host.
HANDOFF = OURS + "handoff"


def net(tag: str) -> str:
    """A tag of the element's namespace, as lxml has it."""
    return f"{{{NET}}}{tag}"


def qemu(tag: str) -> str:
    """A tag of libvirt's namespace for QEMU, as lxml has it."""
    return f"{{{QEMU}}}{tag}"


def alias_of(mac: str) -> str:
    """The alias that a NIC gets which has none of its own."""
    return OUR_ALIAS + mac.replace(":", "")


def id_of(kind: str, mac: str) -> str:
    """The ID of what stands before a NIC, or of a key for it: ``vmmnet-KIND-MAC``."""
    return f"{OURS}{kind}-{mac.replace(':', '')}"
