# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet cvsw check`` and its like for a file of tenants, without a network."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from lab.cvsw import plans as cvsw_plans
from vmmnet.command.parser import Parser
from vmmnet.command.status import Refused
from vmmnet.cvsw.plan import command

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run() -> Run:
    """Run a sub-command; gives its status and what it prints."""
    parser = Parser(prog="vmmnet cvsw")
    command.add_commands(parser.add_subparsers())

    def call(*words: str | Path) -> tuple[int, str]:
        given, out = parser.parse_args(list(map(str, words))), io.StringIO()
        with contextlib.redirect_stdout(out):
            return given.run(given), out.getvalue()

    return call


def test_check(run: Run, tmp_path: Path) -> None:
    """A valid file is shown as a table."""
    tree = cvsw_plans.tree()
    tree["tenants"]["blue"]["offloads"] = ["csum", "tso4"]
    tree["tenants"]["blue"]["vms"]["blue2"]["offloads"] = "none"
    path = cvsw_plans.write(tmp_path, tree)
    assert run("check", path) == (
        0,
        f"""\
tenant  VNI   LNID  cipher       member  MAC                tunnel       MTU   offloads
red     5001  7     aes-gcm-256  red1    52:54:00:00:00:01  192.0.2.1    1416  -
red     5001  7     aes-gcm-256  red2    52:54:00:00:00:02  192.0.2.2    1416  -
red     5001  7     aes-gcm-256  red3    52:54:00:00:00:03  192.0.2.3    1416  -
blue    5002  -     -            blue1   52:54:00:00:00:0b  192.0.2.11   1450  csum, tso4
blue    5002  -     -            blue2   52:54:00:00:00:0c  192.0.2.12   1450  none
blue    5002  -     -            router  02:00:00:00:00:09  192.0.2.9    -     -
green   5003  -     aes-gcm-128  green1  52:54:00:00:00:15  2001:db8::1  1396  -
green   5003  -     aes-gcm-128  green2  52:54:00:00:00:16  2001:db8::2  1396  -
{path}: no fault found
""",
    )


def test_faults(run: Run, tmp_path: Path) -> None:
    """All faults are reported, and nothing else; JSON has their positions."""
    tree = cvsw_plans.tree()
    tree["underlay"]["mtu"] = 9
    tree["tenants"]["red"]["vni"] = 0
    path = cvsw_plans.write(tmp_path, tree)
    texts = [
        "mtu 9 is out of range: it is 1280 to 65535",
        "vni 0 is out of range: it is 1 to 16777215",
    ]
    told = f"fault: {path}:2: {texts[0]}\nfault: {path}:5: {texts[1]}\n"
    assert run("check", path) == (3, told)
    status, out = run("check", "--json", path)
    assert (status, json.loads(out)) == (
        3,
        {
            "plan": str(path),
            "faults": 2,
            "findings": [
                {"kind": "fault", "text": texts[0], "line": 2, "column": 8},
                {"kind": "fault", "text": texts[1], "line": 5, "column": 10},
            ],
            "tenants": None,
        },
    )


def test_notes(run: Run, tmp_path: Path) -> None:
    """Unusual contents are noted, but are no fault."""
    red = {"vni": 1, "cipher": "aes-gcm-128", "vms": {"one": cvsw_plans.vm(1, "192.0.2.1")}}
    path = cvsw_plans.write(tmp_path, {"underlay": {"mtu": 1280}, "tenants": {"red": red}})
    status, out = run("check", path)
    assert status == 0
    assert out.splitlines()[:2] == [
        "note: tenant 'red' has one member only: it reaches no other",
        "note: guests of tenant 'red' have an MTU of 1196, and IPv6 asks for 1280",
    ]
    path = cvsw_plans.write(tmp_path, {"underlay": {"mtu": 1280}, "tenants": {}})
    assert run("check", path) == (0, f"note: there is no tenant\n{path}: no fault found\n")


def test_json(run: Run, tmp_path: Path) -> None:
    """A plan in JSON has no keys."""
    status, out = run("check", "--json", cvsw_plans.write(tmp_path, cvsw_plans.tree()))
    red, blue, _ = json.loads(out)["tenants"]
    assert status == 0
    assert red["vms"][0] == {
        "name": "red1",
        "tunnel": "192.0.2.1",
        "mac": "52:54:00:00:00:01",
        "mtu": 1416,
        "offloads": None,
    }
    assert (red["lnid"], red["cipher"], blue["lnid"]) == (7, "aes-gcm-256", None)
    assert blue["stations"] == [
        {"name": "router", "tunnel": "192.0.2.9", "macs": ["02:00:00:00:00:09"]}
    ]
    assert "key" not in out


def test_lnids(run: Run, hostvlan: Callable[..., object], tmp_path: Path) -> None:
    """HostVLAN accepts the entries: the ends of tunnels on the wire, and their routers."""
    tree = cvsw_plans.tree()
    tree["tenants"]["red"]["vms"]["red3"]["next-hop"] = "02:00:00:00:00:fe"
    tree["tenants"]["blue"]["lnid"] = 8
    tree["tenants"]["blue"]["vms"]["blue2"]["next-hop"] = "02:00:00:00:00:fe"
    path = cvsw_plans.write(tmp_path, tree)
    status, out = run("lnids", path)
    assert (status, out) == (
        0,
        """\
mac,lnids,addresses,offers,also
02:00:00:00:00:fe,7 8,
02:00:00:00:01:09,8,192.0.2.9
52:54:00:00:00:01,7,192.0.2.1
52:54:00:00:00:02,7,192.0.2.2
52:54:00:00:00:03,7,192.0.2.3
52:54:00:00:00:0b,8,192.0.2.11
52:54:00:00:00:0c,8,192.0.2.12
""",
    )
    (tmp_path / "lnids.csv").write_text(out)
    assert hostvlan("import", str(tmp_path / "lnids.csv")).status == 0  # type: ignore[attr-defined]
    path.write_text("a: 1")
    with pytest.raises(Refused, match=r"plan.yaml:1: there is no 'a'.*\n.*no 'tenants'"):
        run("lnids", path)
