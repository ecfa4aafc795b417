# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon ``vmmnet cvsw run``, between its commands and switches of simulated NICs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.base import commandline, paths, wait
from lab.base.commandline import Answer
from lab.cvsw import plans as cvsw_plans
from lab.cvsw.nics import SimNic
from lab.cvsw.switch import Switch, expected_flows
from lab.packages import certificates, wheels
from vmmnet import controlsocket
from vmmnet.cvsw.plan.model import Plan
from vmmnet.cvsw.plan.read import read

VERSIONS = {"1.0": 1, "1.3": 4}
LISTENS = re.compile(r"switches connect to tcp:127\.0\.0\.1:(\d+)")


class Daemon:
    """A daemon in a process of its own."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        self.log = folder / "log"
        packages = wheels.os_ken()
        command = [sys.executable, "-m", "vmmnet", "cvsw", "run", "--listen", "127.0.0.1:0"]
        command += [f"--socket={folder}/cvsw.sock", f"--state={folder}/state.json", *words]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command,
                stderr=log,
                env={**os.environ, "PYTHONPATH": f"{paths.ROOT}/control:{packages}"},
            )

    def wait(self) -> int:
        """Wait until it serves; returns the port for switches."""

        def port() -> int:
            found = LISTENS.search(self.log.read_text())
            assert found or self.process.poll() is None, self.log.read_text()
            return int(found[1]) if found else 0

        return wait.until(port, "the daemon listens")

    def end(self, how: signal.Signals = signal.SIGTERM) -> str:
        """End it; returns its log."""
        self.process.send_signal(how)
        self.process.wait(wait.PATIENCE)
        return self.log.read_text()

    def ask(self, *words: str) -> Answer:
        """Run a command."""
        return commandline.run("cvsw", *words, f"--socket={self.folder}/cvsw.sock")

    def json(self, *words: str) -> Any:
        """Run a command with --json; return its output."""
        answer = self.ask(*words, "--json")
        assert answer.status == 0, answer
        return json.loads(answer.out)

    def states(self) -> dict[str, str]:
        """All NICs'."""
        return {nic["name"]: nic["state"] for nic in self.json("show")["nics"]}

    def are_ready(self, *names: str) -> bool:
        """Whether these NICs, or all, are programmed."""
        states = self.states()
        return all(states[name] == "ready" for name in names or states)


@contextlib.contextmanager
def running(folder: Path, *words: str) -> Iterator[Daemon]:
    daemon = Daemon(folder, *words)
    try:
        daemon.wait()
        yield daemon
    finally:
        if daemon.process.poll() is None:
            daemon.end()
        # Unexpected failures.
        assert not re.search("Traceback|exception", daemon.log.read_text()), daemon.log.read_text()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return cvsw_plans.write(tmp_path, cvsw_plans.tree())


@pytest.fixture
def plan(file: Path) -> Plan:
    return read(file)


def populate(switch: Switch, plan: Plan) -> dict[str, SimNic]:
    """All NICs of a plan."""
    nics = {}
    for port, about in enumerate(plan.nics(), 1):
        nics[about.name] = SimNic(about.mac, about.key, lambda _: None)
        switch.attach(port, nics[about.name])
    return nics


@pytest.mark.parametrize("version", VERSIONS)
def test_programs(tmp_path: Path, file: Path, plan: Plan, version: str) -> None:
    """Both versions of OpenFlow; the switch's other frames are unaffected."""
    with running(tmp_path, str(file)) as daemon:
        switch = Switch(("127.0.0.1", daemon.wait()), VERSIONS[version])
        with contextlib.closing(switch):
            nics = populate(switch, plan)
            switch.until(daemon.are_ready, "all NICs are programmed")
            flows = expected_flows(VERSIONS[version])
            switch.until(lambda: len(switch.flows) >= len(flows), "its flows")
            assert switch.flows == flows
            shown = daemon.json("show")
            assert shown["switches"][0]["openflow"] == version
            assert {nic["port"] for nic in shown["nics"]} == set(switch.ports)
            for about in shown["nics"]:
                assert about["flows"] == len(nics[about["name"]].table) > 2
            switch.echo()
            switch.until(lambda: switch.echoes, "an answer")


@pytest.mark.parametrize("version", VERSIONS)
def test_switch_with_flows(tmp_path: Path, file: Path, plan: Plan, version: str) -> None:
    """A switch with foreign flows keeps them, and gets only our flows."""
    with running(tmp_path, str(file)) as daemon:
        switch = Switch(("127.0.0.1", daemon.wait()), VERSIONS[version])
        switch.flows_before = 1
        with contextlib.closing(switch):
            populate(switch, plan)
            switch.until(daemon.are_ready, "all NICs are programmed")
            assert switch.flows == expected_flows(VERSIONS[version])[:1]
            # A removed port must not end the daemon.
            switch.error(2, 4, 99)
            switch.echo()
            switch.until(lambda: switch.echoes, "an answer")


@pytest.mark.parametrize("version", VERSIONS)
def test_flows_are_removed(tmp_path: Path, file: Path, plan: Plan, version: str) -> None:
    """Ours come again, and those that others change; NORMAL only if nobody else has flows."""
    with running(tmp_path, str(file)) as daemon:
        switch = Switch(("127.0.0.1", daemon.wait()), VERSIONS[version])
        with contextlib.closing(switch):
            populate(switch, plan)
            switch.until(daemon.are_ready, "all NICs are programmed")
            flows = expected_flows(VERSIONS[version])
            control, normal = flows
            switch.until(lambda: switch.flows == flows, "its flows")
            for what in (normal[:2], control[:2]):
                switch.remove_flow(*what)
            switch.until(lambda: switch.flows == flows, "they come again")
            switch.change_flow(*control[:2], 1)
            switch.until(lambda: switch.flows == flows, "it is right again")
            assert daemon.json("show")["switches"][0]["repairs"] == 3
            if version == "1.3":  # 1.0 has no way to ask for it alone
                switch.change_flow(*normal[:2], 1)
                switch.until(lambda: switch.flows == flows, "it is right again")
            switch.flows_before = 1
            switch.remove_flow(*normal[:2])
            switch.remove_flow(*control[:2])
            switch.until(lambda: switch.flows == [control], "ours comes again")
            switch.flows_before = 0
            switch.until(lambda: switch.flows == flows, "NORMAL comes as well")
        what = "switch 0000000000000001: its flow for control frames was removed: it is set again"
        assert what in daemon.end()


def test_socket_is_removed(tmp_path: Path, file: Path) -> None:
    """With its folder, too: it is there again, and why not is said once."""
    folder, moved = tmp_path / "run", tmp_path / "moved"
    folder.mkdir()
    with running(folder, str(file)) as daemon:
        path = folder / "cvsw.sock"
        path.unlink()
        again = f"--socket {path} was removed: it is there again"
        wait.until(lambda: daemon.log.read_text().count(again) == 1, again)
        assert path.stat().st_mode & 0o777 == 0o600
        assert daemon.states()
        folder.rename(moved)
        cannot = f"--socket {path} was removed: No such file or directory"
        log = moved / "log"
        wait.until(lambda: cannot in log.read_text(), cannot)
        folder.mkdir()
        wait.until(lambda: log.read_text().count(again) == 2, again)
        assert log.read_text().count(cannot) == 1
        daemon.log = log
        assert daemon.states()
    assert not path.exists()


def test_two_switches_with_one_id(tmp_path: Path, file: Path, plan: Plan) -> None:
    """The first one stays, the second is refused, and the log has both addresses."""
    with running(tmp_path, str(file)) as daemon:
        address = ("127.0.0.1", daemon.wait())
        first = Switch(address, 4)
        with contextlib.closing(first):
            populate(first, plan)
            first.until(daemon.are_ready, "all NICs are programmed")
            second = Switch(address, 4)
            refused = "switch at 127.0.0.1: it has the datapath-id 0000000000000001 of the switch"
            with contextlib.closing(second):
                second.until(lambda: refused in daemon.log.read_text(), "the refusal")
            first.until(daemon.are_ready, "the first one goes on")
            (shown,) = daemon.json("show")["switches"]
            assert (shown["address"], shown["twins"]) == ("127.0.0.1", ["127.0.0.1"])
            said = "refused: a switch at 127.0.0.1 has the datapath-id 0000000000000001 of the one"
            assert said in daemon.ask("show").out
        assert "has gone" in daemon.end()


@pytest.mark.parametrize("version", VERSIONS)
def test_moved_nic(tmp_path: Path, file: Path, plan: Plan, version: str) -> None:
    """A port that goes and comes with another number; what waits for the NIC is reported."""
    with running(tmp_path, str(file)) as daemon:
        switch = Switch(("127.0.0.1", daemon.wait()), VERSIONS[version])
        with contextlib.closing(switch):
            populate(switch, plan)
            switch.until(daemon.are_ready, "all NICs are programmed")
            nic = switch.drop_port(1)
            switch.until(lambda: daemon.states()["red1"] == "lost", "it is missed")
            said = daemon.ask("rekey").out
            assert said == "4 associations replaced\n4 wait for NICs not reached: red1 (lost)\n"
            assert daemon.ask("apply", str(file)).out == (
                f"{file}: 7 NICs of 3 tenants; nothing changes\n"
                "not reached, and programmed when they are: red1 (lost)\n"
            )
            switch.add_port(99, nic)
            switch.until(daemon.are_ready, "it is found")
            assert daemon.ask("rekey").out == "8 associations replaced\n"
            assert "port 99; it was at switch 0000000000000001, port 1\n" in daemon.log.read_text()


def test_language(tmp_path: Path, file: Path) -> None:
    """A switch without these versions, or that refuses control frames, is disconnected."""
    with running(tmp_path, str(file)) as daemon:
        for version, said in ((3, "OpenFlow of wire version 3"), (None, "refuses a message")):
            switch = Switch(("127.0.0.1", daemon.wait()), version or 1)
            with contextlib.closing(switch):
                if version is None:
                    switch.until(lambda s=switch: s.flows, "it is set up")
                    switch.error(3, 2, 1)
                switch.version = 4 if version else 1
                switch.until(lambda s=switch: not s.is_connected, "the controller ends it")
            wait.until(lambda said=said: said in daemon.log.read_text(), said)


def test_garbage(tmp_path: Path, file: Path, plan: Plan) -> None:
    """Octets that are no OpenFlow end a connection, but no other one."""
    with running(tmp_path, str(file)) as daemon:
        address = ("127.0.0.1", daemon.wait())
        switch = Switch(address, 4)
        with contextlib.closing(switch):
            populate(switch, plan)
            for octets in (b"\4\0\0\0\0\0\0\0", b"\4\x0a\0\x0c\0\0\0\0...."):
                other = Switch(address, 4, 2)
                with contextlib.closing(other):
                    other.send_octets(octets)
                    other.until(lambda o=other: not o.is_connected or o.flows, "it has an effect")
            switch.until(daemon.are_ready, "all NICs are programmed")


def test_commands(tmp_path: Path, file: Path, plan: Plan) -> None:
    """diff, apply, flows, show and top report the state."""
    with running(tmp_path, str(file)) as daemon:
        switch = Switch(("127.0.0.1", daemon.wait()), 4)
        with contextlib.closing(switch):
            nics = populate(switch, plan)
            switch.until(daemon.are_ready, "all NICs are programmed")
            assert daemon.ask("diff", str(file)).out == "nothing changes\n"
            tree = cvsw_plans.tree()
            tree["tenants"]["blue"]["stations"]["router"]["tunnel"] = "192.0.2.8"
            tree["tenants"]["blue"]["vms"]["blue1"]["offloads"] = ["csum", "tso4"]
            del tree["tenants"]["red"]["vms"]["red3"]
            (tmp_path / "other").mkdir()
            changed = cvsw_plans.write(tmp_path / "other", tree)
            said = daemon.ask("diff", str(changed)).out
            assert "blue1 (52:54:00:00:00:0b): changed\n  offloads - -> csum, tso4\n  - " in said
            assert "red3 (52:54:00:00:00:03): removed" in said
            assert "\n  + " in said
            assert "remote=192.0.2.8" in said
            assert len(nics["red3"].table) > 2
            assert daemon.ask("apply", str(changed)).out == (
                f"{changed}: 6 NICs of 3 tenants; 4 changed, 1 removed\n"
            )
            switch.until(lambda: len(nics["red3"].table) == 2, "the NIC has left")
            switch.until(daemon.are_ready, "the others have changed")
            assert "  MTU   offloads\n" in daemon.ask("show").out
            assert "  1450  csum, tso4\n" in daemon.ask("show").out
            flows = daemon.ask("flows", "blue1").out
            assert "remote=192.0.2.8" in flows
            assert flows.count("actions=drop") == 2
            assert daemon.ask("flows", "52:54:00:00:00:0b").out == flows
            assert "blue1" in daemon.ask("top", "--count", "2", "--interval", "0.1").out
            rekeyed = {"pairs": 4, "pairs_waiting": 0, "by": None, "waiting": []}
            assert daemon.json("rekey") == rekeyed
            words = ["cvsw", "flows", "--socket", f"{tmp_path}/cvsw.sock", "blue1"]
            assert commandline.offered(*words) == ["blue1"]


@contextlib.contextmanager
def following(daemon: Daemon) -> Iterator[Path]:
    """Run a command that follows events; yields the file with its output."""
    log = daemon.folder / "followed"
    with log.open("w") as out:
        command = [sys.executable, "-m", "vmmnet", "cvsw", "events", "--follow"]
        process = subprocess.Popen(
            [*command, f"--socket={daemon.folder}/cvsw.sock"],
            stdout=out,
            env={**os.environ, "PYTHONPATH": f"{paths.ROOT}/control"},
        )
    try:
        yield log
        assert process.poll() is None
    finally:
        process.terminate()
        process.wait(wait.PATIENCE)


def test_events(tmp_path: Path, file: Path, plan: Plan) -> None:
    """Events of NICs are shown, counted, and followed."""
    frame = bytes.fromhex("ffffffffffff52540000000b0806")
    packet_in = bytes.fromhex("010a002000000000ffffffff000e00010100") + frame
    with running(tmp_path, str(file)) as daemon:
        switch = Switch(("127.0.0.1", daemon.wait()), 4)
        with contextlib.closing(switch):
            nics = populate(switch, plan)
            switch.until(daemon.are_ready, "all NICs are programmed")
            assert daemon.ask("events").out == ""
            assert "events" not in daemon.ask("show").out
            nics["blue1"].tell(packet_in)
            switch.until(lambda: daemon.json("events")["events"], "it has come")
            (event,) = daemon.json("events")["events"]
            assert (event["name"], event["what"]) == ("blue1", "packet-in")
            assert abs(event["time"] - time.time()) < wait.PATIENCE
            assert event["frame"] == frame.hex()
            line = (
                "  blue1  packet-in  action, port 1, 14 octets: 52:54:00:00:00:0b >"
                " ff:ff:ff:ff:ff:ff, cut\n"
            )
            assert daemon.ask("events").out.endswith(line)
            assert daemon.ask("events", "blue2").out == ""
            assert daemon.ask("events", "blue1").out.endswith(line)
            assert daemon.ask("events", "blue9").status == 1
            head, *rows = daemon.ask("show").out.splitlines()[1:]
            assert head.endswith("  events")
            assert [row.split()[-1] for row in rows if "blue1" in row] == ["1"]
            # Also new events.
            with following(daemon) as log:
                switch.until(lambda: log.read_text().count(line) == 1, "what has come is told")
                for _ in range(2):
                    nics["blue1"].tell(packet_in)
                switch.until(lambda: log.read_text().count(line) == 3, "what comes is told")


def test_show_some(tmp_path: Path, file: Path, plan: Plan) -> None:
    """NICs of a state or a tenant, and how many there are of each state."""
    with running(tmp_path, str(file)) as daemon:
        switch = Switch(("127.0.0.1", daemon.wait()), 4)
        with contextlib.closing(switch):
            populate(switch, plan)
            switch.until(daemon.are_ready, "all NICs are programmed")
            switch.drop_port(1)
            switch.until(lambda: daemon.states()["red1"] == "lost", "it is missed")
            said = daemon.ask("show").out
            assert re.search(r"\n7 NICs in the file: \d ready.*, 1 lost\n$", said)
            said = daemon.ask("show", "--state", "lost").out
            assert "\nred1 " in said
            assert "\nblue1 " not in said
            assert [nic["name"] for nic in daemon.json("show", "--state=lost")["nics"]] == ["red1"]
            assert "no NIC is so\n" in daemon.ask("show", "--state", "away").out
            said = daemon.ask("show", "--tenant", "blue").out
            assert "\nblue1 " in said
            assert "\nred1 " not in said
        answer = daemon.ask("show", "--tenant", "bleu")
        assert answer.err == "vmmnet cvsw: --tenant bleu: the file has no such tenant\n"
        assert daemon.ask("show", "--state", "missing").status == 2


def test_damaged_state(tmp_path: Path, file: Path) -> None:
    """What is forgotten is said, and the damaged file is kept."""
    state = tmp_path / "state.json"
    for words, said in (
        ([], "All keys are replaced; give the file again: 'vmmnet cvsw apply FILE'"),
        ([str(file)], f"All keys are replaced; {file} is used"),
    ):
        state.write_text('{"version": 1, "pl')
        with running(tmp_path, *words) as daemon:
            assert bool(daemon.states()) == bool(words)
            log = daemon.log.read_text()
        assert f"{state}: damaged" in log
        assert "the file of tenants in force and the numbers of keys are forgotten" in log
        assert f"it is kept as {state}.damaged. {said}" in log
        assert (tmp_path / "state.json.damaged").read_text() == '{"version": 1, "pl'


def test_names_and_keys(tmp_path: Path, file: Path, plan: Plan) -> None:
    """diff shows another name and another key, and what a NIC keeps that leaves."""
    with running(tmp_path, str(file)) as daemon:
        switch = Switch(("127.0.0.1", daemon.wait()), 4)
        with contextlib.closing(switch):
            nics = populate(switch, plan)
            switch.until(daemon.are_ready, "all NICs are programmed")
            tree = cvsw_plans.tree()
            blue = tree["tenants"]["blue"]
            blue["vms"] = {name.replace("blue1", "web1"): vm for name, vm in blue["vms"].items()}
            tree["tenants"]["red"]["vms"]["red2"]["key"] = "other.key"
            del tree["tenants"]["red"]["vms"]["red3"]
            (tmp_path / "other").mkdir()
            changed = cvsw_plans.write(tmp_path / "other", tree)
            cvsw_plans.key(changed.parent, "other.key", bytes(range(64)))
            found = {each["name"]: each for each in daemon.json("diff", str(changed))}
            assert found.keys() == {"web1", "red1", "red2", "red3"}
            said = daemon.ask("diff", str(changed)).out
            assert "web1 (52:54:00:00:00:0b): changed\n  name blue1 -> web1\n" in said
            assert "red2 (52:54:00:00:00:02): changed\n  key one -> another\n" in said
            gone = found["red3"]["delete"]
            assert len(gone) == len(nics["red3"].table) - 2
            assert not any("actions=drop" in flow for flow in gone)
            said = daemon.ask("apply", str(changed)).out
            assert said.startswith(f"{changed}: 6 NICs of 3 tenants; 3 changed, 1 removed\n")
            assert f"{changed} is in force: NICs 6, tenants 3\n" in daemon.log.read_text()
            daemon.ask("rekey")
        assert "all keys are replaced, as 'rekey' was asked\n" in daemon.end()


def test_bad_file(tmp_path: Path, file: Path, plan: Plan) -> None:
    """A file with a fault changes nothing, neither by 'apply' nor by SIGHUP."""
    with running(tmp_path, str(file)) as daemon:
        bad = tmp_path / "bad.yaml"
        bad.write_text(file.read_text().replace("vni: 5001", "vni: 99999999"))
        answer = daemon.ask("apply", str(bad))
        assert answer.status == 1
        assert answer.err.startswith(f"vmmnet cvsw: {bad}:")
        assert "vni" in answer.err
        assert daemon.ask("apply", str(tmp_path / "none.yaml")).status == 1
        assert len(daemon.states()) == len(list(plan.nics()))
        file.write_text(bad.read_text())
        daemon.process.send_signal(signal.SIGHUP)
        wait.until(lambda: "is not changed" in daemon.log.read_text(), "it says so")
        assert len(daemon.states()) == len(list(plan.nics()))


def test_restarts(tmp_path: Path, file: Path, plan: Plan) -> None:
    """After a kill it continues with the earlier file; NICs keep their flows, and get new keys."""
    with running(tmp_path, str(file)) as daemon:
        switch = Switch(("127.0.0.1", daemon.wait()), 4)
        with contextlib.closing(switch):
            nics = populate(switch, plan)
            switch.until(daemon.are_ready, "all NICs are programmed")
            state = tmp_path / "state.json"
            switch.until(
                lambda: state.exists() and len(json.loads(state.read_text())["associations"]) == 8,
                "it remembers",
            )
            keys = [held.key for nic in nics.values() for held in nic.sas.values()]
            assert not any(key.hex() in state.read_text() for key in keys)
            daemon.end(signal.SIGKILL)
    blue = nics["blue1"]
    before, sas = blue.commands.copy(), set(nics["red1"].sas)
    with running(tmp_path) as daemon:
        switch = Switch(("127.0.0.1", daemon.wait()), 4)
        with contextlib.closing(switch):
            for port, nic in enumerate(nics.values(), 1):
                switch.plug(port, nic)
            switch.until(daemon.are_ready, "it has taken over")
            switch.until(lambda: not sas & set(nics["red1"].sas), "old keys are gone")
            sent = blue.commands - before
            assert not any(kind.name in ("SET_ENTRY", "DELETE_ENTRY") for kind in sent)


def test_secrets(tmp_path: Path, file: Path, plan: Plan) -> None:
    """No key is in output, logs or files; other users may not ask."""
    with running(tmp_path, str(file)) as daemon:
        switch = Switch(("127.0.0.1", daemon.wait()), 4)
        with contextlib.closing(switch):
            nics = populate(switch, plan)
            switch.until(daemon.are_ready, "all NICs are programmed")
        said = json.dumps([daemon.json("show"), daemon.json("flows", "red1")])
        assert (tmp_path / "cvsw.sock").stat().st_mode & 0o777 == 0o600
        log = daemon.end()
        assert (tmp_path / "state.json").stat().st_mode & 0o777 == 0o600
        said += log + (tmp_path / "state.json").read_text()
        for nic in nics.values():
            for key in (nic.key, *nic.keys_seen):
                assert key.hex() not in said
                assert repr(key) not in said


def test_control_socket(tmp_path: Path, file: Path, plan: Plan) -> None:
    """The socket of commands answers what each daemon answers, too."""
    with running(tmp_path, str(file)) as daemon:
        switch = Switch(("127.0.0.1", daemon.wait()), 4)
        with contextlib.closing(switch):
            populate(switch, plan)
            switch.until(daemon.are_ready, "all NICs are programmed")
            path = tmp_path / "cvsw.sock"
            assert controlsocket.ask(path, "show") == daemon.ask("show").out
            assert json.loads(controlsocket.ask(path, "show json")) == daemon.json("show")
            numbers = controlsocket.ask(path, "metrics")
        ready = len(daemon.json("show")["nics"])
        assert f'vmmnet_cvsw_nics{{state="ready"}} {ready}.0\n' in numbers
        assert "vmmnet_cvsw_switches 1.0\n" in numbers
        assert "vmmnet_cvsw_flows_set_total " in numbers
        assert controlsocket.ask(path, "log") == "log level notice\n"
        with pytest.raises(controlsocket.Refused, match="is no request"):
            controlsocket.ask(path, "log level notice")


def test_two_daemons(tmp_path: Path, file: Path) -> None:
    """The second one reports the conflict."""
    with running(tmp_path, str(file)):
        other = Daemon(tmp_path, str(file))
        assert other.process.wait(wait.PATIENCE) == 1
        assert "another daemon answers there" in other.log.read_text()


def test_tls_files(tmp_path: Path) -> None:
    """Errors name the file and its fault."""
    junk, none = tmp_path / "junk", tmp_path / "none"
    junk.write_text("no certificate")
    certificates.make(tmp_path, "one", "two")
    one, two, ca = (tmp_path / name for name in ("one.pem", "two.key", "ca.pem"))
    key = tmp_path / "one.key"
    for files, said in (
        ((none, key, ca), f"--tls-cert {none}: No such file"),
        ((one, none, ca), f"--tls-key {none}: No such file"),
        ((one, key, junk), f"--tls-ca {junk}: it has no certificate in PEM"),
        ((junk, key, ca), f"--tls-cert {junk}, --tls-key {key}: both are PEM"),
        ((one, two, ca), f"--tls-key {two}: it is not the key of --tls-cert {one}"),
    ):
        options = zip(("--tls-cert", "--tls-key", "--tls-ca"), map(str, files), strict=True)
        words = [word for pair in options for word in pair]
        answer = commandline.run("cvsw", "run", *words, f"--socket={tmp_path}/s")
        assert answer.status == 1
        assert said in answer.err


def test_etcd_is_away(tmp_path: Path, file: Path) -> None:
    """A controller without etcd programs no NICs, and reports why."""
    words = ["--state=etcd://127.0.0.1:1", "--name=one", str(file)]
    with running(tmp_path, *words) as daemon:
        switch = Switch(("127.0.0.1", daemon.wait()), 1)
        with contextlib.closing(switch):
            switch.until(lambda: daemon.json("show")["switches"], "the switch is known")
            switch.until(lambda: daemon.json("show")["sharing"]["error"], "etcd is missed")
            said = daemon.ask("show").out
            assert "etcd: etcd does not answer: 127.0.0.1:1: Connection refused" in said
            assert "is --state right?" in said
            assert "controllers: none is known" in said
            assert switch.flows == []
            for words in (["apply", str(file)], ["rekey"]):
                answer = daemon.ask(*words)
                assert answer.status == 1
                assert "etcd has not answered yet" in answer.err


def test_no_daemon(tmp_path: Path) -> None:
    answer = commandline.run("cvsw", "show", f"--socket={tmp_path}/none")
    assert answer.status == 1
    assert "is 'vmmnet cvsw run' running" in answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--listen", "6653"], "'6653' is no ADDR:PORT, like 127.0.0.1:6653"),
        (["--listen", "127.0.0.1:70000"], "no ADDR:PORT"),
        (["--rekey-every", "soon"], "'soon' is no number of seconds"),
        (["--state", "etcd://a:0"], "--state: 'etcd://a:0': the port '0' is not 1 to 65535"),
        (["--state", "http://a"], "it begins with etcd:// or etcds://"),
        (["--state", "etcd://a", "--state-key", "k"], "--state-key are for etcds://"),
        (["--state", "etcds://a", "--state-key", "k"], "--state-key needs --state-cert"),
        (["--state", "etcd://a", "--name", "a/b"], "'a/b' is not the name of a host"),
        (["--state", "f", "--name", "a"], "--name is for --state etcd://..., and --state is the"),
        (["--state", "f", "--state-ca", "a"], "--state-ca is for --state etcd://..."),
        (["--tls-cert", "c"], "--tls-key and --tls-ca missing"),
    ],
)
def test_usage(words: list[str], said: str) -> None:
    answer = commandline.run("cvsw", "run", *words)
    assert answer.status == 2
    assert said in answer.err


def test_package_is_missing(tmp_path: Path, file: Path) -> None:
    """Without os-ken, 'run' names the package; the other commands do not need it."""
    (tmp_path / "os_ken.py").write_text("raise ModuleNotFoundError(name='os_ken')")
    ended = subprocess.run(
        [sys.executable, "-m", "vmmnet", "cvsw", "run", f"--state={tmp_path}/s", str(file)],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{paths.ROOT}/control"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    assert "apt install python3-os-ken" in ended.stderr
    assert commandline.run("cvsw", "check", str(file)).status == 0
