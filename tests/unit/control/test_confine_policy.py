# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet policy``: policies learned from audit logs, tested and compared."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from lab.base import commandline, paths
from lab.base.commandline import Answer
from vmmnet.confine import judge
from vmmnet.confine.tally import FAULTS

pytestmark = pytest.mark.usefixtures("judged")

WWW, FRONT, MIRROR = "2001:db8:80::80", "2001:db8:80::81", "192.0.2.7"


def policy(*words: str | Path) -> Answer:
    return commandline.run("policy", *map(str, words))


def event(kind: str, **members: Any) -> dict[str, Any]:
    """A line, without its number."""
    return {
        "time": "2026-11-28T09:14:03.120451Z",
        "vm": "web",
        "dev": "v0",
        "event": kind,
    } | members


def opened(address: str, port: int, *asked: str, proto: str = "tcp", **more: Any) -> dict[str, Any]:
    there = {"asked": list(asked)} if asked else {}
    return event("open", proto=proto, address=address, port=port, verdict="allow", **there, **more)


def asked(name: str, verdict: str = "allow", **more: Any) -> dict[str, Any]:
    return event("name", name=name, type="AAAA", verdict=verdict, **more)


def log(path: Path, *events: Mapping[str, Any]) -> Path:
    lines = (json.dumps({"v": 1, "seq": n, **each}) for n, each in enumerate(events, 1))
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "web.log"


def learned(file: Path, *words: str) -> list[str]:
    """The statements of a learned policy, without comments."""
    answer = policy("learn", file, *words)
    assert (answer.status, answer.err) == (0, "")
    rules = (line.partition("#")[0].split() for line in answer.out.splitlines())
    return [" ".join(words) for words in rules if words]


def test_names_and_ports_are_learned(file: Path) -> None:
    log(
        file,
        asked("www.example.com"),
        opened(WWW, 443, "WWW.example.com"),
        opened(WWW, 443, "www.example.com", "other.example.com"),
        opened(WWW, 80, "www.example.com."),
        opened(MIRROR, 123, proto="udp"),
        opened(WWW, 53, "intranet", proto="udp"),
        event("open", proto="icmp", address=WWW, asked=["www.example.com"], verdict="watch"),
        asked("_http._tcp.debian.example"),
        opened(FRONT, 5000, incoming=True),
    )
    assert learned(file) == [
        "allow www.example.com icmp",
        "allow www.example.com tcp 80",
        "allow www.example.com tcp 443",
        "allow _http._tcp.debian.example dns",
        "allow intranet. udp 53",
        "allow 192.0.2.7 udp 123",
        "default deny",
        "dns listed",
    ]
    assert "tcp 443  # 2\n" in policy("learn", file).out


def test_what_was_refused_is_not_learned(file: Path) -> None:
    """Neither at connect(), nor for the first bytes, nor a name."""
    front = {"socket": 8, "proto": "tcp", "address": FRONT, "port": 443}
    log(
        file,
        event("refused", proto="tcp", address=WWW, port=25, reason="deny-rule", verdict="deny"),
        event("refused", proto="tcp", address="::1", port=25, reason="loopback", verdict="deny"),
        asked("evil.example", "deny", reason="deny-unlisted"),
        opened(FRONT, 443, "front.example", socket=8),
        event("refused", reason="not-asked", said="evil.example", verdict="deny", **front),
        event("close", **front),
        # The same socket, used again.
        opened(FRONT, 443, "b.example", socket=8),
    )
    assert learned(file) == ["allow b.example tcp 443", "default deny", "dns listed"]


def test_streams_that_agree_must_go_on_to(file: Path) -> None:
    """'tls' is learned where every stream said its name in it; such rules are the last ones."""
    log(
        file,
        opened(WWW, 443, "a.example", said="a.example", alpn="h2", socket=1),
        opened(WWW, 443, "a.example", said="a.example", says="tls", socket=2),
        opened(WWW, 443, "b.example", "a.example", said="b.example", says="tls", socket=3),
        opened(WWW, 443, "b.example", "a.example", socket=4),
        # What a stream began with is in a line behind that of its connection.
        opened(WWW, 8443, "c.example", socket=5),
        event("close", proto="tcp", address=WWW, port=8443, socket=5, said="c.example", says="tls"),
        opened(WWW, 80, "a.example", said="a.example", socket=6),
    )
    assert learned(file) == [
        "allow a.example tcp 80",
        "allow b.example tcp 443",
        "allow a.example tcp 443 tls",
        "allow c.example tcp 8443 tls",
        "default deny",
        "dns listed",
    ]


def test_what_nobody_looked_at_is_told(file: Path) -> None:
    """As under 'default watch'; where a rule has looked, there is nothing to add."""
    log(
        file,
        opened(WWW, 443, "a.example"),
        opened(WWW, 80, "a.example"),
        opened(WWW, 22, "a.example"),
        opened(MIRROR, 443, proto="udp"),
    )
    text = policy("learn", file).out
    assert "add 'http' to tcp 80, 'tls' to tcp 443,\n" in text
    log(file, opened(WWW, 443, "a.example", said="a.example", says="tls"), opened(WWW, 22))
    assert "looked" not in policy("learn", file).out


def test_streams_on_which_nothing_was_sent_say_nothing(file: Path, tmp_path: Path) -> None:
    """One that failed, one that lost the race of a name's addresses, one that was given up."""
    of = {"proto": "tcp", "port": 443}
    log(
        file,
        opened(WWW, 443, "a.example", socket=1),
        event("close", **of, address=WWW, socket=1, sent=0, error="ECONNREFUSED"),
        opened(WWW, 443, "a.example", socket=2),
        opened(FRONT, 443, "a.example", socket=2),
        event("said", **of, address=FRONT, socket=2, said="a.example", says="tls"),
        event("close", **of, address=FRONT, socket=2, sent=700),
        opened(WWW, 443, "b.example", socket=1),
        event("close", **of, address=WWW, socket=1, sent=0),
    )
    assert learned(file) == [
        "allow b.example tcp 443",
        "allow a.example tcp 443 tls",
        "default deny",
        "dns listed",
    ]
    assert "# 3\n" in policy("learn", file).out and "looked" not in policy("learn", file).out
    tls = tmp_path / "tls.policy"
    tls.write_text("allow a.example tcp 443 tls\nallow b.example tcp 443 tls\n")
    everything = tmp_path / "all.policy"
    everything.write_text("allow ::/0\n")
    assert policy("diff", everything, tls, file).out == ""
    log(file, opened(WWW, 443, "a.example", socket=1), opened(FRONT, 443, "a.example", socket=1))
    assert policy("diff", everything, tls, file).out.startswith("2  allow -> tls  a.example")


def test_port_0(file: Path, tmp_path: Path) -> None:
    """getaddrinfo() without a service asks for it, and is refused; no rule is for it alone."""
    told = {"proto": "udp", "address": WWW, "asked": ["www.example.com"]}
    log(file, event("refused", **told, reason="deny-default", errno="EACCES", verdict="deny"))
    none, port, all_of_it = (tmp_path / name for name in ("none", "port", "all"))
    none.write_text("default deny\n")
    port.write_text("allow www.example.com udp 443\ndefault deny\n")
    all_of_it.write_text("allow www.example.com udp\ndefault deny\n")
    answer = policy("diff", none, port, file)
    assert (answer.status, answer.out, answer.err) == (0, "", "")
    assert "deny -> allow  www.example.com  udp" in policy("diff", none, all_of_it, file).out
    log(file, event("open", **told, verdict="allow"))
    answer = policy("learn", file)
    assert answer.status == 3 and "allow" not in answer.out
    assert f"not learned: udp {WWW} 0, once" in answer.out


def test_a_name_that_was_said_may_be_one_that_another_led_to(file: Path) -> None:
    """An HTTPS record or a CNAME leads on: the one opens the address, the other is said."""
    log(
        file,
        opened(WWW, 443, "www.example.com", socket=1),
        event("said", proto="tcp", address=WWW, port=443, socket=1, said="cdn.example", alpn="h2"),
    )
    assert learned(file)[:2] == [
        "allow www.example.com tcp 443 tls",
        "allow cdn.example tcp 443 tls",
    ]


def test_each_name_that_a_stream_said_is_learned(file: Path) -> None:
    """Until something else was refused."""
    of = {"proto": "tcp", "address": WWW, "port": 80, "socket": 1}
    log(
        file,
        opened(WWW, 80, "a.example", "b.example", "evil.example", socket=1),
        *(event("said", **of, said=name, says="http") for name in ("a.example", "b.example")),
        event("refused", **of, said="evil.example", reason="other-name", verdict="deny"),
    )
    assert learned(file) == [
        "allow a.example tcp 80 http",
        "allow b.example tcp 80 http",
        "default deny",
        "dns listed",
    ]


def test_limits_and_budgets_are_no_verdicts(file: Path) -> None:
    """What they refuse once was allowed before, and stays so."""
    of = {"proto": "tcp", "address": WWW, "port": 443, "socket": 1}
    log(
        file,
        asked("www.example.com"),
        opened(WWW, 443, "www.example.com", socket=1),
        event("refused", **of, reason="budget-sent", errno="EACCES", verdict="deny"),
        event("refused", **of, reason="limit-connections", errno="ENOBUFS", verdict="deny"),
        asked("x.example.com", "deny", reason="budget-names"),
    )
    assert learned(file)[0] == "allow www.example.com tcp 443"
    everything = file.with_name("all.policy")
    everything.write_text("allow ::/0\n")
    assert policy("diff", everything, everything, file).status == 0
    none = file.with_name("none.policy")
    none.write_text("default deny\n")
    assert len(policy("diff", everything, none, file).out.splitlines()) == 2


def test_flows_of_quic(file: Path) -> None:
    """A socket may have several; one that was refused and goes on is not learned."""
    flow = {"proto": "udp", "address": WWW, "port": 443, "socket": 1}
    other = flow | {"address": FRONT}
    log(
        file,
        opened(WWW, 443, "www.example.com", proto="udp", socket=1),
        event("said", **flow, said="www.example.com", alpn="h3"),
        opened(FRONT, 443, "front.example", proto="udp", socket=1),
        *(event("refused", **other, said="evil.example", reason="other-name") for _ in range(3)),
        event("refused", **flow, reason="deny-rule", errno="EACCES", verdict="deny"),
    )
    assert learned(file)[0] == "allow www.example.com udp 443 tls"
    assert "front" not in policy("learn", file).out


def test_reasons_of_first_bytes_are_those_of_the_device() -> None:
    source = (paths.ROOT / "hw/vmrpc/said/said.c").read_text()
    found = {*re.findall(r'\[VMRPC_SAID_\w+\] = "([^"]+)"', source)}
    assert found == {"ok", *FAULTS}


def test_wildcards_are_learned_only_where_asked_for(file: Path) -> None:
    log(
        file,
        opened(WWW, 443, "a.cdn.example"),
        opened(FRONT, 443, "b.c.cdn.example"),
        opened(FRONT, 443, "cdn.example"),
        asked("d.cdn.example"),
    )
    assert "*" not in policy("learn", file).out
    for wildcard in ("cdn.example", "*.CDN.example."):
        assert learned(file, "--wildcard", wildcard) == [
            "allow cdn.example tcp 443",
            "allow *.cdn.example tcp 443",
            "default deny",
            "dns listed",
        ]
    answer = policy("learn", file, "--wildcard", "a b")
    assert answer.status == 2
    assert "'a b' is no name, as in 'example.com'" in answer.err


def test_an_address_that_is_refused_without_a_rule_has_its_own(file: Path) -> None:
    """A rule by name would not open it."""
    log(
        file,
        opened("169.254.169.254", 80, "metadata.example"),
        event("refused", proto="tcp", address=WWW, port=22, reason="host", verdict="deny"),
        opened(WWW, 443, "host.example"),
    )
    assert {"allow 169.254.169.254 tcp 80", f"allow {WWW} tcp 443"} < {*learned(file)}


def test_a_name_that_no_rule_can_have_is_told(file: Path) -> None:
    """It brings no statement into the file, whatever it is."""
    name = "x\ndefault allow\n\\032.1\u202e"
    log(file, asked(name), asked("10.0.0.5"), opened(WWW, 80, name))
    answer = policy("learn", file)
    assert answer.status == 3
    statements = [line for line in answer.out.splitlines() if not line.startswith("#")]
    assert [line.partition("  #")[0] for line in statements] == [
        f"allow  {WWW}  tcp 80",
        "default deny",
        "dns listed",
    ]
    assert "# not learned: the name 10.0.0.5, asked for once: no rule can have it" in answer.out
    assert "vmmnet policy: not learned: the name x\\010default\\032allow" in answer.err
    assert answer.out.isascii()


NAMES = (
    *("a.example", "b.example", "c.b.example", "www.example.com", "intranet", "X--_.Example."),
    *("a\\032b.example", "a\\.b.example", "9.9.9.9", "foo.1", ".", "-", "host", "\u00fc.example"),
    *("*.example", "default deny", f"{'l' * 63}.example", f"{'l' * 64}.example", "a#b.example"),
    ".".join(["abcdefghi"] * 25),
)
ADDRESSES = (
    *(WWW, FRONT, MIRROR, "64:ff9b::7f00:1", "64:ff9b::c000:207", "2002:7f00:1::1", "::1", "::"),
    *("fe80::1", "ff02::fb", "ff0e::1", "169.254.169.254", "127.0.0.1", "255.255.255.255"),
    *("::ffff:192.0.2.1", "fd00:ec2::254", "100.100.100.200", "10.0.0.1"),
)


def guest(rng: random.Random) -> Iterator[dict[str, Any]]:
    """What some guest did under some policy."""
    names, addresses = rng.sample(NAMES, 6), rng.sample(ADDRESSES, 5)
    for socket in range(rng.randrange(1, 60)):
        name, address = rng.choice(names), rng.choice(addresses)
        proto = rng.choice(("tcp", "tcp", "udp", "icmp"))
        of = {"proto": proto, "address": address, "socket": rng.choice((socket, 7))}
        of |= {"port": rng.choice((22, 80, 443))} if proto != "icmp" else {}
        known = {"asked": rng.sample(names, rng.randrange(1, 4))} if rng.random() < 0.7 else {}
        says = {}
        if known and proto != "icmp" and rng.random() < 0.6:
            word = rng.choice(("tls", "tls", "http")) if proto == "tcp" else "tls"
            says = {"said": rng.choice(known["asked"]), "says": word}
        kind = rng.randrange(8)
        if kind == 0:
            yield asked(name)
        elif kind == 1:
            yield asked(name, "deny", reason="deny-unlisted")
        elif kind == 2:
            yield event(
                "refused", **of, **known, reason="deny-rule", errno="EACCES", verdict="deny"
            )
        elif kind == 3:
            yield event("open", **of, incoming=True)
        else:
            yield event("open", **of, **known, **says, verdict=rng.choice(("allow", "watch")))
            if proto != "icmp" and kind == 4:
                yield event("refused", **of, **known, reason="malformed", verdict="deny")
            yield event("close", **{**of, "sent": 5, "received": 6, "ms": 7})


def allowed(events: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], bool]]:
    """Streams and questions that were allowed, each with whether it said a name."""
    for each, following in itertools.zip_longest(events, events[1:]):
        fault = following and following["event"] == "refused" and following["reason"] == "malformed"
        if each["event"] == "name" and each["verdict"] != "deny":
            yield each, False
        elif each["event"] == "open" and not each.get("incoming") and not fault:
            yield each, "said" in each


@pytest.mark.parametrize("seed", range(40))
def test_a_log_is_allowed_by_what_was_learned_from_it(seed: int, tmp_path: Path) -> None:
    """No destination and no name is refused, but names that no rule can have; those are told."""
    events = list(guest(random.Random(seed)))
    file, made = log(tmp_path / "log", *events), tmp_path / "made.policy"
    answer = policy("learn", file, "-o", made, "--json")
    missing = json.loads(answer.out)["missing"]
    assert answer.status == (3 if missing else 0)
    assert all(each.startswith("the name ") for each in missing)
    text = made.read_bytes()
    assert b"*" not in text.replace(b"\\*", b"").partition(b"# not")[0]
    there = list(allowed(events))
    questions = [
        judge.Name(judge.word(each["name"]))
        if each["event"] == "name"
        else where(each, each.get("asked", ()))
        for each, _ in there
    ]
    saying = [where(each, [each["said"]]) for each, has_said in there if has_said]
    verdicts = iter(judge.ask(text, "made", [*questions, *saying]).verdicts)
    firsts = list(itertools.islice(verdicts, len(questions)))
    for (each, has_said), verdict in zip(there, firsts, strict=True):
        said = next(verdicts) if has_said else None
        if each["event"] == "name" and verdict.denies:
            assert any(judge.word(each["name"]) in told for told in missing)
            continue
        assert verdict.verdict == "allow", (each, verdict, text.decode())
        if verdict.says:
            assert verdict.says == each["says"]
            assert said is not None
            assert not said.denies
    # So it is by 'diff', too: nothing that was allowed changes.
    everything = tmp_path / "everything.policy"
    everything.write_text("".join(f"allow {each}\n" for each in (*ADDRESSES, "host")))
    only = log(tmp_path / "allowed", *(each for each, _ in there))
    changes = json.loads(policy("diff", everything, made, only, "--json").out)
    assert {each["proto"] for each in changes} <= {"dns"}
    assert len(changes) == len(missing)


def where(line: Mapping[str, Any], names: Any) -> judge.Destination:
    return judge.destination(line["proto"], line["address"], line.get("port", 0), names)


def test_nothing_more_is_learned(file: Path, tmp_path: Path) -> None:
    """Another port, protocol, address or name is refused."""
    made = tmp_path / "made"
    log(file, opened(WWW, 443, "www.example.com"), opened(MIRROR, 123, proto="udp"))
    assert policy("learn", file, "-o", made).status == 0
    for words in (
        ("www.example.com", "tcp", "80"),
        ("www.example.com", "udp", "443"),
        ("www.example.com", "icmp"),
        ("example.com", "tcp", "443"),
        ("a.www.example.com", "tcp", "443"),
        (WWW, "tcp", "443"),
        (MIRROR, "tcp", "123"),
        ("192.0.2.8", "udp", "123"),
        ("other.example.com",),
    ):
        assert policy("test", made, *words).status == 3, words
    assert policy("test", made, "www.example.com", "tcp", "443").status == 0


def test_logs_of_several_vms_and_files(tmp_path: Path) -> None:
    """Older ones may be compressed, and come in any order."""
    later = log(tmp_path / "log", opened(WWW, 80, "b.example") | {"vm": "db"})
    first = tmp_path / "log.1.gz"
    line = {"v": 1, "seq": 1, **opened(WWW, 80, "a.example"), "time": "2026-11-27T00:00:00Z"}
    first.write_bytes(gzip.compress(json.dumps(line).encode() + b"\n"))
    both = policy("learn", later, first)
    assert "a.example" in both.out
    assert "b.example" in both.out
    only = policy("learn", later, first, "--vm", "db")
    assert "a.example" not in only.out
    assert "b.example" in only.out
    # A file that is cut is read as far as it goes.
    first.write_bytes(first.read_bytes()[:-9])
    answer = policy("learn", first)
    assert (answer.status, "a.example" in answer.out) == (0, True)
    assert "log.1.gz: the rest is cut or damaged" in answer.err


def test_too_many_rules_are_refused(file: Path) -> None:
    log(file, *(opened(f"2001:db8::{n:x}", 80) for n in range(1, 4098)))
    answer = policy("learn", file)
    assert answer.status == 1
    assert answer.out == ""
    assert "what is learned:4098: more than 4096 rules: give names" in answer.err


def test_the_policy_is_replaced_as_a_whole(file: Path, tmp_path: Path) -> None:
    made = tmp_path / "web.policy"
    made.write_text("old")
    made.chmod(0o640)
    log(file, opened(WWW, 80))
    assert policy("learn", file, "-o", made).out == ""
    assert made.stat().st_mode & 0o777 == 0o640
    assert made.read_text().endswith("default deny\ndns listed\n")
    assert {each.name for each in tmp_path.iterdir()} == {"web.log", "web.policy"}
    answer = policy("learn", file, "-o", tmp_path / "none" / "web.policy")
    assert answer.status == 1
    assert "No such file" in answer.err


def test_a_log_of_which_nothing_is_learned(file: Path) -> None:
    """A policy that allows nothing is not made silently."""
    log(file, opened(WWW, 80))
    assert policy("learn", file).err == ""
    answer = policy("learn", file, "--vm", "webb")
    assert answer.out.count("\n") == 3 and "nothing that the VM 'webb' was allowed" in answer.err
    log(file)
    assert "nothing that a device was allowed" in policy("learn", file).err


HOSTILE: list[Any] = [
    *({"event": "open"}, {"event": "open", "proto": "tcp", "address": 7, "port": 80}),
    {"event": "open", "proto": "tcp", "address": WWW, "port": "80"},
    {"event": "open", "proto": "tcp", "address": WWW, "port": 0},
    {"event": "open", "proto": "tcp", "address": f"{WWW}\nallow ::/0", "port": 80},
    {"event": "open", "proto": "tcp", "address": "fe80::1%lo", "port": 80},
    {"event": "open", "proto": "tcp", "address": WWW, "port": 80, "asked": "www"},
    {"event": "open", "proto": "tcp", "address": WWW, "port": 80, "asked": 7},
    {"event": "open", "proto": "tcp", "address": WWW, "port": 80, "asked": [[]]},
    {"event": "open", "proto": "tcp", "address": WWW, "port": 80, "asked": [""]},
    {"event": "open", "proto": "tcp", "address": WWW, "port": 80, "asked": ["\ud800"], "said": 7},
    {"event": "open", "proto": "tcp", "address": WWW, "port": 80, "socket": {}},
    {"event": "open", "proto": "tcp", "address": WWW, "port": 80, "vm": [], "seq": 8},
    *({"event": "name"}, {"event": "name", "name": {}}, {"event": "name", "name": 7}),
    *({"event": "refused", "socket": []}, {"event": "refused", "proto": {}}),
    *({"event": "close", "said": []}, {"event": "later", "said": "a", "socket": []}),
]


def test_a_log_of_somebody_else_is_no_policy(file: Path) -> None:
    """Wrong members and lines are told; what is right around them is learned."""
    lines = [json.dumps(each) for each in HOSTILE]
    lines += ["", "nonsense", "7", "[" * 100000, '{"event": 7}', '{"seq": ' + "9" * 5000 + "}"]
    lines.append(json.dumps(opened(WWW, 443, "www.example.com")))
    file.write_text("".join(f"{line}\n" for line in lines) + '{"v":1,"seq":9,"ev')
    answer = policy("learn", file)
    rules = [line for line in answer.out.splitlines() if line.startswith("allow")]
    assert [" ".join(rule.split()) for rule in rules] == [
        "allow www.example.com tcp 443 # 1",
        f"allow {WWW} tcp 80 # 2",
    ]
    assert f"{file}: 6 lines are none of an audit log" in answer.err
    assert f"{file}: the last line is cut" in answer.err
    assert " events are none of a device, and left out" in answer.err


# --- test --------------------------------------------------------------------------------

RULES = """\
deny  10.0.0.0/8  # inside
allow www.example.com tcp 443 tls
allow ssh.example.com tcp 22
watch ftp.example.com
allow host tcp 22
default deny
dns listed
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "web.policy"
    path.write_text(RULES)
    return path


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        ("", 0, ["{file} is right: policy 610f2ad0"]),
        (
            "www.example.com tcp 443",
            0,
            [
                "ask: allow ({file}:2: allow www.example.com tcp 443 tls)",
                "use: allow ({file}:2: allow www.example.com tcp 443 tls),"
                " if its stream says a name in tls",
            ],
        ),
        (
            "ssh.example.com tcp 22 --address 10.1.2.3",
            3,
            [
                "ask: allow ({file}:3: allow ssh.example.com tcp 22)",
                "use: deny ({file}:1: deny 10.0.0.0/8, EACCES)",
            ],
        ),
        (
            "FTP.example.com. udp 9",
            0,
            [f"{each}: watch ({{file}}:4: watch ftp.example.com)" for each in ("ask", "use")],
        ),
        ("evil.example", 3, ["ask: deny ({file}:7: dns listed, EACCES)"]),
        ("10.1.2.3 tcp 22", 3, ["use: deny ({file}:1: deny 10.0.0.0/8, EACCES)"]),
        ("host tcp 22", 0, ["use: allow ({file}:5: allow host tcp 22)"]),
        ("host udp 22", 3, ["use: deny (host, ENETUNREACH)"]),
        ("::1 icmp", 3, ["use: deny (loopback, ENETUNREACH)"]),
    ],
)
def test_a_verdict(words: str, status: int, told: list[str], rules: Path) -> None:
    answer = policy("test", rules, *words.split())
    assert (answer.status, answer.err) == (status, "")
    assert answer.out.splitlines() == [line.format(file=rules) for line in told]


def test_a_policy_without_default(tmp_path: Path) -> None:
    """Whoever only writes what is allowed has not refused anything."""
    path = tmp_path / "web.policy"
    path.write_text("allow www.example.com tcp 443\n# default deny\n")
    answer = policy("test", path)
    assert answer.status == 0 and "no 'default': what no line matches is allowed\n" in answer.out


def test_a_verdict_for_programs(rules: Path) -> None:
    answer = policy("test", rules, "evil.example", "tcp", "1", "--json")
    verdict = {"verdict": "deny", "reason": "deny-default", "line": 6, "error": "EACCES"}
    assert json.loads(answer.out)["use"] == verdict | {"name": "evil.example"}


_PLACES = ("https://a.example/", "a.example:443", "10.0.0.0/8", "*.a.example", "me@a.example")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("10.0.0.1", "an address needs 'tcp', 'udp' or 'icmp', and a port"),
        ("a.example tcp", "'tcp' and 'udp' need a port, and 'icmp' has none"),
        ("a.example icmp 7", "'tcp' and 'udp' need a port, and 'icmp' has none"),
        ("a.example sctp 7", "there is no 'sctp'"),
        *((f"{each} tcp 443", f"'{each}' is no name") for each in _PLACES),
        ("a.example tcp 65536", "'65536' is no port (1 to 65535)"),
        ("a.example tcp 7 --address 10.0.0", "'10.0.0' is no address"),
        ("10.0.0.1 tcp 7 --address 10.0.0.1", "--address is for a name"),
    ],
)
def test_a_wrong_question(words: str, told: str, rules: Path) -> None:
    answer = policy("test", rules, *words.split())
    assert (answer.status, answer.out) == (2, "")
    assert told in answer.err


def test_a_wrong_file_has_the_error_of_the_device(tmp_path: Path) -> None:
    path = tmp_path / "web.policy"
    path.write_text("default deny\nallow hots\n")
    answer = policy("test", path)
    assert (answer.status, answer.out) == (1, "")
    assert answer.err == (
        f"vmmnet policy: {path}:2: 'hots' is not an address, a prefix, a name with a dot in it,"
        " or 'host'\n"
    )
    path.write_bytes(b"#" * (1 << 20) + b"\n")
    assert "longer than 1048576 bytes" in policy("test", path).err
    path.write_bytes(b"allow \xff\0.example\n")
    assert "holds a NUL byte" in policy("test", path).err
    path.unlink()
    assert f"{path}: No such file" in policy("test", path).err


def test_without_the_program(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "PLACES", (Path("/nowhere"), Path("/neither")))
    answer = policy("test", rules)
    assert answer.status == 1
    assert "policy-judge is neither /nowhere nor /neither: 'make policy' builds it" in answer.err


def test_questions_are_answered_in_their_order() -> None:
    """Many, by one process; a name that is no word is one."""
    names = [f"n{n}.example" for n in range(5000)]
    questions = [judge.Name(judge.word(f"{each} x\n")) for each in names]
    text = b"allow *.example\ndefault deny\n"
    answers = judge.ask(text, "p", questions).verdicts
    assert [each.name for each in answers] == [f"{each}\\032x\\010" for each in names]


# --- diff --------------------------------------------------------------------------------


def test_what_a_new_policy_changes(file: Path, rules: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.policy"
    new.write_text("allow www.example.com tcp 443\nallow ssh.example.com tcp 22\n"
                   "allow 10.0.0.0/8\nallow evil.example\ndefault deny\n")  # fmt: skip
    log(
        file,
        # Without a change: a stream that says what it may.
        opened(WWW, 443, "www.example.com", said="www.example.com", says="tls"),
        asked("www.example.com"),
        # One that says nothing, and one whose first bytes were refused.
        *(opened(WWW, 443, "www.example.com", socket=n) for n in (1, 2, 3)),
        event("refused", proto="tcp", address=WWW, port=443, socket=3, reason="not-tls"),
        opened(FRONT, 21, "ftp.example.com"),
        *(
            event("refused", proto="udp", address=a, port=5, reason="deny-rule", verdict="deny")
            for a in ("10.0.0.1", "10.0.0.1", "10.0.0.2")
        ),
        event("refused", proto="tcp", address="10.0.0.3", port=1, reason="limit-connections"),
        asked("evil.example", "deny", reason="deny-default"),
    )
    answer = policy("diff", rules, new, file)
    assert (answer.status, answer.err) == (3, "")
    found = {" ".join(line.split()) for line in answer.out.splitlines()}
    assert found == {
        "2 tls -> allow www.example.com tcp 443 line 2 -> 1 allow-rule",
        "1 deny -> allow www.example.com tcp 443 line 2 -> 1 allow-rule",
        "1 watch -> deny ftp.example.com tcp 21 line 4 -> 5 deny-default",
        "2 deny -> allow 10.0.0.1 udp 5 line 1 -> 3 allow-rule",
        "1 deny -> allow 10.0.0.2 udp 5 line 1 -> 3 allow-rule",
        "1 deny -> allow evil.example dns line 7 -> 3 allow-rule",
    }
    first = json.loads(policy("diff", rules, new, file, "--json").out)[0]
    assert (first["count"], first["old"], first["new"]) == (2, "tls", "allow")
    assert policy("diff", new, rules, file).out != answer.out


def test_nothing_changes(file: Path, rules: Path) -> None:
    log(file, opened(WWW, 443, "www.example.com"), asked("www.example.com"))
    answer = policy("diff", rules, rules, file)
    assert (answer.status, answer.out, answer.err) == (0, "", "")


def test_a_stream_says_another_name_than_the_new_policy_allows(
    file: Path, rules: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old.policy"
    old.write_text("allow www.example.com tcp 443\n")
    stream = opened(WWW, 443, "www.example.com", "evil.example", said="evil.example", says="tls")
    plain = opened(WWW, 443, "www.example.com", said="www.example.com", says="http")
    log(file, stream, plain)
    out = policy("diff", old, rules, file).out
    assert {" ".join(line.split()) for line in out.splitlines()} == {
        "1 allow -> deny evil.example tcp 443 line 1 -> 6 other-name",
        "1 allow -> deny www.example.com tcp 443 line 1 -> 2 not-tls",
    }
