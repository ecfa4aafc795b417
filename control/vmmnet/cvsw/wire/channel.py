# SPDX-License-Identifier: GPL-2.0-or-later
"""The OpenFlow channel to a virtual switch, as far as a controller of CVSW needs it.

The switch passes control frames to us (PACKET_IN), and we send frames out of its ports
(PACKET_OUT). The messages are os-ken's, of OpenFlow 1.0 and 1.3. A switch without any flow
gets one for all other frames, NORMAL: stock Open vSwitch drops its flows, and all frames
without a flow, as soon as it has a controller. All else of the switch is its administrator's;
own.py keeps what is ours.

Of several controllers one leads. With OpenFlow 1.3 it is the switch's master, and the others
are slaves: the switch sends them no frames and accepts none from them (1.3.5 section 6.3.5).
OpenFlow 1.0 has no roles: the others stay silent.

A foreign controller may become the master as well, which makes ours a slave without a word. The
role is asked with each look, and an error IS_SLAVE tells of it. Ours does not fight for it: as an
equal it may do all that a master may, and a new master makes no slave of an equal.
"""

from __future__ import annotations

import asyncio
import functools
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from os_ken import exception
from os_ken.ofproto import ofproto_protocol, ofproto_v1_0, ofproto_v1_3, ofproto_v1_3_parser

from .message import ETHERTYPE
from .own import LOOK_EVERY, XID_CONTROL, OwnFlows
from .role import Role

_HEADER = struct.Struct(">BBHI")
# After the header of a PACKET_IN: the frame's length, and the port; in 1.3 the match's octets
# (1.0.1 section 5.4.1, 1.3.5 section 7.4.1).
_PACKET_IN_10, _PACKET_IN_13 = struct.Struct(">4xHHxx"), struct.Struct(">4xH12xH")
_MATCH_AT = 16
_VERSIONS = (ofproto_v1_3.OFP_VERSION, ofproto_v1_0.OFP_VERSION)
_HELLO, _ERROR, _ECHO_REQUEST, _ECHO_REPLY = 0, 1, 2, 3
_ROLE_REPLY = 25  # not in 1.0
_PORT_STATUS = 12
# Reason and number; other reasons say that a port has changed.
_PORT_10, _PORT_13 = struct.Struct(">B7xH"), struct.Struct(">B7xI")
_PORT_ADDED, _PORT_DELETED = 0, 1
_FLOW_REMOVED = 11
_STATS_10, _STATS_13 = 17, 19
_HELLO_FAILED, _INCOMPATIBLE = 0, 0
_NO_BUFFER = 0xFFFFFFFF
#: Transactions of roles: from this one on.
_XID_ROLE, _XIDS = 0x20000, 0x10000
# Errors, by their type and code (1.3.5 section 7.4.4).
_STALE, _IS_SLAVE, _BAD_OUT_PORT = (11, 0), (1, 10), (2, 4)
#: Time-out of an answer, seconds.
_SILENCE_MAX = 15.0
#: Time-out, seconds, if another switch claims to be this one.
_PROOF_IN = 2.0
#: Octets that a switch may leave unread; further frames are dropped.
_UNREAD_MAX = 16 << 20


class ChannelError(Exception):
    """The switch does not speak our OpenFlow, or has disconnected."""


@dataclass(frozen=True)
class PacketIn:
    """A frame that the switch sent to the controller."""

    port: int
    frame: bytes


@dataclass(frozen=True)
class Handlers:
    """Callbacks about a channel."""

    ready: Callable[[Channel], None]
    packet: Callable[[Channel, PacketIn], None]
    #: A known switch has disconnected.
    gone: Callable[[Channel], None]
    #: A switch has sent its datapath ID: lead it, or not. The default is to lead.
    known: Callable[[Channel], None] = lambda channel: channel.lead(None)
    #: A port has been added, or removed (False).
    port: Callable[[Channel, int, bool], None] = lambda *_: None
    #: Something for the log has happened to a switch.
    told: Callable[[Channel, str], None] = lambda *_: None
    #: Whether this controller still leads; if not, it calls stand_by().
    leads: Callable[[], bool] = lambda: True


class Channel:
    """A connection of a switch, in a version that both speak."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handlers: Handlers
    ) -> None:
        self._reader, self._writer, self._handlers = reader, writer, handlers
        self._protocol: Any = None
        self._heard = 0.0
        self._is_known = False
        self._leads = False
        #: Set by _become() only.
        self.role = Role.NONE
        #: The last request of a role.
        self._role_xid = _XID_ROLE
        #: Kinds of errors that the log has.
        self._errors: set[tuple[int, ...]] = set()
        self._unsent: list[bytes] = []
        self._own: OwnFlows
        self.datapath_id = 0
        #: Frames that were not sent, and messages that the switch refused.
        self.dropped = self.refused = 0

    @classmethod
    async def serve(
        cls, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handlers: Handlers
    ) -> None:
        """Serve a switch until one side closes the connection; raises ChannelError."""
        channel = cls(reader, writer, handlers)
        keeper = asyncio.create_task(channel._keep_alive())
        try:
            await channel._greet()
            while True:
                channel._take(*await channel._receive())
        except (asyncio.IncompleteReadError, OSError) as error:
            raise ChannelError("the connection has ended") from error
        except (struct.error, exception.OSKenException) as error:
            raise ChannelError(f"a message is malformed: {error}") from error
        finally:
            keeper.cancel()
            channel._flush()
            writer.close()
            if channel._is_known:
                handlers.gone(channel)

    @property
    def peer(self) -> str:
        """The switch's address."""
        peer = self._writer.get_extra_info("peername")
        return str(peer[0]) if peer else "an unknown place"

    @property
    def version(self) -> str:
        """OpenFlow's version."""
        return "1.0" if self._is_10 else "1.3"

    @property
    def repairs(self) -> int:
        """How often a flow of ours was removed or changed, and set again."""
        return self._own.repairs

    def lead(self, term: int | None) -> None:
        """Direct control frames to us; ``ready`` is called when they come.

        ``term`` is higher than those of earlier leaders (generation_id); None: there is no
        other controller.
        """
        self._leads = True
        if term is None or self._is_10:
            self._become(Role.SOLE)
        else:
            self._become(Role.NONE)
            self._ask_role(self._protocol.ofproto.OFPCR_ROLE_MASTER, term)

    def stand_by(self, term: int) -> None:
        """Leave control frames to another controller with this term."""
        self._leads = False
        self._become(Role.NONE)
        if not self._is_10:
            self._ask_role(self._protocol.ofproto.OFPCR_ROLE_SLAVE, term)

    @property
    def _is_ready(self) -> bool:
        """Whether NICs behind it can be programmed."""
        return self.role in (Role.SOLE, Role.MASTER, Role.EQUAL)

    def put_out(self, frame: bytes, port: int | None = None) -> None:
        """Send a frame out of one port, or of all; it may get lost."""
        transport = self._writer.transport
        if (
            not self._is_ready
            or transport.is_closing()
            or transport.get_write_buffer_size() > _UNREAD_MAX
        ):
            self.dropped += 1
            return
        ofp, parser = self._protocol.ofproto, self._protocol.ofproto_parser
        actions = [parser.OFPActionOutput(ofp.OFPP_ALL if port is None else port, 0)]
        source = ofp.OFPP_NONE if self._is_10 else ofp.OFPP_CONTROLLER
        self._send(
            parser.OFPPacketOut(
                self._protocol,
                buffer_id=_NO_BUFFER,
                in_port=source,
                actions=actions,
                data=frame,
            )
        )

    @property
    def _is_10(self) -> bool:
        return bool(self._protocol.ofproto.OFP_VERSION == ofproto_v1_0.OFP_VERSION)

    # --- beginning -----------------------------------------------------------------------

    async def _greet(self) -> None:
        bitmap = sum(1 << version for version in _VERSIONS)
        element = struct.pack(">HHI", 1, 8, bitmap)
        self._write(max(_VERSIONS), _HELLO, element)
        version, kind, _, body = await self._receive()
        if kind != _HELLO:
            raise ChannelError(f"the switch begins with a message of type {kind}, not a HELLO")
        self._protocol = ofproto_protocol.ProtocolDesc(self._common(version, body))
        self._own = OwnFlows(
            self._protocol,
            self._send,
            lambda text: self._handlers.told(self, text),
            lambda: self._handlers.ready(self),
        )
        parser = self._protocol.ofproto_parser
        self._send(parser.OFPFeaturesRequest(self._protocol))

    def _common(self, version: int, body: bytes) -> int:
        """The common version (OpenFlow 1.3.5 section 6.3.1): by bitmaps, or the lower of both."""
        if len(body) >= 8 and struct.unpack_from(">HH", body) == (1, 8):
            (bits,) = struct.unpack_from(">I", body, 4)
            theirs = {each for each in _VERSIONS if bits >> each & 1}
        else:
            theirs = {min(version, max(_VERSIONS))} & set(_VERSIONS)
        if not theirs:
            why = f"the switch speaks OpenFlow of wire version {version}; 1.0 (1) and 1.3 (4) do"
            failed = struct.pack(">HH", _HELLO_FAILED, _INCOMPATIBLE) + why.encode()
            self._write(max(_VERSIONS), _ERROR, failed)
            raise ChannelError(why)
        return int(max(theirs))

    def _ask_role(self, role: int, term: int = 0) -> None:
        message = self._protocol.ofproto_parser.OFPRoleRequest(self._protocol, role, term)
        self._role_xid = _XID_ROLE + (self._role_xid + 1) % _XIDS
        message.set_xid(self._role_xid)
        self._send(message)

    def _take_role(self, body: bytes) -> None:
        (number,) = struct.unpack_from(">I", body)
        if not self._leads:
            return
        ofp = self._protocol.ofproto
        if number == ofp.OFPCR_ROLE_SLAVE:
            self._displaced()
        elif number == ofp.OFPCR_ROLE_MASTER:
            self._become(Role.MASTER)
        elif number == ofp.OFPCR_ROLE_EQUAL and self.role in (Role.MASTER, Role.SLAVE):
            self._become(Role.EQUAL)  # before the first answer, it is what all begin as

    def _displaced(self) -> None:
        """Another controller is the master: if it is none of ours, be an equal."""
        if self._handlers.leads():
            self._become(Role.SLAVE)
            self._ask_role(self._protocol.ofproto.OFPCR_ROLE_EQUAL)

    def _become(self, role: Role) -> None:
        before, self.role = self.role, role
        if role is before and role is not Role.SOLE:
            return
        if role is Role.SLAVE:
            self._handlers.told(
                self,
                "a controller that is none of ours has become its master, and this one a slave,"
                " which cannot program NICs: it asks to be an equal",
            )
        elif role is Role.EQUAL:
            self._handlers.told(self, "this controller is an equal of its master: it programs NICs")
        elif role is Role.MASTER and before is not Role.NONE:
            self._handlers.told(self, "this controller is its master again")
        if self._is_ready:
            self._own.set_up(_now())
            self._handlers.ready(self)

    # --- messages ------------------------------------------------------------------------

    async def _receive(self) -> tuple[int, int, int, bytes]:
        """Version, type, transaction and body."""
        head = await self._reader.readexactly(_HEADER.size)
        version, kind, length, xid = _HEADER.unpack(head)
        if length < _HEADER.size:
            raise ChannelError(f"a message of {length} octets, less than its header")
        body = await self._reader.readexactly(length - _HEADER.size)
        self._heard = _now()
        return version, kind, xid, body

    def _take(self, version: int, kind: int, xid: int, body: bytes) -> None:
        if kind == _ECHO_REQUEST:
            self._write(version, _ECHO_REPLY, body, xid)
        elif kind == _ERROR:
            self._take_error(xid, *struct.unpack_from(">HH", body))
        elif kind == self._protocol.ofproto.OFPT_FEATURES_REPLY:
            (self.datapath_id,) = struct.unpack_from(">Q", body)
            if not self._is_known:
                self._is_known = True
                self._handlers.known(self)
        elif kind == _ROLE_REPLY and xid == self._role_xid:
            self._take_role(body)
        elif kind == (_STATS_10 if self._is_10 else _STATS_13) and self._is_ready:
            self._own.answered(xid, body)
        elif kind == _FLOW_REMOVED and self._is_ready:
            self._own.removed(body, _now())
        elif kind == _PORT_STATUS and self._is_ready:
            reason, number = (_PORT_10 if self._is_10 else _PORT_13).unpack_from(body)
            if reason in (_PORT_ADDED, _PORT_DELETED):
                self._handlers.port(self, number, reason == _PORT_ADDED)
        elif kind == self._protocol.ofproto.OFPT_PACKET_IN and self._is_ready:
            self._take_packet(*(_packet_in_10(body) if self._is_10 else _packet_in_13(body)))

    def _take_error(self, xid: int, *error: int) -> None:
        """Handle an error; a frame to a port that has gone is none, as its NIC is looked for."""
        self.refused += 1
        is_role = xid & ~(_XIDS - 1) == _XID_ROLE
        if is_role and xid != self._role_xid:
            return
        if self._leads and error == (_STALE if is_role else _IS_SLAVE):
            if self.role is not Role.SLAVE:
                self._displaced()
        elif is_role and (not self._leads or self.role is Role.SLAVE):
            self._tell_error("this controller's role", error)
        elif (is_role or xid == XID_CONTROL or not self._is_known) and error != _IS_SLAVE:
            raise ChannelError("the switch refuses a message: type {}, code {}".format(*error))
        elif error not in (_BAD_OUT_PORT, _IS_SLAVE):
            self._tell_error("a message", error)

    def _tell_error(self, about: str, error: tuple[int, ...]) -> None:
        """Tell each kind once."""
        if error not in self._errors:
            self._errors.add(error)
            self._handlers.told(
                self, "it refuses {}: OpenFlow's error of type {}, code {}".format(about, *error)
            )

    def _take_packet(self, port: int, frame: bytes) -> None:
        if frame[12:14] == struct.pack(">H", ETHERTYPE):
            self._handlers.packet(self, PacketIn(port, frame))

    def _send(self, message: Any) -> None:
        message.serialize()
        self._queue(bytes(message.buf))

    def _write(self, version: int, kind: int, body: bytes, xid: int = 0) -> None:
        self._queue(_HEADER.pack(version, kind, _HEADER.size + len(body), xid) + body)

    def _queue(self, octets: bytes) -> None:
        """Collect messages of one turn of the loop."""
        if not self._unsent:
            asyncio.get_running_loop().call_soon(self._flush)
        self._unsent.append(octets)

    def _flush(self) -> None:
        if self._unsent and not self._writer.transport.is_closing():
            self._writer.write(b"".join(self._unsent))
        self._unsent.clear()

    def prove(self) -> None:
        """Have the switch answer soon, or end the connection: another one claims to be it."""
        loop = asyncio.get_running_loop()
        asked = loop.time()

        def look() -> None:
            if self._heard < asked:
                self._writer.transport.abort()

        self._write(self._protocol.ofproto.OFP_VERSION, _ECHO_REQUEST, b"")
        loop.call_later(_PROOF_IN, look)

    async def _keep_alive(self) -> None:
        """Look at our flows; end the connection of a silent switch: it will connect again."""
        self._heard = _now()
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if _now() - self._heard > _SILENCE_MAX:
                self._writer.transport.abort()
                return
            if self._is_ready:
                self._own.look(_now())
            if self.role is Role.SLAVE:
                self._ask_role(self._protocol.ofproto.OFPCR_ROLE_EQUAL)
            elif self.role in (Role.MASTER, Role.EQUAL):
                self._ask_role(self._protocol.ofproto.OFPCR_ROLE_NOCHANGE)
            elif self._protocol and not self._is_ready:
                self._write(self._protocol.ofproto.OFP_VERSION, _ECHO_REQUEST, b"")


def _now() -> float:
    return asyncio.get_running_loop().time()


def _packet_in_10(body: bytes) -> tuple[int, bytes]:
    size, port = _PACKET_IN_10.unpack_from(body)
    at = _PACKET_IN_10.size
    return port, body[at : at + size]


def _packet_in_13(body: bytes) -> tuple[int, bytes]:
    size, match_len = _PACKET_IN_13.unpack_from(body)
    at = _MATCH_AT + (match_len + 7) // 8 * 8
    return _in_port(body[_MATCH_AT:at]), body[at + 2 : at + 2 + size]


@functools.lru_cache(4096)
def _in_port(match: bytes) -> int:
    """The port in a match of 1.3; cached, as all frames of a port have the same match."""
    fields = dict(ofproto_v1_3_parser.OFPMatch.parser(match, 0).items())
    if "in_port" not in fields:
        raise ChannelError("a PACKET_IN has no port")
    return int(fields["in_port"])
