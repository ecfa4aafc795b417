# SPDX-License-Identifier: GPL-2.0-or-later
"""Show names at work: ``make run-dns``.

The paper's demonstration: OpenSSH's client with libvmmnet-dns beside Debian's own. The server's
names are in a signed zone of vmmnet-dnsd; on the way, queries for AAAA are lost, or addresses
are forged.

    python3 -m lab.run_dns
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from lab.base import paths, tools
from lab.dns import names
from lab.dns.names import DROPPING, FORGING, IMPOSTOR4, IMPOSTOR6, NAME, WHOLE, World
from lab.packages.conclude import conclude
from lab.story import Story

_STOCK = Path("/usr/bin/ssh")
_OURS = paths.BUILD / "ssh" / "ssh"
_ANY_KEY = "StrictHostKeyChecking=no"


def show_ssh(story: Story, world: World, program: Path, way: str, *options: str) -> None:
    """One login, with its time and ssh's output."""
    began = time.monotonic()
    done = world.ssh(program, way, *options)
    spent = time.monotonic() - began
    shown = "".join(f" -o {each}" for each in options)
    name = "ssh" if program is _STOCK else "build/ssh/ssh"
    story.show("client$", f"{name}{shown} {NAME}   # {way} resolves", _said(done, spent))


def _said(done: subprocess.CompletedProcess[str], spent: float) -> str:
    lines = (done.stdout + done.stderr).splitlines()
    return "\n".join([*lines, f"(exit {done.returncode} after {spent:.2f} s)"])


def show_no_packet(story: Story, world: World) -> None:
    """A forged answer, and the client's packets to the address in it."""
    wire = world.impostor
    file = world.folder / "impostor.pcap"
    with wire.capture(world.to_impostor, file, "tcp"):
        show_ssh(story, world, _OURS, FORGING)
    sent = tools.run(["tcpdump", "-nn", "-r", file]).splitlines()
    story.show("impostor$", "tcpdump -nn -r impostor.pcap | wc -l", str(len(sent)))


def demonstrate(story: Story) -> None:
    """The whole demonstration."""
    with story.step("Build Debian's OpenSSH client with libvmmnet-dns"):
        tools.run([paths.ROOT / "examples/ssh/build"])
    with contextlib.ExitStack() as stack:
        with story.step("Make a client, a server with a signed zone, and an impostor"):
            world = stack.enter_context(names.world())
        _tell(story, world)
    story.end()


def _tell(story: Story, world: World) -> None:
    with story.step("The way to the zone is whole"):
        show_ssh(story, world, _STOCK, WHOLE)
        show_ssh(story, world, _OURS, WHOLE)
    with story.step("The way loses all queries for AAAA"):
        show_ssh(story, world, _STOCK, DROPPING)
        show_ssh(story, world, _OURS, DROPPING)
    with story.step(f"Answers are forged: {NAME} is {IMPOSTOR6} and {IMPOSTOR4}"):
        # As on the first login, with the answer yes.
        world.forget()
        show_ssh(story, world, _STOCK, FORGING, _ANY_KEY)
        world.trust()
        show_no_packet(story, world)
    with story.step("The server's key is unknown, and its fingerprint in the signed zone"):
        world.forget()
        show_ssh(story, world, _STOCK, WHOLE, "VerifyHostKeyDNS=yes")
        show_ssh(story, world, _OURS, WHOLE, "VerifyHostKeyDNS=yes")


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="make run-dns", description=__doc__)
    return parser.parse_args(arguments)


def main() -> int:
    """Entry point."""
    parse()
    return conclude("make run-dns", lambda: demonstrate(Story()))


if __name__ == "__main__":
    sys.exit(main())
