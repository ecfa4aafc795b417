# SPDX-License-Identifier: GPL-2.0-or-later
"""The command ``vmmnet``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vmmnet import VERSION
from vmmnet.architecture import HOST
from vmmnet.command import output
from vmmnet.command.parser import Parser
from vmmnet.command.status import Status
from vmmnet.confine import audit, policy
from vmmnet.cvsw import command as cvsw
from vmmnet.daemons import command as daemons
from vmmnet.guestimage import command as guestimage
from vmmnet.hostvlan.command import main as hostvlan
from vmmnet.libvirt import command as libvirt

if TYPE_CHECKING:
    from vmmnet.command.completion import Completer

_TEXT = """\
The control plane of vmmnet, the network inside QEMU. A ROOM is a part of vmmnet that has
commands here:

  vmmnet help ROOM             what it is for, and its commands
  vmmnet help ROOM COMMAND     what a command does, and its options
  vmmnet show [DAEMON]         what each daemon of this host has; also as JSON
  vmmnet metrics [DAEMON]      what they have counted

Other parts are programs of their own: vmmnet-dnsd and vmmnet-zone (DNS), vmmnet-ha (the home
agent of Mobile IPv6), vmmnet-hostd (moves addresses), vmrpc-ss (in a guest). What QEMU does
is in its options: -device virtio-vmrpc-pci, -device virtio-net-cvsw-pci, -netdev hostvlan,
-netdev mip6; see vmmnet-qemu(7).
"""

_DNS = "DNS is served by the program vmmnet-dnsd: docs/dnsd.md"
_ZONE = "images of zones are made by the program vmmnet-zone: docs/dns-zone.md"
_HA = "the home agent of Mobile IPv6 is the program vmmnet-ha: docs/vmmnet-ha.md"
_MIP6 = "Mobile IPv6 is an option of QEMU, -netdev mip6, and the program vmmnet-ha: docs/mip6.md"
_HOSTD = "the helper that moves addresses is the program vmmnet-hostd: docs/hostd.md"
_VMRPC = (
    "outsourced sockets are an option of QEMU, -device virtio-vmrpc-pci: docs/virtio-vmrpc.md;"
    " in a guest, vmrpc-ss shows them; 'vmmnet audit' and 'vmmnet policy' are for log and policy"
)
_QEMU = f"the emulator is the program {HOST.emulator.name}: docs/packages.md"
_MAKE = "that is a target of the sources' Makefile: 'make {}' there"
#: Rooms of vmmnet, and words of its README, that are no rooms of this command.
ELSEWHERE = {
    **dict.fromkeys(("dns", "dnsd", "resolver"), _DNS),
    "zone": _ZONE,
    **dict.fromkeys(("ha", "home-agent"), _HA),
    **dict.fromkeys(("mip6", "mobile-ipv6"), _MIP6),
    "hostd": _HOSTD,
    **dict.fromkeys(("vmrpc", "virtio-vmrpc", "ss"), _VMRPC),
    "qemu": _QEMU,
    **{word: _MAKE.format(word) for word in ("run", "check", "bench", "deb", "install")},
    "version": "it is an option: vmmnet --version",
}


def parser() -> Parser:
    """The command line."""
    result = Parser(prog="vmmnet", description=_TEXT)
    result.elsewhere = ELSEWHERE
    result.add_argument("--version", action="version", version=f"vmmnet {VERSION}")
    rooms = result.add_subparsers(metavar="ROOM", required=True, title="rooms")
    for room in (audit, cvsw, guestimage, hostvlan, libvirt, policy):
        room.add_command(rooms)
    daemons.add_commands(rooms)
    return result


def completer() -> Completer:
    """What completes the values of arguments."""
    from vmmnet.command.completion import named
    from vmmnet.hostvlan.command.completion import VALUES

    return named(VALUES)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit status."""
    try:
        with output.checked():
            return _run(list(sys.argv[1:] if arguments is None else arguments))
    except output.ReaderGone:
        return Status.DONE
    except output.Unwritten as error:
        output.say(f"vmmnet: the answer cannot be written: standard output: {error}")
        return Status.UNWRITTEN
    finally:
        output.end_errors()


def _asked(words: list[str]) -> list[str]:
    """A command line with "help" among its commands, as argparse knows it."""
    if "help" not in words[:2]:
        return words
    words.remove("help")
    return [*words[:2], "--help"]


def _run(words: list[str]) -> int:
    line = parser()
    if "_ARGCOMPLETE" in os.environ:
        # Only a shell that asks waits for argcomplete.
        from vmmnet.command.completion import Finder

        Finder()(line, default_completer=completer())
    given = line.parse_args(_asked(words))
    status: int = given.execute(given)
    return status


if __name__ == "__main__":
    sys.exit(main())
