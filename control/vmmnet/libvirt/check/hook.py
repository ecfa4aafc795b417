# SPDX-License-Identifier: GPL-2.0-or-later
"""Check of libvirt's hook, which claims of a host what its VMs have to have."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from .facts import RUN, Finding, Host

# libvirt looks once whether there are hooks at all.
_RESTART = "'systemctl restart libvirtd' (or virtqemud)"


def check(host: Host) -> Iterator[Finding]:
    """The hook: libvirt passes over one that it cannot run, and says nothing."""
    path = host.hook()
    if path is None:
        return
    about, so = f"hook {path}", "so that nothing is checked and claimed when the VM starts"
    try:
        file = host.way(path)[-1]
    except PermissionError:
        yield Finding(about, "you may not look there", "run this as root", "note")
        return
    except OSError:
        yield Finding(about, f"is not there, {so}", f"install vmmnet-control, then {_RESTART}")
        return
    # libvirt's daemon is root.
    if not file.mode & (RUN << 6 | RUN << 3 | RUN):
        remedy = f"'chmod a+x {shlex.quote(str(path))}', {_RESTART}"
        yield Finding(about, f"is not executable, {so}", remedy)
