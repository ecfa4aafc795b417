# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemons that a host may have, and how each is asked."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from vmmnet import controlsocket
from vmmnet.command.status import Refused
from vmmnet.controlsocket import NotRunning
from vmmnet.cvsw import ask, client
from vmmnet.hostvlan.command.agent import STATUS


class Daemon(ABC):
    """A daemon.  Its functions raise NotRunning, and Unanswered or Refused."""

    def __init__(self, name: str, path: Path, brief: str) -> None:
        self.name = name
        #: Where it is asked by default.
        self.path = path
        self.brief = brief

    @abstractmethod
    def text(self, path: Path) -> str:
        """What it shows, as lines."""

    @abstractmethod
    def value(self, path: Path) -> Any:
        """The same for programs."""

    def metrics(self, _: Path) -> str | None:
        """Its counters in Prometheus' text format; None: it has none here."""
        return None

    def log(self, _: Path, __: str | None) -> str | None:
        """The level of its log, a line, after a change to one; None: it has none here."""
        return None


class _Socket(Daemon):
    """One with a control socket (docs/control.md)."""

    def text(self, path: Path) -> str:
        return controlsocket.ask(path, "show")

    def value(self, path: Path) -> Any:
        return json.loads(controlsocket.ask(path, "show json"))

    def metrics(self, path: Path) -> str | None:
        return controlsocket.ask(path, "metrics")

    def log(self, path: Path, level: str | None) -> str | None:
        return controlsocket.ask(path, "log" if level is None else f"log {level}")


class _Cvsw(Daemon):
    """The controller of CVSW, which is asked over HTTP."""

    def text(self, path: Path) -> str:
        return "\n".join(ask.describe(self.value(path))) + "\n"

    def value(self, path: Path) -> Any:
        if not path.is_socket():
            raise NotRunning(f"{path} does not exist")
        return ask.look(client.Client(path))


class _Hostvlan(Daemon):
    """The agent of HostVLAN, which writes its status into a file."""

    def text(self, path: Path) -> str:
        status = self.value(path)
        lines = [
            f"{status['state']} {status['store']} as of revision {status['revision']}",
            f"table {status['table']}: {status['entries']} MACs of {status['lnids']} LNIDs",
            f"ports {', '.join(status['ports']) or 'none'}",
            *([f"error {status['error']}"] if status["error"] else []),
        ]
        return "".join(f"{line}\n" for line in lines)

    def value(self, path: Path) -> Any:
        try:
            return json.loads(path.read_text())
        except FileNotFoundError:
            raise NotRunning(f"{path} does not exist") from None
        except (OSError, ValueError) as error:
            raise Refused(f"{path}: {error}") from None


DAEMONS: tuple[Daemon, ...] = (
    _Socket("hostd", Path("/run/vmmnet/hostd.sock"), "addresses of VMs"),
    _Socket("ha", Path("/run/vmmnet/ha.sock"), "the home agent of Mobile IPv6"),
    _Socket("dnsd", Path("/run/vmmnet-dns/control.sock"), "the DNS server"),
    _Cvsw("cvsw", client.DEFAULT, "the controller of CVSW"),
    _Hostvlan("hostvlan", STATUS, "the agent of HostVLAN's table"),
)
