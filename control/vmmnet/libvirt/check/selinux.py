# SPDX-License-Identifier: GPL-2.0-or-later
"""Check of SELinux's labels: libvirt gives none to a file that only the element names."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from .facts import Finding, Host

#: What QEMU (svirt_t) may read by the policy of the distributions.
READABLE = ("virt_content_t", "svirt_image_t", "etc_t", "usr_t")


def check(files: Iterable[Path], host: Host) -> Iterator[Finding]:
    """Files by their folders, since a rule is about a folder."""
    folders: dict[Path, list[str]] = {}
    for file in files:
        try:
            label = host.way(file)[-1].label
        except OSError:
            # Told already.
            continue
        if label not in READABLE:
            folders.setdefault(file.parent, []).append(f"{file.name} is {label or 'unlabeled_t'}")
    for folder, labels in folders.items():
        told = f"SELinux keeps guests of libvirt from reading these: {', '.join(labels)}"
        rule = f"semanage fcontext -a -t virt_content_t {shlex.quote(f'{folder}(/.*)?')}"
        yield Finding(str(folder), told, f"\"{rule}\", 'restorecon -R {shlex.quote(str(folder))}'")
