# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt check`` on a host with libvirt of the system: planted faults, and remedies.

Each fault is planted on a host that is in order, has its own finding, and is gone when the
test has done what the finding's remedy says.  At the end all are planted at once.

This machine's kernel has neither AppArmor nor SELinux: for them ``check`` alone sees a /sys
that says so; the rules of AppArmor are the package's, and the labels of SELinux are on the files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from lab.base import tools, wait
from lab.libvirt import bed as libvirt_bed
from lab.libvirt.bed import (
    CONF,
    EMULATOR,
    FAR,
    HOOK,
    HOST,
    KEY,
    KEYS,
    LATE,
    MAC,
    PING,
    PLACE,
    PORTS,
    RULES,
    SETTINGS,
    TABLE,
    VM,
    Bed,
)
from lab.libvirt.libvirtd import GUESTS

_OTHER = "/run/other-qemu"
_OLDER = 'virtio-vmrpc-pci,help) exec "$q" "$@" | grep -v max-sockets; exit ;;'
_STRANGER = """\
virtio-vmrpc-pci,help | virtio-net-cvsw-pci,help) echo "not a valid device model" >&2; exit 1 ;;
help) exec "$q" "$@" | grep -v -e hostvlan -e vmmnet; exit ;;"""
_APPARMOR = """
mount -t tmpfs none /sys/module
mkdir -p /sys/module/apparmor/parameters
echo Y >/sys/module/apparmor/parameters/enabled"""
_SELINUX = """
mkdir -p /run/fs
mount -t tmpfs none /run/fs
mkdir /run/fs/bpf /run/fs/selinux
mount --rbind /sys/fs/bpf /run/fs/bpf
mount --rbind /run/fs /sys/fs
echo 1 >/sys/fs/selinux/enforce"""


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    with libvirt_bed.bed() as made:
        yield made


@dataclass(frozen=True)
class Fault:
    """A fault: how it comes about, and what is to be found."""

    name: str
    plant: Callable[[Bed], object]
    about: str
    wrong: str
    #: What a remedy leaves to people.
    right: Callable[[Bed], object] | None = None
    severity: str = "fault"
    domain: str = "guest"


def _emulator(case: str) -> Callable[[Bed], None]:
    """Another QEMU: a script that asks ours, but for some questions."""

    def plant(bed: Bed) -> None:
        program = bed.host.path(_OTHER)
        program.write_text(f'#!/bin/sh\nq={EMULATOR}\ncase "$2" in\n{case}\nesac\nexec $q "$@"\n')
        program.chmod(0o755)
        bed.edit("<emulator>.*</emulator>", f"<emulator>{_OTHER}</emulator>")

    return plant


def _old(is_old: bool) -> Callable[[Bed], None]:
    """A libvirt that says that it is older, or what it is."""
    return lambda bed: setattr(bed, "is_old", is_old)


def _confining(kernel: str, plant: Callable[[Bed], object]) -> Callable[[Bed], None]:
    """A kernel that has a security module, in the eyes of ``check``."""

    def both(bed: Bed) -> None:
        bed.kernel.append(kernel)
        bed.sh(f"sed -i /security_driver/d {SETTINGS}")
        plant(bed)

    return both


def _plug(bed: Bed) -> None:
    bed.host.virsh("start", "--paused", "guest")
    model = ["--model", "virtio", "--mac", LATE, "--live"]
    bed.host.virsh("attach-interface", "guest", "bridge", "br0", *model)


def _install_hook(bed: Bed) -> None:
    bed.sh(f"mv /run/hook {HOOK}")
    bed.host.stop()
    bed.host.start()


_FAULTS = (
    Fault(
        "libvirt too old",
        _old(True),
        "libvirt",
        "8.1.0 is too old",
        # It is installed.
        right=_old(False),
    ),
    Fault("emulator of others", _emulator(_STRANGER), f"emulator {_OTHER}", "this QEMU has no "),
    Fault(
        "older emulator",
        _emulator(_OLDER),
        f"emulator {_OTHER}",
        "-device virtio-vmrpc-pci with the option max-sockets",
    ),
    Fault(
        "edited",
        lambda bed: bed.edit(f"table={TABLE}", "table=/tmp/mine"),
        "guest",
        "what was expanded has been edited",
    ),
    Fault(
        "vhost",
        lambda bed: bed.edit("<driver name='qemu'/>", "<driver name='vhost'/>"),
        "guest",
        "its frames bypass QEMU",
        right=lambda bed: bed.sh("sed -i \"s/name='vhost'/name='qemu'/\" /run/guest.xml"),
    ),
    Fault(
        "NIC past the filter",
        _plug,
        LATE,
        "has no HostVLAN before it",
    ),
    Fault(
        "no hook",
        lambda bed: bed.sh(f"mv {HOOK} /run/hook"),
        f"hook {HOOK}",
        "is not there",
        right=_install_hook,
    ),
    Fault(
        "hook not executable",
        lambda bed: bed.sh(f"chmod a-x {HOOK}"),
        f"hook {HOOK}",
        "is not executable",
    ),
    Fault(
        "address6 not here",
        lambda bed: bed.sh(f"ip -6 address delete {VM}/128 dev br0"),
        f"address6 {VM}",
        "is no address of this host",
    ),
    Fault(
        "address6 of no prefix",
        lambda bed: bed.sh(
            f": >{CONF}; for each in {VM}/128 {HOST}/64;"
            " do ip -6 address delete $each dev br0; done"
        ),
        f"address6 {VM}",
        "routers have to have a route to it",
    ),
    Fault(
        "key of root",
        lambda bed: bed.sh(f"chown root {KEY}; chmod 0600 {KEY}"),
        f"control-secret {KEY}",
        f"QEMU's user, {GUESTS}, may not read it",
    ),
    Fault(
        "folder of root",
        lambda bed: bed.sh("chmod 0700 /var/lib/vmmnet"),
        f"table {TABLE}",
        "may not search /var/lib/vmmnet",
    ),
    Fault(
        "AppArmor",
        _confining(_APPARMOR, lambda bed: bed.sh(f"sed -i '\\|^ *{KEYS}|d' {RULES}")),
        f"control-secret {KEY}",
        "AppArmor does not let guests",
    ),
    Fault(
        "SELinux",
        _confining(_SELINUX, lambda bed: bed.label(TABLE, "var_lib_t")),
        "/var/lib/vmmnet",
        "lnid.table is var_lib_t",
    ),
    Fault(
        "max_files",
        lambda bed: bed.sh(f"sed -i 's/^max_files.*/max_files = 700/' {SETTINGS}"),
        "max_files",
        "is 700; 512 sockets take 768",
    ),
    Fault("ping", lambda bed: bed.sh(f"sysctl '{PING}=1 0'"), PING, f"of QEMU's user, {GUESTS}"),
    Fault(
        "low ports",
        lambda bed: bed.sh(f"sysctl {PORTS}=1024"),
        PORTS,
        "no port below that",
        severity="note",
    ),
    Fault(
        "no helper",
        lambda bed: bed.services.close(),
        "vmmnet-hostd",
        "does not exist",
        domain="handed",
    ),
    Fault(
        "no place for address6",
        lambda bed: bed.sh(f": >{CONF}"),
        f"address6 {FAR}",
        "in no prefix",
        domain="handed",
    ),
)


@pytest.fixture
def in_order(bed: Bed) -> Iterator[Bed]:
    """It is so before, and again after what a remedy does not undo."""
    assert bed.is_whole, "a test before this one has left its fault"
    bed.is_whole = False
    yield bed
    bed.kernel.clear()
    bed.is_old = False
    settings = bed.host.path(SETTINGS)
    if "security_driver" not in settings.read_text():
        settings.write_text(settings.read_text() + 'security_driver = "none"\n')
    if "guest" in bed.host.virsh("list", "--name").split():
        bed.host.virsh("destroy", "guest")
    bed.sh(f"ip -6 address replace {HOST}/64 dev br0; echo '{PLACE}' >{CONF}")


def test_a_domain_that_is_in_order(in_order: Bed) -> None:
    """By all that the packages bring, under both security modules as well; also when it runs."""
    in_order.is_in_order("handed")
    in_order.kernel += [_APPARMOR, _SELINUX]
    in_order.sh(f"sed -i /security_driver/d {SETTINGS}")
    in_order.is_in_order()
    in_order.host.virsh("start", "--paused", "guest")
    in_order.is_in_order()
    told = in_order.sh("vmmnet libvirt check guest")
    assert told == "guest: no fault found\n"
    in_order.is_whole = True


@pytest.mark.parametrize("fault", _FAULTS, ids=lambda each: each.name.replace(" ", "-"))
def test_a_fault_and_its_remedy(in_order: Bed, fault: Fault) -> None:
    fault.plant(in_order)
    status, found = in_order.check(fault.domain)
    assert status == (3 if fault.severity == "fault" else 0)
    assert found and {each.about for each in found} == {fault.about}, found
    assert fault.wrong in found[0].wrong and found[0].severity == fault.severity, found
    in_order.follow(found[0].remedy, fault.right)
    in_order.is_in_order(fault.domain)
    in_order.is_whole = True


_TOGETHER = (
    *("libvirt too old", "older emulator", "NIC past the filter", "edited", "hook not executable"),
    *("address6 not here", "key of root", "folder of root", "AppArmor", "SELinux", "max_files"),
    *("ping", "low ports"),
)


def test_twelve_faults_at_once(in_order: Bed) -> None:
    """Each has its line still, and the remedies together are enough."""
    faults = {each.name: each for each in _FAULTS}
    for name in _TOGETHER:
        faults[name].plant(in_order)
    _, found = in_order.check()
    told = in_order.lines()
    print("\n".join(told))
    for name in _TOGETHER:
        fault = faults[name]
        (its,) = (each for each in found if each.about == fault.about and fault.wrong in each.wrong)
        begin = told.index(f"{fault.severity}: {fault.about}: {its.wrong}")
        assert told[begin + 1] == f"    {its.remedy}"
        in_order.follow(its.remedy, fault.right)
    in_order.host.virsh("destroy", "guest")
    in_order.is_in_order()
    in_order.is_whole = True


def test_what_was_expanded_is_left_without_its_element(in_order: Bed) -> None:
    """``check`` finds it where the hook refuses the start, and in the same words."""
    host, file = in_order.host, "/run/left.xml"
    in_order.sh(
        f"virsh dumpxml --inactive handed >/run/handed.xml;"
        f" sed '/<metadata>/,/<.metadata>/d' /run/handed.xml >{file}; virsh define {file}"
    )
    told = "it has no <vmmnet:net> any more, and what was made of that: "
    _, (found,) = in_order.check("handed")
    assert (found.severity, found.about) == ("fault", "handed") and told in found.wrong
    with pytest.raises(tools.CommandFailed, match=re.escape(found.wrong)):
        host.virsh("start", "handed")
    in_order.follow(found.remedy, lambda bed: bed.sh("cp /run/handed.xml /run/guest.xml"))
    in_order.is_in_order("handed")
    in_order.is_whole = True


def test_a_second_domain_with_the_address6(in_order: Bed) -> None:
    """``define``, ``check`` and the hook, which refuses it, name the domain that has it."""
    host, file = in_order.host, "/run/second.xml"
    in_order.sh(f"virsh dumpxml --inactive handed | sed '/<uuid>/d; s/>handed</>second</' >{file}")
    said = in_order.sh(f"vmmnet libvirt define {file} 2>&1")
    assert "second: its address6 is that of the domain 'handed' as well: a host refuses" in said
    host.virsh("start", "--paused", "handed")
    with pytest.raises(tools.CommandFailed, match=f"{FAR} is the address of VM .*, 'handed', al"):
        host.virsh("start", "second")
    _, (found,) = in_order.check("second")
    assert (found.severity, found.about) == ("fault", f"address6 {FAR}")
    assert "'handed' as well, which runs" in found.wrong
    host.virsh("destroy", "handed")
    host.virsh("undefine", "second")
    in_order.is_in_order("handed")
    in_order.is_whole = True


def test_the_hook_that_is_found_again_is_run(in_order: Bed) -> None:
    """libvirt, restarted as the remedy says, goes by it."""
    before = len(in_order.host.log())
    in_order.host.virsh("start", "--paused", "guest")
    lines = in_order.host.log()[before:]
    assert any("prepare guest: /run/vmmnet/ports/guest has" in each for each in lines), lines
    in_order.is_whole = True


def test_an_autostart_before_the_bridge_has_its_prefix(in_order: Bed) -> None:
    """As at boot: libvirt starts the VM once, and the hook waits for the prefix."""
    host = in_order.host
    # libvirt starts VMs by itself only once after a boot.
    in_order.sh(f": >{CONF}; rm -f /run/libvirt/qemu/autostarted")
    host.virsh("autostart", "handed")
    before = len(host.log())
    host.stop()
    with ThreadPoolExecutor() as others:
        starting = others.submit(host.start)
        wait.until(
            lambda: any("handed: address6" in line for line in host.log()[before:]),
            "the hook to wait",
        )
        in_order.sh("ip -6 address add 2001:db8:9::1/64 dev br0")
        starting.result()
    wait.until(lambda: "handed" in host.virsh("list", "--name").split(), "the VM")
    said = [line for line in host.log()[before:] if "prepare handed:" in line]
    assert "is in no prefix" in said[0] and "30 s at most" in said[0], said
    assert any(f"vmmnet-hostd knows {FAR} on br0" in line for line in said), said
    host.virsh("destroy", "handed")
    host.virsh("autostart", "--disable", "handed")
    in_order.sh("ip -6 address delete 2001:db8:9::1/64 dev br0")
    in_order.is_whole = True


def test_show_tells_how_all_domains_stand(in_order: Bed) -> None:
    """Element, claims, the hook's last events, and what QEMU says of each device."""
    host = in_order.host
    host.run("virsh", "destroy", "guest", check=False)
    in_order.sh(f"ip -6 address replace {FAR}/128 dev br0 nodad")
    for name in ("guest", "handed"):
        host.virsh("start", name)
    wait.until(lambda: _shown(in_order)["handed"]["devices"]["handoff"] == "held", "the address")
    print(in_order.sh("vmmnet libvirt show guest; vmmnet libvirt show handed"))
    found = _shown(in_order)
    guest, handed = found["guest"], found["handed"]
    assert guest["runs-as-defined"] and guest["drift"] == [] and guest["errors"] == {}
    assert guest["running-digest"] == guest["net"]["digest"]
    assert guest["claims"]["macs"] == [MAC] and guest["claims"]["hostd"] is None
    last = guest["events"][-1]
    assert last["event"] == "prepare" and last["failed"] is None
    assert last["did"][-1] == f"/run/vmmnet/ports/guest has {MAC}"
    ((sockets,), (port,), (card,)) = (guest["devices"][k] for k in ("vmrpc", "hostvlan", "cvsw"))
    assert sockets["address6"] == VM and sockets["address6-claim"] == "held"
    assert port["lnids"] == [7] and card["session"]["open"] is False
    known = {"address": FAR, "interface": "br0"}
    assert handed["claims"]["hostd"] == {"state": "here", "addresses": [known]}
    host.virsh("destroy", "handed")
    found = _shown(in_order)
    assert found["handed"]["claims"] is None
    assert [each["event"] for each in found["handed"]["events"][-2:]] == ["prepare", "release"]
    in_order.is_whole = True


def _shown(bed: Bed) -> dict[str, Any]:
    """What ``show --all`` says, by domains."""
    return {each["domain"]: each for each in json.loads(bed.sh("vmmnet libvirt show --all --json"))}
