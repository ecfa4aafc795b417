# SPDX-License-Identifier: GPL-2.0-or-later
"""Expands a domain with the element into one that libvirt and QEMU can start.

Theory of operation.  ``expand`` is a pure function of a domain.  It removes parts of an
earlier expansion that are not needed any more, adds missing ones, and keeps right ones with
the addresses that libvirt has assigned meanwhile.  So it is idempotent, on a file, on a
daemon's XML, and on a hook's input.

Its parts are recognised by names (``names``): IDs of ``-netdev``, ``-device``, ``-object``
and ``-chardev`` in ``qemu:commandline``, aliases of devices, and for ``qemu:override`` the ID
of the netdev that a property names.  All else in the domain is the user's.

``made`` lists our parts of a domain, ``digest`` identifies them, ``drift`` describes how they
differ from what ``expand`` would make, and ``asked`` what QEMU must support for them.
"""

from .drifting import changes, differences, drift
from .inventory import asked, digest, made
from .nic import INTERFACES, missing
from .qemu import OLDEST
from .whole import expand

__all__ = [
    "INTERFACES",
    "OLDEST",
    "asked",
    "changes",
    "differences",
    "digest",
    "drift",
    "expand",
    "made",
    "missing",
]
