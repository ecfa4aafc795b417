# SPDX-License-Identifier: GPL-2.0-or-later
"""A host with Debian 12 and its packages becomes one with Debian 13 and its packages."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.packages import chroot, debs
from lab.packages.chroot import Chroot
from lab.packages.debs import EMULATOR, NAMES, dependencies

pytestmark = pytest.mark.long

OLD, NEW = debs.RELEASES
#: The others are for guests.
OURS = tuple(name for name in NAMES if not name.startswith("vmmnet-guest-"))
MAC = "52:54:00:00:00:01"
UNIT = "systemd/system/vmmnet-hostd.service"


@pytest.fixture
def old() -> dict[str, Path]:
    """The packages of the release that the host has."""
    return debs.build(OLD)


@pytest.fixture
def new() -> dict[str, Path]:
    """The packages of the release that it gets."""
    return debs.build(NEW)


def _versions(root: Chroot) -> set[str]:
    shown = root.run("dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}\n", *OURS)
    return {line.split("+")[-1] for line in shown.splitlines() if line.startswith("installed ")}


def test_a_host_becomes_one_of_debian_13(old: dict[str, Path], new: dict[str, Path]) -> None:
    """Its table, configuration and services stay; a package alone is never too old for ours."""
    wanted = dependencies((old[name] for name in OURS), "Depends")
    later = dependencies((new[name] for name in OURS), "Depends")
    with Chroot(chroot.base([*wanted], [*later], OLD, NEW)) as root:
        root.install(*(old[name] for name in OURS))
        assert _versions(root) == {"deb12"}
        root.run("vmmnet", "hostvlan", "add", MAC, "7")
        root.write("/etc/vmmnet/ha.conf", "interface eth0\n")
        table = root.run("vmmnet", "hostvlan", "list")
        root.run(*chroot.APT, "dist-upgrade")
        assert root.run("cat", "/etc/debian_version").startswith("13.")
        root.install(*(new[name] for name in OURS))
        assert _versions(root) == {"deb13"}
        assert root.run("vmmnet", "hostvlan", "list") == table
        assert root.run("cat", "/etc/vmmnet/ha.conf") == "interface eth0\n"
        assert "QEMU emulator version" in root.run(EMULATOR, "--version")
        # dpkg has moved it, and not removed what it has just put there by another name.
        root.run("test", "-f", f"/usr/lib/{UNIT}")
        assert root.run("dpkg", "-S", f"/usr/lib/{UNIT}").startswith("vmmnet-control:")
        root.run("apt-get", "check")
        root.purge(*OURS)
        assert "vmmnet" not in root.run("sh", "-c", "ls /usr/lib/systemd/system /usr/share")
