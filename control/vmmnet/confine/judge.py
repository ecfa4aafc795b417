# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts of policies, from the device's own code: policy-judge, a filter.

hw/vmrpc/judge/main.c describes its questions and answers.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).resolve()
#: Where policy-judge may be: beside an installed vmmnet, and in the sources.
PLACES = (
    _HERE.parents[4] / "libexec/vmmnet/policy-judge",
    _HERE.parents[3] / "build/programs/hw/vmrpc/policy-judge",
)


class Wrong(Exception):
    """A policy file is wrong; the message has its line and the word."""


class Missing(Exception):
    """There is no policy-judge."""


@dataclass(frozen=True)
class Verdict:
    """What a policy says to a question."""

    #: "allow", "watch" or "deny".
    verdict: str
    reason: str
    #: Of the file; 0: no line decided.
    line: int
    #: The name of what the guest's call fails with; empty without an error.
    error: str
    #: In which protocol the guest must say a name, "tls" or "http"; empty: it need not.
    says: str
    #: The name that was decisive; empty: none.
    name: str

    @property
    def denies(self) -> bool:
        """Whether the guest is refused."""
        return self.verdict == "deny"


@dataclass(frozen=True)
class Destination:
    """A question: may the guest use it?"""

    proto: str
    address: str
    port: int
    #: Words, the latest first.
    names: tuple[str, ...] = ()
    #: It is one of the host's own addresses.
    is_host: bool = False

    def question(self) -> str:
        """The line that asks."""
        host = "host" if self.is_host else "-"
        return " ".join(["dest", self.proto, self.address, str(self.port), host, *self.names])


@dataclass(frozen=True)
class Name:
    """A question: may the guest ask for the name?"""

    #: A word.
    name: str

    def question(self) -> str:
        """The line that asks."""
        return f"name {self.name}"


def destination(
    proto: object, address: object, port: object, names: Sequence[object]
) -> Destination:
    """A destination in any form; port 0 may be asked for. Raises ValueError if it is none."""
    if proto not in ("tcp", "udp", "icmp"):
        raise ValueError(f"{proto!r} is no protocol")
    if not isinstance(port, int) or not 0 <= port <= 0xFFFF:
        raise ValueError(f"{port!r} is no port")
    return Destination(str(proto), _canonical(str(address)), port, tuple(map(word, names)))


def _canonical(address: str) -> str:
    """An address in its one form. Raises ValueError."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.inet_ntop(family, socket.inet_pton(family, address))
    except OSError:
        raise ValueError(f"{address!r} is no address") from None


def word(name: object) -> str:
    """A name as one word, in the form of the device's names. Raises ValueError."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"{name!r} is no name")
    return "".join(
        char if "!" <= char <= "~" else "".join(f"\\{octet:03}" for octet in _octets(char))
        for char in name
    )


def _octets(char: str) -> bytes:
    return char.encode(errors="surrogatepass")


@dataclass(frozen=True)
class Answer:
    """What policy-judge says."""

    #: The policy's id, as in an audit log.
    policy: str
    verdicts: list[Verdict]


def ask(policy: bytes, name: str, questions: Sequence[Destination | Name] = ()) -> Answer:
    """Have questions answered by a policy file's text; ``name`` is the file's, for errors.

    Raises Wrong, Missing.
    """
    asked = "".join(f"{each.question()}\n" for each in questions).encode()
    done = subprocess.run(
        [_program(), "--", name],
        input=b"%d\n%b%b" % (len(policy), policy, asked),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise Wrong(done.stderr.decode(errors="replace").strip())
    first, *answers = done.stdout.decode().splitlines()
    return Answer(first.removeprefix("policy "), [_verdict(line) for line in answers])


def _verdict(line: str) -> Verdict:
    verdict, reason, number, error, says, name = line.split(" ")
    return Verdict(verdict, reason, int(number), *(_given(each) for each in (error, says, name)))


def _given(text: str) -> str:
    return "" if text == "-" else text


def _program() -> Path:
    for place in PLACES:
        if place.exists():
            return place
    raise Missing(
        f"the program policy-judge is neither {' nor '.join(map(str, PLACES))}:"
        " 'make policy' builds it, and the package vmmnet-control has it"
    )
