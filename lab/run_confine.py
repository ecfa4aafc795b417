# SPDX-License-Identifier: GPL-2.0-or-later
"""Show a VM for untrusted code: ``make run-confine``.

A guest under the policy of examples/sandbox does what it may, then tries each way out that others
have reported. What arrives at the servers judges, not the guest; the audit log names each.

    python3 -m lab.run_confine [--beside passt] [--learn]

With --beside, the same attempts follow in a guest on passt, behind rules of nftables; with --learn,
a policy is learned from what apt, pip and git do.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterable, Sequence

from lab.confine import beside, learning, world
from lab.confine import places as at
from lab.confine.ways import WAYS
from lab.confine.world import Confined, Outcome, World
from lab.packages.conclude import conclude
from lab.story import Story

#: Members of a line that say no more here than the other ones.
_QUIET = ("v", "time", "vm", "dev", "policy", "socket", "verdict", "type")
_CURL = "curl -sS --cacert /etc/confine-ca.pem"
ALLOWED = (
    f"{_CURL} https://{at.API_NAME}/",
    f"curl -sS http://{at.MIRROR_NAME}/debian/",
    f"{_CURL} https://{at.PYTHON_NAME}/simple/",
    f"{_CURL} https://{at.FILES_NAME}/packages/",
    f"{_CURL} https://{at.GIT_NAME}/",
)
#: Inside the encryption nobody sees another name: docs/confine.md says so.
FRONTED = f"{_CURL} -H 'Host: other.example' https://{at.API_NAME}/"


def told(outcome: Outcome) -> str:
    """The line of the log that names an attempt, without what all lines say."""
    if outcome.line is None:
        return f"NOT IN THE LOG, which has {outcome.lines}"
    return json.dumps({key: value for key, value in outcome.line.items() if key not in _QUIET})


def show(outcome: Outcome) -> None:
    """An attempt: what was tried, what the guest got, what the servers saw, and the log."""
    print(f"    {outcome.attempt.title}")
    print(f"      guest  | {outcome.got}")
    for packet in outcome.arrived[:3]:
        print(f"      PASSED | {packet}")
    print(f"      log    | {told(outcome)}", flush=True)


def try_all(story: Story, there: World) -> list[Outcome]:
    """All ways, told one by one."""
    outcomes = []
    for way in WAYS:
        with story.step(f"Way out: {way.title}"):
            for attempt in way.attempts:
                outcomes.append(there.run(attempt))
                show(outcomes[-1])
    return outcomes


def conclusion(outcomes: Iterable[Outcome]) -> tuple[str, bool]:
    """The last line, and whether all is well."""
    found = list(outcomes)
    passed = sum(each.passed for each in found)
    unlogged = sum(each.line is None for each in found)
    text = f"{len(WAYS)} ways, {len(found)} attempts tried, {passed} passed, {unlogged} unlogged"
    return text, not passed and not unlogged


def attack(story: Story) -> list[Outcome]:
    """Boot the guest of examples/sandbox, show what it may, and try all ways."""
    with contextlib.ExitStack() as stack:
        with story.step("Make servers and a witness; boot a guest under examples/sandbox"):
            folder = stack.enter_context(world.own_folder())
            there = stack.enter_context(world.confined(folder))
            story.show("host$", "cat examples/sandbox/sandbox.policy", at.POLICY.read_text())
        with story.step("What the guest may"):
            for command in ALLOWED:
                show_allowed(story, there, command)
        # Before the budgets are spent.
        with story.step("What it does not stop: another name inside the encryption"):
            show_allowed(story, there, FRONTED)
        outcomes = try_all(story, there)
        there.attacker.end()
        with story.step("What the guest can read of it"):
            show_allowed(story, there, "tail -n 3 /proc/net/vmrpc_refused")
    return outcomes


def attack_passt(story: Story) -> list[Outcome]:
    """The same attempts beside it, told by the table alone."""
    with contextlib.ExitStack() as stack:
        with story.step("Boot a guest on passt, behind nftables' rules by address"):
            folder = stack.enter_context(world.own_folder())
            there = stack.enter_context(beside.beside(folder))
            story.show("host$", "nft list table inet sandbox", beside.RULES)
        with story.step("The same attempts there"):
            outcomes = [there.run(attempt) for way in WAYS for attempt in way.attempts]
        there.attacker.end()
    return outcomes


def table(ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> str:
    """Attempts of each way, and those that passed."""
    rows = [f"{'way out':54}{'attempts':>9}{'passt + nftables':>18}{'vmmnet':>8}"]
    for way in WAYS:
        passed = [
            sum(each.passed for each in side if each.attempt in way.attempts)
            for side in (theirs, ours)
        ]
        rows.append(f"{way.title:54}{len(way.attempts):9}{passed[0]:18}{passed[1]:8}")
    total = [sum(each.passed for each in side) for side in (theirs, ours)]
    rows.append(f"{'passed':54}{len(ours):9}{total[0]:18}{total[1]:8}")
    return "\n".join(rows)


def learn(story: Story) -> bool:
    """Learn a policy from a job, and do the job under it; whether it refused nothing."""
    with contextlib.ExitStack() as stack:
        with story.step("Boot a guest under 'default watch', which refuses nothing"):
            folder = stack.enter_context(world.own_folder())
            job = stack.enter_context(learning.job(folder))
        with story.step("Do a job"):
            for command, output in job.run():
                story.show("guest#", command, "\n".join(output.splitlines()[-2:]))
        with story.step("Learn a policy from the log"):
            policy = learning.vmmnet("policy", "learn", job.there.log)
            story.show("host$", "vmmnet policy learn job.jsonl", policy)
            job.there.reload(policy)
            job.undo()
        before = len(job.there.lines())
        with story.step("Do the job again under it"):
            for command, _ in job.run():
                print(f"    guest# {command}")
            refused = job.refused(before)
            print(f"    {len(refused)} refused", flush=True)
    return not refused


def demonstrate(options: argparse.Namespace, story: Story) -> bool:
    """The whole demonstration; whether nothing passed and all was logged."""
    outcomes = attack(story)
    if options.beside:
        theirs = attack_passt(story)
        print("\nWhat passed:\n\n" + table(outcomes, theirs))
    has_learned = learn(story) if options.learn else True
    text, is_well = conclusion(outcomes)
    print(f"\n{text}")
    story.end()
    return is_well and has_learned


def show_allowed(story: Story, there: Confined, command: str) -> None:
    """Something that has to work."""
    story.show("guest#", command, there.guest.run(command).stdout)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, prog="make run-confine", description=__doc__
    )
    parser.add_argument("--beside", choices=("passt",), help="try the same beside this")
    parser.add_argument("--learn", action="store_true", help="learn a policy, too")
    return parser.parse_args(arguments)


def main() -> int:
    """Entry point."""
    options = parse()
    well: list[bool] = []
    status = conclude("make run-confine", lambda: well.append(demonstrate(options, Story())))
    return status or (0 if all(well) else 2)


if __name__ == "__main__":
    sys.exit(main())
