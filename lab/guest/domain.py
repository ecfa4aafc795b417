# SPDX-License-Identifier: GPL-2.0-or-later
"""The test bed's guest in a domain of libvirt.

Elements belong to xml.etree or to lxml, as the domain does.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base import paths, wait
from ..packages import kernel
from . import image, qemu
from .agent import Channel, Result
from .cpio import File

SERIES = kernel.MAIN
MODULE = "/usr/lib/vmmnet/vmrpc.ko"
_BOOT = " ".join(("console=ttyS0 no_timer_check panic=-1 net.ifnames=0", *image.QUICK_BOOT))


@dataclass(frozen=True)
class Places:
    """Paths of a guest's files, as its libvirt sees them."""

    #: Written by this process, at the same path.
    initrd: Path
    #: QEMU makes the socket of the guest's agent.
    agent: Path
    console: Path
    #: paths.BUILD, or its path on the host.
    build: Path = paths.BUILD

    def built(self, file: Path) -> str:
        """The name of a file below paths.BUILD."""
        return str(self.build / file.resolve().relative_to(paths.BUILD.resolve()))


def child(parent: Any, tag: str, text: str | None = None, **attributes: str) -> Any:
    """Append an element to another one."""
    made = parent.makeelement(tag, attributes)
    made.text = text
    parent.append(made)
    return made


def _sole(parent: Any, tag: str) -> Any:
    found = parent.find(tag)
    return child(parent, tag) if found is None else found


def make_bootable(domain: Any, places: Places, *, ipv6: bool = False) -> None:
    """Put kernel, system and agent of the test bed into a domain; the rest stays.

    The guest has vmrpc.ko at MODULE and does not load it.  With ``ipv6`` it has IPv6.
    """
    guest_kernel = kernel.get(SERIES)
    files = {
        "/etc/resolv.conf": File(b"nameserver 192.0.0.1\n"),
        MODULE: File(kernel.build_module(SERIES).read_bytes()),
    }
    image.boot_archive(guest_kernel, files, places.initrd)
    domain.set("type", "qemu")
    os_, devices = _sole(domain, "os"), _sole(domain, "devices")
    for boot in os_.findall("boot"):
        os_.remove(boot)
    child(os_, "kernel", places.built(kernel.plain_image(guest_kernel)))
    child(os_, "initrd", str(places.initrd))
    child(os_, "cmdline", _BOOT if ipv6 else f"{_BOOT} ipv6.disable=1")
    _sole(devices, "emulator").text = places.built(qemu.binary())
    for disk in devices.findall("disk"):
        devices.remove(disk)
    for letter, file in zip("ab", (image.root(), image.modules(guest_kernel)), strict=True):
        disk = child(devices, "disk", type="file", device="disk")
        child(disk, "driver", name="qemu", type="raw")
        child(disk, "source", file=places.built(file))
        child(disk, "target", dev=f"vd{letter}", bus="virtio")
        child(disk, "readonly")
    channel = child(devices, "channel", type="unix")
    child(channel, "source", mode="bind", path=str(places.agent))
    child(channel, "target", type="virtio", name="vmmnet.agent")
    serial = child(devices, "serial", type="file")
    child(serial, "source", path=str(places.console))


def connect(path: Path) -> Channel:
    """Wait for the agent of a booting guest."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(str(path))
    channel = Channel(connection)
    channel.hello(wait.PATIENCE)
    return channel


def run(channel: Channel, command: str) -> Result:
    """Run a command in the guest to its end, which may be an error."""
    job = channel.start(["sh", "-c", command])
    job.close_input()
    return job.wait(wait.PATIENCE)
