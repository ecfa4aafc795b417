# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare our tables of RR types and SvcParam keys with IANA's registries.

Download "Resource Record (RR) TYPEs" and "Service Parameter Keys" as CSV from IANA, and run
``PYTHONPATH=control python3 -m lab.dns.registry FILE...``.  It prints each entry that a
table lacks or names otherwise, and exits with 1 if there is one.  Types that no zone has (RFC 6895
section 3.1) are of interest only where a table has them.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..base.paths import ROOT

_TYPE = re.compile(r"(?:\b|_)TYPE\((\d+), \"([A-Z0-9-]+)\"")
_KEYS = re.compile(r"names\[NAMED_KEYS\] = \{(.*?)\};", re.DOTALL)
#: Of questions and messages only.
_NO_ZONE = range(128, 256)


def types() -> dict[int, str]:
    """Our RR types: number and mnemonic."""
    text = (ROOT / "net/dns/wire/rrtype.c").read_text()
    return {int(number): name for number, name in _TYPE.findall(text)}


def keys() -> dict[int, str]:
    """Our SvcParam keys: number and name."""
    found = _KEYS.search((ROOT / "dnsd/text/svcb.c").read_text())
    assert found is not None
    return dict(enumerate(re.findall(r'"([a-z0-9-]+)"', found[1])))


def lacking(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """What a registry has and our table of its kind has not."""
    is_types = "TYPE" in rows[0]
    ours = types() if is_types else keys()
    for row in rows:
        number, name = row["Value" if is_types else "Number"], row["TYPE" if is_types else "Name"]
        if not number.isdecimal() or name.lower() in ("unassigned", "reserved", "*"):
            continue
        if is_types and int(number) in _NO_ZONE and int(number) not in ours:
            continue
        if ours.get(int(number)) != name:
            yield f"{number} is {name}, not {ours.get(int(number), 'known')}"


def main(paths: Sequence[str]) -> int:
    """Compare each file."""
    faults = 0
    for path in paths:
        with Path(path).open(newline="") as file:
            for text in lacking(list(csv.DictReader(file))):
                print(f"{path}: {text}")
                faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
