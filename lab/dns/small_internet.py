# SPDX-License-Identifier: GPL-2.0-or-later
"""A root, a top-level domain and zones below it, each at an address of one BIND.

.                the trust anchor is its DS
example          secure
vm.example       with all zones below it: signed_zones
open.example     unsigned: records with a TTL of a second, long records, any name in "many"
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..base import process
from ..base.net import Namespace
from . import signed_zones

#: The servers' addresses, on a host that the caller makes.
ROOT, TLD, LEAF = ADDRESSES = ("192.0.2.101", "192.0.2.102", "192.0.2.103")
#: Seconds that short.open.example may be cached.
SHORT = 3

_SOA = "$TTL 300\n@ IN SOA ns.example. h.example. 1 3600 900 86400 60\n"
_OPEN = (
    "@ NS ns.vm.example.\n"
    f"www A {signed_zones.ADDRESS}\n"
    f"short {SHORT} A {signed_zones.ADDRESS}\n"
    f"*.many A {signed_zones.ADDRESS}\n"
    "alias CNAME www.vm.example.\n"
) + "".join(f'big TXT "{number:04d}{"x" * 200}"\n' for number in range(20))

_CONFIG = """\
options {{
    directory "{folder}"; listen-on {{ any; }}; listen-on-v6 {{ none; }};
    recursion no; dnssec-validation no; pid-file none; session-keyfile none; querylog yes;
    max-udp-size 1232;
}};
controls {{ }};
{views}
"""


def _view(name: str, address: str, zones: dict[str, Path]) -> str:
    lines = "".join(
        f'    zone "{zone}" {{ type primary; file "{file}"; }};\n' for zone, file in zones.items()
    )
    return f"view {name} {{\n    match-destinations {{ {address}; }};\n{lines}}};\n"


class Internet:
    """All servers, on one host; they may be stopped and started again."""

    def __init__(self, host: Namespace, folder: Path) -> None:
        self.host = host
        self.hints = folder / "hints"
        self.anchor = folder / "root-anchor"
        #: Trust anchor of vm.example, for clients that begin there
        self.leaf_anchor = folder / "anchor"
        self._config = folder / "named.conf"
        self._log = folder / "named.log"
        self._child: subprocess.Popen[bytes] | None = None
        self._make(folder)

    def _make(self, folder: Path) -> None:
        leaves = signed_zones.make(folder, LEAF)
        signer = signed_zones.Signer(folder)
        leaves["open.example"] = signer.plain("open.example", _OPEN, _SOA)
        vm_ds = self.leaf_anchor.read_text()
        below = f"@ NS ns\nns A {TLD}\nvm NS ns.vm\nns.vm A {LEAF}\nopen NS ns.vm\n{vm_ds}"
        tld, tld_ds = signer.signed("example", below, head=_SOA)
        top = f"@ NS a.root.\na.root. A {ROOT}\nexample. NS ns.example.\nns.example. A {TLD}\n"
        root, root_ds = signer.signed(".", f"{top}{tld_ds}\n", head=_SOA)
        self.anchor.write_text(f"{root_ds}\n")
        self.hints.write_text(f". 3600 NS a.root.\na.root. 3600 A {ROOT}\n")
        views = (
            _view("root", ROOT, {".": root})
            + _view("tld", TLD, {"example": tld})
            + _view("leaf", LEAF, leaves)
        )
        self._config.write_text(_CONFIG.format(folder=folder, views=views))

    def start(self) -> None:
        """Serve."""
        command: list[str | Path] = ["named", "-g", "-c", self._config]
        self._child = process.start_server(command, self._log, b" running", netns=self.host.netns)

    def stop(self) -> None:
        """Be gone."""
        if self._child is not None:
            process.stop(self._child)
            self._child = None

    def signal(self, number: int) -> None:
        """Send the servers a signal, such as SIGSTOP for silent servers."""
        assert self._child is not None
        self._child.send_signal(number)

    def queries(self, name: str) -> int:
        """Number of queries for a name; the log has each before its answer."""
        return self._log.read_text().count(f"query: {name} ")


@contextmanager
def served(host: Namespace, folder: Path) -> Iterator[Internet]:
    """Run the servers for the time of a block."""
    internet = Internet(host, folder)
    internet.start()
    try:
        yield internet
    finally:
        internet.stop()
