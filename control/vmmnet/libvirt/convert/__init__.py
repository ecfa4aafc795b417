# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt convert``: hand-written arguments of QEMU to the element, and back.

Theory of operation.  ``source`` reads a domain as its author wrote it: ``arguments`` of
``qemu:commandline``, and NICs with their overrides.  ``sockets`` and ``nic`` find there
the parts that the element can express (``parts``).  ``whole`` drops parts whose expansion
would differ, or that something else in the domain uses, and puts the others into the
element.  ``back`` is the other direction: it keeps the expansion under other names.
``command`` is the command line.
"""

from .command import run

__all__ = ["run"]
