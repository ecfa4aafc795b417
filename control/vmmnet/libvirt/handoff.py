# SPDX-License-Identifier: GPL-2.0-or-later
"""Decides whether an address is handed off, if the element does not say.

It is if this host has vmmnet-hostd.  The expansion is the same on all hosts and does not
depend on that; so the decision is written into the element.
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
    """Write ``handoff='on'`` if the element has an address6, no ``handoff``, and it is possible.

    ``uri`` is the daemon's: a session has no hook that may register a VM, and another host is
    not visible here.  ``socket`` is vmmnet-hostd's, by default this host's.  A domain without
    a UUID is not changed, as QEMU names the VM by it.  Raises BadElement if there are two
    elements.
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
