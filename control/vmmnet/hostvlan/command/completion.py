# SPDX-License-Identifier: GPL-2.0-or-later
"""Values of HostVLAN's arguments, for completion of command lines."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from vmmnet.command.completion import Values
from vmmnet.values import mac

from ..table import layout, lnid
from ..table.filestore import FileStore, default_path
from ..table.table import Table, TableError


def _store(given: argparse.Namespace) -> FileStore:
    return FileStore(getattr(given, "table", None) or default_path())


def _macs(given: argparse.Namespace, _: argparse.ArgumentParser) -> Iterable[str]:
    """MAC addresses of the table."""
    with Table.open(_store(given).path, verify=False) as table:
        keys, values = table.slots()
    pairs = zip(keys, values, strict=True)
    there = (key for key, value in pairs if key and layout.kind(value) != layout.NONE)
    return map(mac.text, sorted(map(layout.mac_of, there)))


def _lnids(given: argparse.Namespace, parser: argparse.ArgumentParser) -> Iterable[str]:
    """LNIDs of the table, or of the MAC address from which they are removed.

    Those that the command line has already are left out.
    """
    store = _store(given)
    numbers: set[int] = set()
    if parser.prog.endswith(" remove") and getattr(given, "mac", None):
        entry = store.get(given.mac)
        numbers.update(entry.lnids if entry else ())
    else:
        numbers.update(number for entry in store.entries() for number in entry.lnids)
        numbers.add(lnid.GLOBAL)
    numbers.difference_update(getattr(given, "lnids", None) or ())
    return map(lnid.text, sorted(numbers))


def _addresses(given: argparse.Namespace, _: argparse.ArgumentParser) -> Iterable[str]:
    """IP addresses of the MAC address on the command line: those that can be removed."""
    entry = _store(given).get(given.mac) if getattr(given, "mac", None) else None
    return map(str, entry.addresses) if entry else []


def _interfaces(_: argparse.Namespace, __: argparse.ArgumentParser) -> Iterable[str]:
    """Network interfaces of this namespace."""
    return sorted(path.name for path in Path("/sys/class/net").iterdir())


def _of_this_host(find: Values) -> Values:
    """Find nothing for a store in etcd, and nothing without a table."""

    def found(given: argparse.Namespace, parser: argparse.ArgumentParser) -> Iterable[str]:
        if getattr(given, "store", None):
            return []
        try:
            return find(given, parser)
        except TableError:
            return []

    return found


#: What finds the values of an argument, by its name in the help.
VALUES = {
    "MAC": _of_this_host(_macs),
    "LNID": _of_this_host(_lnids),
    "ADDRESS": _of_this_host(_addresses),
    "INTERFACE": _of_this_host(_interfaces),
}
