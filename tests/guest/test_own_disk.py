# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``make run DISK=…`` gives a user's own image: a disk with the module."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import own_disk
from lab.guest.fixtures import kernels
from lab.packages import kernel
from lab.peers.lab import PAGE, lab

_READY = [one for one in kernels(kernel.MAIN) if one.values[0] in own_disk.READY]


@pytest.mark.parametrize("series", _READY)
def test_module_disk_installs_itself(series: str, tmp_path: Path) -> None:
    """An image that knows nothing of vmmnet mounts it, installs, and is online."""
    disk = own_disk.module_disk(tmp_path)
    drive = f"file={disk},format=raw,if=none,id=module,readonly=on"
    with (
        lab() as world,
        world.guest(
            series,
            module=False,
            ipv6=False,
            arguments=["-drive", drive, "-device", "virtio-blk-pci,drive=module"],
        ) as guest,
    ):
        guest.run("rm /etc/resolv.conf")
        # The test guest's modules are on a read-only disk; a user's are not.
        layers = "lowerdir=/usr/lib/modules,upperdir=/run/up,workdir=/run/work"
        guest.run(
            f"mkdir /run/up /run/work && mount -t overlay overlay -o {layers} /usr/lib/modules"
        )
        guest.run(f"mount -o ro LABEL={own_disk.LABEL} /mnt && /mnt/install")
        assert guest.run("curl -sS http://www.test/").stdout == PAGE
        # At the next boot it comes before socket units, and networkd leaves its address.
        guest.run("grep -x vmrpc /etc/modules-load.d/vmrpc.conf")
        guest.run("grep -x Name=vmrpc0 /etc/systemd/network/10-vmrpc.network")
