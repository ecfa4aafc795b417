# SPDX-License-Identifier: GPL-2.0-or-later
"""A client, a server with a signed zone, and an impostor, for the demonstration of DNS names.

client     ssh, Debian's and ours
server     sshd; vmmnet-dnsd with the zone; working and broken relays to it
impostor   sshd, at the addresses of forged answers
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..base import paths, scratch, tools, wait
from ..base.net import Namespace, Network
from . import room as dns_room
from .dnsd import Dnsd

ZONE = "demo.test"
NAME = f"server.{ZONE}"
SERVER6, SERVER4 = "2001:db8:d::2", "192.0.2.2"
IMPOSTOR6, IMPOSTOR4 = "2001:db8:d::bad", "192.0.2.66"
#: Addresses of the relays to the server: working, without AAAA, with forged addresses.
WHOLE, DROPPING, FORGING = "2001:db8:d::53", "2001:db8:d::54", "2001:db8:d::55"
_DNSD_PORT = 5300

_ZONE = f"""\
$TTL 60
@       SOA   ns root 1 3600 600 86400 60
        NS    ns
ns      AAAA  {WHOLE}
server  A     {SERVER4}
        AAAA  {SERVER6}
"""
_SSHD = """\
ListenAddress ::
ListenAddress 0.0.0.0
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
ForceCommand echo "this is {name}"
"""
# Files of a client's resolver, in a mount namespace of its own.
_ENTER = """\
mount --make-rprivate /
mount --bind "$1/resolv.conf" /etc/resolv.conf
mount --bind "$1/anchor" /usr/share/dns/root.key
shift
exec "$@"
"""


@dataclass
class World:
    """All three machines, and ssh's files."""

    network: Network
    client: Namespace
    server: Namespace
    impostor: Namespace
    folder: Path
    #: The impostor's interface.
    to_impostor: str

    def ssh(self, program: Path, way: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Log in at the server by its name; a relay resolves it."""
        (self.folder / "resolv.conf").write_text(f"nameserver {way}\n")
        command: list[str | Path] = [
            program,
            *self.options(),
            *(f"-o{each}" for each in options),
            NAME,
        ]
        library = f"LD_LIBRARY_PATH={dns_room.library()}"
        words: list[str | Path] = [
            "unshare",
            "-m",
            "sh",
            "-ec",
            _ENTER,
            "sh",
            self.folder,
            "env",
            library,
        ]
        return self.client.run([*words, *command], check=False)

    def options(self) -> list[str]:
        """Options for each ssh: no questions, and no files of this system."""
        known = self.folder / "known_hosts"
        return [
            *("-F", "none", "-i", str(self.folder / "user_key"), "-l", "root"),
            *(
                "-T",
                "-oBatchMode=yes",
                f"-oUserKnownHostsFile={known}",
                "-oGlobalKnownHostsFile=none",
            ),
        ]

    def trust(self) -> None:
        """Store the server's key in known_hosts, as after an earlier login."""
        key = (self.folder / "server" / "host_key.pub").read_text()
        (self.folder / "known_hosts").write_text(f"{NAME} {key}")

    def forget(self) -> None:
        """Know no key."""
        (self.folder / "known_hosts").write_text("")


def _sign(folder: Path) -> Path:
    """Sign the zone with its SSHFP records; the trust anchor is beside it."""
    found = tools.run(["ssh-keygen", "-r", "server", "-f", folder / "server/host_key.pub"])
    source = folder / "demo.zone"
    source.write_text(_ZONE + found)
    keys = [
        tools.run(
            ["dnssec-keygen", "-q", "-K", folder, "-a", "ECDSAP256SHA256", *more, ZONE]
        ).strip()
        for more in (("-f", "KSK"), ())
    ]
    signed = folder / "demo.signed"
    # dnssec-signzone writes other files, such as dsset-, there, too.
    places: list[str | Path] = ["-d", folder, "-K", folder, "-f", signed]
    tools.run(["dnssec-signzone", "-q", "-S", "-z", *places, "-o", ZONE, source])
    (folder / "anchor").write_text((folder / f"{keys[0]}.key").read_text())
    return signed


def _keys(folder: Path) -> None:
    for name in ("server", "impostor"):
        (folder / name).mkdir()
        tools.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name / "host_key"])
    tools.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "user_key"])


@contextlib.contextmanager
def _sshd(space: Namespace, folder: Path, name: str) -> Iterator[None]:
    place = folder / name
    (place / "user_key.pub").write_text((folder / "user_key.pub").read_text())
    config = place / "sshd_config"
    config.write_text(_SSHD.format(folder=place, name=name))
    Path("/run/sshd").mkdir(exist_ok=True)
    with (place / "log").open("ab") as log:
        command: list[str | Path] = [tools.find("sshd"), "-D", "-e", "-f", config]
        with space.started(command, stdout=log, stderr=log) as child:
            wait.listening(child.pid, 22)
            yield


def _dnsd(space: Namespace, folder: Path, zone: Path) -> Dnsd:
    image = dns_room.compile_zone(ZONE, zone.read_text(), folder / "demo.image")
    served = [{"name": ZONE, "image": str(image)}]
    server = {"listen": [f"{WHOLE}@{_DNSD_PORT}"], "threads": 1}
    return Dnsd(space, folder, {"server": server, "zones": served})


@contextlib.contextmanager
def _relay(space: Namespace, folder: Path, address: str, *words: str) -> Iterator[None]:
    command = [sys.executable, "-m", "lab.dns.relay", address, WHOLE]
    command += ["--server-port", str(_DNSD_PORT), *words]
    env = {"PYTHONPATH": paths.PYTHONPATH}
    with (folder / "relay.log").open("ab") as log:
        with space.started(command, stdout=log, stderr=log, env=env) as child:
            wait.listening(child.pid, 53)
            yield


def _connect(network: Network) -> tuple[Namespace, Namespace, Namespace, str]:
    client, server, impostor = map(network.namespace, ("client", "server", "impostor"))
    ways = [f"{each}/64" for each in (WHOLE, DROPPING, FORGING)]
    network.connect(
        client,
        server,
        ["2001:db8:d::1/64", "192.0.2.1/24"],
        [f"{SERVER6}/64", f"{SERVER4}/24", *ways],
    )
    link = network.connect(
        client,
        impostor,
        ["2001:db8:e::1/64", "198.51.100.1/24"],
        ["2001:db8:e::2/64", "198.51.100.2/24", f"{IMPOSTOR6}/128", f"{IMPOSTOR4}/32"],
    )
    client.route(f"{IMPOSTOR6}/128", "2001:db8:e::2")
    client.route(f"{IMPOSTOR4}/32", "198.51.100.2")
    impostor.route("2001:db8:d::/64", "2001:db8:e::1")
    impostor.route("192.0.2.0/24", "198.51.100.1")
    return client, server, impostor, link.b.name


@contextlib.contextmanager
def world() -> Iterator[World]:
    """Make it."""
    tools.require("sshd", "ssh", "ssh-keygen", "dnssec-keygen", "dnssec-signzone")
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(Network())
        folder = Path(stack.enter_context(scratch.folder()))
        folder.chmod(0o755)
        client, server, impostor, wire = _connect(network)
        _keys(folder)
        stack.enter_context(_dnsd(server, folder, _sign(folder)))
        stack.enter_context(_relay(server, folder, WHOLE))
        stack.enter_context(_relay(server, folder, DROPPING, "--drop", "AAAA"))
        forged = ("--forge", IMPOSTOR6, "--forge", IMPOSTOR4)
        stack.enter_context(_relay(server, folder, FORGING, *forged))
        stack.enter_context(_sshd(server, folder, "server"))
        stack.enter_context(_sshd(impostor, folder, "impostor"))
        made = World(network, client, server, impostor, folder, wire)
        made.trust()
        yield made
