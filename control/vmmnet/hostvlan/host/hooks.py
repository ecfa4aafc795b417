# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps HostVLAN in eBPF on a host's interfaces while the agent runs.

Theory of operation

Others can remove our programs: a network manager that makes the qdiscs anew, a program
that cleans up links, a virtual machine whose tap is made again under its name.  Frames
pass there unjudged from then on.  So a thread looks at all interfaces of the table's
that are attached, and puts back what is missing.  It does not wait for etcd, and not for
the agent's other work.

The kernel tells of interfaces, qdiscs and filters that go (``nic.Changes``).  It does
not tell of links; so the thread also looks twice a second.  If a look takes much of a
processor's time, as there are many interfaces, the pauses are longer in proportion.

What somebody detaches stays detached: an interface that is there, and whose folder in
bpffs is gone, is left alone; and detach() notes it for one that is gone.  What
an interface was attached with is remembered here after it has gone, for as long as the
agent runs: the next change of the table removes its folder.  One that is made again is
attached when it is up or at a bridge, as its MAC address is not set before.

With another program that removes ours, or puts itself before them, each time, the pauses
between two tries become longer, and the log says so once.
"""

from __future__ import annotations

import enum
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from vmmnet.values import mac as macs

from ..bpf import nic, twin

# Seconds between two looks after an event; and how many times as long as a look they are at
# least, without one and after one.
_BUSY = 0.02
_IDLE_SHARE, _BUSY_SHARE = 20, 4
#: So many losses without calm between them are the work of another program.
CONTESTED = 4
# Seconds that stop() waits for what is being mended.
_ENDING = 5.0
# How many interfaces that are gone are remembered.
_GONE_MAX = 256


@dataclass(slots=True)
class Paces:
    """Intervals, in seconds."""

    #: Between two looks without an event.
    idle: float = 0.5
    #: Between tries to mend the same interface: doubled each time.
    first_pause: float = 1.0
    last_pause: float = 60.0
    #: A hook that held for so long, and for twice the last pause, is mended at once.
    held: float = 5.0
    #: After so long without a loss, it is no longer contested.
    calm: float = 120.0


class State(enum.Enum):
    """Of an interface that has been attached."""

    WHOLE = "each hook has our program, before those of others"
    LOST = "a hook has no program, or one of others comes first"
    GONE = "the interface is gone"
    OTHER = "there is a new interface of its name, which is not for the same station"
    UNATTACHED = "there is a new interface of its name, which cannot be attached"


@dataclass
class _Kept:
    """An interface, as it was when it was looked at last."""

    last: twin.Attachment
    paces: Paces
    state: State = State.WHOLE
    said: str = ""
    # Tries to mend it since it held, and when the last one was.
    tries: int = 0
    tried_at: float = -math.inf
    # Losses without calm between them; the log has said that there is no calm.
    losses: int = 0
    is_contested: bool = False
    folder: twin.Gone | None = None

    @property
    def pause(self) -> float:
        """Seconds between the last try and the next one."""
        if not self.tries:
            return 0.0
        return min(self.paces.first_pause * 2.0 ** (self.tries - 1), self.paces.last_pause)

    @property
    def is_due(self) -> bool:
        """Whether it is to be tried now."""
        return time.monotonic() >= self.tried_at + self.pause

    def try_now(self) -> None:
        """Count a try."""
        self.tries = min(self.tries + 1, 32)
        self.tried_at = time.monotonic()


class Hooks:
    """Looks after the attached interfaces of a table, in this process's network namespace."""

    def __init__(
        self, table: Path, ports: Callable[[], frozenset[int]], log: Callable[[str], None]
    ) -> None:
        """``ports`` returns the MACs of this host's ports; another thread calls it."""
        self._table = table
        #: May be changed at any time.
        self.paces = Paces()
        self._ports = ports
        self._log = log
        self._present: dict[int, _Kept] = {}
        self._gone: dict[str, _Kept] = {}
        self._blind = ""
        # Seconds of a processor for a look, without mending.
        self._took = 0.0
        #: How many hooks got their program, or their place, back.
        self.mended = 0
        #: Sentences about the interfaces where frames pass unjudged.
        self.faults: tuple[str, ...] = ()
        self._thread = threading.Thread(target=self._run, name="hooks", daemon=True)

    def start(self) -> None:
        """Look for the first time, then again in a thread whenever something may have changed."""
        self._changes = nic.Changes()
        self.look()
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._changes.stop()
        self._thread.join(_ENDING)
        # One that waits for the lock of another program ends with the process.
        if not self._thread.is_alive():
            self._changes.__exit__(None, None, None)

    def _run(self) -> None:
        while self._changes.wait(
            max(_BUSY, _BUSY_SHARE * self._took), max(self.paces.idle, _IDLE_SHARE * self._took)
        ):
            self.look()

    def _find(self) -> list[twin.Attachment]:
        began = time.thread_time()
        found = [each for each in twin.status(table=self._table) if each.here]
        self._took = time.thread_time() - began
        return found

    def look(self) -> None:
        """Look at all interfaces, and mend what can be mended."""
        try:
            found = self._find()
            for each in found:
                self._look_at(each)
            self._look_for_gone({each.ifindex for each in found})
            if self._gone:
                self._look_for_remade()
            blind = ""
        # A thread that has ended would let everything pass in silence.
        except Exception as error:  # noqa: BLE001
            reason = error if isinstance(error, twin.TwinError | OSError) else repr(error)
            blind = f"{reason}: whether programs were removed is not known"
        if blind and not self._blind:
            self._log(f"eBPF: {blind}")
        elif self._blind and not blind:
            self._log("eBPF: interfaces can be looked at again")
        self._blind = blind
        self.faults = tuple(self._find_faults())

    def _find_faults(self) -> Iterator[str]:
        if self._blind:
            yield f"eBPF: {self._blind}"
        for kept in [*self._present.values(), *self._gone.values()]:
            if kept.state in (State.LOST, State.UNATTACHED):
                yield f"eBPF: {kept.said}"

    def _become(self, kept: _Kept, state: State, said: str = "") -> None:
        """Note a state, and log the sentence about it if it is another one."""
        if (state, said) == (kept.state, kept.said):
            return
        kept.state, kept.said = state, said
        if said and not kept.is_contested:
            self._log(f"eBPF: {said}")

    # Interfaces that are there

    def pause_of(self, interface: str) -> float:
        """Seconds between the last try to mend an attached interface and the next one."""
        kept = next(each for each in self._present.values() if each.last.interface == interface)
        return kept.pause

    def _look_at(self, now: twin.Attachment) -> None:
        kept = self._present.get(now.ifindex)
        if nic.name_of(now.ifindex) is None:
            if kept is None and now.interface not in self._gone:
                self._lose(_Kept(now, self.paces))
            return
        if kept is None:
            kept = self._present[now.ifindex] = _Kept(now, self.paces)
            self._gone.pop(now.interface, None)
        kept.last = now
        name, wrong = now.interface, _wrong(now)
        if wrong and kept.state is State.WHOLE:
            self._note_loss(kept, f"{name}: {wrong}")
        if wrong and kept.is_due:
            self._mend(kept, wrong)
        elif not wrong and kept.state is not State.WHOLE:
            self._become(kept, State.WHOLE, f"{name}: somebody has attached it again")
        if not wrong and kept.is_contested and time.monotonic() - kept.tried_at > self.paces.calm:
            kept.losses, kept.is_contested = 0, False
            self._log(f"eBPF: {name}: it stays attached again")

    def _note_loss(self, kept: _Kept, said: str) -> None:
        held = time.monotonic() - kept.tried_at
        if held > max(self.paces.held, 2 * kept.pause):
            kept.tries = 0
        if held > self.paces.calm:
            kept.losses = 0
        kept.losses += 1
        self._become(kept, State.LOST, said)
        if kept.losses == CONTESTED:
            kept.is_contested = True
            self._log(
                f"eBPF: {kept.last.interface}: another program does that again and again: find"
                f" it; it is mended after pauses of up to {self.paces.last_pause:g} s, without a"
                " line here until it stays"
            )

    def _mend(self, kept: _Kept, wrong: str) -> None:
        before, name = kept.last, kept.last.interface
        kept.try_now()
        try:
            now = twin.mend(before.ifindex)
        except (twin.TwinError, OSError) as error:
            failed = f"{name}: {wrong}; {error}: tried again until it is possible"
            self._become(kept, State.LOST, failed)
            return
        if now is None:
            # The next look sees that it is detached.
            return
        kept.last = now
        if wrong := _wrong(now):
            self._become(kept, State.LOST, f"{name}: {wrong}, also after it was attached again")
            return
        places = [*before.missing, *before.overtaken]
        self.mended += len(places)
        self._become(kept, State.WHOLE, f"{name}: attached again at {', '.join(places)}")

    # Interfaces that go and come

    def _look_for_gone(self, attached: set[int]) -> None:
        for ifindex, kept in list(self._present.items()):
            if nic.name_of(ifindex) is None:
                del self._present[ifindex]
                self._lose(kept)
            elif ifindex not in attached:
                del self._present[ifindex]
                self._log(f"eBPF: {kept.last.interface}: somebody has detached it; it stays so")

    def _lose(self, kept: _Kept) -> None:
        """Remember an interface that is gone."""
        name = kept.last.interface
        kept.tries, kept.tried_at = 0, -math.inf
        kept.losses, kept.is_contested = 0, False
        try:
            kept.folder = twin.Gone(kept.last)
        except OSError:
            # A change of the table has removed it already.
            kept.folder = None
        self._gone.pop(name, None)
        if len(self._gone) == _GONE_MAX:
            del self._gone[next(iter(self._gone))]
        self._gone[name] = kept
        self._become(kept, State.GONE)

    def _look_for_remade(self) -> None:
        links = {link.name: link for link in nic.links()}
        for name, kept in list(self._gone.items()):
            link = links.get(name)
            if kept.folder is not None and kept.folder.detached:
                del self._gone[name]
                self._log(f"eBPF: {name}: somebody has detached it; it stays so")
            elif link is None:
                self._become(kept, State.GONE)
            elif link.index in self._present:
                del self._gone[name]
            elif (link.up or link.master) and kept.is_due:
                self._attach_again(kept, link.index)

    def _attach_again(self, kept: _Kept, ifindex: int) -> None:
        lost = kept.last
        name = lost.interface
        if why := self._why_not(lost):
            said = f"{name} was made again, and is not attached: {why}"
            self._become(kept, State.OTHER, said)
            return
        kept.try_now()
        try:
            kept.last = twin.attach_again(lost)
        except (twin.TwinError, OSError) as error:
            said = f"{name} was made again: {error}: tried again until it is possible"
            self._become(kept, State.UNATTACHED, said)
            return
        del self._gone[name]
        self._present[ifindex] = kept
        kept.tries, kept.folder = 0, None
        self.mended += len(lost.hooks)
        said = f"{name} was made again: attached for {macs.text(lost.mac)}"
        self._become(kept, State.WHOLE, said)

    def _why_not(self, lost: twin.Attachment) -> str:
        """Why a new interface is not that of the same station; empty: it may be."""
        mac = macs.text(lost.mac)
        attached = {each.last.mac: each.last.interface for each in self._present.values()}
        if lost.mac not in self._ports():
            return f"{mac} is not a port of this host"
        if lost.mac in attached:
            return f"{mac} is attached at {attached[lost.mac]}"
        try:
            now = nic.look(lost.interface)
        except OSError as error:
            return str(error.strerror)
        of_libvirt = nic.is_of_libvirt(now.name)
        if now.driver in nic.OWN and now.mac != lost.mac:
            return f"it has the MAC address {macs.text(now.mac)}, not {mac}"
        if of_libvirt and now.mac & 0xFFFFFFFFFF != lost.mac & 0xFFFFFFFFFF:
            return f"by its MAC address {macs.text(now.mac)} libvirt has made it for another NIC"
        return ""


def _wrong(now: twin.Attachment) -> str:
    """What is wrong with the hooks of an interface; empty: nothing is."""
    missing, overtaken = ", ".join(now.missing), ", ".join(now.overtaken)
    wrong = []
    if missing:
        wrong.append(f"the program at {missing} was removed: frames pass there unjudged")
    if overtaken:
        wrong.append(
            f"a program of others comes first at {overtaken}: what it lets pass is not judged"
        )
    return "; ".join(wrong)
