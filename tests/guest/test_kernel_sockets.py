# SPDX-License-Identifier: GPL-2.0-or-later
"""Sockets that the guest's kernel makes, or is given by a program.

The peer speaks just enough of each protocol to show that what the kernel sends
arrives, and that the kernel takes what is answered.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import wait
from lab.guest.fixtures import KERNELS
from lab.guest.guest import Guest
from lab.peers.lab import PEER_ADDRESS, VM_ADDRESS, Lab, lab

sys.path.insert(0, str(Path(__file__).parent))

from programs.machines import PACKAGES

_NBD_SIZE = 1 << 20


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


@pytest.fixture(scope="module", params=KERNELS)
def guest(request: pytest.FixtureRequest, world: Lab) -> Iterator[Guest]:
    with world.guest(request.param, ipv6=False, packages=PACKAGES) as running:
        yield running


@contextlib.contextmanager
def _peer(world: Lab, script: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program at the peer that has said that it is ready."""
    command = [sys.executable, "-c", script, PEER_ADDRESS, *words]
    with world.peer.started(command, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        yield running


def _says(running: subprocess.Popen[bytes]) -> str:
    assert running.stdout is not None
    return running.stdout.readline().decode().strip()


def _address(guest: Guest) -> str:
    return guest.run("getent ahostsv4 peer.test").stdout.split()[0]


def _log(guest: Guest) -> str:
    return guest.run("dmesg").stdout


# It refuses what it is offered, with a reason that the client has to have read.
_SMB = """
import socket, struct, sys
server = socket.create_server((sys.argv[1], 445), family=socket.AF_INET6)
print('ready', flush=True)
connection, peer = server.accept()
stream = connection.makefile('rb')
packet = stream.read(int.from_bytes(stream.read(4), 'big'))
print(peer[0], packet[:4], flush=True)
header = bytearray(packet[:64])
struct.pack_into('<I', header, 8, 0xC00000BB)
struct.pack_into('<I', header, 16, 1)
answer = bytes(header) + struct.pack('<HBBIB', 9, 0, 0, 0, 0)
connection.sendall(len(answer).to_bytes(4, 'big') + answer)
stream.read()
"""


def test_cifs_reaches_its_server(guest: Guest, world: Lab) -> None:
    """The kernel's client of SMB connects, asks and reads the answer, over IPv6."""
    with _peer(world, _SMB) as server:
        options = f"ip={_address(guest)},vers=3.0,sec=none"
        mount = f"mount -i -t cifs //peer.test/share /mnt -o {options}"
        result = guest.run(mount, check=False)
        assert result.rc and "not supported" in result.stderr.lower(), result
        assert _says(server) == f"{VM_ADDRESS} b'\\xfeSMB'"
    assert "vmrpc: cifs" not in _log(guest)


_NBD_SERVER = """
import socket, struct, sys
disk = bytearray(int(sys.argv[2]))
server = socket.create_server((sys.argv[1], 10809), family=socket.AF_INET6)
print('ready', flush=True)
connection, peer = server.accept()
stream = connection.makefile('rb')
print(peer[0], flush=True)
while True:
    request = stream.read(28)
    if len(request) < 28:
        break
    magic, flags, kind, cookie, start, size = struct.unpack('>IHHQQI', request)
    answer = struct.pack('>IIQ', 0x67446698, 0, cookie)
    if kind == 0:
        connection.sendall(answer + disk[start:start + size])
    elif kind == 1:
        disk[start:start + size] = stream.read(size)
        connection.sendall(answer)
    else:
        break
"""
_NBD_CLIENT = """
import fcntl, os, socket, sys
disk = os.open('/dev/nbd0', os.O_RDWR)
server = socket.create_connection((sys.argv[1], 10809))
for request, value in (0xab01, 4096), (0xab07, int(sys.argv[2]) // 4096), (0xab00, server.fileno()):
    fcntl.ioctl(disk, request, value)
print('attached', flush=True)
fcntl.ioctl(disk, 0xab03)
"""


def test_nbd_has_a_disk_outside(guest: Guest, world: Lab) -> None:
    """The socket is a program's, and the kernel's disk goes on with it."""
    guest.run("modprobe nbd nbds_max=1")
    with _peer(world, _NBD_SERVER, str(_NBD_SIZE)) as server:
        words = ["python3", "-c", _NBD_CLIENT, _address(guest), str(_NBD_SIZE)]
        client = guest.spawn(words)
        client.wait_output("attached")
        assert _says(server) == VM_ADDRESS
        # A disk has its size when the kernel's loop has begun.
        guest.wait_for(f"[ $(blockdev --getsize64 /dev/nbd0) = {_NBD_SIZE} ]")
        guest.run(
            "head -c 600000 /dev/urandom > /tmp/data"
            " && dd if=/tmp/data of=/dev/nbd0 bs=64k conv=fsync status=none"
            " && echo 3 > /proc/sys/vm/drop_caches && cmp -n 600000 /tmp/data /dev/nbd0"
        )
        guest.run("python3 -c \"import fcntl; fcntl.ioctl(open('/dev/nbd0'), 0xab08)\"")
        client.wait(check=False)
    guest.run("rmmod nbd")


_TUNNELS = {
    "vxlan": """
        ip link add name tunnel type vxlan id 7 remote {address} dstport 4789
        ip address add 10.9.0.1/24 dev tunnel; ip link set tunnel up""",
    "wireguard": """
        ip link add name tunnel type wireguard
        wg genkey > /tmp/key
        wg set tunnel private-key /tmp/key peer $(wg genkey | wg pubkey) \\
            endpoint {address}:51820 allowed-ips 0.0.0.0/0
        ip address add 10.9.0.1/24 dev tunnel; ip link set tunnel up""",
}


@pytest.mark.parametrize("kind", _TUNNELS)
def test_tunnel_is_told_of(guest: Guest, kind: str) -> None:
    """What a tunnel of the kernel sends does not leave the guest, and the log says so once."""
    address = _address(guest)
    expected = f"vmrpc: {kind} cannot send to {address}: sockets of the kernel stay in the guest"
    guest.run(_TUNNELS[kind].format(address=address))
    try:
        # Each makes the tunnel send, be it a question for a neighbour or a handshake.
        guest.wait_for(f"ping -c1 -W1 10.9.0.2 > /dev/null; dmesg | grep -q '{expected}'")
        guest.run("ping -c2 -W1 10.9.0.3", check=False)
    finally:
        guest.run("ip link del tunnel")
    assert _log(guest).count(f"vmrpc: {kind} cannot send") == 1


def test_nfs_is_told_of(guest: Guest) -> None:
    """NFS looks at its connection's state, which the host has: it is refused, not left to wait."""
    address = _address(guest)
    options = f"addr={address},clientaddr=192.0.0.2,vers=4.2,soft,timeo=10,retrans=1"
    mount = f"mount -i -t nfs peer.test:/ /mnt -o {options}"
    result = guest.run(mount, wait.PATIENCE, check=False)
    assert result.rc, result
    assert f"vmrpc: sunrpc cannot send to {address}" in _log(guest)
