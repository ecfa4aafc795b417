# SPDX-License-Identifier: GPL-2.0-or-later
"""The benchmark of DNS: its questions, its parsers, and its goals."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import dns.flags
import dns.message
import dns.rdataclass
import dns.rdatatype
import dns.zone
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from lab.dns import products as dns_peers

from bench.base.report import Spread
from bench.dns import (
    bed,
    changing,
    client,
    drain,
    figures,
    guest,
    parse,
    publish,
    root,
    server,
    start,
)

_REPORT = """\
Statistics:

  Queries sent:         107370
  Queries completed:    107361 (99.99%)
  Queries lost:         9 (0.01%)

  Response codes:       {codes}
  Average packet size:  request 44, response 350
  Run time (s):         1.000005
  Queries per second:   107360.463198
"""


def test_questions_are_messages() -> None:
    """dnspython reads what is asked, with and without EDNS."""
    plain = dns.message.from_wire(bed.question("www.example.net.", 28, ident=4711))
    assert plain.id == 4711
    assert plain.question[0].to_text() == "www.example.net. IN AAAA"
    assert plain.edns == -1
    signed = dns.message.from_wire(bed.question(".", 2, dnssec=True))
    assert signed.question[0].to_text() == ". IN NS"
    assert (signed.payload, signed.ednsflags) == (1232, dns.flags.DO)


def test_mix_is_as_described() -> None:
    """40 % of the names do not exist, 70 % ask for signatures; the same each time."""
    names = root.names(random.Random(1), 300)
    assert len(set(names)) == 300
    asked = list(root.questions(names, random.Random(2), 4000))
    assert asked == list(root.questions(names, random.Random(2), 4000))
    read = [dns.message.from_wire(each) for each in asked]
    tops = [each.question[0].name.labels[-2].decode() for each in read]
    assert sum(top not in names for top in tops) / 4000 == pytest.approx(0.4, abs=0.03)
    signed = sum(bool(each.ednsflags & dns.flags.DO) for each in read)
    assert signed / 4000 == pytest.approx(0.7, abs=0.03)


def test_root_zone_is_a_zone() -> None:
    """Each delegation has servers, both kinds of glue, and a DS."""
    names = root.names(random.Random(1), 20)
    text = "\n".join(root.lines(names, random.Random(1)))
    zone = dns.zone.from_text(text + "\n", ".", relativize=False)
    for name in names:
        node = zone[f"{name}."]
        assert node.get_rdataset(dns.rdataclass.IN, dns.rdatatype.DS)
        for server_name in node.get_rdataset(dns.rdataclass.IN, dns.rdatatype.NS):
            glue = zone[server_name.target]
            assert {each.rdtype for each in glue} == {dns.rdatatype.A, dns.rdatatype.AAAA}


def test_dnsperf_is_read() -> None:
    """Parses numbers; answers that a root server would not give make a run invalid."""
    codes = "NOERROR 64000 (59.61%), NXDOMAIN 43361 (40.39%)"
    assert server.read(_REPORT.format(codes=codes)) == server.Run(107361, 9, 107360.463198)
    with pytest.raises(RuntimeError, match="SERVFAIL"):
        server.read(_REPORT.format(codes=f"{codes}, SERVFAIL 1 (0.00%)"))
    with pytest.raises(RuntimeError, match="0 answers"):
        server.read("")


def test_scaling_is_estimated() -> None:
    """The ratio of two threads to one; beyond, each thread adds what the second has added."""
    assert server.scaling([100.0, 100.0, None], [190.0, 100.0, 1.0]) == [1.9, 1, None]
    # 6 us with one thread, 7 with two, so 9 with four.
    assert server.beyond(12 / 7, 4) == pytest.approx(4 * 6 / 9)
    assert server.beyond(2.1, 4) == 4


def test_drain_is_read() -> None:
    """The median of the rates, and times of an answer; wrong answers make a run invalid."""
    text = "1 160000\n0 9\n1 150000\n1 10\n1 replies 200000 wrong {} user 0.40 system 1.00\n"
    assert drain.read(text.format(0), 1) == drain.Drained(200000, 7.0, 2.0, 150000)
    with pytest.raises(RuntimeError, match="no answers"):
        drain.read(text.format(3), 1)
    with pytest.raises(RuntimeError, match="no measurement"):
        drain.read(text.format(0), 0)


def test_updates_are_read() -> None:
    """Updates a second, and between two moments; refused updates make a run invalid."""
    text = "at 1000000000 0\nat 2000000000 500\nat 3000000000 900\n"
    done = changing.read_updates(f"{text}acknowledged 1000 refused 0 again 2 seconds 2.500")
    assert (done.rate, done.between(2, 3.5), done.between(0, 2.9)) == (400, 400, 500)
    with pytest.raises(RuntimeError, match="refused 1"):
        changing.read_updates("acknowledged 9 refused 1 again 0 seconds 1.000")
    assert changing.read_reader("answers 9 lost 0 p50 30.1 p99 61.5 p999 99.0\n") == 61.5


def test_server_that_does_not_start_is_told(tmp_path: Path) -> None:
    """The error has the end of its log."""
    log = tmp_path / "NSD.log"
    log.write_text("nsd: cannot bind\n")
    with pytest.raises(RuntimeError, match=r"no port\nNSD.log: nsd: cannot bind"), bed.logged(log):
        raise RuntimeError("no port")


def test_family_of_processes() -> None:
    """All descendants, and no other processes."""
    parents = [(1, 0), (7, 1), (8, 7), (9, 8), (10, 1)]
    assert bed.family(7, parents) == [7, 8, 9]


def test_lookups_are_read() -> None:
    """A time, and whether there was an address."""
    assert client.read("53.1\n") == (53.1, True)
    assert client.read("12.5 none\n") == (12.5, False)
    assert client.name_of("drop") == "drop-aaaa.example.net."
    assert guest.read("zone 1500.0\nidle 250\nzone 1600\n") == {
        "zone": [1.5, 1.6],
        "idle": [0.25],
    }


def test_quick_is_small() -> None:
    """--quick has priority; parts are selected by name."""
    plan = parse(["--quick", "--only", "client,start"])
    assert (plan.rounds, plan.records, plan.parts) == (1, 100_000, ("start", "client"))
    assert plan.name == "dns-start-client"
    assert parse(["--only", "client,server"]).rounds_of == {"server": 5, "client": 2}
    assert (parse([]).records, parse([]).name) == (8_500_000, "dns")


def _found(ready: float, nsd: float) -> publish.Found:
    costs = {
        (kind, server.cost_name(("udp", threads))): [cost]
        for kind, cost in ((dns_peers.OURS, 5.0), (dns_peers.NSD, nsd))
        for threads in server.THREADS
    }
    return publish.Found(
        rounds=1,
        start=start.Found(1000, {(dns_peers.OURS, start.READY.name): [ready]}),
        server=server.Found(costs),
    )


@pytest.mark.parametrize(("ready", "nsd", "verdict"), [(0.01, 6.7, "met"), (0.1, 6.6, "not met")])
def test_goals(ready: float, nsd: float, verdict: str) -> None:
    """A goal is met or not; a smaller zone than 8.5 million records is reported."""
    made = dict(publish.tables(_found(ready, nsd)))
    rows = {row[0]: row[-1] for row in made["Goals"][1:]}
    assert rows == {
        "start to the first right answer, 1,000 records, not 8,500,000": verdict,
        "server CPU per UDP query, of NSD's": verdict,
    }


def test_peers_of_this_machine_are_beside_the_others() -> None:
    """They have a column if they were measured, and no goal."""
    (name,) = (name for name, kind in server.OWN.items() if kind == dns_peers.NSD)
    found = _found(0.01, 10.0)
    assert name not in dict(publish.tables(found))[publish.SERVER][0]
    assert found.server
    for threads in server.THREADS:
        found.server.values[name, server.cost_name(("udp", threads))] = [2.0]
    made = dict(publish.tables(found))
    (row,) = (row for row in made[publish.SERVER] if row[0].startswith("CPU a query, UDP, 1 "))
    assert row[made[publish.SERVER][0].index(name)] == "2 (2..2)"
    assert [row[-1] for row in made["Goals"][1:]] == ["met", "met"]


def test_comparisons_have_peers() -> None:
    """The JSON has the ratio of ours to the peer's."""
    entries = [each.entry() for each in publish.comparisons(_found(0.01, 10.0))]
    assert [(entry["name"], entry["ours"], entry["ratio"]) for entry in entries if entry] == [
        ("server-cpu-udp-1-vs-NSD", 5, 0.5),
        ("server-cpu-udp-2-vs-NSD", 5, 0.5),
    ]


def test_goal_of_at_least() -> None:
    """Scaling is to be above its bound."""
    row = publish.Goal("scaling", 1.9, Spread(1.8, 1.7, 2), "x", most=False).row()
    assert row is not None
    assert row[1:] == ["at least 1.9 x", "1.8 (1.7..2)", "not met"]


def test_lines_of_the_figure(tmp_path: Path) -> None:
    """Ours and the paper's target; labels that would cover each other are moved apart."""
    found = server.Found(
        {(dns_peers.OURS, "scaling-udp"): [1.9], (dns_peers.NSD, "scaling-udp"): [1.9]}
    )
    drawn = figures.lines(found)
    assert [(line.name, line.speeds[-1]) for line in drawn] == [
        ("the paper's target", 2.5),
        (dns_peers.OURS, pytest.approx(3.45, abs=0.01)),
        (dns_peers.NSD, pytest.approx(3.45, abs=0.01)),
    ]
    figures.scaling(tmp_path / "figure.svg", drawn, "here")
    text = (tmp_path / "figure.svg").read_text()
    heights = [
        line.split('y="')[1].split('"')[0] for line in text.splitlines() if " 3.45</text>" in line
    ]
    assert len(set(heights)) == 2
