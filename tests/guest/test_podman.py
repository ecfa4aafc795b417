# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's Podman in a guest without a NIC: networks, names, published ports, rootless.

docs/vmrpc-containers.md has the table.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import paths, wait
from lab.guest.guest import Guest
from lab.peers.lab import PAGE, VM_ADDRESS, Lab

sys.path.insert(0, str(Path(__file__).parent))

import engines
from engines import BOX_PAGE, Place, ask, await_page, fetch, prepared

pytestmark = pytest.mark.long

place, world = engines.place, engines.world

_PACKAGES = (
    *("aardvark-dns", "crun", "iptables", "netavark", "nftables", "passt", "podman"),
    *("slirp4netns", "uidmap"),
)
_GLOBAL = "--storage-driver=vfs --cgroup-manager=cgroupfs --events-backend=file"
_PODMAN = f"podman {_GLOBAL}"
_HTTPD = "localhost/box /bin/httpd -f -p 80 -h /www"
_ASK = """
import socket, sys
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.settimeout(60)
s.sendto(b'back', (sys.argv[1], int(sys.argv[2])))
print(s.recv(9).decode())
"""
_DOC = paths.ROOT / "docs" / "vmrpc-containers.md"
_RELAY = paths.ROOT / "guest-linux" / "published" / "vmrpc-published"


@pytest.fixture(scope="module")
def guest(place: Place, world: Lab) -> Iterator[Guest]:
    with prepared(place, world, _PACKAGES) as running:
        for user in "root", "user":
            _podman(running, user, "import /home/box.tar box")
        yield running


def _podman(guest: Guest, user: str, words: str) -> str:
    script = f"cd; export XDG_RUNTIME_DIR=/run/user/$(id -u); {_PODMAN} {words}"
    return ask(guest, f"su {user} -c {shlex.quote(script)}")


def test_of_a_user(guest: Guest, world: Lab) -> None:
    """By default, slirp4netns of Podman 4 and pasta of 5: it gets out and is reached."""
    run = "run -d --cgroups=disabled"
    box = _podman(guest, "user", f"{run} -p 9080:80 -p 192.0.0.2:9081:80 {_HTTPD}")
    await_page(world, 9081)
    await_page(world, 9080)
    inside = _podman(guest, "user", f"exec {box} wget -q -O - http://www.test/")
    assert inside == PAGE.strip()


def test_services_of_a_user(guest: Guest, world: Lab) -> None:
    """On a bridge in a namespace of the user's."""
    _podman(guest, "user", "network create both")
    run = "--cgroups=disabled --network both"
    _podman(guest, "user", f"run -d --name web {run} -p 9090:80 {_HTTPD}")
    run = f"run --rm {run} localhost/box"
    assert _podman(guest, "user", f"{run} wget -q -O - http://web/") == BOX_PAGE
    assert _podman(guest, "user", f"{run} wget -q -O - http://www.test/") == PAGE.strip()
    await_page(world, 9090)


def test_pasta_of_a_user(guest: Guest, place: Place) -> None:
    """Alone; that of Debian 12 has to be told what it cannot find out at vmrpc0."""
    (words,) = [
        line.strip() for line in _DOC.read_text().splitlines() if line.startswith("    pasta -4")
    ]
    if place[0] != "bookworm":
        words = "pasta --config-net -- …"
    command = f"cd; {words.replace('…', 'curl -sS http://www.test/')}"
    assert guest.run(["su", "user", "-c", command]).stdout == PAGE


def test_a_port_of_root(guest: Guest, world: Lab) -> None:
    """conmon holds a published port and accepts nobody; our relay takes the callers on."""
    _podman(guest, "root", f"run -d -p 8080:80 {_HTTPD}")
    # Who connects waits, for ever: that the page says so is why this is looked at.
    assert fetch(world, VM_ADDRESS, 8080, 2) == "TimeoutError"
    guest.put(_RELAY.read_bytes(), "/usr/local/bin/vmrpc-published")
    guest.run("chmod 755 /usr/local/bin/vmrpc-published")
    relay = guest.spawn(f"exec vmrpc-published {_GLOBAL} > /run/relay.log 2>&1")
    guest.wait_for("grep -q 'port 8080 ' /run/relay.log")
    await_page(world, 8080)
    # One that starts later, and one that ends.
    box = _podman(guest, "root", f"run -d -p 8081:80 -p 8053:53/udp {_HTTPD}")
    guest.wait_for("grep -q 'port 8053 ' /run/relay.log")
    await_page(world, 8081)
    pid = _podman(guest, "root", f"inspect -f '{{{{.State.Pid}}}}' {box}")
    guest.spawn(f"exec nsenter -n -t {pid} socat UDP4-RECVFROM:53,fork EXEC:cat")
    guest.wait_for(f"nsenter -n -t {pid} ss -Hlun | grep -q ':53 '")
    assert world.peer.run([sys.executable, "-c", _ASK, VM_ADDRESS, "8053"]).stdout == "back\n"
    _podman(guest, "root", f"rm -f -t 0 {box}")
    guest.wait_for("! ss -Hltn | grep -q :8081")
    assert fetch(world, VM_ADDRESS, 8081) == "ConnectionRefusedError"
    relay.kill()
    relay.wait()


def test_services_of_root(guest: Guest) -> None:
    """They know each other by name, and names outside; as does one with users of its own."""
    _podman(guest, "root", "network create both")
    _podman(guest, "root", f"run -d --name web --network both {_HTTPD}")
    for more in "", "--uidmap 0:100000:65536 --gidmap 0:100000:65536":
        run = f"run --rm --network both {more} localhost/box"
        assert _podman(guest, "root", f"{run} wget -q -O - http://web/") == BOX_PAGE
        assert _podman(guest, "root", f"{run} wget -q -O - http://www.test/") == PAGE.strip()
    # One that shares the network of another.
    run = "run --rm --network container:web localhost/box"
    assert _podman(guest, "root", f"{run} wget -q -O - http://127.0.0.1/") == BOX_PAGE
    assert _podman(guest, "root", f"{run} wget -q -O - http://www.test/") == PAGE.strip()


def test_other_networks_of_root(guest: Guest) -> None:
    """The guest's own; none."""
    run = "run --rm --network host localhost/box"
    assert _podman(guest, "root", f"{run} wget -q -O - http://www.test/") == PAGE.strip()
    address = guest.run("getent ahostsv4 www.test").stdout.split()[0]
    run = f"{_PODMAN} run --rm --network none localhost/box wget -q -O - http://{address}/"
    said = guest.run(run, check=False, timeout=2 * wait.PATIENCE)
    assert said.rc and "unreachable" in said.stderr


@pytest.mark.parametrize("user", ["root", "user"])
def test_a_build_downloads(guest: Guest, user: str) -> None:
    """A step of a build reaches the outside by name."""
    script = "FROM localhost/box\\nRUN wget -q -O /www/index.html http://www.test/\\n"
    guest.run(f"mkdir -p /home/build; printf '{script}' > /home/build/Dockerfile")
    _podman(guest, user, "build --isolation=chroot -t built /home/build")
    run = "run --rm --cgroups=disabled --network none built"
    assert _podman(guest, user, f"{run} cat /www/index.html") == PAGE.strip()
