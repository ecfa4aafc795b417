# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether AppArmor lets libvirt run an emulator where it is: ``make install`` asks.

python3 -m vmmnet.libvirt.check.place EMULATOR
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from . import apparmor
from .host import ThisHost


class _Host(Protocol):
    """The facts of a host that are needed here."""

    def apparmor(self) -> str | None: ...
    def qemu_conf(self) -> Mapping[str, str] | None: ...


def refused(emulator: Path, host: _Host) -> str | None:
    """Why libvirt cannot run an emulator, with the remedy; None: it can."""
    rules = host.apparmor()
    loose = (host.qemu_conf() or {}).get("security_driver") == "none"
    if rules is None or loose or apparmor.allows(rules, str(emulator), "rx"):
        return None
    return (
        f"AppArmor does not let guests of libvirt run {emulator}:"
        f" {apparmor.admit(emulator)}; or install the packages ('make deb')"
    )


def main() -> int:
    """Print a warning if necessary."""
    told = refused(Path(sys.argv[1]), ThisHost(session=False))
    if told is not None:
        print(f"install: warning: {told}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
