# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet hostvlan``: full disks, words too many, and what a change means."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import vmmnet
from lab.base import paths
from lab.base.commandline import Command
from lab.base.commandline import run as run_here
from vmmnet.__main__ import main
from vmmnet.command.status import Status
from vmmnet.etcd.client import Watch
from vmmnet.hostvlan.bpf import bpf, nic, twin
from vmmnet.hostvlan.command import roles
from vmmnet.hostvlan.table import kept
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table

A, B = "52:54:00:00:00:01", "52:54:00:00:00:02"


def run(table: Path, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """The program itself."""
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.run(
        [sys.executable, "-m", "vmmnet", *words],
        env={
            **os.environ,
            "PYTHONPATH": str(paths.ROOT / "control"),
            "VMMNET_TABLE": str(table),
            "VMMNET_QMP": str(table.parent / "*.qmp"),
        },
        text=True,
        check=False,
        **more,
    )


#: All that print something without etcd, and as much of it as fits into no buffer, or little.
PRINTING = [
    "--help",
    "--version",
    "hostvlan --help",
    "hostvlan list",
    "hostvlan list --json",
    "hostvlan list --lnid 3",
    f"hostvlan show {A} --others",
    f"hostvlan show {A} --json",
    "hostvlan export",
    "hostvlan export --format json",
    f"hostvlan add {A} 7",
    f"hostvlan set {A} 7 --json",
    f"hostvlan remove {B}",
    "hostvlan import other.csv --dry-run",
    "hostvlan import other.csv",
    "hostvlan check",
    "hostvlan watch --count 1",
    "hostvlan status",
    "hostvlan status --json",
    "hostvlan sync",
]


@pytest.mark.parametrize("words", PRINTING)
def test_a_full_disk_behind_the_standard_output(
    table: Path, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told, with a status of its own, as a change is made all the same."""
    monkeypatch.chdir(table.parent)
    Path("other.csv").write_text(f"{B},9\n")
    with Table.change(table) as change:
        change.replace(Entry.of(0x525400000000 + n, [n]) for n in range(1, 5_000))
    with Path("/dev/full").open("w") as full:
        ended = run(table, *words.split(), stdout=full)
    if words in ("hostvlan status",) and ended.returncode == 0:
        # Nothing is attached, and that is told on the standard error.
        return
    said = "vmmnet: the answer cannot be written: standard output: No space left on device\n"
    assert ended.stderr.endswith(said), ended.stderr
    assert "Traceback" not in ended.stderr and "Exception" not in ended.stderr
    assert ended.returncode == Status.UNWRITTEN
    with Table.open(table) as now:
        first, second = now.get(0x525400000001), now.get(0x525400000002)
    assert first == Entry.of(0x525400000001, {"add": [1, 7], "set": [7]}.get(words[9:12], [1]))
    if "remove" in words:
        assert second is None
    elif words.endswith("import other.csv"):
        assert second == Entry.of(0x525400000002, [9])


def test_a_full_disk_behind_the_standard_error(table: Path) -> None:
    """What is done is done, and the answer says so."""
    with Path("/dev/full").open("w") as full:
        ended = run(table, "hostvlan", "add", A, "7", stderr=full)
        wrong = run(table, "hostvlan", "add", A, stderr=full)
    assert (ended.returncode, ended.stdout) == (0, f"{A}: new, in LNID 7\n")
    assert (wrong.returncode, wrong.stdout) == (Status.USAGE, "")


def test_a_standard_output_that_is_closed(table: Path) -> None:
    def close() -> None:
        os.close(1)

    for words in (["add", A, "7"], ["list"], ["list", "--json"], ["export"]):
        ended = run(table, "hostvlan", *words, stdout=None, preexec_fn=close)
        assert ended.returncode == 0 and "Traceback" not in ended.stderr, ended.stderr


def _no_room() -> None:
    """As on a full disk: no octet more can be written to any file."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.parametrize("words", ["add A 7", "set A 7", "import other.csv", "export out.csv"])
def test_no_room_for_a_file(table: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new table, an import, an export: a sentence, and nothing is changed."""
    monkeypatch.chdir(table.parent)
    Path("other.csv").write_text(f"{A},9\n{B},9\n")
    if words.startswith(("import", "export")):
        run_here("hostvlan", "add", A, "7")
    before = {each.name: each.read_bytes() for each in table.parent.iterdir()}
    ended = run(table, "hostvlan", *words.replace("A", A).split(), preexec_fn=_no_room)
    assert (ended.returncode, ended.stdout) == (1, ""), ended.stderr
    assert "Traceback" not in ended.stderr
    assert "File too large" in ended.stderr
    if "export" not in words:
        assert "nothing is changed" in ended.stderr
    after = {each.name: each.read_bytes() for each in table.parent.iterdir()}
    lock = f"{table.name}.lock"
    assert after.keys() - {lock} == before.keys() - {lock}
    assert after.get(table.name) == before.get(table.name)


def test_no_room_and_a_change_in_place(table: Path) -> None:
    """It needs none: one MAC address of a table that is there."""
    run_here("hostvlan", "add", A, "7")
    ended = run(table, "hostvlan", "add", B, "8", preexec_fn=_no_room)
    assert (ended.returncode, ended.stdout) == (0, f"{B}: new, in LNID 8\n"), ended.stderr


def test_no_room_for_a_password(tmp_path: Path) -> None:
    """No empty file is left, which would be a password."""
    code = (
        "from pathlib import Path; from vmmnet.command.status import Refused\n"
        "from vmmnet.hostvlan.command import roles\n"
        "try: roles.password_in(Path('new'))\n"
        "except Refused as error: print(error)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(paths.ROOT / "control")},
        cwd=tmp_path,
        text=True,
        capture_output=True,
        check=False,
        preexec_fn=_no_room,
    )
    assert ended.stdout == "--password-file new: File too large: no user is made\n", ended.stderr
    assert not (tmp_path / "new").exists()
    assert len(roles.password_in(tmp_path / "new")) > 20


#: What is typed, and what is said.
WORDS = [
    ("list 7", "vmmnet hostvlan list: '7' is a word too many: '--lnid 7' lists the members"),
    ("list global", "'--lnid global' lists the members of a network"),
    (f"list {A}", f"'vmmnet hostvlan show {A}' shows one MAC address"),
    (f"show {A} 7", "vmmnet hostvlan show: '7' is a word too many"),
    (f"add {A} 7,8", "'7,8': LNIDs are separated by blanks: 7 8"),
    (f"add {A} 7,", "'7,' is not an LNID"),
    (f"set {A} 7;global", "'7;global': LNIDs are separated by blanks: 7 global"),
    ("list --lnid 7,8", "'7,8': LNIDs are separated by blanks: 7 8"),
    (f"add {A} 7 --address 127.0.0.1", "'127.0.0.1' is a loopback address, which never leaves"),
    (f"add {A} 7 --address ::1", "'::1' is a loopback address"),
    (f"add {A} 7 --address 0.1.2.3", "'0.1.2.3' is of 'this network' (0.0.0.0/8)"),
    (f"add {A} 7 --address ::ffff:192.0.2.1", "and never in a packet: give 192.0.2.1"),
    (f"set {A} 7 --address 127.9.9.9", "'127.9.9.9' is a loopback address"),
    (f"del {A}", "vmmnet hostvlan: argument COMMAND: there is no 'del': is it 'remove'?"),
    (f"rm {A}", "there is no 'rm': is it 'remove'?"),
    (f"create {A} 7", "there is no 'create': is it 'add'?"),
    (f"add {A} 7 --addres 192.0.2.1", "there is no option '--addres': is it '--address'?"),
    (f"add --addres 192.0.2.1 {A} 7", "vmmnet hostvlan add: there is no option '--addres': is it"),
    (f"add --addres=192.0.2.1 {A} 7", "there is no option '--addres': is it '--address'?"),
    ("list --tabel /t", "vmmnet hostvlan list: there is no option '--tabel': is it '--table'?"),
    ("list --stor etcd://h/p", "there is no option '--stor': is it '--store'?"),
    ("--nonsense list", "vmmnet hostvlan: there is no option '--nonsense'\n"),
    (
        f"--table /t add {A} 7",
        "vmmnet hostvlan: '--table' comes after the command: vmmnet hostvlan add … --table\n",
    ),
    ("--json list", "'--json' comes after the command: vmmnet hostvlan list … --json\n"),
    ("--store=etcd://h/p check", "'--store' comes after the command: vmmnet hostvlan check … --st"),
]


@pytest.mark.parametrize(("words", "said"), WORDS)
def test_words_that_are_not_right(hostvlan: Command, table: Path, words: str, said: str) -> None:
    answer = hostvlan(*words.split())
    assert answer.status == 2
    assert said in answer.err, answer.err
    assert not table.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--table /t hostvlan list", "'--table' comes after the command: vmmnet hostvlan list …"),
        ("--socket /s cvsw show", "'--socket' comes after the command: vmmnet cvsw show … --so"),
        ("cvsw --socket /s show", "vmmnet cvsw: '--socket' comes after the command: vmmnet cvsw"),
        ("cvsw show --jso", "vmmnet cvsw show: there is no option '--jso': is it '--json'?"),
        (
            "libvirt check --conect x a",
            "vmmnet libvirt check: there is no option '--conect': is it",
        ),
        ("guest-image --forma raw x", "there is no option '--forma': is it '--format'?"),
        ("--versio", "vmmnet: there is no option '--versio': is it '--version'?"),
    ],
)
def test_words_of_all_rooms(capsys: pytest.CaptureFixture[str], words: str, said: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == Status.USAGE
    assert said in capsys.readouterr().err


def test_a_table_that_an_agent_keeps(hostvlan: Command, table: Path) -> None:
    """Its agent would undo a change: the command names the agent, its store and the remedy."""
    hostvlan("add", A, "7")
    before = table.read_bytes()
    more = table.parent / "x.csv"
    more.write_text(f"{B},1\n")
    link = table.parent / "link"
    link.symlink_to(table)
    store = "etcd://192.0.2.1:2379/vmmnet"
    with kept.keeping(table, store) as other:
        assert other is None
        with kept.keeping(table, store) as other:
            assert other == kept.Keeper(os.getpid(), store)
        for words in (["add", B, "8"], ["set", A, "8"], ["remove", A], ["import", str(more)]):
            for place in (table, link):
                answer = hostvlan(*words, "--table", str(place))
                assert (answer.status, answer.out) == (Status.REFUSED, ""), words
                assert (
                    f"this host's agent (process {os.getpid()}) keeps it as {store}" in answer.err
                )
                assert f"give --store {store}" in answer.err
        assert table.read_bytes() == before
        assert hostvlan("list").status == Status.DONE
    # The agent has ended.
    assert hostvlan("add", B, "8").status == Status.DONE


def test_addresses_that_no_port_has_are_not_imported(hostvlan: Command, table: Path) -> None:
    (table.parent / "x.csv").write_text(f"{A},1,127.0.0.1\n{B},1,::ffff:192.0.2.1\n")
    answer = hostvlan("import", str(table.parent / "x.csv"))
    assert answer.status == 1
    assert "x.csv:1: '127.0.0.1' is a loopback address" in answer.err
    assert "x.csv:2: '::ffff:192.0.2.1' is an IPv4 address as programs write it" in answer.err


def test_addresses_of_old_tables_can_go(hostvlan: Command, table: Path) -> None:
    with Table.change(table) as change:
        change.set(Entry.of(0x525400000001, [7], [0x7F000001, 0xC0000201], [0xFFFFC0000201]))
    for each in ("127.0.0.1", "::ffff:192.0.2.1"):
        assert hostvlan("remove", A, "--address", each).status == 0
    assert json.loads(hostvlan("show", A, "--json").out)["addresses"] == ["192.0.2.1"]


def test_the_last_address_that_goes_is_told(hostvlan: Command) -> None:
    """It does not shut a port up: any address is its own then."""
    hostvlan("add", A, "7", "--address", "192.0.2.1", "--address", "2001:db8::1")
    answer = hostvlan("remove", A, "--address", "192.0.2.1")
    assert answer.err == ""
    said = (
        f"note: {A} has no IP address any more: a port with check-sender=on lets it send from any"
    )
    answer = hostvlan("remove", A, "--address", "2001:db8::1")
    assert answer.status == 0 and answer.err.startswith(said)
    hostvlan("add", A, "7", "--address", "192.0.2.1")
    assert hostvlan("set", A, "7", "--no-addresses").err.startswith(said)
    hostvlan("add", A, "7", "--address", "192.0.2.1")
    answer = hostvlan("set", A, "8", "--no-addresses", "--json")
    assert json.loads(answer.out)["note"] in said + answer.out and answer.err == ""
    # A MAC that is in no table sends nothing.
    hostvlan("add", A, "7", "--address", "192.0.2.1")
    assert hostvlan("remove", A).err == ""


def test_others_are_counted_if_that_is_asked_for(hostvlan: Command) -> None:
    hostvlan("add", A, "1", "2")
    hostvlan("add", B, "2")
    assert "speaks to" not in hostvlan("show", A).out
    assert "others" not in json.loads(hostvlan("show", A, "--json").out)
    assert "0 in LNID 1, 1 in LNID 2" in hostvlan("show", A, "--others").out
    told = json.loads(hostvlan("show", A, "--others", "--json").out)
    assert told["others"] == {"1": 0, "2": 1, "global": 0}


def test_one_of_many_is_shown_without_a_look_at_the_others(
    hostvlan: Command, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostvlan("add", A, "1")

    def no(*_: object) -> None:
        raise AssertionError("all of the table is read")

    monkeypatch.setattr(Table, "slots", no)
    assert hostvlan("show", A).status == 0


@pytest.mark.parametrize(
    ("driver", "loopback", "said"),
    [
        ("", True, "if0 is the loopback of this host: no VM and no container is behind it"),
        ("tun", False, "if0 carries no Ethernet frames: it must be a tap, not a tun"),
        ("wireguard", False, "if0 carries no Ethernet frames: a tap, veth, macvtap or bridge does"),
    ],
)
def test_what_nobody_is_behind(driver: str, loopback: bool, said: str) -> None:
    device = nic.Nic("if0", 1, driver, ethernet=False, loopback=loopback, mac=0)
    with pytest.raises(twin.TwinError, match=said):
        twin._wanted(device, None, "xdp", 0)


class _Refusing(bpf.Object):
    """A bpf.Object whose programs the kernel does not load."""

    def __init__(self, number: int) -> None:
        self._number = number

    def load(self) -> None:
        raise OSError(self._number, os.strerror(self._number))


_PERFMON = 1 << 38


@pytest.mark.parametrize(
    ("number", "capabilities", "said"),
    [
        (errno.EPERM, 0, "only root can .*CAP_PERFMON"),
        (errno.EACCES, 0, "only root can .*CAP_PERFMON"),
        (errno.EACCES, _PERFMON, r"^the verifier of Linux \S+ refuses hostvlan.bpf.o .*bpftool"),
        (errno.E2BIG, _PERFMON, r"^the verifier of Linux \S+ refuses hostvlan.bpf.o .*bpftool"),
        (errno.EINVAL, _PERFMON, "must be Linux 5.17 or later"),
    ],
)
def test_who_refuses_the_programs(
    number: int, capabilities: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A verifier that refuses them does so for root, too."""
    status = tmp_path / "status"
    status.write_text(f"CapPrm:\t{_PERFMON:016x}\nCapEff:\t{capabilities:016x}\n")
    monkeypatch.setattr(twin, "_STATUS", status)
    with pytest.raises(twin.TwinError, match=said), twin._translated("attaching to tap0"):
        twin._load(_Refusing(number))


def test_the_version() -> None:
    answer = run_here("--version")
    assert (answer.status, answer.out) == (0, f"vmmnet {vmmnet.VERSION}\n")


def test_a_long_message_of_a_watch_is_joined_once() -> None:
    """Of a line that comes in pieces none is copied before the last is there."""
    watch = Watch.__new__(Watch)
    watch._pieces, watch._length = [], 0
    part, number = bytes([120]) * 2048, 1000
    for _ in range(number):
        assert watch._split(part) == []
    assert watch._pieces == [part] * number
    assert watch._split(b"\n\nrest") == [part * number]
    assert watch._split(b"!\n") == [b"rest!"]


@pytest.mark.parametrize(
    ("module", "package"),
    [("systemd", "python3-systemd"), ("prometheus_client", "python3-prometheus-client")],
)
def test_a_package_that_is_missing(module: str, package: str) -> None:
    """The agent names it; the other commands do without it."""
    code = f"import sys; sys.modules['{module}'] = None; from vmmnet.__main__ import main; "
    env = {**os.environ, "PYTHONPATH": str(paths.ROOT / "control")}

    def refused(*words: str) -> str:
        command = [sys.executable, "-c", f"{code}sys.exit(main())", "hostvlan", *words]
        return subprocess.run(command, env=env, text=True, capture_output=True, check=False).stderr

    said = f"vmmnet hostvlan: 'agent' needs Python's package {module}: apt install {package}\n"
    assert refused("agent", "--store", "etcd://127.0.0.1:1/vmmnet") == said
    assert refused("list", "--help") == ""
