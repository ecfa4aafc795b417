# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest: stock Debian kernel, our QEMU, commands run through the agent.

    with Guest(netns=host, devices=["virtio-vmrpc-pci,id=vmrpc0"]) as guest:
        assert guest.run("uname -s").stdout == "Linux\\n"

The guest has no NIC unless a device brings one.  Its console log and QEMU's
standard error stay in the folder of the running test below ``build/logs``.
Leaving the context fails when the guest's kernel or QEMU reported a fault.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from vmmnet.qmp import Qmp, QmpError

from ..base import architecture, paths, process, scratch, wait
from ..packages import debian, kernel
from ..packages.kernel import OLDEST
from . import console, image, machine, qemu
from .agent import Channel, CommandError, Job, Result
from .cpio import File
from .qemu import accelerator

__all__ = ["CommandError", "Guest", "GuestConfig", "Job", "Result"]

MODULE_PATH = "/usr/lib/vmmnet/vmrpc.ko"
# A sanitizer may report a fault and let QEMU end normally.
#: Seconds that the guest of a failed test is kept at most.
_KEPT = 86400
_SANITIZER = re.compile(r"ERROR: \w+Sanitizer|runtime error: ")
_serial = itertools.count(1)


class HasNetns(Protocol):
    """Anything that stands for a network namespace, as net.Namespace does."""

    @property
    def netns(self) -> str:
        """The name that ``ip netns`` knows."""


@dataclass(frozen=True)
class GuestConfig:
    """Everything that distinguishes one guest from another.

    ``module``: True builds vmrpc.ko from the tree and loads it; a path loads
    that file.  ``arguments`` go to QEMU as they are, ``devices`` each after a
    ``-device``.  ``files`` are put into the guest before its first process.
    ``packages`` are in its system beyond those that every guest has; all are of ``release``.
    ``disks``, images that are only read, follow the guest's own: /dev/vdc, ...
    QEMU inherits ``pass_fds``, such as an open macvtap, under the same numbers.
    ``shell`` adds a console for people, /dev/hvc0, at ``Guest.shell_path``.

    On a ``machine`` without PCI, devices for PCI become those for virtio-mmio.

    ``$VMMNET_KEEP`` keeps the guest of a test that fails, and ``$VMMNET_QEMU_ARGS`` has more
    options of QEMU, such as ``-trace virtio_vmrpc_*``: CONTRIBUTING.md.
    """

    name: str = "guest"
    qemu: Path | None = None
    netns: str | None = None
    kernel: str = OLDEST
    devices: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    module: bool | Path = False
    module_arguments: str = ""
    append: str = ""
    ipv6: bool = True
    memory: str = "512M"
    smp: int = 2
    cpu: str = "max"
    machine: str = field(default_factory=machine.chosen)
    accel: str = field(default_factory=accelerator)
    shell: bool = field(default_factory=lambda: "VMMNET_KEEP" in os.environ)
    resolver: str = "192.0.0.1"
    files: Mapping[str, bytes | Path] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    release: str = debian.SUITE
    disks: tuple[Path, ...] = ()
    pass_fds: tuple[int, ...] = ()
    boot_timeout: float = wait.PATIENCE


def log_folder(test: str | None = None) -> Path:
    """Where logs of a test go; by default of the one that pytest is running."""
    if test is None:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", test.rpartition("/")[2]).strip("-")
    return paths.LOGS / (name or f"process-{os.getpid()}")


def _module_file(config: GuestConfig) -> Path | None:
    if config.module is True:
        return kernel.build_module(config.kernel)
    return config.module or None


def _boot_files(config: GuestConfig) -> dict[str, File]:
    """Return the files that this boot adds to the image."""
    files = {
        "/etc/resolv.conf": File(f"nameserver {config.resolver}\n".encode()),
        "/etc/hostname": File(f"{config.name}\n".encode()),
    }
    module = _module_file(config)
    if module is not None:
        files[MODULE_PATH] = File(module.read_bytes())
    for name, source in config.files.items():
        if isinstance(source, Path):
            files[name] = File(source.read_bytes(), source.stat().st_mode & 0o777)
        else:
            files[name] = File(source)
    return files


class Guest:
    """One virtual machine.  A context manager; see the module's example."""

    def __init__(
        self,
        *,
        netns: str | HasNetns | None = None,
        devices: Sequence[str] = (),
        arguments: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        """Describe a guest; the settings are the fields of GuestConfig."""
        self.config = GuestConfig(
            netns=netns if isinstance(netns, str) or netns is None else netns.netns,
            devices=tuple(devices),
            arguments=tuple(arguments),
            **settings,
        )
        self._serial = next(_serial)
        folder = log_folder()
        folder.mkdir(parents=True, exist_ok=True)
        prefix = folder / f"{self.config.name}-{self._serial}"
        self.console_path = Path(f"{prefix}-console.log")
        self.stderr_path = Path(f"{prefix}-qemu.log")
        self._scratch = scratch.folder()
        self.folder = Path(self._scratch.name)
        self._qemu: qemu.QemuProcess | None = None
        self._channel: Channel | None = None
        self._arrival: socket.socket | None = None
        self._qmp: Qmp | None = None
        self._expected_status = 0

    # Life.

    def __enter__(self) -> Guest:
        process.unwind_on_signals()
        try:
            self.launch()
            self.boot()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is not None and "VMMNET_KEEP" in os.environ:
                self._keep(error)
            status = self._quit()
        finally:
            self.close()
        # A fault must not hide the failure that the test already found.
        if error is None:
            console.check(self.console_path)
            text = self.stderr_path.read_text(errors="replace")
            if status != self._expected_status or _SANITIZER.search(text):
                raise qemu.QemuFailed(f"QEMU ended with {status}:\n{text[-4000:]}")

    def _keep(self, error: BaseException) -> None:
        """Say how to look at the guest of a failed test, and wait for its end, or for Ctrl-C."""
        if self._qemu is None or self._qemu.status is not None or self._channel is None:
            return
        with contextlib.suppress(KeyboardInterrupt, OSError, CommandError):
            shell = self.start_shell(80, 25)
            print(
                f"\n{self.config.name} is kept after {type(error).__name__}: {error}",
                f"  a shell     python3 -m lab.terminal {self.shell_path}",
                f"  gdb         gdb -p {self._qemu.pid}",
                f"  its console {self.console_path}",
                f"  QEMU's log  {self.stderr_path}",
                "  'exit' in the shell, or Ctrl-C here, ends it",
                sep="\n",
                flush=True,
            )
            wait.until(lambda: not shell.running, "an end of the shell", _KEPT)

    def launch(self, incoming: bool = False) -> None:
        """Start QEMU: from the kernel, or waiting for a migration."""
        self._qemu = qemu.QemuProcess(
            self._command(incoming),
            netns=self.config.netns,
            stderr=self.stderr_path,
            pass_fds=self.config.pass_fds,
        )
        connection = self._qemu.connect(self.folder / "qmp")
        try:
            # A destination of post-copy may wait for memory.
            self._qmp = Qmp(connection, oob=incoming)
        except (OSError, QmpError) as error:
            status = self._qemu.wait(wait.PATIENCE)
            raise qemu.QemuFailed(f"QEMU ended with {status}:\n{self._qemu.errors()}") from error

    def boot(self) -> None:
        """Wait for the agent, then load the module if there is one."""
        assert self._qemu is not None
        self._channel = Channel(self._qemu.connect(self.folder / "agent"))
        try:
            self._channel.hello(self.config.boot_timeout)
        except (OSError, RuntimeError) as error:
            log = self.console_path
            tail = log.read_text(errors="replace")[-3000:] if log.exists() else ""
            raise qemu.QemuFailed(
                f"the guest did not boot: {error}\n"
                f"console, {log}:\n{tail}\nQEMU:\n{self._qemu.errors()}\n{self._state()}"
            ) from error
        if self.config.module:
            self.run(f"insmod {MODULE_PATH} {self.config.module_arguments}")

    def _state(self) -> str:
        """Where a guest that says nothing stands: its vCPUs, timers, and virtio queues."""
        lines = []
        with contextlib.suppress(OSError, QmpError):
            for command in ("info registers -a", "info lapic", "info chardev"):
                text = self.qmp("human-monitor-command", command_line=command)
                lines += re.findall(r"^(?:CPU|[ER]IP|ICR|ISR|IRR|Timer|agent:).*", text, re.M)
            for device in self.qmp("x-query-virtio"):
                lines += self._queues(device["path"], device["name"])
        return "\n".join(lines)

    def _queues(self, path: str, name: str) -> Iterator[str]:
        """The indices of each queue that has been used."""
        with contextlib.suppress(QmpError):
            for number in itertools.count():
                queue = self.qmp("x-query-virtio-queue-status", path=path, queue=number)
                keys = ("last-avail-idx", "used-idx", "signalled-used")
                if queue[keys[0]]:
                    yield f"{name}, queue {number}: {[queue[key] for key in keys]}"

    def reboot(self) -> None:
        """Reset the machine and wait for the agent again; what ran in the guest is lost."""
        self.agent.close()
        self._channel = None
        self.qmp("set-action", reboot="reset")
        self.qmp("system_reset")
        self.boot()

    @contextlib.contextmanager
    def arriving(self) -> Iterator[Guest]:
        """Be the destination of a migration, instead of booting."""
        try:
            self.launch(incoming=True)
            self._connect_early()
        except BaseException:
            self.close()
            raise
        with contextlib.ExitStack() as stack:
            stack.push(self)
            yield self

    def _connect_early(self) -> None:
        """Connect to the agent's port before the guest is here.

        While a port is not connected, QEMU discards what the guest writes to it: the guest would
        go on in the middle of a frame, and the rest of the frame would be lost.
        """
        assert self._qemu is not None
        self._arrival = self._qemu.connect(self.folder / "agent")

        def is_connected() -> bool:
            (name,) = (
                each["filename"] for each in self.qmp("query-chardev") if each["label"] == "agent"
            )
            return not str(name).startswith("disconnected:")

        wait.until(is_connected, "the agent's port")

    def adopt(self, source: Guest, switch: Callable[[socket.socket], None]) -> None:
        """Take over the agent's channel of the guest that came here."""
        assert self._arrival is not None
        switch(self._arrival)
        self._arrival = None
        self._channel, source._channel = source._channel, None

    def _command(self, incoming: bool) -> list[str | Path]:
        config = self.config
        kind = machine.of(config.machine, config.accel)
        guest_kernel = kernel.get(config.kernel)
        initrd = self.folder / "initrd"
        image.boot_archive(guest_kernel, _boot_files(config), initrd)
        append = [
            f"console={architecture.guests().console}",
            "loglevel=5",
            "panic=-1",
            # Under TCG on a busy machine the timer seems broken, and code that waits for a vCPU
            # seems stalled.
            "no_timer_check",
            "rcupdate.rcu_cpu_stall_timeout=180",
            "watchdog_thresh=60",
            "net.ifnames=0",
            *image.QUICK_BOOT,
            *kind.append,
            "" if config.ipv6 else "ipv6.disable=1",
            config.append,
        ]
        command: list[str | Path] = [
            config.qemu or qemu.binary(),
            *qemu.firmware_options(),
            *("-name", config.name),
            *("-machine", config.machine, "-accel", config.accel, "-cpu", config.cpu),
            *kind.arguments,
            *("-smp", str(config.smp), "-m", config.memory),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-kernel", kernel.plain_image(guest_kernel), "-initrd", initrd),
            *("-append", " ".join(filter(None, append))),
            *("-chardev", f"file,id=console,path={self.console_path}"),
            *("-serial", "chardev:console"),
            *("-qmp", f"unix:{self.folder / 'qmp'},server=on,wait=off"),
            *("-chardev", f"socket,id=agent,path={self.folder / 'agent'},server=on,wait=off"),
            *("-device", "virtio-serial-pci,id=agentbus"),
            *("-device", "virtserialport,bus=agentbus.0,chardev=agent,name=vmmnet.agent"),
            *("-device", "virtio-rng-pci"),
        ]
        disks = (
            image.root(config.packages, config.release),
            image.modules(guest_kernel),
            *config.disks,
        )
        for number, disk in enumerate(disks):
            drive = f"if=none,id=disk{number},format=raw,readonly=on,file={disk}"
            device = f"virtio-blk-pci,drive=disk{number},serial=disk{number}"
            command += ["-drive", drive, "-device", device]
        if config.shell:
            socket_options = f"path={self.shell_path},server=on,wait=off"
            command += ["-chardev", f"socket,id=shell,{socket_options}"]
            command += ["-device", "virtconsole,bus=agentbus.0,chardev=shell"]
        for device in config.devices:
            command += ["-device", device]
        command += config.arguments
        command += shlex.split(os.environ.get("VMMNET_QEMU_ARGS", ""))
        command += ["-incoming", "defer"] if incoming else []
        return kind.adapt(command)

    def _quit(self) -> int:
        """Ask QEMU to end; return its exit status."""
        if self._qemu is None:
            return 0
        if self._qemu.status is None and self._qmp is not None:
            with contextlib.suppress(OSError, QmpError):
                self._qmp.command("quit")
        return self._qemu.wait(wait.PATIENCE)

    def kill(self) -> None:
        """Kill QEMU and wait for its end, which does not count as a fault of the guest."""
        assert self._qemu is not None
        self._expected_status = -signal.SIGKILL
        os.kill(self._qemu.pid, signal.SIGKILL)
        self._qemu.wait(wait.PATIENCE)

    def close(self) -> None:
        """Remove everything the guest occupies on the host, except its logs."""
        if self._channel is not None:
            self._channel.close()
        if self._arrival is not None:
            self._arrival.close()
        if self._qmp is not None:
            self._qmp.close()
        if self._qemu is not None:
            self._qemu.stop()
        self._scratch.cleanup()

    # Work.

    @property
    def pid(self) -> int:
        """The process id of the guest's QEMU."""
        assert self._qemu is not None
        return self._qemu.pid

    @property
    def process(self) -> qemu.QemuProcess:
        """The process of its QEMU."""
        assert self._qemu is not None
        return self._qemu

    @property
    def shell_path(self) -> Path:
        """The UNIX socket of the guest's /dev/hvc0, when it has one."""
        return self.folder / "shell"

    @property
    def agent(self) -> Channel:
        """The channel to the guest's agent."""
        if self._channel is None:
            raise RuntimeError("the guest is not running")
        return self._channel

    def start_shell(self, columns: int, lines: int) -> Job:
        """Start a shell at the console ``shell_path``; it ends when the user types exit."""
        return self.spawn(
            f"stty -F /dev/hvc0 sane cols {columns} rows {lines};"
            "export TERM=linux HOME=/root PS1='guest# ';"
            "exec bash --norc -i </dev/hvc0 >/dev/hvc0 2>&1"
        )

    def spawn(self, command: str | Sequence[str]) -> Job:
        """Start a command, a shell line or a list of words, and go on."""
        words = ["sh", "-c", command] if isinstance(command, str) else list(command)
        return self.agent.start(words)

    def run(
        self,
        command: str | Sequence[str],
        timeout: float = wait.PATIENCE,
        input: bytes | str | None = None,
        check: bool = True,
    ) -> Result:
        """Run a command to its end; with ``check`` an error status raises."""
        job = self.spawn(command)
        if input:
            job.write(input.encode() if isinstance(input, str) else input)
        job.close_input()
        try:
            return job.wait(timeout, check=check)
        except TimeoutError:
            job.kill(9)
            raise

    def put(self, source: Path | bytes, path: str, mode: int = 0o644) -> None:
        """Write a file in the guest."""
        data = source.read_bytes() if isinstance(source, Path) else source
        script = 'mkdir -p "$(dirname "$1")" && cat > "$1" && chmod "$2" "$1"'
        self.run(["sh", "-c", script, "put", path, f"{mode:o}"], input=data)

    def get(self, path: str) -> bytes:
        """Read a file of the guest."""
        return self.run(["cat", path]).stdout_bytes

    def wait_for(self, command: str, timeout: float = wait.PATIENCE) -> Result:
        """Run a command again and again until it succeeds."""

        def succeeded() -> Result | None:
            result = self.run(command, check=False, timeout=timeout)
            return None if result.rc else result

        found = wait.until(succeeded, f"guest: {command}", timeout)
        assert found is not None
        return found

    def qmp(self, command: str, timeout: float = wait.PATIENCE, **arguments: object) -> Any:
        """Execute a QMP command; underscores in argument names mean dashes."""
        return self.monitor.command(command, timeout, **arguments)

    def vmrpc_counters(self) -> dict[str, int]:
        """Counters of the device vmrpc0, by their names in the source."""
        (device,) = self.qmp("query-vmrpc", id="vmrpc0", sockets_limit=0)
        return {name.replace("-", "_"): value for name, value in device["counters"].items()}

    @property
    def monitor(self) -> Qmp:
        """The QMP connection, for events and for names with underscores."""
        if self._qmp is None:
            raise RuntimeError("the guest is not running")
        return self._qmp

    def check_kernel(self) -> None:
        """Fail now when the guest's kernel has complained so far."""
        console.check(self.console_path)
