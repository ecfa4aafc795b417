# SPDX-License-Identifier: GPL-2.0-or-later
"""A path with a small MTU between a foreign link and the world, and Path MTU Discovery on it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from ..base.net import Interface, Namespace
from ..guest.guest import Guest
from .mobility import CORE_PREFIX, FOREIGN_PREFIX, World

#: Least MTU of an IPv6 link (RFC 8200 section 5).
SMALLEST_MTU = 1280
_PREFIX = "2001:db8:9001"

_SILENCE = """
table ip6 silence {
    chain output {
        type filter hook output priority 0;
        icmpv6 type packet-too-big counter drop
    }
}
"""


@contextlib.contextmanager
def narrowed(world: World, mtu: int = SMALLEST_MTU, *, silent: bool = False) -> Iterator[Interface]:
    """Join the foreign link to the core by a wire of this MTU; yields its end at the core.

    With ``silent`` its ends drop what is too big and say nothing (RFC 2923 section 2.1).
    """
    core, router = world.core, world.foreign.router
    wire = world.network.connect(core, router, [f"{_PREFIX}::1/64"], [f"{_PREFIX}::2/64"])
    for end in (wire.a, wire.b):
        end.set_mtu(mtu)
        end.cut_super_frames()

    def lead(to_router: str, to_core: str) -> None:
        core.ip("-6", "route", "replace", f"{FOREIGN_PREFIX}::/64", "via", to_router)
        router.ip("-6", "route", "replace", "::/0", "via", to_core)

    lead(f"{_PREFIX}::2", f"{_PREFIX}::1")
    hosts = (core, router) if silent else ()
    for host in hosts:
        host.run(["nft", "-f", "-"], input=_SILENCE)
    try:
        yield wire.a
    finally:
        for host in hosts:
            host.run(["nft", "delete", "table", "ip6", "silence"])
        lead(f"{CORE_PREFIX}::2", f"{CORE_PREFIX}::ffff")
        core.ip("link", "del", wire.a.name)


#: Sends datagrams until an ICMPv6 error about one comes, and prints it.
_PROBE = """
import select, socket, struct, sys
MTU_DISCOVER, PROBE, RECVERR = 23, 3, 25
line = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
# A path MTU that is known is not used: each datagram goes out.
line.setsockopt(socket.IPPROTO_IPV6, MTU_DISCOVER, PROBE)
line.setsockopt(socket.IPPROTO_IPV6, RECVERR, 1)
line.connect((sys.argv[1], 7009))
poll = select.poll()
poll.register(line, select.POLLERR)
while True:
    try:
        line.send(bytes(int(sys.argv[2]) - 48))
    except OSError:
        pass
    if poll.poll(1000):
        _, ancillary, _, _ = line.recvmsg(1, 256, socket.MSG_ERRQUEUE)
        error = ancillary[0][2]
        _, _, kind, code, _, value = struct.unpack("IBBBBI", error[:12])
        print(kind, code, value, socket.inet_ntop(socket.AF_INET6, error[24:40]))
        if kind == 2:
            break
"""


def told_mtu(sender: Guest | Namespace, destination: str, octets: int) -> tuple[int, str]:
    """Send UDP in packets of this length until one is too big; return the MTU and the reporter."""
    if isinstance(sender, Guest):
        output = sender.run(["python3", "-c", _PROBE, destination, str(octets)]).stdout
    else:
        output = sender.run([sys.executable, "-c", _PROBE, destination, str(octets)]).stdout
    _, _, mtu, router = output.splitlines()[-1].split()
    return int(mtu), router
