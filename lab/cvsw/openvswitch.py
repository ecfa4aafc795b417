# SPDX-License-Identifier: GPL-2.0-or-later
"""Open vSwitch with its datapath in user space, which needs no module of the host's kernel.

It receives and sends frames by packet sockets, without virtio-net's header: a checksum that a guest
has left to its NIC is never made, and a segment longer than the MTU is dropped. Frames that a CVSW
has put into a tunnel are complete.
"""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from ..base import scratch, tools, wait
from ..base.net import Namespace

_QUIET = "--verbose=console:err"
_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")


class Switch:
    """An Open vSwitch in a namespace, in the foreground."""

    def __init__(self, space: Namespace, folder: Path) -> None:
        self._space, self._folder = space, folder
        self._database = f"unix:{folder}/db.sock"
        self._daemon: subprocess.Popen[bytes]

    @classmethod
    @contextlib.contextmanager
    def running(cls, space: Namespace, datapath: str = "netdev") -> Iterator[Switch]:
        """Start it with an empty bridge; the datapath ``system`` is the kernel's."""
        tools.require("ovs-vswitchd", "ovs-vsctl", "ovs-ofctl")
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(scratch.folder()))
            switch = cls(space, folder)
            environment = {"OVS_RUNDIR": str(folder), "OVS_LOGDIR": str(folder)}
            space.run(["ovsdb-tool", "create", folder / "conf.db", _SCHEMA])
            remote = f"--remote=punix:{folder}/db.sock"
            database: list[str | Path] = ["ovsdb-server", _QUIET, folder / "conf.db", remote]
            server = stack.enter_context(space.started(database, env=environment))
            wait.accepting(folder / "db.sock", lambda: server.poll() is not None)
            switch.set("--no-wait", "init")
            daemon = ["ovs-vswitchd", _QUIET, switch._database]
            switch._daemon = stack.enter_context(space.started(daemon, env=environment))
            switch.set("add-br", "sw", "--", "set", "bridge", "sw", f"datapath_type={datapath}")
            yield switch

    def set(self, *words: str) -> None:
        """Change its configuration; returns when that is done."""
        self.ask(*words)

    def ask(self, *words: str) -> str:
        """Run ovs-vsctl; return its output."""
        return self._space.run(["ovs-vsctl", f"--db={self._database}", *words]).stdout

    def obey(
        self,
        controller: str,
        number: int | None,
        versions: str = "OpenFlow13",
        *,
        bridge: str = "sw",
    ) -> None:
        """Connect to a controller, such as ``tcp:192.0.2.1:6653``, as the switch of a number.

        Without one, its datapath-id is Open vSwitch's own, which follows the MAC addresses of its
        ports. There can be several controllers, separated by spaces. It retries a missing one
        once a second.
        """
        names = [f"protocols={versions}"]
        names += [] if number is None else [f"other_config:datapath-id={number:016x}"]
        self.set("set", "bridge", bridge, *names)
        words = list[str]()
        for at, target in enumerate(controller.split()):
            words += [f"--id=@c{at}", "create", "controller", f'target="{target}"']
            words += ["max_backoff=1000", "--"]
        named = ",".join(f"@c{at}" for at in range(len(controller.split())))
        self.set(*words, "set", "bridge", bridge, f"controller=[{named}]")

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """It does nothing for the time of a block, as on a host without power."""
        self._daemon.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._daemon.send_signal(signal.SIGCONT)

    def add_bridge(self, name: str) -> None:
        """Add another bridge."""
        self.set("add-br", name, "--", "set", "bridge", name, "datapath_type=netdev")

    def number(self, bridge: str = "sw") -> str:
        """The datapath-id that a bridge has."""
        return str(json.loads(self.ask("get", "bridge", bridge, "datapath_id")))

    def use_tls(self, key: Path, certificate: Path, authority: Path) -> None:
        """Use a certificate for ``ssl:`` controllers, and verify them by an authority."""
        self.set("set-ssl", str(key), str(certificate), str(authority))

    def flows(self, versions: str = "OpenFlow13") -> str:
        """All its flows, as ovs-ofctl prints them."""
        place = f"unix:{self._folder}/sw.mgmt"
        return self._space.run(["ovs-ofctl", "-O", versions, "dump-flows", place]).stdout

    def learned(self) -> str:
        """The MAC addresses that it has seen."""
        return self._ask("fdb/show")

    def groups(self) -> str:
        """The groups that its ports have reported, and the ports with queriers."""
        return self._ask("mdb/show")

    @property
    def openflow(self) -> Path:
        """The socket at which the bridge speaks OpenFlow."""
        return self._folder / "sw.mgmt"

    @property
    def pid(self) -> int:
        """The process id of ovs-vswitchd."""
        return int(self._control.name.split(".")[1])

    @property
    def _control(self) -> Path:
        (path,) = self._folder.glob("ovs-vswitchd.*.ctl")
        return path

    def program(self, flows: str) -> None:
        """Replace the flows by lines of ovs-ofctl."""
        command = ["ovs-ofctl", "replace-flows", f"unix:{self.openflow}", "-"]
        self._space.run(command, input=flows)
        self.forget()

    def know(self, bridge: str, address: str, mac: str) -> None:
        """Tell a tunnel's end, in place of ARP at a bridge."""
        self._tell("tnl/neigh/set", bridge, address, mac)

    def forget(self) -> None:
        """Flush the datapath's cache, so that the next frame of each kind is looked up."""
        self._tell("revalidator/purge")

    def _tell(self, command: str, *words: str) -> None:
        # Starting a program for each call would dominate the time of a case.
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(wait.PATIENCE)
            client.connect(str(self._control))
            call = {"method": command, "params": words, "id": 0}
            client.sendall(json.dumps(call).encode())
            answer = json.loads(client.recv(1 << 16))
        if answer["error"] is not None:
            raise RuntimeError(f"{command}: {answer['error']}")

    def _ask(self, command: str) -> str:
        return self._space.run(["ovs-appctl", "-t", self._control, command, "sw"]).stdout
