# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt check`` on a host with libvirt of the system: planted faults, and remedies.

Each fault is planted on a host that is in order, has its own finding, and is gone when the
test has done what the finding's remedy says.  At the end all are planted at once.

This machine's kernel has neither AppArmor nor SELinux: for them ``check`` alone sees a /sys
that says so; the rules of AppArmor are the package's, and the labels of SELinux are on the files.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from vmmnet.hostvlan import mac as macs
from vmmnet.hostvlan.entry import Entry
from vmmnet.hostvlan.table import Table
from vmmnet.testbed import hostd, paths, qemu, wait
from vmmnet.testbed.libvirtd import GUESTS, Host, built
from vmmnet.testbed.net import Network

_MAC, _LATE = "52:54:00:00:00:01", "52:54:00:00:00:02"
_VM, _HOST, _FAR = "2001:db8:1::c0de", "2001:db8:1::1", "2001:db8:9::c0de"
_EMULATOR, _OTHER = "/usr/bin/qemu-system-x86_64-vmmnet", "/run/other-qemu"
_TABLE, _KEY = "/var/lib/vmmnet/lnid.table", "/etc/vmmnet/keys/red1"
_POLICY, _CONF = "/etc/vmmnet/guest.policy", "/etc/vmmnet/host.conf"
_HOOK, _SETTINGS = "/etc/libvirt/hooks/qemu.d/vmmnet", "/etc/libvirt/qemu.conf"
_LOCAL = "/etc/apparmor.d/local/abstractions/libvirt-qemu"
_PING, _PORTS = "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"
_PLACE, _LABEL = "address6-device br0", "security.selinux"

_DOMAIN = f"""
<domain type='qemu'>
  <name>guest</name>
  <metadata>
    <vmmnet:net xmlns:vmmnet='https://vmmnet.example/net/1'>
      <vmmnet:sockets address6='{_VM}' policy='{_POLICY}' max-sockets='512'/>
      <vmmnet:interface mac='{_MAC}' hostvlan='{_TABLE}'>
        <vmmnet:cvsw control-secret='{_KEY}'/>
      </vmmnet:interface>
    </vmmnet:net>
  </metadata>
  <memory unit='MiB'>64</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os><features><acpi/></features>
  <devices>
    <emulator>{_EMULATOR}</emulator>
    <interface type='bridge'>
      <mac address='{_MAC}'/><source bridge='br0'/><model type='virtio'/>
    </interface>
  </devices>
</domain>
"""
_HANDED = f"""
<domain type='qemu'>
  <name>handed</name>
  <metadata>
    <vmmnet:net xmlns:vmmnet='https://vmmnet.example/net/1' handoff='on'>
      <vmmnet:sockets address6='{_FAR}' max-sockets='512'/>
    </vmmnet:net>
  </metadata>
  <memory unit='MiB'>64</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os><features><acpi/></features>
  <devices><emulator>{_EMULATOR}</emulator></devices>
</domain>
"""

# What a package would have in /usr/bin, and stand-ins for SELinux's tools.
_PROGRAMS = {
    "vmmnet": f'PYTHONPATH={paths.ROOT}/control exec /usr/bin/python3 -m vmmnet "$@"',
    "semanage": '[ "$*" = "fcontext -a -t virt_content_t $5" ] && echo "$5" >>/run/fcontext',
    "restorecon": 'grep -qxF "$2(/.*)?" /run/fcontext && exec /usr/bin/python3 -c "import os, sys\n'
    "for each in os.scandir(sys.argv[1]):\n"
    f"    os.setxattr(each.path, '{_LABEL}', b'system_u:object_r:virt_content_t:s0')\" \"$2\"",
}
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
# A command of a remedy, or a line for a file, which is named behind it.
_QUOTED = r"(?:'([^']+)'|\"([^\"]+)\")(?: in (qemu\.conf|/\S+))?"
_TOO_OLD = """
import sys
from vmmnet.__main__ import main
from vmmnet.libvirt import connect
connect.Daemon.version = lambda _: (8, 1, 0)
sys.exit(main(sys.argv[1:]))"""


@dataclass(frozen=True)
class Found:
    """A finding, as --json has it."""

    severity: str
    about: str
    wrong: str
    remedy: str


@dataclass
class Bed:
    """A host that is in order."""

    host: Host
    services: contextlib.ExitStack
    #: What ``check`` is to see of the kernel.
    kernel: list[str] = field(default_factory=list)
    #: The daemon says that it is older than it is.
    is_old: bool = False
    #: No fault was left by a test that has failed.
    is_whole: bool = True

    def sh(self, script: str) -> str:
        """What a script says."""
        return self.host.run("sh", "-ec", script).stdout

    def edit(self, old: str, new: str) -> None:
        """As people do, with ``virsh edit``."""
        change = f"s|{old}|{new}|"
        editor = "EDITOR=sed -i " + shlex.quote(change)
        told = self.host.run("env", editor, "virsh", "edit", "guest").stdout
        assert "edited" in told, told

    def conf(self, file: str, old: str, new: str) -> None:
        """Change a line of a file."""
        path = self.host.path(file)
        text = path.read_text()
        assert old in text, text
        path.write_text(text.replace(old, new))

    def label(self, file: str, kind: str) -> None:
        """Give a file a type of SELinux."""
        os.setxattr(self.host.path(file), _LABEL, f"system_u:object_r:{kind}:s0\0".encode())

    def words(self, domain: str, *more: str) -> list[str]:
        """The command line of a check."""
        given = ["libvirt", "check", domain, *more]
        if not self.is_old:
            return ["vmmnet", *given]
        place = f"PYTHONPATH={paths.ROOT / 'control'}"
        return ["env", place, "/usr/bin/python3", "-c", _TOO_OLD, *given]

    def check(self, domain: str = "guest") -> tuple[int, list[Found]]:
        """The exit status of ``vmmnet libvirt check``, and what it finds."""
        done = self.host.run(*self._in_kernel(*self.words(domain, "--json")), check=False)
        assert done.returncode in (0, 3), done
        return done.returncode, [Found(**each) for each in json.loads(done.stdout)["findings"]]

    def lines(self) -> list[str]:
        """What ``vmmnet libvirt check`` prints of the guest, which has faults."""
        done = self.host.run(*self._in_kernel(*self.words("guest")), check=False)
        assert done.returncode == 3, done
        return done.stdout.splitlines()

    def _in_kernel(self, *words: str) -> list[str]:
        """A command line that sees the kernel that is wanted."""
        script = "\n".join([*self.kernel, 'exec "$@"'])
        return ["unshare", "-m", "sh", "-ec", script, "sh", *words]

    def is_in_order(self, domain: str = "guest") -> None:
        """Fail if there is anything to be found."""
        assert self.check(domain) == (0, [])

    # Remedies.

    def follow(self, remedy: str, right: Callable[[Bed], object] | None) -> None:
        """Do what a remedy says; ``right`` puts right what it leaves to people."""
        first = re.split(r"[,;] or ", remedy)[0]
        rules = re.fullmatch(r"add (.*) to (/\S+)", first)
        if rules:
            lines = re.findall(r"'([^']+)'", rules[1])
            self.sh("\n".join(f"echo {shlex.quote(each)} >>{rules[2]}" for each in lines))
            return
        emulator = re.search(r"install vmmnet-qemu, and write <emulator>(.*)</emulator>", first)
        if emulator:
            self.edit("<emulator>.*</emulator>", f"<emulator>{emulator[1]}</emulator>")
            return
        if right is not None and "dumpxml" not in first:
            right(self)
        for command, or_command, file in re.findall(_QUOTED, first):
            if file:
                self._write(command, file)
                continue
            self._do(command or or_command)
            if right is not None and "dumpxml" in command:
                right(self)

    def _write(self, line: str, file: str) -> None:
        """A line of a file of settings, in place of the one that is there."""
        place = {"qemu.conf": _SETTINGS}.get(file, file)
        line = line.replace("INTERFACE", "br0")
        self.sh(f"sed -i '/^{line.split()[0]}/d' {place}; echo '{line}' >>{place}")

    def _do(self, command: str) -> None:
        if command == "systemctl restart libvirtd":
            self.host.stop()
            self.host.start()
        elif command == "systemctl enable --now vmmnet-hostd":
            self.start_hostd()
        else:
            self.sh(command.replace("FILE", "/run/guest.xml").replace("INTERFACE", "br0"))

    def start_hostd(self) -> None:
        """Start the helper; ``services`` ends it."""
        program = built(hostd.binary())
        with contextlib.ExitStack() as stack:
            out = stack.enter_context((paths.LOGS / "hostd-faults.log").open("wb"))
            child = stack.enter_context(self.host.service([program], out))
            wait.accepting(
                self.host.path("/run/vmmnet/hostd.sock"), lambda: child.poll() is not None
            )
            self.services.push(stack.pop_all())


def _prepare(host: Host) -> None:
    """What the packages and their user have made."""
    programs = host.path("/run/bin")
    programs.mkdir()
    for name, script in _PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    emulator = Path(_EMULATOR).name
    (programs / emulator).touch(0o755)
    host.run("mount", "-t", "overlay", "none", "-o", "lowerdir=/run/bin:/usr/bin", "/usr/bin")
    host.run("mount", "--bind", built(qemu.binary()), _EMULATOR)
    host.run("mount", "-t", "bpf", "bpf", "/sys/fs/bpf")
    for file, text in (
        (_KEY, "k" * 32),
        (_POLICY, "default allow\n"),
        (_CONF, f"{_PLACE}\n"),
        ("/etc/apparmor.d/abstractions/libvirt-qemu", _rules()),
        (_LOCAL, f"{_KEY} r,\n"),
    ):
        path = host.path(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    table = host.path(_TABLE)
    table.parent.mkdir()
    with Table.change(table) as change:
        change.set(Entry.of(macs.parse(_MAC), [7]))
        change.set(Entry.of(macs.parse(_LATE), [7]))
    host.run("chown", GUESTS, _KEY)
    host.run("chmod", "0400", _KEY)
    settings = host.path(_SETTINGS)
    settings.write_text(settings.read_text() + "max_files = 4096\n")


def _rules() -> str:
    """Those of libvirt, as far as they matter here, with the package's and the host's own."""
    ours = (paths.ROOT / "debian/apparmor/libvirt-qemu").read_text()
    return f"{ours}\n  include if exists <local/abstractions/libvirt-qemu>\n"


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(Network())
        host = stack.enter_context(Host(network.namespace("one"), 1, GUESTS))
        bridge = host.space.bridge("br0")
        bridge.add_address(f"{_HOST}/64")
        bridge.add_address(f"{_VM}/128")
        host.space.sysctl({_PING: "0 2147483647", _PORTS: 80})
        _prepare(host)
        made = Bed(host, stack.enter_context(contextlib.ExitStack()))
        for file, kind in ((_TABLE, "virt_content_t"), (_KEY, "etc_t"), (_POLICY, "etc_t")):
            made.label(file, kind)
        made.start_hostd()
        for text in (_DOMAIN, _HANDED):
            host.path("/run/new.xml").write_text(text)
            made.sh("vmmnet libvirt define /run/new.xml")
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
        program.write_text(f'#!/bin/sh\nq={_EMULATOR}\ncase "$2" in\n{case}\nesac\nexec $q "$@"\n')
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
        bed.sh(f"sed -i /security_driver/d {_SETTINGS}")
        plant(bed)

    return both


def _plug(bed: Bed) -> None:
    bed.host.virsh("start", "--paused", "guest")
    model = ["--model", "virtio", "--mac", _LATE, "--live"]
    bed.host.virsh("attach-interface", "guest", "bridge", "br0", *model)


def _install_hook(bed: Bed) -> None:
    bed.sh(f"mv /run/hook {_HOOK}")
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
        lambda bed: bed.edit(f"table={_TABLE}", "table=/tmp/mine"),
        "guest",
        "what was expanded has been edited",
    ),
    Fault(
        "vhost",
        lambda bed: bed.edit("<driver name='qemu'/>", "<driver name='vhost'/>"),
        "guest",
        "its frames go past QEMU",
        right=lambda bed: bed.sh("sed -i \"s/name='vhost'/name='qemu'/\" /run/guest.xml"),
    ),
    Fault(
        "NIC past the filter",
        _plug,
        _LATE,
        "has no HostVLAN before it",
    ),
    Fault(
        "no hook",
        lambda bed: bed.sh(f"mv {_HOOK} /run/hook"),
        f"hook {_HOOK}",
        "is not there",
        right=_install_hook,
    ),
    Fault(
        "hook not executable",
        lambda bed: bed.sh(f"chmod a-x {_HOOK}"),
        f"hook {_HOOK}",
        "is not executable",
    ),
    Fault(
        "address6 not here",
        lambda bed: bed.sh(f"ip -6 address delete {_VM}/128 dev br0"),
        f"address6 {_VM}",
        "is no address of this host",
    ),
    Fault(
        "address6 of no prefix",
        lambda bed: bed.sh(
            f": >{_CONF}; for each in {_VM}/128 {_HOST}/64;"
            " do ip -6 address delete $each dev br0; done"
        ),
        f"address6 {_VM}",
        "routers have to have a route to it",
    ),
    Fault(
        "key of root",
        lambda bed: bed.sh(f"chown root {_KEY}; chmod 0600 {_KEY}"),
        f"control-secret {_KEY}",
        f"QEMU's user, {GUESTS}, may not read it",
    ),
    Fault(
        "folder of root",
        lambda bed: bed.sh("chmod 0700 /var/lib/vmmnet"),
        f"table {_TABLE}",
        "may not pass through /var/lib/vmmnet",
    ),
    Fault(
        "AppArmor",
        _confining(_APPARMOR, lambda bed: bed.conf(_LOCAL, f"{_KEY} r,\n", "")),
        f"control-secret {_KEY}",
        "AppArmor does not let guests",
    ),
    Fault(
        "SELinux",
        _confining(_SELINUX, lambda bed: bed.label(_TABLE, "var_lib_t")),
        "/var/lib/vmmnet",
        "lnid.table is var_lib_t",
    ),
    Fault(
        "max_files",
        lambda bed: bed.conf(_SETTINGS, "max_files = 4096", "max_files = 700"),
        "max_files",
        "is 700; 512 sockets take 768",
    ),
    Fault("ping", lambda bed: bed.sh(f"sysctl '{_PING}=1 0'"), _PING, f"of QEMU's user, {GUESTS}"),
    Fault(
        "low ports",
        lambda bed: bed.sh(f"sysctl {_PORTS}=1024"),
        _PORTS,
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
        lambda bed: bed.sh(f": >{_CONF}"),
        f"address6 {_FAR}",
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
    settings = bed.host.path(_SETTINGS)
    if "security_driver" not in settings.read_text():
        settings.write_text(settings.read_text() + 'security_driver = "none"\n')
    if "guest" in bed.host.virsh("list", "--name").split():
        bed.host.virsh("destroy", "guest")
    bed.sh(f"ip -6 address replace {_HOST}/64 dev br0; echo '{_PLACE}' >{_CONF}")


def test_a_domain_that_is_in_order(in_order: Bed) -> None:
    """By all that the packages bring, under both security modules as well; also when it runs."""
    in_order.is_in_order("handed")
    in_order.kernel += [_APPARMOR, _SELINUX]
    in_order.sh(f"sed -i /security_driver/d {_SETTINGS}")
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


def test_the_hook_that_is_found_again_is_run(in_order: Bed) -> None:
    """libvirt, restarted as the remedy says, goes by it."""
    before = len(in_order.host.log())
    in_order.host.virsh("start", "--paused", "guest")
    lines = in_order.host.log()[before:]
    assert any("prepare guest: /run/vmmnet/ports/guest has" in each for each in lines), lines
    in_order.is_whole = True


def test_show_tells_how_all_domains_stand(in_order: Bed) -> None:
    """Element, claims, the hook's last events, and what QEMU says of each device."""
    host = in_order.host
    host.run("virsh", "destroy", "guest", check=False)
    in_order.sh(f"ip -6 address replace {_FAR}/128 dev br0 nodad")
    for name in ("guest", "handed"):
        host.virsh("start", name)
    wait.until(lambda: _shown(in_order)["handed"]["devices"]["handoff"] == "held", "the address")
    print(in_order.sh("vmmnet libvirt show guest; vmmnet libvirt show handed"))
    found = _shown(in_order)
    guest, handed = found["guest"], found["handed"]
    assert guest["runs-as-defined"] and guest["drift"] == [] and guest["errors"] == {}
    assert guest["running-digest"] == guest["net"]["digest"]
    assert guest["claims"]["macs"] == [_MAC] and guest["claims"]["hostd"] is None
    last = guest["events"][-1]
    assert last["event"] == "prepare" and last["failed"] is None
    assert last["did"][-1] == f"/run/vmmnet/ports/guest has {_MAC}"
    ((sockets,), (port,), (card,)) = (guest["devices"][k] for k in ("vmrpc", "hostvlan", "cvsw"))
    assert sockets["address6"] == _VM and sockets["address6-claim"] == "held"
    assert port["lnids"] == [7] and card["session"]["open"] is False
    known = {"address": _FAR, "interface": "br0"}
    assert handed["claims"]["hostd"] == {"state": "here", "addresses": [known]}
    host.virsh("destroy", "handed")
    found = _shown(in_order)
    assert found["handed"]["claims"] is None
    assert [each["event"] for each in found["handed"]["events"][-2:]] == ["prepare", "release"]
    in_order.is_whole = True


def _shown(bed: Bed) -> dict[str, Any]:
    """What ``show --all`` says, by domains."""
    return {each["domain"]: each for each in json.loads(bed.sh("vmmnet libvirt show --all --json"))}
