# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN on interfaces of the host: real frames over a bridge, judged in eBPF."""

from __future__ import annotations

import contextlib
import itertools
import json
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lab.base import paths, tools, wait
from lab.base.net import Interface, Namespace, Network
from lab.base.rough import passing, tcx
from lab.hosts import bridged
from lab.hosts.bridged import Bed, Port, Three, until
from vmmnet.__main__ import main
from vmmnet.hostvlan.bpf import bpf, mirror, nic, twin
from vmmnet.hostvlan.bpf.twin import Synced
from vmmnet.hostvlan.command import check
from vmmnet.hostvlan.host import ports
from vmmnet.hostvlan.table import kept, layout
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table, TableDamaged
from vmmnet.values import mac as macs

NOBODY = 0x525400ABCDEF
NOTHING = dict.fromkeys(twin.REASONS, 0)


@pytest.fixture
def host(network: Network, tmp_path: Path) -> Iterator[Bed]:
    with bridged.bed(network, tmp_path / "table") as made:
        yield made


@pytest.fixture
def tenants(host: Bed) -> Three:
    return bridged.three_tenants(host)


def test_tenants_are_apart(host: Bed, tenants: Three) -> None:
    a, b, c = tenants
    a.say("for one tenant")
    c.say("for the other")
    a.say("end")
    assert b.hears("end") == ["for one tenant", "end"]
    host.refuses(c, "other-tenant", 2)
    assert host.status(b).receive == {**NOTHING, "passed": 2, "other-tenant": 1}
    assert host.status(a).send == {**NOTHING, "passed": 2}
    host.put(a.mac, 2)
    a.say("moved")
    assert c.hears("moved") == ["moved"]


def test_alternative_name(host: Bed, tenants: Three) -> None:
    """It names the same interface for all commands."""
    name = tenants[0].end.name
    host.space.ip("link", "property", "add", "dev", name, "altname", "house")
    with host.space.entered():
        assert [each.interface for each in twin.status("house") if each.here] == [name]
        twin.detach("house")
        assert not [each for each in twin.status() if each.here and each.interface == name]


def test_unicast_of_another_tenant(host: Bed, tenants: Three) -> None:
    """The destination's address is no key to it."""
    a, _, c = tenants
    c.say("here I am")
    host.refuses(a, "other-tenant", 1)
    a.say("unasked", to=c.mac)
    host.refuses(c, "other-tenant", 1)
    host.put(a.mac, 1, 2)
    a.say("asked", to=c.mac)
    assert c.hears("asked") == ["asked"]


def test_many_lnids_and_the_global_one(host: Bed, tenants: Three) -> None:
    a, b, c = tenants
    host.put(a.mac, *range(3, 67))
    a.say("nobody shares these")
    host.refuses(b, "other-tenant", 1)
    host.refuses(c, "other-tenant", 1)
    host.put(c.mac, *range(66, 130))
    a.say("66")
    assert c.hears("66") == ["66"]
    host.refuses(b, "other-tenant", 2)
    host.put(a.mac, 0)
    a.say("global")
    assert b.hears("global") == ["global"]
    assert c.hears("global") == ["global"]


def test_who_is_not_in_the_table(host: Bed, tenants: Three) -> None:
    a, b, c = tenants
    host.put(a.mac)
    a.say("who am I?")
    host.refuses(b, "unknown-source", 1)
    host.refuses(c, "unknown-source", 1)
    host.put(c.mac)
    b.say("for nobody")
    host.refuses(a, "no-port", 1)
    host.refuses(c, "no-port", 1)
    host.put(a.mac, 1)
    b.say("end")
    assert a.hears("end") == ["end"]


@pytest.mark.parametrize("sending", ["xdp", "tc"])
def test_spoofed_frames(host: Bed, sending: twin.Sending) -> None:
    """They reach nobody; with XDP not even who reads packets on the host's side."""
    a, b = map(host.veth, "ab")
    for port in (a, b):
        host.put(port.mac, 1)
        host.attach(port, sending)
    switch = host.listen(a.end)
    a.say("spoofed", source=b.mac)
    a.say("unicast, not mine", source=NOBODY)
    a.say("end")
    assert b.hears("end") == ["end"]
    seen = until(switch, "end")
    assert seen == (["end"] if sending == "xdp" else ["spoofed", "unicast, not mine", "end"])
    assert host.status(a).send["spoofed"] == 2


def test_a_refusal_is_no_error(host: Bed, tenants: Three) -> None:
    """A switch in user space would give up the other ports of a flooded frame."""
    _, b, c = tenants
    switch = host.listen(c.end)
    switch.send(bridged.frame(b.mac, "other tenant"))
    switch.send(bridged.frame(NOBODY, "unknown"))
    switch.send(bridged.frame(c.mac, "its own"))
    assert c.hears("its own") == ["its own"]


def test_each_change_is_in_force_at_once(host: Bed, tenants: Three) -> None:
    """Of inline LNIDs and of records; the first frame after it is judged by it."""
    a, b, _ = tenants
    for turn in range(100):
        assert host.put(a.mac, 2) is Synced.CHANGED
        a.say("refused")
        host.refuses(b, "other-tenant", turn + 1)
        assert host.put(a.mac, *((1, 7) if turn % 2 else (1,))) is Synced.CHANGED
        a.say(str(turn))
        assert b.hears(str(turn)) == [str(turn)]
    with Table.open(host.table) as table:
        assert host.status(b).generation == table.generation


def test_check_sees_a_change_that_nobody_has_finished(host: Bed, tenants: Three) -> None:
    """A command was killed between what it has changed and its counting of that."""
    a, _, _ = tenants
    octets, key = host.table.read_bytes(), layout.key_of(a.mac)
    at = octets.index(struct.pack("<Q", key)) + 8
    other = struct.pack("<Q", layout.inline_value(key, 7))
    for value, others in ((other, 3), (octets[at : at + 8], 0)):
        with host.table.open("r+b") as file:
            file.seek(at)
            file.write(value)
        with host.space.entered():
            found = list(check.attachments(host.table))
        assert [each.kind for each in found] == ["fault"] * others
        assert all("other contents" in each.text for each in found)


def test_check_sees_a_wrong_bit(host: Bed, tenants: Three) -> None:
    """In the file: the copy is good, and a change of the table is refused."""
    a, b, _ = tenants
    octets = host.table.read_bytes()
    at = octets.index(struct.pack("<Q", layout.key_of(a.mac))) + 8
    with host.table.open("r+b") as file:
        file.seek(at)
        file.write(bytes((octets[at] ^ 1,)))
    with host.space.entered():
        found = [each.text for each in check.attachments(host.table)]
    assert any(f"{macs.text(a.mac)} is damaged: nothing passes" in text for text in found)
    with pytest.raises(TableDamaged, match="nothing is changed"):
        host.put(b.mac, 5)
    with pytest.raises(twin.TwinError, match=r"its check is wrong.*stays in force"):
        twin.sync(host.table)
    a.say("as before")
    assert b.hears("as before") == ["as before"]


def test_programs_of_another_version(host: Bed, tenants: Three) -> None:
    """They could not read the table that they are to go by: they keep what they have."""
    a, b, _ = tenants
    with (
        bpf.closing(bpf.pinned(twin.folder_of(host.table) / "tables")) as tables,
        mirror.in_force(tables, None) as inner,
        Table.open(host.table) as table,
    ):
        assert inner is not None
        with mirror.mapped(inner, table.geometry) as there:
            there[8] = 1
    with pytest.raises(twin.TwinError, match="read version 1: 'vmmnet hostvlan detach' all"):
        twin.sync(host.table)
    a.say("as before")
    assert b.hears("as before") == ["as before"]


def test_several_changes_are_one(host: Bed, tenants: Three) -> None:
    a, b, c = tenants
    with Table.change(host.table) as change:
        for port in (a, b, c):
            change.set(Entry.of(port.mac, [5]))
    assert twin.sync(host.table) is Synced.REPLACED
    assert twin.sync(host.table) is Synced.UNCHANGED
    a.say("one tenant now")
    assert b.hears("one tenant now") == ["one tenant now"]
    assert c.hears("one tenant now") == ["one tenant now"]


def test_growth_under_traffic(host: Bed, tenants: Three) -> None:
    """Nothing is lost, and nothing comes through, while tables grow."""
    a, b, c = tenants
    many = 20
    for turn in range(many):
        a.say(f"a{turn}")
        with Table.change(host.table) as change:
            for number in range(200):
                change.set(Entry.of(0x525400000000 + 1000 * turn + number, [number, 10**9]))
        a.say(f"b{turn}")
        assert twin.sync(host.table) is Synced.REPLACED
    a.say("end")
    expected = [f"{kind}{turn}" for turn in range(many) for kind in "ab"]
    assert b.hears("end") == [*expected, "end"]
    assert host.status(c).receive["passed"] == 0


def test_attached_again(host: Bed, tenants: Three) -> None:
    """The programs are new, the counters stay, and other arguments are refused."""
    a, b, _ = tenants
    a.say("before")
    assert b.hears("before") == ["before"]
    again = host.attach(b)
    assert again.whole
    assert again.receive["passed"] == 1
    with host.space.entered():
        with pytest.raises(twin.TwinError, match=f"the MAC address {macs.text(b.mac)}, not"):
            twin.attach(b.end.name, a.mac, host.table)
        with pytest.raises(twin.TwinError, match="the sending xdp, not tc"):
            twin.attach(b.end.name, b.mac, host.table, sending="tc")
        with pytest.raises(twin.TwinError, match="the l2-control off, not on"):
            twin.attach(b.end.name, b.mac, host.table, l2_control=True)
        other = host.table.with_name("other")
        Table.create(other)
        with pytest.raises(twin.TwinError, match=f"the table {host.table}, not {other}"):
            twin.attach(b.end.name, b.mac, other)
    a.say("after")
    assert b.hears("after") == ["after"]


def test_attached_again_after_an_upgrade(host: Bed, tenants: Three) -> None:
    """Programs that counted fewer reasons go; what they have counted stays."""
    a, b, _ = tenants
    reasons = 8
    counted = list(range(1, 2 * reasons + 1))
    # Other tests run beside this one, with interfaces of the same number.
    (pin,) = twin.folder_of(host.table).glob(f"*-{host.status(b).ifindex}/counters")
    pin.unlink()
    with bpf.closing(bpf.array_create("counters", 16 * reasons, 1)) as old:
        bpf.update(old, 0, struct.pack(f"={2 * reasons}Q", *counted))
        bpf.pin(old, pin)
    nothing = [0] * (len(twin.REASONS) - reasons)
    for _ in range(2):
        now = host.status(b)
        assert list(now.send.values()) == counted[:reasons] + nothing
        assert list(now.receive.values()) == counted[reasons:] + nothing
        assert host.attach(b).whole
    a.say("and on")
    assert b.hears("and on") == ["and on"]
    assert host.status(b).receive["passed"] == counted[reasons] + 1


# A configuration BPDU of a bridge with the best of all identifiers, behind LLC: protocol,
# version, type, flags; root, cost, bridge; port, age, and the timers.
_ROOT = bytes(7) + b"\1"
BPDU = bytes.fromhex("424203 0000 00 00 00") + _ROOT + bytes(4) + _ROOT
BPDU += bytes.fromhex("8001 0000 1400 0200 0f00")


def switched(destination: int, source: int, data: bytes) -> bytes:
    head = destination.to_bytes(6) + source.to_bytes(6) + struct.pack("!H", len(data))
    return (head + data).ljust(60, b"\0")


@pytest.mark.parametrize("sending", ["xdp", "tc"])
def test_a_vm_is_not_the_root_of_the_tree(host: Bed, sending: twin.Sending) -> None:
    """Its BPDUs, and what else switches listen to, do not reach the bridge, unless allowed."""
    a = host.veth("a")
    host.put(a.mac, 1)
    host.space.ip("link", "set", "br0", "type", "bridge", "stp_state", "1")

    def root_port() -> int:
        (told,) = json.loads(host.space.ip("-d", "-j", "link", "show", "br0"))
        return int(told["linkinfo"]["info_data"]["root_port"])

    stp = switched(0x0180C2000000, a.mac, BPDU)
    pvst = 0x01000CCCCCCD.to_bytes(6) + stp[6:12] + b"\x81\0\0\1" + stp[12:]
    lldp = 0x0180C200000E.to_bytes(6) + stp[6:12] + b"\x88\xcc"
    host.attach(a, sending)
    for frame in (stp, pvst, lldp.ljust(60, b"\0")):
        a.wire.send(frame)
    wait.until(lambda: host.status(a).send["l2-control"] == 3, "they are refused")
    assert root_port() == 0
    host.detach(a)
    with host.space.entered():
        allowed = twin.attach(a.end.name, a.mac, host.table, sending=sending, l2_control=True)
    assert allowed.l2_control
    a.wire.send(stp)
    wait.until(root_port, "the VM is the root")
    assert host.status(a).send == {**NOTHING, "passed": 1}


def test_what_was_torn_off_is_mended(host: Bed, tenants: Three) -> None:
    a, b, c = tenants
    with bpf.closing(bpf.pinned(pin_of(host, c))) as link:
        bpf.link_detach(link)
    status = host.status(c)
    assert [hook.place for hook in status.hooks if not hook.present] == ["tc egress"]
    assert not status.whole
    assert host.attach(c).whole
    a.say("not for c")
    assert b.hears("not for c") == ["not for c"]
    host.refuses(c, "other-tenant", 1)


def pin_of(host: Bed, station: Port) -> Path:
    """The name in bpffs of the program for frames to a station."""
    index = host.status(station).ifindex
    netns = host.status(station).netns
    (pin,) = twin.ROOT.glob(f"*/{netns}-{index}/receive")
    return pin


def chained(host: Bed, station: Port, *, first: bool) -> contextlib.AbstractContextManager[object]:
    """Another program's link that lets everything pass."""
    with host.space.entered():
        return tcx(host.status(station).ifindex, bpf.EGRESS, first=first)


def filtered(patched: pytest.MonkeyPatch) -> None:
    """As on a kernel older than Linux 6.6, which has no links at tc."""
    patched.setattr(bpf, "tcx_programs", lambda *_: None)


def test_an_ingress_qdisc_before(host: Bed) -> None:
    """As libvirt's <bandwidth> and the CNI plugin bandwidth make it; and another may go."""
    a, b, c = map(host.veth, "abc")
    for station, lnid in ((a, 1), (b, 1), (c, 2)):
        host.put(station.mac, lnid)
    with host.space.entered():
        tools.run(["tc", "qdisc", "add", "dev", c.end.name, "ingress"])
        tools.run(["tc", "qdisc", "add", "dev", b.end.name, "clsact"])
    for station in (a, b, c):
        assert host.attach(station).whole
    a.say("not for c")
    assert b.hears("not for c") == ["not for c"]
    host.refuses(c, "other-tenant", 1)
    with host.space.entered():
        tools.run(["tc", "qdisc", "del", "dev", c.end.name, "ingress"])
        tools.run(["tc", "qdisc", "del", "dev", b.end.name, "clsact"])
    assert host.status(c).whole and host.status(b).whole
    a.say("nor now")
    assert b.hears("nor now") == ["nor now"]
    host.refuses(c, "other-tenant", 2)


def test_programs_of_others_at_tc(host: Bed, tenants: Three) -> None:
    """One that comes later has nothing to decide; one that comes first is told, and mended."""
    a, b, c = tenants
    with chained(host, c, first=False):
        assert not host.status(c).overtaken
        a.say("not for c")
        assert b.hears("not for c") == ["not for c"]
        host.refuses(c, "other-tenant", 1)
        with chained(host, c, first=True):
            assert host.status(c).overtaken == ["tc egress"]
            with host.space.entered():
                found = [each.text for each in check.attachments(host.table)]
            assert [each for each in found if "comes before HostVLAN's at tc egress" in each]
            assert not host.attach(c).overtaken
            a.say("nor now")
            assert b.hears("nor now") == ["nor now"]
            host.refuses(c, "other-tenant", 2)


def test_filters_of_an_older_attachment(
    host: Bed, tenants: Three, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links take their place, and their qdisc goes with them."""
    a, b, c = tenants
    host.detach(c)
    with monkeypatch.context() as patched:
        filtered(patched)
        assert host.attach(c).whole
        with host.space.entered():
            assert nic.has_filters(nic.look(c.end.name).index)
    assert host.attach(c).whole
    with host.space.entered():
        assert "clsact" not in tools.run(["tc", "qdisc", "show", "dev", c.end.name])
    a.say("not for c")
    assert b.hears("not for c") == ["not for c"]
    host.refuses(c, "other-tenant", 1)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (["ingress"], "has the qdisc ingress,"),
        (["ingress_block", "7", "egress_block", "8", "clsact"], "qdisc clsact with shared blocks"),
    ],
)
def test_a_qdisc_that_leaves_no_place_for_filters(
    host: Bed, monkeypatch: pytest.MonkeyPatch, made: list[str], said: str
) -> None:
    """It is refused by name before anything is made; one that was made anyway is not whole."""
    a = host.veth("a")
    host.put(a.mac, 1)
    with host.space.entered():
        tools.run(["tc", "qdisc", "add", "dev", a.end.name, *made])
    with monkeypatch.context() as patched:
        filtered(patched)
        pinned: list[Path] = []
        patched.setattr(bpf, "pin", lambda _, path: pinned.append(path))
        with pytest.raises(twin.TwinError, match=said):
            host.attach(a)
        assert not pinned
    with monkeypatch.context() as patched:
        filtered(patched)
        assert not twin.folder_of(host.table).exists()
        if made == ["ingress"]:
            with patched.context() as older:
                older.setattr(nic, "ingress_qdisc", lambda _: "clsact")
                host.attach(a)
            assert not host.status(a).whole


def test_a_qdisc_that_came_later_is_refused_by_the_present_name(
    host: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is attached again may have been renamed; its hooks stay what they are."""
    a = host.veth("a")
    host.put(a.mac, 1)
    filtered(monkeypatch)
    host.attach(a)
    with host.space.entered():
        tools.run(["tc", "qdisc", "del", "dev", a.end.name, "clsact"])
        tools.run(["tc", "qdisc", "add", "dev", a.end.name, "ingress"])
        tools.run(["ip", "link", "set", "dev", a.end.name, "down"])
        tools.run(["ip", "link", "set", "dev", a.end.name, "name", "renamed"])
        with pytest.raises(twin.TwinError, match=r"renamed has the qdisc ingress,.* dev renamed "):
            twin.attach("renamed", a.mac, host.table)
        (left,) = twin.status("renamed", host.table)
    assert not left.whole


def test_shared_blocks_are_no_obstacle_to_links(host: Bed, tmp_path: Path) -> None:
    """From Linux 6.6 on the programs run before the filters of any qdisc, shared or not."""
    a, b, c = map(host.veth, "abc")
    for station, lnid in ((a, 1), (b, 1), (c, 2)):
        host.put(station.mac, lnid)
    blocks = ["ingress_block", "7", "egress_block", "8", "clsact"]
    theirs = ["pref", "1", "bpf", "direct-action", "object-file", passing(tmp_path)]
    with host.space.entered():
        tools.run(["tc", "qdisc", "add", "dev", c.end.name, *blocks])
        tools.run(["tc", "filter", "add", "block", "8", *theirs, "section", "tc"])
    for station in (a, b, c):
        assert host.attach(station).whole
    a.say("not for c")
    assert b.hears("not for c") == ["not for c"]
    host.refuses(c, "other-tenant", 1)


def test_detached(host: Bed, tenants: Three) -> None:
    """Everything passes then, and nothing of ours is left."""
    a, _, c = tenants
    host.detach(c)
    a.say("for all")
    assert c.hears("for all") == ["for all"]
    with host.space.entered():
        assert "clsact" not in tools.run(["tc", "qdisc", "show", "dev", c.end.name])
        assert "xdp" not in tools.run(["ip", "link", "show", "dev", c.end.name])
        with pytest.raises(twin.TwinError, match=f"{c.end.name} is not attached"):
            twin.detach(c.end.name)
        with pytest.raises(twin.TwinError, match=f"{c.end.name} is not attached"):
            twin.status(c.end.name)
    assert len(twin.status(table=host.table)) == 2


def test_filters_of_others_stay(host: Bed, tmp_path: Path) -> None:
    a = host.veth("a")
    host.put(a.mac, 1)
    theirs = ["pref", "9", "bpf", "direct-action", "object-file", passing(tmp_path)]
    with host.space.entered():
        tools.run(["tc", "qdisc", "add", "dev", a.end.name, "clsact"])
        tools.run(["tc", "filter", "add", "dev", a.end.name, "egress", *theirs, "section", "tc"])
    host.attach(a)
    host.detach(a)
    with host.space.entered():
        kept = tools.run(["tc", "filter", "show", "dev", a.end.name, "egress"])
    assert "pass.o" in kept
    assert "hostvlan" not in kept


def test_interfaces_that_are_gone(host: Bed, tenants: Three) -> None:
    """Who looks next removes what was theirs."""
    a, b, c = tenants
    host.space.ip("link", "del", c.end.name)
    host.space.ip("link", "del", b.end.name)
    assert host.put(a.mac, 3) is Synced.CHANGED
    (left,) = twin.status(table=host.table)
    assert left.mac == a.mac


def detach_links(host: Bed, station: Port) -> None:
    """As 'bpftool link detach' does for all of them."""
    folder = pin_of(host, station).parent
    with twin.locked():
        for name in ("xdp", "send", "receive"):
            if (folder / name).exists():
                with bpf.closing(bpf.pinned(folder / name)) as link:
                    bpf.link_detach(link)


@pytest.mark.parametrize("sending", ["xdp", "tc"])
def test_links_that_somebody_detached(host: Bed, sending: twin.Sending) -> None:
    """In no namespace they are taken for those of an interface that is gone."""
    a, b = map(host.veth, "ab")
    for port in (a, b):
        host.put(port.mac, 1)
        host.attach(port, sending)
    for port in (a, b):
        detach_links(host, port)
    # From outside, and from a third namespace; sync() and attach() look for what is gone.
    host.put(NOBODY, 3)
    other = host.network.namespace("other")
    pair = ["x0", "type", "veth", "peer", "name", "x1"]
    other.ip("link", "add", *pair)
    with other.entered():
        twin.attach("x0", NOBODY, host.table)
        left = {each.mac for each in twin.status(table=host.table)}
    assert left == {a.mac, b.mac, NOBODY}
    # It is mended where it is, and where it has been deleted it is forgotten, from outside too.
    with host.space.entered():
        mended = twin.mend(nic.look(a.end.name).index)
    assert mended is not None and mended.whole
    host.space.ip("link", "del", b.end.name)
    host.put(NOBODY, 4)
    assert {each.mac for each in twin.status(table=host.table)} == {a.mac, NOBODY}
    other.ip("link", "del", "x0")
    host.put(NOBODY, 5)
    assert {each.mac for each in twin.status(table=host.table)} == {a.mac}


def test_filters_that_vanish_with_their_interface(
    host: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Linux 6.6 no link tells of an interface in another namespace that is gone."""
    filtered(monkeypatch)
    a, b = map(host.veth, "ab")
    for port in (a, b):
        host.put(port.mac, 1)
        host.attach(port, "tc")
    host.space.ip("link", "del", b.end.name)
    host.put(NOBODY, 3)
    assert {each.mac for each in twin.status(table=host.table)} == {a.mac}


def test_an_interface_of_an_older_attachment_in_another_namespace(host: Bed) -> None:
    """Whether it exists is known in its own namespace only, where it is forgotten."""
    a, b = map(host.veth, "ab")
    for port in (a, b):
        host.put(port.mac, 1)
        host.attach(port)
        (pin_of(host, port).parent / "interface").unlink()
    detach_links(host, a)
    host.space.ip("link", "del", b.end.name)
    host.put(NOBODY, 3)
    assert {each.mac for each in twin.status(table=host.table)} == {a.mac, b.mac}
    with host.space.entered():
        host.put(NOBODY, 4)
    assert {each.mac for each in twin.status(table=host.table)} == {a.mac}


def test_an_interface_that_moves_to_another_namespace(host: Bed, tenants: Three) -> None:
    """Its links go with it: it is not taken for one that is gone."""
    a, _, c = tenants
    other = host.network.namespace("other")
    other.sysctl(bridged.QUIET)
    host.space.ip("link", "set", c.end.name, "netns", other.netns)
    moved = Interface(other, c.end.name)
    moved.up()
    assert host.status(c).whole
    host.put(NOBODY, 3)
    host.listen(moved).send(bridged.frame(a.mac, "of another tenant"))
    host.refuses(c, "other-tenant", 1)
    host.detach(c)
    assert len(twin.status(table=host.table)) == 2


def test_a_damaged_table_is_refused(host: Bed, tenants: Three) -> None:
    a, b, _ = tenants
    good = host.table.read_bytes()
    for damage, complaint in (
        (b"X" + good[1:], "it is not a table"),
        (good[:8] + b"\5" + good[9:], "version 5"),
        (good[:-4], "octets"),
    ):
        new = host.table.with_name("new")
        new.write_bytes(damage)
        new.rename(host.table)
        with pytest.raises(twin.TwinError, match=f"{complaint}.*stays in force"):
            twin.sync(host.table)
    host.table.unlink()
    with pytest.raises(twin.TwinError, match=r"there is no table.*stays in force"):
        twin.sync(host.table)
    a.say("as before")
    assert b.hears("as before") == ["as before"]


def test_a_damaged_slot_is_refused(host: Bed, tenants: Three) -> None:
    """Also in a table whose header is good."""
    a, b, _ = tenants
    octets = bytearray(host.table.read_bytes())
    at = octets.index(struct.pack("<Q", layout.key_of(a.mac)))
    octets[at + 8 : at + 16] = struct.pack("<Q", 3 << 62)
    new = host.table.with_name("new")
    new.write_bytes(octets)
    new.rename(host.table)
    with pytest.raises(twin.TwinError, match="stays in force"):
        twin.sync(host.table)
    a.say("as before")
    assert b.hears("as before") == ["as before"]


def test_an_element_of_another_size_is_not_read() -> None:
    """Of a map that another version has made: the kernel would write over what is behind it."""
    with bpf.closing(bpf.array_create("larger", 64, 1)) as fd:
        assert bpf.lookup(fd, 0, 64) == bytes(64)
        for size in (8, 128):
            with pytest.raises(OSError, match="another version of vmmnet"):
                bpf.lookup(fd, 0, size)


def test_errors(host: Bed) -> None:
    a = host.veth("a")
    host.put(a.mac, 1)
    name = a.end.name
    no_table = host.table.with_name("none")
    with host.space.entered():
        for arguments, complaint in (
            (("nosuch0", a.mac, host.table), "there is no interface 'nosuch0'"),
            ((name, None, host.table), f"{name} is not a macvtap.*give it"),
            ((name, 0x010203040506, host.table), "multicast"),
            ((name, a.mac, no_table), f"{no_table}: there is no table"),
            (("lo", a.mac, host.table), "lo is the loopback of this host"),
        ):
            with pytest.raises(twin.TwinError, match=complaint):
                twin.attach(*arguments)
    assert not twin.status(table=host.table)


def test_another_xdp_program(host: Bed, tmp_path: Path) -> None:
    """It stays, nothing of ours does, and the user is told what to do."""
    a = host.veth("a")
    host.put(a.mac, 1)
    generic = ["ip", "link", "set", "dev", a.end.name, "xdpgeneric"]
    with host.space.entered():
        tools.run([*generic, "object", passing(tmp_path), "section", "xdp"])
        with pytest.raises(twin.TwinError, match=f"another XDP program is on {a.end.name}"):
            twin.attach(a.end.name, a.mac, host.table)
        assert "clsact" not in tools.run(["tc", "qdisc", "show", "dev", a.end.name])
        tools.run([*generic, "off"])
    assert not twin.status(table=host.table)
    assert host.attach(a).whole


ATTACH = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from vmmnet.hostvlan.bpf import twin
os.setuid(int(sys.argv[5]))
twin.attach(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
"""


def attaching(host: Bed, port: Port, user: int = 0) -> list[str]:
    """The words of a program that attaches and ends."""
    words = [port.end.name, str(port.mac), str(host.table), str(user)]
    return [sys.executable, "-c", ATTACH, str(paths.ROOT / "control"), *words]


def inside(space: Namespace, words: list[str]) -> str:
    """Run it in the network namespace, but where /sys/fs/bpf is."""
    return tools.run(["nsenter", f"--net=/run/netns/{space.netns}", *words])


def test_it_outlives_its_maker(host: Bed) -> None:
    """Another process attaches and ends; a third one finds and changes it."""
    a, b = map(host.veth, "ab")
    for port, lnid in ((a, 1), (b, 2)):
        host.put(port.mac, lnid)
        inside(host.space, attaching(host, port))
    a.say("another tenant")
    host.refuses(b, "other-tenant", 1)
    host.put(b.mac, 1)
    a.say("the same")
    assert b.hears("the same") == ["the same"]


class Killed(BaseException):
    """Stands for SIGKILL: nobody tidies up."""


def test_killed_at_any_step(host: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next attach() completes what was begun, and detach() removes it."""
    a, b = map(host.veth, "ab")
    host.put(a.mac, 1)
    host.put(b.mac, 2)
    for last in itertools.count():
        steps = iter(range(last))
        with monkeypatch.context() as patched:
            patched.setattr(twin, "_take_off", lambda _: None)
            for name in ("update", "pin", "link_create_xdp", "link_create_tcx"):
                patched.setattr(bpf, name, counted(getattr(bpf, name), steps))
            try:
                host.attach(b)
                break
            except Killed:
                pass
        assert host.attach(b).whole
        a.say("of another tenant")
        host.refuses(b, "other-tenant", 1)
        host.detach(b)
        with host.space.entered():
            assert "xdp" not in tools.run(["ip", "link", "show", "dev", b.end.name])
            assert not nic.has_filters(nic.look(b.end.name).index)
    assert last > 10


def counted(call: Callable[..., object], steps: Iterator[int]) -> Callable[..., object]:
    """As long as there are steps left."""

    def step(*arguments: object) -> object:
        if next(steps, None) is None:
            raise Killed
        return call(*arguments)

    return step


def test_without_a_bpffs_that_stays(host: Bed) -> None:
    """'ip netns exec' hides it; what would be mounted there ends with the command."""
    done = host.space.run(attaching(host, host.veth("a")), check=False)
    assert f"use 'nsenter --net=/run/netns/{host.space.netns}'" in done.stderr


def test_a_change_from_where_interfaces_are_hidden(host: Bed) -> None:
    """It is not passed over in silence."""
    a = host.veth("a")
    host.put(a.mac, 1)
    program = "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]);"
    program += "from vmmnet.hostvlan.bpf import twin; print(twin.sync(Path(sys.argv[2])).name)"
    words = [sys.executable, "-c", program, str(paths.ROOT / "control"), str(host.table)]
    assert host.space.run(words).stdout == "NOBODY\n"
    host.attach(a)
    complaint = host.space.run(words, check=False).stderr
    assert f"interfaces use {host.table}, but" in complaint


def test_the_command_brings_over_what_was_missed(host: Bed, tenants: Three) -> None:
    """A change whose maker could not reach the interfaces is said to be made."""
    a, b, c = tenants
    module = ["env", f"PYTHONPATH={paths.ROOT / 'control'}", sys.executable, "-m", "vmmnet"]
    command = [*module, "hostvlan"]
    option = ["--table", str(host.table)]
    done = host.space.run([*command, "add", macs.text(c.mac), "1", *option], check=False)
    assert done.returncode == 4, done.stderr
    assert f"run 'vmmnet hostvlan sync --table {host.table}'" in done.stderr
    a.say("not yet")
    host.refuses(c, "other-tenant", 1)
    assert Synced.CHANGED.value in inside(host.space, [*command, "sync", *option])
    assert Synced.UNCHANGED.value in inside(host.space, [*command, "sync", *option])
    a.say("now")
    assert c.hears("now") == ["now"]
    assert b.hears("now") == ["not yet", "now"]


def test_what_is_attached_and_perhaps_not_meant(
    host: Bed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A MAC address that is in no table, and a tap whose QEMU checks it already, are told."""
    tap = host.tap("tap0", NOBODY)
    host.put(NOBODY + 2, 1)
    spelled = macs.text(NOBODY)
    words = ["hostvlan", "attach", "tap0", spelled, "--table", str(host.table)]

    def told() -> str:
        with host.space.entered():
            assert main(words) == 0
        return capsys.readouterr().err

    assert told() == (
        f"note: {spelled} is not in the table {host.table}, so that nothing passes tap0:"
        f" vmmnet hostvlan add {spelled} LNID --table {host.table}\n"
    )
    with kept.keeping(host.table, "etcd://h/p"):
        assert f"add {spelled} LNID --store etcd://h/p; and the agent has to know" in told()
    host.put(NOBODY, 1)
    assert told() == ""
    port = ports.Port("web", "hv0", NOBODY, host.table, 1, "", (1,), "tap0")
    monkeypatch.setattr(ports.Monitors, "ports", lambda _: ([port], []))
    assert f"note: web/hv0 checks the frames of {tap.end.name} in QEMU already" in told()


def test_only_root(host: Bed) -> None:
    a = host.veth("a")
    host.put(a.mac, 1)
    host.attach(a)
    with pytest.raises(tools.CommandFailed, match="only root can"):
        inside(host.space, attaching(host, a, user=65534))


#: What the agent's unit has, of what matters here.
AGENT = ("bpf", "net_admin", "perfmon", "dac_override")


def test_without_all_capabilities_of_root(host: Bed) -> None:
    """Attach, change in place and as a whole, look, mend and detach; an older copy, too."""
    a, b = map(host.veth, "ab")
    host.put(a.mac, 1)
    host.put(b.mac, 2)
    program = ["env", f"PYTHONPATH={paths.ROOT / 'control'}", sys.executable, "-m", "vmmnet"]
    bounding = ",".join(["-all", *(f"+{name}" for name in AGENT)])
    command = ["setpriv", "--bounding-set", bounding, *program, "hostvlan"]
    table = ["--table", str(host.table)]
    for port in (a, b):
        inside(host.space, [*command, "attach", port.end.name, macs.text(port.mac), *table])
    a.say("another tenant")
    host.refuses(b, "other-tenant", 1)
    inside(host.space, [*command, "set", macs.text(b.mac), "1", *table])
    a.say("the same")
    assert b.hears("the same") == ["the same"]
    # As an older version leaves it.
    twin.copy_pin(twin.folder_of(host.table)).unlink()
    inside(host.space, [*command, "set", macs.text(b.mac), "3", *table])
    a.say("another tenant again")
    host.refuses(b, "other-tenant", 2)
    assert f"generation {host.status(b).generation}" in inside(
        host.space, [*command, "status", b.end.name]
    )
    with bpf.closing(bpf.pinned(pin_of(host, b))) as link:
        bpf.link_detach(link)
    inside(host.space, [*command, "attach", b.end.name, macs.text(b.mac), *table])
    assert host.status(b).whole
    for port in (a, b):
        inside(host.space, [*command, "detach", port.end.name])


def test_a_copy_whose_maker_was_killed(host: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it had its name; the next one finds it, whichever name the array in force has."""
    a, b = map(host.veth, "ab")
    host.put(a.mac, 1)
    host.attach(a)
    rename = Path.rename

    def killed(path: Path, target: Path) -> Path:
        if path.name == "copy_next":
            raise Killed
        return rename(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", killed)
        patched.setattr(bpf, "map_by_id", None)
        with Table.change(host.table) as change:
            # Two at once are not changed in place.
            for mac in (b.mac, NOBODY):
                change.set(Entry.of(mac, [1]))
        with pytest.raises(Killed):
            twin.sync(host.table)
        assert twin.is_synced(host.table)
    with monkeypatch.context() as patched:
        patched.setattr(bpf, "map_by_id", None)
        assert host.put(b.mac, 2) is Synced.CHANGED
        assert twin.is_synced(host.table)


def test_json(host: Bed, tenants: Three) -> None:
    a, _, _ = tenants
    told = json.loads(json.dumps(host.status(a).as_json()))
    assert told["mac"] == macs.text(a.mac)
    assert told["table"] == str(host.table)
    assert [(hook["place"], hook["verdict"], hook["present"]) for hook in told["hooks"]] == [
        ("tc egress", "receive", True),
        ("xdp", "send", True),
    ]
    assert set(told["send"]) == set(told["receive"]) == set(twin.REASONS)
