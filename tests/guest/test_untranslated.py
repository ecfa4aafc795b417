# SPDX-License-Identifier: GPL-2.0-or-later
"""translate=off: the same sockets, IPv4 on the host as well.

One guest runs the cases of ``semantics`` that are about addresses, names of
sockets and control messages, which translation has to do with; what is right
they know from Linux's own sockets (test_semantics).
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base import wait
from lab.base.net import Namespace, Network
from lab.guest.guest import Guest
from lab.packages import kernel
from lab.peers import servers as peers

_SCRIPTS = Path(__file__).parent / "semantics"
sys.path.insert(0, str(_SCRIPTS.parent))

from semantics.peer import ECHO_PORT  # noqa: E402
from semantics.run import CASES  # noqa: E402

_FOLDER = "/usr/lib/vmmnet/tests"
_LINK = 24
_HOST = "192.0.2.1"
_VM = "192.0.2.2"
_PEER = "192.0.2.9"
_MODULES = ("clock", "edges", "group", "packets", "ping", "tcp", "udp")
_SELECTED = [name for name in CASES if name.partition(".")[0] in _MODULES]

# How cases fail, to the letter, and why they may.
_DIFFERENCES = {
    "ping.received_options": (
        "OSError: [Errno 92] Protocol not available",
        "IPv4 has IP options, and what came with a packet is not carried to the guest.",
    ),
    "tcp.by_several_ways": (
        "OSError: [Errno 93] Protocol not supported",
        "In the guest's stack it would listen where nobody is; so programs take TCP.",
    ),
    "udp.source_that_is_not_ours": (
        "AssertionError: EINVAL instead of ENETUNREACH",
        "The device says so before it asks.",
    ),
}
# Without this rule no group of IPv4 can be joined.
_POLICY = "allow 224.0.0.0/4\n"


@dataclass
class World:
    """A guest whose host has IPv4, and its peer."""

    guest: Guest
    peer: Namespace


@contextlib.contextmanager
def _peer(space: Namespace) -> Iterator[None]:
    command: list[str | Path] = [sys.executable, _SCRIPTS / "peer.py", "0.0.0.0"]
    with space.started(command, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        yield


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    policy = tmp_path_factory.mktemp("policy") / "vm.policy"
    policy.write_text(_POLICY)
    files: dict[str, bytes | Path] = {
        f"{_FOLDER}/semantics/{path.name}": path for path in _SCRIPTS.glob("*.py")
    }
    with Network() as network, contextlib.ExitStack() as stack:
        host, peer = network.namespace("host"), network.namespace("peer")
        network.connect(host, peer, [f"{_HOST}/{_LINK}", f"{_VM}/{_LINK}"], [f"{_PEER}/{_LINK}"])
        host.sysctl({"net.ipv4.ping_group_range": "0 2147483647"})
        # Cases in a row send to closed ports; each wants to be told.
        peer.sysctl({"net.ipv4.icmp_ratelimit": 0})
        records = [f"peer.test. 60 IN A {_PEER}", "six.test. 60 IN AAAA 2001:db8::6"]
        stack.enter_context(peers.dns(peer, records, _PEER))
        stack.enter_context(_peer(peer))
        own = f"translate=off,guest4={_VM}/{_LINK},policy={policy}"
        device = f"virtio-vmrpc-pci,id=vmrpc0,{own}"
        guest = stack.enter_context(
            Guest(
                netns=host,
                kernel=kernel.MAIN,
                ipv6=False,
                module=True,
                devices=[device],
                resolver=_PEER,
                files=files,
            )
        )
        guest.run(["sysctl", "-qw", "net.ipv4.ping_group_range=0 2147483647"])
        guest.run(["date", "--set", "-30 seconds"])
        yield World(guest, peer)
        guest.check_kernel()


@pytest.fixture(scope="module")
def outcomes(world: World) -> dict[str, tuple[str | None, list[str]]]:
    """The error of every case, and where it was."""
    variables = [f"PYTHONPATH={_FOLDER}", f"VMMNET_PATIENCE={wait.SLOWNESS}"]
    command = ["env", *variables, "python3", "-m", "semantics.run"]
    output = world.guest.run([*command, _PEER, _VM, *_SELECTED], timeout=10 * wait.PATIENCE).stdout
    records = map(json.loads, output.splitlines())
    return {record["case"]: (record["error"], record["trace"]) for record in records}


@pytest.mark.parametrize("name", _SELECTED)
def test_case(outcomes: dict[str, tuple[str | None, list[str]]], name: str) -> None:
    error, trace = outcomes[name]
    if name in _DIFFERENCES:
        shows, reason = _DIFFERENCES[name]
        assert error == shows, f"known, but no longer so: {reason}"
    elif error:
        pytest.fail("\n".join([error, *trace]), pytrace=False)


def test_outside_is_ipv4(world: World) -> None:
    """Both ends see the addresses that they use; nothing is virtual."""
    script = f"""
import socket
s = socket.create_connection(("{_PEER}", {ECHO_PORT}))
print(*s.getsockname()[:1], *s.getpeername()[:1])
input()
"""
    job = world.guest.spawn(["python3", "-c", script])
    job.wait_output(f"{_VM} {_PEER}")
    seen = world.peer.run(
        ["ss", "-Htn4", "state", "established", f"src {_PEER}:{ECHO_PORT}"]
    ).stdout
    assert f" {_VM}:" in seen, seen
    [info] = world.guest.qmp("query-vmrpc", id="vmrpc0")
    assert not info["translate"]
    [ours] = [each for each in info["sockets"] if each["state"] == "established"]
    assert ours["host-peer"] == ours["guest-peer"] == {"address": _PEER, "port": ECHO_PORT}
    job.write(b"\n")
    job.wait(check=True)


def test_names_are_not_made_up(world: World) -> None:
    """A name has the addresses that it has; who has no IPv4 address is not there."""
    assert world.guest.run("getent ahostsv4 peer.test").stdout.split()[0] == _PEER
    assert world.guest.run("getent ahostsv4 six.test", check=False).rc
