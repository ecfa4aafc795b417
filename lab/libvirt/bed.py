# SPDX-License-Identifier: GPL-2.0-or-later
"""A host with the system's libvirt, prepared for two domains, and its administrator.

    with bed() as made:
        made.sh("chmod 0700 /var/lib/vmmnet")
        status, found = made.check()
        made.follow(found[0].remedy, None)
        made.is_in_order()

Security modules that the kernel lacks can be simulated for ``check``.
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

from vmmnet import architecture
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.values import mac as macs

from ..base import paths
from ..base.net import Network
from ..guest import qemu
from .libvirtd import GUESTS, Host, built

MAC, LATE = "52:54:00:00:00:01", "52:54:00:00:00:02"
VM, HOST, FAR = "2001:db8:1::c0de", "2001:db8:1::1", "2001:db8:9::c0de"
EMULATOR = str(architecture.HOST.emulator)
TABLE, KEYS = "/var/lib/vmmnet/lnid.table", "/etc/vmmnet/keys/"
KEY = f"{KEYS}red1"
POLICY, CONF = "/etc/vmmnet/guest.policy", "/etc/vmmnet/host.conf"
HOOK, SETTINGS = "/etc/libvirt/hooks/qemu.d/vmmnet", "/etc/libvirt/qemu.conf"
_PACKAGED = "/etc/apparmor.d/abstractions/libvirt-qemu"
_LOCAL = "/etc/apparmor.d/local/abstractions/libvirt-qemu"
#: Both, for a shell.
RULES = f"{_PACKAGED} {_LOCAL}"
PING, PORTS = "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"
PLACE, _LABEL = "address6-device br0", "security.selinux"

_DOMAIN = f"""
<domain type='qemu'>
  <name>guest</name>
  <metadata>
    <vmmnet:net xmlns:vmmnet='https://vmmnet.example/net/1' handoff='off'>
      <vmmnet:sockets address6='{VM}' policy='{POLICY}' max-sockets='512'/>
      <vmmnet:interface mac='{MAC}' hostvlan='{TABLE}'>
        <vmmnet:cvsw control-secret='{KEY}'/>
      </vmmnet:interface>
    </vmmnet:net>
  </metadata>
  <memory unit='MiB'>64</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os><features><acpi/></features>
  <devices>
    <emulator>{EMULATOR}</emulator>
    <interface type='bridge'>
      <mac address='{MAC}'/><source bridge='br0'/><model type='virtio'/>
    </interface>
  </devices>
</domain>
"""
_HANDED = f"""
<domain type='qemu'>
  <name>handed</name>
  <metadata>
    <vmmnet:net xmlns:vmmnet='https://vmmnet.example/net/1' handoff='on'>
      <vmmnet:sockets address6='{FAR}' max-sockets='512'/>
    </vmmnet:net>
  </metadata>
  <memory unit='MiB'>64</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os><features><acpi/></features>
  <devices><emulator>{EMULATOR}</emulator></devices>
</domain>
"""

# The package's programs of /usr/bin, and stand-ins for SELinux's tools.
_PROGRAMS = {
    "vmmnet": f'PYTHONPATH={paths.ROOT}/control exec /usr/bin/python3 -m vmmnet "$@"',
    "semanage": '[ "$*" = "fcontext -a -t virt_content_t $5" ] && echo "$5" >>/run/fcontext',
    "restorecon": 'grep -qxF "$2(/.*)?" /run/fcontext && exec /usr/bin/python3 -c "import os, sys\n'
    "for each in os.scandir(sys.argv[1]):\n"
    f"    os.setxattr(each.path, '{_LABEL}', b'system_u:object_r:virt_content_t:s0')\" \"$2\"",
}
# A command of a remedy, or a line for a file, whose name follows.
_QUOTED = r"(?:'([^']+)'|\"([^\"]+)\")(?: in (qemu\.conf|/\S+))?"
_TOO_OLD = """
import sys
from vmmnet.__main__ import main
from vmmnet import libvirtd
libvirtd.Daemon.version = lambda _: (8, 1, 0)
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
    """A host without faults."""

    host: Host
    services: contextlib.ExitStack
    #: The simulated parts of the kernel for ``check``.
    kernel: list[str] = field(default_factory=list)
    #: Whether the daemon reports an older version.
    is_old: bool = False
    #: False: a failed test may have left a fault.
    is_whole: bool = True

    def sh(self, script: str) -> str:
        """Run a script; return its output."""
        return self.host.run("sh", "-ec", script).stdout

    def edit(self, old: str, new: str) -> None:
        """Edit a domain with ``virsh edit``."""
        change = f"s|{old}|{new}|"
        editor = "EDITOR=sed -i " + shlex.quote(change)
        told = self.host.run("env", editor, "virsh", "edit", "guest").stdout
        assert "edited" in told, told

    def label(self, file: str, kind: str) -> None:
        """Give a file a type of SELinux."""
        os.setxattr(self.host.path(file), _LABEL, f"system_u:object_r:{kind}:s0\0".encode())

    def words(self, domain: str, *more: str) -> list[str]:
        """Return the command line of a check."""
        given = ["libvirt", "check", domain, *more]
        if not self.is_old:
            return ["vmmnet", *given]
        place = f"PYTHONPATH={paths.ROOT / 'control'}"
        return ["env", place, "/usr/bin/python3", "-c", _TOO_OLD, *given]

    def check(self, domain: str = "guest") -> tuple[int, list[Found]]:
        """The exit status and findings of ``vmmnet libvirt check``."""
        done = self.host.run(*self._in_kernel(*self.words(domain, "--json")), check=False)
        assert done.returncode in (0, 3), done
        return done.returncode, [Found(**each) for each in json.loads(done.stdout)["findings"]]

    def lines(self) -> list[str]:
        """Return the output of ``vmmnet libvirt check`` for the guest, which has faults."""
        done = self.host.run(*self._in_kernel(*self.words("guest")), check=False)
        assert done.returncode == 3, done
        return done.stdout.splitlines()

    def _in_kernel(self, *words: str) -> list[str]:
        """A command line that sees the simulated kernel."""
        script = "\n".join([*self.kernel, 'exec "$@"'])
        return ["unshare", "-m", "sh", "-ec", script, "sh", *words]

    def is_in_order(self, domain: str = "guest") -> None:
        """Fail if the check finds anything."""
        assert self.check(domain) == (0, [])

    # Remedies.

    def follow(self, remedy: str, right: Callable[[Bed], object] | None) -> None:
        """Execute a remedy; ``right`` does the manual part."""
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
        """Replace a line of a file of settings."""
        place = {"qemu.conf": SETTINGS}.get(file, file)
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
        self.services.enter_context(self.host.run_hostd())


def _prepare(host: Host) -> None:
    """Prepare files as the packages and their user do."""
    programs = host.path("/run/bin")
    programs.mkdir()
    for name, script in _PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    emulator = Path(EMULATOR).name
    (programs / emulator).touch(0o755)
    host.run("mount", "-t", "overlay", "none", "-o", "lowerdir=/run/bin:/usr/bin", "/usr/bin")
    host.run("mount", "--bind", built(qemu.binary()), EMULATOR)
    host.run("mount", "-t", "bpf", "bpf", "/sys/fs/bpf")
    for file, text in (
        (KEY, "k" * 32),
        (POLICY, "default allow\n"),
        (CONF, f"{PLACE}\n"),
        (_PACKAGED, _rules()),
        (_LOCAL, ""),
    ):
        path = host.path(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    table = host.path(TABLE)
    table.parent.mkdir()
    with Table.change(table) as change:
        change.set(Entry.of(macs.parse(MAC), [7]))
        change.set(Entry.of(macs.parse(LATE), [7]))
    host.run("chown", GUESTS, KEY)
    host.run("chmod", "0400", KEY)
    settings = host.path(SETTINGS)
    settings.write_text(settings.read_text() + "max_files = 4096\n")


def _rules() -> str:
    """Return the relevant AppArmor rules of libvirt, with the package's and the host's own."""
    ours = (paths.ROOT / "debian/apparmor/libvirt-qemu").read_text()
    return f"{ours}\n  include if exists <local/abstractions/libvirt-qemu>\n"


@contextlib.contextmanager
def bed() -> Iterator[Bed]:
    """Make the host, with the domains ``guest`` (without a handoff) and ``handed``."""
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(Network())
        host = stack.enter_context(Host(network.namespace("one"), 1, user=GUESTS))
        bridge = host.space.bridge("br0")
        bridge.add_address(f"{HOST}/64")
        bridge.add_address(f"{VM}/128")
        host.space.sysctl({PING: "0 2147483647", PORTS: 80})
        _prepare(host)
        made = Bed(host, stack.enter_context(contextlib.ExitStack()))
        for file, kind in ((TABLE, "virt_content_t"), (KEY, "etc_t"), (POLICY, "etc_t")):
            made.label(file, kind)
        made.start_hostd()
        for text in (_DOMAIN, _HANDED):
            host.path("/run/new.xml").write_text(text)
            made.sh("vmmnet libvirt define /run/new.xml")
        yield made
