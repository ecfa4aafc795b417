# SPDX-License-Identifier: GPL-2.0-or-later
"""BIND, Knot and NSD as primaries of a zone, with a key; each offers IXFR of changes."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base import process, wait
from ..base.net import Namespace
from . import bind

KEY = "xfr.test"
SECRET = "c2VjcmV0IG9mIHRoZSB0ZXN0cyBvZiB0cmFuc2ZlcnM="
PORT = 53
BIND, KNOT, NSD = NAMES = ("BIND", "Knot", "NSD")

_BIND = """\
key "{key}" {{ algorithm hmac-sha256; secret "{secret}"; }};
options {{
    directory "{folder}"; pid-file none; session-keyfile none; {lock}
    listen-on port {port} {{ {address}; }}; listen-on-v6 {{ none; }};
    recursion no; dnssec-validation no; notify explicit; notify-delay 0;
    allow-transfer {{ key "{key}"; }}; also-notify {{ {secondary} key "{key}"; }};
    provide-ixfr {ixfr}; max-ixfr-ratio unlimited; max-journal-size unlimited;
    startup-notify-rate 1000; serial-query-rate 1000; notify-rate 1000;
}};
controls {{ }};
zone "{origin}" {{ type primary; file "{zone}"; ixfr-from-differences yes; }};
"""
_KNOT = """\
server:
    listen: {address}@{port}
    rundir: {folder}
database:
    storage: {folder}/knot
key:
  - id: {key}
    algorithm: hmac-sha256
    secret: {secret}
remote:
  - id: secondary
    address: {secondary}
    key: {key}
acl:
  - id: transfers
    key: {key}
    action: transfer
template:
  - id: default
    storage: {folder}
    zonefile-load: difference
    zonefile-sync: -1
    journal-content: changes
    semantic-checks: off
zone:
  - domain: {origin}
    file: {zone}
    notify: secondary
    acl: transfers
"""
_NSD = """\
server:
    ip-address: {address}@{port}
    database: ""
    username: ""
    zonesdir: "{folder}"
    zonelistfile: "{folder}/nsd.list"
    xfrdfile: "{folder}/nsd.xfr"
    xfrdir: "{folder}"
    pidfile: "{folder}/nsd.pid"
remote-control:
    control-enable: no
key:
    name: "{key}"
    algorithm: hmac-sha256
    secret: "{secret}"
zone:
    name: "{origin}"
    zonefile: "{zone}"
    store-ixfr: yes
    create-ixfr: yes
    notify: {secondary} {key}
    provide-xfr: 192.0.2.0/24 {key}
"""
_FORMS = {BIND: _BIND, KNOT: _KNOT, NSD: _NSD}


@dataclass
class Primary:
    """One of them on a host; a context manager.  The folder is its own."""

    name: str
    host: Namespace
    folder: Path
    address: str
    origin: str
    #: The address that gets NOTIFY.
    secondary: str
    #: Whether BIND answers IXFR with changes.
    ixfr: bool = True
    child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Primary:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def zone(self) -> Path:
        """Its master file."""
        return self.folder / f"{self.origin}.zone"

    def _command(self) -> Sequence[str | Path]:
        config = self.folder / f"{self.name}.conf"
        config.write_text(
            _FORMS[self.name].format(
                folder=self.folder,
                address=self.address,
                port=PORT,
                origin=self.origin,
                zone=self.zone,
                secondary=self.secondary,
                key=KEY,
                secret=SECRET,
                ixfr="yes" if self.ixfr else "no",
                lock=bind.lock() if self.name == BIND else "",
            )
        )
        (self.folder / "knot").mkdir(exist_ok=True)
        words: dict[str, list[str | Path]] = {
            BIND: ["named", "-g", "-n", "1", "-c", config],
            KNOT: ["knotd", "-c", config],
            NSD: ["nsd", "-d", "-c", config],
        }
        return words[self.name]

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        with (self.folder / "primary.log").open("ab") as out:
            self.child = process.start(
                self._command(), netns=self.host.netns, stdout=out, stderr=out
            )
        wait.listening(self.child.pid, PORT)

    def stop(self) -> None:
        """End it, if it runs."""
        if self.child is not None:
            process.stop(self.child)
            self.child = None

    def replace(self, text: str) -> None:
        """Let it serve another version of the zone and notify the secondary."""
        new = self.zone.with_suffix(".new")
        new.write_text(text)
        new.rename(self.zone)
        if self.child is not None:
            self.child.send_signal(signal.SIGHUP)
        else:
            # BIND's journal does not fit a file that was replaced from outside.
            Path(f"{self.zone}.jnl").unlink(missing_ok=True)

    def restore(self, text: str) -> None:
        """Put a backup in place of all that it has, while it does not run."""
        for file in self.folder.glob(f"{self.zone.name}.*"):
            file.unlink()
        shutil.rmtree(self.folder / "knot", ignore_errors=True)
        (self.folder / "nsd.xfr").unlink(missing_ok=True)
        self.zone.write_text(text)
