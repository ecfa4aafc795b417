# SPDX-License-Identifier: GPL-2.0-or-later
"""The zones in vmmnet-dnsd, the attacker before it, and clients of both, on one host."""

from __future__ import annotations

import base64
import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from ...base import scratch
from ...base.net import Namespace, Network
from .. import client as dns_client
from .. import room as dns_room
from ..client import Told
from ..dnsd import Dnsd
from . import spoiler, states, zones
from .signing import Key, Workshop
from .states import State
from .zones import APEX

SERVER, ATTACKER = dns_client.SERVER, "127.0.0.2"
#: The zone whose denials the attacker forges.
WHITE = f"bind-nsec.{APEX}"

_RESOLVER = """\
import ctypes, json, socket, sys
class Info(ctypes.Structure): pass
Info._fields_ = [(n, ctypes.c_int) for n in ("flags", "family", "kind", "protocol")] + [
    ("len", ctypes.c_uint32), ("address", ctypes.c_void_p), ("name", ctypes.c_char_p),
    ("next", ctypes.POINTER(Info))]
library = ctypes.CDLL("libvmmnet-dns.so.0")
found = {}
for name in sys.argv[1:]:
    first = ctypes.POINTER(Info)()
    hints = Info(family=socket.AF_INET, kind=socket.SOCK_STREAM)
    status = library.vmmnet_getaddrinfo(name.encode(), None, ctypes.byref(hints),
                                        ctypes.byref(first))
    addresses, at = [], first
    while at:
        octets = ctypes.string_at(at.contents.address + 4, 4)
        addresses.append(socket.inet_ntoa(octets))
        at = at.contents.next
    found[name] = [status, addresses]
print(json.dumps(found))
"""


@dataclass
class Bed:
    """The addresses of the servers, and the clients."""

    host: Namespace
    folder: Path

    @property
    def anchor(self) -> Path:
        """The file with the trust anchor of all zones."""
        return self.folder / "anchor"

    def command(self, *words: str | Path, server: str = SERVER) -> list[str | Path]:
        """Return a command of dns-lookup with validation."""
        program = dns_room.library() / "dns-lookup"
        return [program, "-s", server, "-v", "-a", self.anchor, *words]

    def lookup(self, *words: str | Path, server: str = SERVER) -> Told:
        """The library's last callback of a look-up."""
        done = self.host.run(self.command(*words, server=server), check=False)
        if done.stderr:
            raise RuntimeError(done.stderr)
        return dns_client.parse(done.stdout.splitlines())[-1]

    def getaddrinfo(self, names: Sequence[str], server: str) -> dict[str, tuple[int, list[str]]]:
        """Return the results of vmmnet_getaddrinfo() for each name, on a host that validates."""
        etc = self.folder / f"etc-{server}"
        (etc / "vmmnet").mkdir(parents=True)
        (etc / "resolv.conf").write_text(f"nameserver {server}\n")
        (etc / "vmmnet" / "dns.conf").write_text(f"validate\ntrust-anchor {self.anchor}\n")
        script = f'mount --bind {etc} /etc && exec "$@"'
        words = ["unshare", "--mount", "--propagation=private", "sh", "-c", script, "sh"]
        words += ["env", f"LD_LIBRARY_PATH={dns_room.library()}", sys.executable, "-c", _RESOLVER]
        found = json.loads(self.host.run([*words, *names]).stdout)
        return {name: (status, addresses) for name, (status, addresses) in found.items()}


def _keys(all_states: Sequence[State]) -> Iterator[Key]:
    for state in all_states:
        for some in (state.published, state.by, state.ds):
            yield from some or ()


def _texts(shop: Workshop) -> dict[str, str]:
    """The master files of all zones; the last one is the apex."""
    all_states = list(zones.states())
    for key in dict.fromkeys(_keys(all_states)):
        shop.rdata(key)
    above: dict[str, str] = {}
    found: dict[str, str] = {}

    def make(state: State) -> tuple[str, str]:
        name = zones.name_of(state)
        return name, "\n".join(map(str, states.records(shop, name, state))) + "\n"

    with ThreadPoolExecutor() as pool:
        found.update(pool.map(make, all_states))
    body = "ns A 127.0.0.1\n"
    for state in all_states:
        name = zones.name_of(state)
        if not state.parent:
            body += f"{name}. NS ns.{APEX}.\n{states.ds_records(shop, name, state)}"
    keys = [Key("bind", "ECDSAP256SHA256", is_ksk) for is_ksk in (True, False)]
    above[APEX] = make(State("", keys, body=body))[1]
    return found | above


def _white_lies(shop: Workshop) -> spoiler.WhiteLies:
    key = Key("bind", "ECDSAP256SHA256", False)
    text = shop.private(WHITE, key).read_text()
    number = next(line.split()[1] for line in text.splitlines() if line.startswith("PrivateKey"))
    value = int.from_bytes(base64.b64decode(number), "big")
    return spoiler.WhiteLies(WHITE, ec.derive_private_key(value, ec.SECP256R1()), shop.rdata(key))


@contextlib.contextmanager
def made() -> Iterator[Bed]:
    """All of it."""
    with scratch.folder() as name, Network() as network:
        folder, host = Path(name), network.namespace("host")
        folder.chmod(0o755)
        (folder / "keys").mkdir()
        shop = Workshop(folder / "keys")
        texts = _texts(shop)
        anchor = shop.ds(APEX, Key("bind", "ECDSAP256SHA256", True))
        (folder / "anchor").write_text(f"{APEX}. IN DS {anchor}\n")

        def image(item: tuple[str, str]) -> dict[str, str]:
            path = dns_room.compile_zone(item[0], item[1], folder / f"{item[0]}.vzi")
            return {"name": item[0], "image": str(path)}

        dns_room.built()
        with ThreadPoolExecutor() as pool:
            served = list(pool.map(image, texts.items()))
        with (
            Dnsd(host, folder, {"zones": served, "server": {"listen": [SERVER]}}),
            spoiler.between(host, SERVER, ATTACKER, _white_lies(shop)),
        ):
            yield Bed(host, folder)
