# SPDX-License-Identifier: GPL-2.0-or-later
"""A line of an audit log for people."""

from __future__ import annotations

from collections.abc import Iterator

from .lines import Event, printable, source


def describe(event: Event) -> str:
    """One line, safe for a terminal."""
    kind = event["event"]
    parts = [str(event.get("time")), source(event), kind]
    parts += map(str, _WHAT.get(kind, _any)(event))
    return printable("  ".join(parts))


def _verdict(event: Event) -> Iterator[str]:
    """The verdict with what decided."""
    why = [str(event[key]) for key in ("reason", "errno") if key in event]
    if "line" in event:
        why.append(f"line {event['line']}")
    verdict = str(event.get("verdict", ""))
    if why:
        yield f"{verdict} ({', '.join(why)})".lstrip()
    elif verdict:
        yield verdict


def _peer(event: Event) -> Iterator[str]:
    """Protocol and address."""
    if "address" in event:
        address = str(event["address"])
        address = f"[{address}]" if ":" in address else address
        port = f":{event['port']}" if "port" in event else ""
        towards = "from " if event.get("incoming") else ""
        yield f"{event.get('proto', '')} {towards}{address}{port}".lstrip()
    elif "proto" in event:
        yield str(event["proto"])


def _names(event: Event) -> Iterator[str]:
    asked = event.get("asked", ())
    if isinstance(asked, list) and asked:
        more = f" and {event['more']} more" if "more" in event else ""
        yield ", ".join(map(str, asked)) + more
    if "said" in event:
        yield f"says {event['said']}"


def _destination(event: Event) -> Iterator[str]:
    yield from _peer(event)
    if "via" in event:
        yield f"via {event['via']}"
    yield from _verdict(event)
    yield from _names(event)


def _close(event: Event) -> Iterator[str]:
    yield from _peer(event)
    yield f"{event.get('sent')} bytes sent, {event.get('received')} received"
    yield f"{event.get('ms')} ms"
    if "error" in event:
        yield str(event["error"])
    yield from _names(event)


def _name(event: Event) -> Iterator[str]:
    yield f"{event.get('name')} {event.get('type', '')}".rstrip()
    yield from _verdict(event)


def _answer(event: Event) -> Iterator[str]:
    yield f"{event.get('name')} {event.get('type', '')}".rstrip()
    if isinstance(found := event.get("addresses"), list):
        yield ", ".join(map(str, found))
    if "security" in event:
        yield str(event["security"])


def _policy(event: Event) -> Iterator[str]:
    yield str(event.get("file"))
    if "problem" in event:
        yield f"refused: {event['problem']}"
    if "policy" in event:
        yield f"in force: {event['policy']}"


def _lost(event: Event) -> Iterator[str]:
    yield f"{event.get('count')} lines"


def _any(event: Event) -> Iterator[str]:
    """What a later version of the device says."""
    common = ("v", "seq", "time", "vm", "dev", "event")
    yield from (f"{key}={value}" for key, value in event.items() if key not in common)


_WHAT = {
    "open": _destination,
    "refused": _destination,
    "watched": _destination,
    "said": _destination,
    "close": _close,
    "name": _name,
    "answer": _answer,
    "policy": _policy,
    "lost": _lost,
}
