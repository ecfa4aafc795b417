# SPDX-License-Identifier: GPL-2.0-or-later
"""Netdevs in the middle (stage, HostVLAN, CVSW) before libslirp, passt and vhost-user."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab.base import scratch, wait
from lab.base.net import Namespace, Network
from lab.guest import qemu
from lab.guest.guest import Guest, Job
from lab.peers import vhost_user
from lab.peers.passt import Passt
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.qmp import Qmp, QmpError
from vmmnet.values import mac as macs

SECRET = "secret,id=key0,data=0123456789abcdef0123456789abcdef"
SIZE = 300_000
# Without shutdown(): the passt of Debian 12 repeats data to who has half closed a connection.
CLIENT = f"""\
import socket, sys
data = open("/data", "rb").read()
for address in sys.argv[2:]:
    with socket.create_connection((address, int(sys.argv[1])), 20) as server:
        server.sendall(data)
        assert server.makefile("rb").read({SIZE}) == data
"""


@dataclass(frozen=True)
class Nic:
    """A NIC of the guest, ``middle`` between it and the netdev ``net<number>``."""

    number: int
    middle: str
    backend: str
    passt: Passt | None = None

    @property
    def mac(self) -> str:
        """Its address."""
        return f"52:54:00:00:00:{self.number:02x}"

    @property
    def network(self) -> str:
        """The first three octets of its addresses."""
        return f"10.0.{self.number}"

    @property
    def gateway(self) -> str:
        """The host, as the guest knows it."""
        return f"{self.network}.2"

    @property
    def gateway_mac(self) -> str:
        """libslirp makes it of the address."""
        return self.passt.mac if self.passt else f"52:55:0a:00:{self.number:02x}:02"

    @property
    def netdev(self) -> str:
        """The ID of the backend."""
        return f"net{self.number}"

    def arguments(self, table: Path) -> list[str]:
        """What QEMU is told."""
        words, top, driver = ["-netdev", self.backend], self.netdev, "virtio-net-pci"
        if self.middle in ("stage", "hostvlan"):
            top = f"{self.middle}{self.number}"
            more = f",table={table}" if self.middle == "hostvlan" else ""
            words += ["-netdev", f"{self.middle},id={top},netdev={self.netdev}{more}"]
        elif self.middle == "cvsw":
            driver = "virtio-net-cvsw-pci,control-secret=key0"
        return [*words, "-device", f"{driver},netdev={top},mac={self.mac},id=nic{self.number}"]


class Echo:
    """Sends back what it gets, once it has SIZE octets of it, and takes more."""

    def __init__(self, space: Namespace) -> None:
        with space.entered():
            self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    @staticmethod
    def _serve(client: socket.socket) -> None:
        got = bytearray()
        with client, contextlib.suppress(OSError):
            while len(got) < SIZE and (part := client.recv(1 << 16)):
                got += part
            client.sendall(got[:SIZE])
            while client.recv(1 << 16):
                pass

    def close(self) -> None:
        """Take no more connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@dataclass
class Bed:
    """A guest whose NICs are all before libslirp or passt, and their host."""

    guest: Guest
    nics: list[Nic]
    port: int
    table: Path

    def check(self, nics: Sequence[Nic]) -> None:
        """The guest's data come back, by each of the NICs."""
        gateways = " ".join(nic.gateway for nic in nics)
        self.guest.wait_for(f"python3 /client.py {self.port} {gateways}")

    def upload(self, nic: Nic) -> Job:
        """Have the guest send for ever."""
        return self.guest.spawn(f"exec nc {nic.gateway} {self.port} </dev/zero >/dev/null")

    def place_gateway(self, nic: Nic, lnid: int) -> None:
        """Have HostVLAN's table say where the gateway is."""
        with Table.change(self.table) as change:
            change.set(Entry.of(macs.parse(nic.gateway_mac), [lnid]))

    def received(self, nic: Nic) -> dict[str, int]:
        """What HostVLAN has counted of what came for the NIC."""
        ports = self.guest.qmp("query-hostvlan")
        (port,) = [port for port in ports if port["id"] == f"hostvlan{nic.number}"]
        counted: dict[str, int] = port["receive"]
        return counted

    def info(self) -> str:
        """What QEMU has counted."""
        text: str = self.guest.qmp("human-monitor-command", command_line="info network")
        return text

    def counted(self, nic: Nic, counter: str) -> int:
        """Of frames of the guest, in the stage next to the NIC's backend."""
        lines = self.info().splitlines()
        (at,) = [n for n, line in enumerate(lines) if f"netdev={nic.netdev}" in line]
        found = re.search(rf"NIC: .*\b{counter}=(\d+)", lines[at + 1])
        assert found, lines[at + 1]
        return int(found[1])


def make_nics(space: Namespace, folder: Path) -> list[Nic]:
    """Each kind of netdev in the middle before libslirp, and before passt."""
    made: list[Nic] = []
    for middle in ("stage", "hostvlan", "cvsw"):
        number = len(made) + 1
        user = f"user,id=net{number},net=10.0.{number}.0/24,ipv6=off"
        made.append(Nic(number, middle, user))
    for middle in ("stage", "hostvlan", "cvsw"):
        number = len(made) + 1
        path = folder / f"passt{number}"
        passt = Passt(space, path, f"10.0.{number}", f"02:00:00:00:00:{number:02x}")
        passt.start()
        stream = f"stream,id=net{number},addr.type=unix,addr.path={path},reconnect-ms=50"
        made.append(Nic(number, middle, stream, passt))
    return made


def set_up(guest: Guest, nics: list[Nic]) -> None:
    """Have the guest know its NICs, and something to send."""
    guest.run(f"modprobe virtio_net; head -c {SIZE} /dev/urandom >/data")
    guest.put(CLIENT.encode(), "/client.py")
    for nic in nics:
        guest.run(
            f"until dev=$(ip -o link | awk -F'[ :]+' '/{nic.mac}/ {{ print $2 }}'); test $dev;"
            f" do :; done; ip address add {nic.network}.15/24 dev $dev; ip link set $dev up"
        )


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(Network())
        space, outside = network.namespace("host"), network.namespace("outside")
        # passt wants an interface that has a route to everywhere.
        network.connect(space, outside, ["198.51.100.1/24"], ["198.51.100.2/24"])
        space.route("default", "198.51.100.2")
        folder = Path(stack.enter_context(scratch.folder()))
        folder.chmod(0o777)
        echo = Echo(space)
        stack.callback(echo.close)
        table, nics = folder / "table", make_nics(space, folder)
        with Table.change(table) as change:
            for nic in nics:
                change.set(Entry.of(macs.parse(nic.mac), [1]))
                change.set(Entry.of(macs.parse(nic.gateway_mac), [0]))
        words = [word for nic in nics for word in nic.arguments(table)]
        guest = stack.enter_context(Guest(netns=space, arguments=["-object", SECRET, *words]))
        set_up(guest, nics)
        yield Bed(guest, nics, echo.port, table)


def test_data(bed: Bed) -> None:
    bed.check(bed.nics)


def test_hostvlan_is_asked(bed: Bed) -> None:
    """What the gateway says to a guest in another logical network ends there."""
    nics = [nic for nic in bed.nics if nic.middle == "hostvlan"]
    for nic in nics:
        bed.place_gateway(nic, 2)
        bed.guest.run(f"ip neigh flush to {nic.gateway}; ping -c1 -W1 {nic.gateway}", check=False)
        wait.until(lambda: bed.received(nic)["other-tenant"], "a frame of another tenant")  # noqa: B023
        bed.place_gateway(nic, 0)


def test_passt_again(bed: Bed) -> None:
    """passt takes no more, ends while the guest sends, and is started anew."""
    nics = [(nic, nic.passt) for nic in bed.nics if nic.passt]
    uploads = [bed.upload(nic) for nic, _ in nics]
    for nic, passt in nics:
        if nic.middle == "stage":
            before = bed.counted(nic, "passed")
            wait.until(lambda: bed.counted(nic, "passed") > before + 100, "the guest sends")  # noqa: B023
        passt.stop_reading()
    for nic, passt in nics:
        passt.kill()
        where: dict[str, Any] = {"netdev-id": nic.netdev}
        bed.guest.monitor.wait_event("NETDEV_STREAM_DISCONNECTED", **where)
        passt.start()
        bed.guest.monitor.wait_event("NETDEV_STREAM_CONNECTED", **where)
    for upload in uploads:
        upload.kill(9)
    bed.check([nic for nic, _ in nics])


def test_backend_deleted(bed: Bed) -> None:
    """While the guest sends: its link is down, and the guest goes on."""
    uploads = [bed.upload(nic) for nic in bed.nics]
    for nic in bed.nics:
        bed.guest.qmp("netdev_del", id=nic.netdev)
        assert f"{nic.netdev}: " not in bed.info()
    for nic in bed.nics:
        bed.guest.wait_for(f"! ip -o link | grep {nic.mac} | grep LOWER_UP")
    for upload in uploads:
        upload.kill(9)
    bed.guest.run("true")


# --- vhost-user: frames that QEMU does not see ---


HOME = "home-address=2001:db8:2000::10,home-prefix-length=64,home-agent=2001:db8:2000::1"


def refusal(user: str) -> str:
    return (
        f"netdev 'net0' is of type vhost-user, whose frames do not come through QEMU: '{user}'"
        " needs another type, such as tap or stream"
    )


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ("st0", ["-netdev", "stage,id=st0,netdev=net0"]),
        ("hv0", ["-netdev", "hostvlan,id=hv0,netdev=net0,table=/nowhere/table"]),
        ("mip0", ["-netdev", f"mip6,id=mip0,netdev=net0,{HOME}"]),
        ("net0/cvsw", ["-device", "virtio-net-cvsw-pci,netdev=net0,control-secret=key0"]),
    ],
)
def test_vhost_user_is_refused(tmp_path: Path, user: str, words: list[str]) -> None:
    with vhost_user.backend(tmp_path / "vu"):
        started = qemu.QemuProcess(
            [*command(tmp_path), *vhost_user_words(tmp_path), *words],
            netns=None,
            stderr=tmp_path / "stderr",
        )
        assert started.wait(wait.PATIENCE) == 1
    assert refusal(user) in started.errors()


def command(folder: Path) -> list[str | Path]:
    """A QEMU that boots nothing."""
    return [
        qemu.sanitized(),
        *qemu.firmware_options(),
        *("-machine", "pc", "-accel", "tcg", "-S", "-nodefaults", "-display", "none"),
        *("-object", SECRET),
        *("-qmp", f"unix:{folder / 'qmp'},server=on,wait=off"),
    ]


def vhost_user_words(folder: Path) -> list[str]:
    return [
        *("-chardev", f"socket,id=vu,path={folder / 'vu'}"),
        *("-netdev", "vhost-user,id=net0,chardev=vu"),
    ]


@contextlib.contextmanager
def running(folder: Path, *words: str) -> Iterator[Qmp]:
    """QEMU and its monitor."""
    started = qemu.QemuProcess([*command(folder), *words], netns=None, stderr=folder / "stderr")
    try:
        monitor = Qmp(started.connect(folder / "qmp"))
        yield monitor
        monitor.command("quit")
        assert started.wait(wait.PATIENCE) == 0
        monitor.close()
    finally:
        started.stop()


def test_vhost_user_is_refused_later(tmp_path: Path) -> None:
    """By netdev_add and device_add; without anything in the middle a NIC may have it."""
    with vhost_user.backend(tmp_path / "vu"), running(tmp_path) as monitor:
        where = {"type": "unix", "data": {"path": str(tmp_path / "vu")}}
        kind = {"type": "socket", "data": {"addr": where, "server": False}}
        monitor.command("chardev-add", id="vu", backend=kind)
        monitor.command("netdev_add", type="vhost-user", id="net0", chardev="vu")
        with pytest.raises(QmpError, match=re.escape(refusal("st0"))):
            monitor.command("netdev_add", type="stage", id="st0", netdev="net0")
        with pytest.raises(QmpError, match=re.escape(refusal("hv0"))):
            monitor.command("netdev_add", type="hostvlan", id="hv0", netdev="net0", table="/table")
        with pytest.raises(QmpError, match=re.escape(refusal("net0/cvsw"))):
            monitor.command(
                *("device_add",), driver="virtio-net-cvsw-pci", netdev="net0", control_secret="key0"
            )
        monitor.command("device_add", driver="virtio-net-pci", id="nic0", netdev="net0")
