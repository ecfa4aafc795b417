# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-zone: master files that are wrong, images that are damaged, ends that are early."""

from __future__ import annotations

import json
import os
import random
import resource
import struct
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from lab.base import tools, wait
from lab.dns import bind, zones
from lab.dns import room as dns_room


def names(folder: Path) -> list[str]:
    """Names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir())


HEAD = """\
$TTL 3600
@ SOA ns hostmaster 7 3600 600 86400 300
@ NS ns
ns A 192.0.2.1
"""
ZONE = f"""{HEAD}
@ MX 10 mail
mail A 192.0.2.2
mail AAAA 2001:db8::2
*.wild TXT "any"
sub NS ns.sub
ns.sub A 192.0.2.3
a.b.c CNAME mail
"""

# Master file, line of the error, part of what is told.  BIND refuses each of them, too.
WRONG = {
    "cname-and-other": (f"{HEAD}a CNAME ns\na A 192.0.2.9\n", 5, "a CNAME must be alone"),
    "two-cnames": (f"{HEAD}a CNAME ns\na CNAME mail\n", 6, "one such record at most"),
    "two-soas": (f"{HEAD}@ SOA ns root 8 1 1 1 1\n", 5, "one such record at most"),
    "soa-below": (f"{HEAD}a SOA ns root 8 1 1 1 1\n", 5, "not at the zone's origin"),
    "no-ns": (HEAD.replace("@ NS ns\n", ""), 0, "there is no NS record at example."),
    "no-soa": ("$TTL 1\n@ NS ns\nns A 192.0.2.1\n", 0, "there is no SOA record at example."),
    "ns-without-address": (HEAD.replace("ns A", "xx A"), 3, "has no address"),
    "ns-is-alias": (HEAD.replace("ns A 192.0.2.1", "ns CNAME a"), 3, "is an alias"),
    "ds-at-apex": (f"{HEAD}@ DS 1 8 2 {'00' * 32}\n", 5, "belongs into the zone above"),
    "wildcard-delegation": (f"{HEAD}*.a NS ns\n", 5, "a wildcard cannot be a delegation"),
    "address": (f"{HEAD}a A 192.0.2.256\n", 5, "192.0.2.256"),
    "class": (f"{HEAD}a CH A 192.0.2.1\n", 5, "the zone's class"),
    "parenthesis": (f'{HEAD}a TXT ( "b"\n', 5, ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_master_file(name: str, tmp_path: Path) -> None:
    """The place and the remedy are told, the old image stays, and BIND agrees."""
    text, line, told = WRONG[name]
    image = zones.compiled(tmp_path, "zone", ZONE)
    before = image.read_bytes()
    source = tmp_path / "wrong.zone"
    source.write_text(text)
    done = zones.zone("compile", "example.", source, "-o", image)
    print(done.stderr)
    assert done.returncode == 1
    place = f"{source}:{line}:" if line else "example.: error:"
    errors = [row for row in done.stderr.splitlines() if ": error: " in row]
    assert [row for row in errors if row.startswith(place) and told in row]
    assert image.read_bytes() == before
    assert zones.zone("check", "--zone", "example.", source).returncode == 3
    peer = [tools.find("named-checkzone"), "-i", "local", "example.", str(source)]
    done_by_bind = subprocess.run(peer, capture_output=True, timeout=wait.PATIENCE, check=False)
    assert done_by_bind.returncode == 1


def test_signatures_of_nothing(tmp_path: Path) -> None:
    """They are told and left out, as is a name that has nothing else; BIND takes such a zone."""
    rest = "13 2 300 20300101000000 20200101000000 1 example. AAAA"
    source = tmp_path / "stray.zone"
    source.write_text(f"{HEAD}ns RRSIG MX {rest}\nns RRSIG A {rest}\nb RRSIG RRSIG {rest}\n")
    image = tmp_path / "stray.vzi"
    done = zones.zone("compile", "example.", source, "-o", image)
    assert done.returncode == 0, done.stderr
    assert f"{source}:5: warning: ns.example. RRSIG: it covers MX, which the name" in done.stderr
    assert f"{source}:7: warning: b.example. RRSIG: it covers RRSIG, which is never" in done.stderr
    printed = zones.zone("print", image).stdout
    assert printed.count("RRSIG") == 1 and "b.example." not in printed
    peer = [tools.find("named-checkzone"), "-i", "local", "example.", str(source)]
    assert subprocess.run(peer, capture_output=True, timeout=wait.PATIENCE).returncode == 0


#: What is taken, and what is told with it.
ODD = {
    "twice": ("www CNAME host.example\n", "example. has the origin twice: write 'host.example.'"),
    "below-dname": (
        "d DNAME other.test.\nx.d A 192.0.2.1\n",
        "x.d.example.: it is below the DNAME",
    ),
    "many": (
        "".join(f"many A 192.0.2.{number}\n" for number in range(101)),
        "many.example. A: there are 101 records: BIND takes no more than 100",
    ),
    "large": (
        "".join(f'big TXT "{number:0200d}"\n' for number in range(400)),
        "big.example. TXT: the 400 records have 85217 octets, and a message has 65535",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_master_file(name: str, tmp_path: Path) -> None:
    """What others refuse, or nobody reaches, is a warning; it may come from a pipe."""
    text, told = ODD[name]
    image = tmp_path / "odd.vzi"
    source = (HEAD + text).encode()
    done = zones.zone("compile", "example.", "/dev/stdin", "-o", image, stdin=source)
    assert done.returncode == 0 and told in done.stderr, done
    assert done.stderr.count("warning: ") == 1


@pytest.mark.parametrize(
    ("rest", "outside"),
    [
        ("a DS {}\n", True),
        ("*.a DS {}\n", True),
        ("a DS {}\na NS ns\n", False),
        ("a NS ns.a\nns.a A 192.0.2.9\nb.a DS {}\n", False),
        ("a DNAME b\nb.a DS {}\n", False),
    ],
)
def test_ds_without_a_delegation(rest: str, outside: bool, tmp_path: Path) -> None:
    """It is a warning, as BIND refuses it since 9.20; below a cut nobody looks."""
    source = tmp_path / "ds.zone"
    source.write_text(HEAD + rest.format(f"1 8 2 {'00' * 32}"))
    done = zones.zone("check", "--zone", "example.", source)
    assert done.returncode == 0 and ("it is no delegation" in done.stderr) == outside, done
    peer = [tools.find("named-checkzone"), "-i", "local", "example.", str(source)]
    done_by_bind = subprocess.run(peer, capture_output=True, timeout=wait.PATIENCE, check=False)
    assert done_by_bind.returncode == (outside and bind.version() >= (9, 20))


def test_case_is_kept(tmp_path: Path) -> None:
    """Names in RDATA, too, are as they were written."""
    source = f"{HEAD}a MX 10 NS.eXample.\nb CNAME nS\nb.C PTR B.c.EXAMPLE.\n"
    image = zones.compiled(tmp_path, "case", source)
    printed = zones.zone("print", image).stdout
    for record in (
        "MX 10 NS.eXample.",
        "CNAME nS.example.",
        "b.C.example. 3600 IN PTR B.c.EXAMPLE.",
    ):
        assert f"{record}\n" in printed


def test_check_of_a_pipe(tmp_path: Path) -> None:
    """A pipe is read once: a master file from it is checked, an image cannot be."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert zones.zone("check", pipe).returncode == 1, "before anybody writes"
    for _ in range(50):  # whoever opens it twice loses a quick writer now and then
        writer = threading.Thread(target=pipe.write_text, args=(ZONE,))
        writer.start()
        done = zones.zone("check", "--zone", "example.", pipe)
        writer.join()
        assert done.returncode == 0, done


def wire(*labels: str) -> bytes:
    """A name under example."""
    return b"".join(bytes([len(x)]) + x.encode() for x in (*labels, "example")) + b"\0"


def cut(data: bytearray) -> bytes:
    """The last page is missing."""
    return bytes(data[: -zones.PAGE])


def bit(data: bytearray) -> bytes:
    """A bit of a name has changed on the disk."""
    data[zones.node(data, wire("mail")) + 10] ^= 1
    return bytes(data)


def foreign(data: bytearray) -> bytes:
    """Bit 7 was taken from all octets."""
    return bytes(octet & 0x7F for octet in data)


def header_bit(data: bytearray) -> bytes:
    """The serial has changed on the disk."""
    data[40] ^= 4
    return bytes(data)


def version(data: bytearray) -> bytes:
    """An image of the next version."""
    data[8] = 2
    return zones.sealed(data)


def sums(data: bytearray) -> bytes:
    """A checksum has changed on the disk."""
    data[zones.section(data, zones.SUMS)[0]] ^= 1
    return bytes(data)


def order(data: bytearray) -> bytes:
    """ORDER leads to another node."""
    data[zones.section(data, zones.ORDER)[0]] += 3
    return zones.sealed(data)


def bucket(data: bytearray) -> bytes:
    """A reference of HASH is gone."""
    at, length = zones.section(data, zones.HASH)
    slot = next(at + i for i in range(0, length, 64) if struct.unpack_from("<I", data, at + i)[0])
    struct.pack_into("<I", data, slot, 0)
    return zones.sealed(data)


def unsorted(data: bytearray) -> bytes:
    """A name does not come behind the one before."""
    at = zones.node(data, wire("mail"))
    data[at + 9 : at + 13] = b"aaaa"
    return zones.sealed(data)


def flag(data: bytearray) -> bytes:
    """A delegation that does not say so: what is below it would be answered."""
    data[zones.node(data, wire("sub")) + 4] &= ~1
    return zones.sealed(data)


def counted(data: bytearray) -> bytes:
    """The header counts a record more."""
    data[64] += 1
    return zones.sealed(data)


def rdata(data: bytearray) -> bytes:
    """The RDATA of an address has 3 octets."""
    at = data.index(bytes([192, 0, 2, 2]))
    data[at - 1] = 3
    return zones.sealed(data)


def target(data: bytearray) -> bytes:
    """The target of NS is a node without addresses."""
    at = zones.node(data, wire()) + 20
    assert struct.unpack_from("<H", data, at)[0] == 2
    struct.pack_into("<I", data, at + 16, 1)
    return zones.sealed(data)


# Damage, section and part of what is told.
DAMAGED: dict[Callable[[bytearray], bytes], tuple[str, str]] = {
    cut: ("header", "shorter than its header says"),
    bit: ("NODES", "checksum is wrong"),
    header_bit: ("header", "the header's checksum is wrong"),
    version: ("header", "the version is not 1; compile the zone anew"),
    sums: ("SUMS", "the checksum of the checksums is wrong"),
    order: ("ORDER", "not that of the 16th node"),
    bucket: ("NODES", "is not found by its name"),
    unsorted: ("NODES", "does not come behind the one before"),
    flag: ("NODES", "the flags are not those of the RRsets"),
    counted: ("header", "the number of records is wrong"),
    rdata: ("NODES", "RDATA is not one of its type"),
    target: ("NODES", "target is another node"),
}


@pytest.mark.parametrize("damage", DAMAGED, ids=lambda damage: damage.__name__)
def test_damaged_image(damage: Callable[[bytearray], bytes], tmp_path: Path) -> None:
    """The section and the offset are told, whether or not the checksums were made to fit."""
    where, told = DAMAGED[damage]
    image = zones.compiled(tmp_path, "zone", ZONE)
    assert zones.zone("check", image).returncode == 0
    image.write_bytes(damage(bytearray(image.read_bytes())))
    done = zones.zone("check", image)
    print(done.stderr)
    assert done.returncode == 3
    assert f"{image}: {where}, offset " in done.stderr
    assert told in done.stderr


def test_foreign_file_is_no_image(tmp_path: Path) -> None:
    """Neither a damaged magic nor a text is taken for an image."""
    image = zones.compiled(tmp_path, "zone", ZONE)
    image.write_bytes(foreign(bytearray(image.read_bytes())))
    for path in (image, tmp_path / "zone.zone"):
        for command in ("show", "print"):
            done = zones.zone(command, path)
            assert done.returncode == 1
            assert "header, offset 0: this is no zone image" in done.stderr
        assert "--zone" in zones.zone("check", path).stderr


def test_print_is_the_same_zone_again(tmp_path: Path) -> None:
    """Absolute and relative, and to BIND."""
    image = zones.compiled(tmp_path, "zone", ZONE)
    for name, options in (("absolute", []), ("relative", ["--relative"])):
        text = zones.zone("print", image, *options).stdout
        again = zones.compiled(tmp_path, name, text)
        done = zones.zone("diff", image, again)
        assert (done.returncode, done.stdout) == (0, "")
        tools.run(["named-checkzone", "-i", "local", "example.", tmp_path / f"{name}.zone"])


def test_show_and_diff(tmp_path: Path) -> None:
    """Names of each kind; and records that come and go."""
    old = zones.compiled(tmp_path, "old", ZONE)
    new = zones.compiled(tmp_path, "new", ZONE.replace("192.0.2.2", "192.0.2.99"))
    shown = {
        "mail": "mail.example. 3600 IN A 192.0.2.2",
        "x.y.wild.example.": "; of a wildcard: *.wild.example.",
        "deep.sub": "; delegation: sub.example.",
        "b.c": "; empty non-terminal",
    }
    for name, line in shown.items():
        assert line in zones.zone("show", old, name).stdout.splitlines()
    value = json.loads(zones.zone("show", old, "mail", "AAAA", "--json").stdout)
    assert value["records"] == ["mail.example. 3600 IN AAAA 2001:db8::2"]
    assert json.loads(zones.zone("show", old, "--json").stdout)["serial"] == 7
    assert zones.zone("show", old, "nothing").returncode == 1
    done = zones.zone("diff", old, new)
    assert done.returncode == 3
    assert done.stdout.splitlines() == [
        "- mail.example. 3600 IN A 192.0.2.2",
        "+ mail.example. 3600 IN A 192.0.2.99",
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["frob"], "'frob' is no command"),
        (["comple"], "did you mean 'compile'?"),
        (["compile", "example."], "it needs more"),
        (["compile", "a..b", "x"], "'a..b' is no domain name"),
        (["compile", "a", "x", "--memory", "1K"], "option --memory: '1K' is no size"),
        (["compile", "a", "x", "--threads=0"], "option --threads: '0' is no number"),
        (["compile", "a", "x", "--progress", "no"], "'no' is none of auto, on, off"),
        (["compile", "a", "x", "--frob"], "there is no option --frob"),
        (["compile", "a", "x", "--mem=64M"], "write --memory, as no name is abbreviated"),
        (["compile", "a", "x", "--class", "ANY"], "option --class: 'ANY'"),
    ],
)
def test_wrong_command_line(words: list[str], told: str) -> None:
    """Status 2, and what would be right."""
    done = zones.zone(*words)
    assert done.returncode == 2
    assert told in done.stderr


def test_little_memory_gives_the_same_zone(tmp_path: Path) -> None:
    """Runs go to a file, records come in no order, threads are one or four."""
    text = zones.generated(tmp_path / "net.zone", 500_000, "--random-order")
    images: list[Path] = []
    sizes: list[int] = []
    for options in (["--threads", "1"], ["--memory", "16M", "--threads", "4"]):
        image = tmp_path / f"{len(images)}.vzi"
        done = zones.zone("compile", "net.", text, "-o", image, "--json", *options)
        assert done.returncode == 0, done.stdout
        images.append(image)
        sizes.append(json.loads(done.stdout)["octets"])
    assert zones.zone("diff", *images).returncode == 0
    assert zones.zone("check", images[1]).returncode == 0
    assert sizes[1] <= 100 * 500_000
    assert names(tmp_path) == ["0.vzi", "1.vzi", "net.zone"]


def _nasty(folder: Path) -> Path:
    """A zone of several pieces and parts, with all that carries over from a line to later ones.

    Delegations and a DNAME have more names below them than a thread's part of the image.
    """
    included = folder / "included.zone"
    included.write_text("$TTL 77\n@ TXT inside\n  NS nowhere\n$ORIGIN deep\nx A 192.0.2.7\n")
    lines = [HEAD, "cut NS ns.cut\n", "hidden DNAME elsewhere.test.\n"]
    for i in range(24_000):
        kind = i % 12
        if kind == 0:
            lines.append(f"$ORIGIN o{i % 7}.example.\n$TTL {300 + i % 3}\n")
        elif kind == 1:
            lines.append(f"$INCLUDE {included} inc{i}.example.\n")
        elif kind == 2:
            lines.append(f"$GENERATE 1-3 gen{i}-$ A 192.0.2.$\n")
        lines.append(f'n{i} (\n  600 ; )\n  TXT "( ; $TTL 9" ) ; (\n')
        lines.append(f"\tMX {i % 9} n{i + 1}\n\t\tNS n{i}\\.x.cut.example.\n  NS ns.sub{i}\n")
        lines.append(f"h{i}.cut.example. AAAA 2001:db8::{i:x}\n  NS g.h{i}.cut.example.\n")
        lines.append(f"h{i}.hidden.example. SRV 1 1 1 none{i}\n*.w{i} MX 1 o.example.\n")
        lines.append(f"{'p' * 50}{i} A 192.0.2.3\n")
    text = folder / "nasty.zone"
    text.write_text("".join(lines))
    return text


def _nodes(image: Path) -> bytes:
    """What does not depend on the random key of an image."""
    data = image.read_bytes()
    spans = [struct.unpack_from("<QQ", data, 352 + section * 24) for section in (0, 2, 3)]
    return b"".join(data[offset : offset + length] for offset, length in spans)


def test_threads_do_not_change_the_image_or_the_messages(tmp_path: Path) -> None:
    """One thread reads, checks and links; or several do, each a part."""
    text = _nasty(tmp_path)
    told, made = set(), set()
    for threads in (1, 2, 5):
        image = tmp_path / f"{threads}.vzi"
        done = zones.zone(
            *("compile", "example.", text, "-o", image, "--threads", str(threads)),
            *("--messages", "1000000"),
        )
        assert done.returncode == 0, done.stderr[-2000:]
        assert zones.zone("check", image).returncode == 0
        told.add(done.stderr)
        made.add(_nodes(image))
    assert len(told) == len(made) == 1
    for fault in ("cannot be reached", "has no address", "below another delegation"):
        assert fault in told.copy().pop(), fault


def test_threads_do_not_change_the_errors(tmp_path: Path) -> None:
    """Errors of the text are in every piece; those that are too many are not shown."""
    text = _nasty(tmp_path)
    with text.open("a") as more:
        more.write("bad A 1.2.3\n( never closed\n")
    told = set()
    for threads in (1, 2, 5):
        done = zones.zone(
            *("compile", "example.", text, "-o", tmp_path / "no.vzi"),
            *("--threads", str(threads), "--messages", "1000000"),
        )
        assert done.returncode == 1
        told.add(done.stderr)
    assert len(told) == 1
    assert "error: 1.2.3 is no IPv4 address" in told.pop()


def test_few_messages_are_the_first(tmp_path: Path) -> None:
    """Of the faults that are found in the image, those of the first names are shown."""
    lines = [f"n{i:06} NS none{i}.n{i:06}\n" for i in range(60_000)]
    text = tmp_path / "zone"
    text.write_text(HEAD + "".join(lines))
    told = {
        zones.zone("compile", "example.", text, "-o", tmp_path / "x.vzi", "--threads", n).stderr
        for n in ("1", "4")
    }
    assert len(told) == 1
    first = told.pop().splitlines()
    assert "none0.n000000" in first[0]
    assert "none99.n000099" in first[99]
    assert first[100].startswith("example.: 59900 more warnings")


def test_killed_compile_leaves_old_or_new(tmp_path: Path) -> None:
    """kill -9 at random: the image is whole and one of the two, and nothing else is left."""
    dice = random.Random(31)
    image = tmp_path / "net.vzi"
    texts = [
        zones.generated(tmp_path / f"{seed}.zone", 60_000, "--seed", str(seed)) for seed in (1, 2)
    ]
    command: list[str | Path] = [
        dns_room.program("vmmnet-zone"),
        "compile",
        "net.",
        "-o",
        image,
        "--memory",
        "16M",
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    assert zones.zone("compile", "net.", texts[0], "-o", image).returncode == 0
    whole = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    killed, serials = 0, set()
    for turn in range(16):
        words: list[str | Path] = [*command, texts[turn % 2]]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL) as child:
            try:
                child.wait(dice.uniform(0.1, 3) * whole)
            except subprocess.TimeoutExpired:
                child.kill()
                killed += 1
        done = zones.zone("check", image, "--json")
        assert done.returncode == 0, done.stdout
        serials.add(json.loads(done.stdout)["serial"])
        left = set(names(tmp_path)) - {"1.zone", "2.zone", "net.vzi"}
        assert left <= {"net.vzi.new"}
    assert killed
    assert serials <= {1, 2}
    assert zones.zone("compile", "net.", texts[1], "-o", image).returncode == 0
    assert names(tmp_path) == ["1.zone", "2.zone", "net.vzi"]


FULL = """\
set -e
mount -t tmpfs -o size=3m none "$1"
"$2" compile example. "$1/../small.zone" -o "$1/net.vzi"
cp "$1/net.vzi" "$1/before"
set +e
"$2" compile net. "$1/../net.zone" -o "$1/net.vzi" --memory "$3"
echo "status $?"
cmp "$1/before" "$1/net.vzi" && ls -A "$1"
"""


@pytest.mark.parametrize("memory", ["16M", "256M"])
def test_full_disk(memory: str, tmp_path: Path) -> None:
    """Runs or the image do not fit: that is said, the old image stays, nothing else does."""
    zones.generated(tmp_path / "net.zone", 400_000)
    (tmp_path / "small.zone").write_text(ZONE)
    disk = tmp_path / "disk"
    disk.mkdir()
    words: list[str | Path] = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        FULL,
        "sh",
        disk,
        dns_room.program("vmmnet-zone"),
    ]
    done = subprocess.run(
        [*words, memory], capture_output=True, text=True, timeout=wait.PATIENCE, check=False
    )
    assert "the disk is full" in done.stderr, done.stderr
    assert done.stdout.splitlines()[1:] == ["status 1", "before", "net.vzi"]
