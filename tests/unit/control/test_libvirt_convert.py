# SPDX-License-Identifier: GPL-2.0-or-later
"""Hand-written words for QEMU become the element, and the element such words."""

from __future__ import annotations

import json
import random
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from vmmnet.libvirt import document, element, names
from vmmnet.libvirt.convert.back import to_commandline
from vmmnet.libvirt.convert.parts import CannotSay
from vmmnet.libvirt.convert.whole import Converted, convert
from vmmnet.libvirt.element import BadElement
from vmmnet.libvirt.expand import drift, expand
from vmmnet.testbed.base import commandline, paths

A, B = "52:54:00:00:00:01", "52:54:00:00:00:02"
UUID = "5d3c1d52-94f5-4f5c-9d9c-6c2d24f0a001"
NS = "xmlns:vmmnet='https://vmmnet.example/net/1'"
NIC = f"<interface type='bridge'><mac address='{A}'/><model type='virtio'/>"
NAMED = f"{NIC}<alias name='ua-a'/></interface>"
TABLE = "hostvlan,id=hv0,netdev=hostua-a,table=/t"
GUARDS = ("check-sender", "ra-guard", "dhcp-guard")
HOME = "home-address=2001:db8:2000::10,home-prefix-length=64,home-agent=2001:db8:2000::1"


def override(alias: str, **values: str) -> str:
    """A device of ``qemu:override``."""
    properties = "".join(
        f"<qemu:property name='{name.replace('_', '-')}' type='string' value='{value}'/>"
        for name, value in values.items()
    )
    frontend = f"<qemu:frontend>{properties}</qemu:frontend>"
    return f"<qemu:device alias='{alias}'>{frontend}</qemu:device>"


def domain(
    *words: str, devices: str = "", overrides: str = "", net: str = "", machine: str = "q35"
) -> etree._Element:
    """A domain with these words on the command line."""
    made = document.parse(
        f"<domain type='kvm' xmlns:qemu='{names.QEMU}'><name>vm</name><uuid>{UUID}</uuid>"
        f"<metadata>{net}</metadata><os><type machine='{machine}'>hvm</type></os>"
        f"<devices>{devices}</devices><qemu:commandline/>"
        f"<qemu:override>{overrides}</qemu:override></domain>"
    )
    line = made.find(names.qemu("commandline"))
    for word in words:
        etree.SubElement(line, names.qemu("arg"), value=word)
    return made


def args(made: etree._Element) -> list[str]:
    """The command line for QEMU."""
    return [each.get("value") for each in made.iter(names.qemu("arg"))]


def asked(made: etree._Element) -> dict[str, dict[str, str]]:
    """The attributes of the element's parts, but for the digest."""
    found = element.find(made)
    assert found is not None
    return {
        etree.QName(each).localname: {k: v for k, v in each.attrib.items() if k != "digest"}
        for each in found.iter()
    }


def kept(made: Converted) -> str:
    """All messages about kept parts."""
    return "\n".join(f"{each.name}: {each.reason}" for each in made.kept)


# What users have written


@pytest.mark.parametrize("number", [0, 1])
def test_the_domains_of_the_page(number: int) -> None:
    """Domains that users have written by hand."""
    text = (paths.ROOT / "docs" / "libvirt-convert.md").read_text()
    found = re.findall(r"^```xml\n(<domain .*?</domain>)\n```$", text, re.M | re.S)
    before = document.parse(found[number])
    made = convert(before)
    assert made.kept == () and drift(made.domain) == []
    assert meaning(made.domain) == meaning(before)
    wanted: dict[str, dict[str, str]] = {
        "sockets": {"address6": "2001:db8:1::c0de", "dns": "2001:db8:1::53"}
    }
    if number == 1:
        table = "/var/lib/vmmnet/lnid.table"
        wanted = {"interface": {"mac": "52:54:00:12:34:56", "hostvlan": table}}
    assert asked(made.domain) == {"net": {}, **wanted}
    assert not any("vmrpc0" in each or "hv0" in each for each in args(made.domain))


@pytest.mark.parametrize(
    "words",
    [
        ["virtio-vmrpc-pci,id=x,bus=pcie.0,addr=0x10,policy=/a,,b=c,noalg,max-sockets=0x10"],
        ["id=x,driver=virtio-vmrpc-pci,addr=10.0,policy=/a,,b=c,alg=off,max-sockets=16"],
        ['{"driver":"virtio-vmrpc-pci","addr":128,"policy":"/a,b=c","alg":false,"max-sockets":16}'],
        [
            "virtio-vmrpc-pci,id=x,addr=0x10,alg=no,max-sockets=1",
            "-set",
            "device.x.policy=/a,b=c",
            "--set",
            "device.x.max-sockets=16",
        ],
    ],
)
def test_forms_of_an_argument(words: list[str]) -> None:
    made = convert(domain("-S", "--device", *words, "-snapshot"))
    wanted = {"policy": "/a,b=c", "alg": "off", "max-sockets": "16"}
    assert asked(made.domain) == {"net": {}, "sockets": wanted}
    assert args(made.domain)[:2] == ["-S", "-snapshot"] and len(args(made.domain)) == 4
    device = json.loads(args(made.domain)[3])
    assert (device["bus"], device["addr"]) == ("pcie.0", "0x10")


def test_a_device_without_a_place_gets_one() -> None:
    made = convert(domain("-device", "virtio-vmrpc-pci", machine="pc"))
    assert asked(made.domain) == {"net": {}, "sockets": {}}
    assert "its place in PCI was QEMU's choice" in made.notes[0]


def test_the_handoff() -> None:
    words = "-device", "virtio-vmrpc-pci,id=v,address6=2001:db8::1", "-object"
    made = convert(domain(*words, f"vmmnet-handoff,id=h,vm={UUID.upper()}"))
    assert asked(made.domain)["net"] == {"handoff": "on"}
    assert made.gone == ("-device v", "-object h")
    for more, said in (
        (f"vm={UUID},path=/x", "has no 'path'"),
        (f"vm={UUID[:-1]}2", "is not the domain's <uuid>"),
    ):
        made = convert(domain(*words, f"vmmnet-handoff,id=h,{more}"))
        assert asked(made.domain)["net"] == {} and said in kept(made)
        assert f"vmmnet-handoff,id=h,{more}" in args(made.domain)


def test_a_nic_that_libvirt_has_named() -> None:
    """It has names of libvirt's own then, by its number."""
    before = domain(
        "-netdev",
        "hostvlan,id=hv0,netdev=hostnet1,table=/t,mac=52:54:00:00:00:02",
        devices=f"{NIC}</interface>{NIC.replace(A, B)}</interface>",
        overrides=override("net1", netdev="hv0"),
    )
    made = convert(before)
    assert asked(made.domain)["interface"] == {"mac": B, "hostvlan": "/t"}
    assert made.kept == () and meaning(made.domain) == meaning(before)


@pytest.mark.parametrize("form", ["text", "JSON"])
def test_addresses_in_a_list(form: str) -> None:
    more = ["2001:db8:2000::11", "2001:db8:2000::12"]
    netdev = f"mip6,id=m0,netdev=hostua-a,{HOME}"
    if form == "JSON":
        given = dict(each.split("=") for each in netdev.split(",")[1:])
        netdev = json.dumps({"type": "mip6", **given, "more-home-address": more})
    else:
        netdev += "".join(f",more-home-address={each}" for each in more)
    before = domain("-netdev", netdev, devices=NAMED, overrides=override("ua-a", netdev="m0"))
    made = convert(before)
    assert asked(made.domain)["mip6"]["more-home-address"] == " ".join(more), made.kept
    assert "goes by" in made.notes[0]


def test_the_model_of_a_switch() -> None:
    """As docs/cvsw.md has it."""
    devices = NAMED.replace("'virtio'", "'virtio-net-cvsw-pci'")
    key = "secret,id=key0,file=/etc/vmmnet/key0"
    properties = override("ua-a", control_secret="key0", flows="0x80", host_mtu="1400")
    before = domain("-object", key, devices=devices, overrides=properties)
    made = convert(before)
    assert asked(made.domain)["cvsw"] == {"control-secret": "/etc/vmmnet/key0", "flows": "128"}
    assert meaning(made.domain) == meaning(before)
    assert made.gone[0] == "-object key0"


def test_an_element_gets_what_is_beside_it() -> None:
    net = f"<vmmnet:net {NS}><vmmnet:sockets alg='off'/></vmmnet:net>"
    devices = f"{NAMED}{NIC.replace(A, B)}</interface>"
    had = expand(domain(devices=devices, net=net))
    line = had.find(names.qemu("commandline"))
    for word in ("-netdev", TABLE, "-device", "virtio-vmrpc-pci,id=other"):
        etree.SubElement(line, names.qemu("arg"), value=word)
    extra = domain(overrides=override("ua-a", netdev="hv0")).find(names.qemu("override"))
    had.append(extra)
    made = convert(had)
    assert asked(made.domain)["sockets"] == {"alg": "off"}
    assert asked(made.domain)["interface"] == {"mac": A, "hostvlan": "/t"}
    assert kept(made) == "-device other: the element has <vmmnet:sockets> already"


# What stays, and why


SECRET = "secret,id=k,format=base64,file=/k"
ESP = "".join(
    f",{way}-spi={number},{way}-key=k"
    for number, way in enumerate(("signal-out", "signal-in", "tunnel-out", "tunnel-in"), 4097)
)


def test_keys_of_several_home_addresses() -> None:
    more = ",more-home-address=2001:db8:2000::11,more-home-address=2001:db8:2000::12"
    for number, way in enumerate(("signal-out", "signal-in", "tunnel-out", "tunnel-in"), 1):
        more += f",more-{way}-spi={number:#x}101,more-{way}-spi={number:#x}201"
        more += f",more-{way}-key=k,more-{way}-key=l"
    before = domain(
        *("-object", SECRET, "-object", SECRET.replace("=k", "=l").replace("/k", "/l")),
        *("-netdev", f"mip6,id=m0,netdev=hostua-a,{HOME},ipsec=esp{ESP}{more}"),
        devices=NAMED,
        overrides=override("ua-a", netdev="m0"),
    )
    made = convert(before)
    assert made.kept == (), kept(made)
    found = asked(made.domain)["mip6"]
    assert found["more-tunnel-in-key"] == "/k /l"
    assert found["more-signal-in-spi"] == f"{0x2101} {0x2201}"


@pytest.mark.parametrize(
    ("words", "properties", "said"),
    [
        (
            ["-device", "virtio-vmrpc-pci,id=v,packed=on"],
            {},
            "-device v: the element has no 'packed'",
        ),
        (
            ["-device", "virtio-vmrpc-pci,id=v,policy=x"],
            {},
            "policy=x it is to be the absolute path",
        ),
        (
            ["-device", "virtio-vmrpc-pci,id=v,bus=b1,addr=0"],
            {},
            "its place, b1, 0x0, is none that",
        ),
        (["-device", "virtio-vmrpc-pci,id=v,addr=1e"], {}, "its place, 0x1e, is none that"),
        (["-device", "virtio-vmrpc-pci,id=v,addr=5.1"], {}, "is no slot of its own"),
        (["-device", "virtio-vmrpc-pci,id=v,max-sockets=0x"], {}, "max-sockets=0x is no number"),
        (["-device", "virtio-vmrpc-pci,id=v"] * 2, {}, "by the element, not 2"),
        (["-device", "virtio-vmrpc-pci,id=v", "-trace", "x=v"], {}, "'x=v' uses 'v'"),
        (["-netdev", TABLE], {}, "-netdev hv0: no <interface> of the domain uses it"),
        (["-netdev", TABLE + ",mac=" + B], {"netdev": "hv0"}, f"mac={B} is not the NIC's"),
        (
            ["-netdev", TABLE.replace("ua-a", "x")],
            {"netdev": "hv0"},
            "behind -netdev hv0 is 'hostx'",
        ),
        (["-netdev", TABLE.replace("/t", "t")], {"netdev": "hv0"}, "hostvlan=t it is to be the"),
        (
            ["-netdev", TABLE, "-object", "filter-dump,id=f,netdev=hv0,file=/f"],
            {"netdev": "hv0"},
            "'-object f' uses 'hv0'",
        ),
        (
            [
                *("-netdev", "hostvlan,id=hv0,netdev=hostua-a,table=/t"),
                *("-netdev", f"mip6,id=m0,netdev=hv0,{HOME}"),
            ],
            {"netdev": "m0"},
            "here it is mip6, then hostvlan",
        ),
        (
            ["-object", "secret,id=k,data=x", "-netdev", f"mip6,id=m0,netdev=hostua-a,{HOME}{ESP}"],
            {"netdev": "m0"},
            "the key of -object k is no file",
        ),
        (
            [
                *("-object", SECRET.replace("base64", "raw")),
                *("-netdev", f"mip6,id=m0,netdev=hostua-a,{HOME},ipsec=esp{ESP}"),
            ],
            {"netdev": "m0"},
            "is not in the format 'base64'",
        ),
        (
            ["-netdev", f"mip6,id=m0,netdev=hostua-a,{HOME},more-signal-out-spi=4097"],
            {"netdev": "m0"},
            "nothing is protected without ipsec='esp'",
        ),
        ([], {"driver": "virtio-net-cvsw-pci"}, "has no control-secret, so that it is no switch"),
        ([], {"driver": "virtio-net-cvsw-pci", "control_secret": "k"}, "its key, 'k'"),
        (["-device", "virtio-net-cvsw-pci,id=c,netdev=n"], {}, "-device c: no <interface>"),
        (["-object", f"vmmnet-handoff,id=h,vm={UUID}"], {}, "-object h: it goes with sockets"),
    ],
)
def test_what_the_element_has_no_words_for(
    words: list[str], properties: dict[str, str], said: str
) -> None:
    """It stays to the letter, and is named."""
    overrides = override("ua-a", **properties) if properties else ""
    before = domain(*words, devices=NAMED, overrides=overrides)
    made = convert(before)
    assert said in kept(made), kept(made)
    assert made.parts == () and document.text(made.domain) == document.text(before)


def test_a_part_stays_and_another_goes() -> None:
    """The key that both use stays as well."""
    secret = ["-object", "secret,id=k,file=/k"]
    before = domain(
        *(*secret, "-netdev", TABLE, "-device", "mine,id=d,key=k"),
        *("-device", "virtio-vmrpc-pci,id=v,packed=on"),
        devices=NAMED,
        overrides=override("ua-a", netdev="hv0", driver="virtio-net-cvsw-pci", control_secret="k"),
    )
    made = convert(before)
    assert set(asked(made.domain)) == {"net", "interface", "cvsw"}
    assert args(made.domain)[:2] == secret and "packed=on" in args(made.domain)[5]
    assert meaning(made.domain) == meaning(before)


def test_numbers_of_libvirt_that_others_use() -> None:
    """A NIC that gets a name makes all behind it another number."""
    before = domain(
        *("-netdev", "hostvlan,id=hv0,netdev=hostnet0,table=/t"),
        *("-object", "filter-dump,id=f,netdev=hostnet1,file=/f"),
        devices=f"{NIC}</interface>{NIC.replace(A, B)}</interface>",
        overrides=override("net0", netdev="hv0"),
    )
    assert "'-object f' is about 'hostnet1', which libvirt numbers anew" in kept(convert(before))


def test_a_name_of_the_expansions_own() -> None:
    words = "-device", "virtio-vmrpc-pci", "-netdev", TABLE.replace("hv0", "vmmnet-x")
    with pytest.raises(CannotSay, match="-netdev vmmnet-x stays, and 'define' would take it out"):
        convert(domain(*words))


def test_an_element_that_is_wrong() -> None:
    with pytest.raises(BadElement, match="there is no attribute 'x'"):
        convert(domain(net=f"<vmmnet:net {NS} x='y'/>"))


# All of it, written in any way


@pytest.mark.parametrize("seed", range(40))
def test_any_hand(seed: int) -> None:
    """The same devices with the same options, and the element that was meant."""
    chance = random.Random(seed)
    net, before = by_hand(chance)
    untouched = deepcopy(before)
    made = convert(before)
    assert document.text(before) == document.text(untouched)
    assert kept(made) == ""
    assert element.read(made.domain) == net
    assert meaning(made.domain) == meaning(before)
    assert drift(made.domain) == []
    assert document.text(expand(made.domain)) == document.text(made.domain)


@pytest.mark.parametrize("seed", range(40))
def test_there_and_back(seed: int) -> None:
    """Without the element nothing in the domain is the expansion's, and all is the same."""
    chance = random.Random(seed)
    net, before = by_hand(chance)
    whole = convert(before).domain
    back = to_commandline(whole).domain
    text = document.text(back).replace("vmmnet-handoff,", "")
    assert names.NET not in text and names.OURS not in text
    assert meaning(back) == meaning(whole)
    assert document.text(expand(back)) == document.text(back)
    again = convert(back)
    assert element.read(again.domain) == net and again.kept == ()
    bare = deepcopy(whole)
    bare.remove(bare.find("metadata"))
    assert element.read(convert(bare).domain) == net


def test_names_that_are_taken() -> None:
    words = "-device", "virtio-vmrpc-pci", "-device", "mine,id=sockets"
    back = to_commandline(convert(domain(*words)).domain)
    assert args(back.domain)[0:2] == ["-device", "mine,id=sockets"]
    assert json.loads(args(back.domain)[3])["id"] == "sockets-2"


def test_what_the_hook_did_is_told() -> None:
    net = f"<vmmnet:net {NS} handoff='on'><vmmnet:sockets address6='2001:db8::1'/></vmmnet:net>"
    assert "vmmnet-hostd has to know" in to_commandline(domain(net=net)).notes[0]
    assert to_commandline(domain("-S")).notes == ()


def test_ebpf_has_no_words_for_qemu() -> None:
    """Whoever takes the element out attaches it."""
    nic = f"<vmmnet:interface mac='{A}' hostvlan='/t' ebpf='on'/>"
    net = f"<vmmnet:net {NS}>{nic}</vmmnet:net>"
    notes = to_commandline(domain(net=net)).notes
    assert any(f"nobody attaches HostVLAN in eBPF to {A}" in each for each in notes)


SOCKETS = {
    "address6": "2001:db8:1::c0de",
    "dns": "2001:db8::53+2001:db8::54@5353",
    "alg": "off",
    "happy-eyeballs": "on",
    "policy": "/x,y=z/it's",
    "max-sockets": "4000",
    "iothread": "iothread1",
    "guest4": "192.0.0.3/29",
}
MIP6 = {
    "early-registration": "on",
    "guest-mac": "52:54:00:00:00:09",
    "care-of": "auto",
    "location": "home",
    "mtu": "1400",
}
CVSW = {"miss": "drop", "flows": "100", "masks": "8", "tunnel-gso": "auto"}


def some(chance: random.Random, given: dict[str, str]) -> dict[str, str]:
    return dict(chance.sample(sorted(given.items()), chance.randrange(len(given) + 1)))


def by_hand(chance: random.Random) -> tuple[element.Net | None, etree._Element]:
    """Return an element, and a domain with the same meaning, written by hand in a random way."""
    root = etree.Element(names.net("net"))
    words: list[list[str]] = []
    devices, overrides = "", ""
    for number, mac in enumerate((A, B, "52:54:00:00:00:03")):
        alias = f"ua-{number}"
        nic = etree.Element(names.net("interface"), mac=mac)
        properties = _nic_by_hand(chance, nic, alias, words)
        if len(nic) or len(nic.attrib) > 1:
            root.append(nic)
        devices += NAMED.replace(A, mac).replace("ua-a", alias)
        if chance.random() < 0.5:
            properties["host_mtu"] = "1400"
        overrides += override(alias, **properties) if properties else ""
    if chance.random() < 0.8 or not len(root):
        given = some(chance, SOCKETS)
        root.append(etree.Element(names.net("sockets"), given))
        place = {"bus": "pcie.0", "addr": f"{chance.randrange(2, 0x1A):#x}"}
        words += _written(chance, "-device", "virtio-vmrpc-pci", {"id": "v", **given, **place})
        if "address6" in given and chance.random() < 0.5:
            root.set("handoff", "on")
            words += _written(chance, "-object", "vmmnet-handoff", {"id": "h", "vm": UUID})
    words.insert(chance.randrange(len(words) + 1), ["-snapshot"])
    words.insert(chance.randrange(len(words) + 1), ["-device", "mine,id=d0,path=/a,,b"])
    meant = document.parse(f"<domain><name>vm</name><uuid>{UUID}</uuid><metadata/></domain>")
    meant.find("metadata").append(root)
    made = domain(*(each for pair in words for each in pair), devices=devices, overrides=overrides)
    return element.read(meant), made


def _nic_by_hand(
    chance: random.Random, nic: etree._Element, alias: str, words: list[list[str]]
) -> dict[str, str]:
    """Write what is before a NIC; returns what is overridden of it."""
    behind, properties = f"host{alias}", {}
    if chance.random() < 0.5:
        given = {"home-address": "2001:db8:2::10", "home-prefix-length": "64"}
        given |= {"home-agent": "2001:db8:2::1", **some(chance, MIP6)}
        hand = {"id": f"m{alias}", "netdev": behind, **given}
        if chance.random() < 0.5:
            for each in ("signal-out", "signal-in", "tunnel-out", "tunnel-in"):
                key = {"id": f"{each}{alias}", "format": "base64", "file": f"/k,{each}"}
                words += _written(chance, "-object", "secret", key)
                given |= {"ipsec": "esp", f"{each}-spi": "4097", f"{each}-key": key["file"]}
                hand |= {"ipsec": "esp", f"{each}-spi": "0x1001", f"{each}-key": key["id"]}
        etree.SubElement(nic, names.net("mip6"), given)
        words += _written(chance, "-netdev", "mip6", hand)
        behind = properties["netdev"] = hand["id"]
    if chance.random() < 0.5:
        given = some(chance, dict.fromkeys(GUARDS, "on") | {"l2-control": "off"})
        nic.attrib.update({"hostvlan": "/t,a=b", **given})
        hand = {"id": f"h{alias}", "netdev": behind, "table": "/t,a=b", **given}
        words += _written(chance, "-netdev", "hostvlan", hand)
        properties["netdev"] = hand["id"]
    if chance.random() < 0.5:
        given = some(chance, CVSW)
        etree.SubElement(nic, names.net("cvsw"), {"control-secret": "/key", **given})
        words += _written(chance, "-object", "secret", {"id": f"c{alias}", "file": "/key"})
        properties |= {each.replace("-", "_"): value for each, value in given.items()}
        properties |= {"driver": "virtio-net-cvsw-pci", "control_secret": f"c{alias}"}
    return properties


def _written(
    chance: random.Random, option: str, kind: str, given: dict[str, str]
) -> list[list[str]]:
    """An option in JSON or not, in any order, with a part of it in ``-set``."""
    first = {"-netdev": "type", "-device": "driver", "-object": "qom-type"}[option]
    pairs = list(given.items())
    chance.shuffle(pairs)
    if chance.random() < 0.4:
        typed: dict[str, Any] = {first: kind, **dict(pairs)}
        for name, value in pairs:
            if value in ("on", "off"):
                typed[name] = value == "on"
            elif value.isdigit():
                typed[name] = int(value)
        return [[option, json.dumps(typed)]]
    later = []
    if option != "-object" and pairs[-1][0] != "id":
        name, value = pairs.pop()
        later = [["-set", f"{option[1:]}.{given['id']}.{name}={value}"]]
    texts = []
    for name, value in pairs:
        spelt = {"on": "yes", "off": "false"}.get(value, value) if name != "tunnel-gso" else value
        texts.append(f"{name}={spelt.replace(',', ',,')}")
    return [[option, ",".join([kind, *texts])], *later]


# The meaning of a domain for QEMU, by an independent reader


def meaning(made: etree._Element) -> dict[str, Any]:
    """Devices with their options, without names; words that are nothing here as they are."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    rest: list[str] = []
    words = iter(args(made))
    for word in words:
        if word in ("-netdev", "-device", "-object"):
            given = _read(next(words))
            found[word, given.get("id", [""])[0]] = given
        elif word == "-set":
            group, number, more = next(words).split(".", 2)
            name, _, value = more.partition("=")
            found[f"-{group}", number].setdefault(name, []).append(value)
        else:
            rest.append(word)
    nics = {}
    for index, nic in enumerate(made.iterfind("devices/interface")):
        named = nic.find("alias")
        alias = f"net{index}" if named is None else named.get("name")
        mine = {
            each.get("name"): each.get("value")
            for each in made.iter(names.qemu("property"))
            if each.getparent().getparent().get("alias") == alias
        }
        mine.setdefault("driver", nic.find("model").get("type"))
        nics[nic.find("mac").get("address")] = _nic(mine, f"host{alias}", found)
    others = [
        (option, sorted(_resolved(given, found, ("id",)).items()))
        for (option, _), given in found.items()
        if option == "-device" or "vmmnet-handoff" in str(given)
    ]
    return {"nics": nics, "others": sorted(others), "rest": rest}


def _nic(
    mine: dict[str, str], libvirts: str, found: dict[tuple[str, str], dict[str, list[str]]]
) -> list[Any]:
    """Its properties, and netdevs from it to what libvirt makes."""
    mac_is_its_own = ("id", "netdev", "mac")
    behind = mine.pop("netdev", libvirts)
    result = [_resolved({name: [value] for name, value in mine.items()}, found, ())]
    while behind != libvirts:
        netdev = found["-netdev", behind]
        result.append(_resolved(netdev, found, mac_is_its_own))
        behind = netdev["netdev"][-1]
    return result


def _resolved(
    given: dict[str, list[str]],
    found: dict[tuple[str, str], dict[str, list[str]]],
    without: tuple[str, ...],
) -> dict[str, Any]:
    """Options as QEMU understands them, with the key itself in place of its ID."""
    result: dict[str, Any] = {}
    for name, values in given.items():
        if name in without:
            continue
        last = {"yes": "on", "false": "off"}.get(values[-1], values[-1])
        if name.endswith(("-key", "-secret")):
            key = found["-object", last]
            result[name] = (key.get("format", ["raw"]), key["file"])
        elif name == "more-home-address":
            result[name] = values
        else:
            result[name] = int(last, 0) if re.fullmatch("0x[0-9a-f]+|[0-9]+", last) else last
    return result


def _read(text: str) -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    if text.startswith("{"):
        for name, value in json.loads(text).items():
            spelt = {True: "on", False: "off"}.get(value) if isinstance(value, bool) else value
            result[name] = [str(spelt)]
    else:
        for piece in re.findall("(?:[^,]|,,)+", text):
            name, equals, value = piece.replace(",,", ",").partition("=")
            result.setdefault(name if equals else "kind", []).append(value if equals else name)
    for first in ("type", "driver", "qom-type"):
        if first in result:
            result["kind"] = result.pop(first)
    return result


# The command


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "guest.xml"
    words = "-netdev", TABLE, "-device", "virtio-vmrpc-pci,packed=on,id=v"
    overrides = override("ua-a", netdev="hv0")
    file.write_text(document.text(domain(*words, devices=NAMED, overrides=overrides)))
    answer = commandline.run("libvirt", "convert", "--print", str(file))
    assert answer.status == 0 and drift(document.parse(answer.out)) == []
    assert answer.err == f"{file}: -device v stays: the element has no 'packed'\n"
    told = json.loads(commandline.run("libvirt", "convert", "--print", "--json", str(file)).out)
    assert told["xml"] == answer.out and told["converted"] == [f"HostVLAN at {A}"]
    assert told["removed"] == ["-netdev hv0", "override of netdev of ua-a"]
    assert told["kept"] == [{"name": "-device v", "reason": "the element has no 'packed'"}]
    file.write_text(answer.out)
    again = commandline.run("libvirt", "convert", "--print", str(file))
    assert again.status == 1 and "nothing is converted: -device v stays: the element" in again.err
    back = commandline.run("libvirt", "convert", "--to-commandline", "--print", str(file))
    assert back.status == 0 and "hostvlan,id=hostvlan-525400000001," in back.out
    file.write_text(back.out)
    none = commandline.run("libvirt", "convert", "--to-commandline", "--print", str(file))
    assert none.status == 1 and none.err.endswith("the domain has no <vmmnet:net>\n")
    wrong = commandline.run("libvirt", "convert", "--print", str(file), "--connect", "test:///")
    assert wrong.status == 2 and "asks no daemon" in wrong.err
