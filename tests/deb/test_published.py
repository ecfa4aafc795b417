# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-guest-podman in Debian 12 and 13 that a real systemd has booted, with their Podman.

No guest is needed: what its network does to packets from outside is to hide them
from the rules of DNAT, and so does a packet filter here.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from lab.base import wait
from lab.base.net import Namespace, Network
from lab.hosts.booted import Booted
from lab.packages import chroot
from lab.packages.debs import RELEASES, dependencies, newer

pytestmark = pytest.mark.long

NAME, UNIT = "vmmnet-guest-podman", "vmrpc-published"
OWN, CALLER = "198.51.100.1", "198.51.100.2"
#: A root file system of one file.
_BOX = """
mkdir -p /srv/box/bin /srv/box/www /srv/box/etc
cp /bin/busybox /srv/box/bin && echo in the box > /srv/box/www/index.html
"""
_STORAGE = """\
[storage]
driver = "vfs"
runroot = "/run/containers/storage"
graphroot = "/var/lib/containers/storage"
"""
_HTTPD = ("--rootfs", "/srv/box", "/bin/busybox", "httpd", "-f", "-p", "80", "-h", "/www")
_HIDDEN = """
table ip hidden {
    chain PREROUTING {
        type filter hook prerouting priority raw;
        ip saddr 198.51.100.2 notrack
    }
    chain OUTPUT {
        type filter hook output priority raw;
        ip daddr 198.51.100.2 notrack
    }
}
"""
_FETCH = """
import socket, sys
try:
    s = socket.create_connection(sys.argv[1:3])
    s.settimeout(float(sys.argv[3]))
    s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
    print(s.makefile().read().splitlines()[-1])
except OSError as error:
    print(type(error).__name__)
"""


@pytest.fixture(scope="session", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    """Each release that there are packages for."""
    return str(request.param)


@pytest.fixture
def network() -> Iterator[Network]:
    with Network() as made:
        yield made


@pytest.fixture
def caller(network: Network) -> Namespace:
    return network.namespace("caller")


@pytest.fixture
def guest(
    packages: Mapping[str, Path],
    release: str,
    tmp_path: Path,
    network: Network,
    caller: Namespace,
) -> Iterator[Booted]:
    """A machine with Podman, and the package in /debs."""
    ours = packages[NAME]
    wanted = dependencies([ours], "Depends")
    wanted |= {"aardvark-dns", "busybox-static", "crun", "dbus", "iproute2", "iptables"}
    wanted |= {"netavark", "nftables", "systemd-sysv"}
    system = chroot.base(sorted(wanted), [], release)
    for name, package in ("old", ours), ("new", newer(ours, tmp_path)):
        (tmp_path / "files/debs" / name).mkdir(parents=True)
        shutil.copy(package, tmp_path / "files/debs" / name)
    (tmp_path / "files/etc/containers").mkdir(parents=True)
    (tmp_path / "files/etc/containers/storage.conf").write_text(_STORAGE)
    space = network.namespace("guest")
    network.connect(space, caller, [f"{OWN}/24"], [f"{CALLER}/24"])
    space.sysctl({"net.ipv4.ip_forward": 1})
    space.run(["nft", "-f", "-"], input=_HIDDEN)
    with Booted(space, tmp_path / "files", system) as booted:
        booted.run("sh", "-c", _BOX)
        yield booted


def _apt(guest: Booted, line: str) -> None:
    guest.run(
        "sh", "-c", f"DEBIAN_FRONTEND=noninteractive apt-get --yes --no-install-recommends {line}"
    )


def _publish(guest: Booted, port: int) -> None:
    # crun would raise a limit, which the tests may not be allowed to.
    guest.run("podman", "run", "-d", "--cgroups=disabled", "-p", f"{port}:80", *_HTTPD)


def _pid(guest: Booted) -> str:
    return guest.run("systemctl", "show", "--value", "-p", "MainPID", UNIT).stdout.strip()


def _is_served(guest: Booted, port: int) -> bool:
    said = guest.run("journalctl", "--no-pager", "-o", "cat", "-u", UNIT).stdout
    return f"port {port} of conmon" in said


def _fetch(caller: Namespace, port: int, patience: float = wait.PATIENCE) -> str:
    words = [sys.executable, "-c", _FETCH, OWN, str(port), str(patience)]
    return caller.run(words).stdout.strip()


def test_ports_are_served_from_install_to_purge(guest: Booted, caller: Namespace) -> None:
    """The service starts by itself, finds what runs and what comes, and an upgrade restarts it."""
    _publish(guest, 8080)
    assert _fetch(caller, 8080, 2) == "TimeoutError"
    _apt(guest, "install /debs/old/*.deb")
    assert guest.run("systemctl", "is-enabled", UNIT).stdout == "enabled\n"
    wait.until(lambda: _is_served(guest, 8080), "the container that was there")
    assert _fetch(caller, 8080) == "in the box"
    _publish(guest, 8081)
    wait.until(lambda: _is_served(guest, 8081), "the container that came")
    assert _fetch(caller, 8081) == "in the box"
    before = _pid(guest)
    _apt(guest, "install /debs/new/*.deb")
    assert _pid(guest) not in ("0", before)
    wait.until(lambda: _fetch(caller, 8080, 2) == "in the box", "the service of the upgrade")
    _apt(guest, f"purge {NAME}")
    assert _fetch(caller, 8080, 2) == "TimeoutError"
    # Else systemd would wait for them.
    guest.run("podman", "rm", "-f", "-a", "-t", "0")
