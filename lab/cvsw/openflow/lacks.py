# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of OpenFlow 1.3 that a NIC with two ports and one table lacks.

The messages of a case, not the NIC, show whether the case needs one of them. The NIC must refuse
such a case with the right error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .cases import IN, OUT, Case


@dataclass(frozen=True)
class Lack:
    """A missing part of OpenFlow."""

    name: str
    #: The rule of OpenFlow 1.3.5.
    reason: str
    #: The errors that refuse it.
    errors: frozenset[str]


_BAD_ACTION, _BAD_FIELD = "OFPBAC_BAD_TYPE", "OFPBMC_BAD_FIELD"
_BAD_SET, _BAD_REQUEST = "OFPBAC_BAD_SET_TYPE", "OFPBRC_BAD_TYPE"
_BAD_INSTRUCTION = "OFPBIC_UNSUP_INST"

PORTS = Lack(
    "a third port",
    "ports are what a switch has (4.1); all these cases output to port 3",
    frozenset({"OFPBAC_BAD_OUT_PORT"}),
)
CHOICES = Lack(
    "groups that choose a bucket",
    "SELECT and FAST_FAILOVER are optional (5.6.1); two ports leave nothing to choose from",
    frozenset({"OFPGMFC_BAD_TYPE"}),
)
METERS = Lack(
    "meters", "an optional instruction (5.9)", frozenset({_BAD_INSTRUCTION, _BAD_REQUEST})
)
TABLES = Lack(
    "a second table",
    "one table is enough (5.1), and flows of the last cannot go on to another (5.9)",
    frozenset({"OFPFMFC_BAD_TABLE_ID", "OFPBIC_BAD_TABLE_ID"}),
)
METADATA = Lack(
    "metadata",
    "an optional instruction and an optional field (5.9, 7.2.3.7), between tables",
    frozenset({_BAD_INSTRUCTION, _BAD_FIELD}),
)
MPLS = Lack(
    "MPLS",
    "optional actions and fields (5.12, 7.2.3.7)",
    frozenset({_BAD_ACTION, _BAD_FIELD, _BAD_SET}),
)
PBB = Lack(
    "PBB",
    "optional actions and fields (5.12, 7.2.3.7)",
    frozenset({_BAD_ACTION, _BAD_FIELD, _BAD_SET}),
)
COPY_TTL = Lack("COPY_TTL", "optional actions (5.12)", frozenset({_BAD_ACTION}))
TYPES = Lack(
    "SET_FIELD of ETH_TYPE, IP_PROTO",
    "SET_FIELD is optional, field by field (5.12): what is behind would become another thing",
    frozenset({_BAD_SET}),
)

#: A case counts for the first missing part.
ALL = (METERS, PORTS, CHOICES, MPLS, PBB, COPY_TTL, METADATA, TYPES, TABLES)

_BY_NAME = {
    "OFPMeterMod": METERS,
    "OFPInstructionMeter": METERS,
    "OFPInstructionGotoTable": TABLES,
    "OFPInstructionWriteMetadata": METADATA,
    "OFPActionPushMpls": MPLS,
    "OFPActionPopMpls": MPLS,
    "OFPActionSetMplsTtl": MPLS,
    "OFPActionDecMplsTtl": MPLS,
    "OFPActionPushPbb": PBB,
    "OFPActionPopPbb": PBB,
    "OFPActionCopyTtlOut": COPY_TTL,
    "OFPActionCopyTtlIn": COPY_TTL,
}
_BY_FIELD = {
    "metadata": METADATA,
    "mpls_label": MPLS,
    "mpls_tc": MPLS,
    "mpls_bos": MPLS,
    "pbb_isid": PBB,
}
# OFPGT_SELECT, OFPGT_FF.
_CHOOSING = (1, 3)
# OFPP_MAX of 1.0 and of 1.3: greater numbers are reserved.
_RESERVED = {1: 0xFF00, 4: 0xFFFFFF00}


def of(case: Case) -> tuple[Lack, ...]:
    """The missing parts that a case needs."""
    found = set(_needs(case.prerequisite, _RESERVED[case.version]))
    return tuple(lack for lack in ALL if lack in found)


def _needs(node: Any, reserved: int) -> Iterator[Lack]:
    if isinstance(node, list):
        for each in node:
            yield from _needs(each, reserved)
        return
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        if key in _BY_NAME:
            yield _BY_NAME[key]
        elif key == "OFPGroupMod":
            yield from [CHOICES] if value.get("type") in _CHOOSING else []
        elif key == "OFPActionOutput" and value["port"] not in (IN, OUT):
            yield from [PORTS] if value["port"] < reserved else []
        elif key == "OFPActionSetField":
            field = value["field"]["OXMTlv"]["field"]
            yield from [TYPES] if field in ("eth_type", "ip_proto") else []
        elif key == "table_id" and value:
            yield TABLES
        elif key == "OXMTlv" and value["field"] in _BY_FIELD:
            yield _BY_FIELD[value["field"]]
        yield from _needs(value, reserved)
