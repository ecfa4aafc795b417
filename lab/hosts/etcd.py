# SPDX-License-Identifier: GPL-2.0-or-later
"""A real etcd, and agents of hosts that derive their HostVLAN tables from it."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmmnet import controlsocket
from vmmnet.hostvlan.table.table import Table, TableDamaged
from vmmnet.values import mac as macs

from ..base import paths, process, tools, wait
from ..base.net import Namespace

PORT, PEERS = 2379, 2380
#: The command, and the environment that it needs to run from the sources.
VMMNET = (sys.executable, "-m", "vmmnet", "hostvlan")
ENVIRONMENT = {"PYTHONPATH": paths.PYTHONPATH}

_metrics = itertools.count(9108)


def programs(version: str) -> Path:
    """The folder with ``etcd`` and ``etcdutl`` of a version, built by Go where they are missing.

    They are Go modules, which a Go proxy serves; their checksums are those of Go's database.
    """
    folder = paths.BUILD / "etcd" / version
    if (folder / "bin").exists():
        return folder / "bin"
    tools.require("go")
    folder.mkdir(parents=True, exist_ok=True)
    # A module that needs others ignores what they replace: go install takes no such module.
    (folder / "go.mod").write_text("module vmmnet/etcd\n")
    parts = {name: f"go.etcd.io/etcd/{part}/v3" for name, part in _PARTS.items()}
    env = {**os.environ, "GOFLAGS": "-modcacherw", "GOMODCACHE": str(paths.BUILD / "etcd/modules")}
    words = [["go", "get", *(f"{each}@{version}" for each in parts.values())]]
    words += [["go", "build", "-o", f"new/{name}", each] for name, each in parts.items()]
    for each in words:
        tools.run(each, cwd=folder, env=env)
    (folder / "new").rename(folder / "bin")
    return folder / "bin"


# Program -> etcd's module.
_PARTS = {"etcd": "server", "etcdutl": "etcdutl"}


class Etcd:
    """One member, in a namespace of its own; with ``version``, not that of the system."""

    def __init__(
        self,
        space: Namespace,
        folder: Path,
        *options: str,
        tls: bool = False,
        version: str | None = None,
    ) -> None:
        self.space, self.folder, self.options = space, folder, options
        self.programs = programs(version) if version is not None else None
        self.scheme = "https" if tls else "http"
        self.log = folder / "etcd.log"
        self.running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; a restart keeps its data."""
        client = f"{self.scheme}://127.0.0.1:{PORT}"
        program = self.programs / "etcd" if self.programs else "etcd"
        words = [program, "--name", "one", "--data-dir", self.folder / "data"]
        words += ["--listen-client-urls", client, "--advertise-client-urls", client]
        words += ["--listen-peer-urls", f"http://127.0.0.1:{PEERS}", "--logger", "zap"]
        with self.log.open("ab") as log:
            words += ["--heartbeat-interval", "20", "--election-timeout", "200"]
            self.running = self.space.popen([*words, *self.options], stdout=log, stderr=log)
        wait.listening(self.running.pid, PORT)

    def kill(self) -> None:
        """End it as a power failure does."""
        assert self.running is not None
        self.running.kill()
        self.running.wait()

    def restore(self, snapshot: Path) -> None:
        """Start it from a snapshot, with its earlier identity."""
        self.kill()
        shutil.rmtree(self.folder / "data")
        peers = f"http://localhost:{PEERS}"
        words = ["snapshot", "restore", str(snapshot), "--data-dir", str(self.folder / "data")]
        words += ["--name", "one", "--initial-cluster", f"one={peers}"]
        # From 3.6 on, etcdctl restores nothing.
        program = self.programs / "etcdutl" if self.programs else "etcdctl"
        self.space.run([program, *words, "--initial-advertise-peer-urls", peers])
        self.start()

    def ctl(self, *words: str) -> str:
        """Run etcdctl."""
        endpoint = f"--endpoints={self.scheme}://127.0.0.1:{PORT}"
        patience = f"{wait.PATIENCE:.0f}s"
        limits = [f"--dial-timeout={patience}", f"--command-timeout={patience}"]
        return self.space.run(["etcdctl", endpoint, *limits, *words]).stdout


@dataclass
class Agent:
    """The agent of a host, its table and its folder of ports."""

    space: Namespace
    folder: Path
    store: Sequence[str]
    name: str = "h1"
    ports: Path = field(init=False)
    table: Path = field(init=False)
    metrics_port: int = field(default_factory=lambda: next(_metrics))
    running: subprocess.Popen[bytes] | None = None
    notify: Path | None = None

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self.ports = self.folder / "ports"
        self.table = self.folder / "lnid.table"
        self.ports.mkdir()

    def start(self) -> None:
        """Start it."""
        words: list[str | Path] = [*VMMNET, "agent", *self.store, "--host", self.name]
        words += ["--table", self.table]
        words += ["--ports", self.ports, "--control", self.folder / "control"]
        words += ["--metrics", f"127.0.0.1:{self.metrics_port}"]
        env = ENVIRONMENT | ({"NOTIFY_SOCKET": str(self.notify)} if self.notify else {})
        with (self.folder / "log").open("ab") as log:
            self.running = self.space.popen_with_sys(words, env=env, stdout=log, stderr=log)

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self.running is not None
        self.running.send_signal(number)

    def kill(self) -> None:
        """End it as a power failure does."""
        assert self.running is not None
        self.running.kill()
        self.running.wait()

    def stop(self) -> int:
        """End it; returns its exit status."""
        assert self.running is not None
        return process.stop(self.running)

    @property
    def log(self) -> str:
        """Its whole log."""
        return (self.folder / "log").read_text()

    def port(self, name: str, *addresses: str) -> None:
        """Write a VM's file of ports."""
        new = self.ports / f".{name}"
        new.write_text("".join(f"{each}\n" for each in addresses))
        new.rename(self.ports / name)

    def entries(self) -> dict[str, tuple[int, ...]] | None:
        """The contents of the table; None: it is damaged."""
        if not self.table.exists():
            return {}
        try:
            with Table.open(self.table) as table:
                return {macs.text(entry.mac): entry.lnids for entry in table}
        except TableDamaged:
            return None

    def status(self) -> dict[str, Any]:
        """What it shows of itself; nothing while it does not run."""
        try:
            found: dict[str, Any] = json.loads(
                controlsocket.ask(self.folder / "control", "show json")
            )
        except controlsocket.Unanswered:
            return {}
        return found
