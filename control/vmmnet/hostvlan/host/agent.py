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
lost, the agent says so once in its log, and in what it shows and counts, and it
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

The agent has parts: a link (the state of the connection), a follower (it reads and watches
the store), a writer (of the table) and a reporter (of this host's keys).  The agent itself
is the loop, and what one part has to do for another one.

One thread does all of this work.  Another one keeps HostVLAN in eBPF on the interfaces
(see ``hooks``).  The other threads only wait, for messages of a watch, for changes in
the folder of ports, or for those who ask, and pass on what they receive.
"""

from __future__ import annotations

import contextlib
import queue
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from vmmnet import controlserver, service
from vmmnet.etcd.client import Client
from vmmnet.etcd.errors import Compacted, StoreError, Unreachable
from vmmnet.values import mac as macs

from ..etcd import report as reports
from ..table import kept
from . import hostports, metrics
from .follower import Follower, Message
from .hooks import Hooks
from .journal import Journal, log
from .link import Link, State
from .reporter import Reporter
from .settings import Settings
from .status import Status
from .writer import Writer


@dataclass(frozen=True, slots=True)
class _PortsNow:
    """The content of the folder of ports; None: the folder is gone."""

    ports: hostports.Ports | None


def _spell_ports(ports: frozenset[int]) -> str:
    """The first ten MACs, and how many more there are."""
    first = ", ".join(map(macs.text, sorted(ports)[:10]))
    return f"{first} and {len(ports) - 10} more" if len(ports) > 10 else first


class Agent:
    """The agent of one host: its parts, and the loop; a signal ends ``run()``."""

    def __init__(self, settings: Settings, client: Client | None = None) -> None:
        self.settings = settings
        self._client = client or Client(settings.store)
        self._queue: queue.SimpleQueue[Message | _PortsNow] = queue.SimpleQueue()
        self._journal = Journal()
        # The ports that the folder names.
        self._ports: frozenset[int] = frozenset()
        self.link = Link(settings.times)
        self.follower = Follower(settings, self._client, self._queue.put)
        self.writer = Writer(settings, self._journal)
        self.hooks = Hooks(settings.table, lambda: self.follower.mirror.ports, log)
        self.reporter = Reporter(
            settings, self._client, self.follower, self.writer, self._errors, self._journal
        )
        self.status = Status(
            settings,
            self.link,
            self.follower,
            self.writer,
            self.reporter,
            self.hooks,
        )

    def _errors(self) -> tuple[str, ...]:
        return reports.bounded((*self._journal.lasting(), *self.hooks.faults))

    # The loop

    def run(self) -> NoReturn:
        """Mirror until SIGTERM or SIGINT, which raise SystemExit."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        with contextlib.ExitStack() as stack:
            stack.callback(self._client.close)
            if self.settings.metrics is not None:
                server = metrics.Server(self.settings.metrics, self.status.metrics)
                stack.callback(server.close)
            if self.settings.control is not None:
                asked = controlserver.Background(
                    self.settings.control, 0o666, self.status, lambda text: log(f"--control {text}")
                )
                stack.callback(asked.close)
            self._keep_table(stack)
            self._make_folder()
            folder = hostports.PortsFolder(
                self.settings.folder, lambda found: self._queue.put(_PortsNow(found))
            )
            self.take_ports(folder.start())
            stack.callback(folder.stop)
            # Before a change of the table removes what belongs to interfaces that are gone.
            self.hooks.start()
            stack.callback(self.hooks.stop)
            self.writer.read()
            stack.callback(self.follower.close)
            self.refresh()
            service.notify("READY=1")
            while True:
                self.wait()
                self.refresh()

    def _on_signal(self, *_: object) -> None:
        # This also ends a wait for etcd, which can be long, and a change of the table,
        # which may be interrupted at any point.
        raise SystemExit(0)

    def wait(self) -> None:
        """Wait until something is due or arrives, and take all that has arrived."""
        try:
            self._take(self._queue.get(timeout=self._timeout()))
            while True:
                self._take(self._queue.get_nowait())
        except queue.Empty:
            pass

    def _timeout(self) -> float:
        is_lost = self.link.state is State.LOST
        dues = [self.writer.copy_at, self.link.retry_at if is_lost else self.follower.probe_at]
        if self.writer.is_behind:
            dues.append(self.writer.rewrite_at)
        elif self.link.is_following and self.reporter.is_due:
            dues.append(self.reporter.send_at)
        return max(0.0, min(dues) - time.monotonic())

    def _take(self, item: Message | _PortsNow) -> None:
        match item:
            case _PortsNow(found):
                self.take_ports(found)
            case Message():
                self._guarded(lambda: self._take_message(item))

    def refresh(self) -> None:
        """Do all that is due, after an item or a timeout."""
        now = time.monotonic()
        if self.link.state is State.LOST:
            if now >= self.link.retry_at:
                self.link.open()
                self._guarded(self._connect)
        elif self.follower.mirror.missing():
            self._guarded(self._follow)
        else:
            self.follower.mirror.drop_unwanted()
            if now >= self.follower.probe_at:
                self._guarded(self._probe)
        if not self.writer.is_behind or now >= self.writer.rewrite_at:
            self._write()
        if now >= self.writer.copy_at:
            self.writer.copy()
        self.reporter.note_progress()
        if self.link.is_following and now >= self.reporter.send_at:
            self._guarded(self.reporter.send)
        self.status.note()

    def _keep_table(self, stack: contextlib.ExitStack) -> None:
        """Let commands know that this agent keeps the table."""
        table, store = self.settings.table, self.settings.store.name
        try:
            other = stack.enter_context(kept.keeping(table, store))
        except OSError as error:
            log(f"{table}.agent: {error.strerror}: commands do not know that this agent keeps it")
            return
        if other is not None:
            log(
                f"{table}: another agent (process {other.process}) keeps it as {other.store} says:"
                " each undoes what the other does; stop one of them"
            )

    # Ports

    def _make_folder(self) -> None:
        try:
            self.settings.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            log(f"--ports {self.settings.folder}: {error.strerror}: no ports are known from there")

    def take_ports(self, found: hostports.Ports | None) -> None:
        """Take the content of the folder of ports; None: the folder is gone."""
        folder = self.settings.folder
        if found is None:
            # The VMs still run without the folder.
            self._journal.say(
                "folder",
                f"--ports {folder} is gone or unreadable: the agent keeps the ports that it knows",
            )
        else:
            self._journal.over("folder", f"--ports {folder} is back")
            for complaint in found.complaints:
                self._journal.say(f"port {complaint}", f"{complaint}: this line is ignored")
            if self._ports and not found.macs:
                # As after the last VM has ended; or somebody has emptied /run.
                log(
                    f"--ports {folder} names no port any more: a VM that still runs reaches nobody"
                    f" until its file is there again (named before: {_spell_ports(self._ports)})"
                )
            self._ports = found.macs
        self.follower.mirror.ports = self._ports | self.settings.fixed

    # The store

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except StoreError as error:
            self._lose(error)

    def _connect(self) -> None:
        """Continue from the last revision, or read everything if that is impossible."""
        self.follower.greet()
        self._begin()
        self.follower.look_for_changes()
        self._follow()

    def _begin(self) -> None:
        """Prepare for new watches: what is known has the store's history, or is read again."""
        if not self.follower.continues():
            mirror, acknowledged = self.follower.read_all(), self.reporter.read_acknowledged()
            self.follower.replace(mirror)
            self.reporter.restart(acknowledged)
            self.writer.compare_all()
        self.reporter.forget_report()

    def _follow(self) -> None:
        """Read missing topics, write the table, then watch the topics without a watch."""
        if self.follower.is_crowded:
            self.follower.close()
            self._begin()
        self.follower.load()
        self._write()
        self.reporter.expect(self.follower.watch())

    def _take_message(self, message: Message) -> None:
        self.follower.take(message)
        if self.link.state is State.OPENING and self.follower.is_complete:
            seconds = self.link.follow()
            self.reporter.begin()
            said = [self._journal.over(topic) for topic in ("unreachable", "refused")]
            if any(said):
                log(f"{self.settings.store.name} is there again, after {seconds:.1f} s")

    def _probe(self) -> None:
        """Check that etcd answers, that the table is ours, and that the watches receive."""
        self.writer.check()
        self.reporter.probed(self.follower.probe())

    def _lose(self, error: StoreError) -> None:
        """The store is lost; the table stays in force."""
        self.link.lose(error)
        self.follower.lose(error)
        if isinstance(error, Compacted):
            log(str(error))
        else:
            revision = self.follower.mirror.revision
            since = f", as of revision {revision}" if revision else ""
            topic = "unreachable" if isinstance(error, Unreachable) else "refused"
            self._journal.say(topic, f"{error}; the table stays in force as it is{since}")

    def _write(self) -> None:
        """Bring the table to the content of the mirror, if that is known."""
        if self.follower.is_whole:
            self.writer.write(self.follower.mirror)
