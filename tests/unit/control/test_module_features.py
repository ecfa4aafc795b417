# SPDX-License-Identifier: GPL-2.0-or-later
"""What the guest's module knows of a kernel: features that are probed, never a version."""

from __future__ import annotations

import re
from pathlib import Path

MODULE = Path(__file__).resolve().parents[3] / "guest-linux" / "vmrpc"
PROBES = MODULE / "transport" / "features.c"


def sources() -> dict[str, str]:
    found = [*MODULE.rglob("*.[ch]"), MODULE / "Kbuild"]
    return {path.relative_to(MODULE).as_posix(): path.read_text() for path in found}


def test_no_file_looks_at_the_version() -> None:
    version = re.compile(r"LINUX_VERSION_CODE|KERNEL_VERSION|linux/version\.h")
    assert [name for name, text in sources().items() if version.search(text)] == []


def test_each_feature_has_a_probe_and_a_use() -> None:
    """A name that no probe has would be a feature that no kernel has."""
    probed = re.findall(r'^#line 1 "(\w+)"$', PROBES.read_text(), re.MULTILINE)
    used = {
        name
        for text in sources().values()
        for name in re.findall(r"^#\s*if.*\bVMRPC_HAVE_(\w+)", text, re.MULTILINE)
    }
    assert len(set(probed)) == len(probed)
    assert set(probed) == used
