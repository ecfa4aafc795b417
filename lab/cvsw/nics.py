# SPDX-License-Identifier: GPL-2.0-or-later
"""NICs with a switch, in Python: sessions, flows, groups and associations, as hw/net/cvsw has them.

A World has a clock of its own, and a network that loses and repeats frames.
"""

from __future__ import annotations

import random
import struct
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from vmmnet.cvsw.control import report
from vmmnet.cvsw.control.nics.fabric import Fabric
from vmmnet.cvsw.control.nics.keys import Timing
from vmmnet.cvsw.control.nics.nic import Phase
from vmmnet.cvsw.control.table import entry, flow
from vmmnet.cvsw.control.table.entry import Entry
from vmmnet.cvsw.control.table.flow import Flow
from vmmnet.cvsw.control.table.group import Group
from vmmnet.cvsw.plan.model import Plan
from vmmnet.cvsw.wire import message as wire
from vmmnet.cvsw.wire.message import (
    CONTROLLER_MAC,
    NICS_MAC,
    OFFLOADS,
    WINDOW,
    Keys,
    Message,
    Offload,
    Status,
    Type,
)
from vmmnet.cvsw.wire.role import Role

REGISTER_FIRST, REGISTER_LAST, HELLO_AGAIN = 0.25, 30.0, 1.0
_SET_SA = struct.Struct(">IIBBH24s12sHxx")
_OUTBOUND, _INBOUND = 1, 2
_NO_OFFLOAD = Offload(0)


@dataclass(frozen=True)
class Held:
    """An association that a NIC has."""

    is_inbound: bool
    cipher: str
    key: bytes


@dataclass
class SimNic:
    """One NIC; ``send`` puts a frame on the wire."""

    mac: bytes
    key: bytes
    send: Callable[[bytes], None]
    room: int = 4096
    #: 0: an older NIC without groups.
    groups_max: int = 64
    #: Entries that the NIC refuses, with OFPBAC_BAD_OUT_PORT.
    refuses: Callable[[Entry], bool] = lambda _: False
    table: dict[bytes, Entry] = field(default_factory=dict)
    sas: dict[int, Held] = field(default_factory=dict)
    mtu: int = 0
    #: Offloads that the guest's driver negotiated, and those of them that are off.
    asked: Offload = OFFLOADS
    denied: Offload = _NO_OFFLOAD
    commands: Counter[Type] = field(default_factory=Counter)
    forged: int = 0
    #: All keys that the NIC has received.
    keys_seen: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._numbers = random.Random(self.mac)
        self.boot(0.0)

    def boot(self, now: float) -> None:
        """Start with nothing."""
        self.table.clear()
        self.sas.clear()
        self.mtu = 0
        self.denied = _NO_OFFLOAD
        self._events = 0
        self._keys: Keys | None = None
        self._sequence = 0
        self._answers: dict[int, Message] = {}
        self.is_on = True
        self._hello_at = now
        self._begin(now)

    def forget_session(self) -> None:
        """Lose the keys of its session, as to another controller."""
        self._keys = None

    @property
    def flows(self) -> list[Flow]:
        """Of its table."""
        return [each for each in self.table.values() if isinstance(each, Flow)]

    @property
    def groups(self) -> list[Group]:
        """Groups of its table, in an order in which they can be added."""
        found = [each for each in self.table.values() if isinstance(each, Group)]
        return sorted(found, key=entry.setting_order)

    def _begin(self, now: float) -> None:
        self._wait, self._nonce = REGISTER_FIRST, b""
        self._next: float | None = now

    def tick(self, now: float) -> None:
        """Register when it is due."""
        if self.is_on and self._next is not None and now >= self._next:
            self._register(now)

    def _register(self, now: float) -> None:
        self._next, self._wait = now + self._wait, min(2 * self._wait, REGISTER_LAST)
        self._hello_at = now + HELLO_AGAIN
        self._nonce = self._numbers.randbytes(16)
        numbers = (self.room, 64, len(self.flows), self.mtu, self.groups_max)
        about = struct.pack(">16sIIIHH", self._nonce, *numbers)
        self._say(Message(Type.REGISTER, self.mac, 0, about), Keys.registration(self.key, self.mac))

    def _say(self, message: Message, key: bytes) -> None:
        self.send(wire.build(message, self.mac, CONTROLLER_MAC, key))

    def input(self, frame: bytes, now: float) -> None:
        """Handle a frame of the wire."""
        if not self.is_on or frame[:6] not in (self.mac, NICS_MAC):
            return
        message, covered = wire.parse(frame)
        if message.type == Type.HELLO:
            if now >= self._hello_at:
                self._begin(now)
                self._register(now)
        elif message.mac != self.mac:
            return
        elif message.type == Type.ACCEPT:
            self._accepted(message, frame, covered)
        elif not self._keys or not wire.is_signed(frame, covered, self._keys.to_nic):
            self.forged += 1
        else:
            self._command(message)

    def _accepted(self, message: Message, frame: bytes, covered: bytes) -> None:
        nonce, theirs = message.payload[:16], message.payload[16:]
        keys = Keys.session(self.key, self.mac, nonce, theirs)
        if nonce != self._nonce:
            return
        if not wire.is_signed(frame, covered, keys.to_nic):
            self.forged += 1
        elif self._next is not None:
            self._keys, self._next, self._sequence, self._events = keys, None, 0, 0
            self._say(Message(Type.ACK, self.mac), keys.from_nic)
        elif self._sequence == 0:
            self._say(Message(Type.ACK, self.mac), keys.from_nic)

    def tell(self, message: bytes, *, number: int | None = None) -> None:
        """Send an EVENT; its number shows the receiver whether others were lost."""
        assert self._keys
        self._events = self._events + 1 if number is None else number
        self._say(Message(Type.EVENT, self.mac, self._events, message), self._keys.from_nic)

    def _command(self, message: Message) -> None:
        assert self._keys
        number = message.sequence
        if number == self._sequence + 1:
            self._sequence = number
            self.commands[Type(message.type)] += 1
            kind, payload = self._carry_out(message)
            self._answers[number % WINDOW] = Message(kind, self.mac, number, payload)
        elif number > self._sequence or self._sequence - number >= WINDOW:
            return
        self._say(self._answers[number % WINDOW], self._keys.from_nic)

    # --- commands ------------------------------------------------------------------------

    def _carry_out(self, message: Message) -> tuple[Type, bytes]:
        match message.type:
            case Type.SET_ENTRY | Type.DELETE_ENTRY:
                return self._change(message)
            case Type.LIST_ENTRIES:
                return self._list(self.flows, *struct.unpack(">IB3x", message.payload))
            case Type.LIST_GROUPS if self.groups_max:
                return self._list(self.groups, *struct.unpack(">IB3x", message.payload))
            case Type.SET_MTU:
                (self.mtu,) = struct.unpack(">Hxx", message.payload)
                return _ack(0, 0)
            case Type.SET_OFFLOAD:
                return self._set_offload(*map(Offload, struct.unpack(">II", message.payload)))
            case Type.SET_SA:
                return self._set_sa(message.payload)
            case Type.DELETE_SA:
                self.sas.pop(int.from_bytes(message.payload), None)
                return _ack(0, len(self.sas))
        return _error(Status.UNKNOWN, 0)

    def _set_offload(self, on: Offload, mask: Offload) -> tuple[Type, bytes]:
        """Set offloads as hw/net/cvsw/control/offload.c does."""
        wanted = on & mask
        denied = (self.denied | mask) & ~wanted
        left = self.asked & ~denied
        if Offload.CSUM not in left:
            left = _NO_OFFLOAD
        elif not left & (Offload.TSO4 | Offload.TSO6):
            left &= ~Offload.ECN
        if mask & ~OFFLOADS or wanted & ~left:
            return _error(Status.UNABLE, 0)
        self.denied = denied
        return _ack(0, 0)

    def _change(self, message: Message) -> tuple[Type, bytes]:
        done = 0
        for each in entry.read_all(message.payload):
            deletes = message.type == Type.DELETE_ENTRY
            fault = self._group_fault(each, deletes) if isinstance(each, Group) else None
            if isinstance(each, Flow):
                assert each.message[25] == (4 if deletes else 0)
                fault = None if deletes else self._fault(each)
            if fault:
                error = struct.pack(">BBHIHH", 4, 1, 12, 0, *fault)
                return _error(Status.OPENFLOW, done, error + each.message[:64])
            if deletes:
                self.table.pop(each.key, None)
            else:
                self.table[each.key] = each
            done += 1
        return _ack(done, len(self.flows))

    def _fault(self, each: Flow) -> tuple[int, int] | None:
        if self.refuses(each):
            return 2, 4
        is_full = len(self.table) >= self.room and len(self.flows) >= self.room
        if is_full and each.key not in self.table:
            return 5, 1
        named = self._named(each)
        return None if not named or named <= self._numbers_of_groups() else (2, 9)

    def _group_fault(self, each: Group, deletes: bool) -> tuple[int, int] | None:
        if not self.groups_max:
            return 1, 1
        if self.refuses(each):
            return 2, 4
        if deletes:
            assert not any(each.number in self._named(one) for one in self.flows)
            return (6, 9) if any(each.number in one.groups for one in self.groups) else None
        modifies = each.message[9] == 1
        if modifies != (each.key in self.table):
            return (6, 8) if modifies else (6, 0)
        return None if set(each.groups) <= self._numbers_of_groups() else (2, 9)

    @staticmethod
    def _named(each: Flow) -> set[int]:
        named = map(flow.group_named, flow.actions_of(each))
        return {number for number in named if number is not None}

    def _numbers_of_groups(self) -> set[int]:
        return {each.number for each in self.groups}

    def _list(self, entries: Sequence[Entry], start: int, version: int) -> tuple[Type, bytes]:
        assert version == 4
        rest, done = b"", 0
        for each in entries[start:]:
            if len(rest) + len(each.message) > wire.PAYLOAD_MAX - 8:
                break
            rest += each.message
            done += 1
        return _ack(done, len(entries), rest)

    def _set_sa(self, payload: bytes) -> tuple[Type, bytes]:
        assert self._keys
        number, spi, way, esn, window, cipher, iv, size = _SET_SA.unpack_from(payload)
        assert size == len(payload) - _SET_SA.size
        try:
            key = AESGCM(self._keys.secrets).decrypt(
                iv, payload[_SET_SA.size :], payload[: _SET_SA.size]
            )
        except InvalidTag:
            return _error(Status.SECRET, 0)
        assert spi == number >= 256
        assert esn == 1
        assert way == _OUTBOUND or window == 1024
        assert len(key) == {b"aes-gcm-128": 20, b"aes-gcm-256": 36}[cipher.rstrip(b"\0")]
        self.sas[number] = Held(way == _INBOUND, cipher.rstrip(b"\0").decode(), key)
        self.keys_seen.append(key)
        return _ack(0, len(self.sas))


def _ack(done: int, total: int, rest: bytes = b"") -> tuple[Type, bytes]:
    return Type.ACK, struct.pack(">II", done, total) + rest


def _error(status: Status, done: int, openflow: bytes = b"") -> tuple[Type, bytes]:
    return Type.ERROR, struct.pack(">HxxI", status, done) + openflow


@dataclass(eq=False)
class SimSwitch:
    """A virtual switch with a NIC at each port."""

    world: World
    datapath_id: int = 1
    version: str = "1.3"
    peer: str = "198.51.100.1"
    dropped: int = 0
    refused: int = 0
    repairs: int = 0
    role: Role = Role.SOLE
    ports: dict[int, SimNic] = field(default_factory=dict)

    def put_out(self, frame: bytes, port: int | None = None) -> None:
        """Send a frame of the controller."""
        for number in self.ports if port is None else (port,):
            self.world.carry(partial(self._deliver, number, frame))

    def _deliver(self, port: int, frame: bytes) -> None:
        if port in self.ports:
            self.ports[port].input(frame, self.world.now)

    def attach(self, port: int, nic: SimNic) -> None:
        """Connect a NIC to a port."""
        self.ports[port] = nic
        nic.send = lambda frame: self.world.carry(lambda: self.hand_over(port, frame))

    def hand_over(self, port: int, frame: bytes) -> None:
        """Give the controller a frame that came in at a port."""
        fabric = self.world.fabric
        if fabric.switches.get(self.datapath_id) is self:
            fabric.packet(self, port, frame, self.world.now)


class World:
    """A controller, a switch, NICs and a clock."""

    def __init__(self, timing: Timing | None = None, seed: int = 7) -> None:
        self.now = 0.0
        self.timing = timing or Timing(grace=2.0, rekey_every=0)
        self.fabric = Fabric(self.timing)
        self.switch = SimSwitch(self)
        self.nics: dict[str, SimNic] = {}
        self.lost = self.repeated = 0.0
        self._wire: deque[Callable[[], None]] = deque()
        self._chance = random.Random(seed)
        #: Called after each frame.
        self.check: Callable[[], None] = lambda: None

    def carry(self, arrive: Callable[[], None]) -> None:
        """Put a frame on the wire."""
        if self._chance.random() >= self.lost:
            self._wire.append(arrive)
        if self._chance.random() < self.repeated:
            self._wire.append(arrive)

    def nic(self, name: str, mac: bytes, key: bytes, port: int) -> SimNic:
        """Add a NIC."""
        nic = self.nics[name] = SimNic(mac, key, lambda _: None)
        nic.boot(self.now)
        self.switch.attach(port, nic)
        return nic

    def until_state(self, name: str, state: str) -> None:
        """Let time pass until the controller says this of a NIC."""
        mac = self.nics[name].mac
        self.until(lambda: report.nic(self.fabric, mac)["state"] == state)

    def plan(self, plan: Plan) -> None:
        """Give the controller a file."""
        self.fabric.set_plan(plan, self.now)

    def populate(self, plan: Plan) -> None:
        """Add all NICs of a plan, and connect the switch."""
        for port, about in enumerate(plan.nics(), 1):
            self.nic(about.name, about.mac, about.key, port)
        self.plan(plan)
        self.fabric.switch_up(self.switch, self.now)

    def restart_controller(self, plan: Plan, *, remembers: bool = True) -> None:
        """Replace the controller by a new process, with or without the state file."""
        before = list(self.fabric.keys.numbers())
        self._wire.clear()
        self.fabric = Fabric(self.timing)
        self.plan(plan)
        if remembers:
            for ends, number, is_used in before:
                self.fabric.keys.restore(ends, number, is_used)
        self.fabric.switch_up(self.switch, self.now)

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self._run(lambda: False, seconds)

    def until(self, condition: Callable[[], bool], seconds: float = 120.0) -> None:
        """Let time pass until a condition holds."""
        assert self._run(condition, seconds), [
            (nic.phase, nic.troubles) for nic in self.fabric.nics.values()
        ]

    def _run(self, condition: Callable[[], bool], seconds: float) -> bool:
        end = self.now + seconds
        while self.now < end:
            while self._wire:
                self._wire.popleft()()
                self.check()
            for nic in self.nics.values():
                nic.tick(self.now)
            self.fabric.tick(self.now)
            if condition():
                return True
            if not self._wire:
                self.now += 0.01
        return False

    def settle(self) -> None:
        """Wait until all NICs are programmed."""
        self.until(self.is_settled)

    def settle_those(self, *names: str) -> None:
        """Wait until some NICs are programmed; others may be away."""
        self.until(lambda: all(self._has_all(self.nics[name].mac) for name in names))

    def is_settled(self) -> bool:
        """Whether these NICs are programmed."""
        return not self._wire and all(map(self._has_all, self.fabric.nics))

    def _has_all(self, mac: bytes) -> bool:
        return (
            self.fabric.nics[mac].phase is Phase.READY
            and not self.fabric.is_behind(mac)
            and not self.fabric.keys.missing(mac)
        )

    def as_planned(self) -> None:
        """Check that each NIC has exactly the flows and groups of the plan."""
        for about in self.fabric.plan.nics():
            nic = self.nics[about.name]
            assert nic.table == self.fabric.flows_of(about.mac)

    # --- keys ----------------------------------------------------------------------------

    def uses(self) -> Iterator[tuple[SimNic, SimNic, int]]:
        """Sender, receiver and association of each possible frame."""
        by_mac = {nic.mac: nic for nic in self.nics.values()}
        for nic in self.nics.values():
            for each in nic.flows:
                targets = [oxm[4:] for oxm in flow.fields_of(each) if oxm[2] >> 1 == 3]
                for target in targets:
                    if target in by_mac and each.numbers:
                        yield nic, by_mac[target], each.numbers[0]

    def check_keys(self, *, also_flows: bool = True) -> None:
        """Check that no NIC encrypts with an association that its peer does not have."""
        for sender, receiver, number in self.uses():
            mine, theirs = sender.sas.get(number), receiver.sas.get(number)
            if mine is None:
                continue  # nothing leaves
            assert theirs is not None, f"{number} is missing at the receiver"
            assert theirs.is_inbound
            assert not mine.is_inbound
            assert theirs.key == mine.key
            if also_flows:
                opened = {each.numbers for each in receiver.flows if _opens(each)}
                assert () in opened or (number,) in opened, f"no flow takes {number}"


def _opens(each: Flow) -> bool:
    return any(action[8:10] == b"\0\4" for action in flow.actions_of(each) if len(action) == 16
               and action[:2] == b"\xff\xff")  # fmt: skip
