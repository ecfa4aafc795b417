# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt protect``: HostVLAN in eBPF for a NIC of a running domain, to stay.

The NIC is written into the domain's element, which goes with the domain into files and to other
hosts; there the hook attaches eBPF to its new interface before QEMU runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lxml import etree  # type: ignore[import-untyped]
from vmmnet import libvirtd
from vmmnet.command import output
from vmmnet.command.status import Refused, Status
from vmmnet.hostvlan.table import filestore
from vmmnet.values import mac as macs

from . import document, ebpf, element, names
from .element import BadElement, Interface
from .expand import digest


def run(given: argparse.Namespace) -> int:
    """``protect DOMAIN MAC``."""
    mac = macs.text(given.mac)
    with libvirtd.opened(given.connect) as daemon:
        if where := urlsplit(daemon.uri()).hostname:
            raise Refused(f"the domain is on {where}: run it there, as its interface is there")
        if daemon.is_session():
            raise Refused(
                "a session has no hook that would attach HostVLAN again: 'vmmnet hostvlan attach"
                f" INTERFACE {mac}' after each start"
            )
        if not daemon.is_running(given.domain):
            raise Refused(
                f"{given.domain} does not run: write <vmmnet:interface mac='{mac}' hostvlan='FILE'"
                " ebpf='on'/> into its <vmmnet:net>, then 'vmmnet libvirt define'"
            )
        live = document.parse(daemon.running(given.domain))
        name = str(live.findtext("name"))
        wanted, is_named = _wanted(given, name, live, mac)
        try:
            interface = ebpf.attach(live, wanted)
        except ebpf.NotAttached as error:
            raise Refused(f"{name}: {error}") from None
        kept = [] if is_named else _keep(daemon, name, live, wanted)
    if given.json:
        told = {"domain": name, "mac": mac, "interface": interface, "written": kept}
        output.print_json(told)
    else:
        print(f"{name}: {mac} has HostVLAN in eBPF at {interface}, and keeps it")
    return Status.DONE


def _wanted(given: argparse.Namespace, name: str, live: Any, mac: str) -> tuple[Interface, bool]:
    """The NIC as it shall be, and whether the element has it already."""
    if mac not in document.nics(live):
        there = ", ".join(document.nics(live)) or "none"
        raise Refused(f"{name}: no NIC has the MAC address {mac}; there are {there}")
    try:
        net = element.read(live)
    except BadElement as error:
        raise Refused(f"{name}: {error}") from None
    options = {
        each: getattr(given, each)
        for each in ("check_sender", "l2_control", "ra_guard", "dhcp_guard")
    }
    asked = {each: value == "on" for each, value in options.items() if value is not None}
    interfaces = net.interfaces if net is not None else ()
    for each in interfaces:
        if each.mac == mac and each.hostvlan is None:
            raise Refused(f"{name}: the element has Mobile IPv6 or a switch before {mac} in QEMU")
        if each.mac == mac and (asked or given.table):
            raise Refused(f"{name}: the element has HostVLAN's options for {mac}: leave yours out")
        if each.mac == mac:
            return each, True
    tables = [each.hostvlan for each in interfaces if each.hostvlan is not None]
    table: Path = given.table or (tables[0] if tables else filestore.DEFAULT)
    return Interface(mac, table.absolute(), **asked, ebpf=True), False


def _keep(daemon: libvirtd.Daemon, name: str, live: Any, wanted: Interface) -> list[str]:
    """Write a NIC into the element of the running domain, and of the definition that has it."""
    _write(daemon, name, live, wanted, of_next_start=False)
    if daemon.is_transient(name):
        return ["running"]
    defined = document.parse(daemon.defined(name))
    if wanted.mac not in document.nics(defined):
        return ["running"]
    _write(daemon, name, defined, wanted, of_next_start=True)
    return ["running", "defined"]


def _write(
    daemon: libvirtd.Daemon, name: str, domain: Any, wanted: Interface, *, of_next_start: bool
) -> None:
    found = element.find(domain)
    root = etree.Element("net")
    for each in found.iterchildren(etree.Element) if found is not None else ():
        root.append(each)
    for key, value in found.attrib.items() if found is not None else ():
        root.set(key, value)
    if found is None:
        # Nothing is made of it in the domain.
        root.set("digest", digest(domain))
    for each in root.findall(names.net("interface")):
        if each.get("mac", "").lower() == wanted.mac:
            root.remove(each)
    given = {
        "mac": wanted.mac,
        "hostvlan": str(wanted.hostvlan),
        "ebpf": "on",
        "check-sender": wanted.check_sender,
        "l2-control": wanted.l2_control,
        "ra-guard": wanted.ra_guard,
        "dhcp-guard": wanted.dhcp_guard,
    }
    words = {
        key: value if isinstance(value, str) else "on" if value else "off"
        for key, value in given.items()
        if value is not None
    }
    etree.SubElement(root, "interface", words)
    # libvirt adds the namespace.
    for each in root.iter(etree.Element):
        each.tag = etree.QName(each).localname
    etree.cleanup_namespaces(root)
    daemon.set_metadata(
        name, etree.tostring(root, encoding="unicode"), names.NET, of_next_start=of_next_start
    )
