# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-dnsd as a secondary and as a primary of PowerDNS, whose package comes with other peers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lab.base import tools, wait
from lab.base.net import Network
from lab.dns import dnsd
from lab.dns.dnsd import PORT
from lab.dns.dnsd_world import CLIENT, SERVER, ZONE, World, made, query

_SETTINGS = f"""\
launch=bind
bind-config={{folder}}/named.conf
bind-check-interval=1
local-address={CLIENT}
local-port={PORT}
socket-dir={{folder}}
disable-syslog=yes
primary=yes
secondary=yes
xfr-cycle-interval=1
allow-axfr-ips={SERVER}/32
allow-notify-from={SERVER}/32
only-notify={SERVER}/32
also-notify={SERVER}
cache-ttl=0
query-cache-ttl=0
negquery-cache-ttl=0
"""


@pytest.fixture
def world(network: Network) -> Iterator[World]:
    with made(network) as hosts:
        tools.run(["chown", "-R", dnsd.USER, hosts.folder])
        yield hosts


@contextmanager
def _powerdns(world: World, folder: Path, zone: str) -> Iterator[None]:
    """A PowerDNS on the client's host, with a zone in words of BIND."""
    (folder / "pdns.conf").write_text(_SETTINGS.format(folder=folder))
    (folder / "named.conf").write_text(f'zone "example" {{ {zone} }};\n')
    words = ["pdns_server", f"--config-dir={folder}", "--daemon=no", "--guardian=no"]
    with (folder / "log").open("wb") as log:
        with world.client.started(words, stdout=log, stderr=log) as child:
            wait.listening(child.pid, PORT)
            yield


def _records(world: World, server: str) -> set[str]:
    """The zone's records that tell of its serial, and others."""
    found = set()
    for name, kind in (("example", "SOA"), ("serial.example", "TXT"), ("www.example", "AAAA")):
        reply = world.udp(query(name, kind), server)
        found |= {rrset.to_text() for rrset in reply.answer}
    return found


def _await_serial(world: World, server: str, serial: int) -> set[str]:
    """The records, once all are of a serial; both kinds of them say it."""
    text = f'"{serial}"'

    def has_come() -> set[str]:
        found = _records(world, server)
        whole = any(text in each for each in found) and any(
            f" {serial} 3600" in each for each in found
        )
        return found if whole and len(found) == 3 else set()

    return wait.until(has_come, f"serial {serial} at {server}")


def test_our_secondary(world: World, tmp_path: Path) -> None:
    """A zone comes from PowerDNS, and its next version by NOTIFY, long before the refresh."""
    source = tmp_path / "example.zone"
    source.write_text(ZONE.format(serial=1))
    (world.folder / "example.vzi").unlink()
    with _powerdns(world, tmp_path, f'type primary; file "{source}";'):
        with world.dnsd({"primaries": [CLIENT]}):
            before = _await_serial(world, SERVER, 1)
            assert before == _records(world, CLIENT)
            source.write_text(ZONE.format(serial=2))
            tools.run(["pdns_control", f"--config-dir={tmp_path}", "bind-reload-now", "example"])
            tools.run(["pdns_control", f"--config-dir={tmp_path}", "notify", "example"])
            assert _await_serial(world, SERVER, 2) == _records(world, CLIENT)


def test_our_primary(world: World, tmp_path: Path) -> None:
    """PowerDNS has a zone of ours, and its next version by our NOTIFY."""
    zone = f'type secondary; file "{tmp_path}/example.zone"; primaries {{ {SERVER}; }};'
    ours = {"allow-transfer": [f"{CLIENT}/32"], "notify": [CLIENT]}
    with world.dnsd(ours) as server, _powerdns(world, tmp_path, zone):
        assert _await_serial(world, CLIENT, 1) == _records(world, SERVER)
        world.image(2)
        server.reload()
        assert _await_serial(world, CLIENT, 2) == _records(world, SERVER)
