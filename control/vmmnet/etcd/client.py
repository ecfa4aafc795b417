# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of etcd's version 3 API, over its JSON gateway.

Theory of operation

etcd serves its API as gRPC and, on the same port, as JSON over HTTP/1.1
("gRPC gateway"): int64 are strings, bytes are base64, what has its default
value is left out.  Python's standard library speaks that, and no more is
needed here: ranges, transactions, watches, users.

Requests go to the endpoint that answered last; when it fails, to the others
in turn.  A read is repeated at the next endpoint after any failure.  A write
is repeated only if it certainly did not arrive; else ``Uncertain`` is raised,
and the caller must read to learn the result.

A watch is one POST whose body has all its requests as JSON objects, and whose
answer never ends.  The header ``Connection: close`` is required: without it
Go's HTTP/1 server discards the unread rest of a body, and the requests in it,
when it begins to answer.  ``hasleader`` makes a member that has lost its
cluster end the watch.  TCP keep-alive detects a lost host.

With a user, each request has a token.  A token ends by time, by a restart, and
by a change of users and roles; then a new one is requested, once.  A token
also contains etcd's revision at its creation, and etcd handles it only when it
has reached that revision, after a restore from a backup perhaps never.  So a
token is dropped when an answer does not come or a connection is lost.

Credentials are read at their use: the password for each new token, certificates
and keys for each new connection; a connection on which etcd refused us is
closed.  So files may be replaced while we run.
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

# The gateway's messages have at most 4 MiB, an entry at most 1.7 KB.
_PAGE = 2000
# Ranges of a request, and keys of each, when many are read at one revision.
_RANGES = 32
_RANGE_KEYS = 60

# A lost host is detected after _KEEP_IDLE + _KEEP_COUNT * _KEEP_INTERVAL seconds.
_KEEP_IDLE, _KEEP_INTERVAL, _KEEP_COUNT = 10, 5, 3

#: gRPC's status code NOT_FOUND, for example of an ended lease.
NOT_FOUND = 5
# Its other status codes.
_INVALID, _DEADLINE, _DENIED, _PRECONDITION = 3, 4, 7, 9
_OUT_OF_RANGE, _UNAVAILABLE, _UNAUTHENTICATED = 11, 14, 16

_LARGEST_LINE = 64 << 20

Json = dict[str, Any]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Range:
    """Keys from ``key`` up to but without ``end``; only ``key`` without an end."""

    key: bytes
    end: bytes | None = None
    #: Keys whose last change is older than this revision are left out.
    since: int = 0

    @classmethod
    def prefix(cls, text: bytes) -> Range:
        """All keys with a prefix, whose last octet is not 255."""
        return cls(text, text[:-1] + bytes([text[-1] + 1]))

    def json(self) -> Json:
        """Its form in a request."""
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
    #: Its lease; 0: none.
    lease: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """A change of a key; no value: it was deleted."""

    key: bytes
    value: bytes | None
    mod_revision: int


@dataclass(frozen=True, slots=True)
class Told:
    """One message of a watch."""

    #: Index of the watch's request, from 0.
    request: int
    #: The store's revision at its sending.
    revision: int
    events: tuple[Event, ...]
    #: The request was accepted; sent once, before its events.
    created: bool = False
    #: Not 0: the start was older than this, the oldest kept revision.
    compacted: int = 0


@dataclass(frozen=True, slots=True)
class Watched:
    """A request of a watch: changes of a range from a revision on."""

    range: Range
    start_revision: int


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def put(key: bytes, value: bytes, lease: int = 0) -> Json:
    """An operation of a transaction: set a key, which ends with its lease."""
    words = {"key": _b64(key), "value": _b64(value)}
    return {"request_put": words | ({"lease": str(lease)} if lease else {})}


def delete(key: bytes) -> Json:
    """An operation of a transaction: delete a key."""
    return {"request_delete_range": {"key": _b64(key)}}


def unchanged(key: bytes, mod_revision: int) -> Json:
    """A condition of a transaction: the key has this revision; 0: it does not exist."""
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

    Use it as a context manager.  It raises ``EtcdError``, or ``StoreError`` about
    a file with credentials.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self._local = threading.local()
        self._lock = threading.Lock()
        self._open: set[http.client.HTTPConnection] = set()
        # The endpoint that answered last.
        self._current = 0
        # Endpoints that have answered us, with or without TLS.
        self._answered: set[tuple[str, int]] = set()
        self._token: str | None = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections of all threads, except those of watches."""
        with self._lock:
            connections, self._open = self._open, set()
        for connection in connections:
            connection.close()

    # Keys

    def get(self, key: bytes) -> KeyValue | None:
        """Read one key."""
        return self.look(key)[1]

    def look(self, key: bytes, *, serializable: bool = False) -> tuple[int, KeyValue | None]:
        """Read one key; also returns the store's revision.

        With ``serializable`` the member answers from its own, perhaps old, state.
        """
        request = {**Range(key).json(), "serializable": serializable}
        answer = self.call("kv/range", request)
        found = [_key_value(kv) for kv in answer.get("kvs", ())]
        return _revision(answer), found[0] if found else None

    def snapshot(
        self, ranges: Sequence[Range], revision: int = 0
    ) -> tuple[int, list[list[KeyValue]]]:
        """Read several ranges at one revision; default: the present one.

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
        """Read a range of any size, page by page, at one revision.

        Yields the revision and the keys of each page, 1 to ``limit``.
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
        """Set a key, idempotent; returns the revision.

        With a lease the key ends with it.
        """
        request = {"key": _b64(key), "value": _b64(value), "lease": str(lease)}
        return _revision(self.call("kv/put", request))

    def delete(self, key: bytes) -> int:
        """Delete a key, idempotent; returns the revision."""
        return _revision(self.call("kv/deleterange", {"key": _b64(key)}))

    def transact(self, conditions: Sequence[Json], operations: Sequence[Json]) -> tuple[bool, int]:
        """Execute all operations if all conditions hold, none otherwise.

        Returns whether they held, and the revision.  Raises ``Uncertain``
        when the answer was lost.
        """
        request = {"compare": list(conditions), "success": list(operations)}
        answer = self.call("kv/txn", request, repeatable=False)
        return bool(answer.get("succeeded")), _revision(answer)

    def grant(self, seconds: int) -> int:
        """Create a lease, which ends unless it is renewed; returns its number."""
        return int(self.call("lease/grant", {"TTL": str(seconds)})["ID"])

    def keep_alive(self, lease: int) -> bool:
        """Renew a lease; False: it has ended."""
        answer = self.call("lease/keepalive", {"ID": str(lease)})
        if "result" not in answer:
            raise EtcdError(f"etcd does not keep a lease alive: {answer.get('error', answer)}")
        return int(answer["result"].get("TTL", 0)) > 0

    def unheard(self, lease: int) -> int | None:
        """Seconds since the last renewal of a lease; None: it has ended."""
        answer = self.call("lease/timetolive", {"ID": str(lease)})
        left = int(answer.get("TTL", 0))
        return int(answer.get("grantedTTL", 0)) - left if left > 0 else None

    def revoke(self, lease: int) -> None:
        """End a lease and its keys; no error if it has ended already."""
        try:
            self.call("lease/revoke", {"ID": str(lease)})
        except EtcdError as error:
            if error.code != NOT_FOUND:
                raise

    def watch(self, requests: Sequence[Watched]) -> Watch:
        """Begin a watch; returns when an endpoint has answered."""
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
        """Send to the endpoint that answered last, or to another."""
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
        """Send with a token, with a new one if it is no longer accepted."""
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
        """Send with a token, and drop it if there is no answer."""
        try:
            return action(endpoint, token)
        except _Failed:
            self._drop(token)
            raise

    def _drop(self, token: str | None) -> None:
        """Drop a token; any thread may call, and another may have a new one already."""
        if self._token == token:
            self._token = None

    def _authenticate(self, endpoint: tuple[str, int]) -> str:
        user, file = self.config.user, self.config.password_file
        password = read_password(file, self.config.option) if file is not None else ""
        body = json.dumps({"name": user, "password": password}).encode()
        try:
            token: str = self._ask(endpoint, "auth/authenticate", body, None)["token"]
        except _Failed as failure:
            # The request for which the token was needed was not sent.
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
        """Send one request to one endpoint.  Raises _Failed, or etcd's error."""
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
            # Interrupted: the next answer would belong to this request.
            connection.close()
            raise
        self._answered.add(endpoint)
        try:
            return _answer(endpoint, self.config, response.status, data)
        except Denied:
            # Perhaps etcd refuses the certificate of this connection.
            connection.close()
            raise

    def _headers(self, token: str | None) -> Mapping[str, str]:
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = token
        return headers

    def _kept(self, endpoint: tuple[str, int]) -> http.client.HTTPConnection:
        """The thread's connection to an endpoint, if still open, or a new one."""
        kept: dict[tuple[str, int], http.client.HTTPConnection]
        kept = self._local.__dict__.setdefault("connections", {})
        old = kept.get(endpoint)
        if old is not None:
            # No request is open: anything readable is the end of the connection.
            if old.sock is not None and not _is_readable(old.sock):
                return old
            old.close()
        new = self._connection(endpoint)
        with self._lock:
            self._open.discard(old)  # type: ignore[arg-type,unused-ignore]  # mypy 1.18 does not narrow it, 2.4 does
            self._open.add(new)
        kept[endpoint] = new
        return new

    def _connection(self, endpoint: tuple[str, int]) -> http.client.HTTPConnection:
        """A new connection, not opened yet, with the certificates now in the files."""
        host, port = endpoint
        if self.config.tls:
            return http.client.HTTPSConnection(
                host, port, timeout=self.config.timeout, context=_tls(self.config)
            )
        return http.client.HTTPConnection(host, port, timeout=self.config.timeout)


class Watch:
    """The messages of a watch, until it is closed or lost; see Client.watch().

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
        # The pieces of an incomplete line, and their octets.
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
        """Yield messages; raises Unreachable at the end, Compacted or Denied."""
        while True:
            for line in self._lines():
                yield self._told(json.loads(line))

    def close(self) -> None:
        """End the watch, also while another thread waits for a message."""
        self._closed = True
        with contextlib.suppress(OSError):
            # Not SSLSocket.shutdown(), which removes the state that the reader uses.
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
        """The complete lines so far.  Each octet is copied once or twice."""
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
        # Numbers begin at 1: with 0 etcd chooses one.
        request = int(result.get("watch_id", 0)) - 1
        compacted = int(result.get("compact_revision", 0))
        if result.get("canceled") and not compacted:
            reason = str(result.get("cancel_reason", "the watch was cancelled"))
            # Perhaps the token: for watches etcd sends no code for that.
            self._when_lost()
            raise _cancelled(self._where, reason)
        if not 0 <= request < self._requests:
            raise self._lost(f"a message is about watch {request + 1}, of {self._requests}")
        created = bool(result.get("created"))
        if created:
            self._missing -= 1
            if not self._missing:
                # Further messages may take any time.
                self._socket.settimeout(None)
        return Told(
            request,
            _revision(result),
            tuple(map(_event, result.get("events", ()))),
            created,
            compacted,
        )


class _Failed(Exception):
    """An endpoint did not answer; the next one may."""

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
    """Raise the error of an answer."""
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
        raise Denied(
            f"{where}: {text}: the user has no role that allows it; is the prefix of {option},"
            f" {config.prefix}, right?",
            code,
        )
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
    """Whether the token is the cause: it ended, or users and roles have changed."""
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
        # Python 3.13 demands extensions that plain openssl req -x509 does not write, also of
        # authorities that served before their host was upgraded.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if config.cert is not None:
            context.load_cert_chain(config.cert, config.key)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(str(path) for path in (config.ca, config.cert, config.key) if path)
        raise StoreError(
            f"{option}-ca, {option}-cert or {option}-key ({files}): {error}"
        ) from error
    return context


def _why(error: Exception, config: Config, known: bool) -> str:
    """The reason of a failed connection, for the user who typed the options.

    ``known``: the endpoint has answered us before.
    """
    option = config.option
    # The error of a closed connection depends on the version of OpenSSL.
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
