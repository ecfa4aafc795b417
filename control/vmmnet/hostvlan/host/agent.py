# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent: it keeps a host's table in step with the store in etcd.

Theory of operation

Each host has one agent.  It copies the part of the store that the host's ports need
(see ``etcd.mirror``) into the host's table.  It reads this part at one revision and
watches it from the next revision on.  After a lost connection it continues from the
last revision, if etcd proves that it has the same history (see below).  It reads
everything again otherwise, and if etcd has compacted that revision; it then changes only
what differs in the table.  The table is never emptied, so that no frame passes or is
dropped by mistake for a moment.

The table in the file stays in force without the agent and without etcd.  When etcd is
lost, the agent says so once in its log, and in its status file and its metrics, and it
tries again without end.  A prefix without a table is an error, not an empty table: it
changes nothing.

A topic that becomes necessary is read and gets a watch beside the others, and a report
is due (see below).  A topic that is no longer necessary stays watched, and its events
are ignored.  After several such changes, all watches are closed, and one new watch has
the necessary topics.

For a new port, the MACs that it may hear are in the table before its own entry.  A MAC
that the store assigns to this host (``vmmnet hostvlan move``) is treated as a port; when
the table has it, the agent writes a key ("acknowledges" it).  A second key exists, by a
lease, while the agent follows the store: ``vmmnet hostvlan check`` lists hosts without
it.  If one of the keys cannot be written, the agent tries again later, and the table
still follows the store.

A third key is the agent's report (``hosts``, ``check``).  It has the revision up to which
the table has all changes.  Each watch includes this key.  After any change in the store,
the agent writes its report.  etcd sends the messages of a connection in order: when all
watches have received the report, they have received all changes before it, too, and the
agent writes a second report that says so.  Without changes, nothing is written.  If a
watch does not receive the report, all watches are started again.

The report also proves that etcd was not restored from a backup.  A restored etcd can
have the same identity and a higher revision, and a user that is not root may not read
more of it.  But each report has a random value, and etcd gives a revision only once in
one history.  If the last report that all watches have received is still the one in etcd,
etcd has all that happened before it.  If nothing else was received after it, the agent
continues from there.  What was received makes a report due at the next probe.

The agent notes its own actions only after they have succeeded; after a failure of any
kind, it does them again.

One thread does all of this work.  Another one keeps HostVLAN in eBPF on the interfaces
(see ``hooks``).  The other threads only wait, for messages of a watch, for changes in
the folder of ports, or for Prometheus, and pass on what they receive.
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
from vmmnet.etcd.client import Client, Event, Range, Told, Watch, Watched
from vmmnet.etcd.errors import Compacted, EtcdError, StoreError, Unreachable
from vmmnet.etcd.place import Config
from vmmnet.values import mac as macs

from ..etcd import report as reports
from ..etcd.keys import FORMAT, BadValue, Keys, Topic, decode_ready, encode_ready, mac_of
from ..etcd.mirror import Mirror
from ..table import kept
from ..table.entry import Entry
from ..table.table import Table, TableDamaged, TableError, TableMissing
from . import hostports, metrics
from .hooks import Hooks
from .portmetrics import PortNumbers

# Seconds between a failure and the next try: doubled each time, and shortened at random
# by up to a half, so that the hosts of a data centre do not all connect at once.  It
# starts again at the first value after a connection of _LAST_RETRY seconds.
_FIRST_RETRY, _LAST_RETRY = 0.1, 5.0
# Seconds until the next try after the table could not be written, and after it could
# not be copied to the kernel.
_REWRITE, _RECOPY = 0.5, 2.0
# A host's lease lasts this many probe intervals.
_LEASE = 3
# The watches are started again if the report has not arrived after this many probes, and
# this many seconds.
_SILENT_PROBES, _SILENT_SECONDS = 3, 10.0
# The errors on these topics are in the report while they last.
_LASTING = ("table", "twin", "folder", "status")
# The largest number of watches beside the first one; each is a connection.
_MORE_STREAMS = 8
# A new file is written for more changes than this number, and than this fraction
# (1/_SHARE) of the table.
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
    """The settings from the command line."""

    store: Config
    host: str
    table: Path
    folder: Path
    #: Ports that are always on this host, in addition to those in the folder.
    fixed: frozenset[int] = frozenset()
    status: Path | None = None
    metrics: tuple[str, int] | None = None
    #: The QMP sockets for the metrics of ports; None: the default ones.
    qmp: Sequence[str] | None = None


class _Stream:
    """A watch, and the thread that waits for its messages."""

    def __init__(
        self,
        watch: Watch,
        topics: list[Topic],
        heard: int,
        report: Event | None,
        put: Callable[[_Message], None],
    ) -> None:
        """``heard``: all topics are known up to this revision.

        ``report``: the last report that earlier watches have received.
        """
        self._watch = watch
        self.topics = topics
        self.heard = heard
        self.report = report
        # The topics, and this host's report.
        self.pending = len(topics) + 1
        self._put = put
        threading.Thread(target=self._run, name="watch", daemon=True).start()

    def hear(self, told: Told) -> None:
        """Take events of this host's report: everything before them has been received."""
        for event in told.events:
            self.heard, self.report = max(self.heard, event.mod_revision), event

    def close(self) -> None:
        """End it; messages of it that are still in the queue will be ignored."""
        self._watch.close()

    def _run(self) -> None:
        try:
            for told in self._watch:
                self._put(_Message(self, told))
        except EtcdError as error:
            self._put(_Message(self, error))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            self._put(
                _Message(self, Unreachable(f"etcd sent a message that is not valid: {error!r}"))
            )


@dataclass(frozen=True, slots=True)
class _Message:
    """A message of a stream, or the error that has ended it."""

    stream: _Stream
    content: Told | EtcdError


@dataclass(frozen=True, slots=True)
class _PortsNow:
    """The content of the folder of ports; None: the folder is gone."""

    ports: hostports.Ports | None


@dataclass(slots=True)
class _Once:
    """Logs an error on a topic once, until the error is over."""

    said: dict[str, str] = field(default_factory=dict)

    def say(self, topic: str, text: str) -> None:
        """Log an error, unless there is one on the same topic."""
        if topic not in self.said:
            self.said[topic] = text
            _log(text)

    def over(self, topic: str) -> bool:
        """The error on a topic is over; returns whether there was one."""
        return self.said.pop(topic, None) is not None

    def lasting(self) -> tuple[str, ...]:
        """The errors that last and that are of interest to other hosts."""
        return tuple(self.said[each] for each in _LASTING if each in self.said)


def _spell_ports(ports: frozenset[int]) -> str:
    """The first ten MACs, and how many more there are."""
    first = ", ".join(map(macs.text, sorted(ports)[:10]))
    return f"{first} and {len(ports) - 10} more" if len(ports) > 10 else first


def _log(text: str) -> None:
    # A full disk does not end the agent.
    with contextlib.suppress(OSError):
        # In one piece: several threads log.
        sys.stderr.write(f"vmmnet hostvlan agent: {text}\n")


def _spell_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class Agent:
    """The agent of one host; a signal ends ``run()``."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.counters = Counters()
        self._keys = Keys(settings.store.prefix)
        self._client = Client(settings.store)
        self._queue: queue.SimpleQueue[_Message | _PortsNow | None] = queue.SimpleQueue()
        self._once = _Once()
        self._hooks: Hooks | None = None
        self._mirror = Mirror()
        self._ports: frozenset[int] = frozenset()
        # The content of the table, as this agent has written it, and its generation.
        self._applied: dict[int, Entry] = {}
        self._generation = -1
        # The mirror has the content of the store at its revision.
        self._is_whole = False
        # Compare every MAC with the table, not only those with events.
        self._compare_all = True
        self._unwritten = False
        # When the next try to write the table is.
        self._rewrite_at = 0.0
        # When the next try to copy the table to the kernel is; inf: it is copied.
        self._twin_at = math.inf
        self._store_revision = 0
        # The last report that all watches had received when they were closed.
        self._witness: Event | None = None
        self._streams: list[_Stream] = []
        # Keys that this host has in the store: MACs for which it is ready, with the
        # revisions of their assignments, and the key with a lease.
        self._acknowledged: dict[int, int] = {}
        self._lease: int | None = None
        self._is_announced = False
        # The last report, its revision, and when it was sent; the number of probes since
        # then at which a watch had not received it.
        self._sent: reports.Report | None = None
        self._sent_revision = 0
        self._sent_at = 0.0
        self._silent_probes = 0
        # Revisions: of the last change of the store; of the change after which the last
        # report was sent; up to which the table has all changes.
        self._changed = self._asked = self._held = 0
        self._began = 0.0
        self._send_at = 0.0
        self._send_after = _FIRST_RETRY
        self._retry_at = 0.0
        self._retry_after = _FIRST_RETRY
        # Every so many seconds, etcd is probed, and the table is checked for changes by
        # other programs.
        self._idle = settings.store.timeout
        self._probe_at = 0.0
        self._lost_since: float | None = time.monotonic()
        self._lost_at = time.time()
        self._following_since = 0.0
        self._is_refused = False
        self._error: str | None = None
        self._unsent: dict[int, int | None] = {}
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
            self._keep_table(stack)
            self._make_folder()
            folder = hostports.PortsFolder(self.settings.folder, self._ports_changed)
            self._take_ports(folder.start())
            stack.callback(folder.stop)
            # Before a change of the table removes what belongs to interfaces that are gone.
            self._hooks = Hooks(self.settings.table, lambda: self._mirror.ports, _log)
            self._hooks.start()
            stack.callback(self._hooks.stop)
            self._read_table()
            stack.callback(self._close_streams)
            self._refresh()
            service.notify("READY=1")
            while True:
                self._take_all(self._timeout())
                self._refresh()

    def _on_signal(self, *_: object) -> None:
        # This also ends a wait for etcd, which can be long, and a change of the table,
        # which may be interrupted at any point.
        raise SystemExit(0)

    def _timeout(self) -> float:
        dues = [self._twin_at, self._probe_at if self._streams else self._retry_at]
        if self._unwritten:
            dues.append(self._rewrite_at)
        elif self._lost_since is None and (
            self._unsent or not self._is_announced or self._is_report_due()
        ):
            dues.append(self._send_at)
        return max(0.0, min(dues) - time.monotonic())

    def _take_all(self, timeout: float) -> None:
        """Take all items in the queue; wait for the first one."""
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
        """Do all that is due, after an item or a timeout."""
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
        self._note_progress()
        self._unsent = self._find_unsent()
        if self._lost_since is None and now >= self._send_at:
            self._guarded(self._send)
        self._write_status()

    def _keep_table(self, stack: contextlib.ExitStack) -> None:
        """Let commands know that this agent keeps the table."""
        table, store = self.settings.table, self.settings.store.name
        try:
            other = stack.enter_context(kept.keeping(table, store))
        except OSError as error:
            _log(f"{table}.agent: {error.strerror}: commands do not know that this agent keeps it")
            return
        if other is not None:
            _log(
                f"{table}: another agent (process {other.process}) keeps it as {other.store} says:"
                " each undoes what the other does; stop one of them"
            )

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
            # The VMs still run without the folder.
            self._once.say(
                "folder",
                f"--ports {folder} is gone or unreadable: the agent keeps the ports that it knows",
            )
        else:
            if self._once.over("folder"):
                _log(f"--ports {folder} is back")
            for complaint in found.complaints:
                self._once.say(f"port {complaint}", f"{complaint}: this line is ignored")
            if self._ports and not found.macs:
                # As after the last VM has ended; or somebody has emptied /run.
                _log(
                    f"--ports {folder} names no port any more: a VM that still runs reaches nobody"
                    f" until its file is there again (named before: {_spell_ports(self._ports)})"
                )
            self._ports = found.macs
        self._mirror.ports = self._ports | self.settings.fixed

    # The store

    def _connect(self) -> None:
        """Continue from the last revision, or read everything if that is impossible."""
        try:
            revision, found = self._client.look(self._keys.format)
            self._check_format(found.value if found is not None else None)
            self._begin()
            self._store_revision = revision
            self._look_for_changes()
            self._follow()
        except StoreError as error:
            self._lost(error)

    def _begin(self) -> None:
        """Prepare for new watches: what is known has the store's history, or is read again."""
        if not self._is_whole or not self._continues():
            self._is_whole = False
            self._resync()
        self._sent, self._sent_revision = None, 0

    def _continues(self) -> bool:
        """Whether etcd proves that it has all that was received; topics continue from there."""
        witness = self._witness
        if witness is None or witness.mod_revision < self._mirror.newest:
            return False
        found = self._client.get(self._keys.agent(self.settings.host))
        if found is None or Event(found.key, found.value, found.mod_revision) != witness:
            _log(
                f"{self.settings.store.name} may have been restored from a backup, or be another"
                " etcd: everything is read again"
            )
            return False
        self._mirror.rewind(witness.mod_revision)
        return True

    def _check_format(self, value: bytes | None) -> None:
        if value is None:
            raise StoreError(
                f"{self.settings.store.name}: there is no table: is the prefix wrong, or is the"
                " store still empty ('vmmnet hostvlan add')?"
            )
        if value != FORMAT:
            raise StoreError(
                f"{self.settings.store.name}: the table has format"
                f" {value.decode(errors='replace')!r}; this agent knows {FORMAT.decode()!r}"
            )

    def _resync(self) -> None:
        """Read all necessary topics, as after the start."""
        mirror = Mirror(self._mirror.ports)
        self._load(mirror)
        acknowledged = self._read_acknowledged()
        self._mirror, self._acknowledged, self._lease = mirror, acknowledged, None
        self._witness = None
        self._is_whole = self._compare_all = True
        self._asked = self._held = 0
        self.counters.resyncs += 1

    def _load(self, mirror: Mirror) -> None:
        """Read the wanted topics that are missing, and those that become wanted by them."""
        while missing := mirror.missing():
            ranges = [self._keys.topic(self.settings.host, topic) for topic in missing]
            revision, found = self._client.snapshot(ranges)
            for topic, keys in zip(missing, found, strict=True):
                mirror.load(topic, revision, keys)
        mirror.drop_unwanted()

    def _follow(self) -> None:
        """Read missing topics, write the table, then watch the topics without a watch."""
        if len(self._streams) > _MORE_STREAMS:
            self._close_streams()
            self._begin()
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
        stream = _Stream(watch, topics, min(starts) - 1, self._witness, self._queue.put)
        self._streams.append(stream)
        if max(starts) > self._sent_revision:
            # The last report is older than this watch, which will never receive it.
            self._sent = None
        self._probe_at = time.monotonic() + self._idle * random.uniform(0.5, 1)

    def _close_streams(self) -> None:
        reports = {stream.report for stream in self._streams}
        if reports:
            self._witness = reports.pop() if len(reports) == 1 else None
        while self._streams:
            self._streams.pop().close()

    def _take_message(self, stream: _Stream, content: Told | EtcdError) -> None:
        if isinstance(content, EtcdError):
            self._lost(content)
        elif content.compacted:
            self._lost(
                Compacted(
                    f"etcd has removed revisions before {content.compacted}: everything is"
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
        """Every topic has a watch: the store is no longer lost."""
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
        """Check that etcd answers (if it hangs, its connections stay), and check the table."""
        self._probe_at = time.monotonic() + self._idle
        self._compare_all = self._compare_all or not self._is_ours()
        alive = self._keys.alive(self.settings.host)
        revision, found = self._client.look(alive, serializable=True)
        self._store_revision = max(self._store_revision, revision)
        self._look_for_changes()
        if self._mirror.revision > self._sent_revision:
            self._sent = None
        self._is_announced = False
        if found is None:
            # Acknowledgements of this host may be gone, too.
            self._acknowledged, self._lease = self._read_acknowledged(), None
        self._check_watches()

    def _check_watches(self) -> None:
        """Raise Unreachable if a watch has not received the report in due time."""
        self._silent_probes = self._silent_probes + 1 if self._is_awaiting() else 0
        if (
            self._silent_probes > _SILENT_PROBES
            and time.monotonic() - self._sent_at > _SILENT_SECONDS
        ):
            self._silent_probes = 0
            raise Unreachable("etcd answers, but a watch receives nothing: all watches start again")

    def _look_for_changes(self) -> None:
        """Read the revision of the last change of an entry."""
        _, found = self._client.look(self._keys.changed, serializable=True)
        self._changed = found.mod_revision if found is not None else 0

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except StoreError as error:
            self._lost(error)

    def _lost(self, error: StoreError) -> None:
        """The store is lost; the table stays in force."""
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
        """Read the table that is in force."""
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
        """Whether this agent has made the last change of the table."""
        try:
            with Table.open(self.settings.table, verify=False) as table:
                return table.generation == self._generation
        except TableError:
            return False

    def _write(self) -> None:
        """Bring the table to the content of the mirror."""
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
                # Another program has changed the table: read it.
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
            self._once.say(f"value {complaint}", f"{complaint}: ignored")
        self._mirror.complaints.clear()

    def _set_aside(self) -> None:
        """Rename a damaged table, which QEMUs do not use anyway."""
        path = self.settings.table
        with contextlib.suppress(OSError):
            path.rename(path.with_name(path.name + ".damaged"))
            self._applied.clear()
            self._generation = -1
            self._compare_all = True
            self._rewrite_at = 0.0

    def _sync_twin(self) -> None:
        """Copy the table to the kernel for this host's interfaces with eBPF."""
        try:
            from ..bpf import twin
        except ImportError:
            return
        try:
            # The agent has written or checked the file.
            twin.sync(self.settings.table, check=False)
            self._twin_at = math.inf
            if self._once.over("twin"):
                _log("eBPF has the table again")
        except (twin.TwinError, OSError) as error:
            self.counters.twin_errors += 1
            self._twin_at = time.monotonic() + _RECOPY
            self._once.say("twin", f"eBPF: {error}: tried again until it is possible")

    # The keys of this host

    def _read_acknowledged(self) -> dict[int, int]:
        """The acknowledgements of this host, those of earlier runs included."""
        result = {}
        for _, page in self._client.pages(self._keys.status(self.settings.host)):
            for kv in page:
                with contextlib.suppress(BadValue):
                    result[mac_of(kv.key)] = decode_ready(kv.value)
        return result

    def _find_unsent(self) -> dict[int, int | None]:
        """MACs whose acknowledgements have to be written (the assignment) or removed (None)."""
        assigned = self._mirror.assigned
        gone = dict.fromkeys(self._acknowledged.keys() - assigned.keys())
        ready = {
            mac: revision
            for mac, revision in assigned.items()
            if mac in self._applied and self._acknowledged.get(mac) != revision
        }
        return {**gone, **ready}

    def _send(self) -> None:
        """Write the keys that are due; try again later if etcd refuses."""
        try:
            self._announce()
            self._send_report()
            if not self._unwritten:
                self._acknowledge()
        except Unreachable:
            raise
        except StoreError as error:
            # The table is right: only 'move' waits in vain, and 'check' lists this host.
            self.counters.tell_errors += 1
            self._send_at = time.monotonic() + self._send_after * random.uniform(0.5, 1)
            self._send_after = min(2 * self._send_after, _LAST_RETRY)
            self._once.say(
                "telling",
                f"{error}: this host cannot report for which MACs it is ready: tried again until"
                " it can",
            )
            return
        self._send_after = _FIRST_RETRY
        if self._once.over("telling"):
            _log("this host reports again for which MACs it is ready")

    def _acknowledge(self) -> None:
        """Acknowledge the assigned MACs that the table has."""
        for mac, revision in list(self._unsent.items()):
            ready = self._keys.ready(self.settings.host, mac)
            if revision is None:
                self._client.delete(ready)
                del self._acknowledged[mac]
            else:
                self._client.put(ready, encode_ready(revision))
                self._acknowledged[mac] = revision
            del self._unsent[mac]

    def _announce(self) -> None:
        """Keep the key whose lease ends when this host no longer follows the store."""
        if self._is_announced:
            return
        if self._lease is None or not self._client.keep_alive(self._lease):
            lease = self._client.grant(math.ceil(_LEASE * self._idle))
            self._client.put(self._keys.alive(self.settings.host), b"", lease)
            self._lease, self._sent = lease, None
        if self._sent is not None and self._sent.errors != self._errors():
            self._sent = None
        self._is_announced = True

    def _note_progress(self) -> None:
        """Note the revision up to which the table has all changes."""
        is_settled = self._is_whole and not self._unwritten and not self._mirror.missing()
        if self._streams and is_settled:
            self._held = max(self._held, min(stream.heard for stream in self._streams))

    def _is_awaiting(self) -> bool:
        """Whether a watch has not received the last report yet."""
        return any(stream.heard < self._sent_revision for stream in self._streams)

    def _is_report_due(self) -> bool:
        """Whether a report is due: with a new revision, or to learn how far the watches are."""
        if self._sent is None:
            return True
        if self._sent.revision >= self._changed:
            return False
        return self._held >= self._changed or self._asked < self._changed

    def _send_report(self) -> None:
        """Write the report if it is due."""
        if not self._is_report_due():
            return
        report = reports.Report(
            since=int(self._began),
            at=int(time.time()),
            revision=self._held,
            entries=len(self._applied),
            ports=len(self._mirror.ports),
            errors=self._errors(),
        )
        revision = self._client.put(self._keys.agent(self.settings.host), reports.encode(report))
        self._sent, self._sent_revision, self._asked = report, revision, self._changed
        self._sent_at = time.monotonic()

    def _errors(self) -> tuple[str, ...]:
        return reports.bounded((*self._once.lasting(), *self._interface_faults()))

    def _interface_faults(self) -> tuple[str, ...]:
        return self._hooks.faults if self._hooks is not None else ()

    def _write_status(self) -> None:
        """Write the status file and tell systemd if the status has changed."""
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
            "unacknowledged": sorted(map(macs.text, self._unsent)),
            "table_written": not self._unwritten,
            "interface_faults": self._interface_faults(),
        }
        text = json.dumps(state, indent=1) + "\n"
        file = self.settings.status
        # Others may empty /run.
        if text == self._status and (file is None or file.exists()):
            return
        service.notify(
            f"STATUS={state['state']}: {len(self._applied)} MACs of {self._mirror.lnids} LNIDs"
            f" as of revision {self._mirror.revision}"
        )
        if file is not None:
            new = file.with_name(f".{file.name}.{os.getpid()}")
            try:
                new.write_text(text)
                new.replace(file)
                self._once.over("status")
            except OSError as error:
                with contextlib.suppress(OSError):
                    new.unlink()
                self._once.say("status", f"--status {file}: {error.strerror}")
                return
        self._status = text

    def metrics(self) -> list[metrics.Metric]:
        """The numbers, for Prometheus; called in another thread."""
        since, counters = self._lost_since, self.counters
        mended = self._hooks.mended if self._hooks is not None else 0
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
                ("unacknowledged", "MACs of which etcd is to be told.", len(self._unsent)),
                ("table_unwritten", "Whether the table lacks changes.", int(self._unwritten)),
                ("changes_total", "MACs changed in the table.", counters.changes),
                ("resyncs_total", "Times that everything was read.", counters.resyncs),
                ("compactions_total", "Resumes from too old a revision.", counters.compactions),
                ("disconnections_total", "Times that the store was lost.", counters.disconnections),
                ("write_errors_total", "Failures to write the table.", counters.write_errors),
                ("twin_errors_total", "Failures to sync eBPF.", counters.twin_errors),
                ("tell_errors_total", "Failures to tell etcd.", counters.tell_errors),
                ("bad_values_total", "Keys that nobody can read.", counters.bad_values),
                ("hooks_mended_total", "Hooks that got their program back.", mended),
            )
        ]
