# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt``: its sub-commands, and how they end."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vmmnet.command.parser import Parser, subcommand, typed
from vmmnet.command.status import Refused, Status, UsageError, carry_out, refuse
from vmmnet.values import mac

_BRIEF = "networks of libvirt's domains, from one element in their XML"
_TEXT = f"""\
A domain says in its metadata what network it has:

  <metadata>
    <vmmnet:net xmlns:vmmnet='https://vmmnet.example/net/1'>
      <vmmnet:sockets address6='2001:db8:1::c0de'/>
      <vmmnet:interface mac='52:54:00:12:34:56' hostvlan='/var/lib/vmmnet/lnid.table'/>
    </vmmnet:net>
  </metadata>

'define' makes of it what libvirt and QEMU take, in place of 'virsh define'.

  vmmnet libvirt define --print guest.xml         what it comes to
  vmmnet libvirt check guest.xml                  what would fail on this host
  vmmnet libvirt define guest.xml
  virsh start guest
  vmmnet libvirt show guest

exit status: {Status.DONE:d}  done
             {Status.REFUSED:d}  it cannot be done; what is said tells why
             {Status.FAULTS:d}  'check' has found a fault
             {Status.USAGE:d}  the command line is wrong
             {Status.UNWRITTEN:d}  the answer could not be written
             {Status.INTERRUPTED:d}  interrupted
environment: LIBVIRT_DEFAULT_URI, the daemon, as for virsh
"""
_DEFINE = """\
Define a domain, or define it anew: expand <vmmnet:net> of the file into devices, words for
QEMU and places in PCI, give the result to libvirt, and look that it has kept all of it.
A file without <uuid> is about the domain that has its name, if there is one. To change
a domain:

  virsh dumpxml --inactive --security-info guest >guest.xml
  vmmnet libvirt define guest.xml

What an earlier expansion has made is replaced; all else stays as it is in the file.
"""
_SHOW = """\
Show what <vmmnet:net> of a domain asks for, and how the domain stands: whether it is so
('drift'), what the hook has claimed of this host for it, what the hook did of late and
with what result, and what its devices say.
'virsh edit' changes the element without what it comes to: 'define' follows.
Run it as root, as vmmnet-hostd tells nobody else.
"""

_CHECK = f"""\
Find what of a domain with <vmmnet:net> will fail on this host, before it does: the emulator
and what it lacks, files that QEMU's user cannot read, addresses, limits. Each finding has
its remedy in the line below it.

DOMAIN is one of the daemon; FILE, which has a '/' in it or ends in .xml ('-': stdin), is
what 'define' takes. No daemon is asked about a file, but with --connect for its version
and for other domains with the same address6.
Run it as root, as only root may look at all of a host.

The exit status is {Status.FAULTS:d} if there is a fault; notes are no faults.
"""
_PROTECT = """\
Put HostVLAN in eBPF onto the host's interface of a running domain's NIC, and write the NIC
into the domain's <vmmnet:net>, so that it keeps HostVLAN when the domain is saved and
restored, or moves: the hook attaches it there before QEMU runs. For a NIC that was plugged in:

  virsh attach-device guest nic.xml               # with <link state='down'/>
  vmmnet libvirt protect guest 52:54:00:12:34:57
  virsh domif-setlink guest 52:54:00:12:34:57 up

The definition gets it, too, if it has the NIC. Run it as root.
"""
_ROTATE = """\
Let a running domain's QEMU write its audit log (audit= of <vmmnet:sockets>) to a new file of
the same name. The former file is FILE.1, the one before FILE.2, and so on. No line is lost
or divided. For logrotate, or a timer:

  vmmnet libvirt rotate guest --keep 14

Run it as root.
"""


def add_command(rooms: argparse._SubParsersAction[Parser]) -> None:
    """Add ``libvirt`` to the command ``vmmnet``."""
    parser = rooms.add_parser("libvirt", help=_BRIEF, description=_TEXT)
    parser.set_defaults(execute=execute)
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    parser = subcommand(
        subparsers, "define", _define, "make a domain of a file with the element", _DEFINE
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="the domain's XML; '-': stdin")
    _add_connect(parser)
    parser.add_argument(
        "--print", action="store_true", help="print the expansion; no daemon is asked"
    )
    parser = subcommand(
        subparsers, "check", _check, "find what of a domain will fail on this host", _CHECK
    )
    action = parser.add_argument(
        "subject", metavar="DOMAIN|FILE", help="a domain's name or UUID, or its XML"
    )
    action.completer = _domains_and_files  # type: ignore[attr-defined]
    _add_connect(parser)
    _add_protect(subparsers)
    parser = subcommand(
        subparsers, "rotate", _rotate, "another file for a domain's audit log", _ROTATE
    )
    action = parser.add_argument("domain", metavar="DOMAIN", help="its name or UUID")
    action.completer = _domains  # type: ignore[attr-defined]
    parser.add_argument(
        "--keep",
        metavar="N",
        type=typed(_positive),
        default=7,
        help="former files that stay (default 7)",
    )
    _add_connect(parser)
    parser = subcommand(subparsers, "show", _show, "state of a domain", _SHOW)
    action = parser.add_argument("domain", metavar="DOMAIN", nargs="?", help="its name or UUID")
    action.completer = _domains  # type: ignore[attr-defined]
    parser.add_argument("--all", action="store_true", help="all domains that have the element")
    _add_connect(parser)


def _add_protect(subparsers: argparse._SubParsersAction[Parser]) -> None:
    parser = subcommand(
        subparsers, "protect", _protect, "HostVLAN for a NIC of a running domain", _PROTECT
    )
    action = parser.add_argument("domain", metavar="DOMAIN", help="its name or UUID")
    action.completer = _domains  # type: ignore[attr-defined]
    parser.add_argument("mac", metavar="MAC", type=typed(mac.parse), help="the NIC's MAC address")
    parser.add_argument(
        "--table",
        metavar="FILE",
        type=Path,
        help="HostVLAN's table (default: that of the domain's other NICs, or HostVLAN's default)",
    )
    for option in ("check-sender", "l2-control", "ra-guard", "dhcp-guard"):
        text = f"as {option} of <vmmnet:interface>"
        parser.add_argument(f"--{option}", choices=("on", "off"), help=text)
    _add_connect(parser)


def execute(given: argparse.Namespace) -> int:
    """Run the sub-command of a parsed command line; returns its exit status."""
    try:
        return carry_out(given)
    except Refused as error:
        return refuse(given, "libvirt", str(error))


def _add_connect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--connect",
        metavar="URI",
        help="the daemon, like qemu:///system (default: the one that virsh takes)",
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise ValueError(f"'{text}' is no number from 1 to 1000")
    return int(text)


def _define(given: argparse.Namespace) -> int:
    if given.print and given.connect is not None:
        raise UsageError("--print asks no daemon: leave --connect out")
    return _run("define", given)


def _check(given: argparse.Namespace) -> int:
    return _run("check", given)


def _protect(given: argparse.Namespace) -> int:
    return _run("protect", given)


def _rotate(given: argparse.Namespace) -> int:
    return _run("rotate", given)


def _show(given: argparse.Namespace) -> int:
    return _run("show", given)


def _run(module: str, given: argparse.Namespace) -> int:
    """Import a module and call its ``run``, so that other rooms do not need its packages."""
    try:
        loaded: Any = importlib.import_module(f".{module}", __package__)
        return int(loaded.run(given))
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("lxml"):
            raise
        raise Refused(
            "needs Python's package lxml: apt install python3-lxml, or pip install lxml"
        ) from None


def _domains(parsed_args: Any, **_: Any) -> Iterable[str]:
    """Names of domains, for the shell's completion."""
    from vmmnet import libvirtd

    try:
        with libvirtd.opened(getattr(parsed_args, "connect", None)) as daemon:
            return daemon.names()
    except Refused:
        return []


def _domains_and_files(prefix: str, parsed_args: Any, **_: Any) -> Iterable[str]:
    """Domains, or files if the word looks like one."""
    from vmmnet.command import completion

    return completion.files(prefix) if "/" in prefix else _domains(parsed_args)
