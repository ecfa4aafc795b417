# SPDX-License-Identifier: GPL-2.0-or-later
"""A policy learned from what apt, pip and git did lets them do it again, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lab.base import paths, tools
from lab.confine import learning
from lab.confine import places as at
from lab.confine import world as confine
from lab.confine.learning import Job, vmmnet

#: Their image is large.
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def job() -> Iterator[Job]:
    tools.run(["make", "-C", paths.ROOT, "policy"])
    with confine.own_folder() as folder, learning.job(folder) as made:
        yield made


def test_learned_policy(job: Job) -> None:
    there = job.there
    for _ in job.run():
        pass
    learned = vmmnet("policy", "learn", there.log)
    rules = [line.split()[1:4] for line in learned.splitlines() if line.startswith("allow")]
    assert sorted(rules) == [
        [at.FILES_NAME, "tcp", "443"],
        [at.MIRROR_NAME, "tcp", "80"],
        [at.GIT_NAME, "tcp", "443"],
        [at.PYTHON_NAME, "tcp", "443"],
    ]
    # Replayed, the log has nothing that is refused.
    watch, new = there.policy.with_name("watch"), there.policy.with_name("learned")
    watch.write_text(learning.WATCH)
    new.write_text(learned)
    assert "-> deny" not in vmmnet("policy", "diff", watch, new, there.log)
    there.reload(learned)
    job.undo()
    before = len(there.lines())
    for _ in job.run():
        pass
    assert job.refused(before) == []
    answer = there.guest.run(f"curl -sS -m 3 http://[{at.EVIL}]/", check=False)
    assert answer.rc != 0 and len(job.refused(before)) == 1
