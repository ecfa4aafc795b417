# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-hostd on hosts of a link: addresses come and go, and nodes of the link hear of it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv6Address
from pathlib import Path

import pytest
from lab.base import scratch, wait
from lab.base.net import Interface, Namespace, Network
from lab.hosts import hostd
from lab.hosts.hostd import Hostd, Stand, has_address, registration

VM = "0a7c1f3e-0000-4000-8000-00000000000a"
OTHER = "0a7c1f3e-0000-4000-8000-00000000000b"
ADDRESS, SECOND = "2001:db8:1::c0de", "2001:db8:1::beef"


@dataclass(frozen=True)
class World:
    """Two hosts with their helpers, and a node of their link."""

    helpers: tuple[Hostd, Hostd]
    interfaces: tuple[Interface, Interface]
    node: Namespace
    node_interface: Interface
    folder: Path

    @contextlib.contextmanager
    def vm(self, host: int = 0, uuid: str = VM, *addresses: str) -> Iterator[Stand]:
        """A registered VM that runs there."""
        pid_file = self.folder / f"{host}-{uuid}.pid"
        pairs = [(address, self.interfaces[host]) for address in addresses or (ADDRESS,)]
        with hostd.stand(self.helpers[host]) as process:
            pid_file.write_text(f"{process.pid}\n")
            lines = registration(uuid, pid_file, *pairs)
            assert self.helpers[host].ask(lines) == "ok\n"
            yield process

    def has(self, address: str = ADDRESS, host: int = 0) -> bool:
        """Whether the host has the address."""
        child = self.helpers[host].child
        assert child is not None
        return has_address(child.pid, address)


@pytest.fixture
def world(network: Network) -> Iterator[World]:
    spaces = [network.namespace(name) for name in ("switch", "a", "b", "node")]
    bridge = spaces[0].bridge()
    ends = [
        network.connect(space, bridge, [f"2001:db8:1::{number}/64"]).a
        for number, space in enumerate(spaces[1:], 1)
    ]
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(scratch.folder()))
        folder.chmod(0o755)
        helpers = []
        for space in spaces[1:3]:
            (folder / space.name).mkdir()
            helpers.append(stack.enter_context(Hostd(space, folder / space.name)))
        yield World((helpers[0], helpers[1]), (ends[0], ends[1]), spaces[3], ends[2], folder)


def _advertisements(world: World) -> socket.socket:
    """Where the node sees IPv6 frames."""
    with world.node.entered():
        seen = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x86DD))
        seen.bind((world.node_interface.name, 0x86DD))
    seen.settimeout(wait.PATIENCE)
    return seen


def _next_na(seen: socket.socket, address: str = ADDRESS) -> bytes:
    """The next neighbour advertisement of the address, with its Ethernet header."""
    while True:
        frame = seen.recv(2048)
        if frame[54] == 136 and frame[62:78] == IPv6Address(address).packed:
            return frame


def _neighbour(world: World) -> str:
    shown = world.node.ip("-6", "neigh", "show", ADDRESS)
    return shown.split(" lladdr ")[1].split()[0] if " lladdr " in shown else ""


def test_comes_and_goes(world: World) -> None:
    """The address is the VM's while it runs, and nothing else of the host changes."""
    name = world.interfaces[0].name
    dad = {f"net.ipv6.conf.{name}.{key}": 1 for key in ("accept_dad", "dad_transmits")}
    world.helpers[0].host.sysctl(dad)
    before = world.helpers[0].host.ip("-6", "-o", "address")
    with world.vm(0, VM, ADDRESS, SECOND) as vm:
        assert not world.has()
        assert vm.ask(f"take {VM}") == "ok"
        shown = world.helpers[0].host.ip("-6", "-o", "address", "show", "to", f"{ADDRESS}/128")
        assert "tentative" not in shown and "deprecated" in shown and f"{ADDRESS}/128" in shown
        assert world.has(SECOND)
        assert vm.ask(f"yield {VM}") == "ok"
        assert world.helpers[0].host.ip("-6", "-o", "address") == before
        assert vm.ask(f"take {VM}") == "ok"
        assert world.helpers[0].ask(f"forget {VM}\n") == "ok\n"
        assert world.helpers[0].host.ip("-6", "-o", "address") == before


def test_one_given_by_hand(world: World) -> None:
    """It is the VM's from then on, whatever its prefix length, and goes with the VM."""
    with world.vm() as vm:
        world.interfaces[0].add_address(f"{ADDRESS}/64")
        assert vm.ask(f"yield {VM}") == "ok"
        assert world.has()
        assert vm.ask(f"take {VM}") == "ok"
        assert vm.ask(f"yield {VM}") == "ok"
        assert not world.has()


def test_link_hears_of_it(world: World) -> None:
    """Three advertisements override what a node knew: it reaches the new host at once."""
    macs = [interface.mac for interface in world.interfaces]
    with world.vm(0) as source, world.vm(1) as target, _advertisements(world) as seen:
        assert source.ask(f"take {VM}") == "ok"
        world.node.run(["ping", "-c1", ADDRESS])
        wait.until(lambda: _neighbour(world) == macs[0], "the first host's MAC address")
        assert source.ask(f"yield {VM}") == "ok"
        assert target.ask(f"take {VM}") == "ok"
        wait.until(lambda: _neighbour(world) == macs[1], "the second host's MAC address")
        world.node.run(["ping", "-c1", ADDRESS])
        mac = bytes.fromhex(macs[1].replace(":", ""))
        frames: list[bytes] = []
        while len(frames) < 3:
            frame = _next_na(seen)
            # Not the answer to the ping's solicitation.
            if frame[6:12] == mac and frame[:6] == bytes.fromhex("333300000001"):
                frames.append(frame)
        for frame in frames:
            assert frame[22:38] == IPv6Address(ADDRESS).packed
            assert frame[38:54] == IPv6Address("ff02::1").packed
            assert frame[21] == 255 and frame[58] == 0x20, "hop limit, Override alone"
            assert frame[78:86] == bytes((2, 1)) + mac


def test_strangers(world: World) -> None:
    """A VM moves its own addresses only, and a user's process none."""
    helper = world.helpers[0]
    with world.vm() as vm, world.vm(0, OTHER, SECOND) as other, hostd.stand(helper) as stranger:
        for process in (other, stranger):
            answer = process.ask(f"take {VM}")
            assert answer.startswith(f"error process {process.pid}, which asks, is not the VM's")
        assert not world.has()
        assert vm.ask(f"take {VM}") == "ok"
        assert other.ask(f"yield {VM}").startswith("error")
        assert vm.ask(f"forget {VM}") == "error forget: only root may do that"
        assert vm.ask("show") == "error show: only root may do that"
        assert world.has()
        assert helper.ask(f"yield {VM}\n") == "ok\n"
        assert not world.has()


def test_pid_file_of_somebody_else(world: World) -> None:
    """A file that the VM's user can write proves nothing."""
    with world.vm() as vm:
        pid_file = world.folder / f"0-{VM}.pid"
        os.chown(pid_file, hostd.NOBODY, hostd.NOBODY)
        assert vm.ask(f"take {VM}") == (
            f"error the pid file {pid_file} is not a file that only root can write"
        )
        pid_file.unlink()
        assert "cannot be opened: No such file" in vm.ask(f"take {VM}")
        assert not world.has()


def test_a_process_that_ends(world: World) -> None:
    """Whose QEMU is killed has no address."""
    with world.vm() as vm:
        assert vm.ask(f"take {VM}") == "ok"
        vm.child.kill()
        wait.until(lambda: not world.has(), "an address that is gone")
        assert f"vm {VM} away" in world.helpers[0].ask("show\n")


def test_restart(world: World) -> None:
    """One that is killed is followed by one that knows all, and finds who has ended."""
    helper = world.helpers[0]
    with world.vm() as vm, world.vm(0, OTHER, SECOND) as other:
        assert vm.ask(f"take {VM}") == "ok"
        assert other.ask(f"take {OTHER}") == "ok"
        shown = helper.ask("show\n")
        helper.kill()
        world.interfaces[0].remove_address(f"{ADDRESS}/128")
        helper.start()
        assert helper.ask("show\n") == shown
        assert world.has() and world.has(SECOND)
        helper.kill()
        other.child.kill()
        other.child.wait()
        helper.start()
        assert world.has() and not world.has(SECOND)
        vm.child.kill()
        wait.until(lambda: not world.has(), "an address that is gone")
        helper.stop()
        helper.state.write_text("nonsense\n")
        with pytest.raises(RuntimeError, match="this is not a state file"):
            helper.start()


def test_half_a_line(world: World) -> None:
    """Who does not go on is hung up on, and holds nobody up."""
    with socket.socket(socket.AF_UNIX) as slow, world.vm() as vm:
        slow.settimeout(wait.PATIENCE)
        slow.connect(str(world.helpers[0].path))
        slow.sendall(f"take {VM}".encode())
        assert vm.ask(f"take {VM}") == "ok"
        assert slow.recv(1) == b""


def _lost(world: World) -> bool:
    """Whether show says that the VM's address is not there."""
    (line,) = (x for x in world.helpers[0].ask("show\n").splitlines() if ADDRESS in x)
    return line.endswith(" lost")


def test_others_remove_it(world: World) -> None:
    """A network manager's flush takes no address of a VM that is here: it returns, announced."""
    helper, interface = world.helpers[0], world.interfaces[0]
    with world.vm(0, VM, ADDRESS, SECOND) as vm, _advertisements(world) as seen:
        assert vm.ask(f"take {VM}") == "ok"
        for _ in range(3):
            _next_na(seen)
        # It ends, and fails, after ten rounds with somebody who puts them back at once.
        for _ in range(3):
            helper.host.ip("-6", "address", "flush", "dev", interface.name)
        _next_na(seen)
        wait.until(lambda: world.has() and world.has(SECOND), "both addresses")
        for address in (ADDRESS, SECOND):
            again = f"{VM}: {address} is on {interface.name} again"
            wait.until(lambda line=again: line in helper.log.read_text(), again)
            left = f"{VM}: {address} has left {interface.name}: not by vmmnet-hostd"
            assert left in helper.log.read_text()
        assert vm.ask(f"yield {VM}") == "ok"
        assert not world.has() and not world.has(SECOND)


def test_fight(world: World) -> None:
    """Another program removes the address as often as it is there: one line, until it stays."""
    helper, interface = world.helpers[0], world.interfaces[0]
    told = f"{VM}: {ADDRESS} has left {interface.name} again, soon after it was put back"

    def removed() -> None:
        wait.until(world.has, "the address")
        interface.remove_address(f"{ADDRESS}/128")

    def fought() -> bool:
        removed()
        return told in helper.log.read_text()

    with world.vm() as vm:
        assert vm.ask(f"take {VM}") == "ok"
        wait.until(fought, told)
        before = helper.log.read_text()
        for _ in range(3):
            removed()
        wait.until(world.has, "the address")
        assert helper.log.read_text() == before
        helper.host.ip("-6", "address", "flush", "dev", interface.name)
        wait.until(lambda: f"{VM}: {ADDRESS} stays on" in helper.log.read_text(), "a line")
        assert world.has()


def test_interface_goes_down(world: World) -> None:
    """The address waits for the interface, and show says so."""
    helper, name = world.helpers[0], world.interfaces[0].name

    def told(state: str) -> None:
        line = f"{name} is {state}, the interface of 1 address(es) of VMs"
        wait.until(lambda: helper.log.read_text().count(line) == 1, line)

    helper.host.sysctl({f"net.ipv6.conf.{name}.keep_addr_on_down": 0})
    with world.vm() as vm:
        assert vm.ask(f"take {VM}") == "ok"
        helper.host.ip("link", "set", name, "down")
        wait.until(lambda: _lost(world), "an address that is lost")
        assert not world.has()
        told("down")
        helper.host.ip("link", "set", name, "up")
        wait.until(world.has, "the address")
        told("up")
        wait.until(lambda: not _lost(world), "what show says")
        # Without a link-local address the kernel does not tell that IPv6 is on.
        helper.host.sysctl({f"net.ipv6.conf.{name}.addr_gen_mode": 1})
        helper.host.sysctl({f"net.ipv6.conf.{name}.disable_ipv6": 1})
        wait.until(lambda: _lost(world), "an address that is lost")
        helper.host.sysctl({f"net.ipv6.conf.{name}.disable_ipv6": 0})
        wait.until(world.has, "the address")


def test_bridge_made_again(world: World) -> None:
    """The address is on the new one, also if vmmnet-hostd starts before it is there."""
    helper = world.helpers[0]

    def make() -> None:
        helper.host.ip("link", "add", "br9", "type", "bridge")
        helper.host.ip("link", "set", "br9", "up")

    make()
    pid_file = world.folder / "bridge.pid"
    with hostd.stand(helper) as vm:
        pid_file.write_text(f"{vm.pid}\n")
        lines = f"register {VM} {pid_file}\naddress6 {ADDRESS} br9\nend\n"
        assert helper.ask(lines) == "ok\n"
        assert vm.ask(f"take {VM}") == "ok"
        helper.host.ip("link", "delete", "br9")
        wait.until(lambda: _lost(world), "an address that is lost")
        make()
        wait.until(world.has, "the address on the new bridge")
        helper.kill()
        helper.host.ip("link", "delete", "br9")
        helper.start()
        assert _lost(world)
        make()
        wait.until(world.has, "the address on the new bridge")
        wait.until(lambda: not _lost(world), "what show says")


def test_interface_renamed(world: World) -> None:
    """No address stays behind under another name; an alternative name is none of its own."""
    helper, interface = world.helpers[0], world.interfaces[0]
    pid_file = world.folder / "renamed.pid"
    helper.host.ip("link", "property", "add", "dev", interface.name, "altname", "house")
    with hostd.stand(helper) as vm:
        pid_file.write_text(f"{vm.pid}\n")
        lines = f"register {VM} {pid_file}\naddress6 {ADDRESS} house\nend\n"
        assert helper.ask(lines) == helper.ask(lines) == "ok\n"
        assert f"address6 {ADDRESS} {interface.name}\n" in helper.ask("show\n")
        assert vm.ask(f"take {VM}") == "ok"
        helper.host.ip("link", "set", interface.name, "down")
        helper.host.ip("link", "set", interface.name, "up")
        wait.until(world.has, "the address")
        helper.host.ip("link", "set", interface.name, "name", "other")
        wait.until(lambda: _lost(world), "an address that is lost")
        helper.host.ip("link", "add", interface.name, "type", "bridge")
        helper.host.ip("link", "set", interface.name, "up")
        wait.until(lambda: not _lost(world), "the address on what has the name")
        assert ADDRESS not in helper.host.ip("-6", "address", "show", "dev", "other")
        helper.host.ip("link", "set", interface.name, "name", "third")
        wait.until(lambda: _lost(world), "an address that is lost")
        assert vm.ask(f"yield {VM}") == "ok"
        assert not world.has()


def test_link_learns_where_it_is(world: World) -> None:
    """Another MAC address, and a bridge's first port after the address, are announced."""
    helper, interface = world.helpers[0], world.interfaces[0]
    with world.vm() as vm, _advertisements(world) as seen:
        assert vm.ask(f"take {VM}") == "ok"
        for _ in range(3):
            _next_na(seen)
        world.node.run(["ping", "-c1", ADDRESS])
        helper.host.ip("link", "set", interface.name, "address", "00:10:18:00:00:01")
        _heard_from(seen, "00:10:18:00:00:01")
        wait.until(lambda: _neighbour(world) == "00:10:18:00:00:01", "the new MAC address")
    helper.host.ip("link", "add", "br9", "type", "bridge")
    helper.host.ip("link", "set", "br9", "address", "00:10:18:00:00:02", "up")
    pid_file = world.folder / "port.pid"
    with hostd.stand(helper) as vm, _advertisements(world) as seen:
        pid_file.write_text(f"{vm.pid}\n")
        assert helper.ask(f"forget {VM}\n") == "ok\n"
        assert helper.ask(f"register {VM} {pid_file}\naddress6 {ADDRESS} br9\nend\n") == "ok\n"
        assert vm.ask(f"take {VM}") == "ok"
        helper.host.ip("link", "set", interface.name, "master", "br9")
        _heard_from(seen, "00:10:18:00:00:02")
        told = f"{VM}: {ADDRESS} is announced on br9: it has a carrier"
        wait.until(lambda: told in helper.log.read_text(), told)


def test_changed_while_it_was_away(world: World) -> None:
    """Nodes learn the MAC address; an address that has gone and an interface down are told."""
    helper, interface = world.helpers[0], world.interfaces[0]
    with world.vm() as vm, _advertisements(world) as seen:
        assert vm.ask(f"take {VM}") == "ok"
        again = f"{ADDRESS} was not on {interface.name}: it is there again"
        for mac, gone in ("00:10:18:00:00:03", False), ("00:10:18:00:00:04", True):
            helper.kill()
            helper.host.ip("link", "set", interface.name, "address", mac)
            if gone:
                interface.remove_address(f"{ADDRESS}/128")
            helper.start()
            _heard_from(seen, mac)
            assert (again in helper.log.read_text()) == gone
        helper.kill()
        interface.down()
        helper.start()
        told = f"{interface.name} is down, the interface of 1 address(es) of VMs"
        assert told in helper.log.read_text()


def _heard_from(seen: socket.socket, mac: str) -> None:
    """Wait for an advertisement from a MAC address."""
    while _next_na(seen)[6:12] != bytes.fromhex(mac.replace(":", "")):
        pass


def test_run_is_emptied(world: World) -> None:
    """Clients find the socket again; the VM stays registered, also over a restart."""
    helper = world.helpers[0]
    with world.vm() as vm:
        assert vm.ask(f"take {VM}") == "ok"
        helper.path.unlink()
        helper.state.unlink()
        wait.until(helper.path.exists, "the socket")
        told = f"{helper.path} was removed: it is there again"
        wait.until(lambda: told in helper.log.read_text(), told)
        wait.until(helper.state.exists, "the state file")
        helper.kill()
        helper.start()
        assert f"vm {VM} here " in helper.ask("show\n")
        assert vm.ask(f"yield {VM}") == "ok"


_MANY = """
import socket, sys
clients = []
for _ in range(64):
    clients.append(socket.socket(socket.AF_UNIX))
    clients[-1].connect(sys.argv[1])
print("many", flush=True)
one = socket.socket(socket.AF_UNIX)
one.connect(sys.argv[1])
print(one.makefile().read(), end="", flush=True)
sys.stdin.read()
"""


def test_many_connections(world: World) -> None:
    """A user has his part of the connections; root is served."""
    command = [*hostd.AS_NOBODY, "/usr/bin/python3", "-c", _MANY, str(world.helpers[0].path)]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with world.helpers[0].host.started(command, **streams) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"many\n"
        assert world.helpers[0].ask("show\n") == "ok\n"
        assert child.stdout.readline() == b"error too many connections\n"


def test_command(world: World) -> None:
    """The command shows what there is, and its errors name what is wrong."""
    helper = world.helpers[0]

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return helper.host.run([hostd.binary(), *words], check=False)

    with world.vm() as vm:
        assert vm.ask(f"take {VM}") == "ok"
        done = run("show", "--socket", helper.path)
        name = world.interfaces[0].name
        pid_file = world.folder / f"0-{VM}.pid"
        assert done.stdout == f"vm {VM} here {pid_file}\naddress6 {ADDRESS} {name}\n"
        (shown,) = json.loads(run("show", "--json", "--socket", helper.path).stdout)["vms"]
        assert (shown["uuid"], shown["state"]) == (VM, "here")
        assert shown["addresses"] == [{"address": ADDRESS, "interface": name, "lost": False}]
        counted = run("show", "--metrics", "--socket", helper.path).stdout
        assert 'vmmnet_hostd_addresses{state="there"} 1\n' in counted
    done = run("show", "--socket", world.folder / "none")
    assert done.returncode == 1 and f"no daemon answers at '{world.folder}/none'" in done.stderr
    done = run("--sockets", "x")
    assert done.returncode == 2 and "--sockets" in done.stderr
    done = run("--socket", world.folder / "none" / "x", "--state", world.folder / "state")
    assert done.returncode == 1
    assert f"cannot listen at '{world.folder}/none/x': No such file" in done.stderr
    done = run("--socket", helper.path, "--state", world.folder / "state")
    assert done.returncode == 1 and "Address already in use" in done.stderr
    file = world.folder / "file"
    file.write_text("not a socket\n")
    done = run("--socket", file, "--state", world.folder / "state")
    assert done.returncode == 1 and f"cannot listen at '{file}': File exists" in done.stderr
    assert file.read_text() == "not a socket\n"
