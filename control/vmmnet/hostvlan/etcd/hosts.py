# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hosts do not go by the store as it is, from what they are told and say: pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from vmmnet.etcd.client import KeyValue

from ..table import mac as macs
from . import word as etcdword
from .keys import BadValue, Keys, decode_ready, mac_of
from .word import Word


@dataclass(slots=True)
class Host:
    """A host that has or has had an agent."""

    name: str
    #: What its agent has said last; None: nothing, as one of an older version.
    word: Word | None = None
    #: The lease that it keeps while it follows the store; 0: it does so no more.
    lease: int = 0

    def is_behind(self, revision: int) -> bool:
        """Whether it follows, and its table is older than a revision of the store."""
        return bool(self.lease) and self.word is not None and self.word.revision < revision


@dataclass(slots=True)
class Hosts:
    """What ``read()`` has found."""

    #: The revision of the last change of an entry; 0: not known.
    revision: int = 0
    #: Those that have had an agent, by name.
    known: list[Host] = field(default_factory=list)
    #: A host that follows, and a MAC for which it has not said that it is ready.
    unready: list[tuple[str, int]] = field(default_factory=list)
    #: Keys that nobody of us writes, in sentences.
    bad: list[str] = field(default_factory=list)

    @property
    def cut_off(self) -> list[Host]:
        """Hosts whose agent does not follow the store any more."""
        return [each for each in self.known if not each.lease]

    def behind(self, revision: int) -> list[Host]:
        """Hosts that follow, and have an older table than this revision's."""
        return [each for each in self.known if each.is_behind(revision)]


def read(keys: Keys, changed: int, told: Iterable[KeyValue], said: Iterable[KeyValue]) -> Hosts:
    """Compare both parts of ``Keys.hosts``, read at one revision.

    ``changed``: the revision of the last change of an entry.
    """
    known: dict[str, Host] = {}
    leases: dict[str, int] = {}
    ready: dict[bytes, int] = {}
    for kv in said:
        name = keys.host_of(kv.key)
        if kv.key == keys.agent(name):
            known[name] = Host(name, etcdword.decode(kv.value))
        elif kv.key == keys.alive(name):
            leases[name] = kv.lease
        else:
            ready[kv.key] = decode_ready(kv.value)
    for name, host in known.items():
        host.lease = leases.get(name, 0)
    result = Hosts(changed, sorted(known.values(), key=lambda host: host.name))
    cut_off = {each.name for each in result.cut_off}
    for kv in told:
        name = keys.host_of(kv.key)
        try:
            mac = mac_of(kv.key)
        except BadValue as error:
            result.bad.append(f"{error}: delete it with 'etcdctl del'")
            continue
        # Of one that is cut off there is nothing more to say.
        if name not in cut_off and ready.get(keys.ready(name, mac)) != kv.mod_revision:
            result.unready.append((name, mac))
    return result


def sentences(keys: Keys, found: Hosts) -> Iterator[str]:
    """What to do about it."""
    yield from found.bad
    for host in found.cut_off:
        own = keys.status(host.name).key.decode()
        yield (
            f"{host.name}: its agent does not follow the store, and its table is an old one: see"
            f" 'systemctl status vmmnet-hostvlan-agent' there; if {host.name} is no more,"
            f" 'etcdctl del --prefix {own}'"
        )
    for name, mac in found.unready:
        yield (
            f"{name} is told to be ready for {macs.text(mac)} and has not said that it is: see"
            " the log of its agent, unless a move is under way"
        )


def stuck(behind: Iterable[Host], revision: int, seconds: float) -> Iterator[str]:
    """Hosts that follow, and whose table has stayed behind for so long."""
    for host in behind:
        held = host.word.revision if host.word is not None else 0
        why = "; ".join(host.word.errors) if host.word is not None else ""
        yield (
            f"{host.name} is stuck: its table has the changes of the store up to revision"
            f" {held}, {seconds:g} s after {revision} was there:"
            f" {why or 'see the log of its agent'}"
        )
