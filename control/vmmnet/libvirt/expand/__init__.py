# SPDX-License-Identifier: GPL-2.0-or-later
"""From a domain with the element to a domain that QEMU can be started with, and back to words.

Theory of operation.  ``expand`` is a pure function of a domain.  It takes out what an earlier
expansion has made and this one would not, puts in what is missing, and leaves alone what is
right already, with the places that libvirt has given to it meanwhile.  So it may be done
again, on a file, on what a daemon gives back, and on what a hook is given.

What it makes it knows again by names (``names``): IDs of ``-netdev``, ``-device`` and
``-object`` in ``qemu:commandline``, aliases of devices, and for ``qemu:override`` the ID of
the netdev that a property names.  All else in the domain is the user's.

``made`` lists what is ours in a domain, ``digest`` is a number for that, ``drift`` says how it
differs from what ``expand`` would make, and ``asked`` what QEMU has to know for it.
"""

from .drifting import differences, drift
from .inventory import asked, digest, made
from .qemu import OLDEST
from .whole import expand

__all__ = ["OLDEST", "asked", "differences", "digest", "drift", "expand", "made"]
