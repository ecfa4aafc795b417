# SPDX-License-Identifier: GPL-2.0-or-later
"""An attacker between the server and its clients, without keys, or with the zone's own key.

The first label of the name asked chooses the attack: a key of SPOILERS, or ``white``.  All other
questions, such as those for keys, pass unchanged.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import dns.dnssec
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rdatatype
import dns.rrset
from dns.message import Message
from dns.rdatatype import DNSKEY, DS, NSEC, NSEC3, RRSIG

from ...base import wait
from ...base.net import Namespace

_DAY = 86400
#: Some releases of dnspython have types for it, others have none.
_SIGN: Any = dns.dnssec.sign


@dataclass
class Attack:
    """A question, the server's reply, and a function for further questions to the server."""

    name: dns.name.Name
    reply: Message
    ask: Callable[[dns.name.Name], Message]

    @property
    def zone(self) -> dns.name.Name:
        """The zone of the reply's proof."""
        return next(each.name for each in self.reply.authority if each.rdtype == dns.rdatatype.SOA)

    def beside(self, upper: dns.name.Name, label: bytes) -> Message:
        """Return the server's reply for another name below a name."""
        return self.ask(dns.name.Name((label,)) + upper)

    def drop(self, owner: dns.name.Name) -> None:
        """Remove a proof's record with its signature."""
        self.reply.authority = [each for each in self.reply.authority if each.name != owner]

    def matching(self, name: dns.name.Name) -> dns.name.Name:
        """Return the owner of the NSEC3 record that matches a name."""
        nsec3 = next(each for each in self.reply.authority if each.rdtype == NSEC3)[0]
        salt = nsec3.salt.hex()
        found = dns.dnssec.nsec3_hash(name, salt, nsec3.iterations, nsec3.algorithm)
        return dns.name.from_text(found.lower(), self.zone)


def _is_denial(rrset: dns.rrset.RRset) -> bool:
    denial = (NSEC, NSEC3)
    return rrset.rdtype in denial or rrset.covers in denial


def _no_proof(attack: Attack) -> None:
    """Remove the records that prove that a name, or a type, does not exist."""
    attack.reply.authority = [each for each in attack.reply.authority if not _is_denial(each)]


def _no_signatures(attack: Attack) -> None:
    """Remove all signatures, as from a server without DNSSEC."""
    for section in (attack.reply.answer, attack.reply.authority):
        section[:] = [each for each in section if each.rdtype != RRSIG]


def _wrong_encloser(attack: Attack) -> None:
    """Reply NXDOMAIN below an existing name, with a proof for its zone as closest encloser."""
    attack.reply.authority = list(attack.beside(attack.zone, b"nothing").authority)


def _no_encloser(attack: Attack) -> None:
    """Remove the NSEC3 record that matches the closest encloser."""
    attack.drop(attack.matching(attack.name.parent()))


def _other_name(attack: Attack) -> None:
    """Reply NXDOMAIN for an existing name, with the proof for another name."""
    other = attack.beside(attack.name.parent(), b"nothing")
    attack.reply.set_rcode(other.rcode())
    attack.reply.answer, attack.reply.authority = [], list(other.authority)


def _made_of_wildcard(attack: Attack) -> None:
    """Give an existing name the records of the wildcard beside it."""
    other = attack.beside(attack.name.parent(), b"other")
    attack.reply.authority = list(other.authority)
    attack.reply.answer = []
    for rrset in other.answer:
        made = dns.rrset.RRset(attack.name, rrset.rdclass, rrset.rdtype, rrset.covers)
        for rdata in rrset:
            made.add(rdata, rrset.ttl)
        attack.reply.answer.append(made)


def _no_ds(attack: Attack) -> None:
    """Remove the DS records of a zone, with their signatures."""
    attack.reply.answer = []


#: Attacks by the first label of the name asked.
SPOILERS: dict[str, Callable[[Attack], None]] = {
    "noproof": _no_proof,
    "nosignatures": _no_signatures,
    "wrongencloser": _wrong_encloser,
    "noencloser": _no_encloser,
    "othername": _other_name,
    "real": _made_of_wildcard,
}


class WhiteLies:
    """Denials without other names (RFC 4470), which the zone's key signs on request."""

    def __init__(self, zone: str, key: object, dnskey: str) -> None:
        self._zone = dns.name.from_text(zone)
        self._key = key
        self._dnskey = dns.rdata.from_text("IN", "DNSKEY", dnskey)

    def __call__(self, attack: Attack) -> None:
        """Replace the server's proof: one record about the name, one about the wildcard."""
        name = attack.name
        wildcard = dns.name.Name((b"*",)) + name.parent()
        kept = [each for each in attack.reply.authority if not _is_denial(each)]
        for denied in (name, wildcard):
            kept += self._around(denied)
        attack.reply.authority = kept

    def _around(self, name: dns.name.Name) -> list[dns.rrset.RRset]:
        """Return an NSEC record from just before a name to just after all names below it."""
        label = name.labels[0]
        before = label[:-1] + bytes((label[-1] - 1,)) + b"~"
        owner = dns.name.Name((before,)) + name.parent()
        after = dns.name.Name((label + b"!",)) + name.parent()
        made = dns.rrset.from_text(owner, 60, "IN", "NSEC", f"{after} RRSIG NSEC")
        now = time.time()
        signature = _SIGN(
            made, self._key, self._zone, self._dnskey, inception=now - _DAY, expiration=now + _DAY
        )
        return [made, dns.rrset.from_rdata(owner, 60, signature)]


@contextlib.contextmanager
def between(host: Namespace, server: str, address: str, white: WhiteLies) -> Iterator[None]:
    """Run the attacker at one address of the host, before the server at another one."""
    spoilers: dict[str, Callable[[Attack], None]] = {**SPOILERS, "white": white}
    with host.entered():
        listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        listener.bind((address, 53))

    def ask(message: Message) -> Message:
        # A connection for each: the server closes one that is idle.
        with host.entered():
            return dns.query.tcp(message, server, timeout=wait.PATIENCE)

    def answer(data: bytes) -> bytes:
        query = dns.message.from_wire(data)
        question = query.question[0]
        reply = ask(query)

        def more(name: dns.name.Name) -> Message:
            kind = dns.rdatatype.A if question.rdtype == DS else question.rdtype
            return ask(dns.message.make_query(name, kind, want_dnssec=True))

        attack = Attack(question.name, reply, more)
        label = question.name.labels[0].decode("latin-1").lower()
        if question.rdtype == DS and label.endswith("-dsgone"):
            _no_ds(attack)
        elif question.rdtype not in (DS, DNSKEY) and label in spoilers:
            spoilers[label](attack)
        return bytes(reply.to_wire(max_size=65535))

    def serve() -> None:
        while data := listener.recvfrom(4096):
            if not data[0]:
                return
            listener.sendto(answer(data[0]), data[1])

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        with host.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", (address, 53))
        thread.join()
        listener.close()
