# SPDX-License-Identifier: GPL-2.0-or-later
"""libvirt's session daemon of the user nobody, and domains that boot the test bed's guest there."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from vmmnet.libvirt import names

from . import image, kernel, paths, qemu, scratch, tools, wait
from .agent import Channel, Result
from .cpio import File
from .lab import DNS_ADDRESS, VM_ADDRESS, Lab
from .net import Interface, Namespace

#: libvirt's namespace for what goes to QEMU as it is.
QEMU = "http://libvirt.org/schemas/domain/qemu/1.0"
#: Where the guest has the module.
MODULE = "/usr/lib/vmmnet/vmrpc.ko"
USER = pwd.getpwnam("nobody")
_SERIES = kernel.SERIES[-1]
_BOOT = "console=ttyS0 no_timer_check panic=-1 net.ifnames=0 ipv6.disable=1"


@dataclass(frozen=True)
class Session:
    """libvirt's daemon of a user, on the host of a lab; its files are below a folder."""

    world: Lab
    folder: Path
    build: Path

    def command(self, *words: str | Path) -> list[str | Path]:
        """The words as that user runs them."""
        user = [f"--reuid={USER.pw_uid}", f"--regid={USER.pw_gid}", "--clear-groups"]
        places = ("HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")
        home = [f"{name}={self.folder}" for name in places]
        return ["setpriv", *user, "env", *home, *words]

    def virsh(self, *words: str | Path) -> str:
        """What virsh says."""
        command = self.command("virsh", "-q", "-c", "qemu:///session", *words)
        return self.world.host.run(command, timeout=wait.PATIENCE).stdout

    def monitor(self, command: str, domain: str = "guest") -> Any:
        """Ask QEMU by QMP, as docs/libvirt.md shows it."""
        request = json.dumps({"execute": command})
        return json.loads(self.virsh("qemu-monitor-command", domain, request))["return"]


@contextlib.contextmanager
def session(world: Lab, number: int, build: Path | None = None) -> Iterator[Session]:
    """A daemon; it sees what was built at ``build``, whoever may read the tree itself."""
    tools.require("libvirtd", "virsh")
    with scratch.folder() as name:
        folder = Path(name)
        settings = folder / "libvirt"
        for each in folder / "build", settings:
            each.mkdir()
        # It keeps no daemon for logs, and is not taken for the same host as another.
        (settings / "qemu.conf").write_text('stdio_handler = "file"\n')
        host = f"00000000-0000-4000-8000-{number:012}"
        (settings / "libvirtd.conf").write_text(f'host_uuid = "{host}"\n')
        for each in folder, settings:
            os.chown(each, USER.pw_uid, USER.pw_gid)
        folder.chmod(0o755)
        made = Session(world, folder, build or folder / "build")
        # As udev makes it: everybody may open the tap that is his.
        tun = folder / "tun"
        os.mknod(tun, stat.S_IFCHR, Path("/dev/net/tun").stat().st_rdev)
        tun.chmod(0o666)
        script = 'mount --bind "$0" "$1" && mount --bind "$2" /dev/net/tun && shift 2 && exec "$@"'
        shell = ["sh", "-c", script, paths.BUILD, made.build, tun]
        log = paths.LOGS / f"libvirtd-{number}.log"
        with log.open("wb") as out:
            command: list[str | Path] = [*shell, *made.command("libvirtd")]
            with world.host.started(command, stdout=out, stderr=out) as daemon:
                wait.accepting(settings / "libvirt-sock", lambda: daemon.poll() is not None)
                assert daemon.poll() is None, log.read_text()
                try:
                    yield made
                finally:
                    # Guests outlive the daemon.
                    for domain in made.virsh("list", "--name").split():
                        made.virsh("destroy", domain)


def child(parent: ElementTree.Element, tag: str, text: str = "", **attributes: str) -> None:
    """Put an element into another."""
    ElementTree.SubElement(parent, tag, attributes).text = text


def bootable(domain: ElementTree.Element, session: Session, agent: str = "agent") -> str:
    """Put the test bed's guest into the domain; all else stays as it is."""
    place = session.build
    guest_kernel = kernel.get(_SERIES)
    initrd = session.folder / "initrd"
    files = {
        "/etc/resolv.conf": File(b"nameserver 192.0.0.1\n"),
        MODULE: File(kernel.build_module(_SERIES).read_bytes()),
    }
    image.boot_archive(guest_kernel, files, initrd)
    domain.set("type", "qemu")
    os_, devices = domain.find("os"), domain.find("devices")
    assert os_ is not None and devices is not None
    for boot in os_.findall("boot"):
        os_.remove(boot)
    child(os_, "kernel", str(place / guest_kernel.image.relative_to(paths.BUILD)))
    child(os_, "initrd", str(initrd))
    child(os_, "cmdline", _BOOT)
    emulator = devices.find("emulator")
    assert emulator is not None
    emulator.text = str(place / qemu.binary().resolve().relative_to(paths.BUILD))
    for disk in devices.findall("disk"):
        devices.remove(disk)
    for letter, file in zip("ab", (image.root(), image.modules(guest_kernel)), strict=True):
        disk = ElementTree.SubElement(devices, "disk", type="file", device="disk")
        child(disk, "driver", name="qemu", type="raw")
        child(disk, "source", file=str(place / file.relative_to(paths.BUILD)))
        child(disk, "target", dev=f"vd{letter}", bus="virtio")
        child(disk, "readonly")
    channel = ElementTree.SubElement(devices, "channel", type="unix")
    child(channel, "source", mode="bind", path=str(session.folder / agent))
    child(channel, "target", type="virtio", name="vmmnet.agent")
    serial = ElementTree.SubElement(devices, "serial", type="file")
    child(serial, "source", path=str(session.folder / f"{agent}.log"))
    for argument in domain.iter(f"{{{QEMU}}}arg"):
        value = argument.get("value", "")
        value = re.sub(r"address6=[^,]*", f"address6={VM_ADDRESS}", value)
        argument.set("value", re.sub(r"dns=[^,]*", f"dns={DNS_ADDRESS}", value))
    ElementTree.register_namespace("qemu", QEMU)
    ElementTree.register_namespace("vmmnet", names.NET)
    return ElementTree.tostring(domain, encoding="unicode")


def connect(path: Path) -> Channel:
    """The agent of a guest that has begun to boot."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(str(path))
    channel = Channel(connection)
    channel.hello(wait.PATIENCE)
    return channel


def run(channel: Channel, command: str) -> Result:
    """Run a line of the shell in a guest to its end."""
    job = channel.start(["sh", "-c", command])
    job.close_input()
    return job.wait(wait.PATIENCE)


def tap(host: Namespace, name: str, bridge: Interface) -> None:
    """Make a tap for the session's user, on the bridge."""
    host.ip("tuntap", "add", name, "mode", "tap", "user", USER.pw_name)
    host.ip("link", "set", name, "master", bridge.name, "up")


def on_tap(nic: ElementTree.Element, interface: str, mac: str) -> None:
    """Put a NIC onto a tap that is there: the session's daemon makes none."""
    nic.set("type", "ethernet")
    for source in nic.findall("source"):
        nic.remove(source)
    child(nic, "target", dev=interface, managed="no")
    address = nic.find("mac")
    assert address is not None
    address.set("address", mac)
