# SPDX-License-Identifier: GPL-2.0-or-later
"""The same guest beside it: virtio-net on passt, and nftables rules by address.

These are rules that a careful operator can write: no destination but the addresses of the allowed
names, their ports, the resolver and the proxy; a quota for what is sent to the API.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from lab.base import wait
from lab.base.net import Namespace
from lab.guest.guest import Guest
from lab.peers.lab import PEER_ADDRESS

from . import places as at
from .wire import witness
from .world import Attacker, World, network

RULES = f"""
table inet sandbox {{
    chain output {{
        type filter hook output priority filter; policy drop;
        icmpv6 type {{ nd-neighbor-solicit, nd-neighbor-advert }} accept
        ip6 daddr {at.API} tcp dport 443 quota over {at.SENT_BUDGET} bytes drop
        ip6 daddr @closed reject with tcp reset
        ct state established accept
        ip6 daddr {at.DNS} meta l4proto {{ tcp, udp }} th dport 53 accept
        ip6 daddr {{ {at.API}, {at.MIRROR} }} tcp dport 443 accept
        ip6 daddr {at.API} udp dport 443 accept
        ip6 daddr {at.MIRROR} tcp dport 80 accept
        ip6 daddr {at.PROXY} tcp dport {at.PROXY_PORT} accept
        udp dport 9 accept comment "the witness"
        meta l4proto tcp reject with tcp reset
    }}
    set closed {{ type ipv6_addr; }}
}}
"""
_MAC = "52:54:00:12:34:56"
#: Packets that are dropped have no answer to wait for.
_SECONDS = 3


class Beside(World):
    """A guest on passt."""

    resolver = at.DNS

    def forbid_api(self) -> None:
        """Have the operator forbid the API, and connections to it."""
        self.lab.host.run(["nft", f"add element inet sandbox closed {{ {at.API} }}"])

    def reopen(self) -> None:
        """Undo that."""
        self.lab.host.run(["nft", "flush set inet sandbox closed"])


@contextlib.contextmanager
def _passt(host: Namespace, path: Path) -> Iterator[None]:
    """A passt for one guest, with the host's own address."""
    command = ["passt", "--foreground", "--stderr", "--ipv6-only", "--no-map-gw"]
    command += ["--address", at.HOST, "--socket", str(path)]
    log = path.with_suffix(".log")
    with log.open("ab") as out, host.started(command, stdout=out, stderr=out) as child:
        wait.until(lambda: path.exists() or child.poll() is not None, "passt")
        assert child.poll() is None, log.read_text()
        yield


@contextlib.contextmanager
def beside(folder: Path) -> Iterator[Beside]:
    """The network, and a guest on passt behind these rules."""
    # passt gives up root, and makes its socket as somebody else.
    place = folder / "passt"
    place.mkdir()
    place.chmod(0o777)
    with network(folder) as (built, _):
        built.host.route("default", PEER_ADDRESS)
        path = place / "socket"
        with _passt(built.host, path), witness(built.host, built.peer, PEER_ADDRESS) as seen:
            built.host.run(["nft", "-f", "-"], input=RULES)
            backend = f"stream,id=net0,server=off,addr.type=unix,addr.path={path}"
            arguments = ["-netdev", backend]
            device = f"virtio-net-pci,netdev=net0,mac={_MAC}"
            with Guest(
                netns=built.host, devices=[device], arguments=arguments, resolver=at.DNS
            ) as guest:
                _configure(guest)
                yield Beside(built, guest, seen, Attacker(guest, folder / "ca.pem", _SECONDS))


def _configure(guest: Guest) -> None:
    guest.run(
        "modprobe virtio_net && ip link set eth0 up"
        " && sysctl -qw net.ipv4.ping_group_range='0 2147483647'"
        f" && ip -6 address add {at.HOST}/64 dev eth0 nodad"
        f" && ip -6 route add default via {PEER_ADDRESS} dev eth0"
    )
