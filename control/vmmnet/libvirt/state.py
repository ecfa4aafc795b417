# SPDX-License-Identifier: GPL-2.0-or-later
"""The state of a domain: its element, this host's claims, its QEMU's answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vmmnet import controlsocket, libvirtd
from vmmnet.command.status import Refused

from . import devices, document, element, validation
from .element import BadElement, Net
from .expand import changes, drift, made
from .host import history, hostd, validator
from .host.claims import RUN, Claims, Note
from .host.history import Event
from .host.hostd import Registration


@dataclass(frozen=True)
class Validator:
    """Who validates names for a running VM."""

    #: What QEMU connects to.
    socket: Path
    #: None: it is no unit of the hook's.
    unit: str | None
    #: What it says of itself; None: nothing.
    told: Mapping[str, Any] | None
    #: Why it does not answer; empty: it does.
    silent: str = ""


@dataclass(frozen=True)
class Here:
    """This host's claims for a VM."""

    #: The hook's note; None: no claims.
    note: Note | None
    #: The MAC addresses of its ports file.
    macs: tuple[str, ...]
    #: Its registration at vmmnet-hostd; None: none.
    registration: Registration | None
    #: Error of vmmnet-hostd; empty: none, or it was not asked.
    silent: str
    events: list[Event]
    #: None: names are not validated, or the VM does not run.
    validator: Validator | None


@dataclass(frozen=True)
class State:
    """The whole state of a domain."""

    name: str
    uuid: str
    net: Net | None
    #: Differences from the element's expansion.
    drift: list[str]
    is_running: bool
    #: Whether it runs as defined; None: it does not run.
    runs_as_defined: bool | None
    #: How the running domain differs from its definition, in sentences.
    changes: list[str]
    #: The running domain's digest; None: it does not run, or has none.
    running_digest: str | None
    #: None: the daemon is on another host.
    here: Here | None
    #: Answers by QMP, by kind of device.
    devices: Mapping[str, Any] = field(default_factory=dict)
    #: Errors, by kind of device.
    mute: Mapping[str, str] = field(default_factory=dict)


def of(daemon: libvirtd.Daemon, domain: str, run: Path = RUN) -> State:
    """The state of a daemon's domain; ``run`` is vmmnet's folder. Raises Refused."""
    defined = document.parse(daemon.defined(domain))
    running = document.parse(daemon.running(domain)) if daemon.is_running(domain) else None
    name, uuid = str(defined.findtext("name")), str(defined.findtext("uuid"))
    try:
        net, found = element.read(defined), drift(defined)
        now = None if running is None else element.read(running)
    except BadElement as error:
        raise Refused(f"{name}: {error}") from None
    answers, mute = _ask(daemon, name, now)
    return State(
        name,
        uuid,
        net,
        found,
        running is not None,
        None if running is None else made(running) == made(defined),
        [] if running is None else changes(running, defined),
        None if now is None else now.digest,
        None if urlsplit(daemon.uri()).hostname else _here(uuid, name, run, now),
        answers,
        mute,
    )


def _here(uuid: str, name: str, run: Path, now: Net | None) -> Here:
    claims = Claims(uuid.lower(), name, run)
    try:
        note = claims.read()
    except OSError as error:
        raise Refused(f"{claims.note}: {error.strerror}: run this as root") from None
    registration, silent = None, ""
    if note is not None and note.handed:
        try:
            registration = hostd.registered(claims.uuid, claims.socket)
        except hostd.HostdError as error:
            silent = str(error)
    events = history.read(run, claims.uuid)
    return Here(note, _macs(note), registration, silent, events, _validator(claims.uuid, now))


def _validator(uuid: str, now: Net | None) -> Validator | None:
    sockets = now.sockets if now is not None else None
    socket = validation.socket(sockets, uuid) if sockets is not None else None
    if sockets is None or socket is None or not validation.is_wanted(sockets):
        return None
    unit = validator.unit(uuid) if validation.is_by_unit(sockets) else None
    try:
        return Validator(socket, unit, validator.behind(socket))
    except (controlsocket.Unanswered, controlsocket.Refused) as error:
        return Validator(socket, unit, None, str(error))


def _macs(note: Note | None) -> tuple[str, ...]:
    """The MAC addresses of the ports file, which may have vanished meanwhile."""
    if note is None or note.ports is None:
        return ()
    try:
        return tuple(Path(note.ports).read_text().split())
    except (OSError, ValueError):
        return ()


def _ask(
    daemon: libvirtd.Daemon, name: str, net: Net | None
) -> tuple[dict[str, Any], dict[str, str]]:
    answers: dict[str, Any] = {}
    mute: dict[str, str] = {}
    for kind, (command, arguments) in devices.asked(net).items() if net is not None else ():
        try:
            answers[kind] = daemon.monitor(name, command, arguments)
        except Refused as error:
            mute[kind] = str(error)
    return answers, mute
