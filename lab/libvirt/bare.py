# SPDX-License-Identifier: GPL-2.0-or-later
"""Bare Debian systems with our packages at hand, which become hosts of guests under libvirt.

    system = bare.system(packages)
    with bare.machine(network.namespace("one"), system, packages) as one:
        bare.put_guest(one, domain)
        # The packages are installed ...
        with bare.services(one): ...

The packages are in /root, the guest's kernel and disks in IMAGES.  No init system runs:
this file starts services as systemd would.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..base import paths, wait
from ..base.net import Namespace
from ..guest import domain, image
from ..hosts.machine import Machine
from ..packages import chroot, kernel
from ..packages.debs import EMULATOR, dependencies

OURS = ("vmmnet-qemu", "vmmnet-control")
#: The recommended packages that 'vmmnet libvirt' needs.
DEBIANS = ("libvirt-clients", "libvirt-daemon-system", "python3-libvirt")
#: Folder of the guest's kernel and disks on a machine.
IMAGES = Path("/var/lib/libvirt/images")
AGENT = Path("/run/agent")
HOSTD = "/usr/sbin/vmmnet-hostd"

# In the order in which systemd starts them.
_SERVICES = {
    HOSTD: "/run/vmmnet/hostd.sock",
    "/usr/sbin/virtlogd": "/run/libvirt/virtlogd-sock",
    "/usr/sbin/libvirtd": "/run/libvirt/libvirt-sock",
}


def system(packages: Mapping[str, Path], *installed: str) -> Path:
    """Make a Debian with only ``installed``; dependencies of our packages are at hand."""
    ours = [packages[name] for name in OURS]
    return chroot.base(installed, [*DEBIANS, *dependencies(ours, "Depends")])


@contextlib.contextmanager
def machine(space: Namespace, base: Path, packages: Mapping[str, Path]) -> Iterator[Machine]:
    """Start a machine with that system, and our packages in /root."""
    with Machine(space, base) as made:
        for name in OURS:
            made.copy(packages[name], f"/root/{packages[name].name}")
        yield made


def put_guest(made: Machine, wanted: Any) -> None:
    """Let a domain boot the test bed's guest by the packages' QEMU."""
    initrd = made.folder / "initrd"
    domain.make_bootable(wanted, domain.Places(initrd, AGENT, Path("/run/console"), IMAGES))
    wanted.find("devices/emulator").text = f"/usr/bin/{EMULATOR}"
    wanted.find("os/initrd").text = str(IMAGES / "initrd")
    put_disks(made, initrd)


def put_disks(made: Machine, initrd: Path) -> None:
    """Put the files of such a guest onto a machine."""
    made.copy(initrd, str(IMAGES / "initrd"))
    guest_kernel = kernel.get(domain.SERIES)
    plain = kernel.plain_image(guest_kernel)
    for file in (plain, image.root(), image.modules(guest_kernel)):
        made.copy(file, str(IMAGES / file.resolve().relative_to(paths.BUILD.resolve())))


def log(made: Machine, program: str) -> Path:
    """The output of a machine's service."""
    return paths.LOGS / f"{made.name}-{Path(program).name}.log"


@contextlib.contextmanager
def service(made: Machine, command: Sequence[str], socket: str) -> Iterator[None]:
    """Run a service for a block; enters when it answers."""
    written = log(made, command[0])
    with written.open("wb") as out, made.service(command, out) as child:
        wait.accepting(made.path(socket), lambda: child.poll() is not None)
        assert child.poll() is None, written.read_text()
        yield


@contextlib.contextmanager
def services(made: Machine) -> Iterator[None]:
    """Run the services of a host after the packages were installed."""
    made.run("mkdir", "/run/vmmnet")
    with contextlib.ExitStack() as running:
        for program, socket in _SERVICES.items():
            running.enter_context(service(made, [program], socket))
        yield
