# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hosts are behind the store: pure functions of the keys for and from the hosts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from vmmnet.etcd.client import KeyValue
from vmmnet.values import mac as macs

from . import report as reports
from .keys import BadValue, Keys, decode_ready, mac_of
from .report import Report


@dataclass(slots=True)
class Host:
    """A host that has, or had, an agent."""

    name: str
    #: The last report of its agent; None: there is none (an agent of an older version).
    report: Report | None = None
    #: The lease that it keeps while it follows the store; 0: it does not follow.
    lease: int = 0

    def is_behind(self, revision: int) -> bool:
        """Whether it follows the store, but its table is older than this revision."""
        return bool(self.lease) and self.report is not None and self.report.revision < revision


@dataclass(slots=True)
class Hosts:
    """The result of ``read()``."""

    #: The revision of the last change of an entry; 0: unknown.
    revision: int = 0
    #: Hosts that have, or had, an agent, sorted by name.
    known: list[Host] = field(default_factory=list)
    #: Hosts that follow the store, each with a MAC for which it is not ready yet.
    unready: list[tuple[str, int]] = field(default_factory=list)
    #: Sentences about keys that no program of ours writes.
    bad: list[str] = field(default_factory=list)

    @property
    def gone(self) -> list[Host]:
        """Hosts whose agents no longer follow the store."""
        return [each for each in self.known if not each.lease]

    def behind(self, revision: int) -> list[Host]:
        """Hosts that follow the store, but whose tables are older than this revision."""
        return [each for each in self.known if each.is_behind(revision)]


def read(keys: Keys, changed: int, told: Iterable[KeyValue], said: Iterable[KeyValue]) -> Hosts:
    """Compare both parts of ``Keys.hosts``, which were read at one revision.

    ``changed``: the revision of the last change of an entry.
    """
    known: dict[str, Host] = {}
    leases: dict[str, int] = {}
    ready: dict[bytes, int] = {}
    for kv in said:
        name = keys.host_of(kv.key)
        if kv.key == keys.agent(name):
            known[name] = Host(name, reports.decode(kv.value))
        elif kv.key == keys.alive(name):
            leases[name] = kv.lease
        else:
            ready[kv.key] = decode_ready(kv.value)
    for name, host in known.items():
        host.lease = leases.get(name, 0)
    result = Hosts(changed, sorted(known.values(), key=lambda host: host.name))
    gone = {each.name for each in result.gone}
    for kv in told:
        name = keys.host_of(kv.key)
        try:
            mac = mac_of(kv.key)
        except BadValue as error:
            result.bad.append(f"{error}: delete it with 'etcdctl del'")
            continue
        # A host that is gone is in Hosts.gone already.
        if name not in gone and ready.get(keys.ready(name, mac)) != kv.mod_revision:
            result.unready.append((name, mac))
    return result


def sentences(keys: Keys, found: Hosts) -> Iterator[str]:
    """Sentences about hosts that are gone or not ready, with what to do."""
    yield from found.bad
    for host in found.gone:
        own = keys.status(host.name).key.decode()
        yield (
            f"{host.name}: its agent does not follow the store, and its table is old: see"
            f" 'systemctl status vmmnet-hostvlan-agent' there; if {host.name} no longer exists,"
            f" 'etcdctl del --prefix {own}'"
        )
    for name, mac in found.unready:
        yield (
            f"{name} has to be ready for {macs.text(mac)} and has not reported that it is: see"
            " the log of its agent, unless a move is under way"
        )


def stuck(behind: Iterable[Host], revision: int, seconds: float) -> Iterator[str]:
    """Sentences about hosts whose tables have been behind for this many seconds."""
    for host in behind:
        held = host.report.revision if host.report is not None else 0
        why = "; ".join(host.report.errors) if host.report is not None else ""
        yield (
            f"{host.name} is stuck: its table has the changes of the store up to revision"
            f" {held}, {seconds:g} s after revision {revision}:"
            f" {why or 'see the log of its agent'}"
        )
