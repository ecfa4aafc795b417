# SPDX-License-Identifier: GPL-2.0-or-later
"""One guest on KVM, so that each change meets it; the layer kvm has the rest."""

from __future__ import annotations

import shutil
import sys

from lab.base import paths, wait
from lab.guest.guest import log_folder
from lab.hosts import kvmhost
from lab.packages import kernel


def _run() -> tuple[int, bool]:
    """Run it; return its status, and whether the guest's kernel has said anything."""
    folder = log_folder()
    status = kvmhost.run(
        [sys.executable, "-m", "lab.run", "--no-shell", "--accel", "kvm"],
        folder,
        {"PYTHONPATH": paths.PYTHONPATH, "VMMNET_PATIENCE": "5"},
        kvmhost.Settings(memory="3G"),
        limit=5 * wait.PATIENCE,
    )
    consoles = folder.glob("process-*/guest-1-console.log")
    return status, any(each.stat().st_size for each in consoles)


def test_first_pages() -> None:
    """Both pages of make run, in a host that is emulated with its KVM.

    The emulation has reset a guest before its kernel said a word: QEMU ended, and said nothing
    either.  Then it is run once more; what happens later than that, or again, is a fault.
    """
    kernel.build_module(kernel.OLDEST)
    status, has_begun = _run()
    if status and not has_begun:
        print("the emulated host has reset the guest: once more")
        shutil.rmtree(log_folder())
        status, _ = _run()
    assert not status
