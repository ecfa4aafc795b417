# SPDX-License-Identifier: GPL-2.0-or-later
"""The program in the guest that tries to get out; it knows nothing of the host.

It reads a line of JSON for each attempt, ``{"do": NAME, "token": TEXT, ...}``, and answers with a
line: what its calls gave, each as ``call: ok`` or ``call: ERRNO``.  The token is what it wants to
bring out: each attempt sends it, in the clear, where the attempt allows it.

Python's standard library alone: this file is copied into the guest.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import socket
import ssl
import struct
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import Any

#: How long to wait for a connection, or an answer, that may not come.
_SECONDS = float(os.environ.get("CONFINE_SECONDS", "60"))
_CA = "/etc/confine-ca.pem"
_RECORD_MAX = 16384
_MSG_FASTOPEN = 0x20000000
_MSG_ZEROCOPY = 0x4000000
_SO_ZEROCOPY = 60


class Calls:
    """What calls gave, in their order."""

    def __init__(self) -> None:
        self.text: list[str] = []

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """One call, or several of a kind; an error ends the attempt."""
        try:
            yield
        except (OSError, ssl.SSLError) as error:
            self.text.append(f"{name}: {_name(error)}")
            raise Ended from error
        if (said := f"{name}: ok") not in self.text:
            self.text.append(said)


class Ended(Exception):
    """An attempt is over."""


def _name(error: OSError) -> str:
    if isinstance(error, socket.gaierror):
        names = {socket.EAI_AGAIN: "EAI_AGAIN", socket.EAI_NONAME: "EAI_NONAME"}
        return names.get(error.errno or 0, str(error))
    if isinstance(error, TimeoutError):
        return "no answer"
    return errno.errorcode.get(error.errno or 0, str(error))


# --- TLS hellos ------------------------------------------------------------------


def _vector(data: bytes, octets: int = 2) -> bytes:
    return len(data).to_bytes(octets, "big") + data


def _extension(kind: int, data: bytes) -> bytes:
    return struct.pack("!H", kind) + _vector(data)


def hello(token: str, names: list[str], *, ech: bool, pad: int, shares: bool) -> bytes:
    """A ClientHello, as a handshake message; the token is its session id."""
    listed = b"".join(b"\0" + _vector(name.encode()) for name in names)
    extensions = _extension(0, _vector(listed)) if names else b""
    extensions += _extension(10, _vector(bytes.fromhex("001d0017")))
    extensions += _extension(13, _vector(bytes.fromhex("040308040401050308050501")))
    extensions += _extension(43, _vector(bytes.fromhex("03040303"), 1))
    share = struct.pack("!H", 0x001D) + _vector(os.urandom(32)) if shares else b""
    extensions += _extension(51, _vector(share)) + _extension(45, bytes.fromhex("0101"))
    if ech:
        # The outer form: HKDF-SHA256 and AES-128-GCM, a key's number, an encapsulated key, and
        # the name inside that nobody can see.
        inner = os.urandom(32) + token.encode() + os.urandom(112)
        head = bytes.fromhex("00000100012a")
        extensions += _extension(0xFE0D, head + _vector(os.urandom(32)) + _vector(inner))
    if pad:
        extensions += _extension(21, bytes(pad))
    session = token.encode().ljust(32, b"\0")[:32]
    ciphers = bytes.fromhex("130113021303c02bc02fc013009c")
    body = b"\x03\x03" + os.urandom(32) + _vector(session, 1) + _vector(ciphers) + b"\x01\0"
    return b"\x01" + _vector(body + _vector(extensions), 3)


def _records(message: bytes, size: int) -> bytes:
    parts = (message[at : at + size] for at in range(0, len(message), size))
    return b"".join(b"\x16\x03\x01" + _vector(part) for part in parts)


# --- attempts --------------------------------------------------------------------


def _connected(call: Calls, host: str, port: int) -> socket.socket:
    with call("look up"):
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    with call("connect"):
        return _first(found)


def _first(found: list[Any]) -> socket.socket:
    """A connection to the first address that takes one, as programs do."""
    for number, (family, kind, protocol, _, address) in enumerate(found, 1):
        client = socket.socket(family, kind, protocol)
        client.settimeout(_SECONDS)
        try:
            client.connect(address)
            return client
        except OSError:
            client.close()
            if number == len(found):
                raise
    raise OSError(errno.EADDRNOTAVAIL, "no address")


def _answer(call: Calls, client: socket.socket) -> None:
    client.settimeout(_SECONDS)
    with call("answer"):
        if not client.recv(4096):
            raise ConnectionResetError(errno.ECONNRESET, "the end")


def say(
    call: Calls,
    token: str,
    host: str,
    names: list[str],
    port: int = 443,
    part: int = 0,
    record: int = _RECORD_MAX,
    second: str = "",
    how: str = "send",
    **shape: Any,
) -> None:
    """Say names in a hello: in parts of a send, in records of a size, by a call."""
    shape = {"ech": False, "pad": 0, "shares": not second, **shape}
    # A first hello that is allowed has nothing to bring out.
    data = _records(hello("-" if second else token, names, **shape), record)
    if how == "fast-open":
        _fast_open(call, host, port, data)
        return
    with _connected(call, host, port) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(data), part or len(data)):
            _send_by(call, client, data[at : at + (part or len(data))], how)
        _answer(call, client)
        if second:
            again = hello(token, [second], **{**shape, "shares": True})
            with call("send again"):
                client.sendall(_records(again, record))
            _answer(call, client)


def _fast_open(call: Calls, host: str, port: int, data: bytes) -> None:
    with call("look up"):
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    # One that blocks: the call of another one ends before there is a connection.
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(_SECONDS), 0)
        )
        with call("sendto MSG_FASTOPEN"):
            client.sendto(data, _MSG_FASTOPEN, address)
        _answer(call, client)


def _send_by(call: Calls, client: socket.socket, data: bytes, how: str) -> None:
    with call(how):
        if how == "send":
            client.sendall(data)
        elif how == "MSG_OOB":
            client.send(data, socket.MSG_OOB)
        elif how == "MSG_ZEROCOPY":
            client.setsockopt(socket.SOL_SOCKET, _SO_ZEROCOPY, 1)
            client.send(data, _MSG_ZEROCOPY)
        elif how == "sendfile":
            with tempfile.TemporaryFile() as file:
                file.write(data)
                file.flush()
                os.sendfile(client.fileno(), file.fileno(), 0, len(data))
        elif how == "splice":
            read, write = os.pipe()
            os.write(write, data)
            os.splice(read, client.fileno(), len(data))
            os.close(read)
            os.close(write)
        elif how == "another thread":
            _by_threads(client, data)
        else:
            raise ValueError(how)


def _by_threads(client: socket.socket, data: bytes) -> None:
    """A thread for each half, on descriptors of its own."""
    failed: list[OSError] = []

    def half(part: bytes) -> None:
        try:
            with client.dup() as own:
                own.sendall(part)
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=half, args=(part,)) for part in (data[:90], data[90:])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def rewrite(call: Calls, token: str, host: str, good: str, bad: str, times: int = 60) -> None:
    """Change the hello while the call that sends it runs; both names have one length.

    The name is what is to get out: a mixture may have all the rest of either.
    """
    shape: dict[str, Any] = {"ech": False, "pad": 0, "shares": True}
    one = _records(hello("-", [bad], **shape), _RECORD_MAX)
    other = one.replace(bad.encode(), good.encode())
    memory, over = bytearray(one), threading.Event()

    def change() -> None:
        while not over.is_set():
            memory[:] = other
            memory[:] = one

    changer = threading.Thread(target=change)
    changer.start()
    refused = passed = 0
    try:
        for _ in range(times):
            with _connected(call, host, 443) as client:
                try:
                    client.send(memory)
                    passed += 1
                except PermissionError:
                    refused += 1
    finally:
        over.set()
        changer.join()
    call.text.append(f"send: {refused} EACCES, {passed} ok")


def connect(call: Calls, token: str, host: str, port: int, text: str = "") -> None:
    """Connect, and send the token or a text with it."""
    with _connected(call, host, port) as client:
        with call("send"):
            client.sendall((text or token).encode())
        _answer(call, client)


def hurry(call: Calls, token: str, host: str, port: int) -> None:
    """Send before connect() has said how it ended."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.setblocking(False)
        number = client.connect_ex((host, port))
        call.text.append(f"connect: {errno.errorcode.get(number, 'ok')}")
        select.select([], [client], [], _SECONDS)
        with call("send"):
            client.send(token.encode())


def datagram(
    call: Calls, token: str, host: str, port: int, how: str = "sendto", data: str = ""
) -> None:
    """Send a datagram: the octets given as digits, else the token."""
    with call("look up"):
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    octets = bytes.fromhex(data) or token.encode()
    with socket.socket(family, socket.SOCK_DGRAM) as client:
        if how == "connect":
            with call("connect"):
                client.connect(address)
            with call("send"):
                client.send(octets)
        else:
            with call("sendto"):
                client.sendto(octets, address)


def echo(call: Calls, token: str, host: str) -> None:
    """Bring the token out in an echo request."""
    family, protocol = (
        (socket.AF_INET6, socket.IPPROTO_ICMPV6)
        if ":" in host
        else (socket.AF_INET, socket.IPPROTO_ICMP)
    )
    kind = 128 if ":" in host else 8
    with socket.socket(family, socket.SOCK_DGRAM, protocol) as client, call("sendto"):
        client.sendto(struct.pack("!BBHHH", kind, 0, 0, 1, 1) + token.encode(), (host, 0))


def _question(name: str, kind: int = 16, count: int = 1) -> bytes:
    # A backslash and a figure stand for an octet, as in zone files.
    labels = [
        label.encode().replace(b"\\0", b"\0").replace(b"\\.", b".")
        for label in name.replace("\\.", "\\,").split(".")
    ]
    labels = [label.replace(b"\\,", b".") for label in labels]
    asked = b"".join(_vector(label, 1) for label in labels) + b"\0" + struct.pack("!HH", kind, 1)
    return struct.pack("!HHHHHH", 4711, 0x100, count, 0, 0, 0) + asked


def ask(
    call: Calls,
    token: str,
    server: str,
    name: str,
    port: int = 53,
    tcp: bool = False,
    also: str = "",
) -> None:
    """Ask a server for a name, whose label {token} is the token."""
    data = _question(name.format(token=token))
    if also:
        data = _question(also, count=2) + _question(name.format(token=token))[12:]
    if tcp:
        connect(call, token, server, port, "")
        return
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as client:
        client.settimeout(_SECONDS)
        with call("sendto"):
            client.sendto(data, (server, port))
        with call("answer"):
            code = client.recv(4096)[3] & 15
    call.text.append(f"rcode {code}")


def names(call: Calls, token: str, suffix: str, count: int) -> None:
    """Bring data out as names, one after the other."""
    refused = 0
    for number in range(count):
        try:
            socket.getaddrinfo(f"{token}{number:03}.{suffix}.", 443)
        except socket.gaierror as error:
            refused += error.errno == socket.EAI_AGAIN
    call.text.append(f"look up: {count} names, {refused} refused")


def upload(call: Calls, token: str, host: str, octets: int) -> None:
    """Send much to a server that may be reached."""
    context = ssl.create_default_context(cafile=_CA)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=host)
    head = f"POST /upload HTTP/1.1\r\nHost: {host}\r\nContent-Length: {octets}\r\n\r\n"
    with _connected(call, host, 443) as client:
        # By hand, as Python's own socket does not tell the errno of a send.
        while not _shaken(tls):
            client.sendall(outgoing.read())
            incoming.write(client.recv(65536))
        tls.write(head.encode())
        for _ in range(0, octets, 16384):
            tls.write(bytes(16384))
            with call("send"):
                client.sendall(outgoing.read())


def _shaken(tls: ssl.SSLObject) -> bool:
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def held(call: Calls, token: str, host: str, names: list[str]) -> None:
    """Hold a connection that was allowed, until the other side says go."""
    with _connected(call, host, 443) as client:
        shape: dict[str, Any] = {"ech": False, "pad": 0, "shares": True}
        with call("send"):
            client.sendall(_records(hello("-" * len(token), names, **shape), _RECORD_MAX))
        _answer(call, client)
        _tell({"ready": True})
        sys.stdin.readline()
        with call("send later"):
            # An alert first, as what it reports may have come meanwhile.
            client.sendall(b"\x15\x03\x03\0\x02\x01\0")
            client.sendall(token.encode())


def _tell(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


_ATTEMPTS: dict[str, Callable[..., None]] = {
    each.__name__: each
    for each in (*(say, rewrite, connect, hurry, datagram, echo, ask, names, upload, held),)
}


def main() -> None:
    """Attempts from standard input, one after the other."""
    _tell({"ready": True})
    for line in iter(sys.stdin.readline, ""):
        wish = json.loads(line)
        call = Calls()
        with contextlib.suppress(Ended):
            try:
                _ATTEMPTS[wish.pop("do")](call, **wish)
            except (OSError, ssl.SSLError) as error:
                call.text.append(_name(error))
        _tell({"got": "; ".join(call.text)})


if __name__ == "__main__":
    main()
