# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN on etcd, the pure parts: keys and values, what a host mirrors, files of ports."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import queue
import random
import socket
import ssl
import struct
import subprocess
import threading
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from lab.base import wait
from lab.packages import certificates
from vmmnet import metrics
from vmmnet.etcd.client import Client, Event, KeyValue, Range, Watched
from vmmnet.etcd.errors import StoreError, Uncertain, Unreachable
from vmmnet.etcd.place import parse_url
from vmmnet.hostvlan.bpf import twin
from vmmnet.hostvlan.command import agent as agent_command
from vmmnet.hostvlan.etcd import hosts as etcdhosts
from vmmnet.hostvlan.etcd import report as reports
from vmmnet.hostvlan.etcd.keys import (
    ALL,
    ASSIGNED,
    FORMAT,
    BadValue,
    Keys,
    Kind,
    Topic,
    decode,
    decode_ready,
    encode,
    encode_ready,
    lnid_of,
    mac_of,
    write,
)
from vmmnet.hostvlan.etcd.mirror import Mirror
from vmmnet.hostvlan.etcd.report import Report
from vmmnet.hostvlan.etcd.store import EtcdStore
from vmmnet.hostvlan.host import hostports, portmetrics, ports
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.values import hostname

A, B, C = 0x525400000001, 0x525400000002, 0x525400000003
KEYS = Keys("/t")
GLOBAL = Topic(Kind.LNID, 0)


# Where etcd is


def test_a_url_has_endpoints_and_a_prefix() -> None:
    config = parse_url("etcds://192.0.2.1,[2001:db8::1]:99,c.example:2379/a/b/")
    assert config.endpoints == (("192.0.2.1", 2379), ("2001:db8::1", 99), ("c.example", 2379))
    assert (config.prefix, config.tls) == ("/a/b", True)
    assert config.name == "etcds://192.0.2.1:2379,[2001:db8::1]:99,c.example:2379/a/b"
    assert parse_url("etcd://[::1]").prefix == "/vmmnet/hostvlan"


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("http://a:1/p", "begins with etcd://"),
        ("etcd:/a", "begins with etcd://"),
        ("etcd://a:0/p", "port '0'"),
        ("etcd://a:http/p", "port 'http'"),
        ("etcd:///p", "host is missing"),
        ("etcd://a,/p", "host is missing"),
        ("etcd://2001:db8::1/p", "in brackets"),
        ("etcd://me:secret@a/p", "--store-user"),
        ("etcd://a/p q", "prefix"),
    ],
)
def test_a_url_that_is_wrong_is_explained(url: str, complaint: str) -> None:
    with pytest.raises(StoreError, match=complaint) as error:
        parse_url(url)
    assert url in str(error.value)


def _reset_once(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    connection.recv(1)
    # Unread data or not, an end without lingering is a reset.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the default of Python 3.13 on any."""
    made = ssl.create_default_context

    def stricter(**options: Any) -> ssl.SSLContext:
        context = made(**options)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", stricter)


@pytest.mark.parametrize(("signer", "known"), [("own", True), ("other", False)])
@pytest.mark.usefixtures("strict")
def test_a_plain_authority_is_known_and_another_is_not(
    tmp_path: Path, signer: str, known: bool
) -> None:
    """``openssl req -x509`` alone makes one without the extensions of a strict check."""
    for name in ("own", "other"):
        (tmp_path / name).mkdir()
        certificates.make(tmp_path / name, "etcd")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "own/etcd.pem", tmp_path / "own/etcd.key")
    shaken: list[bool] = []

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        try:
            with context.wrap_socket(connection, server_side=True) as secured:
                shaken.append(secured.recv(1) != b"")
        except ssl.SSLError:
            shaken.append(False)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        config = parse_url(f"etcds://127.0.0.1:{listener.getsockname()[1]}")
        config = replace(config, ca=tmp_path / signer / "ca.pem")
        with Client(config) as client, pytest.raises(Unreachable) as error:
            client.get(b"key")
        server.join(wait.PATIENCE)
    assert shaken == [known]
    assert ("--store-ca names who signs" in str(error.value)) != known


@pytest.mark.parametrize(
    ("scheme", "hint"),
    [
        ("etcds", "if it speaks no TLS, write etcd:// instead of etcds://"),
        ("etcd", "if it wants TLS, write etcds:// instead of etcd://"),
    ],
)
def test_a_reset_may_be_a_matter_of_tls(scheme: str, hint: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=_reset_once, args=(listener,))
        server.start()
        port = listener.getsockname()[1]
        url = f"{scheme}://127.0.0.1:{port}"
        with Client(parse_url(url)) as client, pytest.raises(Unreachable) as error:
            client.get(b"key")
        server.join()
    assert hint in str(error.value)


def _answer_once_and_reset(listener: socket.socket) -> None:
    """As an etcd that is started anew; the second connection is that of what comes then."""
    connection, _ = listener.accept()
    while b"}" not in connection.recv(1 << 16):
        pass
    body = b'{"header": {"revision": "1"}}'
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    connection.recv(1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def test_a_reset_by_who_has_answered_is_no_matter_of_tls() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=_answer_once_and_reset, args=(listener,))
        server.start()
        url = f"etcd://127.0.0.1:{listener.getsockname()[1]}"
        with Client(parse_url(url)) as client:
            assert client.get(b"key") is None
            with pytest.raises(Unreachable, match="is stopped or started anew") as error:
                client.get(b"key")
        server.join()
    assert "TLS" not in str(error.value)


class Etcd(http.server.BaseHTTPRequestHandler):
    """An etcd whose first token nobody gets an answer with, as one from before a restore."""

    protocol_version = "HTTP/1.1"
    tokens: ClassVar[list[str]] = []
    #: Give no token.
    mute: ClassVar[bool] = False
    cancelled: ClassVar[dict[str, Any]] = {}

    def do_POST(self) -> None:
        """Answer, or wait until the client has had enough."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v3/auth/authenticate" and self.mute:
            self.rfile.read(1)
            self.close_connection = True
        elif self.path == "/v3/auth/authenticate":
            self.tokens.append(body["password"])
            self._answer({"token": str(len(self.tokens))})
        elif self.headers["Authorization"] == "1":
            self.rfile.read(1)
            self.close_connection = True
        elif self.path == "/v3/watch":
            # The watch ends at once, with this message or without any.
            self._answer({"result": self.cancelled} if self.cancelled else {})
            self.close_connection = True
        else:
            self._answer({"header": {"cluster_id": "1", "revision": "1"}})

    def _answer(self, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode() + b"\n" * ("result" in answer)
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[Client]:
    """A client with a user, of an etcd that knows only new tokens."""
    Etcd.tokens = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Etcd) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        config = parse_url(f"etcd://127.0.0.1:{server.server_address[1]}/t")
        file = tmp_path / "password"
        file.write_text("first\n")
        with Client(replace(config, user="u", password_file=file, timeout=wait.PATIENCE)) as client:
            yield client
        server.shutdown()
        serving.join()


@contextlib.contextmanager
def unanswered(
    client: Client, error: type[StoreError] = Unreachable, said: str = "no answer in 3 s"
) -> Iterator[None]:
    """A call to which no answer comes: only then the client is not patient."""
    patient = client.config
    client.config = replace(patient, timeout=3)
    try:
        with pytest.raises(error, match=said):
            yield
    finally:
        client.config = patient
        client.close()


def test_a_token_is_dropped_when_no_answer_comes(secured: Client) -> None:
    """The password of the next one is that which the file has by then."""
    with unanswered(secured):
        secured.get(b"key")
    assert secured.config.password_file is not None
    secured.config.password_file.write_text("second\n")
    assert secured.get(b"key") is None
    assert secured.get(b"key") is None
    assert Etcd.tokens == ["first", "second"]


def test_a_token_is_dropped_when_a_watch_is_lost(secured: Client) -> None:
    with unanswered(secured):
        secured.get(b"key")
    for closed in (True, False):
        watch = secured.watch([Watched(Range(b"key"), 1)])
        if closed:
            watch.close()
        with pytest.raises(Unreachable):
            list(watch)
    # A watch that we have closed ourselves says nothing of the token.
    assert len(Etcd.tokens) == 2
    secured.get(b"key")
    assert len(Etcd.tokens) == 3


def test_a_token_is_dropped_when_a_watch_is_cancelled(
    secured: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = "rpc error: code = Unauthenticated desc = etcdserver: invalid auth token"
    header = {"revision": "1"}
    message = {"header": header, "watch_id": "1", "canceled": True, "cancel_reason": why}
    monkeypatch.setattr(Etcd, "cancelled", message)
    with unanswered(secured):
        secured.get(b"key")
    for number in (2, 3):
        with pytest.raises(Unreachable, match="invalid auth token"):
            list(secured.watch([Watched(Range(b"key"), 1)]))
        assert len(Etcd.tokens) == number


def test_a_write_for_which_there_is_no_token_has_not_happened(secured: Client) -> None:
    Etcd.mute = True
    try:
        with unanswered(secured):
            secured.transact([], [])
    finally:
        Etcd.mute = False
    # That token nobody gets an answer with.
    with unanswered(secured, Uncertain, "whether it was done is not known"):
        secured.transact([], [])
    assert secured.transact([], []) == (False, 1)


def test_a_write_that_cannot_be_looked_for_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command says then is that, and not only that etcd is away."""
    store = EtcdStore(parse_url("etcd://127.0.0.1/t"))
    answers = iter([(1, [[]])])
    monkeypatch.setattr(store.client, "get", lambda key: KeyValue(key, FORMAT, 1))

    def snapshot(_: object) -> tuple[int, list[list[KeyValue]]]:
        for answer in answers:
            return answer
        raise Unreachable("etcd does not answer")

    def transact(*_: object) -> tuple[bool, int]:
        raise Uncertain("whether it was done is not known")

    monkeypatch.setattr(store.client, "snapshot", snapshot)
    monkeypatch.setattr(store.client, "transact", transact)
    with pytest.raises(Uncertain):
        store.edit([A], lambda mac, _: Entry.of(mac, [7]))


def test_without_a_password_nothing_is_asked(secured: Client) -> None:
    assert secured.config.password_file is not None
    secured.config.password_file.unlink()
    with pytest.raises(StoreError, match="No such file"):
        secured.get(b"key")
    assert Etcd.tokens == []


# Keys and values


def test_keys_are_those_of_the_documentation() -> None:
    assert KEYS.format == b"/t/format"
    assert KEYS.changed == b"/t/changed"
    assert KEYS.mac(A) == b"/t/mac/52:54:00:00:00:01"
    assert KEYS.member(0x1F, A) == b"/t/lnid/0000001f/52:54:00:00:00:01"
    assert KEYS.assigned("h1", A) == b"/t/host/h1/port/52:54:00:00:00:01"
    assert KEYS.ready("h1", A) == b"/t/status/h1/port/52:54:00:00:00:01"
    assert KEYS.lnid(1) == Range(b"/t/lnid/00000001/", b"/t/lnid/000000010")
    assert KEYS.topic("h1", Topic(Kind.MAC, A)) == Range(KEYS.mac(A))
    assert KEYS.topic("h1", ASSIGNED) == Range.prefix(b"/t/host/h1/port/")
    assert mac_of(KEYS.member(7, B)) == B
    assert lnid_of(KEYS.member(7, B)) == 7


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b", "-a", "x" * 65, "ä"])
def test_no_host_can_have_a_name_that_leads_elsewhere(name: str) -> None:
    with pytest.raises(hostname.BadHost):
        hostname.check(name)


def test_an_entry_comes_back_as_it_was() -> None:
    entry = Entry.of(A, [7, 0, 2**32 - 1], [0xC0000201], [1 << 96, 5])
    value = encode(entry)
    assert value == b'{"lnids":[0,7,4294967295],"ip4":["192.0.2.1"],"ip6":["::5","0:1::"]}'
    assert decode(A, value) == entry
    assert encode(Entry.of(A, [7])) == b'{"lnids":[7]}'


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"7",
        b"[]",
        b"\xff",
        b"{}",
        b'{"lnids":[]}',
        b'{"lnids":[true]}',
        b'{"lnids":["7"]}',
        b'{"lnids":[-1]}',
        b'{"lnids":[4294967296]}',
        b'{"lnids":[7,7]}',
        b'{"lnids":[7],"ip4":[1]}',
        b'{"lnids":[7],"ip4":["2001:db8::1"]}',
        b'{"lnids":[7],"ip6":"::1"}',
        b'{"lnids":[7],"more":1}',
        b'{"lnids":[' + b",".join(b"%d" % n for n in range(65)) + b"]}",
        b"[" * 100000,
    ],
)
def test_a_value_that_nobody_writes_is_refused(value: bytes) -> None:
    with pytest.raises(BadValue, match="52:54:00:00:00:01"):
        decode(A, value)


def test_what_is_no_readiness_is_none() -> None:
    assert decode_ready(encode_ready(5)) == 5
    assert [decode_ready(value) for value in (b"", b"{}", b"[]", b'{"assignment":"5"}')] == [0] * 4


# A store in memory, which tells as etcd does: one message a topic and transaction


@dataclass
class Memory:
    """Keys, and the messages that a host's topics get of each transaction."""

    revision: int = 1
    keys: dict[bytes, KeyValue] = field(default_factory=dict)
    entries: dict[int, Entry] = field(default_factory=dict)
    log: list[tuple[int, list[Event]]] = field(default_factory=list)

    def set(self, mac: int, lnids: list[int] | None) -> None:
        """Change a MAC with the operations that commands use."""
        after = Entry.of(mac, lnids) if lnids else None
        operations = write(KEYS, mac, self.entries.get(mac), after)
        self.revision += 1
        events = []
        for operation in operations:
            (kind, body), *_ = operation.items()
            key, value = _unpack(kind, body)
            if value is None and key not in self.keys:
                continue
            events.append(Event(key, value, self.revision))
            if value is None:
                del self.keys[key]
            else:
                self.keys[key] = KeyValue(key, value, self.revision)
        self.log.append((self.revision, events))
        if after is not None:
            self.entries[mac] = after
        else:
            self.entries.pop(mac, None)

    def assign(self, host: str, mac: int) -> None:
        """Tell a host to be ready for a MAC."""
        self.revision += 1
        event = Event(KEYS.assigned(host, mac), b"", self.revision)
        self.keys[event.key] = KeyValue(event.key, b"", self.revision)
        self.log.append((self.revision, [event]))

    def load(self, mirror: Mirror) -> None:
        """Read what a host misses, as its agent does."""
        while missing := mirror.missing():
            for topic in missing:
                inside = KEYS.topic("h", topic)
                found = [kv for kv in self.keys.values() if _has(inside, kv.key)]
                mirror.load(topic, self.revision, found)
        mirror.drop_unwanted()

    def messages(self, mirror: Mirror) -> Iterator[tuple[Topic, int, list[Event]]]:
        """What the watches of a host tell it, from where it is."""
        topics = mirror.resume()
        first = min(start for _, start in topics)
        at = bisect_left(self.log, first, key=lambda told: told[0])
        for revision, events in self.log[at:]:
            for topic, start in topics:
                inside = KEYS.topic("h", topic)
                found = [event for event in events if _has(inside, event.key)]
                if found and revision >= start:
                    yield topic, revision, found


def _unpack(kind: str, body: dict[str, str]) -> tuple[bytes, bytes | None]:
    key = base64.b64decode(body["key"])
    return key, base64.b64decode(body["value"]) if kind == "request_put" else None


def _has(inside: Range, key: bytes) -> bool:
    return key == inside.key if inside.end is None else inside.key <= key < inside.end


def lnids_of(mirror: Mirror) -> dict[int, tuple[int, ...]]:
    return {mac: entry.lnids for mac, entry in mirror.entries().items()}


def follow(memory: Memory, mirror: Mirror) -> None:
    """Bring a mirror to where the store is."""
    for message in list(memory.messages(mirror)):
        mirror.apply(*message)
    for topic, _ in mirror.resume():
        mirror.apply(topic, memory.revision, [])
    memory.load(mirror)


def test_a_host_without_ports_has_the_global_ones() -> None:
    memory = Memory()
    memory.set(A, [0])
    memory.set(B, [7])
    mirror = Mirror()
    memory.load(mirror)
    assert lnids_of(mirror) == {A: (0,)}
    assert set(dict(mirror.resume())) == {ASSIGNED, GLOBAL}


def test_a_host_has_the_members_of_its_ports_lnids() -> None:
    memory = Memory()
    memory.set(A, [7])
    memory.set(B, [7, 8])
    memory.set(C, [8])
    mirror = Mirror(frozenset({A}))
    memory.load(mirror)
    assert lnids_of(mirror) == {A: (7,), B: (7, 8)}


def test_a_port_that_gets_an_lnid_gets_its_members_and_loses_them() -> None:
    memory = Memory()
    memory.set(A, [7])
    memory.set(C, [8])
    mirror = Mirror(frozenset({A}))
    memory.load(mirror)
    memory.set(A, [7, 8])
    follow(memory, mirror)
    assert lnids_of(mirror) == {A: (7, 8), C: (8,)}
    memory.set(A, [7])
    follow(memory, mirror)
    assert lnids_of(mirror) == {A: (7,)}


def test_a_global_port_has_everybody() -> None:
    memory = Memory()
    memory.set(A, [0])
    memory.set(C, [8])
    mirror = Mirror(frozenset({A}))
    memory.load(mirror)
    assert set(dict(mirror.resume())) == {ASSIGNED, ALL}
    memory.set(B, [9])
    follow(memory, mirror)
    assert lnids_of(mirror) == {A: (0,), B: (9,), C: (8,)}
    memory.set(A, [9])
    follow(memory, mirror)
    assert lnids_of(mirror) == {A: (9,), B: (9,)}


def test_who_shall_come_is_a_port() -> None:
    memory = Memory()
    memory.set(A, [7])
    memory.set(B, [7])
    mirror = Mirror()
    memory.load(mirror)
    memory.assign("h", A)
    follow(memory, mirror)
    assert lnids_of(mirror) == {A: (7,), B: (7,)}
    assert mirror.assigned == {A: memory.revision}


@pytest.mark.parametrize("order", [1, -1])
def test_a_change_is_old_or_new_whatever_comes_first(order: int) -> None:
    memory = Memory()
    memory.set(A, [1, 2])
    memory.set(B, [1, 2, 3])
    mirror = Mirror(frozenset({B}))
    memory.load(mirror)
    memory.set(A, [2, 3])
    for message in sorted(memory.messages(mirror), key=lambda m: m[0].number)[::order]:
        mirror.apply(*message)
        assert lnids_of(mirror)[A] in ((1, 2), (2, 3))
    assert lnids_of(mirror)[A] == (2, 3)


def test_members_come_before_the_port_that_hears_them() -> None:
    memory = Memory()
    memory.set(A, [7])
    memory.set(B, [7])
    mirror = Mirror(frozenset({A}))
    memory.load(mirror)
    assert [mac for mac, _ in mirror.changes({})] == [B, A]


def test_changes_are_what_differs_and_end_when_they_are_made() -> None:
    memory = Memory()
    for mac in (A, B):
        memory.set(mac, [7])
    mirror = Mirror(frozenset({A}))
    memory.load(mirror)
    table = {A: Entry.of(A, [7]), C: Entry.of(C, [9])}
    assert mirror.changes(table) == [(B, Entry.of(B, [7]))]
    assert mirror.changes_of_all(table) == [(B, Entry.of(B, [7])), (C, None)]
    mirror.settled()
    assert mirror.changes({}) == []


def test_what_nobody_can_read_is_none_and_is_complained_of() -> None:
    memory = Memory()
    memory.set(A, [7])
    memory.set(B, [7])
    mirror = Mirror(frozenset({A}))
    memory.load(mirror)
    key = KEYS.member(7, B)
    mirror.apply(Topic(Kind.LNID, 7), 9, [Event(key, b"{", 9), Event(b"/t/lnid/x", b"", 9)])
    assert lnids_of(mirror) == {A: (7,)}
    assert len(mirror.complaints) == 2


def test_progress_moves_what_is_resumed() -> None:
    mirror = Mirror()
    Memory().load(mirror)
    mirror.apply(GLOBAL, 50, [])
    assert dict(mirror.resume())[GLOBAL] == 51
    mirror.apply(GLOBAL, 40, [])
    assert dict(mirror.resume())[GLOBAL] == 51


def test_what_is_older_than_what_was_loaded_is_not_listened_to() -> None:
    """A watch that was never closed tells of a topic that was left and is wanted again."""
    memory, mirror, key = Memory(), Mirror(frozenset({A})), KEYS.member(7, B)
    memory.set(A, [7])
    memory.load(mirror)
    (revision,) = {start for topic, start in mirror.resume() if topic == Topic(Kind.LNID, 7)}
    mirror.apply(Topic(Kind.LNID, 7), revision - 1, [Event(key, b'{"lnids": [7]}', revision - 1)])
    assert lnids_of(mirror) == {A: (7,)}
    mirror.apply(Topic(Kind.LNID, 7), revision, [Event(key, b'{"lnids": [7]}', revision)])
    assert lnids_of(mirror) == {A: (7,), B: (7,)}


@pytest.mark.parametrize("seed", range(8))
def test_whatever_happens_a_host_has_what_it_needs(seed: int) -> None:
    """Random changes, ports that come and go, messages cut off: a mirror is the truth's part."""
    rng = random.Random(seed)
    memory, mirror = Memory(), Mirror()
    everybody = [0x525400000000 + number for number in range(12)]
    memory.load(mirror)
    for _ in range(60):
        for _ in range(rng.randrange(4)):
            lnids = rng.sample(range(1, 6), rng.randrange(4))
            if rng.random() < 0.03:
                lnids.append(0)
            memory.set(rng.choice(everybody), lnids)
        if rng.random() < 0.2:
            mirror.ports = frozenset(rng.sample(everybody, rng.randrange(4)))
        messages = list(memory.messages(mirror))
        for message in messages[: rng.randrange(len(messages) + 1)]:
            mirror.apply(*message)
        follow(memory, mirror)
        needed = {0}.union(*(memory.entries[p].lnids for p in mirror.ports & memory.entries.keys()))
        is_global = any(0 in memory.entries[p].lnids for p in mirror.ports & memory.entries.keys())
        assert mirror.entries() == {
            mac: entry
            for mac, entry in memory.entries.items()
            if is_global or needed & set(entry.lnids)
        }


# A host as others see it


def test_hosts_that_do_not_follow_are_found() -> None:
    def kv(key: bytes, value: bytes = b"", revision: int = 5) -> KeyValue:
        return KeyValue(key, value, revision, 9 if key.endswith(b"/alive") else 0)

    said = [kv(KEYS.agent(host)) for host in ("one", "two", "three")]
    said += [kv(KEYS.alive("one")), kv(KEYS.alive("three"))]
    said += [kv(KEYS.ready("one", A), encode_ready(5)), kv(KEYS.ready("one", B), encode_ready(4))]
    told = [kv(KEYS.assigned("one", A)), kv(KEYS.assigned("one", B))]
    told += [kv(KEYS.assigned("two", A)), kv(KEYS.assigned("four", C))]
    told += [kv(b"/t/host/\xff/port/nonsense")]
    found = etcdhosts.read(KEYS, 0, told, said)
    assert [each.name for each in found.gone] == ["two"]
    assert found.unready == [("one", B), ("four", C)]
    text = list(etcdhosts.sentences(KEYS, found))
    assert len(text) == 4
    assert "etcdctl del --prefix /t/status/two/" in text[1]
    assert "one has to be ready for 52:54:00:00:00:02" in text[2]


REPORT = Report(1_700_000_000, 1_700_000_100, 5, 4, 2, ("eBPF: no",))


def test_hosts_that_are_behind_are_found() -> None:
    """Those that follow, and say of a revision that it is older; who says nothing is not judged."""
    said = [KeyValue(KEYS.alive(host), b"", 3, 9) for host in ("one", "two", "old")]
    said += [
        KeyValue(KEYS.agent("one"), reports.encode(REPORT), 8),
        KeyValue(KEYS.agent("two"), reports.encode(replace(REPORT, revision=7)), 8),
        KeyValue(KEYS.agent("gone"), reports.encode(REPORT), 8),
        KeyValue(KEYS.agent("old"), b"", 8),
    ]
    found = etcdhosts.read(KEYS, 7, [], said)
    assert [each.name for each in found.known] == ["gone", "old", "one", "two"]
    assert [each.name for each in found.behind(7)] == ["one"]
    assert [each.name for each in found.behind(8)] == ["one", "two"]
    (text,) = etcdhosts.stuck(found.behind(7), 7, 30)
    assert text.startswith("one is stuck: its table has the changes of the store up to revision 5")
    assert "eBPF: no" in text


def test_a_report_comes_back_and_another_is_none() -> None:
    assert reports.decode(reports.encode(REPORT)) == REPORT
    whole = json.loads(reports.encode(REPORT))
    wrong: list[dict[str, Any]] = [
        {"since": -1},
        {"at": True},
        {"revision": 2**63},
        {"entries": "4"},
        {"errors": "no"},
        {"errors": [1]},
    ]
    for each in wrong:
        assert reports.decode(json.dumps({**whole, **each}).encode()) is None
    for value in (b"", b"\xff", b"[]", b"7", b"{}", b"[" * 100000):
        assert reports.decode(value) is None


def test_a_report_of_another_host_is_bounded_and_can_be_printed() -> None:
    """It goes to the terminal of who asks."""
    errors = ["\x1b[2J\nfault", "x" * 10_000, "", "", "", ""]
    found = reports.decode(
        json.dumps({**json.loads(reports.encode(REPORT)), "errors": errors}).encode()
    )
    assert found is not None
    assert found.errors[0] == "?[2J?fault"
    assert len(found.errors) == 4
    assert max(map(len, found.errors)) == 300


# Ports and numbers


def test_a_file_of_ports_has_macs_and_remarks() -> None:
    found = hostports.parse("vm1", "# web\n52:54:00:00:00:01\n\n52-54-00-00-00-02 # 2\nhello\n")
    assert found.macs == {A, B}
    assert len(found.complaints) == 1
    assert "vm1, line 5" in found.complaints[0]


def test_a_folder_of_ports(tmp_path: Path) -> None:
    folder = tmp_path / "ports"
    assert hostports.read(folder) is None
    folder.mkdir()
    (folder / "one").write_text("52:54:00:00:00:01\n")
    (folder / ".two").write_text("52:54:00:00:00:02\n")
    (folder / "folder").mkdir()
    found = hostports.read(folder)
    assert found is not None
    assert found.macs == {A}
    assert len(found.complaints) == 1


def test_a_folder_of_ports_that_cannot_be_watched_is_looked_at_again(tmp_path: Path) -> None:
    """A loop of links is no folder, and no reason not to hear of the next one."""
    folder = tmp_path / "ports"
    folder.mkdir()
    told: queue.SimpleQueue[hostports.Ports | None] = queue.SimpleQueue()
    ports = hostports.PortsFolder(folder, told.put)
    assert ports.start() is not None
    try:
        folder.rename(tmp_path / "elsewhere")
        (tmp_path / "link").symlink_to("ports")
        (tmp_path / "link").rename(folder)
        assert told.get(timeout=wait.PATIENCE) is None
        folder.unlink()
        (tmp_path / "elsewhere" / "vm").write_text("52:54:00:00:00:01\n")
        (tmp_path / "elsewhere").rename(folder)
        while (found := told.get(timeout=wait.PATIENCE)) is None:
            pass
        assert found.macs == {A}
    finally:
        ports.stop()


def test_numbers_are_in_the_format_of_prometheus() -> None:
    found = metrics.text("vmmnet_hostvlan_", [metrics.Metric("entries", "MACs.", 1048577)])
    assert found == (
        "# HELP vmmnet_hostvlan_entries MACs.\n"
        "# TYPE vmmnet_hostvlan_entries gauge\n"
        "vmmnet_hostvlan_entries 1.048577e+06\n"
    )


def test_numbers_with_labels_are_together() -> None:
    found = metrics.text(
        "vmmnet_hostvlan_",
        [
            metrics.Metric("x_total", "Xs.", 1, {"port": 'a"b\\c\nd', "mac": ""}),
            metrics.Metric("y", "Ys.", 5),
            metrics.Metric("x_total", "Xs.", 2, {"port": "e", "mac": "f"}),
        ],
    )
    assert found == (
        "# HELP vmmnet_hostvlan_x_total Xs.\n"
        "# TYPE vmmnet_hostvlan_x_total counter\n"
        'vmmnet_hostvlan_x_total{mac="",port="a\\"b\\\\c\\nd"} 1.0\n'
        'vmmnet_hostvlan_x_total{mac="f",port="e"} 2.0\n'
        "# HELP vmmnet_hostvlan_y Ys.\n"
        "# TYPE vmmnet_hostvlan_y gauge\n"
        "vmmnet_hostvlan_y 5.0\n"
    )


def port(name: str, spoofed: int = 0) -> ports.Port:
    counters = {"send": {"passed": 7, "spoofed": spoofed}, "receive": {"passed": 8}}
    return ports.Port("", name, A, Path("/t"), 1, "", (), counters=counters)


def test_the_numbers_of_ports_are_so_many_at_most(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever there is to tell of; and a socket of somebody else's is not asked again at once."""
    here = [port(f"tap{number:03}", number) for number in range(300)]
    here[299] = replace(here[299], hooks_missing=1, hooks_preceded=2)
    monkeypatch.setattr(ports, "attached", lambda: here)
    (tmp_path / "vm.qmp").touch()
    asked = []

    def refuse(path: Path) -> None:
        asked.append(path)
        raise ports.PortsError(f"{path}: no answer")

    monkeypatch.setattr(portmetrics, "Monitor", refuse)
    numbers = portmetrics.PortNumbers([str(tmp_path / "*.qmp")])
    for _ in range(2):
        found = numbers.read()
        single = {each.name: each.value for each in found if not each.labels}
        assert single == {
            "hooks_missing": 1,
            "hooks_preceded": 2,
            "ports_left_out": 44,
            "ports_unread": 1,
        }
        assert len(found) == 256 * 18 + 4
    assert asked == [tmp_path / "vm.qmp"]
    drops = [each for each in found if each.labels.get("port") == "tap255" and each.value]
    assert [(each.name, each.value) for each in drops] == [
        ("port_passed_total", 7),
        ("port_drops_total", 255),
        ("port_passed_total", 8),
    ]
    assert drops[1].labels["reason"] == "spoofed"
    assert "tap256" not in {each.labels.get("port") for each in found}


def test_every_reason_is_told_of() -> None:
    """In a direction at least; a new one is not forgotten."""
    told = {reason for reasons in portmetrics.REASONS.values() for reason in reasons}
    assert told == set(twin.REASONS) - {"passed"}


def test_where_numbers_are_served() -> None:
    assert agent_command.address_and_port("[::1]:9108") == ("::1", 9108)
    for wrong in ("9108", "::1:9108", "a:b", ":1", "a:65536"):
        with pytest.raises(ValueError, match="such as"):
            agent_command.address_and_port(wrong)


def test_the_hook_of_the_documentation_tells_of_ports(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "hostvlan-etcd.md"
    script = page.read_text().partition("```sh\n")[2].partition("```")[0]
    folder = tmp_path / "ports"
    hook = tmp_path / "qemu"
    hook.write_text(script.replace("/run/vmmnet/ports", str(folder)))

    def tell(operation: str) -> None:
        xml = b"<mac address='52:54:00:00:00:01'/>\n<arg value='x,mac=52:54:00:00:00:02'/>"
        subprocess.run(["/bin/sh", hook, "web1", operation, "begin", "-"], input=xml, check=True)

    for operation in ("prepare", "start", "started"):
        tell(operation)
    assert hostports.read(folder) == hostports.Ports(frozenset({A, B}))
    tell("release")
    assert hostports.read(folder) == hostports.Ports(frozenset())
