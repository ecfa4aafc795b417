# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt check``: what of a domain will fail on this host, before it does.

Theory of operation.  ``core.findings`` is a pure function from a domain and facts of the host
(``facts.Host``) to findings.  Checks are grouped by what they are about: ``definition``,
``hook``, ``emulator``, ``files`` with ``apparmor`` and ``selinux``, and ``network``.  ``host``
gathers the facts, and only those that the element makes matter are asked for.  ``command`` is
what people run.
"""

from __future__ import annotations

import argparse


def run(given: argparse.Namespace) -> int:
    """``check DOMAIN|FILE``."""
    # 'place' asks for rules of AppArmor alone, and may have no lxml.
    from . import command

    return command.run(given)


__all__ = ["run"]
