# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of an audit log in the Open Cybersecurity Schema Framework, version 1.

Traffic is Network Activity (class 4001), questions and answers are DNS Activity (4003), and
what is about the log and the policy is a Base Event (0). The line itself is in ``unmapped``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import vmmnet

from .lines import Event

#: Version of the schema.
VERSION = "1.3.0"

_NETWORK, _DNS, _BASE = 4001, 4003, 0
#: Class and activity of an event.
_KINDS = {
    "open": (_NETWORK, 1, "Open"),
    "close": (_NETWORK, 2, "Close"),
    "refused": (_NETWORK, 5, "Refuse"),
    "watched": (_NETWORK, 6, "Traffic"),
    "said": (_NETWORK, 6, "Traffic"),
    "name": (_DNS, 1, "Query"),
    "answer": (_DNS, 2, "Response"),
}
_OTHER = (_BASE, 99, "Other")
#: Numbers of IANA.
_PROTOS = {"icmp": 1, "tcp": 6, "udp": 17}
#: Action and disposition of a verdict: what "watch" lets pass is logged.
_VERDICTS = {"allow": (1, 1), "watch": (1, 17), "deny": (2, 2)}
_INFORMATIONAL, _LOW, _MEDIUM = 1, 2, 3
_SEVERITIES = {"refused": _LOW, "watched": _LOW, "lost": _MEDIUM}
_INBOUND, _OUTBOUND = 1, 2
#: RFC 1035's code of an answer to a question that is denied.
_REFUSED = 5


def convert(event: Event) -> dict[str, Any]:
    """An event of OCSF. Raises ValueError, TypeError, LookupError if it has none."""
    kind = event["event"]
    number, activity, name = _KINDS.get(kind, _OTHER)
    severity = _SEVERITIES.get(kind, _INFORMATIONAL)
    made: dict[str, Any] = {
        "category_uid": number // 1000,
        "class_uid": number,
        "activity_id": activity,
        "activity_name": name if number else kind,
        "type_uid": number * 100 + activity,
        "severity_id": severity,
        "time": _ms(event["time"]),
        "metadata": _metadata(event),
        "unmapped": event,
    }
    if number:
        _add_endpoints(made, event)
        _add_verdict(made, event)
    if number == _DNS:
        _add_question(made, event)
    return made


def _ms(time: str) -> int:
    return int(datetime.fromisoformat(time).timestamp() * 1000)


def _metadata(event: Event) -> dict[str, Any]:
    made: dict[str, Any] = {
        "version": VERSION,
        "product": {"name": "virtio-vmrpc", "vendor_name": "vmmnet", "version": vmmnet.VERSION},
        "log_name": "audit",
        "original_time": event["time"],
    }
    if "seq" in event:
        made["sequence"] = event["seq"]
    if "verdict" in event:
        made["profiles"] = ["security_control"]
    return made


def _add_endpoints(made: dict[str, Any], event: Event) -> None:
    guest = {"name": event.get("vm") or event.get("dev") or "guest"}
    if "dev" in event:
        guest["interface_name"] = event["dev"]
    peer: dict[str, Any] = {}
    if "address" in event:
        peer["ip"] = event["address"]
    if "port" in event:
        peer["port"] = event["port"]
    names = [event["said"]] if "said" in event else event.get("asked")
    if names:
        peer["hostname"] = names[0]
    incoming = bool(event.get("incoming"))
    made["dst_endpoint" if incoming else "src_endpoint"] = guest
    if peer:
        made["src_endpoint" if incoming else "dst_endpoint"] = peer
    connection: dict[str, Any] = {"direction_id": _INBOUND if incoming else _OUTBOUND}
    if event.get("proto") in _PROTOS:
        connection["protocol_name"] = event["proto"]
        connection["protocol_num"] = _PROTOS[event["proto"]]
    if "socket" in event:
        connection["uid"] = str(event["socket"])
    made["connection_info"] = connection
    if "sent" in event:
        # Out is away from the source.
        out, back = ("received", "sent") if incoming else ("sent", "received")
        made["traffic"] = {"bytes_out": event[out], "bytes_in": event[back]}
    if "ms" in event:
        made["duration"] = event["ms"]
    if "error" in event:
        made["status_code"] = event["error"]


def _add_verdict(made: dict[str, Any], event: Event) -> None:
    if event.get("verdict") not in _VERDICTS:
        return
    made["action_id"], made["disposition_id"] = _VERDICTS[event["verdict"]]
    if "policy" in event:
        made["policy"] = {"uid": event["policy"]}
    if "line" in event:
        made["firewall_rule"] = {"uid": str(event["line"])}
    if "reason" in event:
        made["status_detail"] = event["reason"]
    if "errno" in event:
        made["status_code"] = event["errno"]


def _add_question(made: dict[str, Any], event: Event) -> None:
    made["query"] = {"hostname": event["name"]}
    if "type" in event:
        made["query"]["type"] = event["type"]
    if event.get("addresses"):
        made["answers"] = [{"rdata": each} for each in event["addresses"]]
    if event.get("verdict") == "deny":
        made["rcode_id"] = _REFUSED
