# SPDX-License-Identifier: GPL-2.0-or-later
"""libvmmnet-dns validates: zones signed by BIND's tools, served by BIND, and spoilt."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from lab.base import scratch, tools
from lab.base.net import Namespace, Network
from lab.dns import client as dns_client
from lab.dns import signed_zones
from lab.dns.signed_zones import ADDRESS, FORGED

_BOGUS = "the answer is forged or wrongly signed"
_OK = "no error"
_SSHFP = "44"


@pytest.fixture(scope="module")
def host() -> Iterator[Namespace]:
    """A host with all zones."""
    with Network() as network:
        yield network.namespace("host")


@pytest.fixture(scope="module")
def anchor(host: Namespace) -> Iterator[Path]:
    """The trust anchor of the zones, which are served."""
    with (
        scratch.folder() as folder,
        signed_zones.served(host, Path(folder), dns_client.SERVER) as file,
    ):
        yield file


def _validated(host: Namespace, anchor: Path, *words: str) -> dns_client.Told:
    return dns_client.lookup(host, "-v", "-a", anchor, *words)[-1]


@pytest.mark.parametrize(
    ("name", "security"),
    [
        ("www.vm.example", "secure"),
        ("alias.vm.example", "secure"),
        ("www.nsec3.vm.example", "secure"),
        ("www.plain.vm.example", "insecure"),
        ("www.other.example", "indeterminate"),
    ],
)
def test_right(host: Namespace, anchor: Path, name: str, security: str) -> None:
    """What is right, or cannot be wrong, has an address, and says which of them it is."""
    told = _validated(host, anchor, "-4", name)
    assert (told.error, told.security, told.data) == (_OK, security, [ADDRESS])


@pytest.mark.parametrize(
    ("name", "security"),
    [
        ("nothing.vm.example", "secure"),
        ("nothing.nsec3.vm.example", "secure"),
        # RFC 9276: a denial that costs more than 100 iterations proves nothing.
        ("nothing.iterated.vm.example", "insecure"),
        ("nothing.plain.vm.example", "insecure"),
    ],
)
def test_denied(host: Namespace, anchor: Path, name: str, security: str) -> None:
    """That a name does not exist is proven as well, or not."""
    told = _validated(host, anchor, name)
    assert (told.error, told.security) == ("there is no such name", security)


@pytest.mark.parametrize(
    ("zone", "reason", "ede"),
    [
        ("expired", "signature expired", 7),
        ("early", "signature before inception date", 8),
        ("wrongds", "DS", 9),
        ("stripped", "no signatures", 10),
        ("forged", "signature (verification|crypto) failed", 6),
    ],
)
@pytest.mark.parametrize("family", [("-4",), ()], ids=["A", "both"])
def test_bogus(
    host: Namespace, anchor: Path, zone: str, reason: str, ede: int, family: tuple[str, ...]
) -> None:
    """What is wrong is an error with its reason, and never an address."""
    for told in dns_client.lookup(host, "-v", "-a", anchor, *family, f"www.{zone}.vm.example"):
        assert (told.error, told.security, told.data) == (_BOGUS, "bogus", [])
        assert re.search(reason, told.reason)
        assert ("this host's clock says 20" in told.reason) == (zone in ("expired", "early"))
        assert told.ede == ede


def test_shown(host: Namespace, anchor: Path) -> None:
    """Who asks to see what is forged gets it, as an error still."""
    told = _validated(host, anchor, "-b", "-4", "www.forged.vm.example")
    assert (told.error, told.security, told.data) == (_BOGUS, "bogus", [FORGED])


def test_keytrap(host: Namespace, anchor: Path) -> None:
    """A zone with thousands of pairs of key and signature to try is given up before them."""
    told = _validated(host, anchor, "-4", "www.keytrap.vm.example")
    assert (told.error, told.data) == (_BOGUS, [])
    assert "too many RRSIG validations" in told.reason


def test_believed_without(host: Namespace, anchor: Path) -> None:
    """Without validation the forged address is what one gets: the test above is no accident."""
    told = dns_client.lookup(host, "-4", "www.forged.vm.example")[-1]
    assert (told.security, told.data) == ("indeterminate", [FORGED])


def test_records(host: Namespace, anchor: Path) -> None:
    """A host key's fingerprint comes with what it is worth."""
    told = _validated(host, anchor, "-t", _SSHFP, "www.vm.example")
    assert (told.security, told.data) == ("secure", ["0402" + "ab" * 32])
    told = _validated(host, anchor, "-t", _SSHFP, "www.plain.vm.example")
    assert (told.security, told.data) == ("insecure", ["0402" + "ab" * 32])
    told = _validated(host, anchor, "-t", _SSHFP, "www.expired.vm.example")
    assert (told.error, told.data) == (_BOGUS, [])


def test_no_anchor(host: Namespace, anchor: Path) -> None:
    """No trust anchor is no reason to believe all."""
    done = host.run(
        dns_client.lookup_command("-v", "-a", "/nonexistent", "www.vm.example"), check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "trust_anchor" in done.stderr


#: Look up names before, in, and after the child of a fork; without a fork for "daemon". The child,
#: or the daemon, has closed all descriptors, and has files with the numbers of the module's.
_CLOSES = """
import json, os, socket, sys, tempfile
def found(name):
    try:
        return sorted({a[4][0] for a in socket.getaddrinfo(name, 22, socket.AF_INET)})
    except OSError as error:
        return str(error)
told = [found("www.vm.example")]
if sys.argv[1] == "daemon" or not os.fork():
    os.closerange(3, 100)
    files = [tempfile.TemporaryFile() for _ in range(20)]
    told.append([found("www.nsec3.vm.example"), found("www.plain.vm.example")])
    for number, file in enumerate(files):
        file.write(b"%d" % number)
        file.flush()
        file.seek(0)
    told.append([file.read().decode() for file in files])
else:
    os.wait()
    told.append([found("www.nsec3.vm.example"), found("www.plain.vm.example")])
print(json.dumps(told), flush=True)
"""


def _unmodified(
    host: Namespace,
    anchor: Path,
    etc: Path,
    *command: str,
    settings: str = "",
    resolver: str = "",
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program on a host whose dns.conf says to validate, and what else it says."""
    settings = f"validate\ntrust-anchor {anchor}\n{settings}"
    return dns_client.run_unmodified(
        host, etc, command, settings=settings, resolver=resolver, env=env
    )


@pytest.mark.parametrize("resolver", ["", "options use-vc"], ids=["UDP", "TCP"])
@pytest.mark.parametrize("process", ["fork", "daemon"])
def test_nss_descriptors(
    host: Namespace, anchor: Path, tmp_path: Path, resolver: str, process: str
) -> None:
    """Who closes all descriptors keeps its own files whole, and looks names up afterwards."""
    python = tools.find("python3")
    done = _unmodified(host, anchor, tmp_path, python, "-c", _CLOSES, process, resolver=resolver)
    assert done.stderr == ""
    for line in done.stdout.splitlines():
        first, later, *files = json.loads(line)
        assert [first, *later] == [[ADDRESS]] * 3
        assert files in ([], [[str(number) for number in range(20)]])


#: Print the addresses of names, or the error.
_FOUND = """
import socket, sys
for name in sys.argv[1:]:
    try:
        print(*{a[4][0] for a in socket.getaddrinfo(name, 22, socket.AF_INET)})
    except socket.gaierror as error:
        print(error.errno == socket.EAI_AGAIN and "EAI_AGAIN" or error)
"""


@pytest.mark.parametrize(
    ("settings", "validate", "found"),
    [
        ("", None, ["EAI_AGAIN", "EAI_AGAIN", ADDRESS]),
        ("insecure expired.vm.example\n", None, [ADDRESS, "EAI_AGAIN", ADDRESS]),
        ("insecure .\n", None, [ADDRESS, FORGED, ADDRESS]),
        ("insecure a..b\n", None, ["EAI_AGAIN", "EAI_AGAIN", ADDRESS]),
        ("", "0", [ADDRESS, FORGED, ADDRESS]),
        ("insecure .\n", "1", ["EAI_AGAIN", "EAI_AGAIN", ADDRESS]),
    ],
)
def test_nss_exceptions(
    host: Namespace,
    anchor: Path,
    tmp_path: Path,
    settings: str,
    validate: str | None,
    found: list[str],
) -> None:
    """A bogus name is not one that does not exist; what is not to be validated is found."""
    names = [f"www.{zone}.vm.example" for zone in ("expired", "forged", "plain")]
    command = [tools.find("python3"), "-c", _FOUND, *names]
    env = {} if validate is None else {"VMMNET_NSS_VALIDATE": validate}
    done = _unmodified(host, anchor, tmp_path, *command, settings=settings, env=env)
    assert (done.stdout.splitlines(), done.stderr) == (found, "")


#: Two addresses of a host where nobody listens.
_NOBODY = ("127.0.0.8", "127.0.0.9")


@pytest.mark.parametrize("servers", [_NOBODY[:1], _NOBODY])
def test_refused(host: Namespace, anchor: Path, servers: tuple[str, ...]) -> None:
    """Servers that refuse are not waited for; libunbound itself would wait until the time is up."""
    words = [word for server in servers for word in ("-s", server)]
    told = dns_client.lookup(host, "-v", "-a", anchor, *words, "-4", "www.vm.example", own=True)[-1]
    assert (told.error, told.data) == ("no server can be reached", [])
    assert told.reason == "Connection refused"


def test_refused_before(host: Namespace, anchor: Path) -> None:
    """One that refuses does not end what another one answers."""
    words = ["-s", _NOBODY[0], "-s", dns_client.SERVER]
    told = dns_client.lookup(host, "-v", "-a", anchor, *words, "-4", "www.vm.example", own=True)[-1]
    assert (told.error, told.data) == (_OK, [ADDRESS])
