# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt rotate``: another file for a running domain's audit log.

The former file keeps its last line, and the next line is the first of the new one: QEMU changes
the file between two lines (chardev-change).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from urllib.parse import urlsplit

from vmmnet import libvirtd
from vmmnet.command import output
from vmmnet.command.status import Refused, Status

from . import document, element, names
from .element import BadElement
from .host import logfile


def run(given: argparse.Namespace) -> int:
    """``rotate DOMAIN``."""
    with libvirtd.opened(given.connect) as daemon:
        if urlsplit(daemon.uri()).hostname:
            raise Refused("the domain's files are another host's: run this there")
        path = _log(daemon, given.domain)
        try:
            rotate(daemon, given.domain, path, given.keep)
        except OSError as error:
            raise Refused(f"{error.filename or path}: {error.strerror or error}") from None
    output.say(f"vmmnet libvirt: {path} is a new file, and the former one is {_older(path, 1)}")
    return Status.DONE


def _log(daemon: libvirtd.Daemon, domain: str) -> Path:
    """The file of the running domain's log."""
    if not daemon.is_running(domain):
        raise Refused(f"{domain} does not run: its log can be moved like any file")
    try:
        net = element.read(document.parse(daemon.running(domain)))
    except BadElement as error:
        raise Refused(f"{domain}: {error}") from None
    if net is None or net.sockets is None or net.sockets.audit is None:
        raise Refused(f"{domain} has no audit log: give <vmmnet:sockets> audit='FILE'")
    return net.sockets.audit


def _older(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def rotate(daemon: libvirtd.Daemon, domain: str, path: Path, keep: int) -> None:
    """Let QEMU write to a new file; ``keep`` former ones stay, as PATH.1, PATH.2 ...

    If QEMU does not take it, the files are as before. Raises OSError and Refused.
    """
    owner = path.lstat().st_uid
    for number in range(keep - 1, 0, -1):
        if _older(path, number).exists():
            _older(path, number).replace(_older(path, number + 1))
    path.rename(_older(path, 1))
    backend = {"type": "file", "data": {"out": str(path), "append": True}}
    try:
        logfile.make(path, owner)
        daemon.monitor(domain, "chardev-change", {"id": names.AUDIT, "backend": backend})
    except BaseException:
        # QEMU goes on to write to the former file, whatever its name is.
        _older(path, 1).replace(path)
        raise
