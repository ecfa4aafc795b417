# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet policy``: learn, test and compare policies of virtio-vmrpc."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import re
import socket
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmmnet.command import output
from vmmnet.command.parser import Parser, subcommand, typed
from vmmnet.command.status import Refused, Status, UsageError, carry_out, refuse

from . import judge, learn, lines, replay
from .judge import Destination, Name, Verdict
from .replay import Outcome
from .tally import Asked, Stream, Tally

_BRIEF = "learn, test and compare policies of virtio-vmrpc"
_TEXT = f"""\
What a guest may reach is in a policy file (docs/vmrpc-policy.md), what it did is in
an audit log (docs/vmrpc-audit.md). These commands go from one to the other. Verdicts
are those of the device itself.

  vmmnet policy learn web.log -o web.policy           allow what the log has, no more
  vmmnet policy test web.policy                       is the file right?
  vmmnet policy test web.policy www.example.com tcp 443
  vmmnet policy diff web.policy new.policy web.log    what the new file would change

exit status: {Status.DONE:d}  done; 'test': it is allowed; 'diff': nothing changes
             {Status.REFUSED:d}  it cannot be done, or a file is wrong
             {Status.USAGE:d}  the command line is wrong
             {Status.FAULTS:d}  'test': it is refused; 'diff': verdicts change; 'learn': there is
                something that it could not learn
             {Status.UNWRITTEN:d}  the answer could not be written
             {Status.INTERRUPTED:d}  interrupted
"""
_LEARN = """\
Print a policy that allows what the logs have, and nothing else: names where a name led
to the address, exact ports, 'tls' or 'http' where every stream said its name in it, and
'default deny'. What was refused is not learned. Behind each rule there is how often it
was used. A name that was only asked for has a rule that opens nothing.

  vmmnet policy learn web.log.1.gz web.log -o web.policy
  vmmnet policy learn --wildcard example.org web.log     one rule for all names below
"""
_TEST = """\
Say whether a policy lets a guest use a destination, and which line decides. With a
file alone, say whether the file is right.

PLACE is a name, an address, or 'host' for the host's own addresses. A name is tested
twice: whether the guest may ask for it, and whether it may use an address that it led
to. That address is one for which there are only wide rules such as '::/0', or --address.
"""
_DIFF = """\
Print which verdicts about what is in the logs differ between two policies, one a line,
with how often it happened. 'tls' or 'http' is a verdict where the log does not have what
the stream said: it is allowed if the guest says a name that the policy allows.
"""
#: An address that is in no network (RFC 9637).
_ELSEWHERE = "3fff::1"
#: Of an URL, a prefix, a wildcard, a name with its port.
_NO_NAME = re.compile(r"[/:@*\s]")
_WILDCARD = re.compile(r"(\*\.)?[-_a-z0-9]+(\.[-_a-z0-9]+)*\.?", re.IGNORECASE)


def add_command(rooms: argparse._SubParsersAction[Parser]) -> None:
    """Add ``policy`` to the command ``vmmnet``."""
    parser = rooms.add_parser("policy", help=_BRIEF, description=_TEXT)
    parser.set_defaults(execute=execute)
    commands = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    learning = subcommand(commands, "learn", run_learn, "a policy from an audit log", _LEARN)
    _add_logs(learning)
    learning.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write the policy there, at once"
    )
    learning.add_argument(
        "--wildcard",
        metavar="NAME",
        type=typed(_wildcard),
        action="append",
        default=[],
        help="one rule for all names below NAME; may be repeated",
    )
    testing = subcommand(commands, "test", run_test, "a policy's verdict", _TEST)
    testing.add_argument("file", metavar="FILE", type=Path, help="the policy")
    testing.add_argument(
        "place", metavar="PLACE", nargs="?", type=typed(_place), help="name, address or 'host'"
    )
    testing.add_argument(
        "proto", metavar="PROTOCOL", nargs="?", choices=("tcp", "udp", "icmp"), help="of them"
    )
    testing.add_argument("port", metavar="PORT", nargs="?", type=typed(_port), help="of tcp, udp")
    testing.add_argument(
        "--address", metavar="ADDRESS", type=typed(_address), help="the name led to this one"
    )
    comparing = subcommand(commands, "diff", run_diff, "verdicts that change", _DIFF)
    comparing.add_argument("old", metavar="OLD", type=Path, help="a policy")
    comparing.add_argument("new", metavar="NEW", type=Path, help="another one")
    _add_logs(comparing)


def _add_logs(parser: Parser) -> None:
    parser.add_argument(
        "logs", metavar="LOG", type=Path, nargs="+", help="audit logs, also .gz; '-': stdin"
    )
    parser.add_argument("--vm", metavar="VM", help="only what this VM did")


def _wildcard(text: str) -> str:
    if not _WILDCARD.fullmatch(text):
        raise ValueError(f"'{text}' is no name, as in 'example.com'")
    return text


def _place(text: str) -> str:
    if text != "host" and not _is_address(text) and _NO_NAME.search(text):
        raise ValueError(
            f"'{text}' is no name, as in 'www.example.com', no address, and not 'host'"
        )
    return judge.word(text)


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 0xFFFF:
        raise ValueError(f"'{text}' is no port (1 to 65535)")
    return int(text)


def _address(text: str) -> str:
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    try:
        socket.inet_pton(family, text)
    except OSError:
        raise ValueError(f"'{text}' is no address") from None
    return text


def execute(given: argparse.Namespace) -> int:
    """Run the sub-command of a parsed command line; returns its exit status."""
    try:
        return carry_out(given)
    except (Refused, judge.Wrong, judge.Missing) as error:
        return refuse(given, "policy", str(error))
    except OSError as error:
        return refuse(given, "policy", f"{error.filename or 'a log'}: {error.strerror or error}")


def _say(text: str) -> None:
    output.say(f"vmmnet policy: {text}")


def _tally(given: argparse.Namespace) -> Tally:
    """What the logs of a command line have."""
    tally = Tally()
    events = lines.read(given.logs, _say)
    if given.vm is not None:
        events = (each for each in events if each.get("vm") == given.vm)
    tally.add(events)
    return tally


def _tell_wrong(tally: Tally) -> None:
    """Tell what was left out, after all counters were read."""
    if tally.wrong:
        events = "an event is" if tally.wrong == 1 else f"{tally.wrong:,} events are"
        _say(f"{events} none of a device, and left out")


# --- learn ---------------------------------------------------------------------------------


def run_learn(given: argparse.Namespace) -> int:
    """``learn LOG...``."""
    tally = _tally(given)
    try:
        learned = learn.learn(tally.streams(), tally.asked(), given.wildcard)
    except judge.Wrong as error:
        raise Refused(f"{error}: give names above them with --wildcard, or --vm") from None
    _tell_wrong(tally)
    if not learned.rules:
        whose = f"the VM '{given.vm}'" if given.vm is not None else "a device"
        _say(f"the logs have nothing that {whose} was allowed: the policy allows nothing")
    for each in learned.missing:
        _say(f"not learned: {each}")
    if given.output is not None:
        _write(given.output, learned.text)
    if given.json:
        told = {"rules": learned.rules, "missing": learned.missing}
        output.print_json({**told, "policy": learned.text} if given.output is None else told)
    elif given.output is None:
        print(learned.text, end="")
    return Status.FAULTS if learned.missing else Status.DONE


def _write(path: Path, text: str) -> None:
    """Put a file in its place at once: a device reads it when it changes."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    # "x": an existing file belongs to another program.
    with part.open("x") as stream, contextlib.ExitStack() as made:
        made.callback(part.unlink, missing_ok=True)
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
        # QEMU's user may read it as before.
        with contextlib.suppress(FileNotFoundError, PermissionError):
            there = path.stat()
            part.chmod(stat.S_IMODE(there.st_mode))
            os.chown(part, there.st_uid, there.st_gid)
        part.replace(path)


# --- test ----------------------------------------------------------------------------------


def run_test(given: argparse.Namespace) -> int:
    """``test FILE [PLACE [PROTOCOL [PORT]]]``."""
    questions = dict(_questions(given))
    text = given.file.read_bytes()
    answer = judge.ask(text, str(given.file), list(questions.values()))
    verdicts = dict(zip(questions, answer.verdicts, strict=True))
    if given.json:
        told = {key: _object(verdict) for key, verdict in verdicts.items()}
        output.print_json({"policy": answer.policy, **told})
    elif not questions:
        print(f"{given.file} is right: policy {answer.policy}{_open_end(text)}")
    for key, verdict in verdicts.items() if not given.json else ():
        print(f"{key}: {_described(verdict, given.file, text)}")
    return Status.FAULTS if any(each.denies for each in verdicts.values()) else Status.DONE


def _questions(given: argparse.Namespace) -> Iterator[tuple[str, Destination | Name]]:
    """The questions of a command line, by what the guest does."""
    if given.place is None:
        return
    is_name = given.place != "host" and not _is_address(given.place)
    if given.address is not None and not is_name:
        raise UsageError("--address is for a name")
    if is_name:
        yield "ask", Name(given.place)
    if given.proto is None:
        if not is_name:
            raise UsageError("an address needs 'tcp', 'udp' or 'icmp', and a port")
        return
    if (given.port is None) != (given.proto == "icmp"):
        raise UsageError("'tcp' and 'udp' need a port, and 'icmp' has none")
    names = [given.place] if is_name else []
    address = given.address or (given.place if _is_address(given.place) else _ELSEWHERE)
    to = judge.destination(given.proto, address, given.port or 0, names)
    if given.place == "host":
        to = dataclasses.replace(to, is_host=True)
    yield "use", to


def _is_address(text: str) -> bool:
    try:
        _address(text)
    except ValueError:
        return False
    return True


def _open_end(text: bytes) -> str:
    """Tell of a policy without "default", which refuses only what it denies."""
    if any(line.split()[:1] == [b"default"] for line in text.split(b"\n")):
        return ""
    return ". It has no 'default': what no line matches is allowed"


def _described(verdict: Verdict, file: Path, text: bytes) -> str:
    """A verdict for people, with the statement that decides."""
    why = verdict.reason
    if verdict.line:
        statement = text.split(b"\n")[verdict.line - 1].partition(b"#")[0].decode(errors="replace")
        why = f"{file}:{verdict.line}: {lines.printable(' '.join(statement.split()))}"
    error = f", {verdict.error}" if verdict.error else ""
    says = f", if its stream says a name in {verdict.says}" if verdict.says else ""
    return f"{verdict.verdict} ({why}{error}){says}"


def _object(verdict: Verdict) -> dict[str, Any]:
    """A verdict for programs: what is not there is left out."""
    return {key: value for key, value in dataclasses.asdict(verdict).items() if value}


# --- diff ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Change:
    """Verdicts that differ, about the same place."""

    old: str
    new: str
    #: "tcp", "udp", "icmp" or "dns"
    proto: str
    place: str
    port: int
    old_line: int
    new_line: int
    reason: str


def run_diff(given: argparse.Namespace) -> int:
    """``diff OLD NEW LOG...``."""
    tally = _tally(given)
    items: list[Stream | Asked] = [*tally.streams(), *tally.refusals()]
    items += [*tally.asked(), *tally.denied()]
    _tell_wrong(tally)
    before, after = (
        replay.replay(path.read_bytes(), str(path), items) for path in (given.old, given.new)
    )
    changes: Counter[_Change] = Counter()
    for item, old, new in zip(items, before, after, strict=True):
        if old.verdict != new.verdict:
            changes[_change(item, old, new)] += item.count
    if given.json:
        output.print_json([{"count": n, **_members(each)} for each, n in changes.most_common()])
    elif changes:
        for line in output.columns([_row(each, n) for each, n in changes.most_common()]):
            print(line)
    return Status.FAULTS if changes else Status.DONE


def _change(item: Stream | Asked, old: Outcome, new: Outcome) -> _Change:
    if isinstance(item, Asked):
        proto, place, port = "dns", item.name.name, 0
    else:
        to = item.to
        proto, port = to.proto, to.port
        place = item.said or (to.names[0] if to.names else to.address)
    return _Change(old.verdict, new.verdict, proto, place, port, old.line, new.line, new.reason)


def _members(change: _Change) -> dict[str, Any]:
    return {key: value for key, value in dataclasses.asdict(change).items() if value}


def _row(change: _Change, count: int) -> list[str]:
    where = " ".join(f"{each}" for each in (change.proto, change.port or "") if each)
    lines_ = f"line {change.old_line or '-'} -> {change.new_line or '-'}"
    return [
        f"{count:,}",
        f"{change.old} -> {change.new}",
        lines.printable(change.place),
        where,
        lines_,
        change.reason,
    ]
