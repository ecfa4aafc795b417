# SPDX-License-Identifier: GPL-2.0-or-later
"""Containers of a guest that have networks of their own, as docs/vmrpc-containers.md says.

A namespace behind a bridge is what Docker gives a container.  What is set up in
the guest are the commands of the page's unit.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import paths, wait
from lab.guest.fixtures import kernels
from lab.guest.guest import Guest
from lab.packages import kernel
from lab.peers.lab import PAGE, VM_ADDRESS, Lab, lab

sys.path.insert(0, str(Path(__file__).parent))

from programs.machines import PACKAGES

_PAGE = paths.ROOT / "docs" / "vmrpc-containers.md"

# What dockerd does for a container, but for its file system.
_DOCKER = """
modprobe tun; modprobe bridge; modprobe veth; set -e
ip link add docker0 type bridge
ip address add 172.17.0.1/16 dev docker0
ip link set docker0 up
ip netns add box
ip link add veth0 master docker0 up type veth peer name eth0 netns box
ip -n box address add 172.17.0.2/16 dev eth0
ip -n box link set eth0 up
ip -n box route add default via 172.17.0.1
sysctl -qw net.ipv4.ip_forward=1
nft add table ip nat
nft add chain ip nat POSTROUTING '{ type nat hook postrouting priority srcnat; }'
nft add rule ip nat POSTROUTING ip saddr 172.17.0.0/16 oifname != docker0 masquerade
"""

_ECHO = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((socket.gethostbyname('peer.test'), 7))
s.settimeout(float(sys.argv[1]))
s.send(b'over UDP')
print(s.recv(100).decode())
"""
_REFUSED = """
import socket
try:
    socket.create_connection(('peer.test', 9))
except OSError as error:
    print(type(error).__name__)
"""
# Who serves a connection of the guest's own: the host, as the module says.
_MODE = """
import socket
s = socket.create_connection(('peer.test', 7))
mine = f':{s.getsockname()[1]:04X} '
print(*[line.split()[-3] for line in open('/proc/net/vmrpc') if mine in line])
"""
_READ = """
import socket, sys
print(socket.create_connection(sys.argv[1:]).makefile().read(), end='')
"""
# The first datagram that comes to WireGuard's port.
_HANDSHAKE = """
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.bind(('::', 51820))
print('ready', flush=True)
data, source = s.recvfrom(2000)
print(len(data), data[0], source[0], flush=True)
"""
_WIREGUARD = """
ip link add name wg0 type wireguard
wg genkey > /tmp/key
set -- $(getent ahostsv4 peer.test)
wg set wg0 private-key /tmp/key fwmark 100 \\
    peer $(wg genkey | wg pubkey) endpoint $1:51820 \\
    allowed-ips 10.9.0.0/24 persistent-keepalive 5
ip address add 10.9.0.1/24 dev wg0
ip link set wg0 up
"""


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


@pytest.fixture(scope="module", params=kernels(kernel.OLDEST))
def guest(request: pytest.FixtureRequest, world: Lab) -> Iterator[Guest]:
    """A guest with a container behind a bridge, and the page's unit running."""
    with world.guest(request.param, ipv6=False, packages=PACKAGES) as running:
        running.run(_DOCKER)
        _start_unit(running)
        yield running


def _unit() -> list[tuple[str, str]]:
    """What the page's unit executes, and when."""
    lines = re.findall(r"^ +(Exec\w+)=(.+)$", _PAGE.read_text(), re.MULTILINE)
    assert [kind for kind, _ in lines].count("ExecStart") == 1, lines
    return lines


def _start_unit(guest: Guest) -> None:
    for kind, command in _unit():
        if kind == "ExecStartPre":
            guest.run(command.removeprefix("-"), check=not command.startswith("-"))
        elif kind == "ExecStart":
            guest.spawn(f"exec {command}")
    guest.wait_for("ip link show slirp0 | grep -q LOWER_UP")


def _boxed(guest: Guest, *words: str, check: bool = True) -> str:
    return guest.run(["ip", "netns", "exec", "box", *words], check=check).stdout


def test_a_container_reaches_outside(guest: Guest) -> None:
    """TCP and UDP from behind a bridge, and the names of both; what is refused is told."""
    assert _boxed(guest, "curl", "-sS", "http://www.test/") == PAGE
    assert _boxed(guest, "python3", "-c", _ECHO, str(wait.PATIENCE)) == "over UDP\n"
    assert _boxed(guest, "python3", "-c", _REFUSED) == "ConnectionRefusedError\n"


def test_a_port_is_published(guest: Guest, world: Lab) -> None:
    """What Docker's proxy does: a program of the guest listens for the container."""
    serve = "ip netns exec box socat TCP-LISTEN:80,fork,reuseaddr EXEC:'echo in the box'"
    proxy = "socat TCP-LISTEN:8080,fork,reuseaddr TCP:172.17.0.2:80"
    jobs = [guest.spawn(f"exec {command}") for command in (serve, proxy)]
    guest.wait_for("ip netns exec box ss -Hltn | grep -q :80 && ss -Hltn | grep -q :8080")
    said = world.peer.run([sys.executable, "-c", _READ, VM_ADDRESS, "8080"]).stdout
    assert said == "in the box\n"
    for job in jobs:
        job.kill()
        job.wait()


def test_the_guest_itself_does_not_pass_through_it(guest: Guest) -> None:
    """Programs of the guest are outsourced as ever."""
    assert guest.run(["python3", "-c", _MODE]).stdout == "remote\n"


def test_wireguard_of_the_kernel(guest: Guest, world: Lab) -> None:
    """A socket of the kernel goes the same way, where the page's rule sends it there."""
    (rule,) = re.findall(r"^ +(ip rule add fwmark .+)$", _PAGE.read_text(), re.MULTILINE)
    with world.peer.started([sys.executable, "-c", _HANDSHAKE], stdout=subprocess.PIPE) as listener:
        assert listener.stdout is not None
        assert listener.stdout.readline() == b"ready\n"
        guest.run(f"{rule}\n{_WIREGUARD}")
        # A handshake of WireGuard begins with 148 bytes of type 1.
        assert listener.stdout.readline().decode() == f"148 1 {VM_ADDRESS}\n"
    guest.run("ip link del wg0")
