# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's Docker in a guest without a NIC: networks, names, published ports, builds.

docs/vmrpc-containers.md has the table.  A container's image is BusyBox with the
guest's own libraries, so nothing is pulled.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import wait
from lab.guest.fixtures import kernels
from lab.guest.guest import Guest
from lab.peers.lab import PAGE, VM_ADDRESS, Lab, lab

sys.path.insert(0, str(Path(__file__).parent))

from engines import BOX_PAGE, PREPARE, fetch

pytestmark = pytest.mark.long

_PACKAGES = ("docker.io", "iptables")
#: By itself dockerd gives containerd ten seconds to start, which is too little on a busy host.
_CONTAINERD = "exec containerd > /run/containerd.log 2>&1"
_DOCKERD = (
    "exec dockerd --containerd=/run/containerd/containerd.sock --storage-driver=vfs"
    " --exec-opt native.cgroupdriver=cgroupfs > /run/dockerd.log 2>&1"
)
_HTTPD = "box /bin/httpd -f -p 80 -h /www"
_DOCKERFILE = "FROM box\nRUN wget -q -O /www/index.html http://www.test/\n"


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


@pytest.fixture(scope="module", params=kernels())
def guest(request: pytest.FixtureRequest, world: Lab) -> Iterator[Guest]:
    with world.guest(request.param, packages=_PACKAGES, memory="2G") as running:
        running.run(PREPARE)
        running.spawn(_CONTAINERD)
        running.wait_for("grep -q 'successfully booted' /run/containerd.log")
        running.spawn(_DOCKERD)
        running.wait_for("grep -q 'API listen' /run/dockerd.log")
        running.run("docker import /home/box.tar box")
        yield running
        running.check_kernel()


def _docker(guest: Guest, words: str) -> str:
    return guest.run(f"docker {words}").stdout.strip()


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
    script = f"ip route add default via {gateway}; timeout 10 wget -q -O - http://{address}/"
    run = f"docker run --rm --network inner --cap-add NET_ADMIN box sh -c '{script}'"
    said = guest.run(run, check=False)
    assert said.rc and PAGE.strip() not in said.stdout


def test_two_services(guest: Guest, world: Lab) -> None:
    """They know each other by name, and names outside; Docker's own resolver answers."""
    _docker(guest, "network create both")
    _docker(guest, f"run -d --rm --name web --network both -p 8080:80 {_HTTPD}")
    run = "run --rm --network both box"
    assert _docker(guest, f"{run} cat /etc/resolv.conf").splitlines()[0] == "nameserver 127.0.0.11"
    assert _docker(guest, f"{run} wget -q -O - http://web/") == BOX_PAGE
    assert _docker(guest, f"{run} wget -q -O - http://www.test/") == PAGE.strip()
    # The published port: from outside, from the guest, from another container.
    assert fetch(world, VM_ADDRESS, 8080) == BOX_PAGE
    assert guest.run("curl -sS http://192.0.0.2:8080/").stdout.strip() == BOX_PAGE
    assert _docker(guest, "run --rm box wget -q -O - http://192.0.0.2:8080/") == BOX_PAGE
    # One that shares the network of another.
    joined = "run --rm --network container:web box"
    assert _docker(guest, f"{joined} wget -q -O - http://127.0.0.1/") == BOX_PAGE
    assert _docker(guest, f"{joined} wget -q -O - http://www.test/") == PAGE.strip()
    _docker(guest, "stop -t 0 web")


def test_a_build_downloads(guest: Guest) -> None:
    """A step of a build reaches the outside by name."""
    guest.run(f"mkdir -p /home/build; cat > /home/build/Dockerfile <<'END'\n{_DOCKERFILE}END")
    guest.run("DOCKER_BUILDKIT=0 docker build -t built /home/build", timeout=2 * wait.PATIENCE)
    assert _docker(guest, "run --rm built cat /www/index.html") == PAGE.strip()
