# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest under examples/sandbox/sandbox.policy, its servers, and a witness beside them."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.base import scratch, wait
from lab.guest.guest import Guest, Job
from lab.packages import certificates
from lab.peers import lab as bed
from lab.peers import servers
from lab.peers.lab import PEER_ADDRESS, Lab

from . import attacker, quic, sources
from . import places as at
from .ways import Attempt
from .wire import Packet, Witness, witness

_ATTACKER = Path(__file__).with_name("attacker.py")
_WEB = """
client_max_body_size 0;
location /upload { return 200; }
location / { try_files $uri $uri/ =404; }
"""


@dataclass(frozen=True)
class Outcome:
    """What became of an attempt: what the guest got, what arrived, and the line that names it."""

    attempt: Attempt
    got: str
    arrived: tuple[Packet, ...]
    lines: tuple[dict[str, Any], ...]

    @property
    def line(self) -> dict[str, Any] | None:
        """The line of the log that names it."""
        return _naming(self.attempt, self.lines)

    @property
    def passed(self) -> bool:
        """Whether something came to a place where it should not."""
        return bool(self.arrived)


class Attacker:
    """The program in the guest; one attempt after the other."""

    def __init__(self, guest: Guest, authority: Path, seconds: float = wait.INNER) -> None:
        guest.put(_ATTACKER, "/attacker.py")
        guest.put(authority, "/etc/confine-ca.pem")
        self._job: Job = guest.spawn(
            ["env", f"CONFINE_SECONDS={seconds}", "python3", "-u", "/attacker.py"]
        )
        self._lines = self._job.lines()
        assert self.hears() == {"ready": True}

    def hears(self) -> dict[str, Any]:
        """The next line of it."""
        try:
            answer: dict[str, Any] = json.loads(next(self._lines))
        except StopIteration:
            raise RuntimeError(f"the attacker ended: {self._job.output().stderr}") from None
        return answer

    def tell(self, **what: Any) -> None:
        """Give it a line."""
        self._job.write(json.dumps(what).encode() + b"\n")

    def end(self) -> None:
        """End it."""
        self._job.close_input()
        self._job.wait()


class World:
    """Judges attempts of a guest by what arrives at the servers."""

    #: The DNS server that the guest is given.
    resolver = at.DEVICE_DNS

    def __init__(self, built: Lab, guest: Guest, seen: Witness, attacker: Attacker) -> None:
        self.lab, self.guest, self.seen, self.attacker = built, guest, seen, attacker

    def lines(self) -> list[dict[str, Any]]:
        """The audit log so far; none here."""
        return []

    def forbid_api(self) -> None:
        """Have the operator forbid the API, and connections to it."""

    def reopen(self) -> None:
        """Undo that."""

    def _filled(self, args: dict[str, Any], token: str) -> dict[str, Any]:
        """The names of an attempt with its token, and its server."""
        text = json.dumps(args).replace("{resolver}", self.resolver)
        filled = text.replace("{token}", token).replace("{TOKEN}", token.upper())
        words: dict[str, Any] = json.loads(filled)
        if (names := words.pop("initial", None)) is not None:
            hello = attacker.hello(token, names, ech=False, pad=0, shares=True)
            words["data"] = quic.initial(token.encode(), hello).hex()
        return words

    def run(self, attempt: Attempt) -> Outcome:
        """One attempt, and its outcome."""
        # Letters that may stand in a name, in any case.
        token = f"t{secrets.token_hex(6)}"
        numbers, before = self.seen.settle(), len(self.lines())
        words = {"do": attempt.do, "token": token, **self._filled(attempt.args, token)}
        self.attacker.tell(**words)
        answer = self.attacker.hears()
        if attempt.closes and "got" not in answer:
            self.forbid_api()
            self.attacker.tell()
            answer = self.attacker.hears()
            self.reopen()
        arrived = self.seen.since(numbers)
        return Outcome(
            attempt,
            answer["got"],
            tuple(_passed(attempt, str(words.get("bad", token)), arrived)),
            tuple(self.lines()[before:]),
        )


def _passed(attempt: Attempt, token: str, arrived: list[Packet]) -> Iterator[Packet]:
    """What came to a place that is not allowed, or to one that is with more than it may have."""
    streams: dict[object, bytes] = {}
    begins: dict[object, int] = {}
    ends: dict[object, int] = {}
    names = set()
    for packet in arrived:
        place = packet.proto, packet.address, packet.port
        of_proxy = packet.source == at.PROXY or packet.source in at.OF_PEER
        if place not in at.ALLOWED and not (of_proxy and packet.address == at.GIT):
            yield packet
            continue
        text = streams[packet.flow] = streams.get(packet.flow, b"") + packet.payload
        text = (text + _unframed(text)).lower()
        if packet.begins:
            begins[packet.flow] = packet.sequence + 1
        if packet.proto == "tcp" and packet.payload:
            # What is sent again counts once.
            end = packet.sequence + len(packet.payload) - begins.get(packet.flow, packet.sequence)
            ends[packet.flow] = max(ends.get(packet.flow, 0), end % (1 << 32))
        if found := re.findall(rf"{token}\d*".encode(), text):
            names.update(found)
            if len(names) > attempt.names_most:
                yield packet
        elif attempt.octets_most and sum(ends.values()) > attempt.octets_most:
            yield packet


def _unframed(stream: bytes) -> bytes:
    """What is in the TLS records at the beginning of a stream."""
    found, at_octet = [], 0
    while stream[at_octet : at_octet + 2] == b"\x16\x03":
        begin = at_octet + 5
        at_octet = begin + int.from_bytes(stream[at_octet + 3 : begin], "big")
        found.append(stream[begin:at_octet])
    return b"".join(found)


def _naming(attempt: Attempt, lines: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The line of the log that names an attempt."""
    proto = "udp" if attempt.do == "datagram" else "tcp"
    for line in lines:
        # Programs ask by UDP which of their own addresses would be used, before they connect.
        is_its_own = attempt.do in ("ask", "echo") or line.get("proto", proto) == proto
        if is_its_own and line.get("reason", line["event"]) in attempt.reasons:
            return line
    return None


class Confined(World):
    """A guest on virtio-vmrpc, with the policy and the log of examples/sandbox."""

    def __init__(
        self, built: Lab, guest: Guest, seen: Witness, attacker: Attacker, policy: Path, log: Path
    ) -> None:
        super().__init__(built, guest, seen, attacker)
        self.policy, self.log = policy, log
        self._is_open = False

    def lines(self) -> list[dict[str, Any]]:
        """The audit log so far: each line that the device has had."""

        def is_written() -> bool:
            (device,) = self.guest.qmp("query-vmrpc", id="vmrpc0", sockets_limit=0)
            return int(device["audit"]["pending"]) == 0

        wait.until(is_written, "the log")
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def reload(self, text: str, established: str = "keep") -> None:
        """Give the device other rules."""
        new = self.policy.with_suffix(".new")
        new.write_text(text)
        new.rename(self.policy)
        self.guest.qmp("vmrpc-reload-policy", established=established)

    def forbid_api(self) -> None:
        """Have the operator forbid the API, and connections to it."""
        lines = at.POLICY.read_text().splitlines()
        kept = [line for line in lines if f" {at.API_NAME} " not in line]
        if not self._is_open:
            self.reload("\n".join(kept) + "\n", "close")

    def reopen(self) -> None:
        """Undo that."""
        if not self._is_open:
            self.reload(at.POLICY.read_text())

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Nothing is forbidden in the block, but what is without a rule."""
        self.reload("")
        self._is_open = True
        yield
        self._is_open = False
        self.reopen()


@contextlib.contextmanager
def network(folder: Path) -> Iterator[tuple[Lab, Path]]:
    """The bed with the servers of the demonstration; yields the proxy's log, too."""
    certificates.make(folder, "web", hosts=at.CERTIFIED)
    certificate = folder / "web.pem", folder / "web.key"
    hosts = {at.GIT_NAME: at.GIT, "a.evil.example": at.EVIL}
    with bed.lab(at.RECORDS) as built:
        for address in at.OF_PEER:
            built.link.b.add_address(f"{address}/128")
        for there in (at.NAT64_PREFIX, "2002::/16", "fd00::/8"):
            built.host.route(there, PEER_ADDRESS)
        # A host lets nobody send echo requests by default.
        built.host.sysctl({"net.ipv4.ping_group_range": "0 2147483647"})
        sources.make(built.root)
        with (
            servers.web(built.peer, built.root, port=443, certificate=certificate, server=_WEB),
            servers.proxy(built.peer, "http", at.PROXY, at.PROXY_PORT, hosts) as log,
        ):
            yield built, log


@contextlib.contextmanager
def confined(folder: Path, *, kernel: str | None = None) -> Iterator[Confined]:
    """The whole of it, with a guest on virtio-vmrpc."""
    policy, log = folder / "sandbox.policy", folder / "sandbox.jsonl"
    policy.write_text(at.POLICY.read_text())
    with network(folder) as (built, _), witness(built.host, built.peer, PEER_ADDRESS) as seen:
        device = built.device(
            policy=policy, nat64_prefix=at.NAT64_PREFIX, audit="audit", audit_full="wait"
        )
        options = {"kernel": kernel} if kernel else {}
        chardev = ["-chardev", f"file,id=audit,path={log},append=on"]
        built.host.run(["nft", "-f", at.INBOUND])
        with built.guest(device=device, arguments=chardev, **options) as guest:
            yield Confined(built, guest, seen, Attacker(guest, folder / "ca.pem"), policy, log)


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """A folder that servers of other users may enter."""
    with scratch.folder() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
