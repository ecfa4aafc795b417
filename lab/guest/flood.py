# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests from all vCPUs of a guest at once."""

from __future__ import annotations

import json

from .guest import Guest

# One process a vCPU sends large datagrams to a port where nobody is, and tells how many.
_SCRIPT = """
import json, os, socket, sys, time
vcpus, seconds, name = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
pipes = []
for cpu in range(vcpus):
    read, write = os.pipe()
    if not os.fork():
        os.sched_setaffinity(0, [cpu])
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        end.connect((name, 9999))
        count, until = 0, time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                end.send(bytes(60000))
                count += 1
            except ConnectionRefusedError:
                pass
        os.write(write, b"%d" % count)
        os._exit(0)
    pipes.append(read)
print(json.dumps([int(os.read(read, 20)) for read in pipes]))
"""


def flood(guest: Guest, vcpus: int, seconds: int, name: str = "peer.test") -> list[int]:
    """Send for some seconds from each vCPU; return how many datagrams each has sent."""
    words = [str(vcpus), str(seconds), name]
    counts: list[int] = json.loads(guest.run(["python3", "-c", _SCRIPT, *words]).stdout)
    return counts
