# SPDX-License-Identifier: GPL-2.0-or-later
"""One guest on KVM, so that each change meets it; the layer kvm has the rest."""

from __future__ import annotations

import sys

from lab.base import paths, wait
from lab.guest.guest import log_folder
from lab.hosts import kvmhost
from lab.packages import kernel


def test_first_pages() -> None:
    """Both pages of make run, in a host that is emulated with its KVM."""
    kernel.build_module(kernel.OLDEST)
    status = kvmhost.run(
        [sys.executable, "-m", "lab.run", "--no-shell", "--accel", "kvm"],
        log_folder(),
        {"PYTHONPATH": paths.PYTHONPATH, "VMMNET_PATIENCE": "5"},
        kvmhost.Settings(memory="3G"),
        limit=5 * wait.PATIENCE,
    )
    assert not status
