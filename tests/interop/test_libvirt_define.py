# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt define`` with libvirt's own daemon: what it keeps, and that it boots."""

from __future__ import annotations

import base64
import contextlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from lab.base import commandline, paths, tools
from lab.base.commandline import Answer
from lab.libvirt import session as libvirt_session
from lab.libvirt.session import MODULE, Session, bootable, connect, run
from lab.peers.lab import DNS_ADDRESS, PAGE, VM_ADDRESS, Lab, lab
from lxml import etree
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.libvirt import document, names
from vmmnet.libvirt.expand import drift, expand
from vmmnet.values import mac as macs

_PAGE = paths.ROOT / "docs" / "libvirt-element.md"
_MAC = "52:54:00:12:34:56"


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


@pytest.fixture(scope="module")
def session(world: Lab) -> Iterator[Session]:
    with libvirt_session.session(world, 1) as made:
        yield made


@pytest.fixture(scope="module")
def domain(world: Lab, session: Session) -> Path:
    """The domain of the page, with a tap in place of the bridge, and the guest of the test bed."""
    found = re.findall(r"^```xml\n(<domain .*?</domain>)\n```$", _PAGE.read_text(), re.M | re.S)
    text = found[0].replace("2001:db8:1::c0de", VM_ADDRESS).replace("2001:db8:1::53", DNS_ADDRESS)
    table = session.folder / "lnid.table"
    with Table.change(table) as change:
        change.set(Entry.of(macs.parse(_MAC), [7]))
    table.chmod(0o644)
    text = text.replace("/var/lib/vmmnet/lnid.table", str(table))
    tree = ElementTree.fromstring(text)
    nic = tree.find("devices/interface")
    assert nic is not None
    libvirt_session.on_tap(nic, "tap0", _MAC)
    libvirt_session.tap(world.host, "tap0", world.host.bridge("tenants"))
    file = session.folder / "guest.xml"
    file.write_text(bootable(tree, session))
    return file


@pytest.fixture(scope="module")
def libvirt(session: Session) -> Callable[..., Answer]:
    """Run ``vmmnet libvirt`` with the session's daemon."""
    uri = f"qemu+unix:///session?socket={session.folder}/libvirt/libvirt-sock"

    def ask(command: str, *words: str | Path) -> Answer:
        return commandline.run("libvirt", command, *map(str, words), "--connect", uri)

    return ask


def test_defined_twice_is_the_same(
    domain: Path, session: Session, libvirt: Callable[..., Answer]
) -> None:
    """Also when what libvirt has made of it is defined: nothing is added, nothing is lost."""
    what = f"VMRPC with {VM_ADDRESS}, HostVLAN at {_MAC}\n"
    answer = libvirt("define", domain)
    assert answer == Answer(0, f"guest: defined, {what}", ""), answer
    first = session.virsh("dumpxml", "--inactive", "guest")
    assert libvirt("define", domain) == Answer(0, f"guest: as before, {what}", "")
    assert session.virsh("dumpxml", "--inactive", "guest") == first
    back = document.parse(first)
    assert drift(back) == []
    assert document.text(expand(back)) == document.text(back)
    form = etree.RelaxNG(file=str(tools.system() / "usr/share/libvirt/schemas/domain.rng"))
    assert form.validate(back), form.error_log
    file = session.folder / "back.xml"
    file.write_text(first)
    assert libvirt("define", file).status == 0
    again = session.virsh("dumpxml", "--inactive", "guest")
    # libvirt orders its controllers otherwise when it reads them with their places.
    assert sorted(again.splitlines()) == sorted(first.splitlines())
    assert libvirt("define", file) == Answer(0, f"guest: as before, {what}", "")


def test_libvirt_gives_the_place_to_nobody(
    domain: Path, session: Session, libvirt: Callable[..., Answer]
) -> None:
    """Of a domain with devices of many kinds; those of the user stay."""
    tree = etree.parse(str(domain)).getroot()
    tree.find("name").text = "crowded"
    devices = tree.find("devices")
    for text in (
        *["<interface type='user'><model type='virtio'/></interface>"] * 12,
        "<interface type='user'><model type='e1000'/></interface>",
        "<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>",
        "<watchdog model='i6300esb' action='none'/>",
        "<controller type='scsi' index='0' model='virtio-scsi'/>",
        "<controller type='usb' index='0' model='ich9-ehci1'/>",
        "<sound model='ich9'/>",
    ):
        devices.append(etree.fromstring(text))
    file = session.folder / "crowded.xml"
    file.write_bytes(etree.tostring(tree))
    assert libvirt("define", file).status == 0
    back = document.parse(session.virsh("dumpxml", "--inactive", "crowded"))
    places = {
        (each.get("bus"), each.get("slot"))
        for each in back.iterfind("devices/*/address[@type='pci']")
    }
    assert len(places) > 12
    device = _device(back)
    assert device["bus"] == "pcie.0" and ("0x00", device["addr"]) not in places
    assert drift(back) == []
    session.virsh("undefine", "crowded")


def test_libslirp(domain: Path, session: Session, libvirt: Callable[..., Answer]) -> None:
    """The NIC of docs/libvirt-element.md that libslirp serves, behind HostVLAN."""
    form = re.compile(r"^```xml\n(<interface type='user'>.*?</interface>)\n```$", re.M | re.S)
    (nic,) = form.findall(_PAGE.read_text())
    tree = etree.parse(str(domain)).getroot()
    tree.find("name").text = "slirp"
    devices = tree.find("devices")
    devices.replace(devices.find("interface"), etree.fromstring(nic))
    sockets = tree.find(f"metadata/{names.net('net')}/{names.net('sockets')}")
    sockets.getparent().remove(sockets)
    file = session.folder / "slirp.xml"
    file.write_bytes(etree.tostring(tree))
    answer = libvirt("define", file)
    assert answer == Answer(0, f"slirp: defined, HostVLAN at {_MAC}\n", ""), answer
    session.virsh("start", "slirp", "--paused")
    text = session.virsh("qemu-monitor-command", "slirp", "--hmp", "info network")
    chain = r"type=hostvlan,netdev=(\S+)\s(.*\s)*? \\ \1: index=0,type=user"
    assert re.search(chain, text), text
    session.virsh("destroy", "slirp")
    session.virsh("undefine", "slirp")


def _device(domain: etree._Element) -> dict[str, object]:
    """virtio-vmrpc, as QEMU is told."""
    words = [each.get("value") for each in domain.iter("{*}arg")]
    (found,) = (json.loads(each) for each in words if "virtio-vmrpc" in each)
    return dict(found)


def test_what_is_wrong_is_told(
    domain: Path, session: Session, libvirt: Callable[..., Answer]
) -> None:
    file = session.folder / "wrong.xml"
    file.write_text(domain.read_text().replace("address6=", "adress6="))
    answer = libvirt("define", file)
    assert answer.status == 1 and "is it 'address6'?" in answer.err, answer
    answer = libvirt("show", "nobody")
    assert answer.status == 1 and "there is no domain 'nobody'" in answer.err, answer


def test_the_guest_has_both_networks(
    domain: Path, session: Session, libvirt: Callable[..., Answer]
) -> None:
    """A page by name through VMRPC; a port of HostVLAN; and what is edited is told."""
    libvirt("define", domain)
    session.virsh("start", "guest")
    try:
        with contextlib.closing(connect(session.folder / "agent")) as channel:
            run(channel, f"insmod {MODULE}")
            assert run(channel, "curl -sS http://www.test/").stdout == PAGE
            run(channel, "modprobe virtio_net")
            assert run(channel, "ip link show eth0").rc == 0
        (device,) = session.monitor("query-vmrpc")
        assert device["id"] == "vmmnet-sockets" and device["address6"] == VM_ADDRESS
        (port,) = session.monitor("query-hostvlan")
        assert port["id"] == "vmmnet-hostvlan-525400123456" and port["lnids"] == [7], port
        shown = json.loads(libvirt("show", "guest", "--json").out)
        assert shown["running"] and shown["runs-as-defined"] and shown["drift"] == [], shown
        running = document.parse(session.virsh("dumpxml", "guest"))
        assert drift(running) == []
        _edit(session, "hostvlan=", "check-sender='on' hostvlan=")
        shown = json.loads(libvirt("show", "guest", "--json").out)
        assert "<vmmnet:net> was changed" in shown["drift"][0], shown
        assert shown["runs-as-defined"], shown
    finally:
        session.virsh("destroy", "guest")


def _edit(session: Session, old: str, new: str) -> None:
    """As ``virsh edit`` does."""
    file = session.folder / "edited.xml"
    file.write_text(session.virsh("dumpxml", "--inactive", "guest").replace(old, new))
    session.virsh("define", file)


def test_check(world: Lab, domain: Path, session: Session, libvirt: Callable[..., Answer]) -> None:
    """The host is in order; then a NIC past the filter, an edit, and a file with three faults."""
    world.host.sysctl({"net.ipv4.ping_group_range": "0 0"})
    libvirt("define", domain)
    nic = session.folder / "nic.xml"
    tree = ElementTree.fromstring("<interface><mac/><model type='virtio'/></interface>")
    libvirt_session.on_tap(tree, "tap1", f"{_MAC[:-1]}7")
    libvirt_session.tap(world.host, "tap1", world.host.bridge("others"))
    nic.write_text(ElementTree.tostring(tree, encoding="unicode"))
    # The daemon alone sees it at its place there.
    text = domain.read_text().replace(str(session.build), str(paths.BUILD))
    file = session.folder / "here.xml"
    file.write_text(text)
    with world.host.entered():
        answer = libvirt("check", file)
        assert answer.status == 0 and f"{file}: no fault found" in answer.out, answer
        assert _faults(libvirt("check", "guest", "--json")) == []
        session.virsh("start", "guest")
        try:
            session.virsh("attach-device", "guest", nic)
            (found,) = _faults(libvirt("check", "guest", "--json"))
            assert f"attach tap1 {_MAC[:-1]}7" in found["remedy"], found
        finally:
            session.virsh("destroy", "guest")
        _edit(session, "hostvlan=", "check-sender='on' hostvlan=")
        (found,) = _faults(libvirt("check", "guest", "--json"))
        assert "<vmmnet:net> was changed" in found["wrong"], found
        text = text.replace(VM_ADDRESS, "2001:db8:bad::1")
        file.write_text(text.replace("address6=", "policy='/none' address6="))
        wrong = {each["wrong"] for each in _faults(libvirt("check", file, "--json"))}
        nowhere = "in no prefix of its interfaces: routers have to have a route to it"
        assert wrong == {f"is no address of this host, and {nowhere}", "does not exist"}
        emulator = document.parse(text).findtext("devices/emulator")
        file.write_text(text.replace(f">{emulator}<", ">/usr/bin/true<"))
        told = libvirt("check", file).out
    assert "emulator /usr/bin/true: this QEMU has no -netdev hostvlan" in told, told


def _faults(answer: Answer) -> list[dict[str, str]]:
    """What is told besides notes, and besides the emulator."""
    found = json.loads(answer.out)["findings"]
    faults = [each for each in found if each["severity"] == "fault"]
    return [each for each in faults if not each["about"].startswith("emulator")]


def test_qemu_takes_all_at_one_nic(
    domain: Path, session: Session, libvirt: Callable[..., Answer]
) -> None:
    """CVSW, HostVLAN and Mobile IPv6: QEMU starts, and each says that it is there."""
    tree = etree.parse(str(domain)).getroot()
    tree.find("name").text = "all"
    net = tree.find("metadata")[0]
    interface = net[1]
    net.remove(net[0])
    key = session.folder / "key"
    key.write_bytes(bytes(range(32)))
    key.chmod(0o644)
    keys = {}
    for number, name in enumerate(("signal-out", "signal-in", "tunnel-out", "tunnel-in")):
        path = session.folder / f"{name}.base64"
        path.write_text(base64.b64encode(bytes([number]) * 20).decode())
        path.chmod(0o644)
        keys |= {f"{name}-spi": f"{0x1001 + number:#x}", f"{name}-key": str(path)}
    home = {"home-address": "2001:db8:2000::10", "home-prefix-length": "64"}
    agent = {"home-agent": "2001:db8:2000::1", "location": "home", "ipsec": "esp"}
    etree.SubElement(interface, names.net("mip6"), {**home, **agent, **keys})
    switch = {"control-secret": str(key), "miss": "drop", "flows": "128"}
    etree.SubElement(interface, names.net("cvsw"), switch)
    file = session.folder / "all.xml"
    file.write_bytes(etree.tostring(tree))
    answer = libvirt("define", file)
    assert answer.out == f"all: defined, HostVLAN and MIP6 and CVSW at {_MAC}\n", answer
    session.virsh("start", "all")
    try:
        (port,) = session.monitor("query-hostvlan", "all")
        assert port["id"] == "vmmnet-hostvlan-525400123456"
        (node,) = session.monitor("query-mip6", "all")
        assert node["id"] == "vmmnet-mip6-525400123456"
        (card,) = session.monitor("query-cvsw", "all")
        assert card["id"] == "ua-vmmnet-525400123456"
        running = document.parse(session.virsh("dumpxml", "all"))
        assert drift(running) == []
    finally:
        session.virsh("destroy", "all")
