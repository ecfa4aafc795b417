# SPDX-License-Identifier: GPL-2.0-or-later
"""Other domains of a daemon with the same ``address6``: one host has one of them at a time."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from ipaddress import IPv6Address
from typing import Any

from vmmnet import libvirtd
from vmmnet.command.status import Refused

from . import document, names

# Of the device's words, which are JSON or ``key=value,…``.
_IN_WORDS = re.compile(r"address6\"?\s*[=:]\s*\"?([0-9A-Fa-f:.]+)")
_DEVICE = "virtio-vmrpc"


def of(daemon: libvirtd.Daemon, domain: Any) -> dict[str, bool]:
    """Names of the other domains with an ``address6`` of this one, and whether they run.

    ``domain`` need not be defined. Hand-written words for QEMU count, too. Raises Refused.
    """
    wanted = set(_addresses(domain))
    own = {domain.findtext("name"), domain.findtext("uuid")}
    found: dict[str, bool] = {}
    for name in daemon.names() if wanted else ():
        # It may have gone meanwhile.
        with contextlib.suppress(Refused):
            if own.isdisjoint((name, daemon.uuid(name))):
                runs = daemon.is_running(name)
                texts = [daemon.defined(name), *([daemon.running(name)] if runs else [])]
                if any(wanted.intersection(_addresses(document.parse(each))) for each in texts):
                    found[name] = runs
    return found


def told(name: str, runs: bool) -> str:
    """What is to be said of a domain that ``of`` has found, as the end of a sentence."""
    now = ", which runs" if runs else ""
    return f"is that of the domain '{name}' as well{now}: a host refuses the second that starts"


def _addresses(domain: Any) -> Iterator[IPv6Address]:
    """The ``address6`` of the element, and of hand-written devices; what is none is left out."""
    path = f"metadata/{names.net('net')}/{names.net('sockets')}"
    texts = [each.get("address6", "") for each in domain.iterfind(path)]
    for each in domain.iterfind(f"{names.qemu('commandline')}/{names.qemu('arg')}"):
        words = each.get("value", "")
        texts += _IN_WORDS.findall(words) if _DEVICE in words else []
    for text in texts:
        with contextlib.suppress(ValueError):
            yield IPv6Address(text)
