# SPDX-License-Identifier: GPL-2.0-or-later
"""The network that tests of virtio-vmrpc share.

    guest -- host 2001:db8:1::1 ------ 2001:db8:1::2 peer
             VM addresses ...:c0de to ...:c0e0       2001:db8:80::/64

The peer has a web server, a DNS server and an echo server.  Nothing here
speaks IPv4.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base import architecture
from ..base.net import Link, Namespace, Network
from ..base.rough import SMOOTH, Rough
from ..guest.guest import Guest
from ..packages.kernel import OLDEST
from . import servers as peers

VM_ADDRESS = "2001:db8:1::c0de"
SECOND_VM_ADDRESS = "2001:db8:1::c0df"
#: Address for a guest of a single test, in addition to the module's guests.
OWN_VM_ADDRESS = "2001:db8:1::c0e0"
VM_ADDRESSES = (VM_ADDRESS, SECOND_VM_ADDRESS, OWN_VM_ADDRESS)
HOST_ADDRESS = "2001:db8:1::1"
PEER_ADDRESS = "2001:db8:1::2"
WEB_ADDRESS = "2001:db8:80::80"
WEB2_ADDRESS = "2001:db8:80::81"
DNS_ADDRESS = "2001:db8:80::53"
#: TCG carries out "rep movsb" octet by octet; without these, guests copy by words.
_CPU = "max,-erms,-fsrm" if architecture.guests() == architecture.AMD64 else "max"
#: An address behind the peer, for tests that build a network there.
FAR_ADDRESS = "2001:db8:9::9"
#: An address without a route on the peer.
NOWHERE_ADDRESS = "2001:db8:80:0:dead::1"
#: An address that returns all packets of the VM, when ``peers.reflector`` is on.
REFLECTOR_ADDRESS = "2001:db8:1::5e1f"
ECHO_PORT = 7

PAGE = "an IPv6-only page\n"
RECORDS = (
    f"www.test. 60 IN AAAA {WEB_ADDRESS}",
    "alias.test. 60 IN CNAME www.test.",
    f"both.test. 60 IN AAAA {WEB_ADDRESS}",
    f"both.test. 60 IN AAAA {WEB2_ADDRESS}",
    "v4only.test. 60 IN A 203.0.113.7",
    f"peer.test. 60 IN AAAA {PEER_ADDRESS}",
    f"reflector.test. 60 IN AAAA {REFLECTOR_ADDRESS}",
    f"far.test. 60 IN AAAA {FAR_ADDRESS}",
    f"nowhere.test. 60 IN AAAA {NOWHERE_ADDRESS}",
    f"host.test. 60 IN AAAA {HOST_ADDRESS}",
    "loopback.test. 60 IN AAAA ::1",
    f"vm.test. 60 IN AAAA {VM_ADDRESS}",
    'text.test. 60 IN TXT "as it is"',
    "0.8.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.0.0.8.b.d.0.1.0.0.2.ip6.arpa. 60 IN PTR www.test.",
)


@dataclass
class Lab:
    """A host for VMs and a peer with servers, one wire apart; ``root`` is the web server's."""

    network: Network
    host: Namespace
    peer: Namespace
    link: Link
    root: Path
    web_log: Path
    dns_log: Path

    def device(self, address6: str | None = VM_ADDRESS, **options: Any) -> str:
        """Return the device option for a VM on this host."""
        words = ["virtio-vmrpc-pci", "id=vmrpc0", f"dns={DNS_ADDRESS}"]
        if address6:
            words.append(f"address6={address6}")
        words += [f"{key.replace('_', '-')}={value}" for key, value in options.items()]
        return ",".join(words)

    def guest(self, kernel: str = OLDEST, device: str | None = None, **settings: Any) -> Guest:
        """A guest with the module and no NIC; a context manager."""
        return Guest(
            netns=self.host,
            kernel=kernel,
            devices=settings.pop("devices", [device or self.device()]),
            module=settings.pop("module", True),
            **{"cpu": _CPU, **settings},
        )

    def counters(self, guest: Guest) -> dict[str, int]:
        """Return the device's counters."""
        return guest.vmrpc_counters()


@contextlib.contextmanager
def lab(records: Sequence[str] = (), rough: Rough = SMOOTH) -> Iterator[Lab]:
    """Build the network and start the servers; the name server knows ``records`` as well."""
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(Network(rough))
        host, peer = network.namespace("host"), network.namespace("peer")
        # In a rough network there is a switch between them.
        switch = peer if rough == SMOOTH else network.namespace("switch").bridge()
        own = [f"{HOST_ADDRESS}/64", *(f"{address}/128" for address in VM_ADDRESSES)]
        link = network.connect(host, switch, own)
        end = link.b if switch is peer else network.connect(peer, switch).a
        servers = (WEB_ADDRESS, WEB2_ADDRESS, DNS_ADDRESS)
        for address in (f"{PEER_ADDRESS}/64", *(f"{address}/128" for address in servers)):
            end.add_address(address)
        host.route("2001:db8:80::/64", PEER_ADDRESS)
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vmmnet-lab-")))
        root.chmod(0o755)
        (root / "index.html").write_text(PAGE)
        with (root / "big.bin").open("wb") as big:
            for number in range(1 << 18):
                big.write(number.to_bytes(16, "little"))
        web_log = stack.enter_context(peers.web(peer, root))
        dns_log = stack.enter_context(peers.dns(peer, [*RECORDS, *records], DNS_ADDRESS))
        stack.enter_context(peers.echo(peer, ECHO_PORT))
        yield Lab(network, host, peer, link, root, web_log, dns_log)
