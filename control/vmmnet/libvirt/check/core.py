# SPDX-License-Identifier: GPL-2.0-or-later
"""All checks of a domain."""

from __future__ import annotations

from collections.abc import Iterator

from .. import element
from ..element import BadElement
from ..expand import drift
from . import definition, emulator, files, hook, log, network, validator
from .facts import Domain, Finding, Host


def findings(domain: Domain, host: Host) -> Iterator[Finding]:
    """All faults and notes about a domain on a host."""
    try:
        net = element.read(domain.defined)
    except BadElement as error:
        yield definition.bad(domain, error)
        return
    if net is None and not domain.is_file and (left := drift(domain.defined)):
        yield definition.left_over(domain, left)
        return
    if net is None:
        told = "the domain has no <vmmnet:net>, so that nothing was checked"
        yield Finding(domain.name, told, "docs/libvirt-element.md has an example", "note")
        return
    yield from definition.check(domain, net, host)
    yield from hook.check(host)
    yield from emulator.check(domain, host)
    yield from files.check(domain, net, host)
    yield from log.check(domain, net, host)
    yield from validator.check(domain, net, host)
    yield from network.check(domain, net, host)
