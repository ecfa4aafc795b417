# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hosts do not go by the store as it is, from what they are told and say: pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from vmmnet.etcd.client import KeyValue

from . import mac as macs
from .etcdkeys import BadValue, Keys, decode_ready, mac_of


@dataclass(slots=True)
class Hosts:
    """What ``read()`` has found."""

    #: Hosts whose agent does not follow the store any more.
    cut_off: list[str] = field(default_factory=list)
    #: A host that follows, and a MAC for which it has not said that it is ready.
    unready: list[tuple[str, int]] = field(default_factory=list)
    #: Keys that nobody of us writes, in sentences.
    bad: list[str] = field(default_factory=list)


def read(keys: Keys, told: Iterable[KeyValue], said: Iterable[KeyValue]) -> Hosts:
    """Compare both parts of ``Keys.hosts``, read at one revision."""
    result = Hosts()
    known, alive = set(), set()
    ready: dict[bytes, int] = {}
    for kv in said:
        host = keys.host_of(kv.key)
        if kv.key == keys.agent(host):
            known.add(host)
        elif kv.key == keys.alive(host):
            alive.add(host)
        else:
            ready[kv.key] = decode_ready(kv.value)
    result.cut_off = sorted(known - alive)
    for kv in told:
        host = keys.host_of(kv.key)
        try:
            mac = mac_of(kv.key)
        except BadValue as error:
            result.bad.append(f"{error}: delete it with 'etcdctl del'")
            continue
        # Of one that is cut off there is nothing more to say.
        if host not in known - alive and ready.get(keys.ready(host, mac)) != kv.mod_revision:
            result.unready.append((host, mac))
    return result


def sentences(keys: Keys, found: Hosts) -> Iterator[str]:
    """What to do about it."""
    yield from found.bad
    for host in found.cut_off:
        own = keys.status(host).key.decode()
        yield (
            f"{host}: its agent does not follow the store, and its table is an old one: see"
            f" 'systemctl status vmmnet-hostvlan-agent' there; if {host} is no more,"
            f" 'etcdctl del --prefix {own}'"
        )
    for host, mac in found.unready:
        yield (
            f"{host} is told to be ready for {macs.text(mac)} and has not said that it is: see"
            " the log of its agent, unless a move is under way"
        )
