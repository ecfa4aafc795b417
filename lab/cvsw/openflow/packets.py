# SPDX-License-Identifier: GPL-2.0-or-later
"""The frames of os-ken's cases, which are expressions of its packet library."""

from __future__ import annotations

import functools
import importlib
import inspect
import random
import sys
from collections.abc import Sequence
from typing import Any

_LIBRARY = "os_ken.lib.packet"
# The names of os-ken's own tester, where two modules have the same name.
_ALIASES = {("ipv6", "option"): "ipv6option", ("icmpv6", "echo"): "icmpv6echo"}
#: Random frames are the same in each run.
SEED = 29


@functools.cache
def _names() -> dict[str, Any]:
    importlib.import_module(f"{_LIBRARY}.packet")
    names: dict[str, Any] = {}
    for path, module in sorted(sys.modules.items()):
        if path.startswith(f"{_LIBRARY}."):
            for name, kind in inspect.getmembers(module, inspect.isclass):
                if kind.__module__ == path:
                    names[_ALIASES.get((path.rpartition(".")[2], name), name)] = kind
    _mend_sctp(names["sctp"])
    names["netaddr"] = importlib.import_module("netaddr")
    return names


def _mend_sctp(kind: Any) -> None:
    """Correct os-ken's checksum of SCTP, which covers Python's text of the octets (b'...')."""
    of_text = kind._checksum
    kind._checksum = lambda self, data: of_text(self, data.decode("latin-1"))


def octets(layers: Sequence[str], chance: random.Random | None = None) -> bytes:
    """Build a frame from the expressions of its layers.

    The expressions are code of a package that is installed by its hash. ``chance`` is for random
    frames.
    """
    randint = (chance or random.Random(SEED)).randint
    packet = eval("/".join(layers), _names() | {"randint": randint})
    packet.serialize()
    return bytes(packet.data)
