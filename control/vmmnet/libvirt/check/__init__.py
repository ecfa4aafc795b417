# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt check``: finds what will fail for a domain on this host.

Theory of operation.  ``core.findings`` is a pure function from a domain and facts of the host
(``facts.Host``) to findings.  Checks are grouped by subject: ``definition``,
``hook``, ``emulator``, ``files`` with ``apparmor`` and ``selinux``, and ``network``.  ``host``
gathers the facts, only those that the element needs.  ``command`` is the command line.
"""

from __future__ import annotations

import argparse


def run(given: argparse.Namespace) -> int:
    """``check DOMAIN|FILE``."""
    # 'place' needs only AppArmor's rules, and may lack lxml.
    from . import command

    return command.run(given)


__all__ = ["run"]
