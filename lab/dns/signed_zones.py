# SPDX-License-Identifier: GPL-2.0-or-later
"""Zones below ``vm.example``, signed and partly made invalid, in one named.

vm.example               secure, the trust anchor is its DS
expired.vm.example       signatures of last year
early.vm.example         signatures of next year
wrongds.vm.example       the parent has the DS of another key
stripped.vm.example      no signatures over the addresses
forged.vm.example        an address that differs from the signed one
plain.vm.example         not signed, and provably so
iterated.vm.example      NSEC3 with more iterations than we accept
nsec3.vm.example         NSEC3 with as many as RFC 9276 asks for: none
"""

from __future__ import annotations

import base64
import random
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..base import tools, wait
from ..base.net import Namespace

APEX = "vm.example"
ADDRESS = "192.0.2.1"
FORGED = "192.0.2.66"
#: Address of the names that begin with "six".
ADDRESS6 = "2001:db8:80::80"
FORGED6 = "2001:db8:80::66"

#: Keys with one tag, and signatures with it, in a zone that is a KeyTrap (CVE-2023-50387):
#: who tries them all verifies the square of it.  BIND loads no more than 100 records of a set.
MANY = 90
_RSASHA256 = 8
_TAG = 4711

_HEAD = "$TTL 300\n@ IN SOA ns h 1 3600 900 86400 60\n@ NS ns.vm.example.\n"
_BODY = f"www A {ADDRESS}\nwww SSHFP 4 2 {'ab' * 32}\nalias CNAME www\n"
_BODY += f"six AAAA {ADDRESS6}\n"


class Signer:
    """Tools of BIND and ldns in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _run(self, *words: str) -> str:
        return tools.run(list(words), cwd=self._folder).strip()

    def plain(self, zone: str, body: str, head: str = _HEAD) -> Path:
        """Write the file of an unsigned zone."""
        file = self._folder / f"{zone}.zone"
        file.write_text(head + body)
        return file

    def signed(self, zone: str, body: str, *options: str, head: str = _HEAD) -> tuple[Path, str]:
        """Sign a zone, with options of dnssec-signzone; return its file and DS."""
        file, ksk, zsk = self._with_keys(zone, body, head)
        # Without the tool's own check, as some zones have to be invalid.
        words = ("dnssec-signzone", "-P", "-o", zone, "-k", ksk, *options, file.name, zsk)
        self._run(*words)
        return Path(f"{file}.signed"), self._ds(ksk)

    def iterated(self, zone: str, body: str, iterations: int) -> tuple[Path, str]:
        """Sign a zone with NSEC3; BIND 9.20's tool makes no more than 50 iterations."""
        file, ksk, zsk = self._with_keys(zone, body, _HEAD)
        words = ("ldns-signzone", "-n", "-s", "ab", "-t", str(iterations), "-o", zone)
        self._run(*words, file.name, ksk, zsk)
        return Path(f"{file}.signed"), self._ds(ksk)

    def _with_keys(self, zone: str, body: str, head: str) -> tuple[Path, str, str]:
        file = self.plain(zone, body, head)
        keygen = ("dnssec-keygen", "-q", "-a", "ECDSAP256SHA256")
        ksk, zsk = self._run(*keygen, "-f", "KSK", zone), self._run(*keygen, zone)
        with file.open("a") as out:
            out.writelines((self._folder / f"{key}.key").read_text() for key in (ksk, zsk))
        return file, ksk, zsk

    def _ds(self, key: str) -> str:
        return self._run("dnssec-dsfromkey", "-2", f"{key}.key")


def _without_signatures(file: Path, kind: str) -> None:
    text = file.read_text()
    spoilt = re.sub(rf"\bRRSIG\s+{kind} [^()]*\([^)]*\)", "TXT gone", text)
    if spoilt == text:
        raise RuntimeError(f"{file.name} has no signature over {kind}")
    file.write_text(spoilt)


def make(folder: Path, address: str) -> dict[str, Path]:
    """Write the files of all zones, and the file "anchor"; the address is their server's."""
    signer = Signer(folder)
    made: dict[str, tuple[Path, str]] = {
        "expired": signer.signed(
            f"expired.{APEX}", _BODY, "-s", "20250101000000", "-e", "20250201000000"
        ),
        "early": signer.signed(
            f"early.{APEX}", _BODY, "-s", "20700101000000", "-e", "20700201000000"
        ),
        "wrongds": signer.signed(f"wrongds.{APEX}", _BODY),
        "stripped": signer.signed(f"stripped.{APEX}", _BODY),
        "forged": signer.signed(f"forged.{APEX}", _BODY),
        "iterated": signer.iterated(f"iterated.{APEX}", _BODY, 101),
        "nsec3": signer.signed(f"nsec3.{APEX}", _BODY, "-3", "-", "-H", "0"),
    }
    _without_signatures(made["stripped"][0], "A")
    _without_signatures(made["stripped"][0], "AAAA")
    made["keytrap"] = signer.signed(f"keytrap.{APEX}", _BODY + trap_keys())
    trap = made["keytrap"][0]
    _without_signatures(trap, "A")
    with trap.open("a") as out:
        out.write(trap_signatures(f"keytrap.{APEX}"))
    forged = made["forged"][0]
    text = forged.read_text().replace(ADDRESS, FORGED).replace(ADDRESS6, FORGED6)
    forged.write_text(text)
    body = _BODY + f"ns A {address}\n"
    for name, (_, ds) in made.items():
        other = made["forged"][1].replace(f"forged.{APEX}", f"{name}.{APEX}")
        body += f"{name} NS ns\n{other if name == 'wrongds' else ds}\n"
    files = {f"{name}.{APEX}": file for name, (file, _) in made.items()}
    files[f"plain.{APEX}"] = signer.plain(f"plain.{APEX}", _BODY)
    files[APEX], anchor = signer.signed(APEX, f"{body}plain NS ns\n")
    files["other.example"] = signer.plain("other.example", _BODY)
    (folder / "anchor").write_text(f"; of the test\n{anchor}\n")
    return files


def _tag(rdata: bytes) -> int:
    """RFC 4034 appendix B."""
    total = sum(octet << (0 if place & 1 else 8) for place, octet in enumerate(rdata))
    return (total + (total >> 16)) & 0xFFFF


def trap_keys() -> str:
    """Return made-up DNSKEY records, all with one tag: two octets of each are chosen for that."""
    dice = random.Random(1)
    lines: list[str] = []
    while len(lines) < MANY:
        head = bytes((1, 0, 3, _RSASHA256, 3, 1, 0, 1, 0xF0 | dice.randrange(16)))
        rdata = bytearray(head + dice.randbytes(252) + bytes(2) + b"\1")
        at = len(rdata) - 4 + len(rdata) % 2
        rdata[at : at + 2] = ((_TAG - _tag(bytes(rdata))) % 0xFFFF).to_bytes(2)
        if _tag(bytes(rdata)) == _TAG:
            key = base64.b64encode(rdata[4:]).decode()
            lines.append(f"@ 300 IN DNSKEY 256 3 {_RSASHA256} {key}\n")
    return "".join(lines)


def trap_signatures(zone: str) -> str:
    """Return made-up signatures with that tag over the addresses of "www"."""
    dice = random.Random(2)
    head = f"www.{zone}. 300 IN RRSIG A {_RSASHA256} 4 300 20700101000000 20200101000000"
    lines = (base64.b64encode(b"\1" + dice.randbytes(255)).decode() for _ in range(MANY))
    return "".join(f"{head} {_TAG} {zone}. {line}\n" for line in lines)


@contextmanager
def served(host: Namespace, folder: Path, address: str) -> Iterator[Path]:
    """Serve all zones at an address of a host; yields the file with the trust anchor."""
    zones = "".join(
        f'zone "{zone}" {{ type primary; file "{file}"; }};\n'
        for zone, file in make(folder, address).items()
    )
    (folder / "named.conf").write_text(
        f'options {{ directory "{folder}"; listen-on {{ {address}; }}; listen-on-v6 {{ none; }};\n'
        "recursion no; dnssec-validation no; pid-file none; session-keyfile none; };\n"
        f"controls {{ }};\n{zones}"
    )
    command: list[str | Path] = ["named", "-g", "-c", folder / "named.conf"]
    with (
        (folder / "named.log").open("ab") as log,
        host.started(command, stdout=log, stderr=subprocess.STDOUT) as child,
    ):
        wait.listening(child.pid, 53)
        wait.until(
            lambda: "running" in (folder / "named.log").read_text(), "an answer of all zones"
        )
        yield folder / "anchor"
