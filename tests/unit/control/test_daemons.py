# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet show, metrics and log, of daemons that answer, refuse, are cut off, or do not run."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lab.base import commandline
from vmmnet import controlsocket
from vmmnet.daemons import known, validators
from vmmnet.libvirt.host import claims, validator

Serve = Callable[[str, dict[str, str]], None]


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Have a daemon give these answers; the others do not run."""
    for each in known.DAEMONS:
        monkeypatch.setattr(each, "path", tmp_path / each.name)
    monkeypatch.setattr(validators, "FOLDERS", [tmp_path / "run", tmp_path / "wanted"])
    monkeypatch.setattr(validator, "SOCKETS", tmp_path / "run")
    made: list[socket.socket] = []

    def run(server: socket.socket, answers: dict[str, str]) -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection, connection.makefile("rw") as stream:
                lines = stream.read()
                stream.write(answers.get(lines.removesuffix("\n"), "error no such request\n"))

    def start(name: str, answers: dict[str, str]) -> None:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        server.bind(str(tmp_path / name))
        server.listen()
        made.append(server)
        threading.Thread(target=run, args=(server, answers), daemon=True).start()

    yield start
    for server in made:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


def test_all_that_run(serve: Serve) -> None:
    serve("hostd", {"show": "vm a\nok\n", "show json": '{"vms": []}\nok\n', "metrics": "m 1\nok\n"})
    serve("ha", {"show": "agent b\nc\nok\n", "show json": "{}\nok\n", "metrics": "n 2\nok\n"})
    assert commandline.run("show").out == "hostd:\n  vm a\nha:\n  agent b\n  c\n"
    assert json.loads(commandline.run("show", "--json").out) == {"hostd": {"vms": []}, "ha": {}}
    assert commandline.run("show", "ha").out == "agent b\nc\n"
    assert commandline.run("metrics").out == "m 1\nn 2\n"


_VALIDATES = """\
server 2001:db8::53
server 192.0.2.53@5353
clients 1
under-way 0
questions 1300
secure 1000
insecure 290
bogus 3
indeterminate 7
unanswered 6
ok
"""
_SHOWN = (
    "1 client, 1,300 questions (1,000 secure, 290 insecure, 3 bogus, 7 indeterminate),"
    " servers 2001:db8::53 192.0.2.53@5353"
)
_UUID = "00000000-0000-4000-9000-000000000001"


def test_validators(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of all VMs, also the one that is away; libvirt's with the name of the VM."""
    assert commandline.run("show", "validate").status == 1
    named = claims.Claims(_UUID, "guest", tmp_path / "vmmnet")
    named.announce()
    monkeypatch.setattr(validators, "Claims", lambda vm, _: claims.Claims(vm, "", named.run))
    serve("run/web/control", {"show": _VALIDATES})
    (tmp_path / "wanted").mkdir()
    (tmp_path / "wanted" / _UUID).touch()
    away = f"does not run: {tmp_path}/run/{_UUID}/control does not exist"
    done = commandline.run("show", "validate")
    assert (done.status, done.out) == (1, f"{_UUID} (guest): {away}\nweb: {_SHOWN}\n")
    done = commandline.run("show")
    lines = ["validate:", f"{_UUID} (guest): {away}", f"web: {_SHOWN}"]
    assert (done.status, done.out.splitlines()) == (0, [lines[0], *(f"  {x}" for x in lines[1:])])
    found = json.loads(commandline.run("show", "--json").out)["validate"]
    assert found == json.loads(commandline.run("show", "validate", "--json").out)
    assert found[_UUID] == {"error": away}
    assert found["web"]["servers"] == ["2001:db8::53", "192.0.2.53@5353"]
    assert found["web"]["clients"] == 1 and found["web"]["bogus"] == 3
    done = commandline.run("show", "validate", "--path", str(tmp_path / "run/web/control"))
    assert (done.status, done.out) == (0, f"web: {_SHOWN}\n")


def test_log(serve: Serve) -> None:
    """Levels of all, or of one, which may be changed; a level that is none is a wrong word."""
    serve("hostd", {"log": "log level notice\nok\n", "log debug": "log level debug\nok\n"})
    serve("dnsd", {"log": "log level error\nok\n"})
    assert commandline.run("log").out == "hostd notice\ndnsd error\n"
    assert commandline.run("log", "hostd", "debug").out == "hostd debug\n"
    assert json.loads(commandline.run("log", "dnsd", "--json").out) == {"dnsd": "error"}
    done = commandline.run("log", "hostd", "loud")
    assert done.status == 2 and "'loud'" in done.err


def test_one_does_not_answer(serve: Serve) -> None:
    """The others are shown, and it is named."""
    serve("hostd", {"show": "error show: only root may do that\n"})
    serve("dnsd", {"show": "server\nok\n"})
    done = commandline.run("show")
    assert done.out == "dnsd:\n  server\n"
    assert done.err == "vmmnet show: hostd: show: only root may do that\n"
    done = commandline.run("show", "hostd")
    assert (done.status, done.out) == (1, "") and "only root" in done.err


def test_none_runs(serve: Serve, tmp_path: Path) -> None:
    assert commandline.run("show").status == 1
    done = commandline.run("show", "cvsw")
    assert done.status == 1 and f"cvsw does not run: {tmp_path}/cvsw" in done.err
    assert commandline.run("metrics", "cvsw").status == 1
    assert commandline.run("show", "nobody").status == 2
    assert commandline.run("show", "--path", "/x").status == 2


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "closed the connection"),
        *((answer, "cut off") for answer in ("half", "half\nok", "half\n")),
    ],
)
def test_an_answer_that_is_cut_off(serve: Serve, tmp_path: Path, answer: str, why: str) -> None:
    serve("ha", {"show": answer})
    with pytest.raises(controlsocket.Unanswered, match=why):
        controlsocket.ask(tmp_path / "ha", "show")
