# SPDX-License-Identifier: GPL-2.0-or-later
"""Check of libvirt's hook."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ..host import conf
from .facts import RUN, Finding, Host

# libvirt checks only at its start whether there are hooks.
_RESTART = "'systemctl restart libvirtd' (or virtqemud)"


def check(host: Host) -> Iterator[Finding]:
    """Check the hook, which libvirt silently ignores if it cannot run it, and its settings."""
    path = host.hook()
    if path is None:
        return
    wrong = host.conf_wrong()
    if wrong:
        told = f"{wrong}: the hook refuses VMs that arrive or are restored, and all with handoff"
        yield Finding(str(conf.PATH), told, "correct the line (docs/libvirt-hook.md)")
    about, so = f"hook {path}", "so that nothing is checked and claimed when the VM starts"
    try:
        file = host.way(path)[-1]
    except PermissionError:
        yield Finding(about, "you may not look there", "run this as root", "note")
        return
    except OSError:
        yield Finding(about, f"is not there, {so}", f"install vmmnet-control, then {_RESTART}")
        return
    # libvirt's daemon runs as root.
    if not file.mode & (RUN << 6 | RUN << 3 | RUN):
        remedy = f"'chmod a+x {shlex.quote(str(path))}', {_RESTART}"
        yield Finding(about, f"is not executable, {so}", remedy)
