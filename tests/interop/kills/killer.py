# SPDX-License-Identifier: GPL-2.0-or-later
"""Those who change tables and those who are killed, each in a thread of its own."""

from __future__ import annotations

import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Self

from lab.base import process, wait
from vmmnet.hostvlan.table import lnid
from vmmnet.values import mac as macs

from . import policy
from .bed import STORE, Bed
from .policy import FOLLOWING, Policy

# Seconds between two kills, at most.
_PAUSE = 0.5
# MACs of an import.
_MANY = 150
# How many commands of those that could be are killed, and until when: in parts
# of the time that one took which was not.
_KILLED, _UNTIL = 0.5, 1.1
WRITERS = 2


class Worker(threading.Thread):
    """Does one thing again and again, until it is told to end or fails."""

    #: Whom it kills.
    KINDS: tuple[str, ...] = ("command",)

    def __init__(self, bed: Bed, seed: int) -> None:
        super().__init__(daemon=True)
        self.bed, self.dice = bed, random.Random(seed)
        #: How many of each kind were killed.
        self.kills = Counter(dict.fromkeys(self.KINDS, 0))
        self._over = threading.Event()
        self._failed: BaseException | None = None

    def run(self) -> None:
        """Work; for ``start()``."""
        try:
            while not self._over.is_set():
                self.work()
        except BaseException as error:
            self._failed = error

    def work(self) -> None:
        """Do it once."""
        raise NotImplementedError

    def look(self) -> None:
        """Raise what it failed with."""
        if self._failed is not None:
            raise self._failed

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over.set()
        self.join()
        if kind is None:
            self.look()


class Killer(Worker):
    """Kills agents, etcd and the writers of etcd, and starts them again at once.

    It kills as many as it is granted: who is killed again and again before it
    has done anything proves nothing.
    """

    KINDS = ("agent", "etcd", "writer of etcd")

    def __init__(self, bed: Bed, seed: int) -> None:
        super().__init__(bed, seed)
        self._logs = [bed.folder / f"writer{number}" for number in range(WRITERS)]
        self._writers = [bed.writer(log, self.dice.getrandbits(32)) for log in self._logs]
        self._granted = threading.Semaphore(0)

    def grant(self, kills: int) -> None:
        """Let it kill so many more."""
        self._granted.release(kills)

    def work(self) -> None:
        """Wait a moment, then kill somebody."""
        if not self._granted.acquire(timeout=_PAUSE):
            return
        self._over.wait(self.dice.uniform(0, _PAUSE))
        victim: Callable[[], None] = self.dice.choices(
            (self._agent, self._etcd, self._writer), (5, 1, 3)
        )[0]
        victim()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        super().__exit__(kind)
        for writer in self._writers:
            process.stop(writer)

    @property
    def changes(self) -> int:
        """How many MACs the writers know to have changed."""
        return sum(sum(map(int, log.read_text().splitlines())) for log in self._logs)

    def _agent(self) -> None:
        agent = self.bed.agents[self.dice.choice(FOLLOWING)]
        agent.kill()
        agent.start()
        self.kills["agent"] += 1

    def _etcd(self) -> None:
        self.bed.etcd.kill()
        self.bed.etcd.start()
        self.kills["etcd"] += 1

    def _writer(self) -> None:
        at = self.dice.randrange(WRITERS)
        self._writers[at].kill()
        self._writers[at].wait()
        self._writers[at] = self.bed.writer(self._logs[at], self.dice.getrandbits(32))
        self.kills["writer of etcd"] += 1


class Commands(Worker):
    """Changes the table of the host without agent by commands, of which many are killed.

    Whatever becomes of a command, the table has all of its change or nothing.
    """

    def __init__(self, bed: Bed, seed: int, table: Policy) -> None:
        super().__init__(bed, seed)
        self.changes = 0
        #: What the table says of MACs that do not move.
        self.table = dict(table)
        self._csv = bed.folder / "many.csv"
        self._took = 1.0

    def work(self) -> None:
        """One command."""
        if self.dice.random() < 0.5:
            mac, lnids = policy.a_change(self.dice)
            self._change({mac: lnids})
            return
        wanted = dict(policy.a_change(self.dice) for _ in range(_MANY))
        self._change({mac: lnids for mac, lnids in wanted.items() if lnids})

    def finish(self) -> None:
        """One more that is not killed, for what the last one may have left undone."""
        mac = policy.STEADY[0].mac
        words = ("add", macs.text(mac), str(policy.STEADY[0].tenant))
        command = self.bed.command(*words, "--table", self.bed.alone.table)
        said = command.communicate(timeout=wait.PATIENCE)[0].decode()
        assert not command.returncode, said

    def _change(self, wanted: Policy) -> None:
        before = {mac: self.table.get(mac, frozenset()) for mac in wanted}
        status = self.run_or_kill(self.bed.command(*self._words(wanted)))
        now = self.bed.alone.lnids()
        found = {mac: now.get(mac, frozenset()) for mac in wanted}
        assert found in (before, wanted), f"a part of a change: {found}, of {wanted}"
        assert status or found == wanted, "a command that has done nothing"
        self.changes += sum(found[mac] != before[mac] for mac in wanted)
        self.table |= found

    def _words(self, wanted: Policy) -> list[str | Path]:
        place = ["--table", self.bed.alone.table]
        if len(wanted) > 1:
            return ["import", write_csv(self._csv, wanted), *place]
        ((mac, lnids),) = wanted.items()
        if lnids:
            return ["set", macs.text(mac), *map(str, sorted(lnids)), *place]
        if self.table.get(mac):
            return ["remove", macs.text(mac), *place]
        return ["list", *place]

    def run_or_kill(self, command: subprocess.Popen[bytes]) -> int:
        """Let a command end, or kill it before; returns its status, not 0 if it was killed."""
        began = time.monotonic()
        try:
            if self.dice.random() < _KILLED:
                command.wait(self.dice.uniform(0, _UNTIL * self._took))
            else:
                command.wait(wait.PATIENCE)
                self._took = time.monotonic() - began
        except subprocess.TimeoutExpired:
            command.kill()
            self.kills["command"] += 1
        said = command.communicate(timeout=wait.PATIENCE)[0].decode()
        assert command.returncode <= 0 or "etcd" in said, said
        return command.returncode


class Mover(Commands):
    """Gives the VMs that move new LNIDs, everywhere, by commands; in the caller's thread."""

    def __init__(self, bed: Bed, seed: int, first: Policy) -> None:
        super().__init__(bed, seed, {})
        self.now = {vm.mac: first[vm.mac] for vm in policy.MOVING}
        self._csv = bed.folder / "moved.csv"

    def move(self) -> Policy:
        """Another policy for them; returns it when it is in force on all hosts."""
        before, self.now = self.now, policy.moved(self.dice)
        self.changes += 2 * sum(before[mac] != self.now[mac] for mac in self.now)
        for place in (STORE, ("--table", self.bed.alone.table)):
            words = ("import", write_csv(self._csv, self.now), *place)
            wait.until(lambda words=words: not self.run_or_kill(self.bed.command(*words)), "moved")  # type: ignore[misc]
        everyone = {vm.mac: frozenset({vm.tenant}) for vm in policy.STEADY} | self.now
        for name, host in self.bed.hosts.items():
            wanted = everyone if name == policy.ALONE else policy.mirrored(name, everyone)
            wait.until(lambda host=host, wanted=wanted: host.has(wanted), f"{name} follows")  # type: ignore[misc]
        return self.now


def write_csv(file: Path, wanted: Policy) -> Path:
    """Write a file for ``import``."""
    lines = [f"{macs.text(mac)},{' '.join(map(lnid.text, sorted(wanted[mac])))}," for mac in wanted]
    file.write_text("\n".join(("mac,lnids,addresses", *lines)) + "\n")
    return file
