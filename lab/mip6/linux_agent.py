# SPDX-License-Identifier: GPL-2.0-or-later
"""A home agent that is a stock Linux kernel, in a guest.

The kernel has the data path: it reads the Home Address option and writes the type 2
routing header, encapsulates and decapsulates (ip6_tunnel), forwards, and is the proxy of
home addresses.  A program answers Binding Updates and configures the kernel's bindings, as the
daemons for Linux did, which are unmaintained.  It is this file, which runs in the guest by itself:
one mobile node after RFC 6275 section 10, no duplicate address detection.  With keys, signalling is
in ESP and payload is not, as RFC 3776 demands and as UMIP does without ``TunnelPayload``.
"""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
from ipaddress import IPv6Address, IPv6Network
from pathlib import Path

LIFETIME = 60
LINK = "eth0"
_TUNNEL = "mn0"

_MOBILITY, _NO_NEXT = 135, 59
_UPDATE, _ACKNOWLEDGEMENT = 5, 6
_ACKNOWLEDGE, _HOME = 0x8000, 0x4000
_ALTERNATE, _PAD1, _HOME_ADDRESS = 3, 0, 201
_ACCEPTED, _NOT_SUPPORTED, _NOT_HOME_SUBNET, _NOT_AGENT, _OUT_OF_WINDOW = 0, 131, 132, 133, 135


def _options(data: bytes) -> dict[int, bytes]:
    """The options of a mobility header or of a destination options header."""
    found, at = {}, 0
    while at + 1 < len(data):
        if data[at] == _PAD1:
            at += 1
            continue
        found[data[at]] = data[at + 2 : at + 2 + data[at + 1]]
        at += 2 + data[at + 1]
    return found


def _run(command: str) -> None:
    subprocess.run(command.split(), check=True)


class Agent:
    """Answers Binding Updates to ``address``."""

    def __init__(self, address: str, *esp: str) -> None:
        self._address = address
        self._esp = esp
        self._subnet = IPv6Network(f"{address}/64", strict=False)
        #: By home address: the last sequence number and the care-of address.
        self._bindings: dict[str, tuple[int, str]] = {}
        self._prepare()
        # The kernel makes and checks the checksums of this protocol.
        self._socket = socket.socket(socket.AF_INET6, socket.SOCK_RAW, _MOBILITY)
        self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVDSTOPTS, 1)
        self._socket.bind((address, 0))

    def _prepare(self) -> None:
        """Let the kernel accept any Home Address option, and be a router and a proxy."""
        _run("modprobe -a ip6_tunnel xfrm_user")
        for name in ("all", LINK):
            _run(f"sysctl -qw net.ipv6.conf.{name}.forwarding=1 net.ipv6.conf.{name}.proxy_ndp=1")
        # Answer neighbour solicitations for mobile nodes without delay.
        _run(f"sysctl -qw net.ipv6.neigh.{LINK}.proxy_delay=0")
        option = "proto hao mode ro"
        _run(f"ip xfrm state add src :: dst {self._address} {option} coa :: flag wildrecv")
        if self._esp:
            self._protect(f"tmpl {option} level use", *self._esp)
            return
        _run(f"ip xfrm policy add dir in dst {self._address} proto 135 tmpl {option} level use")

    def _protect(self, option: str, home: str, *keys: str) -> None:
        """Demand ESP for signalling of ``home``; SPI and key, in and out."""
        # AES is built into Debian's kernels, from 7.3 on under another name.
        _run("modprobe -a esp6 gcm")
        ways = (("in", home, self._address, option), ("out", self._address, home, ""))
        for (way, src, dst, more), spi, key in zip(ways, keys[::2], keys[1::2], strict=True):
            ends = f"src {src} dst {dst}"
            _run(
                f"ip xfrm state add {ends} proto esp spi {spi} mode transport"
                f" aead rfc4106(gcm(aes)) 0x{key} 128 sel {ends} proto 135"
            )
            template = f"tmpl {ends} proto esp mode transport {more}"
            _run(f"ip xfrm policy add dir {way} {ends} proto 135 {template}")

    def serve(self) -> None:
        """Answer updates for ever."""
        while True:
            data, ancillary, _, (home, *_) = self._socket.recvmsg(1500, 1500)
            if len(data) >= 12 and data[2] == _UPDATE:
                options = next((bytes(item[2]) for item in ancillary), b"")
                # The kernel has exchanged home address and care-of address.
                source = _options(options[2:]).get(_HOME_ADDRESS)
                self._take(data, home, str(IPv6Address(source)) if source else home)

    def _take(self, update: bytes, home: str, source: str) -> None:
        """Handle a Binding Update for a home address, from a care-of address or from home."""
        sequence, flags, lifetime = struct.unpack(">HHH", update[6:12])
        alternate = _options(update[12:]).get(_ALTERNATE)
        care_of = str(IPv6Address(alternate)) if alternate else source
        lifetime = min(lifetime, LIFETIME // 4) if care_of != home else 0
        status = self._judge(home, sequence, flags, lifetime)
        if status == _OUT_OF_WINDOW:
            sequence = self._bindings[home][0]
        if status == _ACCEPTED and lifetime:
            self._bind(home, sequence, care_of)
        elif status == _ACCEPTED:
            self._release(home)
        print(f"update {home} {care_of} {lifetime * 4} from {source}: {status}", flush=True)
        if flags & _ACKNOWLEDGE or status:
            self._acknowledge(home, source, status, sequence, lifetime)

    def _judge(self, home: str, sequence: int, flags: int, lifetime: int) -> int:
        """Return a status of RFC 6275 section 6.1.8."""
        if not flags & _HOME:
            return _NOT_SUPPORTED
        if IPv6Address(home) not in self._subnet:
            return _NOT_HOME_SUBNET
        if home not in self._bindings:
            return _ACCEPTED if lifetime else _NOT_AGENT
        newer = (sequence - self._bindings[home][0]) & 0xFFFF
        return _ACCEPTED if 0 < newer < 0x8000 else _OUT_OF_WINDOW

    def _bind(self, home: str, sequence: int, care_of: str) -> None:
        new = home not in self._bindings
        if new:
            _run(f"ip -6 tunnel add {_TUNNEL} mode ip6ip6 local {self._address} remote {care_of}")
            _run(f"ip link set {_TUNNEL} up")
            _run(f"ip -6 route add {home} dev {_TUNNEL}")
            _run(f"ip -6 neigh add proxy {home} dev {LINK}")
        elif self._bindings[home][1] != care_of:
            _run(f"ip -6 tunnel change {_TUNNEL} mode ip6ip6 remote {care_of}")
        self._bindings[home] = sequence, care_of
        if new:
            self._announce(home)

    def _release(self, home: str) -> None:
        del self._bindings[home]
        _run(f"ip -6 neigh del proxy {home} dev {LINK}")
        _run(f"ip -6 tunnel del {_TUNNEL}")

    def _announce(self, home: str) -> None:
        """Send a neighbour advertisement with the Override flag (section 10.4.1)."""
        mac = bytes.fromhex(Path(f"/sys/class/net/{LINK}/address").read_text().replace(":", ""))
        message = struct.pack(">BBHI", 136, 0, 0, 0x20000000) + IPv6Address(home).packed
        message += bytes((2, 1)) + mac
        with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as out:
            out.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
            out.sendto(message, ("ff02::1", 0, 0, socket.if_nametoindex(LINK)))

    def _acknowledge(
        self, home: str, source: str, status: int, sequence: int, lifetime: int
    ) -> None:
        """Acknowledge to the home address, via the care-of address if the node is away."""
        body = struct.pack(">BBHH", status, 0, sequence, lifetime) + bytes((1, 2, 0, 0))
        message = struct.pack(">BBBBH", _NO_NEXT, 1, _ACKNOWLEDGEMENT, 0, 0) + body
        way = []
        if source != home:
            # The kernel swaps this address with the destination (RFC 3542 section 7).
            header = bytes((0, 2, 2, 1)) + bytes(4) + IPv6Address(source).packed
            way = [(socket.IPPROTO_IPV6, socket.IPV6_RTHDR, header)]
        self._socket.sendmsg([message], way, 0, (home, 0))


def main() -> None:
    """Run the home agent of the given address; a home address and its keys may follow."""
    agent = Agent(*sys.argv[1:])
    print("ready", flush=True)
    agent.serve()


if __name__ == "__main__":
    main()
