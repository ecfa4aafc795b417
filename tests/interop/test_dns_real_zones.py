# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-zone beside BIND: the zone files that the tests of other DNS programs have."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

import pytest
from lab.base import tools, wait
from lab.base.paths import ROOT
from lab.dns import room as dns_room

#: Source packages of Debian whose tests have zone files.
SOURCES = ("bind9", "knot", "ldns", "nsd", "pdns", "unbound", "dnspython")
#: At least so many files are compared.
ENOUGH = 500
LARGEST = 300_000
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

#: The verdict is another one than BIND's: ends of paths, by the reason that the page has.
DIFFERENT = {
    "not checked: CDS and CDNSKEY": (
        *("bad-cdnskey.db", "bad-cds.db", "cdnskey.delete.invalid.cdnskey"),
        *("cdnskey.delete.invalid.cds", "cdnskey.invalid.param"),
    ),
    "not checked: NSEC3's owner, old DNSSEC": ("bad-nsec3owner-padded.db", "rfc2335.example.db"),
    "an error: AMTRELAY, ATMA, a time before 1970, WKS by name, $DATE": (
        *("example.axfr.good", "example8.axfr.good", "dig1.good", "dig2.good", "crashzone.db"),
        *("verify/zones/unsigned.db", "dns_master_load.in/date.db"),
    ),
    "an error: more than 255 types": ("reclimit/ns1/big.db",),
    "an error: a digest of DS of another length than its type's": (
        "semantic_check_data/invalid_ds.signed",
    ),
    "a warning: an RRset larger than a message": ("master/master15.data", "master/master16.data"),
    "BIND 9.18 does not know a type or owner": tuple(
        f"tests/example{number}.good" for number in range(1, 5)
    ),
}

#: Files that are no master files by their names.
_OTHERS = re.compile(
    r"\.(c|h|py|rst|md|sh|pl|go|html|xml|cc|cpp|hh|rpl|out|txt|sql|t|y|l|js|svg|lua)$"
)
_SOA = re.compile(
    r"^(\S*)[ \t]+(?:\d\w*[ \t]+)?(?:IN[ \t]+)?(?:\d\w*[ \t]+)?SOA[ \t]+\S+[ \t]+\S+",
    re.MULTILINE | re.IGNORECASE,
)
_ORIGIN = re.compile(r"^\$ORIGIN[ \t]+(\S+)", re.MULTILINE | re.IGNORECASE)
_FETCH = """
set -eu
apt=$1 log=$1/log keyring=$2 release=$3
mkdir -p "$apt"
. "$4/qemu/apt.sh"
write_sources "$release"
own_apt apt-get update >>"$log" 2>&1
cd "$apt/sources"
for each in $5; do
    own_apt apt-get source --download-only --only-source "$each" >>"$log" 2>&1 || :
done
mkdir -p "$apt/unpacked"
for each in *.orig.tar.*; do
    case $each in *.asc) ;; *) tar xf "$each" -C "$apt/unpacked" ;; esac
done
"""


def _origin(path: Path, text: str) -> str | None:
    """The zone's name: that of the first SOA; None if there is none."""
    if (found := _SOA.search(text)) is None:
        return None
    owner = found[1]
    before = [name for name in _ORIGIN.findall(text[: found.start()]) if name.endswith(".")]
    if before and owner in ("@", ""):
        return str(before[-1])
    if owner.endswith("."):
        return owner
    if before:
        return f"{owner}.{before[-1]}"
    return "." if path.name.startswith("root") else "example."


def _takes(command: list[str], folder: Path) -> bool:
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=wait.PATIENCE)
    return done.returncode == 0


def _is_known(path: Path) -> bool:
    return any(str(path).endswith(f"/{end}") for ends in DIFFERENT.values() for end in ends)


@pytest.mark.long  # fetches some 20 MB of sources
def test_verdicts(tmp_path: Path) -> None:
    """They are BIND's, but for the differences that docs/dns-zone-files.md names."""
    release = platform.freedesktop_os_release()["VERSION_CODENAME"]
    words = [tmp_path, KEYRING, release, ROOT, " ".join(SOURCES)]
    tools.run(["bash", "-c", _FETCH, "fetch", *words])
    program = str(dns_room.program("vmmnet-zone"))
    compared, others = 0, []
    for path in sorted((tmp_path / "unpacked").rglob("*")):
        if _OTHERS.search(path.name) or not path.is_file() or path.stat().st_size > LARGEST:
            continue
        octets = path.read_bytes()
        origin = None if b"\0" in octets else _origin(path, octets.decode("latin-1"))
        if origin is None:
            continue
        compared += 1
        bind = ["named-checkzone", "-i", "local", origin, path.name]
        ours = [program, "check", "--zone", origin, path.name]
        if _takes(bind, path.parent) != _takes(ours, path.parent) and not _is_known(path):
            others.append((str(path.relative_to(tmp_path)), origin))
    assert compared >= ENOUGH and not others, (compared, others)
