# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of etcd's version 3 API, over its JSON gateway.

Theory of operation

etcd serves its API as gRPC and, on the same port, as JSON over HTTP/1.1
("gRPC gateway"): int64 are strings, bytes are base64, what has its default
value is left out.  Python's standard library speaks that, and no more is
needed here: ranges, transactions, watches, users.

An answer comes from the endpoint that answered last; when it fails, the
others are asked in turn.  A read is repeated at the next endpoint whatever
happened.  A write is repeated only if it certainly did not arrive; else
``Uncertain`` is raised, and the caller finds out by reading.

A watch is one POST whose body holds all its requests, one JSON object after
the other, and whose answer never ends.  The header ``Connection: close``
matters: without it Go's HTTP/1 server throws away what it has not yet read of
a body as soon as it begins to answer, and with it the requests at its end.
``hasleader`` makes a member that has lost its cluster end the watch, rather
than keep silent.  TCP keep-alive notices a host that is gone.

With a user, a token goes with each request.  A token ends by time, by a
restart, and by a change of users and roles; then a new one is asked for, once.
A token also tells how far etcd had come when it was made, and etcd looks at it
only when it has come as far again, which after a restore from a backup can
take for ever.  A token is dropped therefore when an answer does not come or a
connection is lost.

Credentials are read when they are used: the password with each new token, the
certificates and keys with each new connection, and a connection on which etcd
has refused us is closed.  So files may be replaced while we run.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import http.client
import json
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from .errors import Compacted, Denied, EtcdError, StoreError, Uncertain, Unreachable
from .place import Config, read_password, spell

#: Operations of one transaction: etcd's own default of --max-txn-ops.
OPERATIONS_MAX = 128

# The gateway passes on messages of 4 MiB.  An entry has 1.7 KB at most.
_PAGE = 2000
# Ranges of one request, and keys of each, when many are read at one revision.
_RANGES = 32
_RANGE_KEYS = 60

# A lost host is noticed after _KEEP_IDLE + _KEEP_COUNT * _KEEP_INTERVAL seconds.
_KEEP_IDLE, _KEEP_INTERVAL, _KEEP_COUNT = 10, 5, 3

# Entries of the log that etcd may carry out while it tells its revision and its index.
_UNDER_WAY = 8

#: gRPC's status code of what is not there, such as a lease that has ended.
NOT_FOUND = 5
# Its other status codes.
_INVALID, _DEADLINE, _DENIED, _PRECONDITION = 3, 4, 7, 9
_OUT_OF_RANGE, _UNAVAILABLE, _UNAUTHENTICATED = 11, 14, 16

_LARGEST_LINE = 64 << 20

Json = dict[str, Any]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Range:
    """Keys from ``key`` up to and without ``end``; ``key`` alone if there is no end."""

    key: bytes
    end: bytes | None = None
    #: Those that have not changed since an older revision than this are left out.
    since: int = 0

    @classmethod
    def prefix(cls, text: bytes) -> Range:
        """All keys that begin with a text, whose last octet is not 255."""
        return cls(text, text[:-1] + bytes([text[-1] + 1]))

    def json(self) -> Json:
        """How a request says it."""
        result = {"key": _b64(self.key)}
        if self.end is not None:
            result["range_end"] = _b64(self.end)
        if self.since:
            result["min_mod_revision"] = str(self.since)
        return result


@dataclass(frozen=True, slots=True)
class KeyValue:
    """A key as it was at some revision."""

    key: bytes
    value: bytes
    mod_revision: int
    #: The lease with which it ends; 0: it does not.
    lease: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """A change of a key; without a value it was deleted."""

    key: bytes
    value: bytes | None
    mod_revision: int


@dataclass(frozen=True, slots=True)
class Told:
    """One message of a watch."""

    #: Which of the watch's requests it is about, counted from 0.
    request: int
    #: The store's revision when it was sent.
    revision: int
    events: tuple[Event, ...]
    #: The request was accepted; sent once, before its events.
    created: bool = False
    #: Not 0: the start is older than this, the oldest revision that is kept.
    compacted: int = 0


@dataclass(frozen=True, slots=True)
class Watched:
    """A request of a watch: the changes of a range from a revision on."""

    range: Range
    start_revision: int


@dataclass(frozen=True, slots=True)
class Age:
    """What grows only, for as long as a cluster lives; a restore from a backup begins anew.

    A restored cluster can have the identity that it had, and revisions that
    have been before.  Its log is new, however.
    """

    #: Raft's term.
    term: int
    #: Entries of Raft's log that made no revision.  A revision takes one entry, and
    #: so a restored cluster has fewer, by the length of the log that was lost.
    others: int

    def is_younger(self, other: Age) -> bool:
        """Whether this cannot be a later moment of the same cluster."""
        return self.term < other.term or self.others < other.others - _UNDER_WAY


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def put(key: bytes, value: bytes, lease: int = 0) -> Json:
    """An operation of a transaction: set a key, which ends when its lease does."""
    words = {"key": _b64(key), "value": _b64(value)}
    return {"request_put": words | ({"lease": str(lease)} if lease else {})}


def delete(key: bytes) -> Json:
    """An operation of a transaction: delete a key."""
    return {"request_delete_range": {"key": _b64(key)}}


def unchanged(key: bytes, mod_revision: int) -> Json:
    """A condition of a transaction: a key has that revision; 0: there is none."""
    return {
        "key": _b64(key),
        "target": "MOD",
        "result": "EQUAL",
        "mod_revision": str(mod_revision),
    }


def _key_value(kv: Json) -> KeyValue:
    return KeyValue(
        base64.b64decode(kv["key"]),
        base64.b64decode(kv.get("value", "")),
        int(kv["mod_revision"]),
        int(kv.get("lease", 0)),
    )


def _event(event: Json) -> Event:
    kv = _key_value(event["kv"])
    gone = event.get("type") == "DELETE"
    return Event(kv.key, None if gone else kv.value, kv.mod_revision)


def _revision(answer: Json) -> int:
    return int(answer["header"].get("revision", 0))


class Client:
    """A connection to etcd for each thread that uses it.

    Use it as a context manager.  What it raises is an ``EtcdError``, or a
    ``StoreError`` about a file with credentials.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self._local = threading.local()
        self._lock = threading.Lock()
        self._open: set[http.client.HTTPConnection] = set()
        # The endpoint that answered last.
        self._current = 0
        # Those with which we speak as they want it, with TLS or without.
        self._answered: set[tuple[str, int]] = set()
        self._token: str | None = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections of all threads, but not those of watches."""
        with self._lock:
            connections, self._open = self._open, set()
        for connection in connections:
            connection.close()

    # Keys

    def get(self, key: bytes) -> KeyValue | None:
        """Read one key."""
        return self.look(key)[2]

    def look(self, key: bytes, *, serializable: bool = False) -> tuple[int, int, KeyValue | None]:
        """Read one key; returns the identity of the cluster and its revision too.

        With ``serializable`` the member that is asked says what it knows, which
        can be old, and asks nobody else.
        """
        request = {**Range(key).json(), "serializable": serializable}
        answer = self.call("kv/range", request)
        found = [_key_value(kv) for kv in answer.get("kvs", ())]
        cluster = int(answer["header"].get("cluster_id", 0))
        return cluster, _revision(answer), found[0] if found else None

    def snapshot(
        self, ranges: Sequence[Range], revision: int = 0
    ) -> tuple[int, list[list[KeyValue]]]:
        """Read several ranges as they are at one revision, now if none is given.

        Returns the revision, and the keys of each range in order.
        """
        found: list[list[KeyValue]] = []
        for start in range(0, len(ranges), _RANGES):
            part = ranges[start : start + _RANGES]
            answer = self.call("kv/txn", {"success": [_read(each, revision) for each in part]})
            revision = revision or _revision(answer)
            for wanted, response in zip(part, answer["responses"], strict=True):
                first = response["response_range"]
                keys = [_key_value(kv) for kv in first.get("kvs", ())]
                if first.get("more"):
                    rest = replace(wanted, key=keys[-1].key + b"\0")
                    for _, page in self.pages(rest, revision):
                        keys += page
                found.append(keys)
        return revision, found

    def pages(
        self, wanted: Range, revision: int = 0, *, limit: int = _PAGE
    ) -> Iterator[tuple[int, list[KeyValue]]]:
        """Read a range of any size, page by page, as it is at one revision.

        Yields the revision and the keys of each page, at least one and ``limit`` at most.
        """
        more = True
        while more:
            request = {**wanted.json(), "limit": str(limit), "revision": str(revision)}
            answer = self.call("kv/range", request)
            revision = revision or _revision(answer)
            keys = [_key_value(kv) for kv in answer.get("kvs", ())]
            yield revision, keys
            more = bool(answer.get("more"))
            if more:
                wanted = replace(wanted, key=keys[-1].key + b"\0")

    def put(self, key: bytes, value: bytes, lease: int = 0) -> int:
        """Set a key, which may be repeated; returns the revision.

        With a lease the key ends when that does.
        """
        request = {"key": _b64(key), "value": _b64(value), "lease": str(lease)}
        return _revision(self.call("kv/put", request))

    def delete(self, key: bytes) -> int:
        """Delete a key, which may be repeated; returns the revision."""
        return _revision(self.call("kv/deleterange", {"key": _b64(key)}))

    def transact(self, conditions: Sequence[Json], operations: Sequence[Json]) -> tuple[bool, int]:
        """Carry out all operations if all conditions hold, none otherwise.

        Returns whether they held, and the revision.  Raises ``Uncertain``
        when the answer was lost.
        """
        request = {"compare": list(conditions), "success": list(operations)}
        answer = self.call("kv/txn", request, repeatable=False)
        return bool(answer.get("succeeded")), _revision(answer)

    def age(self) -> Age:
        """How old the cluster is, as the member knows that is asked."""
        answer = self.call("maintenance/status", {})
        index = int(answer.get("raftAppliedIndex", 0))
        return Age(int(answer.get("raftTerm", 0)), index - _revision(answer))

    def grant(self, seconds: int) -> int:
        """Make a lease, which ends when it is not kept alive; returns its number."""
        return int(self.call("lease/grant", {"TTL": str(seconds)})["ID"])

    def keep_alive(self, lease: int) -> bool:
        """Let the time of a lease begin anew; False: it has ended."""
        answer = self.call("lease/keepalive", {"ID": str(lease)})
        if "result" not in answer:
            raise EtcdError(f"etcd does not keep a lease alive: {answer.get('error', answer)}")
        return int(answer["result"].get("TTL", 0)) > 0

    def unheard(self, lease: int) -> int | None:
        """For how many seconds a lease has not been kept alive; None: it has ended."""
        answer = self.call("lease/timetolive", {"ID": str(lease)})
        left = int(answer.get("TTL", 0))
        return int(answer.get("grantedTTL", 0)) - left if left > 0 else None

    def revoke(self, lease: int) -> None:
        """End a lease now, and the keys with it; one that has ended already is none."""
        try:
            self.call("lease/revoke", {"ID": str(lease)})
        except EtcdError as error:
            if error.code != NOT_FOUND:
                raise

    def watch(self, requests: Sequence[Watched]) -> Watch:
        """Begin to watch; returns when one endpoint has answered."""
        body = b"".join(
            json.dumps({"create_request": _watch_request(number, each)}).encode()
            for number, each in enumerate(requests, 1)
        )

        def begin(endpoint: tuple[str, int], token: str | None) -> Watch:
            connection = self._connection(endpoint)
            headers = self._headers(token)
            lost = functools.partial(self._drop, token)
            return Watch(connection, self.config, body, headers, len(requests), lost)

        return self._anywhere(begin, repeatable=True)

    # Requests

    def call(self, path: str, body: Json, *, repeatable: bool = True) -> Json:
        """Send one request to /v3/PATH and return its answer."""
        data = json.dumps(body).encode()

        def ask(endpoint: tuple[str, int], token: str | None) -> Json:
            return self._ask(endpoint, path, data, token)

        return self._anywhere(ask, repeatable=repeatable)

    def _anywhere(
        self, action: Callable[[tuple[str, int], str | None], _T], *, repeatable: bool
    ) -> _T:
        """Do it at the endpoint that answered last, or else at another."""
        failures = []
        count = len(self.config.endpoints)
        for _ in range(count):
            current = self._current
            endpoint = self.config.endpoints[current % count]
            try:
                return self._authorized(action, endpoint)
            except _Failed as failure:
                if failure.sent and not repeatable:
                    raise Uncertain(
                        f"etcd at {spell(*endpoint)}: {failure}; whether it was done is not known"
                    ) from failure
                failures.append(f"{spell(*endpoint)}: {failure}")
                self._current = current + 1
        raise Unreachable(
            f"etcd does not answer: {'; '.join(failures)}: is it running, and is"
            f" {self.config.option} right?",
            _UNAVAILABLE,
        )

    def _authorized(
        self, action: Callable[[tuple[str, int], str | None], _T], endpoint: tuple[str, int]
    ) -> _T:
        """Do it with a token, with a new one if that is not accepted any more."""
        if self.config.user is None:
            return action(endpoint, None)
        token = self._token
        if token is not None:
            try:
                return self._trusting(token, action, endpoint)
            except EtcdError as error:
                if not _is_stale(error):
                    raise
        token = self._token = self._authenticate(endpoint)
        return self._trusting(token, action, endpoint)

    def _trusting(
        self,
        token: str,
        action: Callable[[tuple[str, int], str | None], _T],
        endpoint: tuple[str, int],
    ) -> _T:
        """Do it with a token, and drop that if there is no answer."""
        try:
            return action(endpoint, token)
        except _Failed:
            self._drop(token)
            raise

    def _drop(self, token: str | None) -> None:
        """Use a token no more; any thread may call, and another may have a new one."""
        if self._token == token:
            self._token = None

    def _authenticate(self, endpoint: tuple[str, int]) -> str:
        user, file = self.config.user, self.config.password_file
        password = read_password(file, self.config.option) if file is not None else ""
        body = json.dumps({"name": user, "password": password}).encode()
        try:
            token: str = self._ask(endpoint, "auth/authenticate", body, None)["token"]
        except _Failed as failure:
            # The request that the token was for has not been sent.
            raise _Failed(str(failure), False) from failure
        except EtcdError as error:
            where = spell(*endpoint)
            if error.code == _PRECONDITION:
                raise Denied(
                    f"etcd at {where} has no authentication enabled: leave"
                    f" {self.config.option}-user out,"
                    " or enable it with 'vmmnet hostvlan roles enable'",
                    error.code,
                ) from error
            if error.code == _INVALID:
                raise Denied(
                    f"etcd at {where} does not accept {self.config.option}-user '{user}' with the"
                    f" password in {self.config.option}-password-file {file}",
                    error.code,
                ) from error
            raise
        return token

    def _ask(self, endpoint: tuple[str, int], path: str, body: bytes, token: str | None) -> Json:
        """One request to one endpoint.  Raises _Failed, or what etcd says."""
        connection = self._kept(endpoint)
        sent = False
        try:
            if connection.sock is None:
                connection.connect()
            sent = True
            connection.request("POST", f"/v3/{path}", body, self._headers(token))
            response = connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            known = endpoint in self._answered
            raise _Failed(_why(error, self.config, known), sent) from error
        except BaseException:
            # Left in the middle: the next answer would be that of this request.
            connection.close()
            raise
        self._answered.add(endpoint)
        try:
            return _answer(endpoint, self.config, response.status, data)
        except Denied:
            # It may be our certificate that is refused, by which the connection is known.
            connection.close()
            raise

    def _headers(self, token: str | None) -> Mapping[str, str]:
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = token
        return headers

    def _kept(self, endpoint: tuple[str, int]) -> http.client.HTTPConnection:
        """The thread's connection to an endpoint, if it still stands, or a new one."""
        kept: dict[tuple[str, int], http.client.HTTPConnection]
        kept = self._local.__dict__.setdefault("connections", {})
        old = kept.get(endpoint)
        if old is not None:
            # Nothing was asked: what can be read is the end of the connection.
            if old.sock is not None and not _is_readable(old.sock):
                return old
            old.close()
        new = self._connection(endpoint)
        with self._lock:
            self._open.discard(old)
            self._open.add(new)
        kept[endpoint] = new
        return new

    def _connection(self, endpoint: tuple[str, int]) -> http.client.HTTPConnection:
        """A connection that is not made yet, with the certificates that are in the files now."""
        host, port = endpoint
        if self.config.tls:
            return http.client.HTTPSConnection(
                host, port, timeout=self.config.timeout, context=_tls(self.config)
            )
        return http.client.HTTPConnection(host, port, timeout=self.config.timeout)


class Watch:
    """What a watch tells, until it is closed or lost; see Client.watch().

    One thread iterates, any may close.
    """

    def __init__(
        self,
        connection: http.client.HTTPConnection,
        config: Config,
        body: bytes,
        headers: Mapping[str, str],
        requests: int,
        lost: Callable[[], None],
    ) -> None:
        self._when_lost = lost
        self._closed = False
        self._where = spell(connection.host, connection.port)
        self._requests = self._missing = requests
        # The beginning of a line of which the end has not come, in pieces, and their octets.
        self._pieces: list[bytes] = []
        self._length = 0
        self._connection = connection
        try:
            connection.connect()
            self._socket: socket.socket = connection.sock
            _keep_alive(self._socket)
            more = {"Connection": "close", "Grpc-Metadata-hasleader": "true"}
            connection.request("POST", "/v3/watch", body, {**headers, **more})
            self._response = connection.getresponse()
            if self._response.status != http.HTTPStatus.OK:
                data = self._response.read()
                _raise((connection.host, connection.port), config, self._response.status, data)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise _Failed(str(error) or type(error).__name__, True) from error
        except BaseException:
            connection.close()
            raise

    def __iter__(self) -> Iterator[Told]:
        """Messages as they come; raises Unreachable at the end, Compacted or Denied."""
        while True:
            for line in self._lines():
                yield self._told(json.loads(line))

    def close(self) -> None:
        """End it, also while another thread waits for a message."""
        self._closed = True
        with contextlib.suppress(OSError):
            # Not that of an SSLSocket, which takes its state from under who reads.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def _lines(self) -> list[bytes]:
        try:
            data = self._response.read1(1 << 16)
        except http.client.HTTPException as error:
            raise self._lost("it has ended the connection") from error
        except OSError as error:
            raise self._lost(error.strerror or str(error)) from error
        if not data:
            raise self._lost("it has ended the watch")
        return self._split(data)

    def _split(self, data: bytes) -> list[bytes]:
        """The lines that end in what has come.  Each octet is copied once or twice."""
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join([*self._pieces, lines[0]])
            self._pieces, self._length = [], 0
        self._pieces.append(rest)
        self._length += len(rest)
        if self._length > _LARGEST_LINE:
            raise self._lost(f"a message has more than {_LARGEST_LINE} octets")
        return [line for line in lines if line]

    def _lost(self, why: str) -> Unreachable:
        self._connection.close()
        if not self._closed:
            self._when_lost()
        return Unreachable(f"etcd at {self._where}: {why}", _UNAVAILABLE)

    def _told(self, message: Json) -> Told:
        if "error" in message:
            error = message["error"]
            raise self._lost(str(error.get("message", error)))
        result = message["result"]
        # Requests are numbered from 1: 0 would let etcd choose.
        request = int(result.get("watch_id", 0)) - 1
        compacted = int(result.get("compact_revision", 0))
        if result.get("canceled") and not compacted:
            reason = str(result.get("cancel_reason", "the watch was cancelled"))
            # The token may be to blame: of a watch etcd does not say so with a code.
            self._when_lost()
            raise _cancelled(self._where, reason)
        if not 0 <= request < self._requests:
            raise self._lost(f"a message is about watch {request + 1}, of {self._requests}")
        created = bool(result.get("created"))
        if created:
            self._missing -= 1
            if not self._missing:
                # What comes now comes when it happens.
                self._socket.settimeout(None)
        return Told(
            request,
            _revision(result),
            tuple(map(_event, result.get("events", ()))),
            created,
            compacted,
        )


class _Failed(Exception):
    """An endpoint did not answer; the next may."""

    def __init__(self, text: str, sent: bool) -> None:
        super().__init__(text)
        #: Whether the request may have arrived.
        self.sent = sent


def _read(wanted: Range, revision: int) -> Json:
    limits = {"limit": str(_RANGE_KEYS), "revision": str(revision)}
    return {"request_range": {**wanted.json(), **limits}}


def _watch_request(number: int, watched: Watched) -> Json:
    return {
        **watched.range.json(),
        "start_revision": str(watched.start_revision),
        "watch_id": str(number),
        "progress_notify": True,
    }


def _answer(endpoint: tuple[str, int], config: Config, status: int, data: bytes) -> Json:
    if status != http.HTTPStatus.OK:
        if b"HTTPS server" in data:
            raise _Failed("it wants TLS: write etcds:// instead of etcd://", False)
        _raise(endpoint, config, status, data)
    try:
        answer: Json = json.loads(data)
    except ValueError as error:
        raise _Failed(f"its answer is not that of etcd: {data[:80]!r}", True) from error
    return answer


def _raise(endpoint: tuple[str, int], config: Config, status: int, data: bytes) -> None:
    """Raise what an answer with an error says."""
    where, option = f"etcd at {spell(*endpoint)}", config.option
    try:
        said = json.loads(data)
        text, code = str(said.get("message") or said["error"]), int(said["code"])
    except (ValueError, KeyError, TypeError, AttributeError):
        text = data[:200].decode(errors="replace").strip()
        if "CommonName" in text:
            raise Denied(
                f"{where} takes no certificate with a CommonName from us while it has users:"
                f" give {option}-cert one without (openssl req -subj /O=NAME)"
            ) from None
        raise EtcdError(f"{where} answers {status}: {text}: is it etcd 3.4 or newer?") from None
    if code in (_UNAVAILABLE, _DEADLINE):
        raise _Failed(text, True)
    if code == _OUT_OF_RANGE and "compacted" in text:
        raise Compacted(f"{where}: {text}", code)
    if "user name is empty" in text or (code == _DENIED and config.user is None):
        raise Denied(f"{where} wants a user: give {option}-user and {option}-password-file", code)
    if code == _DENIED:
        raise Denied(f"{where}: {text}: the user has no role that allows it", code)
    if code == _UNAUTHENTICATED:
        raise Denied(f"{where}: {text}", code)
    if "database space exceeded" in text:
        text += ": compact it, defragment it and disarm the alarm (etcdctl alarm disarm)"
    raise EtcdError(f"{where}: {text}", code)


def _cancelled(where: str, reason: str) -> EtcdError:
    if "denied" in reason.lower():
        return Denied(
            f"etcd at {where}: {reason}: the user has no role that allows it,"
            " or its token has ended",
            _UNAUTHENTICATED,
        )
    return Unreachable(f"etcd at {where}: {reason}", _UNAVAILABLE)


def _is_stale(error: EtcdError) -> bool:
    """Whether the token is to blame: it ended, or users and roles have changed."""
    return error.code == _UNAUTHENTICATED or "revision of auth store is old" in str(error)


def _is_readable(connection: socket.socket) -> bool:
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))


def _keep_alive(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (socket.TCP_KEEPIDLE, _KEEP_IDLE),
        (socket.TCP_KEEPINTVL, _KEEP_INTERVAL),
        (socket.TCP_KEEPCNT, _KEEP_COUNT),
    ):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)


def _tls(config: Config) -> ssl.SSLContext:
    option = config.option
    try:
        context = ssl.create_default_context(cafile=config.ca)
        if config.cert is not None:
            context.load_cert_chain(config.cert, config.key)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(str(path) for path in (config.ca, config.cert, config.key) if path)
        raise StoreError(
            f"{option}-ca, {option}-cert or {option}-key ({files}): {error}"
        ) from error
    return context


def _why(error: Exception, config: Config, known: bool) -> str:
    """What a failed connection says to somebody who has typed the options.

    ``known``: the endpoint has answered us before.
    """
    option = config.option
    # How a closed connection is called depends on the version of OpenSSL.
    ended = ConnectionResetError | BrokenPipeError | ssl.SSLEOFError | ssl.SSLZeroReturnError
    if known and isinstance(error, ended):
        return "it has ended the connection, as it does when it is stopped or started anew"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{error.verify_message}: {config.option}-ca names who signs etcd's certificate"
    if isinstance(error, ssl.SSLError):
        closed = isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)
        if closed or error.reason == "WRONG_VERSION_NUMBER":
            return "it speaks no TLS: write etcd:// instead of etcds://"
        return f"{error.reason}: {option}-cert and {option}-key are what etcd knows us by"
    if isinstance(error, ConnectionResetError | BrokenPipeError):
        if config.tls:
            hint = "if it speaks no TLS, write etcd:// instead of etcds://"
        else:
            hint = "if it wants TLS, write etcds:// instead of etcd://"
        return f"it has ended the connection: is it being started or stopped? {hint}"
    if isinstance(error, TimeoutError):
        return f"no answer in {config.timeout:g} s"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
