# SPDX-License-Identifier: GPL-2.0-or-later
"""Run programs side by side, one for each processor, and keep their output apart."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from . import paths, process

#: How many programs run at a time: ``$VMMNET_WORKERS``, else one for each processor.
WORKERS = int(os.environ.get("VMMNET_WORKERS") or os.cpu_count() or 1)
# After SIGTERM a test has to remove guests and namespaces.
_GRACE = 60.0


@dataclass(frozen=True)
class Program:
    """A program to run; its output goes to ``build/logs/<name>.log``."""

    name: str
    command: Sequence[str | Path]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path = paths.ROOT
    timeout: float | None = None

    @property
    def log(self) -> Path:
        """The file with its output."""
        return paths.LOGS / f"{self.name}.log"


@dataclass(frozen=True)
class Ended:
    """Exit status of a program, and its duration in seconds."""

    program: Program
    status: int
    seconds: float

    @property
    def output(self) -> str:
        """Its whole output."""
        return self.program.log.read_text(errors="replace")


def run(programs: Sequence[Program]) -> Iterator[Ended]:
    """Start the programs in their order; yield each when it has ended.

    If the caller closes the generator early, the running programs end.
    """
    running: set[subprocess.Popen[bytes]] = set()

    def run_one(program: Program) -> Ended:
        began = time.monotonic()
        program.log.parent.mkdir(parents=True, exist_ok=True)
        with program.log.open("wb") as log:
            child = process.start(
                program.command, env=program.env, cwd=program.cwd, stdout=log, stderr=log
            )
            running.add(child)
            try:
                status = child.wait(program.timeout)
            except subprocess.TimeoutExpired:
                status = process.stop(child, _GRACE) or 1
                log.write(f"\n{program.name}: not within {program.timeout:g} s\n".encode())
            running.discard(child)
        return Ended(program, status, time.monotonic() - began)

    pool = ThreadPoolExecutor(WORKERS)
    try:
        for future in as_completed([pool.submit(run_one, program) for program in programs]):
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in list(running):
            process.stop(child, _GRACE)
