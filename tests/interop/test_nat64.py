# SPDX-License-Identifier: GPL-2.0-or-later
"""The IPv4 Internet behind a NAT64 (TAYGA) and a DNS64 (unbound)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base import wait
from lab.base.net import Namespace, Network
from lab.guest.guest import Guest
from lab.peers import servers as peers

PREFIX = "2001:db8:64::/96"
VM_ADDRESS = "2001:db8:1::c0de"
DNS_ADDRESS = "2001:db8:1::53"
OLD_ADDRESS = "198.51.100.80"
RECORDS = (
    f"old.test. 60 IN A {OLD_ADDRESS}",
    "new.test. 60 IN AAAA 2001:db8:1::53",
    "ipv4only.arpa. 60 IN A 192.0.0.170",
    "ipv4only.arpa. 60 IN A 192.0.0.171",
)
CONNECT = """
import errno, socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=60)
    print("connected")
except OSError as e:
    print(errno.errorcode.get(e.errno, e))
"""


@dataclass
class World:
    """Where the VM runs, the translator, and a host that knows only IPv4."""

    host: Namespace
    translator: Namespace
    old: Namespace


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(Network())
        host, translator, old = map(network.namespace, ("host", "translator", "old"))
        addresses = ["2001:db8:1::1/64", f"{VM_ADDRESS}/128"]
        network.connect(host, translator, addresses, [f"{DNS_ADDRESS}/64"])
        network.connect(translator, old, ["198.51.100.1/24"], [f"{OLD_ADDRESS}/24"])
        host.route(PREFIX, DNS_ADDRESS)
        old.route("default", "198.51.100.1")
        root: Path = tmp_path_factory.mktemp("www")
        (root / "index.html").write_text("an IPv4-only page\n")
        stack.enter_context(peers.nat64(translator, PREFIX, "192.0.2.0/24", "203.0.113.1"))
        stack.enter_context(peers.dns(translator, RECORDS, DNS_ADDRESS, dns64=PREFIX))
        server = "python3 -m http.server 80 --bind 0.0.0.0"
        running = stack.enter_context(old.started(server.split(), cwd=root))
        wait.listening(running.pid, 80)
        yield World(host, translator, old)


@pytest.fixture(scope="module", params=[PREFIX, "auto"], ids=["given", "discovered"])
def guest(request: pytest.FixtureRequest, world: World) -> Iterator[Guest]:
    """A guest whose device was given the prefix, and one that asks for it."""
    options = f"address6={VM_ADDRESS},dns={DNS_ADDRESS},nat64-prefix={request.param}"
    device = f"virtio-vmrpc-pci,{options}"
    with Guest(netns=world.host, devices=[device], module=True, ipv6=False) as running:
        yield running


def test_literal(guest: Guest) -> None:
    assert guest.run(f"curl -sS http://{OLD_ADDRESS}/").stdout == "an IPv4-only page\n"


def test_name_that_has_only_a(guest: Guest) -> None:
    assert guest.run("curl -sS http://old.test/").stdout == "an IPv4-only page\n"


def test_name_that_has_aaaa_gets_a_virtual_address(guest: Guest) -> None:
    assert guest.run("dig +short new.test A").stdout.startswith(("198.18.", "198.19."))


@pytest.mark.parametrize("literal", ["169.254.169.254", "127.0.0.53", "0.0.0.1", "255.255.255.255"])
def test_what_a_translator_must_not_be_asked_for(guest: Guest, literal: str) -> None:
    """Metadata and the translator's own loopback stay out of reach."""
    result = guest.run(["python3", "-c", CONNECT, literal, "81"]).stdout.strip()
    # 127/8 is the guest's own loopback, where nobody listens.
    own = literal.startswith("127.")
    assert result in (["ECONNREFUSED"] if own else ["ENETUNREACH", "EACCES"])
