# SPDX-License-Identifier: GPL-2.0-or-later
"""The host's own kernel at the other end of our tunnels: ESP around VXLAN, and ip6_tunnel.

Not every host's kernel has them.  Elsewhere another of our NICs is the other end of ESP, and a
guest's kernel is the home agent.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

from lab.base import wait
from lab.base.net import Interface, Namespace, Network
from lab.cvsw import bed as cvsw
from lab.cvsw.bed import DECAP, GUEST, WIRE, Controller, encap, flow, output
from lab.guest.guest import Guest
from lab.mip6 import linux_agent, mobility, roaming
from lab.mip6.mobility import AGENT_ADDRESS, FOREIGN_PREFIX, HOME_PREFIX, World

MAC = "52:54:00:00:00:01"
HOST, VM = "192.0.2.1", "192.0.2.2"
INSIDE_HOST, INSIDE_VM = "198.51.100.1", "198.51.100.2"
VNI, IPV4, ESP = 100, 0x0800, 50
#: From the VM, and to it: AES-128 and the salt.
SPIS = (0x1001, 0x1002)
KEYS = (bytes(range(20)), bytes(range(20, 40)))
MTU = 1400
ECHOED = f"""
import os, socket, sys, threading
sent, got = os.urandom(1 << 18), b""
with socket.create_connection(({INSIDE_HOST!r}, sys.argv[1]), timeout={wait.INNER}) as line:
    sender = threading.Thread(target=line.sendall, args=(sent,))
    sender.start()
    while len(got) < len(sent):
        got += line.recv(1 << 16) or sys.exit("the end is early")
    sender.join()
assert got == sent
"""


def _protect(host: Namespace) -> None:
    """The kernel's associations, and policies that VXLAN with the VM must be in ESP."""
    ways = (("in", VM, HOST), ("out", HOST, VM))
    for (way, source, destination), spi, key in zip(ways, SPIS, KEYS, strict=True):
        ends = ("src", source, "dst", destination)
        aead = ("aead", "rfc4106(gcm(aes))", f"0x{key.hex()}", "128")
        number = ("proto", "esp", "spi", hex(spi), "mode", "transport")
        window = ("replay-window", "128", "flag", "esn")
        host.ip("xfrm", "state", "add", *ends, *number, *window, *aead)
        port = ("proto", "udp", "dport", str(cvsw.VXLAN))
        template = ("tmpl", *ends, "proto", "esp", "mode", "transport")
        host.ip("xfrm", "policy", "add", "dir", way, *ends, *port, *template)


@contextlib.contextmanager
def _echo(space: Namespace) -> Iterator[int]:
    """A server that returns what one client sends; yields its port."""
    with space.entered():
        server = socket.create_server((INSIDE_HOST, 0))
    server.settimeout(wait.PATIENCE)

    def serve() -> None:
        line, _ = server.accept()
        with line:
            while data := line.recv(1 << 16):
                line.sendall(data)

    with server:
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


def test_vxlan_in_esp(network: Network) -> None:
    """The kernel opens what a NIC seals, and the NIC what the kernel seals."""
    host = network.namespace("host")
    tap = host.tap("tap0")
    tap.add_address(f"{HOST}/24")
    host.ip("neigh", "replace", VM, "lladdr", MAC, "dev", tap.name)
    words = ("type", "vxlan", "id", str(VNI), "remote", VM, "local", HOST)
    host.ip("link", "add", "vx0", *words, "dstport", str(cvsw.VXLAN), "dev", tap.name)
    inside = Interface(host, "vx0")
    inside.set_mtu(MTU)
    inside.add_address(f"{INSIDE_HOST}/24")
    inside.up()
    _protect(host)
    with (
        Guest(
            netns=host, memory="192M", smp=1, arguments=cvsw.options(tap, MAC), ipv6=False
        ) as guest,
        contextlib.closing(Controller(tap, MAC)) as controller,
        _echo(host) as port,
    ):
        guest.run("modprobe virtio_net")
        guest.wait_for("ip link show eth0")
        guest.run(f"ip link set eth0 mtu {MTU} up && ip address add {INSIDE_VM}/24 dev eth0")
        controller.hello()
        controller.meet()
        controller.set_sa(1, SPIS[0], KEYS[0], outbound=True)
        controller.set_sa(2, SPIS[1], KEYS[1], outbound=False)
        into = flow(
            encap(VNI, (MAC, VM), (tap.mac, HOST)), cvsw.encrypt(1), output(WIRE), in_port=GUEST
        )
        out = (cvsw.decrypt(0), DECAP, output(GUEST))
        controller.set(into, flow(*out, in_port=WIRE, dl_type=IPV4, nw_proto=ESP))
        guest.wait_for(f"ping -n -c1 -W5 {INSIDE_HOST}")
        guest.run(["python3", "-c", ECHOED, str(port)])
        (nic,) = guest.qmp("query-cvsw", flows=False)
        sealing, opening = nic["associations"]
        assert sealing["next"] > 1
        assert opening["highest"]
        # In clear, it is no longer taken: neither by the kernel nor by the NIC.
        host.ip("xfrm", "state", "flush")
        assert guest.run(f"ping -n -c1 -W1 {INSIDE_HOST}", check=False).rc


@contextlib.contextmanager
def _home_agent(world: World) -> Iterator[Namespace]:
    """A host on the home link whose kernel is the home agent."""
    space = world.network.namespace("linux-agent")
    end = world.network.connect(space, world.home.link).a
    end.down()
    space.ip("link", "set", "dev", end.name, "name", linux_agent.LINK)
    link = Interface(space, linux_agent.LINK)
    link.up()
    link.add_address(f"{AGENT_ADDRESS}/64")
    space.route("::/0", f"{HOME_PREFIX}::ffff")
    command = [sys.executable, "-u", linux_agent.__file__, AGENT_ADDRESS]
    with space.started(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        yield space


def test_home_agent_of_the_kernel() -> None:
    """A VM that is away is reached through the kernel's ip6_tunnel."""
    with mobility.world() as world, _home_agent(world) as agent:
        tap = world.foreign.tap("tap0")
        with Guest(
            name="mobile",
            netns=world.foreign.host,
            memory="192M",
            smp=1,
            devices=[mobility.DEVICE],
            arguments=mobility.arguments(tap, f"router-mac={world.home.link.mac}"),
        ) as guest:
            roaming.configure(guest)
            guest.run(f"ip -6 route replace default via {roaming.home_router(world)} dev eth0")
            roaming.await_bound(guest, FOREIGN_PREFIX)
            roaming.pings(guest)
            for name in ("rx_packets", "tx_packets"):
                text = agent.run(["cat", f"/sys/class/net/mn0/statistics/{name}"]).stdout
                assert int(text)
