# SPDX-License-Identifier: GPL-2.0-or-later
"""Children of the test bed: who ends with them, and who does not."""

from __future__ import annotations

import subprocess

from lab.base import process, wait


def test_session_ends_with_its_leader() -> None:
    leader = process.start(["sh", "-c", "sleep 1000 & echo $!"], stdout=subprocess.PIPE)
    assert leader.stdout is not None
    member = int(leader.stdout.readline())
    # It ends by itself, and another process of its session stays behind.
    assert leader.wait(wait.PATIENCE) == 0
    assert process.start_time(member)
    process.stop(leader)
    wait.until(lambda: process.start_time(member) is None, "the end of the session")


def test_later_process_with_the_number_lives() -> None:
    """A child that ended long ago is stopped; its number belongs to another process."""
    ended = process.start(["true"])
    assert ended.wait(wait.PATIENCE) == 0
    later = process.start(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert later.stdin is not None
    assert later.stdout is not None
    ended.pid = later.pid
    process.stop(ended)
    later.stdin.write(b"alive\n")
    later.stdin.close()
    assert later.stdout.readline() == b"alive\n"
    assert later.wait(wait.PATIENCE) == 0


def test_no_orphan_is_of_another_pid_namespace() -> None:
    """Its owner has another number there: tests/machines runs a test bed within."""
    alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    child = process.start(
        [*alone, "env", f"{process.MARK}=1.0", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    for text in (b"before\n", b"after\n"):
        child.stdin.write(text)
        child.stdin.flush()
        assert child.stdout.readline() == text
        process.kill_orphans()
    # unshare takes no SIGTERM while its child lives.
    child.stdin.close()
    assert child.wait(wait.PATIENCE) == 0
    process.stop(child)
