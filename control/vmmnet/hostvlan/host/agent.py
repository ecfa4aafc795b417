# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent: keep a host's table as the store in etcd says.

Theory of operation

One agent a host mirrors what its ports need of the store in etcd into the
host's table (``etcd.mirror`` says what that is).  It reads that part at one
revision and watches it from the next one on.  After a lost connection it goes
on from the revision that it had.  When etcd has compacted that meanwhile, or
is another one, or has been restored from a backup (its revision or its log is
behind what it was), the agent reads everything again and changes in the table
what differs: the table is never emptied, so that nothing passes or stops for a
moment that should not.

The table in the file is in force, whatever becomes of the agent and of etcd.
Without etcd the agent says so, once, in its log, its status file and its
metrics, and tries again for as long as it takes.  A prefix without a table is
a mistake, not an empty table: it changes nothing.

A topic that becomes of interest is read and gets a watch beside the others; one
that is no more so stays watched, and what is told of it is not listened to.  When
that has happened often, all watches begin anew, those that are wanted and no more.

A new port: those it may hear are in the table before its own entry is.  A MAC
that a host shall be ready for (``vmmnet hostvlan move``) counts as a port; the
agent writes a key of its own when the table has it.  Another key of its own, under
a lease, is there for as long as the agent follows: ``vmmnet hostvlan check`` names
hosts that have lost it.  What cannot be said is said later, and until then the
table follows all the same.

How far the table is (``hosts``, ``check``): a third key of its own has its word, in
which is the revision up to which the table has all changes.  Each watch has that
key in it, too.  When something has changed in the store, whether it concerns this
host or not, the agent writes its word; when all watches have told of that, they have
told of everything before, as etcd sends the messages of a connection in order, and
the table has it; then the agent says so.  Where nothing changes, nothing is written.
A watch that does not tell of it begins anew.

What the agent has done, and what it has told, it notes afterwards: what failed on
the way, for whatever reason, is done again.

One thread does everything; others only wait, for a watch's messages, for the
folder of ports, for Prometheus, and hand over what they have got.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from vmmnet import service
from vmmnet.etcd.client import Age, Client, Range, Told, Watch, Watched
from vmmnet.etcd.errors import Compacted, Denied, EtcdError, StoreError, Unreachable
from vmmnet.etcd.place import Config

from ..etcd import word as etcdword
from ..etcd.keys import FORMAT, BadValue, Keys, Topic, decode_ready, encode_ready, mac_of
from ..etcd.mirror import Mirror
from ..table import mac as macs
from ..table.entry import Entry
from ..table.table import Table, TableDamaged, TableError, TableMissing
from . import hostports, metrics
from .portmetrics import PortNumbers

# How long after a failure the next try is, seconds: doubled each time, and up
# to a half less, so that not all hosts of a data centre come at once.  It begins
# anew after a success that has lasted as long as the last.
_FIRST_RETRY, _LAST_RETRY = 0.1, 5.0
# How long until a table that could not be written, or its copies in the kernel
# that could not be made, are tried again.
_REWRITE, _RECOPY = 0.5, 2.0
# A host's lease ends after so many times that in which etcd is asked whether it is there.
_LEASE = 3
# A watch begins anew when it has told nothing of our word for so many of these, and seconds.
_MUTE, _MUTE_SECONDS = 3, 10.0
# The agent tells this to others for as long as it is true.
_LASTING = ("table", "twin", "folder", "status")
# So many watches a host has beside its first one, each a connection.
_MORE_STREAMS = 8
# More changes than these, and than this share of the table, are a new file.
_IN_PLACE, _SHARE = 256, 8


@dataclass(slots=True)
class Counters:
    """What has happened since the agent started."""

    resyncs: int = 0
    compactions: int = 0
    disconnections: int = 0
    write_errors: int = 0
    twin_errors: int = 0
    tell_errors: int = 0
    changes: int = 0
    bad_values: int = 0


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says."""

    store: Config
    host: str
    table: Path
    folder: Path
    #: Ports that are on this host whatever the folder says.
    fixed: frozenset[int] = frozenset()
    status: Path | None = None
    metrics: tuple[str, int] | None = None
    #: With metrics, where QEMUs are asked of their ports; None: where they are by default.
    qmp: Sequence[str] | None = None


class _Stream:
    """A watch, and the thread that waits for its messages."""

    def __init__(
        self, watch: Watch, topics: list[Topic], heard: int, tell: Callable[[_Message], None]
    ) -> None:
        """``heard``: all topics are known up to this revision."""
        self._watch = watch
        self.topics = topics
        self.heard = heard
        # Beside the topics is this host's own word.
        self.pending = len(topics) + 1
        self._tell = tell
        threading.Thread(target=self._run, name="watch", daemon=True).start()

    def hear(self, told: Told) -> None:
        """Take what it tells of this host's own word, and so of everything before."""
        self.heard = max([self.heard, *(event.mod_revision for event in told.events)])

    def close(self) -> None:
        """End it; messages that it has sent before are those of an old stream."""
        self._watch.close()

    def _run(self) -> None:
        try:
            for told in self._watch:
                self._tell(_Message(self, told))
        except EtcdError as error:
            self._tell(_Message(self, error))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            self._tell(_Message(self, Unreachable(f"etcd sends what is no message: {error!r}")))


@dataclass(frozen=True, slots=True)
class _Message:
    """What a stream got, or why it ended."""

    stream: _Stream
    content: Told | EtcdError


@dataclass(frozen=True, slots=True)
class _PortsNow:
    """What the folder of ports says; None: it is gone."""

    ports: hostports.Ports | None


@dataclass(slots=True)
class _Once:
    """Says a thing once, until it is over."""

    said: dict[str, str] = field(default_factory=dict)

    def say(self, topic: str, text: str) -> None:
        """Say it, unless this topic has been spoken of."""
        if topic not in self.said:
            self.said[topic] = text
            _log(text)

    def over(self, topic: str) -> bool:
        """The topic may be spoken of again; returns whether it had been."""
        return self.said.pop(topic, None) is not None

    def lasting(self) -> tuple[str, ...]:
        """What has been said and is not over, of what others may want to know."""
        return tuple(self.said[each] for each in _LASTING if each in self.said)


def _log(text: str) -> None:
    # A full disk does not end the agent.
    with contextlib.suppress(OSError):
        print(f"vmmnet hostvlan agent: {text}", file=sys.stderr)


def _spell_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class Agent:
    """The agent of one host; ``run()`` ends when a signal says so."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.counters = Counters()
        self._keys = Keys(settings.store.prefix)
        self._client = Client(settings.store)
        self._queue: queue.SimpleQueue[_Message | _PortsNow | None] = queue.SimpleQueue()
        self._once = _Once()
        self._mirror = Mirror()
        self._ports: frozenset[int] = frozenset()
        # What the table says, by our own account, and its generation.
        self._applied: dict[int, Entry] = {}
        self._generation = -1
        # The mirror is that of the store, as far as it goes.
        self._is_whole = False
        # Every MAC is to be compared with the table, not only those that were told.
        self._compare_all = True
        self._unwritten = False
        # When a table that could not be written is tried again.
        self._rewrite_at = 0.0
        # When the copies in the kernel are tried again; never, if they are made.
        self._twin_at = math.inf
        self._cluster: int | None = None
        self._age: Age | None = None
        self._store_revision = 0
        self._streams: list[_Stream] = []
        # The store has this from us: the MACs for which we are ready, by which
        # assignment, and a key under a lease.
        self._acknowledged: dict[int, int] = {}
        self._lease: int | None = None
        self._is_announced = False
        # Our word: what it was, its revision, and when; for how many looks at etcd a watch
        # has not told of it.
        self._word: etcdword.Word | None = None
        self._word_at = 0
        self._spoke_at = 0.0
        self._mute = 0
        # The last change of the store; that for which we have asked our watches; the table
        # has all up to the third.
        self._changed = self._asked = self._held = 0
        self._began = 0.0
        self._tell_at = 0.0
        self._tell_after = _FIRST_RETRY
        self._retry_at = 0.0
        self._retry_after = _FIRST_RETRY
        # After so many seconds without a word from it, etcd is asked whether it
        # is there, and the table whether anybody else has changed it.
        self._idle = settings.store.timeout
        self._probe_at = 0.0
        self._lost_since: float | None = time.monotonic()
        self._lost_at = time.time()
        self._following_since = 0.0
        self._is_refused = False
        self._error: str | None = None
        self._unsaid: dict[int, int | None] = {}
        self._status = ""

    # The loop

    def run(self) -> NoReturn:
        """Mirror until SIGTERM or SIGINT, which raise SystemExit."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        with contextlib.ExitStack() as stack:
            stack.callback(self._client.close)
            if self.settings.metrics is not None:
                ports = PortNumbers(self.settings.qmp)
                server = metrics.Server(
                    self.settings.metrics, lambda: [*self.metrics(), *ports.read()]
                )
                stack.callback(server.close)
            self._make_folder()
            folder = hostports.PortsFolder(self.settings.folder, self._ports_changed)
            self._take_ports(folder.start())
            stack.callback(folder.stop)
            self._read_table()
            stack.callback(self._close_streams)
            self._refresh()
            service.notify("READY=1")
            while True:
                self._take_all(self._timeout())
                self._refresh()

    def _on_signal(self, *_: object) -> None:
        # Also out of a wait for etcd, which can be long, and out of a change of
        # the table, which outlives its writer's end at any point.
        raise SystemExit(0)

    def _timeout(self) -> float:
        dues = [self._twin_at, self._probe_at if self._streams else self._retry_at]
        if self._unwritten:
            dues.append(self._rewrite_at)
        elif self._lost_since is None and (
            self._unsaid or not self._is_announced or self._is_word_due()
        ):
            dues.append(self._tell_at)
        return max(0.0, min(dues) - time.monotonic())

    def _take_all(self, timeout: float) -> None:
        """Take what has come, and wait for it if there is nothing."""
        try:
            self._take(self._queue.get(timeout=timeout))
            while True:
                self._take(self._queue.get_nowait())
        except queue.Empty:
            pass

    def _take(self, item: _Message | _PortsNow | None) -> None:
        match item:
            case _PortsNow(found):
                self._take_ports(found)
            case _Message(stream, content) if stream in self._streams:
                self._take_message(stream, content)

    def _refresh(self) -> None:
        """Do what is due, after something has come or a time has passed."""
        now = time.monotonic()
        if not self._streams:
            if now >= self._retry_at:
                self._connect()
        elif self._mirror.missing():
            self._guarded(self._follow)
        else:
            self._mirror.drop_unwanted()
            if now >= self._probe_at:
                self._guarded(self._probe)
        if not self._unwritten or now >= self._rewrite_at:
            self._write()
        if now >= self._twin_at:
            self._sync_twin()
        self._see_how_far()
        self._unsaid = self._find_unsaid()
        if self._lost_since is None and now >= self._tell_at:
            self._guarded(self._tell)
        self._report()

    # Ports

    def _make_folder(self) -> None:
        try:
            self.settings.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            _log(f"--ports {self.settings.folder}: {error.strerror}: no ports are known from there")

    def _ports_changed(self, found: hostports.Ports | None) -> None:
        self._queue.put(_PortsNow(found))

    def _take_ports(self, found: hostports.Ports | None) -> None:
        folder = self.settings.folder
        if found is None:
            # VMs do not end because a folder does.
            self._once.say(
                "folder", f"--ports {folder} is gone or unreadable: the ports stay those they were"
            )
        else:
            if self._once.over("folder"):
                _log(f"--ports {folder} is back")
            for complaint in found.complaints:
                self._once.say(f"port {complaint}", f"{complaint}: this line is ignored")
            self._ports = found.macs
        self._mirror.ports = self._ports | self.settings.fixed

    # The store

    def _connect(self) -> None:
        """Go on where we were, or read everything if that cannot be."""
        try:
            cluster, revision, found = self._client.look(self._keys.format)
            self._check_format(found.value if found is not None else None)
            age = self._find_age()
            if cluster != self._cluster or revision < self._mirror.revision:
                self._is_whole = False
            if age is not None and self._age is not None and age.is_younger(self._age):
                self._is_whole = False
            if not self._is_whole:
                self._resync()
            self._cluster, self._age = cluster, age or self._age
            self._store_revision = revision
            self._look_for_changes()
            self._word, self._word_at = None, 0
            self._follow()
        except StoreError as error:
            self._lost(error)

    def _find_age(self) -> Age | None:
        """How old the cluster is; None: we may not know."""
        try:
            return self._client.age()
        except Denied:
            return None

    def _check_format(self, value: bytes | None) -> None:
        if value is None:
            raise StoreError(
                f"{self.settings.store.name}: there is no table: is the prefix another, or has"
                " nobody written yet ('vmmnet hostvlan add')?"
            )
        if value != FORMAT:
            raise StoreError(
                f"{self.settings.store.name}: the table has format"
                f" {value.decode(errors='replace')!r}; this agent knows {FORMAT.decode()!r}"
            )

    def _resync(self) -> None:
        """Read everything that is of interest, as if it were for the first time."""
        mirror = Mirror(self._mirror.ports)
        self._load(mirror)
        acknowledged = self._read_acknowledged()
        self._mirror, self._acknowledged, self._lease = mirror, acknowledged, None
        self._is_whole = self._compare_all = True
        self._asked = self._held = 0
        self.counters.resyncs += 1

    def _load(self, mirror: Mirror) -> None:
        """Read the topics that are wanted and not there, and what these make wanted."""
        while missing := mirror.missing():
            ranges = [self._keys.topic(self.settings.host, topic) for topic in missing]
            revision, found = self._client.snapshot(ranges)
            for topic, keys in zip(missing, found, strict=True):
                mirror.load(topic, revision, keys)
        mirror.drop_unwanted()

    def _follow(self) -> None:
        """Watch what is not watched yet, from where it is, which the table is at first."""
        if len(self._streams) > _MORE_STREAMS:
            self._close_streams()
        self._load(self._mirror)
        self._write()
        watched = {topic for stream in self._streams for topic in stream.topics}
        resume = [each for each in self._mirror.resume() if each[0] not in watched]
        if not resume:
            return
        host, starts = self.settings.host, [start for _, start in resume]
        requests = [Watched(self._keys.topic(host, topic), start) for topic, start in resume]
        own = Watched(Range(self._keys.agent(host)), max(starts))
        watch = self._client.watch([*requests, own])
        topics = [topic for topic, _ in resume]
        self._streams.append(_Stream(watch, topics, min(starts) - 1, self._queue.put))
        self._probe_at = time.monotonic() + self._idle * random.uniform(0.5, 1)

    def _close_streams(self) -> None:
        while self._streams:
            self._streams.pop().close()

    def _take_message(self, stream: _Stream, content: Told | EtcdError) -> None:
        if isinstance(content, EtcdError):
            self._lost(content)
        elif content.compacted:
            self._lost(
                Compacted(
                    f"etcd keeps nothing older than revision {content.compacted}: everything is"
                    " read again"
                )
            )
        elif content.created:
            stream.pending -= 1
            if not any(each.pending for each in self._streams):
                self._following()
        elif content.request == len(stream.topics):
            stream.hear(content)
        else:
            topic = stream.topics[content.request]
            self._mirror.apply(topic, content.revision, content.events)
            self._store_revision = max(self._store_revision, content.revision)

    def _following(self) -> None:
        """Every topic is watched."""
        if self._lost_since is not None:
            self._following_since = time.monotonic()
            seconds = self._following_since - self._lost_since
            self._lost_since = self._error = None
            self._began = time.time()
            self._is_refused = self._is_announced = False
            said = [self._once.over(topic) for topic in ("unreachable", "refused")]
            if any(said):
                _log(f"{self.settings.store.name} is there again, after {seconds:.1f} s")

    def _probe(self) -> None:
        """See whether etcd is there, as one that hangs keeps its connections, and the table."""
        self._probe_at = time.monotonic() + self._idle
        self._compare_all = self._compare_all or not self._is_ours()
        alive = self._keys.alive(self.settings.host)
        _, revision, found = self._client.look(alive, serializable=True)
        self._store_revision = max(self._store_revision, revision)
        self._look_for_changes()
        self._is_announced = False
        if found is None:
            # Earlier acknowledgements of ours may be gone, too.
            self._acknowledged, self._lease = self._read_acknowledged(), None
        self._see_that_watches_tell()

    def _see_that_watches_tell(self) -> None:
        """Raise Unreachable if one has not told of our word, and has had time for it."""
        self._mute = self._mute + 1 if self._is_asking() else 0
        if self._mute > _MUTE and time.monotonic() - self._spoke_at > _MUTE_SECONDS:
            self._mute = 0
            raise Unreachable("etcd answers, and a watch tells nothing: it begins anew")

    def _look_for_changes(self) -> None:
        """Learn of which revision the last change of an entry is."""
        _, _, found = self._client.look(self._keys.changed, serializable=True)
        self._changed = found.mod_revision if found is not None else 0

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except StoreError as error:
            self._lost(error)

    def _lost(self, error: StoreError) -> None:
        """The store does not answer, or not as it should: the table stays in force."""
        if self._lost_since is None:
            self._lost_since, self._lost_at = time.monotonic(), time.time()
            if self._lost_since - self._following_since >= _LAST_RETRY:
                self._retry_after = _FIRST_RETRY
            if not isinstance(error, Compacted):
                self.counters.disconnections += 1
        self._close_streams()
        if isinstance(error, Compacted):
            self.counters.compactions += 1
            self._is_whole = False
            _log(str(error))
        else:
            since = f", as of revision {self._mirror.revision}" if self._mirror.revision else ""
            topic = "unreachable" if isinstance(error, Unreachable) else "refused"
            self._once.say(topic, f"{error}; the table stays in force as it is{since}")
        self._is_refused = not isinstance(error, Unreachable | Compacted)
        self._error = str(error)
        self._retry_at = time.monotonic() + self._retry_after * random.uniform(0.5, 1)
        self._retry_after = min(2 * self._retry_after, _LAST_RETRY)

    # The table

    def _read_table(self) -> None:
        """Learn what is in force from the last time."""
        try:
            with Table.open(self.settings.table) as table:
                self._applied = {entry.mac: entry for entry in table}
                self._generation = table.generation
        except TableMissing:
            pass
        except TableDamaged as error:
            self._once.say("table", f"{error}: it is replaced when the store has been read")
        except TableError as error:
            self._once.say("table", str(error))

    def _is_ours(self) -> bool:
        """Whether the table is as this agent left it."""
        try:
            with Table.open(self.settings.table, verify=False) as table:
                return table.generation == self._generation
        except TableError:
            return False

    def _write(self) -> None:
        """Make the table say what the mirror does."""
        if not self._is_whole:
            return
        self._complain()
        try:
            self._change_table()
        except TableError as error:
            self.counters.write_errors += 1
            self._unwritten = True
            self._rewrite_at = time.monotonic() + _REWRITE
            self._once.say("table", f"{error}: tried again until it is possible")
            if isinstance(error, TableDamaged):
                self._set_aside()
            return
        self._unwritten = False
        if self._once.over("table"):
            _log(f"{self.settings.table} is written again")

    def _change_table(self) -> None:
        path = self.settings.table
        if self._compare_all:
            changes = self._mirror.changes_of_all(self._applied)
        else:
            changes = self._mirror.changes(self._applied)
        if not changes and not self._compare_all:
            self._mirror.settled()
            return
        many = len(changes) > max(_IN_PLACE, len(self._applied) // _SHARE)
        with Table.change(path, atomic=many) as change:
            base = change.base
            if base is None:
                self._applied = {}
                changes = self._mirror.changes_of_all(self._applied)
            elif base.generation != self._generation:
                # Somebody else has changed it: what it says is read again.
                self._applied = {entry.mac: entry for entry in base}
                changes = self._mirror.changes_of_all(self._applied)
            for mac, entry in changes:
                if entry is None:
                    change.remove(mac)
                else:
                    change.set(entry)
        for mac, entry in changes:
            if entry is None:
                self._applied.pop(mac, None)
            else:
                self._applied[mac] = entry
        with Table.open(path, verify=False) as table:
            self._generation = table.generation
        self.counters.changes += len(changes)
        self._mirror.settled()
        self._compare_all = False
        self._sync_twin()

    def _complain(self) -> None:
        for complaint in self._mirror.complaints:
            self.counters.bad_values += 1
            self._once.say(f"value {complaint}", f"{complaint}: taken as none")
        self._mirror.complaints.clear()

    def _set_aside(self) -> None:
        """Let a damaged table have another name: QEMUs do not use it anyway."""
        path = self.settings.table
        with contextlib.suppress(OSError):
            path.rename(path.with_name(path.name + ".damaged"))
            self._applied.clear()
            self._generation = -1
            self._compare_all = True
            self._rewrite_at = 0.0

    def _sync_twin(self) -> None:
        """Let eBPF on this host's interfaces have the new table, if there is any."""
        try:
            from ..bpf import twin
        except ImportError:
            return
        try:
            # What it has not written itself, it has checked.
            twin.sync(self.settings.table, check=False)
            self._twin_at = math.inf
            if self._once.over("twin"):
                _log("eBPF has the table again")
        except (twin.TwinError, OSError) as error:
            self.counters.twin_errors += 1
            self._twin_at = time.monotonic() + _RECOPY
            self._once.say("twin", f"eBPF: {error}: tried again until it is possible")

    # What others are told

    def _read_acknowledged(self) -> dict[int, int]:
        """What this host has said to be ready for, in this life or an earlier one."""
        result = {}
        for _, page in self._client.pages(self._keys.status(self.settings.host)):
            for kv in page:
                with contextlib.suppress(BadValue):
                    result[mac_of(kv.key)] = decode_ready(kv.value)
        return result

    def _find_unsaid(self) -> dict[int, int | None]:
        """MACs of which the store is to be told: the assignment that we are ready by, or None."""
        assigned = self._mirror.assigned
        gone = dict.fromkeys(self._acknowledged.keys() - assigned.keys())
        ready = {
            mac: revision
            for mac, revision in assigned.items()
            if mac in self._applied and self._acknowledged.get(mac) != revision
        }
        return {**gone, **ready}

    def _tell(self) -> None:
        """Say what is to be said; what is refused is tried again later."""
        try:
            self._announce()
            self._speak()
            if not self._unwritten:
                self._acknowledge()
        except Unreachable:
            raise
        except StoreError as error:
            # The table is as it should be: only 'move' waits in vain, and 'check' misses us.
            self.counters.tell_errors += 1
            self._tell_at = time.monotonic() + self._tell_after * random.uniform(0.5, 1)
            self._tell_after = min(2 * self._tell_after, _LAST_RETRY)
            self._once.say(
                "telling",
                f"{error}: this host cannot say for which MACs it is ready: tried again until"
                " it can",
            )
            return
        self._tell_after = _FIRST_RETRY
        if self._once.over("telling"):
            _log("this host says again for which MACs it is ready")

    def _acknowledge(self) -> None:
        """Say for which of the assigned MACs the table is ready."""
        for mac, revision in list(self._unsaid.items()):
            ready = self._keys.ready(self.settings.host, mac)
            if revision is None:
                self._client.delete(ready)
                del self._acknowledged[mac]
            else:
                self._client.put(ready, encode_ready(revision))
                self._acknowledged[mac] = revision
            del self._unsaid[mac]

    def _announce(self) -> None:
        """Have a key in the store that ends when this host follows no more."""
        if self._is_announced:
            return
        if self._lease is None or not self._client.keep_alive(self._lease):
            lease = self._client.grant(math.ceil(_LEASE * self._idle))
            self._client.put(self._keys.alive(self.settings.host), b"", lease)
            self._lease, self._word = lease, None
        if self._word is not None and self._word.errors != self._errors():
            self._word = None
        self._is_announced = True

    def _see_how_far(self) -> None:
        """Note up to which revision the table has all changes."""
        is_settled = self._is_whole and not self._unwritten and not self._mirror.missing()
        if self._streams and is_settled:
            self._held = max(self._held, min(stream.heard for stream in self._streams))

    def _is_asking(self) -> bool:
        """Whether a watch has still to tell of our word."""
        return any(stream.heard < self._word_at for stream in self._streams)

    def _is_word_due(self) -> bool:
        """Whether there is something new to say, or to be asked for."""
        if self._word is None:
            return True
        if self._word.revision >= self._changed:
            return False
        return self._held >= self._changed or self._asked < self._changed

    def _speak(self) -> None:
        """Say how this host is, when that has changed."""
        if not self._is_word_due():
            return
        word = etcdword.Word(
            since=int(self._began),
            at=int(time.time()),
            revision=self._held,
            entries=len(self._applied),
            ports=len(self._mirror.ports),
            errors=self._errors(),
        )
        revision = self._client.put(self._keys.agent(self.settings.host), etcdword.encode(word))
        self._word, self._word_at, self._asked = word, revision, self._changed
        self._spoke_at = time.monotonic()

    def _errors(self) -> tuple[str, ...]:
        return etcdword.bounded(self._once.lasting())

    def _report(self) -> None:
        """Tell systemd and the status file how it is, when that has changed."""
        following = self._lost_since is None
        state = {
            "host": self.settings.host,
            "store": self.settings.store.name,
            "table": str(self.settings.table),
            "state": "following" if following else "store lost",
            "error": self._error,
            "refused": self._is_refused,
            "lost_at": None if following else _spell_time(self._lost_at),
            "revision": self._mirror.revision,
            "generation": self._generation,
            "entries": len(self._applied),
            "lnids": self._mirror.lnids,
            "ports": sorted(macs.text(mac) for mac in self._mirror.ports),
            "assigned": sorted(macs.text(mac) for mac in self._mirror.assigned),
            "unacknowledged": sorted(map(macs.text, self._unsaid)),
            "table_written": not self._unwritten,
        }
        text = json.dumps(state, indent=1) + "\n"
        if text == self._status:
            return
        service.notify(
            f"STATUS={state['state']}: {len(self._applied)} MACs of {self._mirror.lnids} LNIDs"
            f" as of revision {self._mirror.revision}"
        )
        if self.settings.status is not None:
            new = self.settings.status.with_name(f".{self.settings.status.name}.{os.getpid()}")
            try:
                new.write_text(text)
                new.replace(self.settings.status)
                self._once.over("status")
            except OSError as error:
                self._once.say("status", f"--status {self.settings.status}: {error.strerror}")
                return
        self._status = text

    def metrics(self) -> list[metrics.Metric]:
        """The numbers, for Prometheus; called in another thread."""
        since, counters = self._lost_since, self.counters
        lag = time.monotonic() - since if since is not None else 0.0
        return [
            metrics.Metric(*each)
            for each in (
                ("store_up", "Whether all topics are watched.", int(since is None)),
                ("store_refused", "Whether etcd answers, and refuses us.", int(self._is_refused)),
                ("lag_seconds", "Since when the table may be older than the store.", lag),
                ("entries", "MACs in the table.", len(self._applied)),
                ("generation", "Generation of the table.", self._generation),
                ("revision", "Newest revision of the store in the table.", self._mirror.revision),
                ("store_revision", "Newest revision that was seen.", self._store_revision),
                ("held_revision", "The table has all changes up to this one.", self._held),
                ("changed_revision", "Last change of the store that was seen.", self._changed),
                ("lnids", "LNIDs that are mirrored.", self._mirror.lnids),
                ("ports", "Ports on this host.", len(self._mirror.ports)),
                ("unacknowledged", "MACs of which etcd is to be told.", len(self._unsaid)),
                ("table_unwritten", "Whether the table lacks changes.", int(self._unwritten)),
                ("changes_total", "MACs changed in the table.", counters.changes),
                ("resyncs_total", "Times that everything was read.", counters.resyncs),
                ("compactions_total", "Resumes from too old a revision.", counters.compactions),
                ("disconnections_total", "Times that the store was lost.", counters.disconnections),
                ("write_errors_total", "Failures to write the table.", counters.write_errors),
                ("twin_errors_total", "Failures to sync eBPF.", counters.twin_errors),
                ("tell_errors_total", "Failures to tell etcd.", counters.tell_errors),
                ("bad_values_total", "Keys that nobody can read.", counters.bad_values),
            )
        ]
