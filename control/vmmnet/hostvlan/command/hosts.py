# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet hostvlan hosts``: the hosts that use a table in etcd, and their state."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from vmmnet.command import output
from vmmnet.command.parser import Parser, subcommand
from vmmnet.command.status import Refused, Status, UsageError

from . import options

if TYPE_CHECKING:
    from ..etcd.hosts import Host
    from ..etcd.store import EtcdStore

_HEADS = ("host", "state", "since", "heard", "revision", "MACs", "ports")


def add_command(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """Add ``hosts`` to the sub-commands."""
    parser = subcommand(
        subparsers,
        "hosts",
        run,
        "show the hosts that use a table in etcd, and their state",
        "Show each host that has had an agent: whether it follows the table in etcd, since\n"
        "when, when it was heard of last, up to which revision of etcd its own table has all\n"
        "changes, and what it cannot do.\n\n"
        "  follows   its table is that of etcd\n"
        "  behind    its table is older: for a moment after a change, or it is stuck, which\n"
        "            'vmmnet hostvlan check --store' finds out\n"
        "  gone      its agent does not follow any more; its table is an old one",
    )
    options.add_stores(parser)


def run(given: argparse.Namespace) -> int:
    """``hosts``."""
    if not given.store:
        path = options.table_path(given)
        raise Refused(
            f"{path} is a table of this host alone, by which QEMU goes itself, without an agent:"
            " 'check' tells whether it does; 'hosts' is about a table in etcd, see --store"
        )
    if given.table:
        raise UsageError("--table and --store are two places: give one of them")
    from ..etcd.store import EtcdStore

    with EtcdStore(options.store_config(given)) as store:
        store.require_table()
        found = store.hosts()
        shown = [_as_json(host, found.revision, store) for host in found.known]
        if given.json:
            output.print_json({"table": store.name, "revision": found.revision, "hosts": shown})
            return Status.DONE
        if not shown:
            output.say(f"no host has had an agent with the table {store.name}")
            return Status.DONE
        print("\n".join(output.columns([_HEADS, *(_row(each, found.revision) for each in shown)])))
        for each in shown:
            for error in each["errors"]:
                print(f"{each['host']}: {error}")
    return Status.DONE


def _as_json(host: Host, revision: int, store: EtcdStore) -> dict[str, Any]:
    """A host as JSON."""
    unheard = store.unheard(host)
    report = host.report
    state = "follows"
    if unheard is None:
        state = "gone"
    elif host.is_behind(revision):
        state = "behind"
    return {
        "host": host.name,
        "state": state,
        "since": report.since if report else None,
        # For a host that is gone: the time of its last report, by its own clock.
        "said": report.at if report else None,
        "unheard": unheard,
        "revision": report.revision if report else None,
        "entries": report.entries if report else None,
        "ports": report.ports if report else None,
        "errors": list(report.errors) if report else [],
    }


def _row(shown: dict[str, Any], revision: int) -> tuple[str, ...]:
    """A host as a row of the list."""
    unheard = shown["unheard"]
    heard = f"{unheard} s ago" if unheard is not None else _time(shown["said"])
    held = _number(shown["revision"])
    if shown["revision"] is not None and shown["revision"] < revision:
        held = f"{held} of {revision}"
    since = _time(shown["since"])
    numbers = (_number(shown["entries"]), _number(shown["ports"]))
    return (shown["host"], shown["state"], since, heard, held, *numbers)


def _number(number: int | None) -> str:
    return "-" if number is None else str(number)


def _time(seconds: int | None) -> str:
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) if seconds else "-"
    except (OverflowError, ValueError, OSError):
        # A host's clock can be wrong by any amount.
        return "-"
