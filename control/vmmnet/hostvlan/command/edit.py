# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that change a table: add, set, remove, import."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Self

from vmmnet.command import output
from vmmnet.command.parser import Parser, subcommand
from vmmnet.command.status import Refused, Status, UsageError
from vmmnet.etcd.errors import StoreError
from vmmnet.values import mac

from ..table import claim, exchange, further, lnid, offer
from ..table.entry import Entry
from ..table.filestore import FileStore, sync_command
from ..table.store import Changed, Loaded, Store, StoreMissing
from ..table.table import TableError, TableMissing
from . import check, options, wording

# How many MACs similar to an unknown one are listed.
_NEAR = 3
# In how many of their twelve digits similar MACs may differ.
_SLIPS = 2


def add_commands(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """Add them to the command line."""
    add = subcommand(
        subparsers,
        "add",
        run_add,
        "put a MAC address into logical networks",
        "Put a MAC address into logical networks, beside those that it is in.\n\n"
        "  vmmnet hostvlan add 52:54:00:12:34:56 7\n"
        "  vmmnet hostvlan add 52:54:00:12:34:56 7 8 --address 192.0.2.1\n\n"
        "The table is made when there is none. VMs see the change at once.",
    )
    options.add_mac(add)
    options.add_lnids(add, "+")
    options.add_address(
        add, "an IP address that is its own, or a prefix of them, for ports that check senders"
    )
    options.add_offers(add, "it may send {}: for ports with a guard")
    options.add_also(add, "a MAC address with which its port may send as well, such as VRRP's")
    options.add_stores(add)

    replace = subcommand(
        subparsers,
        "set",
        run_set,
        "set the logical networks of a MAC address",
        "Put a MAC address into these logical networks and no others.\n\n"
        "Its IP addresses and all else stay, unless an option changes them.",
    )
    options.add_mac(replace)
    options.add_lnids(replace, "+")
    addresses = replace.add_mutually_exclusive_group()
    addresses.add_argument("--no-addresses", action="store_true", help="it has no IP addresses")
    options.add_address(addresses, "its IP addresses or prefixes are these and no others")
    options.add_offers(replace, "it may send {}", no=True)
    others = replace.add_mutually_exclusive_group()
    others.add_argument(
        "--no-also", action="store_true", help="its port may send only with its own MAC address"
    )
    options.add_also(others, "its port may send with this MAC address as well, and no others")
    options.add_stores(replace)

    remove = subcommand(
        subparsers,
        "remove",
        run_remove,
        "take a MAC address out of some or of all logical networks",
        "Take a MAC address out of these logical networks; without any, out of the table.\n"
        "With --address, --router, --dhcp-server or --also alone it loses that and stays where\n"
        "it is.",
    )
    options.add_mac(remove)
    options.add_lnids(remove, "*")
    # Also addresses that only older versions have accepted can be removed.
    options.add_address(remove, "an IP address or prefix to remove", known=True)
    options.add_offers(remove, "it may no longer send {}")
    options.add_also(remove, "a MAC address with which its port may no longer send")
    options.add_stores(remove)

    load = subcommand(
        subparsers,
        "import",
        run_import,
        "read many MAC addresses from a file",
        "Read MAC addresses with their LNIDs from a file, CSV or JSON, all or none.\n"
        "Those that are not in the file stay as they are, unless --replace is given.\n"
        "With --replace, a file without any MAC address is refused, unless --allow-empty\n"
        "is given, too. --dry-run prints what would change.\n\n"
        "  mac,lnids,addresses,offers,also\n"
        "  52:54:00:12:34:56,7 8,192.0.2.1\n"
        "  52:54:00:12:34:57,global,,router dhcp-server,00:00:5e:00:01:0a\n",
    )
    load.add_argument("file", metavar="FILE", help="the file; '-' is the standard input")
    add_format(load)
    load.add_argument(
        "--replace", action="store_true", help="remove the MAC addresses that are not in the file"
    )
    load.add_argument(
        "--allow-empty",
        action="store_true",
        help="with --replace, take a file without any MAC address: remove all in the table",
    )
    load.add_argument(
        "--dry-run", action="store_true", help="print what would change, and change nothing"
    )
    options.add_stores(load)


def add_format(parser: argparse.ArgumentParser) -> None:
    """The option for the format of a file."""
    parser.add_argument(
        "--format", choices=exchange.FORMATS, help="the format (default: by the file's name)"
    )


@dataclass(frozen=True, slots=True)
class _Said:
    """The content for a MAC from a command line, without duplicates."""

    lnids: frozenset[int]
    addresses: frozenset[claim.Claim]
    #: The offers that are given, and those that are taken away.
    offers: int = 0
    no_offers: int = 0
    also: frozenset[int] = frozenset()

    @classmethod
    def of(cls, given: argparse.Namespace) -> Self:
        """Read the options; raises UsageError."""
        try:
            lnids = lnid.check(given.lnids) if given.lnids else ()
            claim.check(*claim.split(given.address))
            also = further.check(given.mac, given.also)
        except ValueError as error:
            raise UsageError(str(error)) from None
        said = {word: getattr(given, word.replace("-", "_")) for word in offer.WORDS}
        return cls(
            frozenset(lnids),
            frozenset(given.address),
            offer.parse(word for word, on in said.items() if on),
            offer.parse(word for word, on in said.items() if on is False),
            frozenset(also),
        )

    @classmethod
    def before(cls, entry: Entry) -> Self:
        """The content of an entry."""
        return cls(
            frozenset(entry.lnids),
            frozenset(entry.addresses),
            entry.offers,
            also=frozenset(entry.also),
        )

    def entry(self, number: int) -> Entry:
        """Make an entry for a table; raises Refused."""
        try:
            families = claim.split(self.addresses)
            return Entry.of(number, self.lnids, *families, self.offers, [*self.also])
        except ValueError as error:
            raise Refused(f"{mac.text(number)}: {error}") from None


def run_add(given: argparse.Namespace) -> int:
    """``add MAC LNID…``."""
    said = _Said.of(given)

    def change(number: int, before: Entry | None) -> Entry:
        if before is None:
            return said.entry(number)
        old = _Said.before(before)
        return _Said(
            said.lnids | old.lnids,
            said.addresses | old.addresses,
            said.offers | old.offers,
            also=said.also | old.also,
        ).entry(number)

    return _edit(given, change, create=True)


def run_set(given: argparse.Namespace) -> int:
    """``set MAC LNID…``."""
    said = _Said.of(given)

    def change(number: int, before: Entry | None) -> Entry:
        if before is None:
            return said.entry(number)
        old = _Said.before(before)
        return _Said(
            said.lnids,
            said.addresses if said.addresses or given.no_addresses else old.addresses,
            (old.offers | said.offers) & ~said.no_offers,
            also=said.also if said.also or given.no_also else old.also,
        ).entry(number)

    def anew(number: int) -> Entry | None:
        return said.entry(number)

    # The addresses of a damaged entry are unknown, so they cannot stay.
    whole = bool(said.addresses) or given.no_addresses
    return _edit(given, change, create=True, anew=anew if whole else None)


def run_remove(given: argparse.Namespace) -> int:
    """``remove MAC [LNID…]``."""
    said = _Said.of(given)

    def change(number: int, before: Entry | None) -> Entry | None:
        if before is None:
            raise Refused(unknown(number, store))
        strangers = said.lnids.difference(before.lnids)
        if strangers:
            raise Refused(
                f"{mac.text(number)} is not in {lnid.named(sorted(strangers))};"
                f" it is in {lnid.named(before.lnids)}"
            )
        foreign = said.addresses.difference(before.addresses)
        if foreign:
            raise Refused(
                f"{mac.text(number)} does not have the address {min(map(str, foreign))};"
                f" it has {', '.join(map(str, before.addresses)) or 'none'}"
            )
        _refuse_to_take(said, before)
        old = _Said.before(before)
        left = old.lnids - said.lnids
        if not left or whole:
            return None
        addresses = old.addresses - said.addresses
        offers = old.offers & ~said.offers
        return _Said(left, addresses, offers, also=old.also - said.also).entry(number)

    store = options.open_store(given)
    whole = not (said.lnids or said.addresses or said.offers or said.also)
    return _edit(given, change, store=store, anew=(lambda _: None) if whole else None)


def _refuse_to_take(said: _Said, before: Entry) -> None:
    """Raise Refused if the entry does not have what is to be removed."""
    missing = offer.words(said.offers & ~before.offers)
    if missing:
        raise Refused(f"{mac.text(before.mac)} is no {missing[0]}")
    foreign = said.also.difference(before.also)
    if foreign:
        raise Refused(
            f"the port of {mac.text(before.mac)} does not send as {mac.text(min(foreign))};"
            f" beside its own it does as {', '.join(map(mac.text, before.also)) or 'none'}"
        )


def _edit(
    given: argparse.Namespace,
    change: Callable[[int, Entry | None], Entry | None],
    *,
    create: bool = False,
    store: Store | None = None,
    anew: Callable[[int], Entry | None] | None = None,
) -> int:
    with store or options.open_store(given, create=create) as place:
        if isinstance(place, FileStore):
            place.anew = anew
        (changed,) = place.edit([given.mac], change)
        tell_made(place)
        result = {
            "table": place.name,
            "mac": mac.text(changed.mac),
            "changed": changed.before != changed.after or changed.damaged,
            "before": exchange.entry_or_null(changed.before),
            "after": exchange.entry_or_null(changed.after),
        }
        if note := _unchecked(changed) or _unheard(changed, place):
            result["note"] = note
        return finish(place, result, describe(changed), given.json, note=note)


def describe(changed: Changed) -> str:
    """A sentence about the change of a MAC."""
    spelled, before, after = mac.text(changed.mac), changed.before, changed.after
    if changed.damaged:
        now = f"in {_content(after)}" if after else "removed"
        return f"{spelled}: {now}; what it had was damaged"
    if after is None:
        return f"{spelled}: removed" + (f"; was in {_content(before)}" if before else "")
    if before is None:
        return f"{spelled}: new, in {_content(after)}"
    if before == after:
        return f"{spelled}: in {_content(after)} already; nothing changed"
    return f"{spelled}: in {_content(after)}; was in {_content(before)}"


def _unchecked(changed: Changed) -> str:
    """A sentence for a MAC that has lost its last IP address; empty: it has not."""
    before, after = changed.before, changed.after
    if before is None or after is None or not before.addresses or after.addresses:
        return ""
    return (
        f"{mac.text(changed.mac)} has no IP address any more: a port with check-sender=on lets it"
        " send from any, not from none; 'add' with --address says which are its own"
    )


def _unheard(changed: Changed, place: Store) -> str:
    """A sentence for a port with a new further MAC that is not in the table; else empty."""
    before, after = changed.before, changed.after
    if after is None:
        return ""
    new = set(after.also).difference(before.also if before else ())
    try:
        missing = [each for each in sorted(new) if place.get(each) is None]
    except (TableError, StoreError):
        # The change is made; 'check' reports other damage.
        return ""
    return check.unheard(after.mac, missing[0]) if missing else ""


def _content(entry: Entry) -> str:
    addresses = ", ".join(map(str, entry.addresses))
    text = lnid.named(entry.lnids) + (f" with {addresses}" if addresses else "")
    more = wording.more(entry)
    return f"{text}, {more}" if more else text


def tell_made(place: Store) -> None:
    """Say that a table was made: the path may be a typing error."""
    if isinstance(place, FileStore) and place.created:
        output.say(f"made the table {place.name}: start QEMU with hostvlan,table={place.name}")
    elif place.created:
        there = f"; there is one at {' and '.join(place.others)} already" if place.others else ""
        output.say(
            f"made the table {place.name}: an agent follows it whose --store has the same"
            f" prefix{there}"
        )


def finish(
    place: Store, result: dict[str, object], text: str, as_json: bool, *, note: str = ""
) -> int:
    """Copy a change to the interfaces with eBPF, and print what was done."""
    complaint = _sync(place)
    if as_json:
        output.print_json({**result, "error": complaint} if complaint else result)
    else:
        print(text)
        if note:
            output.say(f"note: {note}")
        if complaint:
            output.say(f"vmmnet hostvlan: {complaint}")
    return Status.BEHIND if complaint else Status.DONE


def _sync(place: Store) -> str:
    """Copy a table to this host's interfaces; returns a sentence if that fails."""
    if not isinstance(place, FileStore):
        return ""
    from ..bpf import twin

    try:
        # The change has checked the file already.
        twin.sync(place.path, check=False)
    except twin.TwinError as error:
        return (
            f"the table is changed, but interfaces with eBPF may use an older one: {error};"
            f" when that is repaired, run '{sync_command(place.path)}'"
        )
    return ""


def unknown(number: int, place: Store) -> str:
    """A sentence about a MAC that is not in the table, with similar ones that are."""
    text = f"{mac.text(number)} is not in the table {place.name}"
    near = place.near(number, _SLIPS)[:_NEAR] if isinstance(place, FileStore) else []
    return f"{text}; near it: {', '.join(map(mac.text, near))}" if near else text


def run_import(given: argparse.Namespace) -> int:
    """``import FILE``."""
    name = "standard input" if given.file == "-" else given.file
    try:
        # Read all of it first: a slow writer of the pipe must not hold up the lock.
        text = sys.stdin.read() if given.file == "-" else Path(given.file).read_text("utf-8-sig")
    except OSError as error:
        raise Refused(f"{name}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Refused(f"{name}: octet {error.start} is not text in UTF-8") from None
    form = given.format or exchange.guess(name, text)
    progress = output.Progress("importing", text.count("\n"))
    with options.open_store(given, create=True) as place:
        try:
            entries = _not_empty(exchange.read(text, name, form), name, given)
            if given.dry_run:
                return _tell(place, entries, given)
            loaded = place.load(entries, replace=given.replace, progress=progress)
        except exchange.BadFile as error:
            raise Refused(f"{error}\nnothing is imported") from None
        finally:
            progress.end()
        tell_made(place)
        return finish(place, _counts(place, loaded), _summary(loaded, "imported"), given.json)


def _not_empty(entries: Iterator[Entry], name: str, given: argparse.Namespace) -> Iterator[Entry]:
    """Raise Refused if --replace would empty the table and --allow-empty is not given."""
    first = next(entries, None)
    if first is None and given.replace and not given.allow_empty:
        raise Refused(
            f"{name}: there is no MAC address in it, and --replace would remove all that are in"
            " the table: --allow-empty does that; nothing is imported"
        )
    return entries if first is None else chain([first], entries)


def _counts(place: Store, loaded: Loaded) -> dict[str, object]:
    return {
        "table": place.name,
        "added": loaded.added,
        "changed": loaded.changed,
        "removed": loaded.removed,
        "unchanged": loaded.unchanged,
    }


def _summary(loaded: Loaded, done: str) -> str:
    total = loaded.added + loaded.changed + loaded.unchanged
    return (
        f"{wording.macs(total)} {done}: {loaded.added:,} new, {loaded.changed:,} changed,"
        f" {loaded.unchanged:,} as before; {loaded.removed:,} removed"
    )


def _tell(place: Store, entries: Iterable[Entry], given: argparse.Namespace) -> int:
    """Print what an import would change."""
    after = {entry.mac: entry for entry in entries}
    try:
        before = {entry.mac: entry for entry in place.entries()}
    except (TableMissing, StoreMissing):
        before = {}
    gone = before.keys() - after.keys() if given.replace else set()
    changes = [
        Changed(number, before.get(number), after.get(number))
        for number in sorted(after.keys() | gone)
        if before.get(number) != after.get(number)
    ]
    added = len(after.keys() - before.keys())
    changed = len(changes) - added - len(gone)
    loaded = Loaded(added, changed, len(gone), unchanged=len(after) - added - changed)
    if given.json:
        listed = [
            {
                "mac": mac.text(each.mac),
                "before": exchange.entry_or_null(each.before),
                "after": exchange.entry_or_null(each.after),
            }
            for each in changes
        ]
        output.print_json({**_counts(place, loaded), "dry_run": True, "changes": listed})
        return Status.DONE
    for each in changes:
        print(describe(each))
    print(f"nothing is changed; without --dry-run: {_summary(loaded, 'imported')}")
    return Status.DONE
