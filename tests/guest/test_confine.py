# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest under examples/sandbox gets out by none of the known ways, and each is in its log.

One guest for all. What arrives at the servers judges, not the guest.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lab.confine import places as at
from lab.confine import world as confine
from lab.confine.ways import WAYS, Attempt
from lab.confine.world import Confined
from lab.peers.lab import VM_ADDRESS
from lab.run_confine import ALLOWED, told

ATTEMPTS = [attempt for way in WAYS for attempt in way.attempts]
#: What no policy has to forbid.
BUILT_IN = {"metadata", "embedded", "host", "unusable-address", "dns-malformed"}


@pytest.fixture(scope="module")
def world() -> Iterator[Confined]:
    with confine.own_folder() as folder, confine.confined(folder) as made:
        yield made
        made.attacker.end()


def name(attempt: Attempt) -> str:
    way = next(way for way in WAYS if attempt in way.attempts)
    return f"{way.title}: {attempt.title}".replace(" ", "-")


@pytest.mark.parametrize("command", ALLOWED)
def test_allowed(world: Confined, command: str) -> None:
    assert "page" in world.guest.run(command).stdout


@pytest.mark.parametrize("shape", [{"part": 1}, {"record": 1}], ids=["sends", "records"])
def test_parts_of_an_allowed_hello(world: Confined, shape: dict[str, int]) -> None:
    """The split itself is no offence."""
    attempt = Attempt("", "say", (), {"host": at.API_NAME, "names": [at.API_NAME], **shape})
    outcome = world.run(attempt)
    assert outcome.passed and outcome.got.endswith("answer: ok")


def test_allowed_name_by_quic(world: Confined) -> None:
    attempt = Attempt(
        "", "datagram", (), {"host": at.API_NAME, "port": 443, "initial": [at.API_NAME]}
    )
    outcome = world.run(attempt)
    assert [packet.proto for packet in outcome.arrived] == ["udp"], outcome


def test_nobody_comes_in(world: Confined) -> None:
    """examples/sandbox/inbound.nft: an ally outside could fetch what may not leave."""
    server = world.guest.spawn("cd /etc && exec python3 -um http.server 8000")
    server.wait_output("Serving")
    fetch = ["curl", "-sS", "-m", "3", f"http://[{VM_ADDRESS}]:8000/hostname"]
    host, peer = world.lab.host, world.lab.peer
    timed_out = 28
    assert peer.run(fetch, check=False).returncode == timed_out
    host.run(["nft", "delete table inet sandbox"])
    assert peer.run(fetch).stdout == "guest\n"
    host.run(["nft", "-f", at.INBOUND])
    server.kill()
    server.wait()


def test_the_guest_reads_why(world: Confined) -> None:
    world.guest.run(f"curl -sS -m 3 http://[{at.EVIL}]/", check=False)
    assert f"{at.EVIL} 80 13 deny-default" in world.guest.run("cat /proc/net/vmrpc_refused").stdout


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=name)
def test_way_out(world: Confined, attempt: Attempt) -> None:
    outcome = world.run(attempt)
    assert outcome.arrived == (), outcome.got
    assert outcome.line is not None, (outcome.got, told(outcome))
    # It says where to, or which name.
    assert {"address", "name", "file"} & outcome.line.keys() or "two questions" in attempt.title


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=name)
def test_way_out_without_rules(world: Confined, attempt: Attempt) -> None:
    """The same gets out if nothing forbids it: the witness would have seen it."""
    with world.open():
        outcome = world.run(attempt)
    reasons = {line.get("reason") for line in outcome.lines}
    assert outcome.passed or reasons & BUILT_IN, outcome.got
