# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt define``: defines a file with the element as a domain of libvirt."""

from __future__ import annotations

import argparse
import sys
import uuid
from pathlib import Path

from lxml import etree  # type: ignore[import-untyped]
from vmmnet import libvirtd
from vmmnet.command import output
from vmmnet.command.status import Refused, Status

from . import bare, document, element, handoff, names, sharing
from .element import BadElement, Net
from .expand import OLDEST, differences, expand, missing


def run(given: argparse.Namespace) -> int:
    """``define FILE``."""
    path: Path = given.file
    domain = read(path)
    if given.print:
        _choose(path, domain)
        _print(given, _expanded(path, domain))
        return Status.DONE
    with libvirtd.opened(given.connect) as daemon:
        name = _identify(daemon, path, domain)
        _choose(path, domain, daemon.uri())
        _give(given, daemon, name, _expanded(path, domain))
    return Status.DONE


def _identify(daemon: libvirtd.Daemon, path: Path, domain: etree._Element) -> str:
    """Set the UUID of the existing domain of this name, or a new one; returns the name."""
    name = _name(path, domain)
    if not (domain.findtext("uuid") or "").strip():
        there = daemon.has(name)
        document.identify(domain, daemon.uuid(name) if there else str(uuid.uuid4()))
    return name


def _give(
    given: argparse.Namespace, daemon: libvirtd.Daemon, name: str, expanded: etree._Element
) -> None:
    """Have a daemon define a domain, whole or not at all, and print the result."""
    there = daemon.has(name)
    net = element.read(expanded)
    _check_version(daemon, net)
    for each in net.interfaces if net is not None and daemon.is_session() else ():
        if each.ebpf:
            raise Refused(
                f"{name}: ebpf='on' of {each.mac}: a session has no hook that would attach it:"
                " leave ebpf out, or define the domain at qemu:///system"
            )
    before = daemon.defined(name) if there else None
    daemon.define(document.text(expanded))
    _check_kept(daemon, name, expanded, before)
    after = daemon.defined(name)
    state = "as before" if before == after else "defined anew" if there else "defined"
    later = daemon.is_running(name) and before != after
    others = sharing.of(daemon, expanded)
    if given.json:
        output.print_json(
            {
                "domain": name,
                "uuid": daemon.uuid(name),
                "digest": net.digest if net else None,
                "changed": before != after,
                "running": daemon.is_running(name),
                "same-address6": sorted(others),
            }
        )
    else:
        print(f"{name}: {state}, {brief(net)}")
        if later:
            output.say(f"{name} is running: it is so from its next start on")
        for other, runs in others.items():
            output.say(f"{name}: its address6 {sharing.told(other, runs)}")


def brief(net: Net | None) -> str:
    """An element in a line."""
    if net is None:
        return "without <vmmnet:net>"
    parts = []
    if net.sockets is not None:
        address = net.sockets.address6
        parts.append(f"VMRPC with {address}" if address else "VMRPC without an address6")
    if net.handoff:
        parts.append("handed off")
    for each in net.interfaces:
        vlan = "HostVLAN in eBPF" if each.ebpf else "HostVLAN"
        kinds = {vlan: each.hostvlan, "MIP6": each.mip6, "CVSW": each.cvsw}
        there = [kind for kind, part in kinds.items() if part is not None]
        parts.append(f"{' and '.join(there)} at {each.mac}")
    return ", ".join(parts) or "with an empty <vmmnet:net>"


def read(path: Path) -> etree._Element:
    """The domain in a file. Raises Refused."""
    try:
        return document.read(path)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None
    except document.BadDocument as error:
        raise Refused(f"{path}: {error}") from None


def _choose(path: Path, domain: etree._Element, *uri: str) -> None:
    try:
        handoff.choose(domain, *uri)
    except BadElement as error:
        raise Refused(f"{path}: {error}") from None


def _expanded(path: Path, domain: etree._Element) -> etree._Element:
    try:
        expanded = expand(domain)
        net = element.read(expanded)
        lack = None if net is None else missing(expanded, net) or bare.wrong(expanded, net)
    except BadElement as error:
        lack = error
    if lack is not None:
        raise Refused(f"{path}: {lack}")
    return expanded


def _print(given: argparse.Namespace, domain: etree._Element) -> None:
    text = document.text(domain)
    if given.json:
        net = element.read(domain)
        output.print_json({"digest": net.digest if net else None, "xml": text})
    else:
        sys.stdout.write(text)


def _name(path: Path, domain: etree._Element) -> str:
    name = (domain.findtext("name") or "").strip()
    if not name:
        raise Refused(f"{path}: the domain has no <name>")
    return name


def _check_version(daemon: libvirtd.Daemon, net: Net | None) -> None:
    version = daemon.version()
    if net is not None and net.interfaces and version < OLDEST:
        raise Refused(
            f"libvirt {'.'.join(map(str, version))} is too old: a NIC uses these netdevs by"
            f" qemu:override, which 8.2 has"
        )


def _check_kept(
    daemon: libvirtd.Daemon, name: str, expanded: etree._Element, before: str | None
) -> None:
    """Restore the former domain if libvirt silently dropped something."""
    kept = document.parse(daemon.defined(name))
    lost = differences(kept) or sorted(_words(expanded) - _words(kept))
    if not lost:
        return
    if before is None:
        daemon.undefine(name)
    else:
        daemon.define(before)
    raise Refused(
        f"{name}: libvirt does not keep all of it, so that nothing is changed: " + "; ".join(lost)
    )


def _words(domain: etree._Element) -> set[str]:
    """Arguments and overridden properties of a domain."""
    tags = (names.qemu("arg"), names.qemu("property"))
    return {f"{etree.QName(each).localname} '{each.get('value')}'" for each in domain.iter(*tags)}
