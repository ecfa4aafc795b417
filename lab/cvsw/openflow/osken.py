# SPDX-License-Identifier: GPL-2.0-or-later
"""os-ken, an independent implementation of OpenFlow's messages."""

from __future__ import annotations

import importlib
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...packages import wheels

#: OpenFlow's number of a version, and os-ken's name for it.
VERSIONS = {1: "of10", 4: "of13"}
EXPERIMENTER = 0x00525400


class OsKen:
    """The parsers of one version."""

    def __init__(self, version: int) -> None:
        wheels.use_os_ken()
        self.version = version
        self._parser = importlib.import_module("os_ken.ofproto.ofproto_parser")
        protocol = importlib.import_module("os_ken.ofproto.ofproto_protocol")
        self.datapath = protocol.ProtocolDesc(version=version)
        self.of = self.datapath.ofproto_parser
        self.ofproto = self.datapath.ofproto
        package = Path(str(self._parser.__file__)).parents[1]
        #: Its cases for switches, in files of JSON.
        self.cases = package / "tests" / "switch" / VERSIONS[version]

    def message(self, described: dict[str, Any]) -> bytes:
        """Build a message from a description as in the files of its cases."""
        return self.octets(self._parser.ofp_msg_from_jsondict(self.datapath, described))

    def octets(self, message: Any) -> bytes:
        """Return the wire format of a message of os-ken."""
        message.serialize()
        return bytes(message.buf)

    def parse(self, octets: bytes) -> Any:
        """Parse a message."""
        return self._parser.msg(self.datapath, octets[0], octets[1], len(octets), 7, octets)

    def parse_group(self, octets: bytes) -> bytes:
        """Parse a GROUP_MOD that adds a group, and write it with os-ken.

        os-ken has no parser for it, but one for group descriptions (1.3.5 section 7.3.5.8).
        """
        kind, number = struct.unpack_from("!BxI", octets, 10)
        about = struct.pack("!HBxI", len(octets) - 8, kind, number) + octets[16:]
        answer = struct.pack("!BBHIHH4x", 4, 19, 16 + len(about), 7, 7, 0) + about
        (group,) = self.parse(answer).body
        return self.octets(
            self.of.OFPGroupMod(self.datapath, 0, group.type, group.group_id, group.buckets)
        )

    def add(self, match: dict[str, Any], actions: Sequence[Any], **more: Any) -> bytes:
        """Return a FLOW_MOD that adds a flow."""
        of = self.of
        if self.version == 1:
            more = {"cookie": 0, "command": 0, "actions": actions, **more}
            return self.octets(of.OFPFlowMod(self.datapath, of.OFPMatch(**match), **more))
        apply = [of.OFPInstructionActions(4, actions)] if actions else []
        more = {"match": of.OFPMatch(**match), "instructions": apply, **more}
        return self.octets(of.OFPFlowMod(self.datapath, **more))

    def own(self, octets: bytes) -> Any:
        """Return an action of ours: the octets after the experimenter field."""
        if self.version == 1:
            return self.of.OFPActionVendor.parser(
                struct.pack("!HHI", 0xFFFF, 8 + len(octets), EXPERIMENTER) + octets, 0
            )
        return self.of.OFPActionExperimenterUnknown(EXPERIMENTER, octets)
