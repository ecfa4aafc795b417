# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet audit``: lines of audit logs, filtered, followed and converted."""

from __future__ import annotations

import io
import json
import os
import random
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.base import commandline, paths
from lab.base.commandline import Answer
from vmmnet.confine import ocsf, show
from vmmnet.confine.audit import EVENTS as EVENT_NAMES
from vmmnet.confine.follow import Growing

#: As the device writes them (tests/unit/test-vmrpc-server-audit.c).
LINES = """\
{"v":1,"seq":1,"time":"2026-11-28T09:14:03.000001Z","vm":"web","dev":"v0","event":"policy","policy":"5f1c9a02","file":"web.policy"}
{"v":1,"seq":2,"time":"2026-11-28T09:14:03.000002Z","vm":"web","dev":"v0","event":"name","verdict":"allow","line":7,"policy":"5f1c9a02","socket":1,"name":"www.example.com","type":"AAAA"}
{"v":1,"seq":3,"time":"2026-11-28T09:14:03.000003Z","vm":"web","dev":"v0","event":"answer","name":"www.example.com","addresses":["2001:db8:80::80","192.0.2.1"]}
{"v":1,"seq":4,"time":"2026-11-28T09:14:03.000004Z","vm":"web","dev":"v0","event":"open","proto":"tcp","address":"2001:db8:80::80","port":443,"verdict":"allow","line":7,"policy":"5f1c9a02","socket":42,"asked":["www.example.com","alias.example"]}
{"v":1,"seq":5,"time":"2026-11-28T09:14:04.000000Z","vm":"web","dev":"v0","event":"close","proto":"tcp","address":"2001:db8:80::80","port":443,"error":"ECONNRESET","socket":42,"sent":5,"received":7,"ms":31}
{"v":1,"seq":6,"time":"2026-11-28T09:14:05.000000Z","vm":"web","dev":"v0","event":"refused","proto":"udp","address":"192.0.2.9","port":53,"verdict":"deny","reason":"deny-rule","errno":"EACCES","line":3,"policy":"5f1c9a02","socket":43}
{"v":1,"seq":7,"time":"2026-11-28T09:14:06.000000Z","vm":"web","dev":"v0","event":"watched","proto":"icmp","address":"192.0.2.9","verdict":"watch","reason":"deny-default","errno":"EACCES","policy":"5f1c9a02","via":"corp","socket":44}
{"v":1,"seq":8,"time":"2026-11-28T09:14:07.000000Z","vm":"db","dev":"v0","event":"open","proto":"tcp","incoming":true,"address":"2001:db8::9","port":5000,"socket":45}
{"v":1,"seq":9,"time":"2026-11-28T09:14:08.000000Z","vm":"db","dev":"v0","event":"name","verdict":"deny","reason":"deny-unlisted","line":9,"name":"evil.example","type":"TXT"}
{"v":1,"seq":10,"time":"2026-11-28T09:14:09.000000Z","vm":"db","dev":"v0","event":"lost","count":12}
{"v":1,"seq":11,"time":"2026-11-28T09:14:09.000000Z","vm":"db","dev":"v0","event":"answer","name":"evil.example","type":"A","security":"bogus"}
{"v":1,"seq":12,"time":"2026-11-28T09:14:09.000000Z","vm":"db","dev":"v0","event":"refused","verdict":"deny","reason":"limit-sockets","errno":"EMFILE"}
{"v":1,"seq":13,"time":"2026-11-28T09:14:09.000000Z","vm":"db","dev":"v0","event":"later","what":"new"}
{"v":1,"seq":14,"time":"2026-11-28T09:14:09.000000Z","vm":"db","dev":"v0","event":"said","proto":"tcp","address":"2001:db8:80::80","port":443,"socket":46,"said":"www.example.com","says":"tls","alpn":"h2"}
"""
EVENTS = [json.loads(line) for line in LINES.splitlines()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "web.log"
    path.write_text(LINES)
    return path


def audit(*words: str | Path) -> Answer:
    return commandline.run("audit", *map(str, words))


def test_lines_for_people(file: Path) -> None:
    answer = audit(file)
    assert answer.status == 0
    assert [line.partition("Z  ")[2] for line in answer.out.splitlines()] == [
        "web v0  policy  web.policy  in force: 5f1c9a02",
        "web v0  name  www.example.com AAAA  allow (line 7)",
        "web v0  answer  www.example.com  2001:db8:80::80, 192.0.2.1",
        "web v0  open  tcp [2001:db8:80::80]:443  allow (line 7)  www.example.com, alias.example",
        "web v0  close  tcp [2001:db8:80::80]:443  5 bytes sent, 7 received  31 ms  ECONNRESET",
        "web v0  refused  udp 192.0.2.9:53  deny (deny-rule, EACCES, line 3)",
        "web v0  watched  icmp 192.0.2.9  via corp  watch (deny-default, EACCES)",
        "db v0  open  tcp from [2001:db8::9]:5000",
        "db v0  name  evil.example TXT  deny (deny-unlisted, line 9)",
        "db v0  lost  12 lines",
        "db v0  answer  evil.example A  bogus",
        "db v0  refused  deny (limit-sockets, EMFILE)",
        "db v0  later  what=new",
        "db v0  said  tcp [2001:db8:80::80]:443  says www.example.com",
    ]
    assert answer.err == "vmmnet audit: db v0: the device has lost 12 lines before 10\n"


def test_events_are_those_of_the_schema() -> None:
    schema = (paths.ROOT / "hw/vmrpc/vmrpc.json").read_text()
    (listed,) = re.findall(r"'enum': 'VmrpcAuditLineEvent',\s*'data': \[([^]]*)\]", schema)
    assert re.findall(r"'(\S+)'", listed) == [*EVENT_NAMES]


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("", range(1, 15)),
        ("--event refused --event watched", (6, 7, 12)),
        ("--verdict deny", (6, 9, 12)),
        ("--vm db", range(8, 15)),
        ("--name WWW.example.com.", (2, 3, 4, 14)),
        ("--name *.example", (4, 9, 11)),
        ("--name *.example --verdict deny", (9,)),
        ("--since 2026-11-28T09:14:08Z", range(9, 15)),
        ("--since 2026-11-28T10:14:08+01:00 --event lost", (10,)),
        ("--since 1s", ()),
        ("--since 99999d --event policy", (1,)),
    ],
)
def test_filters(words: str, numbers: Any, file: Path) -> None:
    """What is left is the lines as they are."""
    answer = audit(file, "--json", *words.split())
    lines = LINES.splitlines()
    assert answer.out.splitlines() == [lines[number - 1] for number in numbers]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--event opened", "there is no 'opened': is it 'open'?"),
        ("--since yesterday", "'yesterday' is no time, as 2026-11-28T09:00, or 15m"),
        ("--json --ocsf", "give one of --json and --ocsf"),
    ],
)
def test_a_wrong_command(words: str, told: str, file: Path) -> None:
    answer = audit(file, *words.split())
    assert (answer.status, answer.out) == (2, "")
    assert told in answer.err


def test_what_is_missing_is_told(file: Path) -> None:
    """Numbers are those of each device; the last line may be cut."""
    lines = LINES.splitlines(keepends=True)
    other = LINES.replace('"v0"', '"v1"').splitlines(keepends=True)
    later = lines[4].replace("T09", "T10")
    there = [*lines[:2], other[0], *lines[4:7], other[2], later, "no\n", "{}\n", lines[8][:40]]
    file.write_text("".join(there))
    answer = audit(file, "--json")
    assert len(answer.out.splitlines()) == 8
    assert answer.err.splitlines() == [
        f"vmmnet audit: {each}"
        for each in (
            "web v0: 2 lines are missing between 2 and 5",
            "web v1: a line is missing between 1 and 3",
            "web v0: numbers go back from 7 to 5",
            f"{file}:9: this is no line of an audit log",
            f"{file}: the last line is cut",
            f"{file}: 2 lines are none of an audit log",
        )
    ]
    file.unlink()
    answer = audit(file)
    assert (answer.status, answer.out) == (1, "")
    assert answer.err == f"vmmnet audit: {file}: No such file or directory\n"


def test_lines_that_come_again_are_skipped(file: Path) -> None:
    """After an error of a write there is a piece of a line, and its lines come again."""
    lines = LINES.splitlines(keepends=True)
    file.write_text("".join([*lines[:3], lines[3][:50] + "\n", *lines[1:]]))
    answer = audit(file, "--json")
    assert answer.out == LINES
    assert "missing" not in answer.err
    # Another VM of that name begins anew, perhaps with a clock that was set back.
    again = LINES.replace("T09:", "T08:")
    file.write_text(LINES + again)
    answer = audit(file, "--json")
    assert answer.out == LINES + again
    assert "web v0: numbers go back from 7 to 1\n" in answer.err


def test_the_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES.encode())))
    assert len(audit().out.splitlines()) == len(EVENTS)
    assert "--follow needs a FILE" in audit("--follow").err


def junk(rng: random.Random) -> Any:
    """What is no member of a device's line."""
    return rng.choice(
        (
            7,
            None,
            "",
            [],
            {},
            [[]],
            {"a": []},
            True,
            1.5,
            "\x1b[2J\n",
            "\u202e\x7f\ud800",
            [None, 7],
        )
    )


def test_a_line_of_somebody_else_is_printable() -> None:
    """It cannot control a terminal, nor bring another line, nor end the command."""
    rng = random.Random(5)
    for _ in range(3000):
        event = dict(rng.choice(EVENTS))
        for key in rng.sample(sorted(event), rng.randrange(1, 4)):
            event[key] = junk(rng)
        event["event"] = rng.choice([*(each["event"] for each in EVENTS), "\x1b"])
        line = show.describe(event)
        assert line.isascii()
        assert line.isprintable()


def test_any_lines_are_read(tmp_path: Path) -> None:
    rng = random.Random(6)
    path = tmp_path / "log"
    lines = []
    for _ in range(500):
        event = dict(rng.choice(EVENTS))
        event[rng.choice(sorted(event))] = junk(rng)
        lines.append(json.dumps(event))
    path.write_text("".join(f"{line}\n" for line in lines))
    for words in ((), ("--json",), ("--ocsf",), ("--name", "*"), ("--since", "1d")):
        answer = audit(path, *words)
        assert answer.status == 0
        assert answer.err.isprintable() or answer.err.count("\n") == len(answer.err.splitlines())
        if "--ocsf" in words:
            assert all(json.loads(line)["metadata"] for line in answer.out.splitlines())


def test_a_file_without_lines(tmp_path: Path) -> None:
    """What is read of a line is bounded, and so is memory; the next line is read."""
    path, size = tmp_path / "log", 40 << 20
    with path.open("w") as stream:
        stream.write(LINES.partition("\n")[0] + "\n")
        stream.write("x" * size + "\n" + LINES.partition("\n")[2])
    tracemalloc.start()
    try:
        answer = audit(path, "--json")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer.out == LINES
    assert answer.err.splitlines()[0] == f"vmmnet audit: {path}:2: this is no line of an audit log"
    assert most < size / 8
    path.write_text("x" * size)
    assert audit(path).err == f"vmmnet audit: {path}: the last line is cut\n"


def test_a_file_that_is_not_compressed(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_text(LINES)
    told = f"{path}: it is not compressed by gzip\n"
    assert audit(path).err == f"vmmnet audit: {told}"
    assert commandline.run("policy", "learn", str(path)).err == f"vmmnet policy: {told}"
    assert "is not compressed" in audit(path, "--follow").err


# --- OCSF --------------------------------------------------------------------------------


def test_events_of_ocsf(file: Path) -> None:
    """Each line is one, with what the schema requires (events/base_event.json of OCSF 1.3)."""
    events = [json.loads(line) for line in audit(file, "--ocsf").out.splitlines()]
    assert [each["type_uid"] for each in events] == [
        *(99, 400301, 400302, 400101, 400102, 400105, 400106),
        *(400101, 400301, 99, 400302, 400105, 99, 400106),
    ]
    for made, line in zip(events, EVENTS, strict=True):
        assert made["class_uid"] * 100 + made["activity_id"] == made["type_uid"]
        assert made["category_uid"] == made["class_uid"] // 1000
        assert made["severity_id"] in (1, 2, 3)
        assert 1795857243000 <= made["time"] <= 1795857249000
        assert made["metadata"]["version"] == "1.3.0"
        assert made["metadata"]["product"]["vendor_name"] == "vmmnet"
        assert made["metadata"]["sequence"] == line["seq"]
        assert made["unmapped"] == line
        if made["class_uid"]:
            # At least one endpoint, each with a name or an address; and the direction.
            ends = [made[key] for key in ("src_endpoint", "dst_endpoint") if key in made]
            assert ends
            assert all({"ip", "name"} & each.keys() for each in ends)
            assert made["connection_info"]["direction_id"] in (1, 2)
        if made["class_uid"] == 4003:
            assert made["query"]["hostname"] == line["name"]
        assert ("action_id" in made) == ("security_control" in made["metadata"].get("profiles", ()))


def test_members_of_ocsf() -> None:
    opened, closed, refused = (ocsf.convert(EVENTS[n]) for n in (3, 4, 5))
    assert opened["dst_endpoint"] == {
        "ip": "2001:db8:80::80",
        "port": 443,
        "hostname": "www.example.com",
    }
    assert opened["src_endpoint"] == {"name": "web", "interface_name": "v0"}
    assert opened["connection_info"] == {
        "direction_id": 2,
        "protocol_name": "tcp",
        "protocol_num": 6,
        "uid": "42",
    }
    assert (opened["action_id"], opened["disposition_id"]) == (1, 1)
    assert closed["traffic"] == {"bytes_out": 5, "bytes_in": 7}
    assert (closed["duration"], closed["status_code"]) == (31, "ECONNRESET")
    assert (refused["action_id"], refused["disposition_id"]) == (2, 2)
    assert refused["policy"] == {"uid": "5f1c9a02"}
    assert refused["firewall_rule"] == {"uid": "3"}
    assert (refused["status_detail"], refused["status_code"]) == ("deny-rule", "EACCES")
    incoming = ocsf.convert(EVENTS[7])
    assert incoming["src_endpoint"] == {"ip": "2001:db8::9", "port": 5000}
    assert incoming["connection_info"]["direction_id"] == 1
    assert ocsf.convert(EVENTS[8])["rcode_id"] == 5


# --- a log that grows --------------------------------------------------------------------


class Log:
    """A log that is written as QEMU does, and read as ``--follow`` does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told: list[str] = []
        self.growing = Growing(path, self.told.append)
        self.writer = path.open("ab", buffering=0)

    def reopen(self) -> None:
        """What ``chardev-change`` does."""
        self.writer.close()
        self.writer = self.path.open("ab", buffering=0)

    def read(self) -> bytes:
        """What has come."""
        return b"".join(self.growing.lines())


@pytest.fixture
def grown(tmp_path: Path) -> Iterator[Log]:
    made = Log(tmp_path / "log")
    yield made
    made.growing.close()
    made.writer.close()


def test_a_log_grows(grown: Log) -> None:
    """A line is given when it is whole."""
    assert grown.read() == b""
    grown.writer.write(b"one\ntw")
    assert grown.read() == b"one\n"
    grown.writer.write(b"o")
    assert grown.read() == b""
    grown.writer.write(b"\nthree\n" + b"x" * 100000 + b"\n")
    assert grown.read() == b"two\nthree\n" + b"x" * 100000 + b"\n"


def test_what_grows_without_lines(grown: Log) -> None:
    """Its beginning is kept, and no more."""
    for _ in range(64):
        grown.writer.write(b"x" * (1 << 17))
        assert grown.read() == b""
    grown.writer.write(b"\none\n")
    junk, line = grown.read().splitlines()
    assert len(junk) < 1 << 20 and line == b"one"


def test_a_log_is_renamed(grown: Log) -> None:
    """The old file is read until its writer has turned to the new one."""
    grown.writer.write(b"one\n")
    assert grown.read() == b"one\n"
    grown.path.rename(grown.path.with_suffix(".1"))
    grown.writer.write(b"two\n")
    assert grown.read() == b"two\n"
    # As logrotate's "create" does, before it tells the writer.
    grown.path.touch()
    grown.writer.write(b"three\nfo")
    assert grown.read() == b"three\n"
    grown.writer.write(b"ur\n")
    grown.reopen()
    grown.writer.write(b"five\n")
    assert grown.read() == b"four\nfive\n"
    assert grown.told == []
    # The reader sleeps while another change is made, and the line in between is cut.
    grown.writer.write(b"six\nsev")
    grown.path.unlink()
    grown.reopen()
    grown.writer.write(b"seven\n")
    assert grown.read() == b"six\nseven\n"
    assert grown.told == [f"{grown.path}: the last line before another file is cut"]


def test_a_log_is_truncated(grown: Log) -> None:
    grown.writer.write(b"one\ntwo\n")
    assert grown.read() == b"one\ntwo\n"
    os.truncate(grown.path, 0)
    assert grown.read() == b""
    grown.writer.write(b"three\n")
    assert grown.read() == b"three\n"


def test_follow(tmp_path: Path) -> None:
    """Lines come as they are written, from before the file is there until after it is rotated."""
    path = tmp_path / "log"
    command = [sys.executable, "-m", "vmmnet", "audit", str(path), "--follow", "--json"]
    environment = {**os.environ, "PYTHONPATH": paths.PYTHONPATH}
    lines = LINES.encode().splitlines(keepends=True)
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        try:
            assert running.stdout is not None
            assert running.stderr is not None
            assert running.stderr.readline() == b"vmmnet audit: %s is not there yet\n" % bytes(path)
            for name, part in (("", lines[:4]), (".1", lines[4:9])):
                if name:
                    path.rename(path.with_name(path.name + name))
                with path.open("ab", buffering=0) as writer:
                    for line in part:
                        writer.write(line)
                        assert running.stdout.readline() == line
        finally:
            running.terminate()


def test_words_are_offered(tmp_path: Path) -> None:
    (tmp_path / "web.log").touch()
    assert commandline.offered("audit", "--fo") == ["--follow"]
    assert commandline.offered("policy", "l") == ["learn"]
    for words in (("audit",), ("policy", "learn"), ("policy", "diff")):
        assert commandline.offered(*words, f"{tmp_path}/w") == [f"{tmp_path}/web.log"]
