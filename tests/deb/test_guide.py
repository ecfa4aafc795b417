# SPDX-License-Identifier: GPL-2.0-or-later
"""The guide, docs/libvirt.md, typed on two bare systems: what is seen is what it shows.

The whole session is in build/libvirt-guide.md.

 client ---- switch ---- one, two: br0, 2001:db8:1::1, ::2
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from lab.base import conditions, paths, wait
from lab.base.net import Namespace, Network
from lab.guest import domain
from lab.hosts.machine import Machine
from lab.libvirt import bare, guide
from lab.libvirt.guide import Shell, Step
from lxml import etree  # type: ignore[import-untyped]
from vmmnet.libvirt import names

pytestmark = pytest.mark.long

ELEMENT_PAGE = paths.ROOT / "docs/libvirt-element.md"
HOSTS = ("one", "two")


def whole_domain() -> etree._Element:
    """The element's page has a whole domain; it gets the guide's first element."""
    page, pattern = ELEMENT_PAGE.read_text(), r"^```xml\n(<domain .*?</domain>)\n```$"
    found = re.search(pattern, page, re.M | re.S)
    assert found
    made = etree.fromstring(found[1])
    (old,) = made.iterfind(f"metadata/{{{names.NET}}}net")
    old.getparent().replace(old, guide.elements()[0])
    return made


@dataclass
class World:
    """The two hosts and what is typed there."""

    network: Network
    machines: dict[str, Machine]
    client: Namespace
    shells: dict[str, Shell]
    services: contextlib.ExitStack
    shown: list[str] = field(default_factory=list)

    def type(self, step: Step) -> list[str]:
        """What is seen of a step."""
        began = time.monotonic()
        seen = self._kind(step)(step)
        prompt = "$" if step.where == "client" else "#"
        self.shown += [f"{step.where}{prompt} {step.command}", *seen]
        print(f"{time.monotonic() - began:6.1f} s  {step.where}# {step.command}", *seen, sep="\n")
        return seen

    def _kind(self, step: Step) -> Callable[[Step], list[str]]:
        if step.where == "guest":
            return self._in_guest
        if step.command.startswith("journalctl "):
            return self._journal
        if step.command.startswith("curl "):
            return self._fetch
        return self._typed

    def _typed(self, step: Step) -> list[str]:
        seen = self.shells[step.where].type(step.command)
        if step.command.startswith("apt install ") and step.where in self.machines:
            self.services.enter_context(bare.services(self.machines[step.where]))
        if step.command.startswith("virsh start "):
            self._prepare()
        if step.command.endswith("&"):
            self._under_way(step.where)
        return seen

    def _under_way(self, where: str) -> None:
        """Wait until a migration has sent a part of the memory."""

        def sends() -> bool:
            words = ("virsh", "domjobinfo", "guest")
            told = self.machines[where].run(*words, check=False).stdout
            return bool(re.search(r"^Memory processed: +[1-9]", told, re.M))

        wait.until(sends, "a migration that is under way")

    def _fetch(self, step: Step) -> list[str]:
        """The client tries until there is an answer, as it may be told where the VM is later."""

        def answer() -> list[str]:
            return [
                line for line in self.shells[step.where].type(step.command) if "curl: " not in line
            ]

        return wait.until(answer, step.command)

    def _journal(self, step: Step) -> list[str]:
        """What the journal has: no systemd is there."""
        of, name = re.match(r"journalctl -([tu]) (\S+) -o cat$", step.command).groups()  # type: ignore[union-attr]
        machine = self.machines[step.where]
        if of == "u":
            # The journal has the text without the program's name.
            written = bare.log(machine, bare.HOSTD).read_text()
            return re.sub(r"^vmmnet-hostd: ", "", written, flags=re.M).splitlines()
        lines = (line.partition(": ") for line in machine.log())
        return [text for tag, _, text in lines if tag.startswith(f"{name}[")]

    def _where(self) -> Machine:
        running = (
            each
            for each in self.machines.values()
            if "guest" in each.run("virsh", "list", "--name").stdout.split()
        )
        return next(running)

    def _prepare(self) -> None:
        """The guest has the module, which is not the guide's affair."""
        with contextlib.closing(domain.connect(self._where().path(bare.AGENT))) as channel:
            domain.run(channel, f"insmod {domain.MODULE}")

    def _in_guest(self, step: Step) -> list[str]:
        command = step.command
        if command.endswith("&"):
            command = f"setsid sh -c '{command[:-1]}' >/dev/null 2>&1 &"
        with contextlib.closing(domain.connect(self._where().path(bare.AGENT))) as channel:
            done = domain.run(channel, command)
        return (done.stdout + done.stderr).splitlines()


@pytest.fixture
def world(packages: Mapping[str, Path]) -> Iterator[World]:
    base = bare.system(packages, "openssh-client", "openssh-server")
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(Network())
        switch = network.namespace("switch").bridge("sw")
        client = network.namespace("client")
        network.connect(client, switch, ["2001:db8:1::9/64"])
        machines = {}
        for number, name in enumerate(HOSTS, 1):
            space = network.namespace(name)
            bridge = space.bridge("br0")
            network.connect(bridge, switch)
            bridge.add_address(f"2001:db8:1::{number}/64")
            # As Debian's systemd sets it.
            space.sysctl({"net.ipv4.ping_group_range": "0 2147483647"})
            machines[name] = stack.enter_context(bare.machine(space, base, packages))
        _befriend(machines)
        _put_guest(machines)
        shells = {name: Shell(each.space, *each.words("bash")) for name, each in machines.items()}
        for name in HOSTS:
            machine = machines[name]
            out = stack.enter_context((paths.LOGS / f"{name}-sshd.log").open("wb"))
            machine.run("mkdir", "-p", "/run/sshd")
            stack.enter_context(machine.service(["/usr/sbin/sshd", "-D", "-e"], out))
            shells[name].type("cd /root")
        shells["client"] = Shell(client, "bash")
        services = stack.enter_context(contextlib.ExitStack())
        yield World(network, machines, client, shells, services)


def _befriend(machines: Mapping[str, Machine]) -> None:
    """Root of each host gets at the others, by their names."""
    known = "".join(f"2001:db8:1::{number} {name}\n" for number, name in enumerate(HOSTS, 1))
    for machine in machines.values():
        machine.put("/etc/hosts", f"127.0.0.1 localhost\n::1 localhost\n{known}")
        machine.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/root/.ssh/id_ed25519")
    for machine in machines.values():
        keys = (each.run("cat", "/root/.ssh/id_ed25519.pub").stdout for each in machines.values())
        machine.put("/root/.ssh/authorized_keys", "".join(keys))
        hosts = (
            f"{name} {each.run('cat', '/etc/ssh/ssh_host_ed25519_key.pub').stdout}"
            for name, each in machines.items()
        )
        machine.put("/root/.ssh/known_hosts", "".join(hosts))


def _put_guest(machines: Mapping[str, Machine]) -> None:
    """The guest's disks are on both hosts, its domain on one."""
    wanted = whole_domain()
    bare.put_guest(machines["one"], wanted)
    wanted.find("memory").text = "512"
    machines["one"].put("/root/guest.xml", etree.tostring(wanted, encoding="unicode"))
    bare.put_disks(machines["two"], machines["one"].folder / "initrd")


def test_the_guide_is_true(world: World) -> None:
    wrong = []
    for step in guide.steps():
        seen = world.type(step)
        if not step.agrees(seen):
            wrong.append(f"{step.where}# {step.command}\n" + "\n".join(seen))
    text = "\n".join(f"    {line}" for line in world.shown)
    (paths.BUILD / "libvirt-guide.md").write_text(f"{conditions.machine()}\n\n{text}\n")
    assert not wrong, "what is seen is not what the guide shows:\n\n" + "\n\n".join(wrong)
