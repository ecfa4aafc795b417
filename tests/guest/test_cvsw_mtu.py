# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest with an MTU of 1500 whose NIC takes it through a tunnel that has 1450.

The other end of the tunnel is the host's kernel. The guest's driver is Linux', which
reads the MTU when it takes the device and listens to no change.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base import wait
from lab.base.net import Interface, Namespace, Network
from lab.cvsw import bed as cvsw
from lab.cvsw.bed import DECAP, GUEST, WIRE, Controller, encap, flow, output
from lab.guest.guest import Guest
from lab.packages import kernel
from vmmnet.cvsw.wire.message import Ack, Refusal, Registration, Status, Type
from vmmnet.cvsw.wire.session import Session

MAC = "52:54:00:00:00:01"
HOST, VM = "192.0.2.1", "192.0.2.2"
INSIDE_HOST, INSIDE_VM = "198.51.100.1", "198.51.100.2"
INSIDE_HOST6, INSIDE_VM6 = "fd00::1", "fd00::2"
VNI = 100
IPV4, UDP = 0x0800, 17
GUEST_MTU, MTU = 1500, 1450
ICMP4, ICMP6, TCP, STAMPS = 20 + 8, 40 + 8, 20 + 20, 12
#: Datagrams of the guest, many more than fit between it and who does not read them.
DATAGRAMS = 3000
#: Before a datagram in the tunnel, and in one before what it carries.
OUTER, INNER = 14 + 20 + 8 + 8, 14 + 20 + 8
PEER_MAC = "02:00:00:00:00:02"
#: What a transfer carries: many segments, few enough for a guest that is emulated.
OCTETS = 3 << 20
CSUM, TSO4, TSO6, ECN = 1, 2, 4, 8


@dataclass
class Bed:
    """A guest on the tap of a host, which is the other end of its tunnel."""

    guest: Guest
    host: Namespace
    tap: Interface
    virtio: str  # the device, by its name on the guest's bus

    def configure(self) -> None:
        """Give the guest's interface its addresses."""
        self.guest.wait_for("test -e /sys/class/net/eth0")
        self.guest.run(
            f"ip link set eth0 up && ip address add {INSIDE_VM}/24 dev eth0"
            f" && ip address add {INSIDE_VM6}/64 dev eth0 nodad"
        )

    def rebind(self) -> int:
        """Have the driver take the device anew; returns the MTU that it has then."""
        driver = "/sys/bus/virtio/drivers/virtio_net"
        self.guest.run(f"echo {self.virtio} > {driver}/unbind; echo {self.virtio} > {driver}/bind")
        self.configure()
        return int(self.guest.get("/sys/class/net/eth0/mtu"))

    def config_interrupts(self) -> int:
        """How often the device has said that its configuration has changed."""
        text = self.guest.get("/proc/interrupts").decode()
        found = re.search(rf"^ *\d+: +(\d+) .*{self.virtio}-config$", text, re.MULTILINE)
        assert found, text
        return int(found[1])

    def config_interrupted(self, before: int) -> Callable[[], bool]:
        """What tells whether there was one more."""
        return lambda: self.config_interrupts() > before

    def forget_paths(self) -> None:
        """Have the guest know nothing of paths that are narrow."""
        self.guest.run("ip route flush cache; ip -6 route flush cache")

    def ping(self, size: int, address: str, fragments: str = "do") -> tuple[bool, str]:
        """Whether an answer came to a packet of the guest, and what ping says."""
        head = ICMP6 if ":" in address else ICMP4
        words = ["ping", "-c1", "-W2", "-M", fragments, "-s", str(size - head), address]
        result = self.guest.run(words, check=False)
        return result.rc == 0, result.stdout + result.stderr

    def host_pings(self, size: int, address: str) -> bool:
        """Whether the guest answers a packet of the host."""
        head = ICMP6 if ":" in address else ICMP4
        words = ["ping", "-c1", "-W2", "-M", "do", "-s", str(size - head), address]
        return self.host.run(words, check=False).returncode == 0

    @contextlib.contextmanager
    def server(self) -> Iterator[socket.socket]:
        """A TCP server at the other end of the tunnel."""
        with self.host.entered():
            made = socket.create_server((INSIDE_HOST, 0))
        with made:
            made.settimeout(wait.PATIENCE)
            yield made

    def send(self) -> None:
        """A transfer of the guest to the host, octet for octet."""
        self.guest.run(f"head -c {OCTETS} /dev/urandom > /tmp/data")
        wanted = self.guest.run("sha256sum < /tmp/data").stdout.split()[0]
        came = hashlib.sha256()
        with self.server() as server:
            port = server.getsockname()[1]
            job = self.guest.spawn(f"nc -N {INSIDE_HOST} {port} < /tmp/data")
            peer, _ = server.accept()
            with peer:
                peer.settimeout(wait.PATIENCE)
                while octets := peer.recv(1 << 16):
                    came.update(octets)
            job.wait(wait.PATIENCE)
        assert came.hexdigest() == wanted

    def receive(self) -> None:
        """A transfer of the host to the guest."""
        data = os.urandom(OCTETS)
        with self.server() as server:
            port = server.getsockname()[1]
            job = self.guest.spawn(f"nc -d {INSIDE_HOST} {port} | sha256sum")
            peer, _ = server.accept()
            with peer:
                peer.settimeout(wait.PATIENCE)
                peer.sendall(data)
            came = job.wait(wait.PATIENCE).stdout.split()[0]
        assert came == hashlib.sha256(data).hexdigest()

    def mean_received(self) -> float:
        """The octets of a frame that the guest's driver takes, on average, in a transfer."""
        folder = "/sys/class/net/eth0/statistics"
        before = [int(self.guest.get(f"{folder}/{what}")) for what in ("rx_bytes", "rx_packets")]
        self.receive()
        after = [int(self.guest.get(f"{folder}/{what}")) for what in ("rx_bytes", "rx_packets")]
        octets, packets = (new - old for new, old in zip(after, before, strict=True))
        return octets / packets


@pytest.fixture(scope="module")
def bed(series: str) -> Iterator[Bed]:
    with Network() as network:
        host = network.namespace("host")
        tap = host.tap("tap0")
        tap.add_address(f"{HOST}/24")
        arguments = [
            *("-netdev", "tap,id=net0,ifname=tap0,script=no,downscript=no,vhost=off"),
            *("-object", f"secret,id=key,data={cvsw.KEY.decode().replace(',', ',,')}"),
        ]
        nic = (
            f"virtio-net-cvsw-pci,netdev=net0,mac={MAC},control-secret=key,addr=0x10,romfile=,"
            f"host_mtu={GUEST_MTU}"
        )
        with Guest(
            netns=host, kernel=series, memory="256M", smp=1, devices=[nic], arguments=arguments
        ) as guest:
            guest.run("modprobe virtio_net")
            where = "ls -d /sys/bus/pci/devices/0000:00:10.0/virtio*"
            made = Bed(guest, host, tap, guest.wait_for(where).stdout.strip().rpartition("/")[2])
            made.configure()
            yield made


@pytest.fixture(scope="module")
def controller(bed: Bed) -> Iterator[Controller]:
    made = Controller(bed.tap, MAC)
    made.hello()
    with contextlib.closing(made):
        made.meet()
        yield made


@pytest.fixture(scope="module")
def tunnel(bed: Bed, controller: Controller) -> None:
    """VXLAN between the NIC and the host's kernel, which has 1450 octets in it."""
    bed.host.ip("neigh", "replace", VM, "lladdr", MAC, "dev", bed.tap.name)
    words = ["type", "vxlan", "id", str(VNI), "remote", VM, "local", HOST]
    bed.host.ip("link", "add", "vx0", *words, "dstport", str(cvsw.VXLAN), "dev", bed.tap.name)
    inside = Interface(bed.host, "vx0")
    inside.add_address(f"{INSIDE_HOST}/24")
    inside.add_address(f"{INSIDE_HOST6}/64")
    inside.up()
    controller.set(
        flow(encap(VNI, (MAC, VM), (bed.tap.mac, HOST)), output(WIRE), in_port=GUEST),
        flow(DECAP, output(GUEST), in_port=WIRE, dl_type=IPV4, nw_proto=UDP),
    )
    set_mtu(controller, MTU)
    wait.until(lambda: bed.ping(100, INSIDE_HOST)[0], "the other end answers")


def set_mtu(controller: Controller, mtu: int) -> None:
    """Have the NIC know how long the guest's packets may be."""
    assert isinstance(controller.order(Type.SET_MTU, struct.pack(">Hxx", mtu)), Ack)


def set_offload(controller: Controller, on: int, mask: int) -> Ack | Refusal:
    """Change what the guest takes from its network."""
    return controller.order(Type.SET_OFFLOAD, struct.pack(">II", on, mask))


def told(bed: Bed, address: str) -> str:
    """What ping says of an MTU, if it does."""
    answered, text = bed.ping(GUEST_MTU, address)
    assert not answered
    return text if "mtu" in text else ""


@pytest.mark.parametrize(
    ("here", "there"), [(INSIDE_HOST, INSIDE_VM), (INSIDE_HOST6, INSIDE_VM6)], ids=["4", "6"]
)
def test_too_big(bed: Bed, tunnel: None, here: str, there: str) -> None:
    """The NIC answers what does not fit as a router does, and the guest learns from it."""
    assert int(bed.guest.get("/sys/class/net/eth0/mtu")) == GUEST_MTU
    bed.forget_paths()
    wait.until(lambda: bed.ping(MTU, here)[0], "what fits is answered")
    said = wait.until(lambda: told(bed, here), "the guest is told")
    assert re.search(rf"mtu ?= ?{MTU}\b", said), said
    assert not bed.ping(MTU + 1, here)[0]
    wait.until(lambda: bed.host_pings(MTU, there), "the guest answers what fits")


def test_fragments(bed: Bed, tunnel: None) -> None:
    """An IPv4 packet that allows it arrives in fragments, both ways."""
    bed.forget_paths()
    wait.until(lambda: bed.ping(GUEST_MTU, INSIDE_HOST, "dont")[0], "the other end answers")


def test_transfer(bed: Bed, tunnel: None) -> None:
    """Large segments of the guest are cut to what fits; all arrive."""
    folder = f"/sys/class/net/{bed.tap.name}/statistics"

    def counted(what: str) -> int:
        return int(bed.host.run(["cat", f"{folder}/{what}"]).stdout)

    bed.forget_paths()
    before = counted("rx_bytes"), counted("rx_packets")
    bed.send()
    octets, packets = counted("rx_bytes") - before[0], counted("rx_packets") - before[1]
    assert octets > OCTETS
    assert octets / packets <= 14 + GUEST_MTU


def test_announced(bed: Bed, tunnel: None) -> None:
    """A peer that offers more than fits does not get it: its SYN, too, is changed."""
    bed.host.ip("route", "replace", "198.51.100.0/24", "dev", "vx0", "advmss", "1460")
    bed.forget_paths()
    with bed.server() as server:
        job = bed.guest.spawn(["nc", "-d", INSIDE_HOST, str(server.getsockname()[1])])
        peer, _ = server.accept()
        with peer:
            said = bed.guest.wait_for(f"ss -tinH dst {INSIDE_HOST} | grep -o ' mss:[0-9]*'").stdout
        job.wait(wait.PATIENCE)
    assert said.strip() == f"mss:{MTU - TCP - STAMPS}"


def test_coalesced(bed: Bed, controller: Controller, tunnel: None) -> None:
    """Segments from the tunnel are put together, unless the guest must not have them so."""
    assert bed.mean_received() > 2 * GUEST_MTU
    assert isinstance(set_offload(controller, 0, TSO4 | TSO6), Ack)
    assert bed.mean_received() <= GUEST_MTU
    assert isinstance(set_offload(controller, TSO4 | TSO6, TSO4 | TSO6), Ack)
    assert bed.mean_received() > 2 * GUEST_MTU


def test_offload_refused(bed: Bed, controller: Controller, tunnel: None) -> None:
    """What is no offload, or needs another one, is refused, and changes nothing."""
    assert isinstance(set_offload(controller, 0, CSUM), Ack)
    for on in (TSO4, 1 << 9):
        answer = set_offload(controller, on, on)
        assert isinstance(answer, Refusal)
        assert answer.status == Status.UNABLE
    bed.receive()
    assert isinstance(set_offload(controller, CSUM, CSUM), Ack)
    bed.receive()


def test_driver_is_told(bed: Bed, controller: Controller, tunnel: None) -> None:
    """A change is a configuration interrupt; the next driver has the new MTU."""
    try:
        for mtu in (1400, 1300):
            before = bed.config_interrupts()
            set_mtu(controller, mtu)
            wait.until(bed.config_interrupted(before), "an interrupt")
        assert bed.rebind() == 1300
    finally:
        set_mtu(controller, GUEST_MTU)
        bed.rebind()
        set_mtu(controller, MTU)


class Wire(Controller):
    """All that is behind a NIC, which sends its frames as datagrams: a controller, and a peer."""

    def __init__(self, folder: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(folder / "wire"))
        self._socket.settimeout(wait.PATIENCE)
        self.registrations: list[Registration] = []
        self._nic = str(folder / "nic")
        self.session = Session(
            cvsw.mac_octets(MAC),
            cvsw.KEY,
            cvsw.OURS,
            self._send,
            self.registrations.append,
        )

    def pump(self, patience: float = 0.0) -> None:
        """Take a frame that has come, and repeat what is due."""
        if select.select([self._socket], [], [], patience)[0]:
            self.session.input(self._socket.recv(1 << 16), time.monotonic())
        self.session.tick(time.monotonic())

    def _send(self, frame: bytes) -> None:
        self._socket.sendto(frame, self._nic)

    def numbers(self, last: int) -> list[int]:
        """The numbers of the datagrams that come out of the tunnel, until the last has come."""
        came: list[int] = []
        while not came or came[-1] != last:
            frame = self._socket.recv(1 << 16)
            if frame[12:14] == b"\x08\x00" and frame[36:38] == struct.pack(">H", cvsw.VXLAN):
                inner = frame[OUTER:]
                if inner[12:14] == b"\x08\x00" and inner[23] == UDP:
                    came.append(int.from_bytes(inner[INNER : INNER + 4]))
        return came


SENDER = f"""
import pathlib, select, socket
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.connect(("{INSIDE_HOST}", 9))
peer.setblocking(False)
for number in range({DATAGRAMS}):
    while True:
        try:
            peer.send(number.to_bytes(4) + bytes(1000))
            break
        except BlockingIOError:
            pathlib.Path("/tmp/full").touch()
            select.select([], [peer], [])
"""


def test_pressure(tmp_path: Path) -> None:
    """A wire that takes nothing stops the guest's queue; nothing is lost."""
    ends = f"local.type=unix,local.path={tmp_path}/nic,remote.type=unix,remote.path={tmp_path}/wire"
    arguments = [
        *("-netdev", f"dgram,id=net0,{ends}"),
        *("-object", f"secret,id=key,data={cvsw.KEY.decode().replace(',', ',,')}"),
    ]
    nic = f"virtio-net-cvsw-pci,netdev=net0,mac={MAC},control-secret=key,romfile="
    with (
        contextlib.closing(Wire(tmp_path)) as wire,
        Guest(
            kernel=kernel.MAIN, memory="256M", smp=1, devices=[nic], arguments=arguments, ipv6=False
        ) as guest,
    ):
        guest.run("modprobe virtio_net")
        guest.wait_for("test -e /sys/class/net/eth0")
        # Debian's fq_codel drops what has waited for 100 ms; a FIFO drops nothing.
        guest.run(
            "sysctl -q -w net.core.default_qdisc=pfifo_fast && ip link set eth0 up"
            f" && ip address add {INSIDE_VM}/24 dev eth0"
            f" && ip neigh replace {INSIDE_HOST} lladdr {PEER_MAC} dev eth0"
        )
        wire.hello()
        wire.meet()
        wire.set(flow(encap(VNI, (MAC, VM), (PEER_MAC, HOST)), output(WIRE), in_port=GUEST))
        job = guest.spawn(["python3", "-c", SENDER])
        guest.wait_for("test -e /tmp/full")
        assert wire.numbers(DATAGRAMS - 1) == list(range(DATAGRAMS))
        job.wait(wait.PATIENCE, check=True)
