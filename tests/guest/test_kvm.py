# SPDX-License-Identifier: GPL-2.0-or-later
"""One guest on KVM, so that each change meets it; the layer kvm has the rest."""

from __future__ import annotations

import sys

from vmmnet.testbed.base import paths, wait
from vmmnet.testbed.guest.guest import log_folder
from vmmnet.testbed.hosts import kvmhost
from vmmnet.testbed.packages import kernel


def test_first_pages() -> None:
    """Both pages of make run, in a host that is emulated with its KVM."""
    kernel.build_module(kernel.OLDEST)
    status = kvmhost.run(
        [sys.executable, "-m", "vmmnet.run", "--no-shell", "--accel", "kvm"],
        log_folder(),
        {"PYTHONPATH": str(paths.ROOT / "control"), "VMMNET_PATIENCE": "5"},
        kvmhost.Settings(memory="3G"),
        limit=5 * wait.PATIENCE,
    )
    assert not status
