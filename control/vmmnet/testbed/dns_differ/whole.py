# SPDX-License-Identifier: GPL-2.0-or-later
"""A run of questions through all servers, and its report."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .. import dns_peers
from ..net import Network
from . import questions, replies, rules, servers, zones
from .differences import Difference
from .questions import Question
from .replies import Reply
from .servers import Server

KINDS = ("plain", "nsec", "nsec3", "optout")
#: Differences of one kind that a report shows whole.
_SHOWN = 3
#: Questions that are under way.
_AT_ONCE = 32


@dataclass
class Result:
    """What a run has found."""

    asked: int = 0
    differing: int = 0
    explained: Counter[str] = field(default_factory=Counter)
    unexplained: list[Difference] = field(default_factory=list)
    #: Those where the peers all say the same and only we do not, whether explained or not.
    alone: list[Difference] = field(default_factory=list)

    def add(self, difference: Difference) -> None:
        """Count a difference by its rules."""
        self.differing += 1
        used = rules.explain(difference)
        if used is None:
            self.unexplained.append(difference)
        else:
            self.explained.update(rule.name for rule in used)

    def report(self) -> str:
        """For people."""
        lines = [f"{self.asked} questions, {self.differing} differences of a reply from ours", ""]
        whys = {each.name: each.why for each in rules.RULES}
        lines += [f"{n:7} {name}: {whys[name]}" for name, n in self.explained.most_common()]
        lines += [f"{len(self.unexplained):7} unexplained"]
        groups: dict[tuple[str, tuple[str, ...]], list[Difference]] = {}
        for each in self.unexplained:
            groups.setdefault((each.server, each.parts), []).append(each)
        for (server, parts), found in sorted(groups.items(), key=lambda item: -len(item[1])):
            lines += ["", f"{len(found)} of {server}: {', '.join(parts)}"]
            lines += _shown(found)
        lines += ["", f"{len(self.alone):7} where all others agree"]
        return "\n".join([*lines, *_shown(self.alone)]) + "\n"


def _shown(found: Sequence[Difference]) -> Iterator[str]:
    for each in found[:_SHOWN]:
        yield from ("", str(each.question), f"ours: {each.ours}", f"{each.server}: {each.theirs}")


def run(
    seed: int, kind: str, count: int, size: int, names: Sequence[str] = dns_peers.NAMES
) -> Result:
    """Ask so many questions about one zone; the first server's replies are ours."""
    rng = random.Random(f"{seed} {kind}")
    zone = zones.make(rng, size)
    with tempfile.TemporaryDirectory(prefix="vmmnet-differ-") as scratch, Network() as network:
        folder = Path(scratch)
        folder.chmod(0o755)
        source = folder / "differ.zone"
        source.write_text("\n".join(zone.lines()) + "\n")
        loaded = source if kind == "plain" else zones.sign(folder, source, kind)
        space = network.namespace("dns")
        with servers.running(space, folder, loaded, names) as found:
            asker = _Asker(found, zone, kind != "plain")
            asker.ask_all(questions.make(rng, zone, count))
        return asker.result


@dataclass
class _Asker:
    servers: Sequence[Server]
    zone: zones.Zone
    is_signed: bool
    result: Result = field(default_factory=Result)

    def ask_all(self, all_questions: Iterator[Question]) -> None:
        """A few at a time, so that no server waits for another."""
        while some := list(itertools.islice(all_questions, _AT_ONCE)):
            self.result.asked += len(some)
            for question, answers in zip(some, self.replies(some), strict=True):
                self.compare(question, answers)

    def replies(self, some: Sequence[Question]) -> list[list[Reply]]:
        """Of all servers to each."""
        messages = [question.message(ident) for ident, question in enumerate(some)]
        for server in self.servers:
            for question, message in zip(some, messages, strict=True):
                server.send(question, message)
        return [
            [replies.read(server.receive(question, message[:2])) for server in self.servers]
            for question, message in zip(some, messages, strict=True)
        ]

    def compare(self, question: Question, answers: Sequence[Reply]) -> None:
        """What differs is right, or is counted; what was truncated is asked again over TCP."""
        whole = None
        if any("TC" in each.flags for each in answers):
            again = dataclasses.replace(question, stream=True)
            (whole_answers,) = self.replies([again])
            self.compare(again, whole_answers)
            whole = whole_answers[0]
        ours, others = answers[0], answers[1:]
        found = [
            self.difference(question, server, ours, theirs, whole)
            for server, theirs in zip(self.servers[1:], others, strict=True)
            if ours.differs(theirs)
        ]
        for each in found:
            self.result.add(each)
        if found and len(others) > 1 and not any(others[0].differs(each) for each in others):
            self.result.alone.append(found[0])

    def difference(
        self, question: Question, server: Server, ours: Reply, theirs: Reply, whole: Reply | None
    ) -> Difference:
        """One that is to be explained."""
        either = "TC" in ours.flags + theirs.flags
        return Difference(
            question,
            server.name,
            ours,
            theirs,
            self.zone,
            self.is_signed,
            whole if either else None,
        )


def main(arguments: Sequence[str]) -> int:
    """Run it and write the report."""
    parser = argparse.ArgumentParser(prog="dns_differ", description=__doc__)
    parser.add_argument("--questions", type=int, default=1000, help="for each kind of zone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--names", type=int, default=150, help="in a zone")
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--server", choices=dns_peers.NAMES, action="append")
    given = parser.parse_args(arguments)
    left = 0
    for kind in given.kind or KINDS:
        result = run(
            given.seed, kind, given.questions, given.names, given.server or dns_peers.NAMES
        )
        print(f"## {kind}\n\n{result.report()}")
        left += len(result.unexplained)
    return bool(left)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
