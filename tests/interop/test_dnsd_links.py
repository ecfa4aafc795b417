# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-dnsd's servers at link-local addresses, whose interface comes late and is made again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dns.query
import dns.rcode
import dns.tsigkeyring
import dns.update
import pytest
from lab.base import tools, wait
from lab.base.net import Network
from lab.dns import dnsd
from lab.dns.dnsd import Dnsd
from lab.dns.dnsd_world import CLIENT, SERVER, World, made, query

KEY, SECRET = "ddns.test", "c2VjcmV0IG9mIHRoZSB0ZXN0cyBvZiB1cGRhdGVz"
RING = dns.tsigkeyring.from_text({KEY: SECRET})
#: Of the two hosts, on the link between them.
HERE, THERE = "fe80::77", "fe80::8"


@pytest.fixture
def world(network: Network) -> Iterator[World]:
    with made(network) as hosts:
        tools.run(["chown", "-R", dnsd.USER, hosts.folder])
        yield hosts


def _primary(world: World, **zone: Any) -> Dnsd:
    """A server of the client's host, which listens at the link, too."""
    folder = world.folder / "primary"
    folder.mkdir()
    (world.folder / "example.vzi").rename(folder / "example.vzi")
    (folder / "secret").write_text(f"{SECRET}\n")
    tools.run(["chown", "-R", dnsd.USER, folder])
    zone = {"name": "example", "image": str(folder / "example.vzi"), **zone}
    keys = [{"name": KEY, "secret-file": str(folder / "secret")}]
    listen = [CLIENT, f"{THERE}%client7"]
    config = {"server": {"listen": listen, "threads": 1}, "keys": keys, "zones": [zone]}
    return Dnsd(world.client, folder, config)


def _copy(world: World) -> dict[str, Any]:
    return {
        "image": str(world.folder / "copy.vzi"),
        "primaries": [f"{THERE}%eth7"],
        "transfer-source": [f"{HERE}%eth7"],
    }


def _has(world: World, name: str) -> bool:
    """Does the server answer for a name?"""
    return bool(world.udp(query(name)).answer)


def _said(server: Dnsd, line: str, count: int = 1) -> None:
    wait.until(lambda: server.log.read_text().count(line) == count, line)


def _update(world: World, name: str) -> None:
    update = dns.update.UpdateMessage("example", keyring=RING)
    update.add(name, 300, "A", "192.0.2.7")
    with world.client.entered():
        reply = dns.query.tcp(update, CLIENT, timeout=wait.PATIENCE)
    assert reply.rcode() == dns.rcode.NOERROR


def test_primary(world: World) -> None:
    """Transfers and NOTIFY wait for the link, also when it was away, and each wait is told."""
    to = f"{HERE}%client7"
    keys = {
        "allow-update": [KEY],
        "allow-transfer": [f"{HERE}/128"],
        "notify": [to],
        # The kernel's choice may be another address of the link.
        "notify-source": [f"{THERE}%client7"],
    }
    primary = _primary(world, **keys)
    secondary = world.dnsd(_copy(world), server={"listen": [SERVER, f"{HERE}%eth7"]})
    with primary, secondary:
        _said(secondary, "zone example: the interface of its primaries is not there")
        _said(primary, f"zone example: NOTIFY to {to} cannot be sent from {THERE}%client7: No such")
        world.link_local(THERE, HERE)
        wait.until(lambda: _has(world, "www.example"), "the copy")
        _said(primary, f"zone example: NOTIFY to {to} is sent")
        _update(world, "first")
        wait.until(lambda: _has(world, "first.example"), "what NOTIFY tells of")
        world.server.ip("link", "delete", "eth7")
        _said(secondary, "the interface of its primaries is not there", 2)
        _update(world, "second")
        _said(primary, f"NOTIFY to {to} cannot be sent", 2)
        world.link_local(THERE, HERE)
        wait.until(lambda: _has(world, "second.example"), "what has changed meanwhile")
        _said(secondary, "zone example: the interface of its primaries is there", 2)
        _said(primary, f"NOTIFY to {to} is sent", 2)


def test_forward(world: World) -> None:
    """The resolver asks over the link as soon as it is there, and when it is made again."""
    resolver = {"allow": [f"{CLIENT}/32"], "forward": [f"{THERE}%eth7"], "dnssec": "off"}
    place = f"resolver.forward: {THERE}%eth7: the interface 'eth7'"
    server = Dnsd(
        world.server,
        world.folder,
        {"server": {"listen": [SERVER], "threads": 1}, "resolver": resolver, "zones": []},
    )
    with _primary(world), server:
        _said(server, f"{place} is not there: waiting for it")
        for turn, name in enumerate(("www.example", "ns.example"), 1):
            world.link_local(THERE, HERE)
            _said(server, f"{place} is there", turn)
            wait.until(lambda asked=name: _has(world, asked), "an answer")
            world.server.ip("link", "delete", "eth7")
            _said(server, f"{place} is not there: waiting for it", turn + 1)
