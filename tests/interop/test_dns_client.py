# SPDX-License-Identifier: GPL-2.0-or-later
"""libvmmnet-dns and servers that are broken: nobody who does not answer is waited for."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import scratch, tools
from lab.base.net import Namespace, Network
from lab.dns import broken as broken_dns
from lab.dns import client as dns_client
from lab.dns.client import Told, run_unmodified

A, AAAA = str(broken_dns.A), str(broken_dns.AAAA)
OK = "no error"
#: The question is dropped, or what comes back is no answer to it: only time ends it.
SILENT = ("drop", "wrongid", "wrongquestion", "query", "garbage")
#: The question has an end at once, and a bad one.
SPOILT = {
    "refused": "the servers refuse to answer",
    "notimp": "the servers refuse to answer",
    "servfail": "the servers failed",
    "formerr": "the servers failed",
    "short": "the servers failed",
    "rdlength": "the servers failed",
    "overlong": "the servers failed",
    "truncated": "no server can be reached",
    "loop": "too many aliases",
    "nodata": "the name has no such records",
    "nxdomain": "there is no such name",
}

#: A program that prints the addresses of a name.
_ADDRESSES = (
    "import socket, sys\nprint(*{found[4][0] for found in socket.getaddrinfo(sys.argv[1], 22)})\n"
)


@pytest.fixture(scope="module")
def host() -> Iterator[Namespace]:
    """A host with the broken server; its resolv.conf and nsswitch.conf are bound per test."""
    with Network() as network, scratch.folder() as folder:
        space = network.namespace("host")
        # A look-up that is told once does not wait for the other family if there is a route.
        for address in (A, AAAA):
            space.ip("address", "add", address, "dev", "lo")
        with dns_client.broken_server(space, Path(folder) / "log"):
            yield space


@pytest.fixture(scope="module")
def told(host: Namespace) -> dict[str, list[Told]]:
    """What comes of every fault, all looked up at the same time."""
    names = [f"{fault}-{kind}" for fault in (*SILENT, *SPOILT) for kind in ("a", "aaaa")]
    names += ["huge-aaaa", "forged-a", "noedns-aaaa", "lostedns-aaaa", "fine"]
    children = {
        name: host.popen(dns_client.lookup_command(f"{name}.example.net"), stdout=subprocess.PIPE)
        for name in names
    }
    return {
        name: dns_client.parse(child.communicate()[0].decode().splitlines())
        for name, child in children.items()
    }


@pytest.mark.parametrize("fault", SILENT)
@pytest.mark.parametrize(("spoilt", "good"), [("a", AAAA), ("aaaa", A)])
def test_silence(told: dict[str, list[Told]], fault: str, spoilt: str, good: str) -> None:
    """The good family is there before anybody has given up on the other one."""
    first, last = told[f"{fault}-{spoilt}"]
    assert (first.error, first.data, first.more) == (OK, [good], True)
    assert (last.error, last.data, last.more) == ("no server answered", [], False)


@pytest.mark.parametrize("fault", SPOILT)
@pytest.mark.parametrize(("spoilt", "good"), [("a", AAAA), ("aaaa", A)])
def test_spoilt(told: dict[str, list[Told]], fault: str, spoilt: str, good: str) -> None:
    """One family's bad end does not touch the other's addresses."""
    calls = told[f"{fault}-{spoilt}"]
    assert [call.data for call in calls if call.data] == [[good]]
    assert (calls[0].error, calls[0].data) == (OK, [good])
    # Whether there is a second call depends on which question ends first.
    assert [call.error for call in calls[1:]] in ([], [SPOILT[fault]])
    assert [call.more for call in calls] in ([False], [True, False])


def test_forged(told: dict[str, list[Told]]) -> None:
    """A forger who is first, with a wrong id and with a wrong question, is not believed."""
    data = [address for call in told["forged-a"] for address in call.data]
    assert sorted(data) == sorted([A, AAAA])


@pytest.mark.parametrize("fault", ["noedns", "lostedns"])
def test_without_edns(told: dict[str, list[Told]], fault: str) -> None:
    """A server that takes EDNS for an error, or does not answer it, is asked without."""
    data = [address for call in told[f"{fault}-aaaa"] for address in call.data]
    assert sorted(data) == sorted([A, AAAA])


def test_huge(told: dict[str, list[Told]]) -> None:
    """An answer of 56 KiB comes over TCP; a program gets a bounded number of addresses."""
    data = [address for call in told["huge-aaaa"] for address in call.data]
    assert len(data) == len(set(data)) == 256 + 1
    assert A in data


def test_slow(host: Namespace) -> None:
    """The late family comes by a second call, after the first one was handed on."""
    command = dns_client.lookup_command("slow-aaaa.example.net")
    with host.started(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline().decode(), child.stdout.readline().decode()]
        assert dns_client.parse([line.rstrip("\n") for line in lines])[0].data == [A]
        dns_client.lookup(host, "-t", "16", "release.example.net")
        (late,) = dns_client.parse(child.stdout.read().decode().splitlines())
    assert (late.error, late.data, late.more) == (OK, [AAAA], False)


def test_nss(host: Namespace, tmp_path: Path) -> None:
    """Unmodified programs get the good family, and whole names of short ones."""
    for name, addresses in (
        ("drop-aaaa.example.net", {A}),
        ("refused-aaaa", {A}),
        ("servfail-a", {AAAA}),
        ("fine", {A, AAAA}),
    ):
        done = run_unmodified(host, tmp_path, ["getent", "ahosts", name])
        assert {line.split()[0] for line in done.stdout.splitlines()} == addresses, name
        assert name.split(".")[0] + ".example.net" in done.stdout
    assert (
        run_unmodified(host, tmp_path, ["getent", "ahosts", "nxdomain-a.x."]).stdout.split()[0]
        == AAAA
    )
    assert run_unmodified(host, tmp_path, ["getent", "hosts", "fine"]).stdout.split()[0] == AAAA


@pytest.mark.parametrize(("late", "routed"), [("aaaa", AAAA), ("a", A)])
def test_nss_late(tmp_path: Path, late: str, routed: str) -> None:
    """A host with one family waits for it, however late it is, and gets it."""
    with Network() as network:
        host = network.namespace("host")
        host.ip("address", "add", routed, "dev", "lo")
        with dns_client.broken_server(host, tmp_path / "log"):
            # Without AI_ADDRCONFIG, which getent sets: both families are asked.
            command = [tools.find("python3"), "-c", _ADDRESSES, f"late-{late}"]
            done = run_unmodified(host, tmp_path, command)
    assert routed in done.stdout.split()


@pytest.mark.parametrize("call", ["epoll_create1", "getrandom"])
@pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])
def test_nss_filtered(host: Namespace, tmp_path: Path, call: str, error: str) -> None:
    """A service whose filter refuses a system call looks names up all the same."""
    command = ["strace", "-f", "-o", "/dev/null", "-e", f"inject={call}:error={error}"]
    done = run_unmodified(host, tmp_path, [*command, "getent", "ahosts", "fine"])
    assert A in {line.split()[0] for line in done.stdout.splitlines()}


def test_nss_unavailable(host: Namespace, tmp_path: Path) -> None:
    """Without random numbers no query is sent, and the next module is asked; not if it validates.

    A query whose id is known invites forgers.
    """
    command = ["sh", "-c", 'mount --bind /dev/null /dev/urandom && exec "$@"', "sh"]
    command += ["strace", "-f", "-o", "/dev/null", "-e", "inject=getrandom:error=EPERM"]
    command += ["getent", "ahosts", "fine"]
    also = "hosts: vmmnet [!UNAVAIL=return] dns"
    for nsswitch, settings, found in (
        (also, "", {A, AAAA}),
        (also, "validate\n", set[str]()),
        ("hosts: vmmnet", "", set[str]()),
    ):
        done = run_unmodified(host, tmp_path, command, nsswitch=nsswitch, settings=settings)
        assert {line.split()[0] for line in done.stdout.splitlines()} == found


def test_nss_forks(host: Namespace, tmp_path: Path) -> None:
    """A process that has looked up, its children and its threads look up at the same time."""
    program = tmp_path / "forks.py"
    program.write_text(
        "import os, socket, threading, time\n"
        # Names that are in no cache: each look-up uses the descriptors.
        "def look(i=0): assert socket.getaddrinfo(f'n{os.getpid()}n{i}', 22)\n"
        "def many():\n"
        "    threads = [threading.Thread(target=look, args=[i]) for i in range(1, 40)]\n"
        "    [t.start() for t in threads]; [t.join() for t in threads]\n"
        # A thread that ends takes glibc's lock of resolv.conf, after it was joined, and a child
        # that is forked in that moment has it taken for good.
        "def alone():\n"
        "    while len(os.listdir('/proc/self/task')) > 1: time.sleep(0.001)\n"
        "look()\n"
        "children = []\n"
        "for _ in range(4):\n"
        "    alone(); child = os.fork()\n"
        "    if not child:\n"
        "        many(); os._exit(0)\n"
        "    children.append(child); many()\n"
        "assert all(os.waitpid(c, 0)[1] == 0 for c in children)\n"
        "look(99)\n"
        "print('all')\n"
    )
    done = run_unmodified(host, tmp_path, [tools.find("python3"), str(program)])
    assert (done.stdout, done.stderr) == ("all\n", "")
