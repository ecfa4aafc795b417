# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether an address is handed off, where the element does not say.

It is if this host has vmmnet-hostd.  The expansion, which is the same on all hosts, does
not ask; what is found here is written into the element.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from lxml import etree  # type: ignore[import-untyped]

from . import element, names
from .host import hostd

_ATTRIBUTE = "handoff"


def choose(
    domain: etree._Element, uri: str = "qemu:///system", *, socket: Path | None = None
) -> None:
    """Write ``handoff='on'`` if the element says nothing, has an address6, and it can be done.

    ``uri`` is of the daemon that has the domain: a session's has no hook that may register
    a VM, and what another host has is not seen here.  ``socket`` is vmmnet-hostd's, of this
    host by default.  A domain without a UUID is left alone, as QEMU names the VM by it.
    Raises BadElement if the element is there twice.
    """
    node = element.find(domain)
    if node is None or node.get(_ATTRIBUTE) is not None:
        return
    sockets = node.find(names.net("sockets"))
    where = urlsplit(uri)
    if (
        sockets is not None
        and sockets.get("address6")
        and (domain.findtext("uuid") or "").strip()
        and where.path == "/system"
        and not where.hostname
        and (socket or hostd.SOCKET).is_socket()
    ):
        node.set(_ATTRIBUTE, "on")
