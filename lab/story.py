# SPDX-License-Identifier: GPL-2.0-or-later
"""Print a demonstration step by step, with times and real output."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

from lab.base import paths


def _tick(over: threading.Event, began: float) -> None:
    """Print every ten seconds the time so far and the size of what was built."""
    while not over.wait(10):
        # Files change meanwhile: ignore du's errors.
        try:
            du = subprocess.run(
                ["du", "-sm", paths.BUILD], capture_output=True, text=True, timeout=5
            )
            size = f", {du.stdout.partition(chr(9))[0]} MiB in build/"
        except subprocess.TimeoutExpired:  # The step need not wait for a slow disk.
            size = ""
        print(f"    {time.monotonic() - began:.0f} s{size}", flush=True)


class Story:
    """Prints each step and its duration."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._number = 0

    @contextlib.contextmanager
    def step(self, text: str) -> Iterator[None]:
        """One step; a long one prints its progress, and its time at the end."""
        self._number += 1
        began = time.monotonic()
        print(f"\n[{self._number}] {text} ...", flush=True)
        over = threading.Event()
        ticker = threading.Thread(target=_tick, args=(over, began), daemon=True)
        ticker.start()
        try:
            yield
        finally:
            over.set()
            ticker.join()
        print(f"    done in {time.monotonic() - began:.1f} s", flush=True)

    def show(self, prompt: str, command: str, output: str) -> None:
        """Print a command and its output."""
        print(f"    {prompt} {command}")
        for line in output.rstrip("\n").splitlines():
            print(f"      | {line}")
        sys.stdout.flush()

    def end(self) -> None:
        """Print the total time."""
        print(f"\nAll of it took {time.monotonic() - self._began:.1f} s.", flush=True)
