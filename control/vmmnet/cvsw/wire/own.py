# SPDX-License-Identifier: GPL-2.0-or-later
"""Our own flows in a switch: set, watched, and set again when others remove or change them.

One has control frames sent to us, at the highest priority. A switch that has no flow of others gets
another one, NORMAL for all other frames. Their cookies tell them from flows of others. The switch
reports their removal (SEND_FLOW_REM, OpenFlow 1.3.5 section 6.4), but not that a flow was replaced
or got other actions, nor that the last one of others has gone: so the table is read as well.

NORMAL comes back only if the switch had no flow of others for a while: a controller that starts
cold removes all flows before it sets its own, and NORMAL must not join them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .message import ETHERTYPE

#: Seconds between two looks at the table.
LOOK_EVERY = 2.0
#: Seconds without any flow of others until NORMAL is set again, and between two repairs.
_BARE_FOR = _PAUSE = 1.0
#: Time-out of an answer, seconds: then the switch is asked anew.
_ANSWER_IN = 10.0
#: Seconds between two lines of the log about repairs of one switch.
_TELL_EVERY = 60.0
#: Cookies: the last octet says which flow it is.
_COOKIE, _COOKIE_MASK = 0x4356535700000000, 0xFFFFFFFFFFFFFF00
_CONTROL, _NORMAL = _COOKIE | 1, _COOKIE | 2
_NAMES = {_CONTROL: "its flow for control frames", _NORMAL: "its flow NORMAL for all other frames"}
_PRIORITY = {_CONTROL: 0xFFFF, _NORMAL: 0}
_VERSION_10 = 1
_NO_BUFFER = 0xFFFFFFFF
_FLOW, _AGGREGATE = 1, 2
_ALL_TABLES = 0xFF
_IS_MORE = 1
#: Transactions: of changes, and of looks, which have a number as well.
XID_CONTROL, XID_NORMAL, _XID_LOOK, _TURNS = 1, 3, 0x10000, 0x8000
# Entries of a table (1.0.1 section 5.3.5, 1.3.5 section 7.3.5.2): length, table, priority, cookie,
# and octets until the match (1.3) or the actions (1.0).
_ENTRY_10, _ENTRY_13 = struct.Struct(">HBx40x8xH10xQ16x"), struct.Struct(">HBx8xH10xQ16x")
# One instruction to apply one output (1.3); one output (1.0): their port, and octets for us.
_OUTPUT_10, _OUTPUT_13 = struct.Struct(">HHHH"), struct.Struct(">HH4xHHIH6x")
_APPLY_ACTIONS, _OUTPUT = 4, 0


@dataclass
class _Look:
    """Answers to one look, as far as they have come."""

    at: float
    #: Cookies of ours, and whether that flow does what it should.
    found: dict[int, bool] = field(default_factory=dict)
    is_listed: bool = False
    #: The number of all flows.
    total: int | None = None


class OwnFlows:
    """Those of one connection.

    ``send`` takes a message of os-ken; ``tell`` a line for the log; ``mended`` is called when
    control frames come again.
    """

    def __init__(
        self,
        protocol: Any,
        send: Callable[[Any], None],
        tell: Callable[[str], None],
        mended: Callable[[], None],
    ) -> None:
        self._protocol, self._send, self._tell, self._mended = protocol, send, tell, mended
        self._is_10 = protocol.ofproto.OFP_VERSION == _VERSION_10
        self._turn = 0
        self._look: _Look | None = None
        #: Whether the switch has not answered yet what it had before us.
        self._is_new = True
        self._bare_since: float | None = None
        self._repaired_at: dict[int, float] = {}
        self._told_at: float | None = None
        self._untold = 0
        #: How often one was set again.
        self.repairs = 0

    def set_up(self, now: float) -> None:
        """Read the table, then have control frames sent to us."""
        self._bare_since = None
        self._ask(now)
        self._set(_CONTROL)

    def look(self, now: float) -> None:
        """Read the table, unless that is under way."""
        if self._look is None or now >= self._look.at + _ANSWER_IN:
            self._ask(now)

    def answered(self, xid: int, body: bytes) -> bool:
        """Take a reply, if it is one to a look."""
        look = self._look
        if xid & ~(_TURNS - 1) != _XID_LOOK:
            return False
        if look is None or xid != self._xid():
            return True  # of an earlier one
        kind, flags = struct.unpack_from(">HH", body)
        rest = body[4 if self._is_10 else 8 :]
        if kind == _FLOW:
            look.found |= self._ours(rest)
            look.is_listed = not flags & _IS_MORE
        elif kind == _AGGREGATE:
            (look.total,) = struct.unpack_from(">16xI", rest)
        if look.is_listed and look.total is not None:
            self._look = None
            self._judge(look, look.total)
        return True

    def removed(self, body: bytes, now: float) -> None:
        """Take a FLOW_REMOVED: control frames cannot wait, and the next look tells of NORMAL."""
        (cookie,) = struct.unpack_from(">Q", body, 40 if self._is_10 else 0)
        if cookie not in _NAMES:
            return
        if cookie == _CONTROL:
            self._repair(_CONTROL, "was removed", now)
        self._ask(now)  # an answer under way is out of date

    # --- what a look shows -----------------------------------------------------------------

    def _judge(self, look: _Look, total: int) -> None:
        found, now, is_new = look.found, look.at, self._is_new
        others, self._is_new = total - len(found), False
        if not is_new and not found.get(_CONTROL):
            self._repair(_CONTROL, "was changed" if _CONTROL in found else "is missing", now)
        if _NORMAL in found:
            if not found[_NORMAL]:
                self._repair(_NORMAL, "was changed", now)
        elif others > 0:
            self._bare_since = None
        elif is_new:
            self._set(_NORMAL)
        elif self._bare_since is None:
            self._bare_since = now
        elif now >= self._bare_since + _BARE_FOR:
            self._bare_since = None
            self._repair(_NORMAL, "is missing, and it has no flow of others", now)

    def _ours(self, entries: bytes) -> dict[int, bool]:
        struct_, at, found = _ENTRY_10 if self._is_10 else _ENTRY_13, 0, dict[int, bool]()
        while at < len(entries):
            size, table, priority, cookie = struct_.unpack_from(entries, at)
            if size < struct_.size:
                raise struct.error(f"a flow of {size} octets")
            if cookie in _NAMES and (table, priority) == (0, _PRIORITY[cookie]):
                found[cookie] = self._does(entries[at + struct_.size : at + size], cookie)
            at += size
        return found

    def _does(self, rest: bytes, cookie: int) -> bool:
        """Whether a flow outputs where it should, and nothing else."""
        ofp = self._protocol.ofproto
        if not self._is_10:
            (length,) = struct.unpack_from(">2xH", rest)
            rest = rest[(length + 7) // 8 * 8 :]
        form = _OUTPUT_10 if self._is_10 else _OUTPUT_13
        if len(rest) != form.size:
            return False
        *kinds, port, octets = form.unpack(rest)
        one = [_OUTPUT, 8] if self._is_10 else [_APPLY_ACTIONS, 24, _OUTPUT, 16]
        if kinds != one:
            return False
        if cookie == _NORMAL:
            return bool(port == ofp.OFPP_NORMAL)
        return bool((port, octets) == (ofp.OFPP_CONTROLLER, self._whole))

    # --- messages --------------------------------------------------------------------------

    def _repair(self, cookie: int, why: str, now: float) -> None:
        if now < self._repaired_at.get(cookie, -_PAUSE) + _PAUSE:
            return  # the next look repeats it: others may remove it again and again
        self._set(cookie)
        self._repaired_at[cookie] = now
        self.repairs += 1
        self._untold += 1
        if self._told_at is None or now >= self._told_at + _TELL_EVERY:
            often = f" ({self._untold:,} times since the last line)" if self._untold > 1 else ""
            self._tell(f"{_NAMES[cookie]} {why}: it is set again{often}")
            self._told_at, self._untold = now, 0
        if cookie == _CONTROL:
            self._mended()

    def _ask(self, now: float) -> None:
        """Ask for flows of ours, and for the number of all.

        OpenFlow 1.0 finds no flows by cookie: those for control frames only.
        """
        ofp, parser = self._protocol.ofproto, self._protocol.ofproto_parser
        self._look, self._turn = _Look(now), (self._turn + 1) % _TURNS
        every = parser.OFPMatch()
        if self._is_10:
            ours = parser.OFPFlowStatsRequest(
                self._protocol, 0, self._match(_CONTROL), _ALL_TABLES, ofp.OFPP_NONE
            )
            count = parser.OFPAggregateStatsRequest(
                self._protocol, 0, every, _ALL_TABLES, ofp.OFPP_NONE
            )
        else:
            any_ = (ofp.OFPP_ANY, ofp.OFPG_ANY)
            ours = parser.OFPFlowStatsRequest(
                self._protocol, 0, 0, *any_, _COOKIE, _COOKIE_MASK, every
            )
            count = parser.OFPAggregateStatsRequest(
                self._protocol, 0, _ALL_TABLES, *any_, 0, 0, every
            )
        for each in (ours, count):
            each.set_xid(self._xid())
            self._send(each)

    def _xid(self) -> int:
        return _XID_LOOK | self._turn

    @property
    def _whole(self) -> int:
        """The octets of a frame that we want: all."""
        return 0xFFFF if self._is_10 else int(self._protocol.ofproto.OFPCML_NO_BUFFER)

    def _match(self, cookie: int) -> Any:
        match = self._protocol.ofproto_parser.OFPMatch
        if cookie == _NORMAL:
            return match()
        return match(**{"dl_type" if self._is_10 else "eth_type": ETHERTYPE})

    def _set(self, cookie: int) -> None:
        ofp, parser = self._protocol.ofproto, self._protocol.ofproto_parser
        if cookie == _CONTROL:
            action = parser.OFPActionOutput(ofp.OFPP_CONTROLLER, self._whole)
        else:
            action = parser.OFPActionOutput(ofp.OFPP_NORMAL, 0)
        if self._is_10:
            how: dict[str, Any] = {"actions": [action]}
        else:
            apply = parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, [action])
            how = {"instructions": [apply]}
        message = parser.OFPFlowMod(
            self._protocol,
            match=self._match(cookie),
            cookie=cookie,
            command=ofp.OFPFC_ADD,
            priority=_PRIORITY[cookie],
            buffer_id=_NO_BUFFER,
            flags=ofp.OFPFF_SEND_FLOW_REM,
            **how,
        )
        message.set_xid(XID_CONTROL if cookie == _CONTROL else XID_NORMAL)
        self._send(message)
