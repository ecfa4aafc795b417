# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of NICs: OFPT_PACKET_IN and OFPT_FLOW_REMOVED (docs/cvsw.md, Events).

Each NIC has its own room for its last events, so that none displaces another's; all are
counted. They are parsed when a client asks for them.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..table import text
from ..table.flow import BadFlow, split_oxms
from . import frames

#: Events that are kept of a NIC, and octets of each.
KEPT, OCTETS_MAX = 50, 384

_HEADER = struct.Struct(">BBHI")
_PACKET_IN, _FLOW_REMOVED = 10, 11
_OPENFLOW_10, _OPENFLOW_13 = 1, 4
# ofp_packet_in (1.0.1 section 5.4.1; 1.3.5 section 7.4.1), behind the header.
_PACKET_IN_10 = struct.Struct(">IHHBx")
_PACKET_IN_13 = struct.Struct(">IHBBQ")
# ofp_flow_removed (1.0.1 section 5.4.3; 1.3.5 section 7.4.2); of 1.0, behind the match.
_REMOVED_10 = struct.Struct(">QHBxIIHxxQQ")
_REMOVED_13 = struct.Struct(">QHBBIIHHQQ")
_MATCH_10_SIZE, _MATCH_13 = 40, struct.Struct(">HH")
_WHY_IN = {0: "no-match", 1: "action"}
_WHY_REMOVED = {0: "idle-timeout", 1: "hard-timeout", 2: "delete"}
_IN_PORT, _TUNNEL_ID = 0, 38


@dataclass(frozen=True)
class Event:
    """One event of a NIC."""

    #: Grows over all NICs of a controller.
    serial: int
    #: Grows by one with each event of the NIC.
    number: int
    #: Time of arrival, on the controller's clock.
    at: float
    #: The first octets of an OpenFlow message.
    message: bytes


class Events:
    """The events of one NIC."""

    def __init__(self) -> None:
        self.kept: deque[Event] = deque(maxlen=KEPT)
        self.counters = {"packet_ins": 0, "flows_removed": 0, "events_unknown": 0}
        self._number = 0

    def take(self, message: bytes, serial: int, now: float) -> None:
        """Add one."""
        kinds = {_PACKET_IN: "packet_ins", _FLOW_REMOVED: "flows_removed"}
        kind = kinds.get(message[1] if len(message) >= _HEADER.size else 0, "events_unknown")
        self.counters[kind] += 1
        self._number += 1
        self.kept.append(Event(serial, self._number, now, message[:OCTETS_MAX]))

    def behind(self, serial: int) -> Iterator[Event]:
        """Kept events with a higher serial number, in any order."""
        for event in reversed(self.kept):
            if event.serial <= serial:
                break
            yield event


def read(event: Event) -> dict[str, Any]:
    """An event for programs; ``text`` is a line for people."""
    message = event.message
    try:
        version, kind, size, _ = _HEADER.unpack_from(message)
        reader = _READERS.get((version, kind))
        if reader:
            return reader(message)
        about = f"OpenFlow message of version {version}, type {kind}, {size} octets"
    except (struct.error, IndexError, BadFlow):
        about = f"{len(message)} octets that are cut"
    return {"what": "unknown", "text": about}


def _packet_in_10(message: bytes) -> dict[str, Any]:
    _, size, port, reason = _PACKET_IN_10.unpack_from(message, _HEADER.size)
    frame = message[_HEADER.size + _PACKET_IN_10.size :]
    return _packet_in(reason, size, port, 0, frame)


def _packet_in_13(message: bytes) -> dict[str, Any]:
    at = _HEADER.size
    _, size, reason, _, _ = _PACKET_IN_13.unpack_from(message, at)
    at += _PACKET_IN_13.size
    oxms, at = _match_13(message, at)
    values = {oxm[2] >> 1: int.from_bytes(oxm[4:]) for oxm in oxms}
    return _packet_in(
        reason, size, values.get(_IN_PORT, 0), values.get(_TUNNEL_ID, 0), message[at + 2 :]
    )


def _packet_in(reason: int, size: int, port: int, tunnel: int, frame: bytes) -> dict[str, Any]:
    why = _WHY_IN.get(reason, f"reason {reason}")
    inside = f", tunnel {tunnel}" if tunnel else ""
    return {
        "what": "packet-in",
        "reason": why,
        "in_port": port,
        "tunnel_id": tunnel,
        "size": size,
        "frame": frame.hex(),
        "text": f"{why}, port {port}{inside}, {size} octets: {frames.describe(frame)}",
    }


def _removed_10(message: bytes) -> dict[str, Any]:
    at = _HEADER.size
    match = message[at : at + _MATCH_10_SIZE]
    cookie, priority, reason, *times, _, packets, octets = _REMOVED_10.unpack_from(
        message, at + _MATCH_10_SIZE
    )
    return _removed(reason, cookie, [f"priority={priority}", *text.match10(match)], times,
                    (packets, octets))  # fmt: skip


def _removed_13(message: bytes) -> dict[str, Any]:
    cookie, priority, reason, _, *times, _, _, packets, octets = _REMOVED_13.unpack_from(
        message, _HEADER.size
    )
    oxms, _ = _match_13(message, _HEADER.size + _REMOVED_13.size)
    return _removed(reason, cookie, [f"priority={priority}", *map(text.field, oxms)], times,
                    (packets, octets))  # fmt: skip


def _removed(
    reason: int, cookie: int, match: list[str], age: list[int], counts: tuple[int, int]
) -> dict[str, Any]:
    why = _WHY_REMOVED.get(reason, f"reason {reason}")
    seconds = age[0] + age[1] / 1e9
    packets, octets = counts
    flow = (f"cookie={cookie:#x}, " if cookie else "") + ",".join(match)
    return {
        "what": "flow-removed",
        "reason": why,
        "flow": flow,
        "seconds": seconds,
        "packets": packets,
        "octets": octets,
        "text": f"{why} after {seconds:.3f} s, {packets:,} packets, {octets:,} octets: {flow}",
    }


def _match_13(message: bytes, at: int) -> tuple[list[bytes], int]:
    """The fields of an ofp_match, and its end."""
    _, size = _MATCH_13.unpack_from(message, at)
    return split_oxms(message[at + _MATCH_13.size : at + size]), at + (size + 7) // 8 * 8


_READERS = {
    (_OPENFLOW_10, _PACKET_IN): _packet_in_10,
    (_OPENFLOW_13, _PACKET_IN): _packet_in_13,
    (_OPENFLOW_10, _FLOW_REMOVED): _removed_10,
    (_OPENFLOW_13, _FLOW_REMOVED): _removed_13,
}
