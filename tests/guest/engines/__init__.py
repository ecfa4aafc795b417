# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of container engines share: the guest, an image, a caller from outside."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import pytest
from lab.base import wait
from lab.guest.guest import Guest
from lab.packages import kernel
from lab.peers.lab import VM_ADDRESS, Lab, lab

#: A release of Debian, whose engines run, and a kernel.
Place = tuple[str, str]

BOX_PAGE = "in the box"
#: The root file system is in memory, and overlayfs does not stand on overlayfs.
_PREPARE = f"""
set -e
mount -t cgroup2 none /sys/fs/cgroup
for each in /var/lib/containers /var/lib/docker /run /home; do
    mkdir -p $each; mount -t tmpfs tmpfs $each
done
mount --make-rshared /
modprobe tun && chmod 666 /dev/net/tun
box=/home/box
mkdir -p $box/bin $box/www $box/etc $box/tmp
cp /usr/bin/busybox $box/bin
for each in $(ldd /usr/bin/busybox | grep -o '/[^ ]*'); do
    mkdir -p $box$(dirname $each); cp $each $box$each
done
for each in $($box/bin/busybox --list); do ln -sf busybox $box/bin/$each; done
echo {BOX_PAGE} > $box/www/index.html
tar -C $box -cf /home/box.tar .
"""
#: A user with numbers for a namespace of users.
_USER = """
useradd -m user
for each in /etc/subuid /etc/subgid; do echo user:100000:65536 > $each; done
mkdir -p /run/user/$(id -u user) && chown user /run/user/$(id -u user)
"""
#: What wants names of both the outside and another service.
COMPOSE = """
services:
  web:
    image: {image}
    command: /bin/httpd -f -p 80 -h /www
    ports: ["{port}:80"]
  reader:
    image: {image}
    depends_on: [web]
    command: >-
      sh -c "until wget -q -O - http://web/; do sleep 1; done; wget -q -O - http://www.test/"
"""
#: Prints the page, or how the connection ended.
_FETCH = """
import socket, sys
try:
    s = socket.create_connection(sys.argv[1:3])
    s.settimeout(float(sys.argv[3]))
    s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
    print((s.makefile().read().splitlines() or ['nothing'])[-1])
except OSError as error:
    print(type(error).__name__)
"""


def ask(guest: Guest, line: str) -> str:
    """Run a line of shell in the guest, and return what it says; pytest's -rP shows both."""
    said = guest.run(line, timeout=2 * wait.PATIENCE)
    print(f"guest# {line}\n{said.stderr}{said.stdout}", end="")
    return said.stdout.strip()


def fetch(world: Lab, address: str, port: int, patience: float = wait.PATIENCE) -> str:
    """Fetch a page from outside; its last line, or the name of the error."""
    command = [sys.executable, "-c", _FETCH, address, str(port), str(patience)]
    said = world.peer.run(command).stdout.strip()
    print(f"outside: http://[{address}]:{port}/\n{said}")
    return said


def await_page(world: Lab, port: int) -> None:
    """Wait for the server of a container, which may listen later than its port does."""
    wait.until(lambda: fetch(world, VM_ADDRESS, port) == BOX_PAGE, f"the page of port {port}")


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    """What is around the guest."""
    with lab() as built:
        yield built


def _places() -> list[Place]:
    places = [("bookworm", each) for each in kernel.SERIES]
    # Its own kernel, and that of its backports.
    return places + [("trixie", each) for each in kernel.SERIES if each != kernel.OLDEST]


@pytest.fixture(scope="module", params=_places(), ids="-".join)
def place(request: pytest.FixtureRequest) -> Place:
    """Where a file runs; once for each."""
    pair: Place = request.param
    return pair


@contextlib.contextmanager
def prepared(place: Place, world: Lab, packages: tuple[str, ...]) -> Iterator[Guest]:
    """A guest with packages, the image of BusyBox and a user."""
    release, series = place
    settings = {"release": release, "packages": packages, "memory": "3G"}
    with world.guest(series, **settings) as running:
        running.run(_PREPARE + _USER)
        yield running
        running.check_kernel()
