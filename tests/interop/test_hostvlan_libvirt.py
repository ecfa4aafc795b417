# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet hostvlan check`` and ``watch`` on a host of libvirt as the guide makes it.

No VM has a QMP socket but libvirt's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from lab.base import paths
from lab.base.net import Network
from lab.hosts import ebpf
from lab.libvirt.life import Site, Vm

GUARDED, BARE = Vm(1), Vm(2)
_PORT = f"{GUARDED.name}/vmmnet-hostvlan-{GUARDED.mac.replace(':', '')}"
# Where Python's package libvirt is not installed.
_WITHOUT = "import sys; sys.modules['libvirt'] = None; from vmmnet.__main__ import main; main()"


def _vmmnet(site: Site, *words: str, program: tuple[str, str] = ("-m", "vmmnet")) -> Any:
    python = ["env", f"PYTHONPATH={paths.ROOT / 'control'}", "/usr/bin/python3", *program]
    return site.run(*python, *words, check=False)


def _bare(domain: Any) -> Any:
    domain.remove(domain.find("metadata"))
    return domain


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A host with a VM that has the element, and one that has nothing of ours, on one bridge."""
    ebpf.compiled()
    with Network() as network, Site(network.namespace("one"), 1) as one:
        one.run("mount", "-t", "bpf", "bpf", "/sys/fs/bpf")
        for vm in GUARDED, BARE:
            assert _vmmnet(one, "hostvlan", "add", vm.mac, "7").returncode == 0
        one.define(GUARDED)
        one.define(BARE, _bare(BARE.domain()))
        one.virsh("start", GUARDED.name)
        yield one
        one.clear()


def _taps(site: Site, vm: Vm) -> list[str]:
    return [line.split()[0] for line in site.virsh("domiflist", vm.name).splitlines() if line]


def _faults(site: Site) -> list[str]:
    done = _vmmnet(site, "hostvlan", "check", "--json")
    told = json.loads(done.stdout)
    faults = [each["text"] for each in told["findings"] if each["kind"] == "fault"]
    assert done.returncode == (3 if faults else 0), done
    return faults


def _watched(site: Site) -> Any:
    done = _vmmnet(site, "hostvlan", "watch", "--count", "1", "--json")
    assert done.returncode == 0, done
    return {f"{each['vm'] or ''}/{each['id']}": each for each in json.loads(done.stdout)["ports"]}


def test_a_bare_vm_beside_a_protected_one(site: Site) -> None:
    """The first is the fault, whether or not there is eBPF on another port of the bridge."""
    assert _faults(site) == []
    site.virsh("start", BARE.name)
    (tap,) = _taps(site, BARE)
    (fault,) = _faults(site)
    assert fault.startswith(
        f"{tap}, the NIC {BARE.mac} of the domain {BARE.name}, is a port of br0"
    )
    remedy = f"vmmnet libvirt protect {BARE.name} {BARE.mac}"
    assert fault.endswith(remedy)
    done = _vmmnet(site, *remedy.split()[1:])
    assert done.returncode == 0, done
    assert _faults(site) == []
    # A domain that had no element has its filter again on each new tap.
    site.virsh("managedsave", BARE.name)
    site.virsh("start", BARE.name)
    assert _faults(site) == []
    site.virsh("destroy", BARE.name)
    site.virsh("start", BARE.name)
    assert _faults(site) == []


def test_watch(site: Site) -> None:
    seen = _watched(site)[_PORT]
    assert (seen["mac"], seen["lnids"], [seen["interface"]]) == (
        GUARDED.mac,
        [7],
        _taps(site, GUARDED),
    )


def test_a_fault_of_a_port(site: Site) -> None:
    _vmmnet(site, "hostvlan", "remove", GUARDED.mac)
    try:
        (fault,) = _faults(site)
    finally:
        _vmmnet(site, "hostvlan", "add", GUARDED.mac, "7")
    assert fault.startswith(f"{_PORT}: {GUARDED.mac} is not in the table, so that nothing passes")


def test_libvirt_that_cannot_be_asked(site: Site) -> None:
    """No silence: VMs that nobody has looked at are a fault."""
    done = _vmmnet(site, "hostvlan", "check", program=("-c", _WITHOUT))
    assert "fault: VMs of libvirt are not seen: needs Python's package libvirt" in done.stdout
    site.stop()
    try:
        done = _vmmnet(site, "hostvlan", "check")
        assert "fault: VMs of libvirt are not seen: no daemon of libvirt" in done.stdout
    finally:
        site.start()
