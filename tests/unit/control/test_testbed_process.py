# SPDX-License-Identifier: GPL-2.0-or-later
"""Children of the test bed: who ends with them, and who does not."""

from __future__ import annotations

import subprocess

from vmmnet.testbed.base import process, wait


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


def test_a_test_bed_in_a_container_goes_on() -> None:
    """Its owner has another number here, and perhaps a number that nobody has."""
    nobody = {process._MARK: "4194304.1"}
    with (
        subprocess.Popen(["sleep", "1000"], env={**nobody, process._VIEW: "pid:[1]"}) as foreign,
        subprocess.Popen(["sleep", "1000"], env=nobody) as orphan,
    ):
        try:
            killed = process.kill_orphans()
        finally:
            foreign.kill()
            orphan.kill()
    assert orphan.pid in killed and foreign.pid not in killed
