# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts with a libvirt of the system, several on one machine.

    with Network() as net, Host(net.namespace("one"), 1) as one, ...:
        one.virsh("define", file)
        with two.way() as way:
            one.virsh("migrate", "--live", *way, "guest", two.uri())

Each is an Island with a libvirtd (qemu:///system), or a virtqemud, that has a UUID of its
own, and with vmmnet's hook.  QEMU runs as root or, as on Debian, as the user GUESTS; without
a security module, and without cgroups, which are this machine's.  What was built is seen at
BUILD as well, which every user can read, wherever the tree is.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from ..base import paths, tools, wait
from ..base.net import Namespace
from ..hosts import booted, hostd
from ..hosts.island import Island

#: QEMU's user on Debian, and its number.
GUESTS, GUESTS_ID = "libvirt-qemu", 64055
#: The path of paths.BUILD on hosts.
BUILD = booted.BUILD
#: A folder in which QEMU's user may make files.
GUESTS_FOLDER = Path("/run/guests")

# nice executes vmmnet-hostd, but Island.service names the file by the command.
_NICE = "nice"
HELPER_PID_FILE = f"/run/{_NICE}.service"

#: The same as from Debian's package libvirt-daemon-system.
USERS = {
    "/etc/passwd": f"{GUESTS}:x:{GUESTS_ID}:{GUESTS_ID}::/var/lib/libvirt:/usr/sbin/nologin\n",
    "/etc/group": f"{GUESTS}:x:{GUESTS_ID}:\n",
}
#: qemu.conf, of a {user}.
QEMU = """\
user = "{user}"
group = "{user}"
dynamic_ownership = 0
remember_owner = 0
security_driver = "none"
cgroup_controllers = []
namespaces = []
stdio_handler = "file"
seccomp_sandbox = 0
"""
#: The daemon's settings, of a {number}.
DAEMON = """\
host_uuid = "00000000-0000-4000-8000-{number:012}"
auth_unix_rw = "none"
log_level = 3
"""
# Daemons that serve qemu:///system, and their sockets below /run/libvirt.
_SOCKETS = {"libvirtd": "libvirt-sock", "virtqemud": "virtqemud-sock"}


def built(file: Path) -> str:
    """The name of a file below paths.BUILD, as hosts see it."""
    return str(BUILD / file.resolve().relative_to(paths.BUILD.resolve()))


class Daemon:
    """What is asked of libvirt's daemon, on whichever kind of test host it runs."""

    #: Its socket, on the host.
    socket: str

    def run(self, *command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a program on the host to its end."""
        raise NotImplementedError

    def path(self, inside: str | Path) -> Path:
        """The outer path of a file on the host."""
        raise NotImplementedError

    def virsh(self, *words: str | Path) -> str:
        """Run virsh; return its output."""
        uri = f"qemu+unix:///system?socket={self.socket}"
        return self.run("virsh", "-q", "-c", uri, *words).stdout

    def monitor(self, domain: str, command: str, **arguments: object) -> Any:
        """Ask a domain's QEMU by QMP."""
        request = json.dumps({"execute": command, "arguments": arguments})
        return json.loads(self.virsh("qemu-monitor-command", domain, request))["return"]

    def uri(self) -> str:
        """The URI of this libvirt for virsh elsewhere."""
        return f"qemu+unix:///system?socket={self.path(self.socket)}"


class Host(Island, Daemon):
    """A machine with libvirt's running daemon.  A context manager."""

    def __init__(
        self, space: Namespace, number: int, *, daemon: str = "libvirtd", user: str = "root"
    ) -> None:
        super().__init__(space)
        self._number = number
        self._name = daemon
        self.socket = f"/run/libvirt/{_SOCKETS[daemon]}"
        self._user = user
        self._daemon = contextlib.ExitStack()
        #: The daemon's log; of the last host of this name.
        self.daemon_log = paths.LOGS / f"{daemon}-{space.name}.log"
        self.helper_log = paths.LOGS / f"hostd-{space.name}.log"

    def __enter__(self) -> Self:
        tools.require(self._name, "virsh")
        super().__enter__()
        try:
            self.daemon_log.unlink(missing_ok=True)
            self.helper_log.unlink(missing_ok=True)
            settings = self.path("/etc/libvirt")
            settings.mkdir(exist_ok=True)
            # Do not copy settings and hooks of this machine.
            for folder in (self.path("/etc/vmmnet"), settings / "hooks"):
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
            for file, line in USERS.items():
                with self.path(file).open("a") as out:
                    out.write(line)
            (settings / "qemu.conf").write_text(QEMU.format(user=self._user))
            (settings / f"{self._name}.conf").write_text(DAEMON.format(number=self._number))
            hook = self.path("/etc/libvirt/hooks/qemu.d/vmmnet")
            hook.parent.mkdir()
            installed = (paths.ROOT / "control/libvirt/vmmnet").read_text()
            hook.write_text(installed.replace("/usr/share/vmmnet", str(paths.ROOT / "control")))
            hook.chmod(0o755)
            self._make_folders()
            self._stack.callback(self.stop)
            self.start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def _make_folders(self) -> None:
        """Make the folders that QEMU's user must access."""
        self.folder.chmod(0o755)
        self.path(BUILD).mkdir()
        self.run("mount", "--bind", paths.BUILD, BUILD)
        self.path(GUESTS_FOLDER).mkdir()
        self.run("chown", f"{self._user}:", GUESTS_FOLDER)

    def start(self) -> None:
        """Start the daemon, and wait until it serves."""
        log = self.daemon_log
        with contextlib.ExitStack() as stack:
            out = stack.enter_context(log.open("ab"))
            child = stack.enter_context(self.service([f"/usr/sbin/{self._name}"], out))
            wait.accepting(self.path(self.socket), lambda: child.poll() is not None)
            try:
                self.virsh("list")
            except tools.CommandFailed as error:
                raise RuntimeError(f"{self._name} does not serve:\n{log.read_text()}") from error
            self._daemon = stack.pop_all()

    def stop(self) -> None:
        """End the daemon; its guests run on."""
        self._daemon.close()

    @contextlib.contextmanager
    def run_hostd(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run vmmnet-hostd inside at its default socket, for the time of a block.

        HELPER_PID_FILE has its process id inside.
        """
        log = self.helper_log
        # As in its systemd unit.
        command = [_NICE, "-n", "-20", built(hostd.binary())]
        with log.open("ab") as out, self.service(command, out) as child:
            wait.accepting(self.path(hostd.SOCKET), lambda: child.poll() is not None)
            if child.poll() is not None:
                raise RuntimeError(f"vmmnet-hostd does not serve:\n{log.read_text()}")
            yield child

    @contextlib.contextmanager
    def way(self) -> Iterator[list[str]]:
        """Options of 'virsh migrate' that use a socket visible on both hosts."""
        stream = self.path(GUESTS_FOLDER / "moving")
        try:
            yield ["--migrateuri", f"unix://{stream}"]
        finally:
            stream.unlink(missing_ok=True)
