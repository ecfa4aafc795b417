# SPDX-License-Identifier: GPL-2.0-or-later
"""Open vSwitch with its datapath in user space, which needs no module of the host's kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from . import scratch, tools, wait
from .net import Namespace

_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")


class Switch:
    """An Open vSwitch in a namespace, in the foreground."""

    def __init__(self, space: Namespace, folder: Path) -> None:
        self._space, self._folder = space, folder
        self._database = f"unix:{folder}/db.sock"

    @classmethod
    @contextlib.contextmanager
    def running(cls, space: Namespace) -> Iterator[Switch]:
        """Start it with an empty bridge."""
        tools.require("ovs-vswitchd", "ovs-vsctl")
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(scratch.folder()))
            switch = cls(space, folder)
            environment = {"OVS_RUNDIR": str(folder), "OVS_LOGDIR": str(folder)}
            space.run(["ovsdb-tool", "create", folder / "conf.db", _SCHEMA])
            remote = f"--remote=punix:{folder}/db.sock"
            database = ["ovsdb-server", folder / "conf.db", remote]
            server = stack.enter_context(space.started(database, env=environment))
            wait.accepting(folder / "db.sock", lambda: server.poll() is not None)
            switch.set("--no-wait", "init")
            daemon = ["ovs-vswitchd", switch._database]
            stack.enter_context(space.started(daemon, env=environment))
            switch.set("add-br", "sw", "--", "set", "bridge", "sw", "datapath_type=netdev")
            yield switch

    def set(self, *words: str) -> None:
        """Change its configuration; returns when that is done."""
        self._space.run(["ovs-vsctl", f"--db={self._database}", *words])

    def learned(self) -> str:
        """The MAC addresses that it has seen."""
        return self._ask("fdb/show")

    def groups(self) -> str:
        """The groups that its ports have reported, and the ports with queriers."""
        return self._ask("mdb/show")

    def _ask(self, command: str) -> str:
        socket = next(self._folder.glob("ovs-vswitchd.*.ctl"))
        return self._space.run(["ovs-appctl", "-t", socket, command, "sw"]).stdout
