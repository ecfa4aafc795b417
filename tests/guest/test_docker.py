# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's Docker in a guest without a NIC: networks, names, published ports, builds, rootless.

docs/vmrpc-containers.md has the table.  A container's image is BusyBox with the
guest's own libraries, so nothing is pulled.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import wait
from lab.guest.guest import Guest
from lab.peers.lab import PAGE, WEB_ADDRESS, Lab

sys.path.insert(0, str(Path(__file__).parent))

import engines
from engines import BOX_PAGE, COMPOSE, Place, ask, await_page, prepared

pytestmark = pytest.mark.long

place, world = engines.place, engines.world

_COMMON = ("docker-compose", "docker.io", "iptables", "rootlesskit", "slirp4netns", "uidmap")
_PACKAGES = {"bookworm": _COMMON, "trixie": (*_COMMON, "docker-buildx", "docker-cli")}
#: By itself dockerd gives containerd ten seconds to start, which is too little on a busy host.
_CONTAINERD = "exec containerd > /run/containerd.log 2>&1"
_OPTIONS = "--storage-driver=vfs --exec-opt native.cgroupdriver=cgroupfs"
_DOCKERD = (
    f"exec dockerd --containerd=/run/containerd/containerd.sock {_OPTIONS} > /run/dockerd.log 2>&1"
)
#: The same for a user: dockerd-rootless.sh starts it, in namespaces where /run is the user's own.
#: For a containerd that is not its own dockerd waits a minute.
_DOCKERD_OF_USER = """#!/bin/sh
mkdir -p /run/containerd
containerd --root $HOME/containerd --state /run/containerd/state > $HOME/containerd.log 2>&1 &
exec /usr/sbin/dockerd --containerd=/run/containerd/containerd.sock "$@"
"""
_ROOTLESS = f"""
cd; export XDG_RUNTIME_DIR=/run/user/$(id -u) PATH=$HOME/bin:$PATH:/usr/sbin:/sbin
exec /usr/share/docker.io/contrib/dockerd-rootless.sh {_OPTIONS} > dockerd.log 2>&1
"""
_HTTPD = "box /bin/httpd -f -p 80 -h /www"
_DOCKERFILE = "FROM box\nRUN wget -q -O /www/index.html http://www.test/\n"


@pytest.fixture(scope="module")
def guest(place: Place, world: Lab) -> Iterator[Guest]:
    with prepared(place, world, _PACKAGES[place[0]]) as running:
        running.spawn(_CONTAINERD)
        running.wait_for("grep -q 'successfully booted' /run/containerd.log")
        running.spawn(_DOCKERD)
        running.wait_for("grep -q 'API listen' /run/dockerd.log")
        running.run("docker import /home/box.tar box")
        yield running


def _docker(guest: Guest, words: str) -> str:
    return ask(guest, f"docker {words}")


@pytest.mark.parametrize("network", ["bridge", "host"])
def test_outside_is_reached(guest: Guest, network: str) -> None:
    """By name, with the resolver that Docker copies from the guest."""
    run = f"run --rm --network {network} box"
    assert _docker(guest, f"{run} wget -q -O - http://www.test/") == PAGE.strip()


def test_without_a_network(guest: Guest) -> None:
    """A container of --network none has no way out."""
    address = guest.run("getent ahostsv4 www.test").stdout.split()[0]
    run = f"docker run --rm --network none box wget -q -O - http://{address}/"
    said = guest.run(run, check=False)
    assert said.rc and "unreachable" in said.stderr


def test_an_internal_network(guest: Guest) -> None:
    """One of --internal has none either, though its bridge has an address."""
    _docker(guest, "network create --internal inner")
    gateway = _docker(guest, "network inspect -f '{{(index .IPAM.Config 0).Gateway}}' inner")
    address = guest.run("getent ahostsv4 www.test").stdout.split()[0]
    script = f"ip route add default via {gateway}; wget -T 10 -q -O - http://{address}/"
    run = f"docker run --rm --network inner --cap-add NET_ADMIN box sh -c '{script}'"
    said = guest.run(run, check=False)
    assert said.rc and PAGE.strip() not in said.stdout


def test_two_services(guest: Guest, world: Lab) -> None:
    """They know each other by name, and names outside; Docker's own resolver answers."""
    _docker(guest, "network create both")
    _docker(guest, f"run -d --rm --name web --network both -p 8080:80 {_HTTPD}")
    run = "run --rm --network both box"
    servers = _docker(guest, f"{run} grep nameserver /etc/resolv.conf")
    assert servers == "nameserver 127.0.0.11"
    assert _docker(guest, f"{run} wget -q -O - http://web/") == BOX_PAGE
    assert _docker(guest, f"{run} wget -q -O - http://www.test/") == PAGE.strip()
    # The published port: from outside, from the guest, from another container.
    await_page(world, 8080)
    assert guest.run("curl -sS http://192.0.0.2:8080/").stdout.strip() == BOX_PAGE
    assert _docker(guest, "run --rm box wget -q -O - http://192.0.0.2:8080/") == BOX_PAGE
    # One that shares the network of another.
    joined = "run --rm --network container:web box"
    assert _docker(guest, f"{joined} wget -q -O - http://127.0.0.1/") == BOX_PAGE
    assert _docker(guest, f"{joined} wget -q -O - http://www.test/") == PAGE.strip()
    _docker(guest, "stop -t 0 web")


def test_an_ipv6_network(guest: Guest) -> None:
    """IPv6 addresses are reached from it, by name and by number."""
    _docker(guest, "network create --ipv6 --subnet fd00:55::/64 six")
    run = "run --rm --network six box wget -q -O -"
    assert _docker(guest, f"{run} http://[{WEB_ADDRESS}]/") == PAGE.strip()
    assert _docker(guest, f"{run} http://www.test/") == PAGE.strip()


def test_a_build_downloads(guest: Guest, place: Place) -> None:
    """A step of a build reaches the outside by name; Debian 13 has BuildKit, too."""
    guest.run(f"mkdir -p /home/build; cat > /home/build/Dockerfile <<'END'\n{_DOCKERFILE}END")
    for kit in "0", "1":
        if kit == "0" or place[0] == "trixie":
            build = f"DOCKER_BUILDKIT={kit} docker build --no-cache -t built{kit} /home/build"
            ask(guest, build)
            assert _docker(guest, f"run --rm built{kit} cat /www/index.html") == PAGE.strip()


def test_compose(guest: Guest, world: Lab) -> None:
    """Two services: one publishes a port, the other reads it by name, and a page outside."""
    guest.put(COMPOSE.format(image="box", port=8090).encode(), "/home/two/docker-compose.yml")
    compose = "cd /home/two && docker-compose"
    ask(guest, f"{compose} up -d")
    await_page(world, 8090)
    guest.wait_for(f"{compose} logs reader | grep -q '{PAGE.strip()}'")
    assert BOX_PAGE in ask(guest, f"{compose} logs reader")
    ask(guest, f"{compose} down -t 0")


def test_of_a_user(guest: Guest, world: Lab) -> None:
    """Rootless Docker gets out; a port is reached with and without the guest's address."""
    guest.put(_DOCKERD_OF_USER.encode(), "/home/user/bin/dockerd", 0o755)
    guest.spawn(["su", "user", "-c", _ROOTLESS])
    guest.wait_for("grep -q 'API listen' /home/user/dockerd.log", 2 * wait.PATIENCE)
    own = f"-H unix:///run/user/{guest.run('id -u user').stdout.strip()}/docker.sock"
    _docker(guest, f"{own} import /home/box.tar box")
    run = f"{own} run --rm box"
    assert _docker(guest, f"{run} wget -q -O - http://www.test/") == PAGE.strip()
    _docker(guest, f"{own} run -d --rm -p 9080:80 -p 192.0.0.2:9081:80 {_HTTPD}")
    await_page(world, 9081)
    await_page(world, 9080)
