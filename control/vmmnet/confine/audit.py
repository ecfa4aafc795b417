# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet audit``: lines of an audit log."""

from __future__ import annotations

import argparse
import fnmatch
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from vmmnet.command import output
from vmmnet.command.parser import Parser, subcommand, typed
from vmmnet.command.status import Refused, Status, UsageError, carry_out, refuse

from . import lines, ocsf, show
from .follow import follow
from .lines import STDIN, Event

_TEXT = """\
Print what a guest with virtio-vmrpc asked for, what it reached and what was refused:
the lines of an audit log (docs/vmrpc-audit.md). What is missing in it is told on standard
error.

  vmmnet audit web.log --verdict deny            what was refused
  vmmnet audit web.log --follow --name '*.example.com'
  vmmnet audit web.log --since 15m --json        the lines as they are
  vmmnet audit web.log --follow --ocsf           for a SIEM
"""
_SPAN = re.compile(r"(\d+)([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
#: What a line may be about.
EVENTS = (
    *("open", "refused", "watched", "said", "close"),
    *("name", "answer", "policy", "lost"),
)

#: Does a line belong to what was asked for?
_Test = Callable[[Event], bool]


def add_command(rooms: argparse._SubParsersAction[Parser]) -> None:
    """Add ``audit`` to the command ``vmmnet``."""
    parser = subcommand(rooms, "audit", run, "what a guest did, by its audit log", _TEXT)
    parser.set_defaults(execute=execute)
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, nargs="?", default=STDIN, help="(default: stdin)")
    add("-f", "--follow", action="store_true", help="also print new lines, and those of a new FILE")
    add("--event", choices=EVENTS, metavar="EVENT", action="append", help=", ".join(EVENTS))
    add("--verdict", choices=("allow", "watch", "deny"), help="only lines with this one")
    add("--name", metavar="PATTERN", help="only about such names, as in '*.example.com'")
    add("--vm", metavar="VM", help="only of this VM")
    add("--since", metavar="TIME", type=typed(_since), help="as 2026-11-28T09:00, or 15m, 2h, 1d")
    add("--ocsf", action="store_true", help="print events of OCSF 1, one JSON object a line")


def _since(text: str) -> str:
    """A time as lines have it; without a zone, it is local time."""
    if span := _SPAN.fullmatch(text):
        begin = datetime.now(UTC) - timedelta(**{_UNITS[span[2]]: int(span[1])})
    else:
        try:
            begin = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(f"'{text}' is no time, as 2026-11-28T09:00, or 15m") from None
    return begin.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def execute(given: argparse.Namespace) -> int:
    """Run the command of a parsed command line; returns its exit status."""
    try:
        return carry_out(given)
    except Refused as error:
        return refuse(given, "audit", str(error))


def _say(text: str) -> None:
    output.say(f"vmmnet audit: {text}")


def run(given: argparse.Namespace) -> int:
    """``audit [FILE]``."""
    if given.json and given.ocsf:
        raise UsageError("give one of --json and --ocsf")
    if given.follow and given.file == STDIN:
        raise UsageError("--follow needs a FILE")
    if given.follow and lines.is_compressed(given.file):
        raise UsageError("--follow needs a FILE that grows, and is not compressed")
    wanted = _wanted(given)
    form = _json if given.json else _ocsf if given.ocsf else _text
    numbers = lines.Numbers(_say)
    reader = lines.Reader(str(given.file), _say)
    try:
        for text, event in reader.read(_octets(given)):
            if numbers.is_new(event) and wanted(event) and (line := form(text, event)):
                print(line)
    except OSError as error:
        raise Refused(f"{error.filename or given.file}: {error.strerror or error}") from None
    reader.end()
    return Status.DONE


def _octets(given: argparse.Namespace) -> Iterator[bytes]:
    if not given.follow:
        with lines.opened(given.file) as stream:
            yield from stream
        return
    with closing(follow(given.file, _say)) as grown:
        for line in grown:
            if line:
                yield line
            else:
                sys.stdout.flush()


def _wanted(given: argparse.Namespace) -> _Test:
    tests: list[_Test] = []
    if given.event is not None:
        tests.append(lambda event: event["event"] in given.event)
    if given.verdict is not None:
        tests.append(lambda event: event.get("verdict") == given.verdict)
    if given.vm is not None:
        tests.append(lambda event: event.get("vm") == given.vm)
    if given.since is not None:
        tests.append(lambda event: str(event.get("time")) >= given.since)
    if given.name is not None:
        pattern = re.compile(fnmatch.translate(given.name.removesuffix(".")), re.IGNORECASE)
        tests.append(lambda event: any(map(pattern.match, _names(event))))
    return lambda event: all(test(event) for test in tests)


def _names(event: Event) -> Iterator[str]:
    asked = event.get("asked")
    yield from (map(str, asked) if isinstance(asked, list) else ())
    yield from (str(event[key]) for key in ("said", "name") if key in event)


def _text(_: str, event: Event) -> str:
    return show.describe(event)


def _json(text: str, _: Event) -> str:
    return text.rstrip("\r\n")


def _ocsf(_: str, event: Event) -> str:
    try:
        return json.dumps(ocsf.convert(event))
    except (ValueError, TypeError, LookupError):
        _say(f"{lines.source(event)}: line {event.get('seq')} has no form in OCSF")
        return ""
