# SPDX-License-Identifier: GPL-2.0-or-later
"""Everyday programs, with their packages' settings, in a guest without NIC and boot option.

    outside, IPv6 only  --->  the guest  <---  another guest, by names of both families

All that is in the list runs with the oldest and the newest kernel, too, and once more in a guest
with ``ipv6.disable=1``, but for what does not start on such a kernel by itself.
"""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.base import wait
from lab.guest.guest import Guest
from lab.packages import kernel
from lab.peers.lab import SECOND_VM_ADDRESS, VM_ADDRESS, Lab, lab

_FOLDER = Path(__file__).parent / "programs"
sys.path.insert(0, str(_FOLDER.parent))

from programs.everyday import CLIENTS, PACKAGES, SERVERS  # noqa: E402
from programs.machines import Inside, Machine, Outside, outside  # noqa: E402

#: Their image is large, and programs of Java take long to start.
pytestmark = pytest.mark.long

#: A kernel, and whether it has IPv6.
_SETTINGS = {
    "default": (kernel.MAIN, True),
    "ipv6.disable": (kernel.MAIN, False),
    "oldest": (kernel.OLDEST, True),
    "newest": (kernel.NEWEST, True),
}


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        built.host.sysctl({"net.ipv4.ping_group_range": "0 0"})
        yield built


@pytest.fixture(scope="module")
def outer(world: Lab) -> Iterator[Outside]:
    with outside(world.peer, PACKAGES) as machine:
        yield machine


@pytest.fixture(scope="module")
def program(outer: Outside) -> bytes:
    """The program of Go."""
    outer.put((_FOLDER / "everyday" / "program.go").read_text(), "/root/program.go")
    build = "CGO_ENABLED=0 HOME=/root /usr/lib/go-1.19/bin/go build -o program program.go"
    return base64.b64decode(outer.run(f"cd /root && {build} && base64 program"))


@pytest.fixture(scope="module")
def guest(request: pytest.FixtureRequest, world: Lab, program: bytes) -> Iterator[Guest]:
    series, ipv6 = _SETTINGS[request.param]
    with world.guest(
        series,
        device=world.device(ipv6="on"),
        ipv6=ipv6,
        packages=PACKAGES,
        memory="1G",
    ) as running:
        running.put(program, "/root/program", 0o755)
        yield running


@pytest.fixture(scope="module")
def other(world: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """A guest that may reach the first: on one host that needs a rule."""
    policy = tmp_path_factory.mktemp("other") / "policy"
    policy.write_text(f"allow {VM_ADDRESS}\n")
    device = world.device(SECOND_VM_ADDRESS, ipv6="on", policy=policy)
    with world.guest(kernel.MAIN, device=device, name="other", packages=PACKAGES) as running:
        yield running


def _listed(programs: dict[str, Any]) -> list[Any]:
    """A program in each setting in which it can run, those of a guest together."""
    return [
        pytest.param(setting, name, id=f"{setting}-{name}")
        for setting, (_, has_ipv6) in _SETTINGS.items()
        for name, each in programs.items()
        if has_ipv6 or not each.needs_ipv6
    ]


def _ask(machine: Machine, who: str, line: str, answer: str) -> None:
    """Run a line of shell, until its answer is right; pytest's -rP shows the dialogue."""
    said = ""

    def is_right() -> bool:
        nonlocal said
        said = machine.run(f"{{ {line}; }} 2>&1 || :")
        return bool(re.search(answer, said, re.MULTILINE))

    try:
        wait.until(is_right, line)
    finally:
        print(f"{who}$ {line}\n{said}")


def _put(machine: Machine, files: dict[str, str]) -> None:
    for path, text in files.items():
        machine.put(text, path)


@pytest.mark.parametrize(("guest", "name"), _listed(SERVERS), indirect=["guest"], scope="module")
def test_server(guest: Guest, outer: Outside, other: Guest, name: str) -> None:
    """It is reached from outside, from another guest, and from inside, in both families."""
    server, inner = SERVERS[name], Inside(guest)
    virtual = other.run(["getent", "ahostsv4", "vm.test"]).stdout.split()[0]
    inside = ["127.0.0.1"] + ["::1"] * (guest.config.ipv6 and not server.only_ipv4)
    callers: list[tuple[str, Machine, list[str]]] = [
        ("outside", outer, [VM_ADDRESS]),
        ("other", Inside(other), [virtual, VM_ADDRESS]),
        ("guest", inner, inside),
    ]
    _put(inner, dict(server.files))
    inner.run(server.prepare)
    print(f"guest# {server.start}")
    with inner.started(server.start, server.port):
        for who, machine, addresses in callers:
            for host in addresses:
                url = f"[{host}]" if ":" in host else host
                _ask(machine, who, server.ask.format(host=host, url=url), server.answer)


@pytest.mark.parametrize(("guest", "name"), _listed(CLIENTS), indirect=["guest"], scope="module")
def test_client(guest: Guest, outer: Outside, name: str) -> None:
    """It reaches the outside, by names and by IPv4-mapped addresses."""
    client, inner = CLIENTS[name], Inside(guest)
    virtual = guest.run(["getent", "ahostsv4", "peer.test"]).stdout.split()[0]
    _put(inner, dict(client.files))
    key = "/root/.ssh/id_ed25519"
    inner.run(f"[ -e {key} ] || ssh-keygen -q -t ed25519 -N '' -f {key}")
    outer.put(inner.run(f"cat {key}.pub"), "/root/.ssh/authorized_keys")
    outer.run("mkdir -p /run/sshd; chmod 700 /root/.ssh; chmod 600 /root/.ssh/authorized_keys")
    line = client.line.format(mapped=f"::ffff:{virtual}")
    with outer.started("/usr/sbin/sshd -D -e", 22):
        _ask(inner, "guest", line, client.answer)
