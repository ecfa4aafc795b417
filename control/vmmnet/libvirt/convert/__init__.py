# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt convert``: from hand-written words for QEMU to the element, and back.

Theory of operation.  ``source`` reads a domain as its author wrote it: ``arguments`` of
``qemu:commandline``, and NICs with their overrides.  ``sockets`` and ``nic`` find there
what is part of the element by another name (``parts``).  ``whole`` drops the parts that
would not be the same afterwards, as an expansion without them shows, or because something
else uses what would go, and puts the others into the element.  ``back`` is the other way:
it leaves the expansion, under names of its own.  ``command`` is what people run.
"""

from .command import run

__all__ = ["run"]
