# SPDX-License-Identifier: GPL-2.0-or-later
"""Refusals of NICs by name, as OpenFlow 1.3.5 has them (section 7.4.4)."""

from __future__ import annotations

import struct

from ...wire.message import Refusal, Status

_REQUEST = """BAD_VERSION BAD_TYPE BAD_MULTIPART BAD_EXPERIMENTER BAD_EXP_TYPE EPERM BAD_LEN
 BUFFER_EMPTY BUFFER_UNKNOWN BAD_TABLE_ID IS_SLAVE BAD_PORT BAD_PACKET MULTIPART_BUFFER_OVERFLOW"""
_ACTION = """BAD_TYPE BAD_LEN BAD_EXPERIMENTER BAD_EXP_TYPE BAD_OUT_PORT BAD_ARGUMENT EPERM TOO_MANY
 BAD_QUEUE BAD_OUT_GROUP MATCH_INCONSISTENT UNSUPPORTED_ORDER BAD_TAG BAD_SET_TYPE BAD_SET_LEN
 BAD_SET_ARGUMENT"""
_INSTRUCTION = """UNKNOWN_INST UNSUP_INST BAD_TABLE_ID UNSUP_METADATA UNSUP_METADATA_MASK
 BAD_EXPERIMENTER BAD_EXP_TYPE BAD_LEN EPERM"""
_MATCH = """BAD_TYPE BAD_LEN BAD_TAG BAD_DL_ADDR_MASK BAD_NW_ADDR_MASK BAD_WILDCARDS BAD_FIELD
 BAD_VALUE BAD_MASK BAD_PREREQ DUP_FIELD EPERM"""
_GROUP_MOD = """GROUP_EXISTS INVALID_GROUP WEIGHT_UNSUPPORTED OUT_OF_GROUPS OUT_OF_BUCKETS
 CHAINING_UNSUPPORTED WATCH_UNSUPPORTED LOOP UNKNOWN_GROUP CHAINED_GROUP BAD_TYPE BAD_COMMAND
 BAD_BUCKET BAD_WATCH EPERM"""
_FLOW_MOD = "UNKNOWN TABLE_FULL BAD_TABLE_ID OVERLAP EPERM BAD_TIMEOUT BAD_COMMAND BAD_FLAGS"
#: Names of the codes that a NIC uses, by type of error.
_NAMES = {
    1: ("OFPBRC", _REQUEST.split()),
    2: ("OFPBAC", _ACTION.split()),
    3: ("OFPBIC", _INSTRUCTION.split()),
    4: ("OFPBMC", _MATCH.split()),
    5: ("OFPFMFC", _FLOW_MOD.split()),
    6: ("OFPGMFC", _GROUP_MOD.split()),
}
_OPENFLOW_13 = 4
# The NIC's own errors.
_STATUS = {
    Status.UNKNOWN: "the NIC does not know this command",
    Status.LENGTH: "the NIC has this command with another length",
    Status.VALUE: "the NIC does not accept this value",
    Status.UNABLE: "the NIC, or its guest, cannot do that",
    Status.SECRET: "the key has arrived damaged",
    Status.FULL: "the NIC has no room for one more",
}


def name(refusal: Refusal) -> str:
    """A NIC's error as text: ``OFPBAC_BAD_OUT_PORT``, or a sentence."""
    if len(refusal.openflow) >= 12:
        return _openflow(refusal.openflow)
    return _STATUS.get(refusal.status, f"the NIC refuses with status {refusal.status}")  # type: ignore[call-overload, no-any-return]


def _openflow(error: bytes) -> str:
    kind, code = struct.unpack_from(">HH", error, 8)
    prefix, names = _NAMES.get(kind, ("", []))
    if error[0] != _OPENFLOW_13 or code >= len(names):
        return f"OpenFlow error of type {kind}, code {code}"
    return f"{prefix}_{names[code]}"
