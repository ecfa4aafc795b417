# SPDX-License-Identifier: GPL-2.0-or-later
"""OpenSSH with the DNS library, where AAAA is lost and where addresses are forged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import paths, tools
from lab.dns import names
from lab.dns import room as dns_room
from lab.dns.names import DROPPING, FORGING, WHOLE, World

#: Releases of Debian whose OpenSSH is built: 9.2 and 10.0; "" is this machine's.
RELEASES = ("", "trixie")

# OpenSSH's source is fetched and compiled.
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    dns_room.program("vmmnet-dnsd")
    with names.world() as made:
        yield made


@pytest.fixture(scope="module", params=RELEASES, ids=lambda each: each or "ours")
def ssh(request: pytest.FixtureRequest) -> Path:
    """OpenSSH's client of a release, with the DNS library."""
    release: str = request.param
    tools.run([paths.ROOT / "examples/ssh/build", *filter(None, (release,))])
    return paths.BUILD / "-".join(filter(None, ("ssh", release))) / "ssh"


@pytest.mark.parametrize("way", [WHOLE, DROPPING])
def test_logs_in(world: World, ssh: Path, way: str) -> None:
    world.trust()
    done = world.ssh(ssh, way)
    assert done.stdout == "this is server\n", done.stderr


def test_forged_answer_leads_nowhere(world: World, ssh: Path, tmp_path: Path) -> None:
    world.forget()
    with world.impostor.capture(world.to_impostor, tmp_path / "pcap", "tcp") as file:
        done = world.ssh(ssh, FORGING, "StrictHostKeyChecking=no")
    assert done.returncode
    assert "forged or wrongly signed" in done.stderr
    assert tools.run(["tcpdump", "-nn", "-r", file]) == ""


def test_key_is_known_by_its_fingerprint(world: World, ssh: Path) -> None:
    world.forget()
    done = world.ssh(ssh, WHOLE, "VerifyHostKeyDNS=yes")
    assert done.stdout == "this is server\n", done.stderr
    world.forget()
    done = world.ssh(ssh, WHOLE)
    assert "Host key verification failed" in done.stderr
