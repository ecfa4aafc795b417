# SPDX-License-Identifier: GPL-2.0-or-later
"""NICs that are plugged in keep HostVLAN, in eBPF, wherever their VM goes; bare ones are refused.

No guest runs; what counts is that a tap has the filter before QEMU runs.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lab.base import paths
from lab.base.net import Network
from lab.hosts import ebpf
from lab.libvirt.life import BRIDGE, TABLE, Site, Vm
from lxml import etree  # type: ignore[import-untyped]
from vmmnet.libvirt import expand, names

VM = Vm(1)
PLUGGED = "52:54:00:00:00:aa"
_NIC = f"""
<interface type='bridge'>
  <mac address='{PLUGGED}'/>
  <source bridge='{BRIDGE}'/>
  <model type='virtio'/>
  <link state='down'/>
  <rom enabled='no'/>
</interface>
"""


@pytest.fixture(scope="module")
def sites() -> Iterator[tuple[Site, Site]]:
    ebpf.compiled()
    with Network() as network, contextlib.ExitStack() as stack:
        one, two = (
            stack.enter_context(Site(network.namespace(name), number))
            for number, name in enumerate(("one", "two"), 1)
        )
        for each in one, two:
            each.run("mount", "-t", "bpf", "bpf", "/sys/fs/bpf")
        yield one, two


@pytest.fixture
def site(sites: tuple[Site, Site]) -> Iterator[Site]:
    """Host one, on which the VM runs."""
    one, two = sites
    one.define(VM)
    one.virsh("start", VM.name)
    yield one
    for each in one, two:
        each.clear()
        each.has_nothing()


def _vmmnet(site: Site, *words: str, check: bool = True) -> Any:
    python = ["env", f"PYTHONPATH={paths.ROOT / 'control'}", "/usr/bin/python3", "-m", "vmmnet"]
    return site.run(*python, *words, check=check)


def _tap(site: Site, mac: str = PLUGGED) -> str:
    lines = [line.split() for line in site.virsh("domiflist", VM.name).splitlines() if line]
    (tap,) = (each[0] for each in lines if each[4] == mac)
    return tap


def _filters(site: Site) -> dict[str, Any]:
    """Interfaces where HostVLAN in eBPF is whole, by their MAC addresses, with their options."""
    found = json.loads(_vmmnet(site, "hostvlan", "status", "--json").stdout)
    return {each["mac"]: each for each in found if all(hook["present"] for hook in each["hooks"])}


def _is_filtered(site: Site) -> None:
    filtered = _filters(site)[PLUGGED]
    assert filtered["interface"] == _tap(site)
    assert (filtered["table"], filtered["dhcp-guard"]) == (TABLE, True)


def _faults(site: Site) -> list[str]:
    """What ``vmmnet libvirt check`` says of NICs; the rest of the host does not matter here."""
    told = json.loads(_vmmnet(site, "libvirt", "check", "--json", VM.name, check=False).stdout)
    return [
        f"{each['severity']}: {each['wrong']}: {each['remedy']}"
        for each in told["findings"]
        if each["about"] == PLUGGED
    ]


def _plug(site: Site) -> None:
    file = site.folder / "nic.xml"
    file.write_text(_NIC)
    site.virsh("attach-device", VM.name, file)


def _protect(site: Site) -> None:
    """As docs/libvirt.md says it."""
    _plug(site)
    told = _vmmnet(site, "libvirt", "protect", VM.name, PLUGGED, "--dhcp-guard", "on").stdout
    assert told == f"{VM.name}: {PLUGGED} has HostVLAN in eBPF at {_tap(site)}, and keeps it\n"
    site.virsh("domif-setlink", VM.name, PLUGGED, "up")
    _is_filtered(site)
    assert _faults(site) == []


def _by_hand(site: Site) -> None:
    _plug(site)
    _vmmnet(site, "hostvlan", "attach", _tap(site), PLUGGED)
    site.virsh("domif-setlink", VM.name, PLUGGED, "up")


def test_kept_in_a_managed_save(site: Site) -> None:
    _protect(site)
    site.virsh("managedsave", VM.name)
    site.virsh("start", VM.name)
    _is_filtered(site)
    assert site.said(VM, "start")[-1] == f"{_tap(site)} has HostVLAN in eBPF for {PLUGGED}"
    # Its next start is without the NIC.
    site.virsh("destroy", VM.name)
    site.virsh("start", VM.name)
    assert PLUGGED not in _filters(site) and _faults(site) == []


def test_kept_in_a_file_and_on_another_host(site: Site, sites: tuple[Site, Site]) -> None:
    """Both hosts' hooks put it onto a new tap."""
    _protect(site)
    file = site.folder / "saved"
    site.virsh("save", VM.name, file)
    site.virsh("restore", file)
    _is_filtered(site)
    two = sites[1]
    with two.way() as way:
        site.virsh("migrate", "--live", *way, VM.name, two.uri())
    _is_filtered(two)


def test_refused_without(site: Site, sites: tuple[Site, Site]) -> None:
    """With HostVLAN by hand alone; the remedies of the messages help."""
    _by_hand(site)
    (fault,) = _faults(site)
    assert fault.startswith("fault: HostVLAN in eBPF ends when the domain is saved")
    two, protect = sites[1], f"'vmmnet libvirt protect {VM.name} {PLUGGED}'"
    assert protect in fault
    with two.way() as way:
        said = site.refuses("migrate", "--live", *way, VM.name, two.uri())
    assert f"the NIC {PLUGGED} has no HostVLAN" in said
    assert f"'vmmnet libvirt protect {VM.name} MAC'" in said
    assert site.state(VM) == "running"

    site.virsh("managedsave", VM.name)
    said = site.refuses("start", VM.name)
    assert f"write <vmmnet:interface mac='{PLUGGED}' hostvlan='{TABLE}' ebpf='on'/>" in said
    _follow(site, said, _name_the_nic)
    site.virsh("start", VM.name)
    assert _filters(site)[PLUGGED]["interface"] == _tap(site)
    assert _faults(site) == []


def _name_the_nic(saved: Any) -> None:
    net = saved.find(f"metadata/{names.net('net')}")
    etree.SubElement(net, names.net("interface"), mac=PLUGGED, hostvlan=TABLE, ebpf="on")


def _follow(site: Site, said: str, correct: Callable[[Any], object]) -> None:
    """Do what the hook says of a managed save; FILE is corrected by hand."""
    first, second, third = re.findall(r"'([^']+ (?:>FILE|>NEW|NEW))'", said.partition("own XML")[2])
    file, new = site.folder / "saved.xml", site.folder / "new.xml"
    place = f'vmmnet() {{ PYTHONPATH={paths.ROOT}/control /usr/bin/python3 -m vmmnet "$@"; }}\n'
    site.run("sh", "-ec", place + first.replace("FILE", str(file)))
    saved = etree.fromstring(file.read_bytes())
    correct(saved)
    file.write_bytes(etree.tostring(saved))
    for command in second, third:
        site.run("sh", "-ec", place + command.replace("FILE", str(file)).replace("NEW", str(new)))


def test_edited_in_a_managed_save(site: Site) -> None:
    """The definition has nothing to do with it: the message says how to correct what is saved."""
    site.virsh("managedsave", VM.name)
    file = site.folder / "edited.xml"
    text = site.virsh("managedsave-dumpxml", "--security-info", VM.name)
    file.write_text(text.replace("<vmmnet:sockets ", "<vmmnet:sockets dns='2001:db8:1::53' "))
    site.virsh("managedsave-define", VM.name, file)
    said = site.refuses("start", VM.name)
    assert "2001:db8:1::53" in said
    _follow(site, said, lambda _: None)
    site.virsh("start", VM.name)
    site.has(VM)


def test_a_transient_domain(site: Site) -> None:
    """Its definition is what runs: each NIC without HostVLAN is told."""
    site.virsh("destroy", VM.name)
    site.virsh("undefine", VM.name)
    site.virsh("create", site.write(expand.expand(VM.domain())))
    _plug(site)
    (fault,) = _faults(site)
    assert fault.startswith("fault: the NIC has no HostVLAN before it, on a network where")
    told = _vmmnet(site, "hostvlan", "attach", _tap(site), PLUGGED).stderr
    assert f"'vmmnet libvirt protect DOMAIN {PLUGGED}'" in told
    assert _faults(site)[0].startswith("fault: HostVLAN in eBPF ends when")
    _vmmnet(site, "libvirt", "protect", VM.name, PLUGGED)
    assert _faults(site) == []
    site.virsh("save", VM.name, site.folder / "saved")
    site.virsh("restore", site.folder / "saved")
    assert _filters(site)[PLUGGED]["interface"] == _tap(site)


def test_a_filter_that_cannot_be(site: Site) -> None:
    """The VM does not start without it."""
    site.virsh("destroy", VM.name)
    made = VM.domain()
    made.find("metadata")[0][1].set("ebpf", "on")
    site.define(VM, expand.expand(made))
    missing = site.path(TABLE).rename(site.folder / "table")
    site.path(TABLE).write_bytes(b"no table")
    said = site.refuses("start", VM.name)
    assert f"HostVLAN of {VM.mac} in eBPF: {TABLE}" in said
    site.has_nothing()
    missing.rename(site.path(TABLE))
    site.virsh("start", VM.name)
    assert _filters(site)[VM.mac]["interface"] == _tap(site, VM.mac)
    site.has(VM)


def test_what_cannot_be_protected(site: Site) -> None:
    """The errors name the domain and the NIC, and nothing is changed."""
    before = site.virsh("dumpxml", VM.name)
    for words, why in (
        ((PLUGGED,), f"no NIC has the MAC address {PLUGGED}; there are {VM.mac}"),
        ((VM.mac, "--table", "/t"), f"the element has HostVLAN's options for {VM.mac}"),
    ):
        done = _vmmnet(site, "libvirt", "protect", VM.name, *words, check=False)
        assert done.returncode == 1 and f"vmmnet libvirt: {VM.name}: {why}" in done.stderr
    assert site.virsh("dumpxml", VM.name) == before
    site.virsh("destroy", VM.name)
    done = _vmmnet(site, "libvirt", "protect", VM.name, PLUGGED, check=False)
    assert (
        done.returncode == 1 and f"{VM.name} does not run: write <vmmnet:interface" in done.stderr
    )


def test_a_bare_nic_of_a_definition(site: Site) -> None:
    """'define' refuses what the hook would."""
    made = VM.domain()
    second = etree.fromstring(_NIC)
    made.find("devices").append(second)
    file = site.write(made)
    done = _vmmnet(site, "libvirt", "define", str(file), check=False)
    assert done.returncode == 1 and f"the NIC {PLUGGED} has no HostVLAN" in done.stderr
    made.find("metadata")[0].append(
        etree.Element(names.net("interface"), mac=PLUGGED, hostvlan=TABLE, ebpf="on")
    )
    done = _vmmnet(site, "libvirt", "define", str(site.write(made)))
    assert f"HostVLAN at {VM.mac}, HostVLAN in eBPF at {PLUGGED}" in done.stdout
    site.virsh("destroy", VM.name)
    site.virsh("start", VM.name)
    assert _filters(site)[PLUGGED]["interface"] == _tap(site)
