# SPDX-License-Identifier: GPL-2.0-or-later
"""Several controllers that share the work in a real etcd, and TLS with a real Open vSwitch.

red1 ---+                      +--- alpha ---+
red2 ---+--- Open vSwitch -----+             +--- etcd, with TLS
blue1 --+                      +--- beta ----+
blue2 --+
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import ssl
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import wait
from lab.base.net import Namespace, Network
from lab.cvsw import plans as cvsw_plans
from lab.cvsw.controller import PORT, Controller
from lab.cvsw.nics import SimNic
from lab.cvsw.openvswitch import Switch
from lab.cvsw.wires import Wires
from lab.hosts.etcd import PORT as ETCD
from lab.hosts.etcd import Etcd
from lab.packages import certificates
from vmmnet.cvsw.plan.read import read
from vmmnet.cvsw.wire.message import Type

NAMES = ("alpha", "beta")
NUMBER = 0xC0DE


def tree() -> cvsw_plans.Tree:
    """Two tenants of two NICs, one of them with a cipher."""
    vm = cvsw_plans.vm
    red = {"red1": vm(1, "192.0.2.1"), "red2": vm(2, "192.0.2.2")}
    blue = {"blue1": vm(11, "192.0.2.11"), "blue2": vm(12, "192.0.2.12")}
    return {
        "underlay": {"mtu": 1500},
        "tenants": {
            "red": {"vni": 5001, "cipher": "aes-gcm-256", "vms": red},
            "blue": {"vni": 5002, "vms": blue},
        },
    }


@pytest.fixture
def host(network: Network) -> Namespace:
    made = network.namespace("host")
    made.sysctl({"net.ipv6.conf.all.disable_ipv6": 1})
    return made


@pytest.fixture
def switch(host: Namespace) -> Iterator[Switch]:
    with Switch.running(host) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With certificates: alpha's and beta's are etcd's and the switch's as well."""
    certificates.make(tmp_path, *NAMES)
    return tmp_path


class Bed:
    """Two controllers, an etcd, a switch and its NICs."""

    def __init__(self, network: Network, host: Namespace, switch: Switch, folder: Path) -> None:
        self.folder, self.switch = folder, switch
        self.file = cvsw_plans.write(folder, tree())
        files = ["--cert-file", str(folder / "alpha.pem"), "--key-file", str(folder / "alpha.key")]
        files += ["--client-cert-auth", "--trusted-ca-file", str(folder / "ca.pem")]
        self.etcd = Etcd(host, folder, *files, tls=True)
        self.controllers = [self._controller(host, name) for name in NAMES]
        self.nics: dict[str, SimNic] = {}
        ends = []
        for port, about in enumerate(read(self.file).nics(), 1):
            space = network.namespace(about.name)
            link = network.connect(space, host, [])
            names = [link.b.name, "--", "set", "interface", link.b.name, f"ofport_request={port}"]
            switch.set("add-port", "sw", *names)
            nic = self.nics[about.name] = SimNic(about.mac, about.key, lambda _: None)
            ends.append((nic, link.a))
        self.wires = Wires(ends)

    def _controller(self, host: Namespace, name: str) -> Controller:
        own = self.folder / name
        own.mkdir()
        words = ["--name", name, "--state", f"etcds://127.0.0.1:{ETCD}"]
        for option in ("ca", "cert", "key"):
            file = {"ca": "ca.pem", "cert": f"{name}.pem", "key": f"{name}.key"}[option]
            words += [f"--state-{option}", str(self.folder / file)]
        port = PORT + NAMES.index(name)
        return Controller(host, "127.0.0.1", own, *words, port=port)

    def apply(self, tree: cvsw_plans.Tree, by: Controller) -> None:
        """Have another file applied by a controller, also if another one leads."""
        cvsw_plans.write(self.folder, tree)

        def is_done() -> bool:
            with contextlib.suppress(RuntimeError):  # nobody leads yet
                return bool(by.command("apply", self.file))
            return False

        wait.until(is_done, "the file is applied")

    def roles(self) -> tuple[Controller, Controller]:
        """The one that leads, and the one that does not: when both say so."""

        def found() -> tuple[Controller, Controller] | None:
            one, other = self.controllers
            told = [each.sharing() for each in (one, other)]
            if told[0]["leader"] != told[1]["leader"] or told[0]["leads"] == told[1]["leads"]:
                return None
            return (one, other) if told[0]["leads"] else (other, one)

        roles = wait.until(found, "one of both leads")
        assert roles
        return roles

    def settled(self, *controllers: Controller) -> None:
        """Wait until the one of them that leads has brought all NICs to what the file says."""

        def is_settled() -> bool:
            shown = (each.nics().values() for each in controllers or self.controllers)
            return any({nic["state"] for nic in nics} == {"ready"} for nics in shown)

        wait.until(is_settled, "all NICs are ready")

    def seals_by(self, name: str) -> set[int]:
        """Associations that a NIC's flows name."""
        with self.wires.still():
            table = self.nics[name].table.values()
            return {number for each in table for number in each.numbers}

    def orders(self, *names: str) -> list[tuple[int, int]]:
        """How often NICs were told flows to have, and to have no more."""
        with self.wires.still():
            told = [self.nics[name].commands for name in names]
            return [(each[Type.SET_ENTRY], each[Type.DELETE_ENTRY]) for each in told]

    def keys(self) -> list[tuple[int, int]]:
        """How often NICs were told keys, and to forget some."""
        with self.wires.still():
            told = [nic.commands for nic in self.nics.values()]
            return [(each[Type.SET_SA], each[Type.DELETE_SA]) for each in told]

    def kept(self) -> str:
        """What the controllers have in etcd."""
        return self.etcd.ctl("get", "--prefix", "/vmmnet/cvsw", *tls_of(self.folder))

    def leader(self) -> dict[str, int]:
        """The lease and the term with which one leads."""
        words = ["get", "--print-value-only", "/vmmnet/cvsw/live/leader"]
        found: dict[str, int] = json.loads(self.etcd.ctl(*words, *tls_of(self.folder)))
        return found

    def mtus(self) -> set[int]:
        """What NICs tell their guests."""
        with self.wires.still():
            return {nic.mtu for nic in self.nics.values()}


@pytest.fixture
def bed(network: Network, host: Namespace, switch: Switch, folder: Path) -> Iterator[Bed]:
    made = Bed(network, host, switch, folder)
    made.etcd.start()
    places = " ".join(f"tcp:{each.place}" for each in made.controllers)
    with made.wires.running(), contextlib.ExitStack() as stack:
        for controller in made.controllers:
            stack.callback(controller.stop)
        switch.obey(places, NUMBER)
        yield made


def test_takeover(bed: Bed) -> None:
    """The leader is killed, and its successor stops and goes on: NICs never notice.

    They are programmed anew for new keys only, and a change reaches them each time. Who
    leads may change at any time if the machine is busy: the one that leads is looked for.
    """
    for controller in bed.controllers:
        controller.start()
    bed.apply(tree(), bed.controllers[1])
    bed.settled()
    _, other = bed.roles()
    other.has_switches(1)
    assert bed.mtus() == {1416, 1450}
    before, numbers = bed.orders("blue1", "blue2"), bed.seals_by("red1")
    assert numbers
    said = other.command("show")
    assert re.search(r"controllers: alpha.* (leads|stands by), beta.* (leads|stands by)", said)

    # An order of the one that stands by.
    shorter = tree()
    shorter["underlay"]["mtu"] = 1400
    bed.apply(shorter, other)
    wait.until(lambda: bed.mtus() == {1316, 1350}, "the leader carries it out")

    killed, other = bed.roles()
    killed.kill()
    wait.until(lambda: other.sharing()["leads"], "the other one leads")
    bed.settled(other)
    wait.until(lambda: bed.seals_by("red1") and not bed.seals_by("red1") & numbers, "new keys")
    assert bed.orders("blue1", "blue2") == before
    bed.apply(tree(), other)
    wait.until(lambda: bed.mtus() == {1416, 1450}, "it carries it out")

    # Stopped, it learns afterwards that somebody else leads.
    killed.start()
    stopped, other = bed.roles()
    stopped.signal(signal.SIGSTOP)
    try:
        wait.until(lambda: other.sharing()["leads"], "the other one leads")
        bed.settled(other)
    finally:
        stopped.signal(signal.SIGCONT)
    bed.roles()
    bed.apply(shorter, stopped)
    wait.until(lambda: bed.mtus() == {1316, 1350}, "the change arrives")
    assert bed.orders("blue1", "blue2") == before
    bed.settled()
    wait.until(lambda: "associations/52:54:00:00:00:01" in bed.kept(), "it remembers numbers")
    kept = bed.kept()
    with bed.wires.still():
        for nic in bed.nics.values():
            for key in (nic.key, *nic.keys_seen):
                assert key.hex() not in kept
                assert repr(key) not in kept


def tls_of(folder: Path) -> list[str]:
    """Options of etcdctl."""
    return [f"--cacert={folder}/ca.pem", f"--cert={folder}/beta.pem", f"--key={folder}/beta.key"]


def test_etcd_is_lost(bed: Bed) -> None:
    """Who leads stops, and says so; with etcd somebody leads again.

    A key that one controller does not have keeps it from leading, and it is told which.
    """
    alpha, beta = bed.controllers
    alpha.start()
    bed.apply(tree(), alpha)
    alpha.settled()
    wait.until(lambda: bed.seals_by("red1"), "keys")
    before, numbers = bed.keys(), bed.seals_by("red1")
    bed.etcd.kill()
    wait.until(lambda: not alpha.sharing()["leads"], "alpha stands by")
    wait.until(lambda: "etcd does not answer" in alpha.command("show"), "it says why")
    assert "controllers: alpha (this one) stands by\n" in alpha.command("show")
    assert {nic["state"] for nic in alpha.nics().values()} == {"standby"}
    with pytest.raises(RuntimeError, match="etcd does not answer"):
        alpha.command("apply", bed.file)
    with bed.wires.still():
        assert all(len(nic.table) > 2 for nic in bed.nics.values())
    bed.etcd.start()
    wait.until(lambda: alpha.sharing()["leads"], "alpha leads again")
    alpha.settled()

    # Its lease ends, and it is elected anew.  Nobody else has led: nothing is told to NICs.
    for _ in range(2):
        again = alpha.log().count("none has led since it did")
        bed.etcd.ctl("lease", "revoke", f"{bed.leader()['lease']:x}", *tls_of(bed.folder))
        wait.until(lambda n=again: alpha.log().count("none has led since it did") > n, "it leads")
        alpha.settled()
    assert bed.keys() == before
    assert bed.seals_by("red1") == numbers
    shorter = tree()
    shorter["underlay"]["mtu"] = 1400
    bed.apply(shorter, alpha)
    wait.until(lambda: bed.mtus() == {1316, 1350}, "it goes on")
    assert bed.keys() == before
    assert alpha.command("rekey") == "2 associations replaced\n"
    wait.until(lambda: bed.seals_by("red1") and not bed.seals_by("red1") & numbers, "new keys")

    key = bed.folder / "1.key"
    key.rename(bed.folder / "elsewhere")
    beta.start()
    wait.until(
        lambda: (
            "beta (this one) stands by" in beta.command("show")
            and f"beta cannot lead: {bed.file}:" in beta.command("show")
        ),
        "beta says why it cannot lead",
    )
    assert f"'{key}' cannot be read" in beta.command("show")
    (bed.folder / "elsewhere").rename(key)
    alpha.kill()
    wait.until(lambda: beta.sharing()["leads"], "beta leads")
    beta.settled()


@contextlib.contextmanager
def foreign_master(switch: Switch, generation: int) -> Iterator[None]:
    """A controller that is none of ours, as the switch's master."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.settimeout(wait.PATIENCE)
        other.connect(str(switch.openflow))
        request = struct.pack(">BBHII4xQ", 4, 24, 24, 7, 2, generation)
        other.sendall(struct.pack(">BBHI", 4, 0, 8, 0) + request)
        octets = b""
        while request[:1] + b"\x19" not in octets:
            octets += other.recv(4096)
        yield


@pytest.mark.parametrize("later", [0, 1 << 40])
def test_a_foreign_master(bed: Bed, later: int) -> None:
    """Of ours' generation, or a later one: ours says so, and goes on as its equal."""
    alpha, _ = bed.controllers
    alpha.start()
    bed.apply(tree(), alpha)
    alpha.settled()
    wait.until(lambda: bed.seals_by("red1"), "keys")
    generation = bed.leader()["term"] + later
    for number in range(2):
        numbers = bed.seals_by("red1")
        with foreign_master(bed.switch, generation + 2 * number):
            if number == 0:
                said(alpha, f"switch {NUMBER:016x}: a controller that is none of ours has become")
            said(alpha, "this controller is an equal of its master: it programs NICs")
            assert "this one is an equal\n" in alpha.command("show")
            assert alpha.command("rekey") == "2 associations replaced\n"
            wait.until(lambda n=numbers: not bed.seals_by("red1") & n, "new keys")
            # It stays the master, and ours the equal, whatever it wants again.
            with foreign_master(bed.switch, generation + 2 * number + 1):
                alpha.settled()
    assert alpha.log().count("none of ours has become its master") == 1


def test_tls(host: Namespace, switch: Switch, folder: Path) -> None:
    """A switch with a certificate is served; others are refused, and it is said why."""
    other = folder / "other"
    other.mkdir()
    certificates.make(other, "stranger")
    words = []
    for option, file in (("cert", "alpha.pem"), ("key", "alpha.key"), ("ca", "ca.pem")):
        words += [f"--tls-{option}", str(folder / file)]
    controller = Controller(host, "127.0.0.1", folder, *words)
    with contextlib.ExitStack() as stack:
        stack.callback(controller.stop)
        controller.start()
        switch.use_tls(folder / "beta.key", folder / "beta.pem", folder / "ca.pem")
        switch.obey(f"ssl:{controller.place}", NUMBER)
        controller.has_switches(1)
        wait.until(lambda: "0x88b5" in switch.flows(), "the switch is set up")
        switch.obey(f"tcp:{controller.place}", NUMBER)
        said(controller, "it speaks no TLS: its controller has to be ssl:ADDR:PORT")
        controller.has_switches(0)
        switch.use_tls(other / "stranger.key", other / "stranger.pem", folder / "ca.pem")
        switch.obey(f"ssl:{controller.place}", NUMBER)
        said(controller, "its certificate is refused")
        context = ssl.create_default_context(cafile=folder / "ca.pem")
        # From 3.13 on Python refuses what a plain 'openssl req -x509' makes.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        with host.entered():
            bare = stack.enter_context(socket.create_connection(("127.0.0.1", PORT)))
        bare.settimeout(wait.PATIENCE)
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            assert context.wrap_socket(bare, server_hostname="127.0.0.1").recv(1) == b""
        said(controller, "it shows no certificate")
        controller.has_switches(0)


def said(controller: Controller, text: str) -> None:
    """Wait until it is in the log."""
    wait.until(lambda: text in controller.log(), text)
