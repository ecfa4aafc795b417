# SPDX-License-Identifier: GPL-2.0-or-later
"""``<vmmnet:net>``: what it may say, and what is said of what it may not."""

from __future__ import annotations

import random
import re
from ipaddress import IPv4Interface, IPv4Network, IPv6Address
from pathlib import Path
from uuid import UUID

import pytest
from lab.base import paths
from lxml import etree
from vmmnet.libvirt import document, schema
from vmmnet.libvirt.element import BadElement, Cvsw, Interface, Mip6, Net, Sockets, read

NS = "xmlns:vmmnet='https://vmmnet.example/net/1'"
A, B = "52:54:00:00:00:01", "52:54:00:00:00:02"
TABLE = "/var/lib/vmmnet/lnid.table"


def domain(inside: str, attributes: str = "") -> etree._Element:
    """A domain whose element, in line 3, has this inside."""
    net = f"<vmmnet:net {NS} {attributes}>{inside}</vmmnet:net>"
    return document.parse(f"<domain>\n<metadata>\n{net}\n</metadata>\n</domain>")


def test_all_of_it() -> None:
    net = read(
        domain(
            "<vmmnet:sockets address6='2001:db8::1' guest4='10.0.0.2/24' pool4='198.18.0.0/16'"
            " dns='2001:db8::53+2001:db8::54@5353+fe80::1%eth0.7@53'"
            " nat64-prefix='64:ff9b::/96' policy='/etc/a b'"
            " alg='off' happy-eyeballs='on' max-sockets='1048576' num-queues='64'"
            " zone='/var/lib/a b+/srv/c' dnssec='strict' trust-anchor='/etc/root key'"
            " insecure='corp.test+ntp.org' iothread='iothread1' guest-clock='off'"
            " long-values='off' ipv6='on' audit='/var/log/a b' audit-full='wait'/>"
            f"<!-- why --><vmmnet:interface mac='{A}' hostvlan='{TABLE}' check-sender='on'/>"
            f"<vmmnet:interface mac='{B.upper()}' hostvlan='/t' l2-control='off' ra-guard='on'"
            " dhcp-guard='off'/>",
            "digest='0123456789abcdef'",
        )
    )
    assert net == Net(
        Sockets(
            address6=IPv6Address("2001:db8::1"),
            guest4=IPv4Interface("10.0.0.2/24"),
            pool4=IPv4Network("198.18.0.0/16"),
            dns="2001:db8::53+2001:db8::54@5353+fe80::1%eth0.7@53",
            dnssec="strict",
            trust_anchor=Path("/etc/root key"),
            insecure="corp.test+ntp.org",
            nat64_prefix="64:ff9b::/96",
            policy=Path("/etc/a b"),
            audit=Path("/var/log/a b"),
            audit_full="wait",
            zone="/var/lib/a b+/srv/c",
            alg=False,
            happy_eyeballs=True,
            guest_clock=False,
            long_values=False,
            ipv6=True,
            max_sockets=1 << 20,
            num_queues=64,
            iothread="iothread1",
        ),
        (
            Interface(A, Path(TABLE), check_sender=True),
            Interface(B, Path("/t"), l2_control=False, ra_guard=True, dhcp_guard=False),
        ),
    )
    assert net.digest == "0123456789abcdef" and net.line == 3


def test_what_is_before_a_nic() -> None:
    mip6 = (
        "<vmmnet:mip6 home-address='2001:db8::10' more-home-address='2001:db8::11  2001:db8::12'"
        " home-prefix-length='64' home-agent='2001:db8::1' care-of='2001:db8:3::1' location='away'"
        " guest-mac='52:54:00:00:00:0A' early-registration='on' mtu='1400'/>"
    )
    cvsw = "<vmmnet:cvsw control-secret='/k' masks='256' link-mtu='1500' tunnel-gso='auto'/>"
    net = read(domain(f"<{NIC} mac='{A}'>{cvsw}{mip6}</{NIC}>"))
    assert net is not None and net.interfaces == (
        Interface(
            A,
            mip6=Mip6(
                home_address=IPv6Address("2001:db8::10"),
                more_home_address=(IPv6Address("2001:db8::11"), IPv6Address("2001:db8::12")),
                early_registration=True,
                home_prefix_length=64,
                home_agent=IPv6Address("2001:db8::1"),
                guest_mac="52:54:00:00:00:0a",
                care_of=IPv6Address("2001:db8:3::1"),
                location="away",
                mtu=1400,
            ),
            cvsw=Cvsw(control_secret=Path("/k"), masks=256, link_mtu=1500, tunnel_gso="auto"),
        ),
    )


def test_a_domain_without_it() -> None:
    assert read(document.parse("<domain/>")) is None
    foreign = "<a:net xmlns:a='https://example.org/'/>"
    assert read(document.parse(f"<domain><metadata>{foreign}</metadata></domain>")) is None


OURS = "https://vmmnet.example/net/1"


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        (
            "<vmmnet:net xmlns:vmmnet='https://vmmnet.example/net'/>",
            "line 3: <vmmnet:net> xmlns:vmmnet='https://vmmnet.example/net': this namespace is not"
            f" that of <vmmnet:net>: write xmlns:vmmnet='{OURS}'",
        ),
        (
            "<a:netz xmlns:a='HTTP://vmmnet.example/net/1'/>",
            "line 3: <a:netz> xmlns:a='HTTP://vmmnet.example/net/1': this namespace is not that of"
            f" <vmmnet:net>: write xmlns:a='{OURS}'",
        ),
        ("<net xmlns='https://vmmnet.example/net/2'/>", f": write xmlns='{OURS}'"),
        ("<vmmnet:net xmlns:vmmnet='https://example.org/'/>", f": write xmlns:vmmnet='{OURS}'"),
        (
            "<a:net xmlns:a='https://vmnet.example/net/1'><a:sockets/></a:net>",
            f"<a:net> xmlns:a='https://vmnet.example/net/1': this namespace is not that of <vmmnet:"
            f"net>: write xmlns:a='{OURS}'",
        ),
        (
            f"<net><interface mac='{A}' hostvlan='/t'/></net>",
            f"line 3: <net> has no namespace: write xmlns:vmmnet='{OURS}', and <vmmnet:net>",
        ),
        (f"<a:nett xmlns:a='{OURS}'/>", "there is no element 'nett' here: is it 'net'?"),
        (f"<a:sockets xmlns:a='{OURS}'/>", "<vmmnet:sockets> is not in <vmmnet:net>"),
        (
            f"<x:tool xmlns:x='urn:tool'><a:net xmlns:a='{OURS}'/></x:tool>",
            "<vmmnet:net> is not a child of the domain's <metadata>: put it there",
        ),
    ],
)
def test_what_is_meant_as_the_element(metadata: str, said: str) -> None:
    """Beside the right one, too: it would be lost in silence."""
    for right in ("", f"<vmmnet:net {NS}/>"):
        text = f"<domain>\n<metadata>{right}\n{metadata}\n</metadata>\n</domain>"
        with pytest.raises(BadElement, match=re.escape(said)):
            read(document.parse(text))


@pytest.mark.parametrize(
    "metadata",
    [
        "<a:net xmlns:a='https://example.org/'><a:interface name='eth0'/><!-- - --></a:net>",
        "<a:net xmlns:a='https://example.org/vmmnet'/>",
        "<a:sockets xmlns:a='https://example.org/'/>",
    ],
)
def test_what_is_another_tools(metadata: str) -> None:
    assert read(document.parse(f"<domain><metadata>{metadata}</metadata></domain>")) is None


def test_order_and_prefix_are_free() -> None:
    net = (
        f"<net xmlns='https://vmmnet.example/net/1'><interface mac='{A}' hostvlan='/t'/><sockets/>"
    )
    found = read(document.parse(f"<domain><metadata>{net}</net></metadata></domain>"))
    assert found == Net(Sockets(), (Interface(A, Path("/t")),))


S, NIC = "vmmnet:sockets", "vmmnet:interface"


@pytest.mark.parametrize(
    ("inside", "attribute", "said"),
    [
        (f"<{S} adress6='2001:db8::1'/>", "adress6", "'adress6' here: is it 'address6'?"),
        (f"<{S} address6='192.0.2.1'/>", "address6", "it is to be an IPv6 address, like"),
        (f"<{S} address6='2001:db8:::1'/>", "address6", "is no IPv6 address: write one like"),
        (f"<{S} address6='fe80::1'/>", "address6", "write a global or unique local unicast one"),
        (f"<{S} address6='::1'/>", "address6", "write a global or unique local unicast one"),
        (f"<{S} address6='ff02::1'/>", "address6", "write a global or unique local unicast one"),
        (f"<{S} address6='::ffff:192.0.2.1'/>", "address6", "write a global or unique local"),
        (f"<{S} guest4='192.0.0.2/33'/>", "guest4", "wrong prefix length"),
        (f"<{S} guest4='127.0.0.1'/>", "guest4", "is no unicast address"),
        (f"<{S} pool4='198.18.0.1/15'/>", "pool4", "is no IPv4 prefix (198.18.0.1/15 has"),
        (f"<{S} pool4='10.0.0.0/8'/>", "pool4", "write one of /12 to /31"),
        (f"<{S} resolver4='224.0.0.1'/>", "resolver4", "is no unicast address"),
        (f"<{S} resolver4='10.0.0.2' guest4='10.0.0.2'/>", "resolver4", "the guest's own address"),
        (f"<{S} dns='www.example.org'/>", "dns", "up to eight IP addresses"),
        (f"<{S} dns='2001:db8::53@0'/>", "dns", "'0' is no port"),
        (f"<{S} dns='2001:db8::53%5353'/>", "dns", "write 2001:db8::53@5353"),
        (f"<{S} dns='192.0.2.1%eth0'/>", "dns", "link-local addresses alone"),
        (f"<{S} dns='fe80::1'/>", "dns", "write one like fe80::1%eth0"),
        (f"<{S} dns='2001:db8::53,2001:db8::54'/>", "dns", "with '+' between"),
        (f"<{S} dns='2001:db8:::53'/>", "dns", "'2001:db8:::53' is no IP address"),
        (f"<{S} nat64-prefix='yes'/>", "nat64-prefix", "'off', 'auto' or an IPv6 prefix"),
        (f"<{S} nat64-prefix='64:ff9b::/95'/>", "nat64-prefix", "their lengths are 32, 40"),
        (f"<{S} dnssec='yes'/>", "dnssec", "it is to be 'off', 'permissive' or 'strict'"),
        (f"<{S} dnssec='strict' trust-anchor='root.key'/>", "trust-anchor", "the absolute path of"),
        (f"<{S} trust-anchor='/a'/>", "trust-anchor", "without dnssec='strict' or 'permissive'"),
        (f"<{S} validator='/a'/>", "validator", "without dnssec='strict' or 'permissive'"),
        (f"<{S} dnssec='strict' validator='a'/>", "validator", "the absolute path of"),
        (
            f"<{S} dnssec='strict' validator='/a' insecure='b'/>",
            *("insecure", "an option of the vmmnet-validate whose socket 'validator' names"),
        ),
        (f"<{S} insecure='corp.test'/>", "insecure", "without dnssec='strict' or 'permissive'"),
        (f"<{S} dnssec='strict' insecure='a b'/>", "insecure", "up to 64 domain names"),
        (f"<{S} dnssec='off' trust-anchor='/a'/>", "trust-anchor", "has no effect without dnssec="),
        (f"<{S} translate='off' dnssec='off'/>", "dnssec", "no effect with translate='off'"),
        (f"<{S} translate='off' dns='::1'/>", "dns", "no effect with translate='off'"),
        (f"<{S} policy='x.policy'/>", "policy", "the absolute path of a file"),
        (f"<{S} audit='a.log'/>", "audit", "the absolute path of a file"),
        (f"<{S} audit='/a' audit-full='on'/>", "audit-full", "it is to be 'drop' or 'wait'"),
        (f"<{S} audit-full='wait'/>", "audit-full", "has no effect without audit='FILE'"),
        (f"<{S} zone='corp.image'/>", "zone", "by their absolute paths"),
        (f"<{S} zone='/a+b'/>", "zone", "by their absolute paths"),
        (f"<{S} translate='off' zone='/a'/>", "zone", "no effect with translate='off'"),
        (f"<{S} alg='yes'/>", "alg", "it is to be 'on' or 'off'"),
        (f"<{S} max-sockets='0'/>", "max-sockets", "a number from 1 to 1048576"),
        (f"<{S} num-queues='65'/>", "num-queues", "a number from 1 to 64"),
        (f"<{S} iothread='1'/>", "iothread", "an ID in QEMU"),
        (f"<{S}/><{S}/>", "", "<vmmnet:sockets> exists twice"),
        (f"<{S}>text</{S}>", "", "has the text 'text'"),
        (f"<{S}><{S}/></{S}>", "", "no element 'sockets' here; there are none"),
        ("<vmmnet:socket/>", "", "no element 'socket' here: is it 'sockets'?"),
        ("<sockets/>", "", "write <vmmnet:sockets>"),
        (f"<{NIC} hostvlan='/t'/>", "", "the attribute 'mac' is missing"),
        (f"<{NIC} mac='52:54'/>", "mac", "a MAC address, like 52:54:00:12:34:56"),
        (f"<{NIC} mac='53:54:00:00:00:01' hostvlan='/t'/>", "mac", "is it 52:54:00:00:00:01?"),
        (f"<{NIC} mac='{A}'/>", "mac", "this NIC has no setting"),
        (f"<{NIC} mac='{A}' l2-control='on'/>", "l2-control", "is an option of HostVLAN"),
        (f"<{NIC} mac='{A}' ra-guard='on'/>", "ra-guard", "is an option of HostVLAN"),
        (f"<{NIC} mac='{A}' ebpf='on'/>", "ebpf", "is an option of HostVLAN"),
        (f"<{NIC} mac='{A}' hostvlan='/t' ebpf='on'><vmmnet:cvsw control-secret='/k'/></{NIC}>",
         "ebpf", "leave one of the two out"),
        (f"<{NIC} mac='{A}' hostvlan='t'/>", "hostvlan", "the absolute path of a file"),
        (f"<{NIC} mac='{A}' hostvlan='/t'/>" * 2, "mac", "exists twice"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(inside: str, attribute: str, said: str) -> None:
    with pytest.raises(BadElement) as caught:
        read(domain(inside))
    assert said in str(caught.value), caught.value
    assert str(caught.value).startswith("line 3: ")
    assert caught.value.attribute == attribute
    if attribute:
        assert f"{attribute}='{caught.value.value}'" in str(caught.value)


def test_the_element_is_there_once() -> None:
    net = f"<vmmnet:net {NS}/>"
    with pytest.raises(BadElement, match="exists twice; a domain has one"):
        read(document.parse(f"<domain><metadata>{net}{net}</metadata></domain>"))


@pytest.mark.parametrize(
    "inside",
    [
        "",
        f"<{S}/><!-- why --><{NIC} mac='{A}'/><{NIC} mac='{B}'/>",
        f"<{NIC} mac='{A}'><vmmnet:cvsw secret='6d7ab5a4-5c1c-4a0e-9d0e-2f6d3b1b8f10'/></{NIC}>",
        f"<{S}/><{S}/>",
        f"<{S} x='1'/>",
        f"<{S} xml:lang='en'/>",
        f"<{S} alg='yes'/>",
        f"<{S}>text</{S}>",
        f"<{S}/>text",
        "<sockets/>",
        f"<{S}><{S}/></{S}>",
        f"<{NIC}/>",
        f"<{NIC} mac='{A}'><vmmnet:cvsw/><vmmnet:cvsw/></{NIC}>",
    ],
)
def test_the_form_is_that_of_net_rng(inside: str) -> None:
    """libxml2 says the same."""
    file = paths.ROOT / "control/vmmnet/libvirt/net.rng"
    (element,) = domain(inside).iterfind("metadata/*")
    try:
        schema.check(element)
        right = True
    except BadElement:
        right = False
    assert etree.RelaxNG(etree.parse(str(file))).validate(element) == right


HOME = "home-address='2001:db8::10' home-prefix-length='64'"
ESP = "ipsec='esp' " + " ".join(
    f"{name}-spi='256' {name}-key='/k'"
    for name in ("signal-out", "signal-in", "tunnel-out", "tunnel-in")
)
SECRET = "6d7ab5a4-5c1c-4a0e-9d0e-2f6d3b1b8f10"
TUNNEL_IN = "tunnel-in-key='/k'"
HOMES = "more-home-address='2001:db8::11 2001:db8::12'"
MORE = " ".join(
    f"more-{name}-spi='{number}  {number + 1}' more-{name}-{kind}='{value} {value}'"
    for name, number, kind, value in (
        ("signal-out", 300, "secret", SECRET),
        ("signal-in", 302, "key", "/k"),
        ("tunnel-out", 304, "secret", SECRET),
        ("tunnel-in", 306, "key", "/k"),
    )
)


def test_keys_of_several_addresses_in_files_and_secrets() -> None:
    esp = ESP.replace(TUNNEL_IN, f"tunnel-in-secret='{SECRET.upper()}'")
    mip6 = f"<vmmnet:mip6 {HOME} home-agent='2001:db8::1' {esp} {HOMES} {MORE}/>"
    net = read(domain(f"<{NIC} mac='{A}'>{mip6}<vmmnet:cvsw secret='{SECRET}'/></{NIC}>"))
    assert net is not None
    found, cvsw = net.interfaces[0].mip6, net.interfaces[0].cvsw
    assert found is not None and cvsw is not None
    assert (found.signal_out_key, found.tunnel_in_key) == (Path("/k"), UUID(SECRET))
    assert found.more_tunnel_out_spi == (304, 305)
    assert found.more_tunnel_out_key == (UUID(SECRET),) * 2
    assert found.more_tunnel_in_key == (Path("/k"),) * 2
    assert cvsw.control_secret == UUID(SECRET)


@pytest.mark.parametrize(
    ("inside", "attribute", "said"),
    [
        ("<vmmnet:mip6/>", "", "the attribute 'home-address' is missing"),
        (f"<vmmnet:mip6 {HOME}/>", "", "the attribute 'home-agent' is missing"),
        (f"<vmmnet:mip6 {HOME} home-agent='2001:db9::1'/>", "home-agent", "link, 2001:db8::/64"),
        (f"<vmmnet:mip6 {HOME} home-agent='2001:db8::10'/>", "home-agent", "agent's own address"),
        (
            f"<vmmnet:mip6 {HOME} home-agent='auto' more-home-address='2001:db9::1'/>",
            "more-home-address",
            "is not all of the home link",
        ),
        (
            f"<vmmnet:mip6 {HOME} home-agent='auto' more-home-address='2001:db8::10'/>",
            "more-home-address",
            "names one twice",
        ),
        (
            f"<vmmnet:mip6 {HOME} home-agent='auto' tunnel-in-key='/k'/>",
            "tunnel-in-key",
            "nothing is protected without ipsec='esp'",
        ),
        (f"<vmmnet:mip6 {HOME} home-agent='2001:db8::1' ipsec='esp'/>", "ipsec", "signal-out-spi"),
        (f"<vmmnet:mip6 {HOME} home-agent='auto' {ESP}/>", "home-agent", "are those of one agent"),
        (
            f"<vmmnet:mip6 {HOME} home-agent='2001:db8::1' {ESP.replace('256', '255')}/>",
            "signal-out-spi",
            "write a number from 256 to",
        ),
        (
            f"<vmmnet:mip6 {HOME} home-agent='2001:db8::1' {ESP} esp-payload='off'/>",
            "tunnel-out-spi",
            "has no use with esp-payload='off'",
        ),
        (
            f"<vmmnet:mip6 {HOME} home-agent='2001:db8::1' {ESP} replay-window='65'/>",
            "replay-window",
            "write 0, 64, 128",
        ),
        (
            f"<vmmnet:mip6 {HOME} home-agent='2001:db8::1' {ESP} heard-addresses='on'/>",
            "heard-addresses",
            "heard addresses have no keys",
        ),
        (
            f"<vmmnet:mip6 {HOME} home-agent='2001:db8::1' {ESP} more-home-address='2001:db8::2'/>",
            "more-signal-out-spi",
            "has 0, and more-home-address 1",
        ),
        (
            f"<vmmnet:mip6 {HOME} home-agent='2001:db8::1' {ESP} {MORE}/>",
            "more-signal-out-spi",
            "has 2, and more-home-address 0",
        ),
        (
            f"<vmmnet:mip6 {HOME} home-agent='2001:db8::1' {ESP} {HOMES}"
            f" {MORE.replace(f'{SECRET} {SECRET}', SECRET)}/>",
            "more-signal-out-secret",
            "has 1, and more-home-address 2",
        ),
        (
            f"<vmmnet:mip6 {HOME} home-agent='2001:db8::1'"
            f" {ESP.replace('tunnel-in-key', 'tunnel-in-secret')}/>",
            "tunnel-in-secret",
            "the UUID of a secret of libvirt, like",
        ),
        (
            f"<vmmnet:mip6 {HOME} home-agent='2001:db8::1' {ESP} tunnel-in-secret='{SECRET}'/>",
            "tunnel-in-secret",
            "in a file already, by tunnel-in-key: leave one",
        ),
        (
            f"<vmmnet:mip6 {HOME} home-agent='2001:db8::1' {ESP.replace(TUNNEL_IN, '')}/>",
            "ipsec",
            "it takes tunnel-in-key or tunnel-in-secret as well",
        ),
        (
            f"<vmmnet:mip6 {HOME} home-agent='2001:db8::1' tunnel-in-secret='{SECRET}'/>",
            "tunnel-in-secret",
            "nothing is protected without ipsec='esp'",
        ),
        ("<vmmnet:cvsw/>", "", "a file by control-secret, or a secret of libvirt by secret"),
        (f"<vmmnet:cvsw control-secret='/k' secret='{SECRET}'/>", "secret", "leave one of the two"),
        ("<vmmnet:cvsw secret='/k'/>", "secret", "the UUID of a secret of libvirt, like"),
        ("<vmmnet:cvsw control-secret='k'/>", "control-secret", "the absolute path of a file"),
        ("<vmmnet:cvsw control-secret='/k' miss='no'/>", "miss", "to be 'normal' or 'drop'"),
        ("<vmmnet:cvsw control-secret='/k' link-mtu='1279'/>", "link-mtu", "from 1280 to 65535"),
    ],
)
def test_what_is_wrong_before_a_nic(inside: str, attribute: str, said: str) -> None:
    with pytest.raises(BadElement) as caught:
        read(domain(f"<{NIC} mac='{A}'>{inside}</{NIC}>"))
    assert said in str(caught.value), caught.value
    assert caught.value.attribute == attribute


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ("handoff='maybe'", "handoff='maybe': it is to be 'on' or 'off'"),
        ("handoff='on'", "it goes with sockets that have an address6"),
        ("digest='abc'", "what 'vmmnet libvirt define' writes"),
        ("version='2'", "no attribute 'version' here; there are handoff, digest"),
    ],
)
def test_its_own_attributes(attributes: str, said: str) -> None:
    with pytest.raises(BadElement, match=re.escape(said)):
        read(domain(f"<{S}/>", attributes))


@pytest.mark.parametrize("tag", ["net", "sockets", "interface", "mip6", "cvsw"])
def test_the_page_has_every_attribute(tag: str) -> None:
    """And no other: docs/libvirt-element.md, by its headings."""
    page = (paths.ROOT / "docs" / "libvirt-element.md").read_text()
    (part,) = re.findall(rf"^## `<vmmnet:{tag}>`$(.*?)(?=^## |\Z)", page, re.M | re.S)
    assert re.findall(r"^\| `([a-z0-9-]+)", part, re.M) == schema.attributes(tag)


def test_all_attributes_at_once() -> None:
    """libxml2's own reader of the schema does not end with so many in any time that counts."""
    esp = "".join(
        f" {way}-spi='{number}' {way}-key='/k'"
        for number, way in enumerate(("signal-out", "signal-in", "tunnel-out", "tunnel-in"), 256)
    )
    mip6 = (
        "<vmmnet:mip6 home-address='2001:db8::10' home-prefix-length='64' heard-addresses='off'"
        " early-registration='on' home-agent='2001:db8::1' guest-mac='52:54:00:00:00:09'"
        " router-mac='52:54:00:00:00:08' care-of='auto' location='auto' ipsec='esp'"
        f" esp-cipher='aes-gcm-128' replay-window='64'{esp}/>"
    )
    net = read(domain(f"<vmmnet:interface mac='{A}'>{mip6}</vmmnet:interface>"))
    assert net is not None and net.interfaces[0].mip6 is not None
    assert net.interfaces[0].mip6.tunnel_in_spi == 259


@pytest.mark.parametrize("seed", range(40))
def test_what_is_of_the_form_is_so_for_others(seed: int) -> None:
    """net.rng is one schema, whoever reads it: few attributes are no work for libxml2."""
    chance = random.Random(seed)
    form = etree.RelaxNG(file=str(paths.ROOT / "control" / "vmmnet" / "libvirt" / "net.rng"))
    values = ["on", "off", "1", "64", "/t", "2001:db8::1", "", A, "auto", "esp", "wrong"]
    right = {"mac": A, "home-address": "2001:db8::1", "home-prefix-length": "64"}
    right |= {"home-agent": "auto", "control-secret": "/t"}

    def made(tag: str, needed: tuple[str, ...]) -> etree._Element:
        given = {name: right[name] for name in needed if chance.random() < 0.9}
        for name in chance.sample(schema.attributes(tag), 2):
            given.setdefault(name, chance.choice(values))
        return etree.Element(f"{{https://vmmnet.example/net/1}}{tag}", given)

    for _ in range(20):
        net = made("net", ())
        for tag in chance.choices(["sockets", "interface", "interface"], k=2):
            net.append(made(tag, ("mac",) if tag == "interface" else ()))
        inside = {"mip6": ("home-address", "home-prefix-length", "home-agent")}
        inside["cvsw"] = ("control-secret",)
        for tag in chance.choices(sorted(inside), k=chance.randrange(3)):
            net[-1].append(made(tag, inside[tag]))
        try:
            schema.check(net)
        except BadElement:
            assert not form.validate(net), etree.tostring(net)
        else:
            assert form.validate(net), etree.tostring(net)
