# SPDX-License-Identifier: GPL-2.0-or-later
"""A run of questions through all servers, and its report."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..net import Network
from . import questions, replies, rules, servers, zones
from .rules import Difference
from .servers import Server

KINDS = ("plain", "nsec", "nsec3", "optout")
#: Differences of one kind that a report shows whole.
_SHOWN = 3


@dataclass
class Result:
    """What a run has found."""

    asked: int = 0
    differing: int = 0
    explained: Counter[str] = field(default_factory=Counter)
    unexplained: list[Difference] = field(default_factory=list)

    def add(self, difference: Difference) -> None:
        """Count a difference by its rule."""
        self.differing += 1
        rule = rules.explain(difference)
        if rule is None:
            self.unexplained.append(difference)
        else:
            self.explained[rule.name] += 1

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
            for each in found[:_SHOWN]:
                lines += ["", str(each.question), f"ours: {each.ours}", f"{server}: {each.theirs}"]
        return "\n".join(lines) + "\n"


def run(
    seed: int, kind: str, count: int, size: int, names: Sequence[str] = servers.NAMES
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
        result = Result()
        with servers.running(space, folder, loaded, names) as found:
            for question in questions.make(rng, zone, count):
                _ask(found, question, result)
        return result


def _ask(found: Sequence[Server], question: questions.Question, result: Result) -> None:
    ident = result.asked & 0xFFFF
    message = question.message(ident)
    for server in found:
        server.send(question, message)
    answers = [replies.read(server.receive(question, message[:2])) for server in found]
    result.asked += 1
    for server, theirs in zip(found[1:], answers[1:], strict=True):
        if answers[0].differs(theirs):
            result.add(Difference(question, server.name, answers[0], theirs))


def main(arguments: Sequence[str]) -> int:
    """Run it and write the report."""
    parser = argparse.ArgumentParser(prog="dns_differ", description=__doc__)
    parser.add_argument("--questions", type=int, default=1000, help="for each kind of zone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--names", type=int, default=150, help="in a zone")
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--server", choices=servers.NAMES, action="append")
    given = parser.parse_args(arguments)
    left = 0
    for kind in given.kind or KINDS:
        result = run(given.seed, kind, given.questions, given.names, given.server or servers.NAMES)
        print(f"## {kind}\n\n{result.report()}")
        left += len(result.unexplained)
    return bool(left)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
