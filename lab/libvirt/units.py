# SPDX-License-Identifier: GPL-2.0-or-later
"""A host with libvirt of the system whose services are units of a real systemd.

    files(folder)
    with Managed(network.namespace("one"), folder) as one:
        one.virsh("start", "web")

The hook and vmmnet-validate are as 'make install' has them; QEMU runs as on Debian, as the user
GUESTS, without a security module and without cgroups of libvirt's own.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Self

from ..base import paths, tools
from ..base.net import Namespace
from ..dns import room as dns_room
from ..hosts import booted, ebpf
from ..hosts.booted import Booted
from .libvirtd import DAEMON, GUESTS, QEMU, USERS, Daemon

# As of Debian's package libvirt-daemon-system: guests outlive the daemon.
_UNIT = """\
[Unit]
Description=libvirt's daemon
[Service]
Type=notify
ExecStart=/usr/sbin/libvirtd
KillMode=process
TasksMax=infinity
[Install]
WantedBy=multi-user.target
"""
# As of libvirt: it ends or saves the guests when the host shuts down.
_GUESTS_UNIT = """\
[Unit]
Description=libvirt-guests
After=network.target libvirtd.service
[Service]
Type=oneshot
RemainAfterExit=yes
EnvironmentFile=-/etc/default/libvirt-guests
ExecStart=/usr/lib/libvirt/libvirt-guests.sh start
ExecStop=/usr/lib/libvirt/libvirt-guests.sh stop
"""


def files(folder: Path) -> None:
    """Fill a folder with what is installed on such hosts."""
    ebpf.compiled()
    tools.run([paths.ROOT / "control/install"], env={**os.environ, "DESTDIR": str(folder)})
    booted.add_unit(folder, "dnsd/validate/vmmnet-validate@", dns_room.program("vmmnet-validate"))
    unit = folder / "etc/systemd/system/libvirtd.service"
    unit.parent.mkdir(parents=True)
    unit.write_text(_UNIT)
    unit.with_name("libvirt-guests.service").write_text(_GUESTS_UNIT)
    for name, line in USERS.items():
        there = folder / name.lstrip("/")
        shutil.copy(name, there)
        if GUESTS not in there.read_text():
            there.write_text(there.read_text() + line)
    (folder / "etc/vmmnet").mkdir(exist_ok=True)
    (folder / "etc/libvirt/qemu.conf").write_text(QEMU.format(user=GUESTS))


class Managed(Booted, Daemon):
    """One such host.  A context manager."""

    socket = "/run/libvirt/libvirt-sock"

    def __init__(self, space: Namespace, files: Path, number: int) -> None:
        super().__init__(space, files)
        self._number = number

    def __enter__(self) -> Self:
        tools.require("libvirtd", "virsh")
        super().__enter__()
        try:
            settings = DAEMON.format(number=self._number)
            self.run("sh", "-c", "cat >/etc/libvirt/libvirtd.conf", input=settings)
            self.run("systemctl", "start", "libvirtd")
            self.virsh("list")
        except BaseException:
            self._stack.close()
            raise
        return self

    def said(self) -> list[str]:
        """What the hook has done and refused, by the journal: EVENT DOMAIN: ACTION."""
        self.run("journalctl", "--sync")
        words = ("--identifier=vmmnet-hook", "--no-pager", "--output=cat")
        return self.run("journalctl", *words).stdout.splitlines()

    def refuses(self, *words: str | Path) -> str:
        """Return the error of a virsh command, which must fail."""
        try:
            self.virsh(*words)
        except tools.CommandFailed as error:
            return str(error)
        raise AssertionError(f"virsh {' '.join(map(str, words))} has succeeded")
