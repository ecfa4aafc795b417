# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU without a guest, which carries frames from one tap to another.

What a netdev costs alone, without virtual CPUs and devices: a round trip takes a tenth
of a guest's, and varies less.  QEMU's hubs, which usually connect NICs, connect netdevs
here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.base.net import Namespace
from lab.guest import qemu
from vmmnet.qmp import Qmp

from . import measure


@dataclass(frozen=True)
class Pair:
    """Two taps of the host that QEMU connects, with the netdevs between them."""

    first: str
    second: str
    #: -netdev between the taps, without its netdev=; None: no netdev.
    middle: str | None = None


@dataclass(frozen=True)
class Forwarder:
    """A running forwarder."""

    qmp: Qmp
    pid: int


def _netdevs(pair: Pair) -> Iterator[str]:
    for name, tap in (("near", pair.first), ("far", pair.second)):
        yield f"tap,id={name},ifname={tap},script=no,downscript=no,vhost=off"
    top = "near"
    if pair.middle is not None:
        yield f"{pair.middle},netdev=near"
        top = pair.middle.partition("id=")[2].partition(",")[0]
    for side, name in (("a", top), ("b", "far")):
        yield f"hubport,id=hub{side},hubid=0,netdev={name}"


@contextlib.contextmanager
def opened(host: Namespace, folder: Path, pair: Pair) -> Iterator[Forwarder]:
    """Start a forwarder; it has opened the taps when this returns."""
    monitor, log = (folder / f"{pair.first}.{kind}" for kind in ("qmp", "log"))
    command: list[str | Path] = [qemu.binary(), "-machine", "none", "-nodefaults"]
    command += ["-display", "none", "-qmp", f"unix:{monitor},server=on,wait=off"]
    for netdev in _netdevs(pair):
        command += ["-netdev", netdev]
    # The processor of the programs that measure with it.
    with measure.one_processor():
        running = qemu.QemuProcess(command, netns=host.netns, stderr=log)
    try:
        qmp = Qmp(running.connect(monitor))
        try:
            yield Forwarder(qmp, running.pid)
        finally:
            qmp.close()
    finally:
        running.stop()
