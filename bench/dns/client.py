# SPDX-License-Identifier: GPL-2.0-or-later
"""Time until a program has an address, with broken servers.

Each name is one fault (lab.dns.broken): the AAAA question meets the fault, the A
question is answered at once. Time-outs have their defaults. Libraries are those of the peers'
system. Look-ups of c-ares and of glibc wait in parallel, ours run one after the other. A client
without an address at the end of the patience counts with that time.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.base import process, tools
from lab.base.net import Namespace, Network
from lab.dns import client as dns_client

from ..base.loads import Metric
from . import bed

OURS, ARES, GLIBC, UNBOUND = KINDS = ("ours", "c-ares", "glibc", "unbound")
PEERS = (ARES, GLIBC, UNBOUND)
FINE = "fine"
#: The replies for AAAA.
FAULTS = {
    FINE: "normal",
    "drop": "none",
    "wrongid": "a reply with another id",
    "wrongquestion": "a reply to another question",
    "garbage": "no DNS message",
    "refused": "REFUSED",
    "notimp": "NOTIMP",
    "servfail": "SERVFAIL",
    "formerr": "FORMERR",
    "nxdomain": "NXDOMAIN, of a name that has an A",
    "nodata": "no records",
    "short": "a message that is cut off",
    "overlong": "a record longer than the message",
    "loop": "an alias of itself",
    "truncated": "TC, and TCP is closed",
}
METRICS = tuple(
    Metric(name, "ms", False, f"First address; response to AAAA: {what}")
    for name, what in FAULTS.items()
)


@dataclass
class Found:
    """Results, and the patience of a lookup."""

    patience: float
    values: bed.Values = field(default_factory=dict)
    #: Clients without an address, by kind and fault.
    without: set[tuple[str, str]] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)


def name_of(fault: str) -> str:
    """The name to look up."""
    return f"{FINE if fault == FINE else f'{fault}-aaaa'}.example.net."


def read(line: str) -> tuple[float, bool]:
    """Milliseconds, and whether there was an address."""
    words = line.split()
    return float(words[0]), len(words) == 1


@dataclass(frozen=True)
class _Bed:
    space: Namespace
    program: Path
    resolv: Path

    def begin(self, kind: str, fault: str) -> subprocess.Popen[bytes]:
        """Run a lookup with the broken server as the only source of names."""
        script = "".join(
            f"mount --bind {self.resolv.with_name(name)} /etc/{name} && "
            for name in ("resolv.conf", "nsswitch.conf")
        )
        unshared = ["unshare", "--mount", "--propagation=private", "sh", "-c", f'{script}exec "$@"']
        command = tools.in_system(*unshared, "sh", self.program, kind, name_of(fault))
        return process.start(
            command, netns=self.space.netns, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )


def _end(child: subprocess.Popen[bytes], until: float) -> tuple[float, bool] | None:
    """Return its result; None: no result in time."""
    try:
        out, error = child.communicate(timeout=max(0.1, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None
    finally:
        process.stop(child)
    if child.returncode:
        raise RuntimeError(f"status {child.returncode}: {error.decode().strip()}")
    return read(out.decode())


def _lookups(
    bed_: _Bed, found: Found, number: int, kinds: Sequence[str], faults: Sequence[str]
) -> None:
    """Run some faults for some kinds, all at the same time."""
    with contextlib.ExitStack() as stack:
        until = time.monotonic() + found.patience
        children = {(kind, fault): bed_.begin(kind, fault) for kind in kinds for fault in faults}
        for child in children.values():
            stack.callback(process.stop, child)
        for (kind, fault), child in children.items():
            try:
                _take(found, number, kind, fault, _end(child, until))
            except RuntimeError as error:
                found.failures.append(f"round {number + 1}, {kind}, {fault}: {error}")


def _take(
    found: Found, number: int, kind: str, fault: str, told: tuple[float, bool] | None
) -> None:
    spent, some = told or (1000 * found.patience, False)
    if not some:
        found.without.add((kind, fault))
    found.values[kind, fault][number] = spent
    text = f"{spent:.1f} ms{'' if some else ', no address'}"
    print(f"  round {number + 1}, {kind}, {fault}: {text}", flush=True)


def measure(rounds: int, patience: float, folder: Path) -> Found:
    """Run all faults in each round: ours one after the other, then all peers at once."""
    found = Found(patience)
    for kind in KINDS:
        for fault in FAULTS:
            found.values[kind, fault] = [None] * rounds
    (folder / "resolv.conf").write_text(f"nameserver {dns_client.SERVER}\n")
    (folder / "nsswitch.conf").write_text("hosts: dns\nservices: files\n")
    with Network() as network:
        space = network.namespace("dns")
        with dns_client.broken_server(space, folder / "broken.log"):
            bed_ = _Bed(space, bed.build("first", folder), folder / "resolv.conf")
            for number in range(rounds):
                for fault in FAULTS:
                    _lookups(bed_, found, number, (OURS,), (fault,))
                _lookups(bed_, found, number, PEERS, tuple(FAULTS))
    return found
