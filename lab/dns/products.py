# SPDX-License-Identifier: GPL-2.0-or-later
"""Authoritative servers, ours and others, with configurations for equal replies.

No limits of rates, minimal responses, replies over UDP up to 4096 octets.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..base import tools
from . import bind
from . import room as dns_room

ADDRESS = "127.0.0.1"
OURS, BIND, NSD, KNOT = NAMES = ("vmmnet-dnsd", "BIND", "NSD", "Knot")
#: A resolver, which serves a zone as it came (auth-zone).
UNBOUND = "unbound"

_OURS = """\
server:
  listen: ["{address}@{port}"]
  threads: {threads}
  user: nobody
  udp-size: 4096
  control: {folder}/ours/control.sock
zones:
{zones}"""
_BIND = """\
options {{
    directory "{folder}"; pid-file "bind.pid"; session-keyfile "session.key"; {lock}
    listen-on port {port} {{ {address}; }}; listen-on-v6 {{ none; }};
    recursion no; dnssec-validation no; notify no; minimal-responses yes; minimal-any no;
    max-udp-size 4096; edns-udp-size 4096; check-names primary ignore; check-integrity no;
    check-wildcard no; rrset-order {{ order none; }}; tcp-clients 1000; tcp-idle-timeout 1200;
}};
controls {{ }};
{zones}"""
_NSD = """\
server:
    ip-address: {address}@{port}
    server-count: {threads}
    reuseport: yes
    database: ""
    username: ""
    zonesdir: "{folder}"
    zonelistfile: "{folder}/nsd.list"
    xfrdfile: "{folder}/nsd.xfr"
    xfrdir: "{folder}"
    pidfile: "{folder}/nsd.pid"
    rrl-ratelimit: 0
    rrl-whitelist-ratelimit: 0
    ipv4-edns-size: 4096
    minimal-responses: yes
    tcp-timeout: 1200
remote-control:
    control-enable: no
{zones}"""
_KNOT = """\
server:
    listen: {address}@{port}
    rundir: {folder}
    udp-workers: {threads}
    tcp-workers: {threads}
    udp-max-payload: 4096
    tcp-idle-timeout: 1200
database:
    storage: {folder}/knot
template:
  - id: default
    storage: {folder}
    zonefile-load: whole
    journal-content: none
    semantic-checks: off
zone:
{zones}"""
_UNBOUND = """\
server:
    interface: {address}@{port}
    access-control: 127.0.0.0/8 allow
    num-threads: {threads}
    so-reuseport: yes
    chroot: ""
    username: ""
    directory: "{folder}"
    pidfile: "{folder}/unbound.pid"
    use-syslog: no
    minimal-responses: yes
    edns-buffer-size: 4096
    max-udp-size: 4096
    incoming-num-tcp: 100
    tcp-idle-timeout: 120000
    module-config: "iterator"
remote-control:
    control-enable: no
{zones}"""
#: Each server's configuration of a zone.
_ZONES = {
    OURS: """\
  - name: {origin}
    image: {image}
""",
    BIND: """\
zone "{origin}" {{ type primary; file "{zone}"; masterfile-format {form}; }};
""",
    NSD: """\
zone:
    name: "{origin}"
    zonefile: "{zone}"
""",
    KNOT: """\
  - domain: {origin}
    file: {zone}
""",
    UNBOUND: """\
auth-zone:
    name: "{origin}"
    zonefile: "{zone}"
    for-downstream: yes
    for-upstream: no
    fallback-enabled: no
""",
}


@dataclass(frozen=True)
class Setup:
    """The zones of a server, and a folder of its own for writing."""

    folder: Path
    origin: str
    #: A master file; for BIND, one in its raw format if ``raw`` is set.
    zone: Path
    port: int
    threads: int = 1
    raw: bool = False
    #: Image of the zone, for our server; None: compile it.
    image: Path | None = None
    #: Master files of more zones, by origin.
    more: Mapping[str, Path] = field(default_factory=dict)


def _zones(setup: Setup, name: str) -> str:
    """Return the part of a configuration with the zones."""
    form = "raw" if setup.raw else "text"
    files = [(setup.origin, setup.zone, setup.image, form)]
    files += [(each, file, _image(setup, each), "text") for each, file in setup.more.items()]
    return "".join(
        _ZONES[name].format(origin=origin, zone=zone, image=image, form=form)
        for origin, zone, image, form in files
    )


def _image(setup: Setup, origin: str) -> Path:
    return setup.folder / f"{origin}image"


def _write(setup: Setup, name: str, text: str) -> Path:
    config = setup.folder / f"{name.lower()}.conf"
    filled = text.format(
        folder=setup.folder,
        port=setup.port,
        address=ADDRESS,
        threads=setup.threads,
        lock=bind.lock() if name == BIND else "",
        zones=_zones(setup, name),
    )
    config.write_text(filled)
    return config


def _bind(setup: Setup) -> Sequence[str | Path]:
    return ["named", "-g", "-n", str(setup.threads), "-c", _write(setup, BIND, _BIND)]


def _nsd(setup: Setup) -> Sequence[str | Path]:
    return ["nsd", "-d", "-c", _write(setup, NSD, _NSD)]


def _knot(setup: Setup) -> Sequence[str | Path]:
    (setup.folder / "knot").mkdir(exist_ok=True)
    return ["knotd", "-c", _write(setup, KNOT, _KNOT)]


def _unbound(setup: Setup) -> Sequence[str | Path]:
    return ["unbound", "-d", "-d", "-c", _write(setup, UNBOUND, _UNBOUND)]


def _compile(origin: str, source: Path, image: Path) -> Path:
    program = dns_room.program("vmmnet-zone")
    tools.run([program, "compile", origin, source, "-o", image])
    return image


def _ours(setup: Setup) -> Sequence[str | Path]:
    if setup.image is None:
        image = _compile(setup.origin, setup.zone, setup.folder / "ours.image")
        setup = dataclasses.replace(setup, image=image)
    for origin, source in setup.more.items():
        _compile(origin, source, _image(setup, origin))
    # The server runs as user nobody when it makes its control socket.
    run = setup.folder / "ours"
    run.mkdir(exist_ok=True)
    run.chmod(0o777)
    return [dns_room.program("vmmnet-dnsd"), _write(setup, OURS, _OURS)]


_COMMANDS: dict[str, Callable[[Setup], Sequence[str | Path]]] = {
    OURS: _ours,
    BIND: _bind,
    NSD: _nsd,
    KNOT: _knot,
    UNBOUND: _unbound,
}


def command(name: str, setup: Setup) -> Sequence[str | Path]:
    """Write the configuration of a server; return the command that runs it in the foreground."""
    return _COMMANDS[name](setup)
