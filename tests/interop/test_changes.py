# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes of the host under daemons: time until they serve again, and whether they say so.

The table is in build/changes.md.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import dns.exception
import dns.query
import pytest
from lab.base import scratch, wait
from lab.base.net import Interface, Namespace, Network
from lab.cvsw import plans as cvsw_plans
from lab.cvsw.controller import PORT, Controller
from lab.dns import dnsd_world
from lab.hosts import bridged, changes, ebpf, hostd
from lab.hosts.changes import Place, Report, Subject
from lab.hosts.etcd import ENVIRONMENT, VMMNET, Agent, Etcd
from lab.hosts.hostd import Hostd, registration
from lab.mip6 import mobile
from lab.mip6.mobile import CARE_OF, Packet
from lab.mip6.mobility import (
    AGENT_ADDRESS,
    CORRESPONDENT_ADDRESS,
    HOME_ADDRESS,
    agent_binary,
)
from vmmnet.values import mac as macs

pytestmark = pytest.mark.long

VM = "0a7c1f3e-0000-4000-8000-00000000000a"
VM_ADDRESS, HOST, PEER = "2001:db8:1::c0de", "2001:db8:1::1", "2001:db8:1::2"
#: Outages that nothing tells of. Where a daemon listens at an address of the host, the kernel
#: announces that address, or, by default, does not.
SILENT = {
    "vmmnet-dnsd": {"another MAC"},
    "vmmnet-cvsw": {"another MAC"},
}
#: Seconds that a question waits for its answer.
MOMENT = 0.5


def pings(space: Namespace, address: str) -> bool:
    words = ["ping", "-n", "-c1", "-W", str(MOMENT), address]
    return space.run(words, check=False).returncode == 0


@contextlib.contextmanager
def host_and_peer(network: Network) -> Iterator[tuple[Interface, Namespace]]:
    """A host's bridge with an uplink, and who is at its other end."""
    host, peer = network.namespace("host"), network.namespace("peer")
    bridge = host.bridge()
    bridge.add_address(f"{HOST}/64")
    network.connect(peer, bridge, [f"{PEER}/64"])
    yield bridge, peer


@contextlib.contextmanager
def vmmnet_hostd(network: Network, folder: Path) -> Iterator[Subject]:
    """A VM's address on the bridge."""
    with host_and_peer(network) as (bridge, peer), Hostd(bridge.namespace, folder) as helper:
        with hostd.stand(helper) as vm:
            pid_file = folder / "vm.pid"
            pid_file.write_text(f"{vm.pid}\n")
            assert helper.ask(registration(VM, pid_file, (VM_ADDRESS, bridge))) == "ok\n"
            assert vm.ask(f"take {VM}") == "ok"
            place = Place(bridge, [VM_ADDRESS])
            yield Subject(
                "vmmnet-hostd",
                place,
                lambda: pings(peer, VM_ADDRESS),
                lambda: helper.log.read_text(),
            )


@contextlib.contextmanager
def vmmnet_ha(network: Network, folder: Path) -> Iterator[Subject]:
    """A mobile node's tunnel; the test starts the agent again, as systemd does."""
    with mobile.field(bridged=True) as field, contextlib.ExitStack() as stack:
        config = field.configure(f"state {folder / 'ha.state'}")
        log = folder / "ha.log"
        out = stack.enter_context(log.open("ab"))
        agents: list[subprocess.Popen[bytes]] = []

        def start() -> None:
            command = [agent_binary(), config]
            agents.append(field.agent_host.popen(command, stdout=out, stderr=out))

        def serves() -> bool:
            if agents[-1].poll() is not None:
                start()
            request = mobile.echo(HOME_ADDRESS, CORRESPONDENT_ADDRESS, next(numbers) % 65536)
            field.mobile.send(mobile.ip6(CARE_OF[0], AGENT_ADDRESS, mobile.IP6, request))
            with contextlib.suppress(TimeoutError):
                field.mobile.receive(is_reply, MOMENT)
                return True
            return False

        def is_reply(packet: Packet) -> bool:
            return packet.protocol == mobile.IP6 and packet.inner.payload[0] == mobile.ECHO_REPLY

        numbers = itertools.count(1)
        start()
        wait.until(lambda: "ready" in log.read_text(), "the agent")
        assert field.mobile.register(1, lifetime=3600).status == 0
        place = Place(field.agent_interface, [AGENT_ADDRESS, HOME_ADDRESS])
        yield Subject("vmmnet-ha", place, serves, log.read_text)


@contextlib.contextmanager
def vmmnet_dnsd(network: Network, folder: Path) -> Iterator[Subject]:
    """A zone, at an address of the bridge."""
    with dnsd_world.made(network) as world:
        listen = [dnsd_world.SERVER, dnsd_world.SERVER6]
        with world.dnsd(server={"listen": listen}) as server:

            def serves() -> bool:
                for address in listen:
                    with world.client.entered():
                        try:
                            dns.query.udp(dnsd_world.query(), address, timeout=MOMENT)
                        except (dns.exception.DNSException, OSError):
                            return False
                return True

            place = Place(Interface(world.server, "br0"))
            yield Subject("vmmnet-dnsd", place, serves, server.log.read_text)


@contextlib.contextmanager
def vmmnet_cvsw(network: Network, folder: Path) -> Iterator[Subject]:
    """The controller's port for switches, at a link-local address of the bridge."""
    with host_and_peer(network) as (bridge, peer):
        bridge.add_address("fe80::101/64")
        file = cvsw_plans.write(folder, cvsw_plans.tree())
        controller = Controller(bridge.namespace, "[fe80::101%br0]", folder, str(file))
        with contextlib.ExitStack() as stack:
            stack.callback(controller.stop)
            controller.start()
            (name,) = [
                each["ifname"]
                for each in json.loads(peer.ip("-j", "link"))
                if each["ifname"] != "lo"
            ]

            def serves() -> bool:
                with peer.entered(), contextlib.suppress(OSError):
                    place = (f"fe80::101%{name}", PORT)
                    with socket.create_connection(place, MOMENT) as switch:
                        switch.settimeout(MOMENT)
                        # It says hello first.
                        return len(switch.recv(8)) == 8
                return False

            def says() -> str:
                lines = controller.log().splitlines()
                return "\n".join(line for line in lines if "switch at fe80" not in line)

            wait.until(serves, "the controller")
            yield Subject("vmmnet-cvsw", Place(bridge), serves, says)


@contextlib.contextmanager
def hostvlan_agent(network: Network, folder: Path) -> Iterator[Subject]:
    """Tenants with HostVLAN in eBPF; the interface is that of the tenant who hears nobody."""
    ebpf.compiled()
    with bridged.Bed(network, folder / "unused") as bed:
        Etcd(bed.space, folder).start()
        store = ["--store", "etcd://127.0.0.1:2379/test"]
        agent = Agent(bed.space, folder / "h1", store)
        bed.table = agent.table
        a, b, vm = bed.veth("a"), bed.veth("b"), network.namespace("c")
        vm.sysctl(bridged.QUIET)
        link = network.connect(vm, bed.bridge)
        c = bridged.Port(link.b, bed.listen(link.a), macs.parse(link.a.mac))
        for port, lnid in ((a, "1"), (b, "1"), (c, "2")):
            mac = macs.text(port.mac)
            python = ["env", *(f"{name}={value}" for name, value in ENVIRONMENT.items())]
            bed.space.run([*python, *VMMNET, "add", mac, lnid, *store])
            agent.port(port.end.name, mac)
        agent.start()
        wait.until(lambda: len(agent.entries() or ()) == 3, "the agent has the tenants")
        for port in (a, b, c):
            bed.attach(port)
        numbers = itertools.count()

        def make() -> None:
            words = ["link", "add", c.end.name, "type", "veth", "peer", "name", link.a.name]
            bed.space.ip(*words, "address", macs.text(c.mac), "netns", vm.netns)
            bed.space.ip("link", "set", c.end.name, "master", bed.bridge.name)
            link.a.up()
            link.b.up()
            c.wire = bed.listen(link.a)

        def serves() -> bool:
            """Whether a's friend hears it, and nobody else."""
            said = bridged.frame(a.mac, f"hello {next(numbers)}")
            a.wire.send(said)
            until, heard = time.monotonic() + MOMENT, False
            while time.monotonic() < until and not heard:
                heard = said in b.wire.heard()
            with contextlib.suppress(OSError):
                return heard and said not in c.wire.heard()
            return heard

        def says() -> str:
            place = f"http://127.0.0.1:{agent.metrics_port}/metrics"
            with bed.space.entered(), urllib.request.urlopen(place, timeout=wait.PATIENCE) as page:
                lines = page.read().decode().splitlines()
            return "\n".join([agent.log, *(line for line in lines if "_hooks_" in line)])

        yield Subject("HostVLAN agent", Place(c.end, make=make), serves, says)


Bed = Callable[[Network, Path], AbstractContextManager[Subject]]
DAEMONS: tuple[Bed, ...] = (vmmnet_hostd, vmmnet_ha, vmmnet_dnsd, vmmnet_cvsw, hostvlan_agent)


@pytest.fixture(scope="module")
def report() -> Report:
    return Report("changes.md")


@pytest.mark.parametrize("bed", DAEMONS)
def test_no_outage_without_a_line(report: Report, bed: Bed, tmp_path: Path) -> None:
    """Whatever changes, it serves on, or serves again and has said what it lacks."""
    with scratch.folder() as name, Network() as network:
        folder = Path(name)
        folder.chmod(0o755)
        with bed(network, folder) as subject:
            outcomes = changes.tried(subject)
        report.add(subject.name, outcomes)
    silent = {name for name, outcome in outcomes.items() if outcome.silent}
    assert silent <= SILENT.get(subject.name, set())
    lost = {name for name, outcome in outcomes.items() if outcome.after is None}
    assert not lost
