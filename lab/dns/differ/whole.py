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

from ...base.net import Network
from .. import products as dns_peers
from . import faults, mixed, neighbours, questions, registry, replies, rules, servers, zones
from .differences import Difference
from .questions import Question
from .replies import Reply
from .servers import Server
from .shapes import NAME_MAX

KINDS = ("plain", "nsec", "nsec3", "optout", "registry")
#: Differences of one kind that a report shows whole.
_SHOWN = 3
#: dnssec-signzone hashes "*" below each name.
_NSEC3_LONGEST = NAME_MAX - 2
#: Questions that are under way.
_AT_ONCE = 32


@dataclass
class Result:
    """What a run has found."""

    asked: int = 0
    differing: int = 0
    explained: Counter[str] = field(default_factory=Counter)
    unexplained: list[Difference] = field(default_factory=list)
    #: Differences where all peers agree and only we differ, explained or not.
    alone: list[Difference] = field(default_factory=list)
    #: Artificial faults in our replies, and those that no comparison detected.
    faults: Counter[str] = field(default_factory=Counter)
    unseen: Counter[str] = field(default_factory=Counter)
    #: By rule: replies with a fault of which it explains something, and those of which nothing
    #: is left.
    tried: Counter[str] = field(default_factory=Counter)
    hidden: Counter[str] = field(default_factory=Counter)

    def add(self, found: Sequence[Difference], peers: int) -> None:
        """Count the differences of a reply from so many peers by their rules."""
        self.differing += len(found)
        for difference, explanation in zip(found, rules.explain_all(found, peers), strict=True):
            if explanation.is_whole:
                self.explained.update(explanation.names)
            else:
                self.unexplained.append(difference)

    def try_fault(
        self, name: str, before: Sequence[Difference], after: Sequence[Difference], peers: int
    ) -> None:
        """Count by their rules differences before and after a fault of ours."""
        self.faults[name] += 1
        explained = rules.explain_all(after, peers)
        self.unseen[name] += all(each.is_whole for each in explained)
        used = {each.server: set(rules.explain(each).names) for each in before}
        for difference, each in zip(after, explained, strict=True):
            self.tried.update(used.get(difference.server, set()) | set(each.names))
            self.hidden.update(each.names if each.is_whole else ())

    def merge(self, other: Result) -> None:
        """Add what another run has found."""
        self.asked += other.asked
        self.differing += other.differing
        self.unexplained += other.unexplained
        self.alone += other.alone
        for name in ("explained", "faults", "unseen", "tried", "hidden"):
            getattr(self, name).update(getattr(other, name))

    def report(self) -> str:
        """For people."""
        lines = [f"{self.asked} questions, {self.differing} differences of a reply from ours", ""]
        whys = {each.name: each.why for each in rules.RULES}
        lines += [
            f"{n:7} {name} ({self.hidden[name]} of {self.tried[name]} faults hidden): {whys[name]}"
            for name, n in self.explained.most_common()
        ]
        lines += [f"{self.unseen.total()} of {self.faults.total()} faults unseen: {self.unseen}"]
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


def _made(rng: random.Random, kind: str, size: int) -> list[zones.Zone]:
    """The zone that is asked for most, then others."""
    if kind == "registry":
        first = registry.make(rng, size)
    else:
        longest = _NSEC3_LONGEST if kind in ("nsec3", "optout") else NAME_MAX
        first = mixed.make(rng, size, longest)
    return [first, *neighbours.make(rng, first)]


def _files(folder: Path, all_zones: Sequence[zones.Zone], kind: str) -> dict[str, Path]:
    """Their master files; the first zone is signed."""
    files = {}
    for zone in all_zones:
        file = files[zone.origin] = folder / f"{zone.origin}zone"
        file.write_text("\n".join(zone.lines()) + "\n")
    if kind != "plain":
        denial = "optout" if kind == "registry" else kind
        files[zones.ORIGIN] = zones.sign(folder, files[zones.ORIGIN], denial)
    return files


def run(
    seed: int, kind: str, count: int, size: int, names: Sequence[str] = dns_peers.NAMES
) -> Result:
    """Ask so many questions about zones; the first server's replies are ours."""
    rng = random.Random(f"{seed} {kind}")
    all_zones = _made(rng, kind, size)
    with tempfile.TemporaryDirectory(prefix="vmmnet-differ-") as scratch, Network() as network:
        folder = Path(scratch)
        folder.chmod(0o755)
        files = _files(folder, all_zones, kind)
        with servers.running(network.namespace("dns"), folder, files, names) as found:
            asker = _Asker(found, all_zones, kind != "plain", random.Random(seed))
            asker.ask_all(questions.make(rng, all_zones, count))
        return asker.result


@dataclass
class _Asker:
    servers: Sequence[Server]
    zones: Sequence[zones.Zone]
    is_signed: bool
    #: Chooses the faults; the questions do not depend on it.
    rng: random.Random
    result: Result = field(default_factory=Result)
    #: Those of questions, so that no reply that is late is taken for that to another one.
    idents: Iterator[int] = field(default_factory=lambda: itertools.cycle(range(0x8000)))

    def ask_all(self, all_questions: Iterator[Question]) -> None:
        """A few at a time, so that no server waits for another."""
        while some := list(itertools.islice(all_questions, _AT_ONCE)):
            self.result.asked += len(some)
            for question, answers in zip(some, self.replies(some), strict=True):
                self.compare(question, answers)

    def replies(self, some: Sequence[Question]) -> list[list[Reply]]:
        """Of all servers to each."""
        asked = [(question, question.message(next(self.idents))) for question in some]
        for server in self.servers:
            server.send_all(asked)
        return [
            [replies.read(server.receive(question, message[:2])) for server in self.servers]
            for question, message in asked
        ]

    def compare(self, question: Question, answers: Sequence[Reply]) -> None:
        """Count differences that no rule explains; ask again over TCP what was truncated."""
        whole = None
        if any("TC" in each.flags for each in answers) and not question.stream:
            again = dataclasses.replace(question, stream=True)
            (whole_answers,) = self.replies([again])
            self.compare(again, whole_answers)
            whole = whole_answers[0]
        ours, others = answers[0], answers[1:]
        found = self.differences(question, ours, others, whole)
        self.result.add(found, len(others))
        if len(found) > 1 and not any(others[0].differs(each) for each in others):
            self.result.alone.append(found[0])
        if spoilt := faults.spoil(self.rng, ours):
            name, reply = spoilt
            after = self.differences(question, reply, others, whole)
            self.result.try_fault(name, found, after, len(others))

    def differences(
        self, question: Question, ours: Reply, others: Sequence[Reply], whole: Reply | None
    ) -> list[Difference]:
        """Those that are to be explained."""
        zone = zones.of_name(self.zones, question.name.lower())
        return [
            Difference(
                question,
                server.name,
                ours,
                theirs,
                zone,
                self.is_signed and zone.origin == zones.ORIGIN,
                whole if "TC" in ours.flags + theirs.flags else None,
                tuple(each for each in others if each is not theirs),
                tuple(self.zones),
            )
            for server, theirs in zip(self.servers[1:], others, strict=True)
            if ours.differs(theirs)
        ]


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
