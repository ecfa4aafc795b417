# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens to a real Open vSwitch under the controller: ports, bridges and their IDs change.

red1 --+
red2 --+-- bridges sw, other ---+--- controller
blue1 -+                        |
blue2 -+                        |
       a second Open vSwitch ---+

Datapath-ids are Open vSwitch's own: they follow the ports' MAC addresses.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import wait
from lab.base.net import Interface, Namespace, Network
from lab.cvsw import plans as cvsw_plans
from lab.cvsw.controller import PORT, Controller
from lab.cvsw.nics import SimNic
from lab.cvsw.openvswitch import Switch
from lab.cvsw.wires import Wires
from vmmnet.cvsw.plan.read import read

#: Of no locally administered range, as Open vSwitch takes none of these for its ID.
PHYSICAL = "00:10:18:00:00:01"
ALL = {"red1", "red2", "blue1", "blue2"}


class Bed:
    """A controller, a switch whose ID nobody has set, and NICs."""

    def __init__(self, network: Network, host: Namespace, switch: Switch, folder: Path) -> None:
        self.host, self.switch = host, switch
        vm = cvsw_plans.vm
        red = {"red1": vm(1, "192.0.2.1"), "red2": vm(2, "192.0.2.2")}
        blue = {"blue1": vm(11, "192.0.2.11"), "blue2": vm(12, "192.0.2.12")}
        tenants = {
            "red": {"vni": 5001, "cipher": "aes-gcm-256", "vms": red},
            "blue": {"vni": 5002, "vms": blue},
        }
        file = cvsw_plans.write(folder, {"underlay": {"mtu": 1500}, "tenants": tenants})
        self.controller = Controller(host, "0.0.0.0", folder, str(file))
        self.ports: dict[str, Interface] = {}
        ends = []
        for about in read(file).nics():
            link = network.connect(network.namespace(about.name), host, [])
            self.ports[about.name] = link.b
            switch.set("add-port", "sw", link.b.name)
            ends.append((SimNic(about.mac, about.key, lambda _: None), link.a))
        self.wires = Wires(ends)

    def logs(self, text: str) -> None:
        """Wait until it is in the controller's log."""
        wait.until(lambda: text in self.controller.log(), text)

    def are_at(self, switch: str) -> None:
        """Wait until all NICs are programmed, and at this switch."""
        nics = self.controller.nics
        wait.until(
            lambda: (
                {(nic["state"], nic["switch"]) for nic in nics().values()} == {("ready", switch)}
            ),
            f"all NICs are at switch {switch}",
        )

    def states(self) -> dict[str, str]:
        """All NICs'."""
        return {name: nic["state"] for name, nic in self.controller.nics().items()}


@pytest.fixture
def host(network: Network) -> Namespace:
    made = network.namespace("host")
    made.sysctl({"net.ipv6.conf.all.disable_ipv6": 1})
    return made


@pytest.fixture
def bed(network: Network, host: Namespace, tmp_path: Path) -> Iterator[Bed]:
    with Switch.running(host) as switch, contextlib.ExitStack() as stack:
        made = Bed(network, host, switch, tmp_path)
        stack.enter_context(made.wires.running())
        stack.callback(made.controller.stop)
        made.controller.start()
        switch.obey(f"tcp:127.0.0.1:{PORT}", None)
        made.controller.has_switches(1)
        made.controller.settled()
        yield made


def test_a_physical_interface_joins(bed: Bed, network: Network) -> None:
    """Open vSwitch takes another datapath-id: its NICs are found behind it, and get new keys."""
    before, keys = bed.switch.number(), bed.controller.outbound("red1")
    link = network.connect(network.namespace("wire"), bed.host, [])
    bed.host.run(["ip", "link", "set", link.b.name, "address", PHYSICAL])
    bed.switch.set("add-port", "sw", link.b.name)
    wait.until(lambda: bed.switch.number() != before, "the ID changes")
    bed.logs(f"switch {bed.switch.number()} is there")
    bed.are_at(bed.switch.number())
    bed.logs(f"is at switch {bed.switch.number()}, port 1; it was at switch {before}, port 1")
    bed.controller.awaits_new_keys("red1", keys)
    assert bed.controller.command("rekey") == "2 associations replaced\n"


def test_a_port_gets_another_number(bed: Bed) -> None:
    """As libvirt does when a VM's interface is plugged again; what waits meanwhile is reported."""
    name = bed.ports["red1"].name
    bed.switch.set("del-port", "sw", name)
    wait.until(lambda: bed.states()["red1"] == "lost", "the controller hears of it")
    assert bed.controller.command("rekey") == (
        "0 associations replaced\n2 wait for NICs not reached: red1 (lost)\n"
    )
    bed.switch.set("add-port", "sw", name)
    bed.controller.settled()
    assert bed.controller.nics()["red1"]["port"] == 5
    bed.logs("red1 (52:54:00:00:00:01) is at switch")


def test_a_port_moves_to_another_bridge(bed: Bed) -> None:
    """Of the same controller: the NIC is found there."""
    bed.switch.add_bridge("other")
    bed.switch.obey(f"tcp:127.0.0.1:{PORT}", None, bridge="other")
    bed.controller.has_switches(2)
    name = bed.ports["red2"].name
    bed.switch.set("del-port", "sw", name, "--", "add-port", "other", name)
    number = bed.switch.number("other")
    wait.until(lambda: bed.controller.nics()["red2"]["switch"] == number, "it is found")
    bed.controller.settled()
    bed.logs(f"red2 (52:54:00:00:00:02) is at switch {number}, port 1; it was at switch")


def test_two_switches_with_one_id(bed: Bed, network: Network) -> None:
    """Of cloned hosts: the first one stays, and when it goes, the second one is right."""
    place = f"tcp:192.0.2.101:{PORT}"
    clone = network.namespace("clone")
    clone.sysctl({"net.ipv6.conf.all.disable_ipv6": 1})
    link = network.connect(bed.host, clone, ["192.0.2.101/24"])
    link.b.add_address("192.0.2.102/24")
    first = int(bed.switch.number(), 16)
    with Switch.running(clone) as second:
        second.obey(place, first)
        bed.logs(
            f"switch at 192.0.2.102: it has the datapath-id {first:016x} of the switch at 127.0.0.1"
        )
        shown = f"refused: a switch at 192.0.2.102 has the datapath-id {first:016x} of the one at"
        assert f"{shown} 127.0.0.1\n" in bed.controller.command("show")
        assert set(bed.states().values()) == {"ready"}
        bed.switch.set("del-controller", "sw")
        bed.logs(f"switch {first:016x} is there (OpenFlow 1.3), at 192.0.2.102")
        assert "refused" not in bed.controller.command("show")
        # The first one with another ID is a switch of its own: its NICs are found again.
        bed.switch.obey(f"tcp:127.0.0.1:{PORT}", 0xC0DE)
        bed.are_at(f"{0xC0DE:016x}")
    assert bed.controller.log().count("and is refused") == 1


@contextlib.contextmanager
def late(host: Namespace, address: str) -> Iterator[None]:
    """An interface that comes late, with an address, and goes."""
    host.run(["ip", "link", "add", "late0", "type", "veth", "peer", "name", "late1"])
    # A host connects to itself through lo.
    host.sysctl({f"net.ipv6.conf.{name}.disable_ipv6": 0 for name in ("lo", "late0")})
    for name in ("late0", "late1"):
        host.run(["ip", "link", "set", name, "up"])
    host.run(["ip", "address", "add", address, "dev", "late0"])
    yield
    host.run(["ip", "link", "delete", "late0"])


def answers(host: Namespace, address: str) -> None:
    """Wait until a connection is accepted: a new IPv6 address is tentative for a while."""

    def is_open() -> bool:
        with host.entered(), contextlib.suppress(OSError):
            socket.create_connection((address, PORT), wait.PATIENCE).close()
            return True
        return False

    wait.until(is_open, f"{address} answers")


@pytest.fixture
def waiting(
    host: Namespace, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Controller]:
    """A controller that listens at a place which is not there yet."""
    file = cvsw_plans.write(tmp_path, cvsw_plans.tree())
    controller = Controller(host, request.param, tmp_path, str(file))
    with contextlib.ExitStack() as stack:
        stack.callback(controller.stop)
        controller.start()
        yield controller


@pytest.mark.parametrize("waiting", ["192.0.2.101"], indirect=True)
def test_an_address_comes_late(waiting: Controller, host: Namespace) -> None:
    """As one of VRRP: the controller says that it is not there, and serves when it is."""
    missing = "this host does not have 192.0.2.101: no switch can connect until it does"
    wait.until(lambda: missing in waiting.log(), missing)
    with late(host, "192.0.2.101/24"):
        answers(host, "192.0.2.101")
        wait.until(lambda: "this host has 192.0.2.101" in waiting.log(), "it says so")
    wait.until(lambda: waiting.log().count(missing) == 2, "it says that it has left")


@pytest.mark.parametrize("waiting", ["[fe80::101%late0]"], indirect=True)
def test_an_interface_comes_late(waiting: Controller, host: Namespace) -> None:
    """The controller says for what it waits, and serves at the interface, also when made again."""
    missing = "waits: interface late0 is not there"
    for number in (1, 2):
        wait.until(lambda n=number: waiting.log().count(missing) == n, missing)
        with late(host, "fe80::101/64"):
            answers(host, "fe80::101%late0")


def test_flows_are_removed(bed: Bed) -> None:
    """By another controller's cold start, or by hand: ours come again, and the log says so."""
    place = f"unix:{bed.switch.openflow}"
    wait.until(lambda: bed.switch.flows().count("cookie=0x43565357") == 2, "both are there")
    for change in (["del-flows", place], ["mod-flows", place, "actions=drop"]):
        bed.host.run(["ovs-ofctl", "-O", "OpenFlow13", *change])
        wait.until(
            lambda: (
                "priority=65535,dl_type=0x88b5 actions=CONTROLLER:65535" in bed.switch.flows()
                and "priority=0 actions=NORMAL" in bed.switch.flows()
            ),
            "both are there again",
        )
        assert bed.controller.command("rekey") == "2 associations replaced\n"
        bed.controller.settled()
    bed.logs("its flow for control frames was removed: it is set again")
    # The default of others stays, and ours does not join it.
    bed.host.run(["ovs-ofctl", "-O", "OpenFlow13", "del-flows", place])
    bed.host.run(["ovs-ofctl", "-O", "OpenFlow13", "add-flow", place, "priority=1,actions=drop"])
    wait.until(lambda: "0x88b5" in bed.switch.flows(), "control frames come again")
    keys = bed.controller.outbound("red1")
    bed.controller.command("rekey")
    bed.controller.awaits_new_keys("red1", keys)
    assert "NORMAL" not in bed.switch.flows()
    bed.host.run(["ovs-ofctl", "-O", "OpenFlow13", "--strict", "del-flows", place, "priority=1"])
    wait.until(lambda: "priority=0 actions=NORMAL" in bed.switch.flows(), "the default is back")
