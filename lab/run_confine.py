# SPDX-License-Identifier: GPL-2.0-or-later
"""Show a VM for untrusted code: ``make run-confine``.

A guest under the policy of examples/sandbox does what it may, then tries each way out that others
have reported. What arrives at the servers judges, not the guest; the audit log names each.

    python3 -m lab.run_confine [--beside passt]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterable, Sequence

from lab.confine import places as at
from lab.confine import world
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


def demonstrate(story: Story) -> bool:
    """The whole demonstration; whether nothing passed and all was logged."""
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
    text, is_well = conclusion(outcomes)
    print(f"\n{text}")
    story.end()
    return is_well


def show_allowed(story: Story, there: Confined, command: str) -> None:
    """Something that has to work."""
    story.show("guest#", command, there.guest.run(command).stdout)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, prog="make run-confine", description=__doc__
    )
    return parser.parse_args(arguments)


def main() -> int:
    """Entry point."""
    parse()
    well: list[bool] = []
    status = conclude("make run-confine", lambda: well.append(demonstrate(Story())))
    return status or (0 if all(well) else 2)


if __name__ == "__main__":
    sys.exit(main())
