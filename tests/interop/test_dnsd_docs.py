# SPDX-License-Identifier: GPL-2.0-or-later
"""What is written of vmmnet-dnsd is so: its keys, its metrics, and configurations to copy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import paths
from lab.base.net import Network
from lab.dns import dnsd
from lab.dns import room as dns_room
from lab.dns.dnsd_world import ZONE, World, made

PAGE = paths.ROOT / "docs/dnsd.md"
EXAMPLE = paths.ROOT / "debian/examples/dnsd.yaml"
#: Where tables of keys are, and how an entry of one looks.
TABLES = paths.ROOT / "dnsd/server/config"
_ENTRY = re.compile(r'(?:\.name = |\b[A-Z]+\((?:[\w.]+, )?)"([a-z-]+)"')
SECRET = "c2VjcmV0IG9mIHRoZSB0ZXN0cyBvZiBleGFtcGxlcw=="


@pytest.fixture
def world(network: Network) -> Iterator[World]:
    with made(network) as hosts:
        yield hosts


def _zones(number: int) -> str:
    """So many zones, as ``vmmnet-dnsd --check`` says it."""
    return f"{number} zone{'s' * (number != 1)}"


def _rows(heading: str) -> list[tuple[list[str], list[str]]]:
    """Of the tables below a heading: the words in code of the first column, and of the others."""
    section = PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = []
    for line in section.splitlines():
        if line.startswith("| `"):
            first, rest = line[1:].split("|", 1)
            rows.append((re.findall(r"`([^`]+)`", first), re.findall(r"`([^`]+)`", rest)))
    return rows


def _examples() -> list[str]:
    """The configurations on the page; each is a block that begins with a section."""
    blocks = re.findall(r"(?:^    .*\n)+", PAGE.read_text(), re.MULTILINE)
    return [block for block in blocks if re.match(r" {4}(resolver|keys|zones):\n", block)]


def test_keys() -> None:
    """Each key that the server takes is on the page, and each of the page is taken."""
    written = {key for keys, _ in _rows("Configuration") for key in keys}
    sections = {key.split(".")[0] for key in written if "." in key}
    taken = set()
    for file in TABLES.glob("*.c"):
        taken |= set(_ENTRY.findall(file.read_text()))
    assert {key.split(".")[-1] for key in written} | sections == taken


def test_metrics(world: World) -> None:
    """Each metric is on the page, with its labels and with all reasons and results."""
    with world.dnsd() as server:
        text = server.ask("metrics")
    told = set(re.findall(r"^# TYPE vmmnet_dnsd_(\w+) ", text, re.MULTILINE))
    rows = _rows("Metrics")
    assert {name for names, _ in rows for name in names} == told
    for names, words in rows:
        for name in names:
            labels = re.findall(rf'^vmmnet_dnsd_{name}\{{(\w+)="([^"]*)"\}}', text, re.MULTILINE)
            for label, value in labels:
                assert label in words, (name, label)
                if label in ("reason", "from") or name == "transfers_in_total":
                    assert value in words, (name, value)


@pytest.mark.parametrize("number", range(len(_examples())))
def test_example_of_the_page(number: int, tmp_path: Path) -> None:
    """A configuration that is copied from the page is right, once its files are there."""
    text = re.sub(r"^    ", "", _examples()[number], flags=re.MULTILINE)
    keys = re.findall(r"name: (\S+)\n\s+key-file: /etc/vmmnet/(\S+)", text)
    for name, key in keys:
        (tmp_path / key).write_text(
            f'key "{name}" {{ algorithm hmac-sha256; secret "{SECRET}"; }};'
        )
    for zone in re.findall(r"vmmnet-dns/(\S+)\.vzi", text):
        dns_room.compile_zone(zone, ZONE.format(serial=1), tmp_path / f"{zone}.vzi")
    file = tmp_path / "dnsd.yaml"
    file.write_text(re.sub(r"/var/lib/vmmnet-dns|/etc/vmmnet", str(tmp_path), text))
    done = dnsd.check(file)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{file}: {_zones(text.count('image:'))}\n"


def test_examples_are_there() -> None:
    """The page has some, of each section that needs one."""
    assert {example.split(":")[0].strip() for example in _examples()} == {
        "keys",
        "resolver",
        "zones",
    }


@pytest.mark.parametrize("with_comments", [False, True])
def test_example_of_the_package(with_comments: bool, tmp_path: Path) -> None:
    """The package's file is right as it is, and with the lines that it has as comments."""
    text = EXAMPLE.read_text()
    if with_comments:
        text = re.sub(r"^zones: \[\]\n", "", text, flags=re.MULTILINE)
        text = re.sub(r"^#(?=\S|  )", "", text, flags=re.MULTILINE)
    image = dns_room.compile_zone("example.com", ZONE.format(serial=1), tmp_path / "a.vzi")
    file = tmp_path / "dnsd.yaml"
    file.write_text(text.replace("/var/lib/vmmnet-dns/example.com.vzi", str(image)))
    done = dnsd.check(file)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{file}: {_zones(int(with_comments))}\n"
