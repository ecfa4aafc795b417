# SPDX-License-Identifier: GPL-2.0-or-later
"""A policy learned from what a job did: apt, pip and git, against mirrors of the bed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab.base import paths, tools
from lab.peers.lab import PEER_ADDRESS

from . import places as at
from .sources import MODULE, PACKAGE
from .wire import witness
from .world import Attacker, Confined, network

#: What the guest has beyond other guests.
PACKAGES = ("apt", "git", "python3-pip")
WATCH = "default watch\n"
_CA = "/etc/confine-ca.pem"
JOB = (
    "apt-get -q update",
    f"apt-get -qy install {PACKAGE}",
    f"pip install -q --cert {_CA} --index-url https://{at.PYTHON_NAME}/simple"
    f" --target /tmp/python {PACKAGE}",
    f"git -c http.sslCAInfo={_CA} clone -q https://{at.GIT_NAME}/greeting.git /tmp/greeting",
)
_CAME = f"cat /usr/share/{PACKAGE}/text /tmp/greeting/text /tmp/python/{MODULE}.py"
_UNDONE = (
    f"dpkg --purge {PACKAGE} && apt-get clean"
    " && rm -rf /tmp/greeting /tmp/python /var/lib/apt/lists/*"
)


class Job:
    """A guest that does something useful, and what its log says of that."""

    def __init__(self, there: Confined) -> None:
        self.there = there
        source = f"deb [trusted=yes] http://{at.MIRROR_NAME}/debian ./\n"
        there.guest.put(source.encode(), "/etc/apt/sources.list")

    def run(self) -> Iterator[tuple[str, str]]:
        """Do it; yields each command and its output."""
        for command in JOB:
            yield command, self.there.guest.run(f"{command} 2>&1").stdout
        assert self.there.guest.run(_CAME).stdout.count("it came") == 3

    def undo(self) -> None:
        """Have it to do again."""
        self.there.guest.run(_UNDONE)

    def refused(self, since: int) -> list[dict[str, Any]]:
        """Lines of refusals, after a number of lines.

        Without those of glibc's getaddrinfo(): it asks by connect() of UDP which of its own
        addresses would be used, to the port of TCP, and sends nothing.
        """
        lines = self.there.lines()[since:]
        used = {_place(line) for line in lines if line["event"] == "open"}
        return [
            line
            for line in lines
            if line.get("verdict") == "deny"
            and not (line.get("proto") == "udp" and _place(line) in used)
        ]


def _place(line: dict[str, Any]) -> tuple[object, object]:
    return line.get("address"), line.get("port")


def vmmnet(*words: str | Path) -> str:
    """The output of the command ``vmmnet``; 'policy diff' ends with 3 if verdicts differ."""
    done = subprocess.run(
        [sys.executable, "-m", "vmmnet", *words],
        env={**os.environ, "PYTHONPATH": paths.PYTHONPATH},
        capture_output=True,
        text=True,
    )
    if done.returncode not in (0, 3):
        raise tools.CommandFailed(done.stderr)
    return done.stdout


@contextlib.contextmanager
def job(folder: Path) -> Iterator[Job]:
    """A guest with the job, whose policy lets all pass that is not refused without a rule."""
    policy, log = folder / "job.policy", folder / "job.jsonl"
    policy.write_text(WATCH)
    with network(folder) as (built, _), witness(built.host, built.peer, PEER_ADDRESS) as seen:
        device = built.device(policy=policy, audit="audit", audit_full="wait")
        chardev = ["-chardev", f"file,id=audit,path={log},append=on"]
        with built.guest(device=device, arguments=chardev, packages=PACKAGES, memory="1G") as guest:
            attacker = Attacker(guest, folder / "ca.pem")
            yield Job(Confined(built, guest, seen, attacker, policy, log))
            attacker.end()
