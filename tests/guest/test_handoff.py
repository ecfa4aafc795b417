# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM's address goes with it: two hosts, a QEMU without privileges on each, live migrations.

No guest runs; the firmware looks for a disk.  libvirt's part is played: it starts QEMU
stopped, writes the pid file, registers the VM on both hosts, and lets it run.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from lab.base import scratch, wait
from lab.base.net import Interface, Network
from lab.guest import qemu
from lab.hosts import hostd
from lab.hosts.hostd import Hostd, has_address, registration
from vmmnet.qmp import Qmp

VM = "0a7c1f3e-0000-4000-8000-00000000000a"
ADDRESS = "2001:db8:1::c0de"
_LATE = "no answer of vmmnet-hostd within 200 ms"


@dataclass
class Host:
    """A host with its helper."""

    helper: Hostd
    interface: Interface
    folder: Path

    @property
    def has(self) -> bool:
        """Whether it has the VM's address."""
        assert self.helper.child is not None
        return has_address(self.helper.child.pid, ADDRESS)


@dataclass
class Vm:
    """A QEMU of user nobody's."""

    host: Host
    process: qemu.QemuProcess
    qmp: Qmp

    def status(self) -> str:
        """How far its migration is."""
        status: str = self.qmp.command("query-migrate").get("status", "none")
        return status

    def enable(self, *capabilities: str) -> None:
        """Give its migration some capabilities."""
        wanted = [{"capability": name, "state": True} for name in capabilities]
        self.qmp.command("migrate-set-capabilities", capabilities=wanted)

    def await_status(self, *wanted: str) -> None:
        """Wait for one of these."""
        ended = ("completed", "failed", "cancelled")

        def there() -> bool:
            status = self.status()
            assert status in wanted or status not in ended, self.process.errors()
            return status in wanted

        wait.until(there, f"migration: {wanted}")

    def handoff(self, name: str = "state") -> str:
        """A property of the object."""
        value: str = self.qmp.command("qom-get", path="/objects/handoff0", property=name)
        return value

    def await_handoff(self, state: str) -> None:
        """Wait for a state of the object."""
        wait.until(lambda: self.handoff() == state, f"an address that is {state}")

    def trace(self) -> list[tuple[float, str]]:
        """What the object did, and when."""
        pattern = r"^\d+@(\d+\.\d+):vmmnet_handoff_(?:state handoff0: (\w+)|(late))"
        found = re.findall(pattern, self.process.stderr_path.read_text(), re.MULTILINE)
        return [(float(when), state or late) for when, state, late in found]


@dataclass
class World:
    """The two hosts."""

    hosts: tuple[Host, Host]
    _logs: list[Path] = field(default_factory=list)

    @contextlib.contextmanager
    def vm(
        self, host: Host, *more: str, run: bool = True, user: Sequence[str] = hostd.AS_NOBODY
    ) -> Iterator[Vm]:
        """A QEMU on a host; the VM is registered there."""
        folder = host.folder / str(len(self._logs))
        folder.mkdir()
        os.chown(folder, hostd.NOBODY, hostd.NOBODY)
        image = os.open(qemu.binary(), os.O_PATH)
        handoff = f"vmmnet-handoff,id=handoff0,vm={VM.upper()},path={host.helper.path}"
        command = [
            *(*user, f"/proc/self/fd/{image}", *qemu.firmware_options()),
            *("-machine", "q35,accel=tcg", "-m", "32", "-nodefaults", "-display", "none"),
            *("-qmp", f"unix:{folder}/qmp,server=on,wait=off", "-S", "-object", handoff),
            *("-msg", "timestamp=on", "-trace", "vmmnet_handoff_*", *more),
        ]
        netns = host.interface.namespace.netns
        self._logs.append(folder.with_suffix(".log"))
        try:
            process = qemu.QemuProcess(
                command, netns=netns, stderr=self._logs[-1], pass_fds=[image]
            )
        finally:
            os.close(image)
        try:
            qmp = Qmp(process.connect(folder / "qmp"))
            pid_file = host.folder / "vm.pid"
            pid_file.write_text(f"{process.pid}\n")
            lines = registration(VM, pid_file, (ADDRESS, host.interface))
            assert host.helper.ask(lines) == "ok\n"
            vm = Vm(host, process, qmp)
            if run:
                qmp.command("cont")
            yield vm
            qmp.close()
        finally:
            process.stop()

    @contextlib.contextmanager
    def source(self, user: Sequence[str] = hostd.AS_NOBODY) -> Iterator[Vm]:
        """A VM that runs on the first host and has its address."""
        with self.vm(self.hosts[0], user=user) as vm:
            vm.await_handoff("held")
            assert self.owners() == [self.hosts[0]]
            yield vm

    @contextlib.contextmanager
    def target(
        self,
        host: Host,
        *capabilities: str,
        run: bool = True,
        user: Sequence[str] = hostd.AS_NOBODY,
    ) -> Iterator[tuple[Vm, str]]:
        """A QEMU that waits for the VM, and where."""
        with self.vm(host, "-incoming", "defer", run=run, user=user) as vm:
            vm.enable(*capabilities)
            uri = f"unix:{self._logs[-1].with_suffix('')}/stream"
            vm.qmp.command("migrate-incoming", uri=uri)
            yield vm, uri

    def late(self) -> bool:
        """Whether a helper had no time for 200 ms, on a machine that is busy."""
        return any(_LATE in log.read_text() for log in self._logs)

    def owners(self) -> list[Host]:
        """Who has the address: one at most, unless a helper was late."""
        owners = [host for host in self.hosts if host.has]
        assert len(owners) < 2 or self.late()
        return owners

    def await_owners(self, *hosts: Host) -> None:
        """Wait until it is these hosts'."""
        wait.until(lambda: self.owners() == list(hosts), "the right owner of the address")

    @contextlib.contextmanager
    def looked_at(self) -> Iterator[None]:
        """Look again and again whether both have it: one before and after the other has."""
        done = threading.Event()
        doubled = []

        def look() -> None:
            a, b = self.hosts
            while not done.is_set():
                if a.has and b.has and a.has:
                    doubled.append("at once")

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
        assert not doubled or self.late()


@pytest.fixture
def world(network: Network) -> Iterator[World]:
    spaces = [network.namespace(name) for name in ("switch", "a", "b")]
    bridge = spaces[0].bridge()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(scratch.folder()))
        folder.chmod(0o755)
        hosts = []
        for number, space in enumerate(spaces[1:], 1):
            (folder / space.name).mkdir()
            end = network.connect(space, bridge, [f"2001:db8:1::{number}/64"]).a
            helper = stack.enter_context(Hostd(space, folder / space.name))
            hosts.append(Host(helper, end, folder / space.name))
        yield World((hosts[0], hosts[1]))


def test_has_it_before_its_devices(world: World) -> None:
    """A VM that starts can have a device that refuses to be without the address."""
    host = world.hosts[0]
    pid_file = host.folder / "vm.pid"
    assert host.helper.ask(registration(VM, pid_file, (ADDRESS, host.interface))) == "ok\n"
    written = ("sh", "-c", 'echo $$ >"$0" && exec "$@"', str(pid_file), *hostd.AS_NOBODY)
    device = f"virtio-vmrpc-pci,address6={ADDRESS}"
    with world.vm(host, "-device", device, run=False, user=written) as vm:
        assert world.owners() == [host]
        assert vm.handoff() == "held"


def _stand_still(vm: Vm, uri: str) -> None:
    """Begin to migrate, and stop where all but the state of devices has gone."""
    vm.enable("pause-before-switchover")
    vm.qmp.command("migrate", uri=uri)
    vm.await_status("pre-switchover")


def _when(vm: Vm, state: str) -> float:
    """The last time of a state."""
    return [when for when, what in vm.trace() if what == state][-1]


def test_there_and_back(world: World) -> None:
    """It is nowhere twice; the destination asks when the source has its answer."""
    with contextlib.ExitStack() as stack:
        vm = stack.enter_context(world.source())
        stack.enter_context(world.looked_at())
        for number in range(1, 5):
            host = world.hosts[number % 2]
            target, uri = stack.enter_context(world.target(host))
            vm.qmp.command("migrate", uri=uri)
            vm.await_status("completed")
            target.await_handoff("held")
            vm.await_handoff("yielded")
            assert world.owners() == [host]
            assert world.late() or _when(vm, "yielded") < _when(target, "taking")
            vm.process.stop()
            vm = target
    world.await_owners()  # QEMU has ended


def test_cancelled(world: World) -> None:
    """The source takes it back; the destination has never had it."""
    with world.source() as vm, world.target(world.hosts[1]) as (target, uri):
        _stand_still(vm, uri)
        world.await_owners()
        vm.qmp.command("migrate_cancel")
        vm.await_status("cancelled")
        world.await_owners(world.hosts[0])
        assert [state for _, state in target.trace()] == []
        vm.await_handoff("held")


def test_target_dies(world: World) -> None:
    """The same; and if it dies when the VM is there, the address is nobody's."""
    with world.source() as vm:
        with world.target(world.hosts[1]) as (target, uri):
            _stand_still(vm, uri)
            world.await_owners()
            os.kill(target.process.pid, signal.SIGKILL)
            target.process.wait(wait.PATIENCE)
            vm.qmp.command("migrate-continue", state="pre-switchover")
            vm.await_status("failed")
            world.await_owners(world.hosts[0])
        with world.target(world.hosts[1]) as (target, uri):
            _stand_still(vm, uri)
            vm.qmp.command("migrate-continue", state="pre-switchover")
            vm.await_status("completed")
            world.await_owners(world.hosts[1])
            os.kill(target.process.pid, signal.SIGKILL)
            world.await_owners()


def test_paused(world: World) -> None:
    """A VM that migrates while it is paused is on the other host when it goes on there."""
    with world.source() as vm, world.target(world.hosts[1], run=False) as (target, uri):
        vm.qmp.command("stop")
        assert world.owners() == [world.hosts[0]]
        _stand_still(vm, uri)
        assert world.owners() == [world.hosts[0]]
        vm.qmp.command("migrate-continue", state="pre-switchover")
        vm.await_status("completed")
        target.await_status("completed")
        world.await_owners()
        target.qmp.command("cont")
        world.await_owners(world.hosts[1])


def test_paused_and_failed(world: World) -> None:
    """If that fails at its very end, the source has the address again, and stays paused."""
    with world.source() as vm, world.target(world.hosts[1], run=False) as (target, uri):
        vm.qmp.command("stop")
        _stand_still(vm, uri)
        os.kill(target.process.pid, signal.SIGKILL)
        target.process.wait(wait.PATIENCE)
        vm.qmp.command("migrate-continue", state="pre-switchover")
        vm.await_status("failed")
        world.await_owners(world.hosts[0])
        assert vm.qmp.command("query-status")["status"] == "paused"


def test_post_copy(world: World) -> None:
    """The VM goes on at the destination before its memory is there, with the address.

    QEMU is root's, as page faults are not everybody's to handle.
    """
    name, host = "postcopy-ram", world.hosts[1]
    with world.source(user=()) as vm, world.target(host, name, user=()) as (target, uri):
        vm.enable(name)
        slow = {"max_bandwidth": 1 << 16, "max_postcopy_bandwidth": 1 << 16}
        vm.qmp.command("migrate-set-parameters", **slow)
        vm.qmp.command("migrate", uri=uri)
        vm.await_status("active")
        vm.qmp.command("migrate-start-postcopy")
        world.await_owners(host)
        assert vm.status() == "postcopy-active"
        vm.qmp.command("migrate-set-parameters", max_postcopy_bandwidth=0)
        assert world.late() or _when(vm, "yielded") < _when(target, "taking")
        vm.await_status("completed")


def test_helper_that_does_not_answer(world: World) -> None:
    """The VM is not held up for long; and the helper does what it was asked to, at last."""
    with world.source() as vm, world.target(world.hosts[1]) as (target, uri):
        child = world.hosts[0].helper.child
        assert child is not None
        child.send_signal(signal.SIGSTOP)
        try:
            vm.qmp.command("migrate", uri=uri)
            vm.await_status("completed")
            assert _LATE in vm.process.errors()
            assert vm.handoff() == "error" and "may stay on this host" in vm.handoff("error")
            target.await_handoff("held")
            assert _when(target, "taking") - _when(vm, "late") > 1.9, "they did not wait"
        finally:
            child.send_signal(signal.SIGCONT)
        world.hosts[0].helper.ask("show\n")
        vm.await_handoff("yielded")
        assert world.owners() == [world.hosts[1]]


def test_helper_that_is_killed(world: World) -> None:
    """While nobody can be asked the VM runs, and asks again; one that comes back knows it."""
    host = world.hosts[0]
    with world.vm(host, run=False) as vm:
        host.helper.kill()
        vm.qmp.command("cont")
        assert vm.handoff() == "error" and str(host.helper.path) in vm.handoff("error")
        host.helper.start()
        vm.await_handoff("held")
        assert not vm.handoff("error")
        host.helper.kill()
        host.helper.start()
        assert world.owners() == [host]
        vm.qmp.command("quit")
        world.await_owners()


def test_stays(world: World) -> None:
    """A VM that is paused, or plugs the object in while it runs, has its address."""
    host = world.hosts[0]
    with world.source() as vm:
        vm.qmp.command("stop")
        assert world.owners() == [host]
        vm.qmp.command("cont")
        vm.qmp.command("object-del", id="handoff0")
        world.await_owners()
        words: dict[str, Any] = {"qom_type": "vmmnet-handoff", "id": "handoff0", "vm": VM}
        vm.qmp.command("object-add", **words, path=str(host.helper.path))
        world.await_owners(host)
        os.kill(vm.process.pid, signal.SIGTERM)
        world.await_owners()


def test_refused(world: World) -> None:
    """What the helper says is told, and the VM runs."""
    with world.vm(world.hosts[0], run=False) as vm:
        assert world.hosts[0].helper.ask(f"forget {VM}\n") == "ok\n"
        vm.qmp.command("cont")
        vm.await_handoff("error")
        assert f"VM {VM} is not registered on this host" in vm.handoff("error")
        assert "is not registered on this host" in vm.process.errors()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            f"vm={VM},path=/nonexistent/sock",
            "path=/nonexistent/sock: cannot connect to vmmnet-hostd",
        ),
        ("vm=web", "vm=web is not the UUID of a VM"),
        ("path=/run/x", "Parameter 'vm' is missing"),
    ],
)
def test_options(tmp_path: Path, words: str, message: str) -> None:
    """What is wrong with an option is told with its name."""
    command: list[str | Path] = [
        qemu.binary(),
        *qemu.firmware_options(),
        "-machine",
        "q35,accel=tcg",
        "-S",
    ]
    command += ["-nodefaults", "-display", "none", "-object", f"vmmnet-handoff,id=h,{words}"]
    process = qemu.QemuProcess(command, netns=None, stderr=tmp_path / "log")
    assert process.wait(wait.PATIENCE) == 1
    assert message in process.errors()
