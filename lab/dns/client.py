# SPDX-License-Identifier: GPL-2.0-or-later
"""libvmmnet-dns on hosts of a test network."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ..base import paths, wait
from ..base.net import Namespace
from . import room as dns_room

#: Address of a test's servers, in a namespace of their own.
SERVER = "127.0.0.1"

_HEAD = re.compile(
    r"[0-9.]+ ms: (?P<name>\S+): (?P<error>[^,]+), (?P<security>\w+), ttl (?P<ttl>\d+)"
    r"(?P<stale>, stale)?(?P<more>, more)?"
)
_REASON = re.compile(r"  because: (?P<reason>.*) \((?P<ede>-?\d+)\)")


@dataclass
class Told:
    """One callback, as the example program prints it."""

    name: str
    error: str
    security: str
    ttl: int
    stale: bool
    more: bool
    reason: str = ""
    ede: int = -1
    data: list[str] = field(default_factory=list)


def parse(lines: Sequence[str]) -> list[Told]:
    """Return the callbacks of the example program, in order."""
    told: list[Told] = []
    for line in lines:
        if head := _HEAD.fullmatch(line):
            told.append(
                Told(
                    *(head["name"], head["error"], head["security"], int(head["ttl"])),
                    stale=bool(head["stale"]),
                    more=bool(head["more"]),
                )
            )
        elif reason := _REASON.fullmatch(line):
            told[-1].reason, told[-1].ede = reason["reason"], int(reason["ede"])
        else:
            told[-1].data.append(line.strip())
    return told


def lookup_command(*words: str | Path) -> list[str | Path]:
    """Return the command of the example program, which asks SERVER."""
    return [dns_room.library() / "dns-lookup", "-s", SERVER, *words]


def lookup(host: Namespace, *words: str | Path, own: bool = False) -> list[Told]:
    """Run the example program to its end; with ``own`` the words name the servers."""
    command = lookup_command(*words)
    if own:
        command = [command[0], *words]
    done = host.run(command, check=False)
    if done.stderr:
        raise RuntimeError(done.stderr)
    return parse(done.stdout.splitlines())


def run_unmodified(
    host: Namespace,
    etc: Path,
    command: Sequence[str | Path],
    nsswitch: str = "hosts: vmmnet",
    settings: str = "",
    resolver: str = "",
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program with the NSS module, and files of its own above those in ``/etc``.

    ``settings`` is the text of dns.conf, ``resolver`` a line for resolv.conf, and ``etc`` a folder
    for the files.
    """
    (etc / "vmmnet").mkdir(parents=True, exist_ok=True)
    (etc / "vmmnet/dns.conf").write_text(settings)
    (etc / "nsswitch.conf").write_text(f"{nsswitch}\nservices: files\n")
    (etc / "resolv.conf").write_text(f"nameserver {SERVER}\nsearch example.net\n{resolver}\n")
    script = f'mount -t overlay overlay -o lowerdir={etc}:/etc /etc && exec "$@"'
    words = ["unshare", "--mount", "--propagation=private", "sh", "-c", script, "sh", "env"]
    variables = {"LD_LIBRARY_PATH": str(dns_room.library()), **(env or {})}
    words += [f"{name}={value}" for name, value in variables.items()]
    return host.run([*words, *command], check=False)


@contextmanager
def broken_server(host: Namespace, log: Path) -> Iterator[None]:
    """Run ``broken_dns`` on a host, at SERVER."""
    command = [sys.executable, "-m", "lab.dns.broken"]
    command += ["--address", SERVER, "--port", "53"]
    env = {"PYTHONPATH": paths.PYTHONPATH}
    with (
        log.open("ab") as out,
        host.started(command, stdout=out, stderr=subprocess.STDOUT, env=env) as child,
    ):
        wait.listening(child.pid, 53)
        yield
