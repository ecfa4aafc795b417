# SPDX-License-Identifier: GPL-2.0-or-later
"""From a domain with the element to one that QEMU can be started with."""

from __future__ import annotations

import json
import random
from copy import deepcopy

import pytest
from lxml import etree
from vmmnet.libvirt import bare, document, element, names
from vmmnet.libvirt.element import BadElement
from vmmnet.libvirt.expand import changes, digest, drift, expand, missing, qemu

A, B = "52:54:00:00:00:01", "52:54:00:00:00:02"
FILTER = "vmmnet-hostvlan-525400000001"
NS = "xmlns:vmmnet='https://vmmnet.example/net/1'"
QEMU = f"xmlns:qemu='{names.QEMU}'"
SOCKETS = "<vmmnet:sockets address6='2001:db8::1'/>"
UUID = "5d3c1d52-94f5-4f5c-9d9c-6c2d24f0a001"


def hostvlan(mac: str, more: str = "") -> str:
    """A NIC of the element."""
    return f"<vmmnet:interface mac='{mac}' hostvlan='/t' {more}/>"


def nic(mac: str, inside: str = "<model type='virtio'/>", kind: str = "bridge") -> str:
    """A NIC of the domain."""
    return f"<interface type='{kind}'><mac address='{mac}'/>{inside}</interface>"


def domain(
    net: str,
    devices: str = "",
    rest: str = "",
    machine: str = "q35",
    attributes: str = "",
    arch: str = "x86_64",
) -> etree._Element:
    """A domain with what is given; without a ``net`` it has no element."""
    element = f"<vmmnet:net {NS} {attributes}>{net}</vmmnet:net>" if net else ""
    return document.parse(
        f"<domain type='kvm' {QEMU}><name>vm</name><uuid>{UUID}</uuid>"
        f"<metadata>{element}</metadata><os><type arch='{arch}' machine='{machine}'>hvm</type></os>"
        f"<devices>{devices}</devices>{rest}</domain>"
    )


def words(made: etree._Element) -> list[str]:
    """The command line for QEMU."""
    return [each.get("value") for each in made.iter(names.qemu("arg"))]


def overridden(made: etree._Element) -> dict[tuple[str, str], str]:
    """What is overridden: device and property, and the value."""
    return {
        (each.getparent().getparent().get("alias"), each.get("name")): each.get("value")
        for each in made.iter(names.qemu("property"))
    }


def same(one: etree._Element, other: etree._Element) -> bool:
    return document.text(one) == document.text(other)


# HostVLAN


def test_a_nic_with_hostvlan() -> None:
    made = expand(domain(hostvlan(A, "check-sender='on'"), nic(A) + nic(B)))
    alias = "ua-vmmnet-525400000001"
    assert words(made) == [
        "-netdev",
        f"hostvlan,id={FILTER},netdev=host{alias},table=/t,check-sender=on",
    ]
    assert overridden(made) == {(alias, "netdev"): FILTER}
    first, second = made.iterfind("devices/interface")
    assert first.find("model").get("type") == "virtio"
    assert first.find("driver").get("name") == "qemu"
    assert first.find("alias").get("name") == alias
    assert [each.tag for each in second] == ["mac", "model"]


def test_what_a_nic_has_already_stays() -> None:
    inside = "<model type='virtio'/><driver queues='4'/><alias name='ua-mine'/>"
    made = expand(domain(hostvlan(A.upper()), nic(A.upper(), inside)))
    (found,) = made.iterfind("devices/interface")
    assert dict(found.find("driver").attrib) == {"queues": "4", "name": "qemu"}
    assert overridden(made) == {("ua-mine", "netdev"): FILTER}
    assert "netdev=hostua-mine" in words(made)[1]


def test_an_alias_of_a_running_domain_is_no_name() -> None:
    made = expand(domain(hostvlan(A), nic(A, "<alias name='net0'/>")))
    assert made.find("devices/interface/alias").get("name") == "ua-vmmnet-525400000001"


def test_commas_in_a_path() -> None:
    net = f"<vmmnet:interface mac='{A}' hostvlan='/a,b=c'/><vmmnet:sockets policy='/x,y'/>"
    made = expand(domain(net, nic(A)))
    assert ",table=/a,,b=c" in words(made)[1]
    assert json.loads(words(made)[3])["policy"] == "/x,y"


def test_an_audit_log_is_a_file_of_qemu() -> None:
    made = expand(domain("<vmmnet:sockets audit='/var/log/a,b' audit-full='wait'/>", nic(A)))
    option, chardev, device_option, device = words(made)
    assert (option, device_option) == ("-chardev", "-device")
    assert chardev == "file,id=vmmnet-audit,path=/var/log/a,,b,append=on"
    given = json.loads(device)
    assert (given["audit"], given["audit-full"]) == ("vmmnet-audit", "wait")
    assert drift(made) == []
    # Without it, both are gone.
    made.find(f".//{names.net('sockets')}").attrib.clear()
    assert "-chardev" not in words(expand(made))


def test_a_nic_that_passt_serves_stays_so() -> None:
    passt = "<backend type='passt'/><model type='virtio'/>"
    made = expand(domain(hostvlan(A), nic(A, passt, kind="user")))
    assert made.find("devices/interface/backend").get("type") == "passt"
    assert ",netdev=hostua-vmmnet-525400000001," in words(made)[1]


def test_a_nic_that_is_no_virtio_has_no_driver() -> None:
    made = expand(domain(hostvlan(A), nic(A, "<model type='e1000'/>")))
    assert made.find("devices/interface/driver") is None


@pytest.mark.parametrize(
    ("devices", "rest", "said"),
    [
        (nic(B), "", f"no <interface> of the domain has this MAC address; there are {B}"),
        ("", "", f"write <mac address='{A}'/> into the one"),
        (nic(A) * 2, "", "two NICs of the domain"),
        (nic(A, "<driver name='vhost'/>"), "", "<driver name='vhost'/>, so that"),
        (nic(A, kind="vhostuser"), "", "of the type 'vhostuser'"),
        (nic(A, kind="hostdev"), "", "of the type 'hostdev'"),
        (nic(A, "<teaming type='persistent'/>"), "", "take <teaming> out"),
        (
            nic(A, "<alias name='ua-a'/>"),
            "<qemu:override><qemu:device alias='ua-a'><qemu:frontend><qemu:property name='netdev'"
            " type='string' value='theirs'/></qemu:frontend></qemu:device></qemu:override>",
            "qemu:override has the netdev 'theirs' for it already",
        ),
    ],
)
def test_a_nic_that_cannot_have_it(devices: str, rest: str, said: str) -> None:
    with pytest.raises(BadElement) as caught:
        expand(domain(hostvlan(A), devices, rest))
    assert said in str(caught.value) and caught.value.value == A and caught.value.line == 1


# Mobile IPv6 and CVSW


MIP6 = (
    "<vmmnet:mip6 home-address='2001:db8:2000::10' home-prefix-length='64' home-agent='auto'"
    " more-home-address='2001:db8:2000::11 2001:db8:2000::12' heard-addresses='on'/>"
)
CVSW = "<vmmnet:cvsw control-secret='/keys/a,b' miss='drop' flows='100'/>"
ALIAS = "ua-vmmnet-525400000001"


def with_parts(mac: str, parts: str, more: str = "") -> str:
    """A NIC of the element with elements inside."""
    return f"<vmmnet:interface mac='{mac}' {more}>{parts}</vmmnet:interface>"


def test_mobile_ipv6() -> None:
    made = expand(domain(with_parts(A, MIP6), nic(A)))
    assert words(made) == [
        "-netdev",
        f"mip6,id=vmmnet-mip6-525400000001,netdev=host{ALIAS},home-address=2001:db8:2000::10,"
        "more-home-address=2001:db8:2000::11,more-home-address=2001:db8:2000::12,"
        "heard-addresses=on,home-prefix-length=64,home-agent=auto",
    ]
    assert overridden(made) == {(ALIAS, "netdev"): "vmmnet-mip6-525400000001"}


def test_keys_of_mobile_ipv6_are_in_files() -> None:
    esp = "ipsec='esp' replay-window='0'"
    for number, name in enumerate(("signal-out", "signal-in", "tunnel-out", "tunnel-in")):
        esp += f" {name}-spi='{0x1001 + number:#x}' {name}-key='/k/{name}'"
    mip6 = f"<vmmnet:mip6 home-address='2001:db8::10' home-prefix-length='64' {esp}"
    made = expand(domain(with_parts(A, mip6 + " home-agent='2001:db8::1'/>"), nic(A)))
    assert words(made)[:2] == [
        "-object",
        "secret,id=vmmnet-signal-out-key-525400000001,format=base64,file=/k/signal-out",
    ]
    assert len(words(made)) == 10
    assert words(made)[-1].endswith(
        ",ipsec=esp,signal-out-spi=4097,signal-out-key=vmmnet-signal-out-key-525400000001,"
        "signal-in-spi=4098,signal-in-key=vmmnet-signal-in-key-525400000001,"
        "tunnel-out-spi=4099,tunnel-out-key=vmmnet-tunnel-out-key-525400000001,"
        "tunnel-in-spi=4100,tunnel-in-key=vmmnet-tunnel-in-key-525400000001,replay-window=0"
    )


def test_keys_of_signalling_only() -> None:
    esp = "ipsec='esp' esp-payload='off'"
    for name in ("signal-out", "signal-in"):
        esp += f" {name}-spi='0x1001' {name}-key='/k/{name}'"
    mip6 = f"<vmmnet:mip6 home-address='2001:db8::10' home-prefix-length='64' {esp}"
    made = expand(domain(with_parts(A, mip6 + " home-agent='2001:db8::1'/>"), nic(A)))
    assert "ipsec=esp,esp-payload=off,signal-out-spi=4097," in words(made)[-1]
    assert "tunnel" not in " ".join(words(made))


def test_keys_of_several_addresses() -> None:
    """Files, and secrets of libvirt: the words have neither their UUIDs nor their values."""
    esp = "ipsec='esp' more-home-address='2001:db8::11 2001:db8::12'"
    for number, name in enumerate(("signal-out", "signal-in", "tunnel-out", "tunnel-in")):
        esp += f" {name}-spi='{256 + number}' {name}-secret='{SECRET}'"
        esp += f" more-{name}-spi='{260 + number} {264 + number}'"
        kind, value = ("key", "/k/{}") if number % 2 else ("secret", SECRET)
        esp += f" more-{name}-{kind}='{value.format(1)} {value.format(2)}'"
    mip6 = f"<vmmnet:mip6 home-address='2001:db8::10' home-prefix-length='64' {esp}"
    given = domain(with_parts(A, mip6 + " home-agent='2001:db8::1'/>"), nic(A))
    made = expand(given)
    objects = [text for option, text in pairs(words(made)) if option == "-object"]
    assert len(objects) == 12
    folder = f"/run/vmmnet/libvirt/keys/{UUID}"
    first, one, two = (f"vmmnet-{each}-525400000001" for each in IDS)
    assert f"secret,id={first},format=base64,file={folder}/{first}" in objects
    assert f"secret,id={one},format=base64,file={folder}/{one}" in objects
    assert f"secret,id={two},format=base64,file=/k/2" in objects
    netdev = words(made)[-1]
    assert ",more-signal-out-spi=260,more-signal-out-spi=264," in netdev
    assert f",more-signal-out-key={one},more-signal-out-key=" in netdev
    assert SECRET not in netdev and SECRET not in "".join(objects)
    other = etree.tostring(given).replace(SECRET.encode(), UUID.encode())
    assert digest(expand(document.parse(other))) == digest(made)


SECRET = "6d7ab5a4-5c1c-4a0e-9d0e-2f6d3b1b8f10"
IDS = ("signal-out-key", "more-signal-out-key-1", "more-signal-in-key-2")


def pairs(texts: list[str]) -> list[tuple[str, str]]:
    """Options and their values."""
    return list(zip(texts[::2], texts[1::2], strict=True))


def test_a_switch_with_a_secret_of_libvirt() -> None:
    given = domain(with_parts(A, f"<vmmnet:cvsw secret='{SECRET}'/>"), nic(A))
    key = "vmmnet-control-secret-525400000001"
    made = expand(given)
    file = f"/run/vmmnet/libvirt/keys/{UUID}/{key}"
    assert words(made) == ["-object", f"secret,id={key},format=base64,file={file}"]
    assert overridden(made)[ALIAS, "control-secret"] == key
    given.remove(given.find("uuid"))
    with pytest.raises(BadElement, match="write <uuid>"):
        expand(given)


def test_the_switch() -> None:
    made = expand(domain(with_parts(A, CVSW), nic(A)))
    key = "vmmnet-control-secret-525400000001"
    assert words(made) == ["-object", f"secret,id={key},file=/keys/a,,b"]
    assert overridden(made) == {
        (ALIAS, "driver"): "virtio-net-cvsw-pci",
        (ALIAS, "control-secret"): key,
        (ALIAS, "miss"): "drop",
        (ALIAS, "flows"): "100",
    }
    kinds = {each.get("name"): each.get("type") for each in made.iter(names.qemu("property"))}
    assert kinds["flows"] == "unsigned" and kinds["driver"] == "string"
    with pytest.raises(BadElement, match="write <model type='virtio'/>"):
        expand(domain(with_parts(A, CVSW), nic(A, "<model type='e1000'/>")))


def test_all_at_one_nic() -> None:
    """HostVLAN next to the guest, Mobile IPv6 next to the network."""
    made = expand(domain(with_parts(A, CVSW + MIP6, "hostvlan='/t'"), nic(A)))
    assert words(made)[::2] == ["-object", "-netdev", "-netdev"]
    assert f"mip6,id=vmmnet-mip6-525400000001,netdev=host{ALIAS}," in words(made)[3]
    assert words(made)[5] == f"hostvlan,id={FILTER},netdev=vmmnet-mip6-525400000001,table=/t"
    assert overridden(made)[ALIAS, "netdev"] == FILTER
    assert overridden(made)[ALIAS, "driver"] == "virtio-net-cvsw-pci"
    net = next(made.iter(names.net("interface")))
    net.remove(net.find(names.net("cvsw")))
    assert same(expand(made), expand(domain(with_parts(A, MIP6, "hostvlan='/t'"), nic(A))))


# VMRPC


@pytest.mark.parametrize(
    ("machine", "bus", "slot"),
    [
        ("q35", "pcie.0", "0x19"),
        ("pc-q35-10.0", "pcie.0", "0x19"),
        ("virt-9.2", "pcie.0", "0x19"),
        ("pc", "pci.0", "0x1f"),
        ("pc-i440fx-10.0", "pci.0", "0x1f"),
    ],
)
def test_the_sockets(machine: str, bus: str, slot: str) -> None:
    net = "<vmmnet:sockets num-queues='2' translate='on' address6='2001:DB8::1'/>"
    made = expand(domain(net, machine=machine))
    option, value = words(made)
    assert option == "-device"
    assert json.loads(value) == {
        "driver": "virtio-vmrpc-pci",
        "id": "vmmnet-sockets",
        "bus": bus,
        "addr": slot,
        "address6": "2001:db8::1",
        "translate": True,
        "num-queues": 2,
    }


@pytest.mark.parametrize(
    ("machine", "arch", "said"),
    [
        (
            "microvm",
            "x86_64",
            r"'microvm' has no PCI .*: q35, pc and virt have; .* \(docs/microvm.md\)",
        ),
        ("isapc", "x86_64", "'isapc' has no PCI that is known here: q35, pc and virt have$"),
        ("", "x86_64", "write <type machine='q35'>"),
        ("", "aarch64", "write <type machine='virt'>"),
    ],
)
def test_machines_without_a_place(machine: str, arch: str, said: str) -> None:
    with pytest.raises(BadElement, match=said):
        expand(domain(SOCKETS, machine=machine, arch=arch))


def test_a_switch_on_virtio_mmio() -> None:
    """libvirt's machine virt has such NICs if the domain says so."""
    on_mmio = nic(A, "<model type='virtio'/><address type='virtio-mmio'/>")
    for inside, driver in ((nic(A), "virtio-net-cvsw-pci"), (on_mmio, "virtio-net-cvsw-device")):
        made = expand(domain(with_parts(A, CVSW), inside, machine="virt", arch="aarch64"))
        assert overridden(made)[ALIAS, "driver"] == driver


def place(bus: str, slot: int) -> str:
    """A device of the domain at a place in PCI."""
    return f"<rng><address type='pci' domain='0x0000' bus='{bus}' slot='{slot:#04x}'/></rng>"


def test_a_place_is_kept_and_given_up_for_others() -> None:
    def slot(made: etree._Element) -> str:
        return str(json.loads(words(made)[1])["addr"])

    made = expand(domain(SOCKETS, place("0x00", 0x19) + place("0x01", 0x18)))
    assert slot(made) == "0x18"
    made.find("devices").clear()
    assert slot(expand(made)) == "0x18"
    made.find("devices").append(document.parse(f"<domain>{place('0', 0x18)}</domain>")[0])
    assert slot(expand(made)) == "0x19"


def test_a_bus_that_is_full() -> None:
    with pytest.raises(BadElement, match=r"pcie\.0 is full"):
        expand(domain(SOCKETS, "".join(place("0x00", slot) for slot in range(32))))


def test_the_handoff() -> None:
    made = expand(domain(SOCKETS, attributes="handoff='on'"))
    assert words(made)[:2] == ["-object", f"vmmnet-handoff,id=vmmnet-handoff,vm={UUID}"]
    assert "vmmnet-handoff" not in "".join(words(expand(domain(SOCKETS))))
    nameless = domain(SOCKETS, attributes="handoff='on'")
    nameless.remove(nameless.find("uuid"))
    with pytest.raises(BadElement, match="write <uuid>"):
        expand(nameless)


# What is the user's


THEIRS = (
    "<qemu:commandline><qemu:arg value='-device'/><qemu:arg value='mine,id=dev0'/>"
    "<qemu:arg value='-snapshot'/><qemu:env name='A' value='b'/></qemu:commandline>"
    "<qemu:override><qemu:device alias='ua-disk'><qemu:frontend>"
    "<qemu:property name='x' type='unsigned' value='1'/></qemu:frontend></qemu:device>"
    "</qemu:override>"
)


def test_the_users_own_words_stay() -> None:
    made = expand(domain(SOCKETS + hostvlan(A), nic(A), THEIRS))
    assert words(made)[:3] == ["-device", "mine,id=dev0", "-snapshot"]
    assert len(words(made)) == 7
    line = made.find(names.qemu("commandline"))
    assert line[-1].tag == names.qemu("env")
    assert overridden(made)["ua-disk", "x"] == "1"
    without(made)
    again = expand(made)
    assert same(again, expand(domain("", nic(A, driven()), THEIRS)))


def driven() -> str:
    """What stays of HostVLAN in a NIC, as nobody knows whose it is."""
    return "<model type='virtio'/><driver name='qemu'/>"


def without(made: etree._Element) -> None:
    """Take the element out of a domain."""
    metadata = made.find("metadata")
    metadata.remove(metadata[0])


def test_all_goes_with_the_element() -> None:
    made = expand(domain(SOCKETS + hostvlan(A), nic(A)))
    without(made)
    assert same(expand(made), domain("", nic(A, driven())))


def test_a_nic_that_is_asked_for_no_more() -> None:
    made = expand(domain(hostvlan(A) + hostvlan(B), nic(A) + nic(B, "<alias name='ua-b'/>")))
    assert len(words(made)) == 4
    net = made.find(f"metadata/{names.net('net')}")
    for each in list(net):
        net.remove(each)
    net.append(etree.Element(names.net("sockets")))
    again = expand(made)
    assert overridden(again) == {} and len(words(again)) == 2
    assert [each.get("name") for each in again.iter("alias")] == ["ua-b"]


def test_a_mac_address_that_is_changed() -> None:
    made = expand(domain(hostvlan(A), nic(A)))
    made.find("devices/interface/mac").set("address", B)
    next(made.iter(names.net("interface"))).set("mac", B)
    assert same(expand(made), expand(domain(hostvlan(B), nic(B, driven()))))


def test_words_stay_where_they_stood() -> None:
    made = expand(domain(hostvlan(A), nic(A)))
    line = made.find(names.qemu("commandline"))
    line.append(etree.Element(names.qemu("arg"), value="-snapshot"))
    next(made.iter(names.net("interface"))).set("hostvlan", "/other")
    assert words(expand(made))[2:] == ["-snapshot"]
    assert "table=/other" in words(expand(made))[1]


def test_the_domain_given_is_not_changed() -> None:
    given = domain(SOCKETS + hostvlan(A), nic(A), THEIRS)
    before = deepcopy(given)
    expand(given)
    assert same(given, before)


def test_the_root_declares_libvirts_namespace() -> None:
    """Without it libvirt drops all of it, and says nothing."""
    given = document.parse(document.text(domain(SOCKETS)).replace(QEMU.replace("'", '"'), ""))
    assert "qemu" not in given.nsmap
    assert "qemu" in expand(given).nsmap
    assert document.text(expand(given)).startswith(f'<domain xmlns:qemu="{names.QEMU}"')


# Twice


@pytest.mark.parametrize("seed", range(200))
def test_twice_is_once(seed: int) -> None:
    """Of domains of all kinds, also as libvirt would order them and with its places."""
    chance = random.Random(seed)
    given = any_domain(chance)
    once = expand(given)
    assert drift(once) == []
    assert same(expand(once), once)
    back = as_libvirt_has_it(once, chance)
    assert drift(back) == []
    assert same(expand(back), back)
    assert digest(back) == digest(once)
    assert their_words(once) == their_words(given)
    for key, value in overridden(given).items():
        assert overridden(once)[key] == value


def their_words(made: etree._Element) -> list[str]:
    """The command line but for pairs of ours; of this test's, no other has such an ID."""
    found = words(made)
    marks = ("id=vmmnet-", '"id":"vmmnet-')
    ours = [number for number, each in enumerate(found) if any(mark in each for mark in marks)]
    return [each for number, each in enumerate(found) if not {number, number + 1} & set(ours)]


def any_domain(chance: random.Random) -> etree._Element:
    macs = [f"52:54:00:00:00:{number:02x}" for number in range(chance.randrange(1, 6))]
    inside = ["<model type='virtio'/>", "<model type='e1000'/>", ""]
    parts = ["", "<driver name='qemu' queues='2'/>", "<alias name='ua-{}'/>", "<target dev='v0'/>"]
    nics = [
        nic(mac, chance.choice(inside) + chance.choice(parts).format(number))
        for number, mac in enumerate(macs)
    ]
    others = ["<disk/>", place("0x00", chance.randrange(32)), "<console/>", "<rng/>"]
    devices = nics + chance.choices(others, k=chance.randrange(5))
    chance.shuffle(devices)
    virtio = [mac for mac, each in zip(macs, nics, strict=True) if "'virtio'" in each]
    net = [
        with_parts(
            mac,
            chance.choice(["", MIP6]) + (chance.choice(["", CVSW]) if mac in virtio else ""),
            "hostvlan='/t' "
            + chance.choice(["", "l2-control='on'", "ra-guard='on' dhcp-guard='on'"]),
        )
        for mac in macs
    ]
    net = chance.sample(net, chance.randrange(len(net) + 1))
    net += chance.choice([[], [SOCKETS], ["<vmmnet:sockets alg='off' dns='2001:db8::1'/>"]])
    chance.shuffle(net)
    machine = chance.choice(["q35", "pc", "pc-q35-9.2"])
    return domain("".join(net), "".join(devices), chance.choice(["", THEIRS, OLD]), machine)


# Of an earlier version: another device, a NIC that has gone.
OLD = (
    "<qemu:commandline><qemu:arg value='-netdev'/><qemu:arg value='hostvlan,id=vmmnet-x,netdev=n'/>"
    "<qemu:arg value='-snapshot'/><qemu:arg value='-object'/>"
    "<qemu:arg value='secret,id=mine,file=/vmmnet-'/></qemu:commandline>"
)


def as_libvirt_has_it(made: etree._Element, chance: random.Random) -> etree._Element:
    """The domain in another order, with PCI places for all devices from the lowest slots."""
    back = deepcopy(made)
    devices = back.find("devices")
    children = list(devices)
    chance.shuffle(children)
    for slot, child in enumerate(children):
        if child.find("address") is None:
            child.append(document.parse(f"<domain>{place('0x02', slot)}</domain>")[0][0])
        inner = sorted(child, key=lambda each: each.tag)
        for each in inner:
            child.append(each)
        devices.append(child)
    return back


# Drift


def expanded() -> etree._Element:
    return expand(domain(SOCKETS + hostvlan(A), nic(A), THEIRS))


def test_a_domain_that_was_never_expanded() -> None:
    assert drift(domain(SOCKETS)) == [
        "the domain was never expanded: 'vmmnet libvirt define' does that"
    ]
    assert drift(domain("", nic(A), THEIRS)) == []


def test_what_is_the_users_is_no_drift() -> None:
    made = expanded()
    made.find(names.qemu("commandline")).append(etree.Element(names.qemu("arg"), value="-S"))
    made.find("devices").append(document.parse(f"<domain>{nic(B)}</domain>")[0])
    assert drift(made) == []


def test_an_element_that_was_changed() -> None:
    made = expanded()
    next(made.iter(names.net("interface"))).set("hostvlan", "/other")
    first, second = drift(made)
    assert first == (
        "<vmmnet:net> was changed since the domain was expanded: 'vmmnet libvirt define' follows it"
    )
    assert second.startswith(f"-netdev {FILTER} is 'hostvlan,id=") and "/other'" in second


def edits() -> dict[str, tuple[str, str]]:
    """What somebody does to a domain: an XPath to take out, and what is said."""
    return {
        "word": (f"//*[contains(@value, '{FILTER},')]", f"-netdev {FILTER} is missing"),
        "override": ("//*[@name='netdev']", f"NIC {A}: override of netdev is missing: '{FILTER}'"),
        "driver": ("//driver", f"NIC {A}: driver is nothing instead of 'qemu'"),
        "alias": ("//interface/alias", f"NIC {A}: alias is nothing instead of"),
        "device": ("//*[contains(@value, 'virtio-vmrpc')]", "-device vmmnet-sockets is missing"),
    }


@pytest.mark.parametrize("edit", edits())
def test_what_was_edited(edit: str) -> None:
    path, said = edits()[edit]
    made = expanded()
    (node,) = made.xpath(path)
    node.getparent().remove(node)
    found = drift(made)
    assert found[0].startswith("what was expanded has been edited"), found
    assert any(said in each for each in found), found
    assert drift(expand(made)) == []


def test_a_digest_that_was_edited() -> None:
    made = expanded()
    net = next(made.iter(names.net("net")))
    net.set("digest", "0" * 16)
    (told,) = drift(made)
    assert told.endswith(f"the digest is '{'0' * 16}' instead of '{digest(made)}'")


def _model(domain: etree._Element, mac: str, model: str) -> None:
    (found,) = (each for each in domain.iter("interface") if each.find("mac").get("address") == mac)
    found.find("model").set("type", model)


def test_another_model_of_a_nic() -> None:
    """It is told by name, although the domain is as its element's expansion would be."""
    made = expand(domain(hostvlan(A) + hostvlan(B), nic(A) + nic(B)))
    _model(made, B, "e1000e")
    first, *others = drift(made)
    assert first.startswith("a NIC was changed since the domain was expanded")
    assert others == [f"NIC {B}: the model is 'e1000e' instead of virtio's"]
    _model(made, A, "rtl8139")
    assert drift(made)[1:] == [
        f"NIC {A}: the model is 'rtl8139' instead of virtio's",
        f"NIC {B}: the model is 'e1000e' instead of virtio's",
    ]
    made = expand(made)
    assert drift(made) == []
    _model(made, A, "virtio")
    assert drift(made)[1:] == [
        f"NIC {A}: the model is 'virtio' instead of another one than virtio's"
    ]


def test_what_changed_while_a_domain_runs() -> None:
    before, after = (expand(domain(hostvlan(A), nic(A))) for _ in range(2))
    assert changes(before, after) == []
    _model(after, A, "e1000e")
    told = changes(before, expand(after))
    assert told[-1] == f"NIC {A}: the model is 'virtio' instead of 'e1000e'"


def test_what_is_left_of_an_element() -> None:
    made = expanded()
    without(made)
    assert f"-netdev {FILTER} is there, and nothing asks for it: " in " ".join(drift(made))


def test_an_element_that_is_wrong() -> None:
    made = expanded()
    next(made.iter(names.net("interface"))).set("mac", B)
    with pytest.raises(BadElement, match=f"there are {A}"):
        drift(made)


def _nic(mac: str, kind: str = "bridge", bridge: str = "br0") -> str:
    source = f"<source bridge='{bridge}'/><driver name='vhost'/>"
    return f"<interface type='{kind}'><mac address='{mac}'/>{source}</interface>"


def test_ebpf_leaves_the_nic_to_libvirt() -> None:
    """Also vhost, and the alias that a running domain has; what QEMU had before it goes."""
    net = f"<vmmnet:interface mac='{A}' hostvlan='/t' ebpf='on'/>"
    made = expand(domain(net, _nic(A)))
    assert qemu.ours(made) == [] and qemu.aliases(made) == []
    assert made.find("devices/interface/driver").get("name") == "vhost"
    etree.SubElement(made.find("devices/interface"), "alias", name="net0")
    assert drift(made) == []
    net = f"<vmmnet:interface mac='{A}' hostvlan='/t'/>"
    before = expand(domain(net, _nic(A).replace("vhost", "qemu")))
    before.find("metadata")[0][0].set("ebpf", "on")
    assert qemu.ours(expand(before)) == [] and qemu.aliases(expand(before)) == []


def test_ebpf_needs_an_interface_of_the_host() -> None:
    net = f"<vmmnet:interface mac='{A}' hostvlan='/t' ebpf='on'/>"
    with pytest.raises(BadElement, match="type 'user', without an interface of the host"):
        expand(domain(net, _nic(A, "user")))
    # A running domain may have lost the NIC; 'define' does not take that.
    out = expand(domain(net))
    found = element.read(out)
    assert found is not None and drift(out) == []
    assert "no <interface> of the domain has this MAC" in str(missing(out, found))


@pytest.mark.parametrize(
    ("bridge", "named", "is_wrong"),
    [
        ("br0", "", True),
        ("br1", "", False),
        ("br0", "ebpf='on'", False),
        ("br0", "ebpf='off'", False),
    ],
)
def test_a_nic_beside_hostvlan(bridge: str, named: str, is_wrong: bool) -> None:
    """Without HostVLAN on the same network it reaches all tenants."""
    net = f"<vmmnet:interface mac='{A}' hostvlan='/t' ebpf='on'/>"
    if named:
        net += f"<vmmnet:interface mac='{B}' hostvlan='/t' {named}/>"
    second = _nic(B, bridge=bridge).replace("<driver name='vhost'/>", "")
    made = expand(domain(net, _nic(A) + second))
    found = element.read(made)
    assert found is not None
    told = bare.wrong(made, found)
    assert (told is not None) == is_wrong
    assert told is None or f"<vmmnet:interface mac='{B}' hostvlan='/t' ebpf='on'/>" in str(told)
