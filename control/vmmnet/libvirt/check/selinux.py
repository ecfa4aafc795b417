# SPDX-License-Identifier: GPL-2.0-or-later
"""Check of SELinux's labels: libvirt does not label files that only the element names."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from .facts import Finding, Host

#: The type that QEMU (svirt_t) may write.
_WRITABLE = "svirt_image_t"
#: Types that it may read by the distributions' policies.
READABLE = ("virt_content_t", "svirt_image_t", "etc_t", "usr_t")


def check(files: Iterable[Path], host: Host) -> Iterator[Finding]:
    """Check files by folder, since a rule is about a folder."""
    folders: dict[Path, list[str]] = {}
    for file in files:
        try:
            label = host.way(file)[-1].label
        except OSError:
            # Reported already.
            continue
        if label not in READABLE:
            folders.setdefault(file.parent, []).append(f"{file.name} is {label or 'unlabeled_t'}")
    for folder, labels in folders.items():
        told = f"SELinux keeps guests of libvirt from reading these: {', '.join(labels)}"
        rule = f"semanage fcontext -a -t virt_content_t {shlex.quote(f'{folder}(/.*)?')}"
        yield Finding(str(folder), told, f"\"{rule}\", 'restorecon -R {shlex.quote(str(folder))}'")


def check_log(file: Path, host: Host) -> Iterator[Finding]:
    """Check the audit log, which the hook makes and labels when the VM starts."""
    try:
        label = host.way(file)[-1].label
    except OSError:
        return
    if label != _WRITABLE:
        told = f"SELinux keeps guests of libvirt from writing it: it is {label or 'unlabeled_t'}"
        rule = f"semanage fcontext -a -t {_WRITABLE} {shlex.quote(f'{file.parent}(/.*)?')}"
        remedy = f"\"{rule}\", 'restorecon -R {shlex.quote(str(file.parent))}'"
        yield Finding(f"audit {file}", told, remedy)
