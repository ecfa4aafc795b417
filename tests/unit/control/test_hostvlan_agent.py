# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent with a store in memory, whose operations can fail in each way."""

from __future__ import annotations

import base64
import copy
import queue
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import pytest
from lab.base import wait
from vmmnet.etcd.client import Event, KeyValue, Range, Told, Watched
from vmmnet.etcd.errors import Compacted, Denied, EtcdError, StoreError, Unreachable
from vmmnet.etcd.place import parse_url
from vmmnet.hostvlan.bpf import twin
from vmmnet.hostvlan.etcd import report as reports
from vmmnet.hostvlan.etcd.keys import FORMAT, Keys, encode_ready, write
from vmmnet.hostvlan.etcd.mirror import Mirror
from vmmnet.hostvlan.etcd.report import Report
from vmmnet.hostvlan.host.agent import Agent
from vmmnet.hostvlan.host.hostports import Ports
from vmmnet.hostvlan.host.link import Link, State
from vmmnet.hostvlan.host.settings import Settings, Times
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table, TableError

A, B, C = 0x525400000001, 0x525400000002, 0x525400000003
KEYS = Keys("/t")
HOST = "h1"
READY = KEYS.ready(HOST, A)

FAILURES: list[StoreError] = [
    Unreachable("no answer in 1 s"),
    Denied("permission denied", 7),
    EtcdError("database space exceeded", 8),
    Compacted("required revision has been compacted", 11),
    StoreError("--store-password-file /p: No such file or directory"),
]


@dataclass
class Memory:
    """Stands for a ``Client``, and for the etcd behind it."""

    revision: int = 1
    keys: dict[bytes, KeyValue] = field(default_factory=dict)
    log: list[Event] = field(default_factory=list)
    watches: list[Watching] = field(default_factory=list)
    #: The error of the next calls, by their name, until there are no more.
    failures: dict[str, list[StoreError]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    leases: int = 0

    def __post_init__(self) -> None:
        self.keys[KEYS.format] = KeyValue(KEYS.format, FORMAT, 1)

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.failures.get(name):
            # A new error, without the cause of the last one.
            raise copy.copy(self.failures[name].pop(0))

    # The tests' part

    def change(self, key: bytes, value: bytes | None) -> None:
        """Set or delete a key."""
        self.revision += 1
        if value is None:
            self.keys.pop(key, None)
        else:
            self.keys[key] = KeyValue(key, value, self.revision)
        self.log.append(Event(key, value, self.revision))
        for watch in self.watches:
            watch.tell(self.log[-1])

    def set(self, mac: int, lnids: list[int]) -> None:
        """Give a MAC an entry."""
        for operation in write(KEYS, mac, None, Entry.of(mac, lnids)):
            put = operation["request_put"]
            self.change(base64.b64decode(put["key"]), base64.b64decode(put["value"]))
        self.change(KEYS.changed, b"")

    @property
    def changed(self) -> int:
        """The revision of the last change of an entry."""
        return self.keys[KEYS.changed].mod_revision

    @property
    def report(self) -> Report | None:
        """The report of the host."""
        found = self.keys.get(KEYS.agent(HOST))
        return reports.decode(found.value) if found is not None else None

    def backup(self) -> tuple[int, dict[bytes, KeyValue], list[Event]]:
        """What ``restore()`` takes."""
        return self.revision, dict(self.keys), list(self.log)

    def restore(self, backup: tuple[int, dict[bytes, KeyValue], list[Event]]) -> None:
        """Become an etcd that was restored from a backup, with the same identity."""
        old, self.watches = self.watches, []
        self.revision, self.keys, self.log = backup[0], dict(backup[1]), list(backup[2])
        for watch in old:
            watch.close()

    def lose(self) -> None:
        """End all connections."""
        for watch in self.watches:
            watch.close()

    # The agent's part

    def look(self, key: bytes, *, serializable: bool = False) -> tuple[int, KeyValue | None]:
        """Read a key."""
        self._called("probe" if serializable else "look")
        return self.revision, self.keys.get(key)

    def get(self, key: bytes) -> KeyValue | None:
        """Read a key alone."""
        self._called("get")
        return self.keys.get(key)

    def snapshot(self, ranges: Sequence[Range]) -> tuple[int, list[list[KeyValue]]]:
        """Read ranges."""
        self._called("snapshot")
        return self.revision, [self._of(each) for each in ranges]

    def pages(self, wanted: Range) -> Iterator[tuple[int, list[KeyValue]]]:
        """Read a range, in one page."""
        self._called("pages")
        yield self.revision, self._of(wanted)

    def _of(self, wanted: Range) -> list[KeyValue]:
        return [kv for kv in self.keys.values() if has(wanted, kv.key)]

    def put(self, key: bytes, value: bytes, lease: int = 0) -> int:
        """Set a key."""
        self._called("put of a lease" if lease else "put")
        self.change(key, value)
        return self.revision

    def delete(self, key: bytes) -> int:
        """Delete a key."""
        self._called("delete")
        self.change(key, None)
        return self.revision

    def grant(self, _seconds: int) -> int:
        """Make a lease."""
        self._called("grant")
        self.leases += 1
        return self.leases

    def keep_alive(self, lease: int) -> bool:
        """Only the newest lease has not ended."""
        self._called("keep_alive")
        return lease == self.leases

    def watch(self, requests: Sequence[Watched]) -> Watching:
        """Send earlier and new events."""
        self._called("watch")
        watch = Watching(requests, self.revision)
        for event in self.log:
            watch.tell(event)
        self.watches.append(watch)
        return watch


class Watching:
    """Stands for a ``Watch``."""

    #: Send no events of reports.
    mute: ClassVar[bool] = False

    def __init__(self, requests: Sequence[Watched], revision: int) -> None:
        self._requests = requests
        self._told: queue.SimpleQueue[Told | None] = queue.SimpleQueue()
        for number in range(len(requests)):
            self._told.put(Told(number, revision, (), created=True))

    def tell(self, event: Event) -> None:
        """Send an event to its watches."""
        if self.mute and event.key == KEYS.agent(HOST):
            return
        for number, each in enumerate(self._requests):
            if has(each.range, event.key) and event.mod_revision >= each.start_revision:
                self._told.put(Told(number, event.mod_revision, (event,)))

    def advance(self, revision: int) -> None:
        """Say that nothing has happened up to a revision."""
        for number in range(len(self._requests)):
            self._told.put(Told(number, revision, ()))

    def close(self) -> None:
        """End it."""
        self._told.put(None)

    def __iter__(self) -> Iterator[Told]:
        while (told := self._told.get()) is not None:
            yield told
        raise Unreachable("it has ended the connection")


def has(inside: Range, key: bytes) -> bool:
    return key == inside.key if inside.end is None else inside.key <= key < inside.end


@pytest.fixture
def memory() -> Iterator[Memory]:
    """A store with A and B in LNID 7."""
    result = Memory()
    for mac in (A, B):
        result.set(mac, [7])
    yield result
    result.lose()


TIMES = Times(first_retry=0.001, last_retry=0.01, rewrite=0.01)


@pytest.fixture
def settings(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Of an agent that shall be ready for A."""
    monkeypatch.setattr(twin, "sync", lambda *_, **__: None)
    memory.change(KEYS.assigned(HOST, A), b"")
    store = replace(parse_url("etcd://127.0.0.1/t"), timeout=0.02)
    folder = tmp_path / "ports"
    return Settings(store, HOST, tmp_path / "table", folder, times=TIMES)


def agent_of(settings: Settings, memory: Memory) -> Agent:
    """An agent before its first step."""
    return Agent(settings, memory)  # type: ignore[arg-type]


@pytest.fixture
def agent(settings: Settings, memory: Memory) -> Agent:
    """The same, with the settings of all tests."""
    return agent_of(settings, memory)


def until(agent: Agent, done: Callable[[], object]) -> None:
    """Run steps of the agent's loop."""

    def step() -> bool:
        agent.refresh()
        if done():
            return True
        agent.wait()
        return False

    wait.until(step, "the agent has done it")


def numbers_of(agent: Agent) -> dict[str, float]:
    return {each.name: each.value for each in agent.status.numbers()}


def status_of(agent: Agent) -> dict[str, object]:
    return agent.status.value()


def macs_in(agent: Agent) -> set[int]:
    with Table.open(agent.settings.table) as table:
        return {entry.mac for entry in table}


def is_told(agent: Agent, memory: Memory) -> bool:
    """Return whether it follows, and the store has its report."""
    found = memory.keys.get(READY)
    assigned = memory.keys.get(KEYS.assigned(HOST, A))
    said = found.value if found is not None else None
    wanted = encode_ready(assigned.mod_revision) if assigned is not None else None
    return (
        agent.link.is_following
        and not agent.reporter.is_due
        and KEYS.alive(HOST) in memory.keys
        and said == wanted
    )


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "call",
    [
        "look",
        "get",
        "snapshot",
        "pages",
        "watch",
        "put",
        "delete",
        "grant",
        "put of a lease",
        "probe",
    ],
)
def test_what_failed_is_done_later(
    agent: Agent, memory: Memory, call: str, error: StoreError
) -> None:
    """At the beginning, while it follows, and when it has lost the store."""
    memory.failures[call] = [error, error]
    until(agent, lambda: is_told(agent, memory))
    assert macs_in(agent) == {A, B}
    # It need not be ready any more, has not been told so, and then has.
    memory.failures[call] = [error, error]
    memory.lose()
    memory.change(KEYS.assigned(HOST, A), None)
    until(agent, lambda: is_told(agent, memory))
    assert macs_in(agent) == set()
    memory.failures[call] = [error, error]
    memory.change(KEYS.assigned(HOST, A), b"")
    until(agent, lambda: is_told(agent, memory))
    assert macs_in(agent) == {A, B}
    # Its report is deleted.
    memory.failures[call] = [error, error]
    for key in (READY, KEYS.alive(HOST)):
        memory.change(key, None)
    until(agent, lambda: is_told(agent, memory))


@pytest.mark.parametrize("error", FAILURES[1:3], ids=lambda error: type(error).__name__)
def test_an_agent_that_may_not_speak_follows_all_the_same(
    agent: Agent, memory: Memory, error: StoreError
) -> None:
    """It continues, reports the failure, and retries at a bounded rate."""
    failures = memory.failures["put"] = [error] * 1_000_000
    until(agent, lambda: numbers_of(agent)["tell_errors_total"])
    memory.set(C, [7])
    until(agent, lambda: C in macs_in(agent))
    numbers = numbers_of(agent)
    assert (numbers["store_up"], numbers["store_refused"]) == (1, 0)
    assert (numbers["unacknowledged"], numbers["disconnections_total"]) == (1, 0)
    assert status_of(agent)["unacknowledged"] == ["52:54:00:00:00:01"]
    failed = 1_000_000 - len(failures)
    failures.clear()
    until(agent, lambda: is_told(agent, memory))
    numbers = numbers_of(agent)
    assert (numbers["unacknowledged"], numbers["tell_errors_total"]) == (0, failed)
    assert memory.calls.count("watch") <= 3


def test_a_store_that_hangs_up_at_once_is_not_asked_ever_faster(
    settings: Settings, memory: Memory
) -> None:
    """The interval of retries is reset only after a lasting success."""
    agent = agent_of(replace(settings, times=replace(TIMES, last_retry=1000.0)), memory)
    until(agent, lambda: is_told(agent, memory))
    for number in range(5):
        memory.lose()
        until(agent, lambda number=number: agent.link.disconnections == number + 1)  # type: ignore[misc]
        until(agent, lambda: agent.link.is_following)
    assert agent.link.retry_after == pytest.approx(0.001 * 2**5)


def test_a_resync_that_fails_at_its_end_is_made_again(agent: Agent, memory: Memory) -> None:
    """A store from a backup lacks later reports of this host."""
    backup = memory.backup()
    until(agent, lambda: is_told(agent, memory))
    memory.failures["pages"] = [Unreachable("no answer in 1 s")]
    memory.restore(backup)
    until(agent, lambda: agent.link.disconnections)
    until(agent, lambda: is_told(agent, memory))
    assert agent.follower.resyncs == 2


def test_a_table_is_written_later_also_without_the_store(
    agent: Agent, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    until(agent, lambda: is_told(agent, memory))
    with monkeypatch.context() as patched:

        def full(*_: object, **__: object) -> None:
            raise TableError("No space left on device")

        patched.setattr(Table, "change", full)
        memory.set(C, [7])
        until(agent, lambda: agent.writer.is_behind)
        memory.failures["look"] = [Unreachable("no answer in 1 s")] * 1_000_000
        memory.lose()
        until(agent, lambda: not agent.link.is_following)
    until(agent, lambda: not agent.writer.is_behind)
    assert not agent.link.is_following
    assert macs_in(agent) == {A, B, C}


def test_a_folder_that_names_no_port_any_more_is_told(
    agent: Agent, memory: Memory, capfd: pytest.CaptureFixture[str]
) -> None:
    """The VMs may still run: somebody may have emptied /run."""
    told = "names no port any more"
    for found in (frozenset({A, B}), frozenset({A})):
        agent.take_ports(Ports(found))
    assert told not in capfd.readouterr().err
    agent.take_ports(Ports(frozenset()))
    said = capfd.readouterr().err
    assert f"--ports {agent.settings.folder} {told}" in said
    assert said.endswith("(named before: 52:54:00:00:00:01)\n")
    agent.take_ports(Ports(frozenset()))
    assert not capfd.readouterr().err
    agent.take_ports(Ports(frozenset(range(A, A + 12))))
    agent.take_ports(Ports(frozenset()))
    assert capfd.readouterr().err.endswith("52:54:00:00:00:0a and 2 more)\n")


def test_an_agent_tells_that_it_is_cut_off(agent: Agent, memory: Memory) -> None:
    until(agent, lambda: is_told(agent, memory))
    memory.failures["look"] = [Denied("no such user")] * 1_000_000
    memory.lose()
    until(agent, lambda: numbers_of(agent)["store_refused"])
    numbers = numbers_of(agent)
    assert (numbers["store_up"], numbers["store_refused"]) == (0, 1)
    assert status_of(agent)["refused"] is True
    assert str(status_of(agent)["lost_at"]).startswith("20")
    memory.failures.clear()
    until(agent, lambda: is_told(agent, memory))
    assert (status_of(agent)["refused"], status_of(agent)["lost_at"]) == (False, None)


# The revision of a host's report


def has_said_all(agent: Agent, memory: Memory) -> bool:
    """Whether its report says that it has all changes."""
    return memory.report is not None and memory.report.revision >= memory.changed


def test_the_report_says_that_all_is_there(agent: Agent, memory: Memory) -> None:
    """Also for changes of other hosts; without changes there is no report."""
    until(agent, lambda: has_said_all(agent, memory))
    assert memory.report is not None
    assert (memory.report.entries, memory.report.ports, memory.report.errors) == (2, 0, ())
    for lnids in ([7], [9]):
        memory.set(C, lnids)
        until(agent, lambda: has_said_all(agent, memory))
    probes, puts = memory.calls.count("probe"), memory.calls.count("put")
    until(agent, lambda: memory.calls.count("probe") > probes + 10)
    assert memory.calls.count("put") == puts


def test_a_table_that_lacks_a_change_is_behind_and_the_report_says_why(
    agent: Agent, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    until(agent, lambda: has_said_all(agent, memory))
    with monkeypatch.context() as patched:

        def full(*_: object, **__: object) -> None:
            raise TableError("No space left on device")

        patched.setattr(Table, "change", full)
        memory.set(C, [7])
        changed = memory.changed
        until(agent, lambda: memory.report is not None and memory.report.errors)
        assert memory.report is not None
        assert memory.report.errors == (
            "No space left on device: tried again until it is possible",
        )
        assert memory.report.revision < changed
        # It is there all the same.
        alive = memory.calls.count("keep_alive")
        until(agent, lambda: memory.calls.count("keep_alive") > alive + 2)
        assert memory.report.revision < changed
    until(agent, lambda: has_said_all(agent, memory) and not memory.report.errors)  # type: ignore[union-attr]
    assert C in macs_in(agent)


def test_a_watch_that_tells_nothing_begins_anew(
    settings: Settings, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """etcd answers other requests: only the report shows it."""
    agent = agent_of(replace(settings, times=replace(TIMES, silence=0.0)), memory)
    until(agent, lambda: has_said_all(agent, memory))
    lost = agent.link.disconnections
    monkeypatch.setattr(Watching, "mute", True)
    memory.set(C, [9])
    changed = memory.changed
    until(agent, lambda: agent.link.disconnections > lost)
    monkeypatch.setattr(Watching, "mute", False)
    memory.set(C, [9])
    until(agent, lambda: has_said_all(agent, memory))
    assert memory.changed > changed


def test_a_store_from_a_backup_is_no_reason_to_say_more_than_is_so(
    agent: Agent, memory: Memory
) -> None:
    """Its revisions are lower than that up to which the table had all."""
    backup = memory.backup()
    for _ in range(100):
        memory.set(C, [9])
    until(agent, lambda: has_said_all(agent, memory))
    memory.restore(backup)
    until(agent, lambda: agent.follower.resyncs == 2)
    memory.set(C, [7])
    until(agent, lambda: has_said_all(agent, memory))
    assert memory.report is not None
    assert memory.report.revision <= memory.revision


# A restored store: the same identity, and a revision that has passed that of the agent


def is_proven(agent: Agent) -> bool:
    """Whether all watches have received a report since anything else was received."""
    report = agent.follower.proof
    return report is not None and report.mod_revision >= agent.follower.mirror.newest


def test_a_restored_store_is_seen_though_its_revision_has_passed(
    agent: Agent, memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    """etcd tells this agent neither its term nor its log, and B is no longer in LNID 7."""
    until(agent, lambda: is_told(agent, memory) and is_proven(agent))
    backup = memory.backup()
    memory.set(C, [7])
    until(agent, lambda: C in macs_in(agent) and is_proven(agent))
    passed = agent.follower.mirror.revision
    memory.restore(backup)
    for _ in range(10):
        memory.set(B, [8])
        memory.change(KEYS.member(7, B), None)
    assert memory.revision > passed
    until(agent, lambda: agent.follower.resyncs == 2 and has_said_all(agent, memory))
    assert macs_in(agent) == {A}
    assert "may have been restored from a backup" in capsys.readouterr().err


@pytest.mark.parametrize("written", [False, True], ids=["before a report", "after a report"])
def test_what_the_last_report_does_not_prove_is_read_again(
    agent: Agent, memory: Memory, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    """The backup has the last report that the agent's watches had received, not all after it."""
    until(agent, lambda: is_told(agent, memory) and is_proven(agent))
    backup = memory.backup()
    with monkeypatch.context() as patched:
        patched.setattr(agent.reporter, "send", lambda: None)
        memory.set(C, [7])
        until(agent, lambda: C in macs_in(agent))
        memory.restore(backup)
        for _ in range(10):
            memory.set(B, [7])
        if not written:
            until(agent, lambda: agent.follower.resyncs == 2)
    # In the other history; the agent has not noticed the end of its watches yet.
    agent.reporter.forget_report()
    agent.reporter.send()
    until(agent, lambda: agent.follower.resyncs == 2)
    assert macs_in(agent) == {A, B}


def test_progress_of_a_lost_history_is_forgotten(agent: Agent, memory: Memory) -> None:
    """Without changes, watches are told of revisions that the restored store gives again."""
    until(agent, lambda: is_told(agent, memory) and is_proven(agent))
    backup = memory.backup()
    (watch,) = memory.watches
    watch.advance(memory.revision + 50)
    memory.restore(backup)
    memory.set(C, [7])
    until(agent, lambda: C in macs_in(agent))
    assert agent.follower.resyncs == 1


def is_complete(mirror: Mirror) -> bool:
    return B in mirror.assigned and not mirror.missing()


def test_a_store_that_was_only_lost_is_not_read_again(agent: Agent, memory: Memory) -> None:
    """Also right after a port came, and after an assignment, which are no change of an entry."""
    for number in range(3):
        until(agent, lambda: is_told(agent, memory) and is_proven(agent))
        memory.lose()
        memory.set(C, [7, number + 8])
        until(agent, lambda: C in macs_in(agent) and is_told(agent, memory))
        agent.take_ports(Ports(frozenset({C})))
        memory.change(KEYS.assigned(HOST, B), b"")
        until(agent, lambda: is_complete(agent.follower.mirror))
    assert agent.follower.resyncs == 1


# The state of the link


def test_the_link_goes_only_from_state_to_state(caplog: pytest.LogCaptureFixture) -> None:
    """And says so; a link that was not opened cannot follow, nor be lost."""
    caplog.set_level("DEBUG", "vmmnet")
    link = Link(TIMES)
    for step in (link.follow, lambda: link.lose(FAILURES[0])):
        with pytest.raises(RuntimeError, match="goes from LOST"):
            step()
    link.open()
    assert link.state is State.OPENING and not link.is_following
    link.follow()
    with pytest.raises(RuntimeError, match="goes from FOLLOWING to OPENING"):
        link.open()
    link.lose(FAILURES[1])
    assert (link.state, link.is_refused) == (State.LOST, True)
    said = [each.getMessage() for each in caplog.records]
    assert said == [
        "link to the store: LOST, then OPENING",
        "link to the store: OPENING, then FOLLOWING",
        "link to the store: FOLLOWING, then LOST",
    ]
