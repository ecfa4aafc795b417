# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt check``: a domain of a daemon, or a file, on this host."""

from __future__ import annotations

import argparse
import contextlib
import os
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vmmnet import libvirtd
from vmmnet.command import output
from vmmnet.command.status import Refused, Status

from .. import document, handoff, sharing
from ..expand.qemu import ours
from ..schema import BadElement
from . import core
from .facts import Domain, Finding
from .host import ThisHost


def run(given: argparse.Namespace) -> int:
    """``check DOMAIN|FILE``."""
    uri = given.connect or os.environ.get("LIBVIRT_DEFAULT_URI", "")
    if document.is_file(given.subject):
        domain = _of_file(given.subject, given.connect)
    else:
        with libvirtd.opened(given.connect) as daemon:
            uri = daemon.uri()
            _here(uri)
            domain = _of_daemon(given.subject, daemon)
    host = ThisHost(session=urlsplit(uri).path == "/session")
    return _report(given, domain.name, list(core.findings(domain, host)))


def _here(uri: str) -> None:
    """The host is this one: a daemon of another host is refused."""
    where = urlsplit(uri).hostname
    if where:
        raise Refused(f"{uri} is another host's: run it on {where}, as it looks at that host")


def _of_daemon(name: str, daemon: libvirtd.Daemon) -> Domain:
    defined = document.parse(daemon.defined(name))
    running = document.parse(daemon.running(name)) if daemon.is_running(name) else None
    empty = frozenset[str]() if running is None else _empty(name, running, daemon)
    return Domain(
        defined.findtext("name"),
        defined,
        running,
        version=daemon.version(),
        is_transient=daemon.is_transient(name),
        empty=empty,
        sharing=sharing.of(daemon, defined),
    )


def _empty(name: str, running: Any, daemon: libvirtd.Daemon) -> frozenset[str]:
    """HostVLAN's netdevs without an interface; none if QEMU does not answer."""
    if not any(words.option == "-netdev" for words in ours(running)):
        return frozenset()
    with contextlib.suppress(Refused):
        ports = daemon.monitor(name, "query-hostvlan", {})
        return frozenset(port["id"] for port in ports if "interface" not in port)
    return frozenset()


def _of_file(subject: str, uri: str | None) -> Domain:
    try:
        domain = document.read(Path(subject))
    except OSError as error:
        raise Refused(f"{subject}: {error.strerror}") from None
    except document.BadDocument as error:
        raise Refused(f"{subject}: {error}") from None
    version, others = None, dict[str, bool]()
    if uri is not None:
        with libvirtd.opened(uri) as daemon:
            _here(daemon.uri())
            version, others = daemon.version(), sharing.of(daemon, domain)
    if domain.find("name") is not None and not (domain.findtext("uuid") or "").strip():
        # 'define' adds it.
        document.identify(domain, str(uuid.uuid4()))
    # The core reports the element's error.
    with contextlib.suppress(BadElement):
        handoff.choose(domain, *([uri] if uri else []))
    return Domain(subject, domain, is_file=True, version=version, sharing=others)


def _report(given: argparse.Namespace, name: str, found: list[Finding]) -> int:
    found.sort(key=lambda each: each.severity)
    faults = sum(each.severity == "fault" for each in found)
    if given.json:
        listed = [
            {
                "severity": each.severity,
                "about": each.about,
                "wrong": each.wrong,
                "remedy": each.remedy,
            }
            for each in found
        ]
        output.print_json({"domain": name, "faults": faults, "findings": listed})
    else:
        for each in found:
            print(f"{each.severity}: {each.about}: {each.wrong}\n    {each.remedy}")
        if not faults:
            print(f"{name}: no fault found")
    return Status.FAULTS if faults else Status.DONE
