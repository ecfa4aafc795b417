# SPDX-License-Identifier: GPL-2.0-or-later
"""libvirt's session daemon of the user nobody, and domains that boot the test bed's guest there."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from vmmnet.libvirt import names

from ..base import paths, scratch, tools, wait
from ..base.net import Interface, Namespace
from ..guest import domain
from ..guest.domain import MODULE, child, connect, run
from ..peers.lab import DNS_ADDRESS, VM_ADDRESS, Lab

__all__ = [
    "MODULE",
    "QEMU",
    "USER",
    "Session",
    "bootable",
    "connect",
    "on_tap",
    "run",
    "session",
    "tap",
]

#: libvirt's XML namespace for arguments of QEMU.
QEMU = "http://libvirt.org/schemas/domain/qemu/1.0"
USER = pwd.getpwnam("nobody")


@dataclass(frozen=True)
class Session:
    """libvirt's daemon of a user, on the host of a lab; its files are below a folder."""

    world: Lab
    folder: Path
    build: Path

    def command(self, *words: str | Path) -> list[str | Path]:
        """Return a command that runs ``words`` as that user."""
        user = [f"--reuid={USER.pw_uid}", f"--regid={USER.pw_gid}", "--clear-groups"]
        places = ("HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")
        home = [f"{name}={self.folder}" for name in places]
        return tools.in_system("setpriv", *user, "env", *home, *words)

    def virsh(self, *words: str | Path) -> str:
        """The output of virsh."""
        command = self.command("virsh", "-q", "-c", "qemu:///session", *words)
        return self.world.host.run(command, timeout=wait.PATIENCE).stdout

    def monitor(self, command: str, domain: str = "guest", **arguments: str) -> Any:
        """Ask QEMU by QMP, as docs/libvirt-by-hand.md shows it."""
        request = json.dumps({"execute": command, "arguments": arguments})
        return json.loads(self.virsh("qemu-monitor-command", domain, request))["return"]


@contextlib.contextmanager
def session(world: Lab, number: int, build: Path | None = None) -> Iterator[Session]:
    """Run a daemon; it sees our build at ``build``, even if its user may not read the tree."""
    tools.require("libvirtd", "virsh")
    with scratch.folder() as place:
        folder = Path(place)
        settings = folder / "libvirt"
        for each in folder / "build", settings:
            each.mkdir()
        # Without a daemon for logs, and with a UUID of its own, so that each is another host.
        (settings / "qemu.conf").write_text('stdio_handler = "file"\n')
        host = f"00000000-0000-4000-8000-{number:012}"
        (settings / "libvirtd.conf").write_text(f'host_uuid = "{host}"\n')
        for each in folder, settings:
            os.chown(each, USER.pw_uid, USER.pw_gid)
        folder.chmod(0o755)
        made = Session(world, folder, build or folder / "build")
        # As udev does: each user may open their own tap.
        tun = folder / "tun"
        os.mknod(tun, stat.S_IFCHR, Path("/dev/net/tun").stat().st_rdev)
        tun.chmod(0o666)
        script = 'mount --bind "$0" "$1" && mount --bind "$2" /dev/net/tun && shift 2 && exec "$@"'
        shell: list[str | Path] = ["sh", "-c", script, paths.BUILD, made.build, tun]
        log = paths.LOGS / f"libvirtd-{number}.log"
        with log.open("wb") as out:
            command = [*shell, *made.command("libvirtd")]
            with world.host.started(command, stdout=out, stderr=out) as daemon:
                wait.accepting(settings / "libvirt-sock", lambda: daemon.poll() is not None)
                assert daemon.poll() is None, log.read_text()
                try:
                    yield made
                finally:
                    # Guests outlive the daemon.
                    for name in made.virsh("list", "--name").split():
                        made.virsh("destroy", name)


def bootable(made: ElementTree.Element, session: Session, agent: str = "agent") -> str:
    """Put the test bed's guest into the domain; the rest stays."""
    folder = session.folder
    console = folder / f"{agent}.log"
    places = domain.Places(folder / "initrd", folder / agent, console, session.build)
    domain.make_bootable(made, places)
    for argument in made.iter(f"{{{QEMU}}}arg"):
        value = argument.get("value", "")
        value = re.sub(r"address6=[^,]*", f"address6={VM_ADDRESS}", value)
        argument.set("value", re.sub(r"dns=[^,]*", f"dns={DNS_ADDRESS}", value))
    ElementTree.register_namespace("qemu", QEMU)
    ElementTree.register_namespace("vmmnet", names.NET)
    return ElementTree.tostring(made, encoding="unicode")


def tap(host: Namespace, name: str, bridge: Interface) -> None:
    """Make a tap for the session's user, on the bridge."""
    host.ip("tuntap", "add", name, "mode", "tap", "user", USER.pw_name)
    host.ip("link", "set", name, "master", bridge.name, "up")


def on_tap(nic: ElementTree.Element, interface: str, mac: str) -> None:
    """Put a NIC onto an existing tap, as the session's daemon makes none."""
    nic.set("type", "ethernet")
    for source in nic.findall("source"):
        nic.remove(source)
    child(nic, "target", dev=interface, managed="no")
    address = nic.find("mac")
    assert address is not None
    address.set("address", mac)
