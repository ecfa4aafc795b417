# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands about this host's ports: watch, check, attach, detach, status, sync."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from vmmnet.command import output
from vmmnet.command.parser import Parser, subcommand, typed
from vmmnet.command.status import Refused, Status, UsageError
from vmmnet.values import mac

from ..bpf import nic
from ..host import ports
from ..table import kept
from ..table.filestore import table_option
from ..table.store import Store
from ..table.table import Table, TableError
from . import check, options, watch

if TYPE_CHECKING:
    from ..bpf import twin


def add_commands(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """Add them to the command line."""
    live = subcommand(
        subparsers,
        "watch",
        run_watch,
        "show what passes and what is dropped, live",
        "Show the ports of this host's VMs with what passed and what was dropped, and why.",
    )
    options.add_qmp(live)
    live.add_argument(
        "--interval",
        metavar="SECONDS",
        type=typed(_positive),
        default=1.0,
        help="time between two looks (default: %(default)g)",
    )
    live.add_argument(
        "--count",
        metavar="N",
        type=typed(_count),
        default=0,
        help="end after so many looks (default: at Ctrl-C)",
    )

    agree = subcommand(
        subparsers,
        "check",
        run_check,
        "compare the table, the ports and the interfaces",
        "Look for damage in the table, for entries that are odd, and for ports and\n"
        "interfaces of this host that disagree with it; with --store, for hosts whose\n"
        "agent does not follow it, and interfaces of this host in eBPF.\n\n"
        f"The exit status is {Status.FAULTS:d} if there is a fault; notes are no faults.",
    )
    options.add_qmp(agree)
    agree.add_argument(
        "--stuck-after",
        metavar="SECONDS",
        type=typed(_seconds),
        default=30.0,
        help="with --store, how long a host may have an older table than the store, and how long"
        " this waits for those that have (default: %(default)g)",
    )
    options.add_stores(agree)

    attach = subcommand(
        subparsers,
        "attach",
        run_attach,
        "filter an interface of this host by the table, in eBPF",
        "Let only those frames pass an interface that the table allows: for what QEMU\n"
        "never sees, that is taps with vhost-net, macvtaps and veths of containers. On a\n"
        "bridge, it is the host itself that hears and reaches only what the table allows.\n\n"
        "  vmmnet hostvlan attach tap0 52:54:00:12:34:56\n"
        "  vmmnet hostvlan attach br0\n\n"
        "For an attached interface, it adds what is missing.",
    )
    _add_interface(attach)
    attach.add_argument(
        "mac",
        metavar="MAC",
        nargs="?",
        type=typed(mac.parse),
        help="MAC address of the VM or container behind it; a macvtap and a bridge have their own",
    )
    attach.add_argument(
        "--sending",
        choices=("xdp", "tc"),
        default="xdp",
        help="where its frames are stopped: xdp, before anybody reads them; tc, which is"
        " cheaper and enough for a port of a Linux bridge (default: %(default)s)",
    )
    attach.add_argument(
        "--l2-control",
        choices=("on", "off"),
        default="off",
        help="whether it may send layer 2 control protocols to switches, such as STP, LLDP, LACP"
        " and CDP (default: %(default)s)",
    )
    attach.add_argument(
        "--check-sender",
        choices=("on", "off"),
        default="off",
        help="whether senders named inside its ARP, neighbour discovery and IP must be its own, as"
        " the table says (default: %(default)s)",
    )
    for guard, what in (
        ("--ra-guard", "router advertisements only if the table says that it is a router"),
        ("--dhcp-guard", "to clients of DHCP only if the table says that it is a DHCP server"),
    ):
        attach.add_argument(
            guard,
            choices=("on", "off"),
            default="off",
            help=f"whether it may send {what} (default: %(default)s)",
        )
    options.add_table(attach)

    detach = subcommand(
        subparsers,
        "detach",
        run_detach,
        "remove HostVLAN from an interface: everything passes",
        "Remove HostVLAN from an interface. Everything passes it then.",
    )
    _add_interface(detach)

    status = subcommand(
        subparsers,
        "status",
        run_status,
        "show the interfaces that are attached, with counters",
        "Show the interfaces with HostVLAN in eBPF, and what they passed and dropped.",
    )
    _add_interface(status, nargs="?")

    sync = subcommand(
        subparsers,
        "sync",
        run_sync,
        "copy the table to the interfaces with eBPF",
        "Copy the changes of the table to the interfaces with HostVLAN in eBPF. Commands that\n"
        "change it do this by themselves: this one is for a table that was changed by other\n"
        "means, or when a command says that interfaces use an older one.",
    )
    options.add_table(sync)


def _add_interface(parser: argparse.ArgumentParser, nargs: str | None = None) -> None:
    parser.add_argument(
        "interface", metavar="INTERFACE", nargs=nargs, help="network interface of this host"
    )


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ValueError(f"'{text}' is not a number of seconds above 0")
    return number


def _seconds(text: str) -> float:
    return 0.0 if text == "0" else _positive(text)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise ValueError(f"'{text}' is not a number of 1 or more")
    return int(text)


def run_watch(given: argparse.Namespace) -> int:
    """``watch``."""
    return watch.run(given.qmp, given.interval, given.count, given.json)


def run_check(given: argparse.Namespace) -> int:
    """``check``."""
    if given.store and given.table:
        raise UsageError("--table and --store are two places: give one of them")
    progress = output.Progress("checking")
    with options.open_store(given) as place:
        found = [check.fault(problem) for problem in place.problems()]
        damaged = bool(found)
        if not damaged:
            found += check.entries(progress.over(place.entries()))
        found += check.attachments(None) if given.store else _host(given)
        found += check.followers(place.followers(given.stuck_after))
        return _report(found, place, given.json)


def _host(given: argparse.Namespace) -> list[check.Finding]:
    """The findings about this host's table, ports and interfaces."""
    path = options.table_path(given)
    with ports.Monitors(given.qmp) as monitors:
        answering, silent = monitors.ports()
        nics = monitors.nics
    return [
        *check.file(path),
        *check.ports(answering, path),
        *map(check.fault, silent),
        *check.attachments(path),
        *check.bridges(answering, nics),
    ]


def _report(found: list[check.Finding], place: Store, as_json: bool) -> int:
    faults = sum(finding.kind == "fault" for finding in found)
    if as_json:
        listed = [{"kind": finding.kind, "text": finding.text} for finding in found]
        output.print_json({"table": place.name, "faults": faults, "findings": listed})
    else:
        for finding in found:
            print(f"{finding.kind}: {finding.text}")
        if not faults:
            print(f"{place.name}: no fault found")
    return Status.FAULTS if faults else Status.DONE


def run_attach(given: argparse.Namespace) -> int:
    """``attach INTERFACE [MAC]``."""
    from ..bpf import twin

    try:
        attached = twin.attach(
            given.interface,
            given.mac,
            options.table_path(given),
            sending=given.sending,
            l2_control=given.l2_control == "on",
            check_sender=given.check_sender == "on",
            ra_guard=given.ra_guard == "on",
            dhcp_guard=given.dhcp_guard == "on",
        )
    except twin.TwinError as error:
        raise Refused(str(error)) from None
    _print_attachments([attached], given.json)
    if not given.json and nic.is_of_libvirt(attached.interface):
        output.say(
            f"{attached.interface} is a tap of libvirt, which makes another one without HostVLAN"
            " when the VM is saved, or moves: 'vmmnet libvirt protect DOMAIN"
            f" {mac.text(attached.mac)}' has it attached there, too"
        )
    for text in _doubts(attached):
        output.say(f"note: {text}")
    return Status.DONE if attached.whole else Status.REFUSED


def _doubts(attached: twin.Attachment) -> Iterator[str]:
    """Sentences about an attached interface that is perhaps not what was meant."""
    table, number = attached.table, attached.mac
    with contextlib.suppress(TableError), Table.open(table, verify=False) as opened:
        if number not in opened:
            agent = kept.keeper(table)
            how = f" --store {agent.store}" if agent else f" {table_option(table)}".rstrip()
            text = (
                f"{mac.text(number)} is not in the table {table}, so that nothing passes"
                f" {attached.interface}: vmmnet hostvlan add {mac.text(number)} LNID{how}"
            )
            yield f"{text}; and the agent has to know the port, see its --ports" if agent else text
    with ports.Monitors(None) as monitors:
        for port in monitors.ports()[0]:
            if port.interface == attached.interface:
                yield (
                    f"{port.name} checks the frames of {attached.interface} in QEMU already, by the"
                    f" table {port.table}: once is enough, as 'vmmnet hostvlan detach"
                    f" {attached.interface}' makes it"
                )


def run_detach(given: argparse.Namespace) -> int:
    """``detach INTERFACE``."""
    from ..bpf import twin

    try:
        twin.detach(given.interface)
    except twin.TwinError as error:
        raise Refused(str(error)) from None
    if given.json:
        output.print_json({"interface": given.interface, "attached": False})
    else:
        print(f"{given.interface}: detached; everything passes")
    return Status.DONE


def run_status(given: argparse.Namespace) -> int:
    """``status [INTERFACE]``."""
    from ..bpf import twin

    try:
        found = twin.status(given.interface)
    except twin.TwinError as error:
        raise Refused(str(error)) from None
    _print_attachments(found, given.json)
    if not found and not given.json:
        output.say("no interface is attached: see 'vmmnet hostvlan attach --help'")
    return Status.DONE


def run_sync(given: argparse.Namespace) -> int:
    """``sync``."""
    from ..bpf import twin

    path = options.table_path(given)
    try:
        done = twin.sync(path)
    except twin.TwinError as error:
        raise Refused(str(error)) from None
    if given.json:
        output.print_json({"table": str(path), "synced": done.name.lower()})
    else:
        print(f"{path}: {done.value}")
    return Status.DONE


def _print_attachments(found: list[twin.Attachment], as_json: bool) -> None:
    if as_json:
        output.print_json([each.as_json() for each in found])
        return
    for each in found:
        places = [
            hook.place
            + {True: "", False: " (missing)", None: " (unknown)"}[hook.present]
            + (" (not first)" if hook.first is False else "")
            for hook in each.hooks
        ]
        rows = [
            ("interface", each.interface + ("" if each.here else " of another namespace")),
            ("MAC", mac.text(each.mac)),
            *([("l2-control", "on: it may speak to switches")] if each.l2_control else []),
            *([("check-sender", "on: its senders are checked")] if each.check_sender else []),
            *([("ra-guard", "on: only routers advertise")] if each.ra_guard else []),
            *([("dhcp-guard", "on: only DHCP servers answer")] if each.dhcp_guard else []),
            ("table", f"{each.table}, generation {each.generation}"),
            ("programs", ", ".join(places)),
            *(
                (f"{way} {reason}", f"{number:,}")
                for way, counts in (("send", each.send), ("receive", each.receive))
                for reason, number in counts.items()
                if number or reason == ports.PASSED
            ),
        ]
        print("\n".join(output.columns(rows)))
