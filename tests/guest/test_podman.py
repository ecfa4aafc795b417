# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's Podman in a guest with IPv6: which published ports are reached.

docs/vmrpc-containers.md has the table.  A container's image is BusyBox with the
guest's own libraries, so nothing is pulled.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from lab.base import wait
from lab.guest.fixtures import kernels
from lab.guest.guest import Guest
from lab.peers.lab import VM_ADDRESS, Lab, lab

pytestmark = pytest.mark.long

_PACKAGES = ("iptables", "podman", "slirp4netns", "uidmap")
_PAGE = "in the box"
#: The root file system is in memory, and overlayfs does not stand on overlayfs.
_PREPARE = f"""
set -e
mount -t cgroup2 none /sys/fs/cgroup
for each in /var/lib/containers /run/containers /home; do
    mkdir -p $each; mount -t tmpfs tmpfs $each
done
mount --make-rshared /
modprobe tun && chmod 666 /dev/net/tun
box=/run/containers/box
mkdir -p $box/bin $box/www
cp /usr/bin/busybox $box/bin
for each in $(ldd /usr/bin/busybox | grep -o '/[^ ]*'); do
    mkdir -p $box$(dirname $each); cp $each $box$each
done
ln -s busybox $box/bin/httpd
echo {_PAGE} > $box/www/index.html
tar -C $box -cf /home/box.tar .
useradd -m user
for each in /etc/subuid /etc/subgid; do echo user:100000:65536 > $each; done
mkdir -p /run/user/$(id -u user) && chown user /run/user/$(id -u user)
"""
_PODMAN = "podman --storage-driver=vfs --cgroup-manager=cgroupfs --events-backend=file"
_HTTPD = "localhost/box /bin/httpd -f -p 80 -h /www"
#: Prints the page, or how the connection ended.
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


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


@pytest.fixture(scope="module", params=kernels())
def guest(request: pytest.FixtureRequest, world: Lab) -> Iterator[Guest]:
    with world.guest(request.param, ipv6=True, packages=_PACKAGES, memory="1G") as running:
        running.run(_PREPARE)
        for user in "root", "user":
            _podman(running, user, "import /home/box.tar box")
        yield running
        running.check_kernel()


def _podman(guest: Guest, user: str, words: str) -> str:
    script = f"cd; export XDG_RUNTIME_DIR=/run/user/$(id -u); {_PODMAN} {words}"
    return guest.run(["su", user, "-c", script]).stdout.strip()


def _fetch(world: Lab, port: int, patience: float = wait.PATIENCE) -> str:
    command = [sys.executable, "-c", _FETCH, VM_ADDRESS, str(port), str(patience)]
    return world.peer.run(command).stdout.strip()


def test_of_a_user(guest: Guest, world: Lab) -> None:
    """Its proxy opens [::] for no address; of the guest's own address it opens AF_INET."""
    run = "run -d --cgroups=disabled --network slirp4netns"
    _podman(guest, "user", f"{run} -p 9080:80 -p 192.0.0.2:9081:80 {_HTTPD}")
    assert _fetch(world, 9081) == _PAGE
    assert _fetch(world, 9080) == "ConnectionRefusedError"


def test_of_root(guest: Guest, world: Lab) -> None:
    """conmon holds a published port and accepts nobody; a program forwards instead."""
    box = _podman(guest, "root", f"run -d -p 8080:80 {_HTTPD}")
    # Who connects waits, for ever: that the page says so is why this is looked at.
    assert _fetch(world, 8080, 2) == "TimeoutError"
    address = _podman(guest, "root", f"inspect -f '{{{{.NetworkSettings.IPAddress}}}}' {box}")
    proxy = guest.spawn(f"exec socat TCP4-LISTEN:8081,fork,reuseaddr TCP4:{address}:80")
    guest.wait_for("ss -Hltn | grep -q :8081")
    assert _fetch(world, 8081) == _PAGE
    proxy.kill()
    proxy.wait()
