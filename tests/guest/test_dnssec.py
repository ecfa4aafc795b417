# SPDX-License-Identifier: GPL-2.0-or-later
"""``dnssec=strict`` and ``permissive``: what a guest is told of zones that are right and wrong.

vmmnet-validate of each VM is beside QEMU, which is in libvirt's sandbox.  The zones are signed, and
spoilt, by ``signed_zones``, and BIND on the host serves them. The guest asks with dig, which shows
flags, signatures and the reason of RFC 8914.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base import scratch, wait
from lab.dns import signed_zones
from lab.dns.signed_zones import ADDRESS6, FORGED6
from lab.dns.validator import Validator
from lab.guest.guest import Guest
from lab.packages import kernel
from lab.peers.lab import (
    OWN_VM_ADDRESS,
    PAGE,
    SECOND_VM_ADDRESS,
    VM_ADDRESS,
    Lab,
    lab,
)

SERVER = "127.0.0.1"
_HEAD = re.compile(r"status: (\w+), id: .*\n;; flags: ([a-z ]*);")
_EDE = re.compile(r"; EDE: (\d+)")
_FLAGS = (("+dnssec",), ("+adflag",), ())
_FINGERPRINT = "4 2 " + "AB" * 28 + " " + "AB" * 4


@dataclass
class Told:
    """An answer of the device."""

    status: str
    is_authentic: bool
    ede: int
    #: TTL, type and data of each.
    records: list[tuple[int, str, str]]

    def data(self, kind: str) -> list[str]:
        """Of the records of a type."""
        return [data for _, each, data in self.records if each == kind]


@dataclass
class World:
    """Two guests on one host: one of which the device is strict, one permissive."""

    lab: Lab
    folder: Path
    anchor: Path
    validators: tuple[Validator, Validator]
    strict: Guest
    permissive: Guest


Question = tuple[str, ...]


def _told(said: str) -> Told:
    head, ede = _HEAD.search(said), _EDE.search(said)
    assert head is not None, said
    lines = (line.split(None, 4) for line in said.splitlines() if line and line[0] != ";")
    records = [(int(ttl), kind, data) for _, ttl, _, kind, data in lines]
    is_authentic = "ad" in head[2].split()
    return Told(head[1], is_authentic, int(ede[1]) if ede else -1, records)


def ask(guest: Guest, *questions: Question) -> list[Told]:
    """Ask by one dig: of each a name, a type and flags, with EDNS, and AD only by its flag."""
    options = ["+noall", "+comments", "+answer", "+authority", "+noadflag", "+nocookie"]
    options += ["+time=60", "+tries=1"]
    words = ["dig"]
    for name, *more in questions:
        words += ["-q", f"{name}.", *more[:1], *options, *more[1:]]
    said = guest.run(words).stdout
    answers = said.split(";; Got answer:")[1:]
    assert len(answers) == len(questions), said
    return [_told(answer) for answer in answers]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(lab())
        folder = Path(stack.enter_context(scratch.folder()))
        folder.chmod(0o755)
        anchor = stack.enter_context(signed_zones.served(made.host, folder, SERVER))
        validators, guests = [], []
        for address, mode in ((VM_ADDRESS, "strict"), (SECOND_VM_ADDRESS, "permissive")):
            validator = stack.enter_context(_validator(made, folder / mode, anchor, address))
            device = _device(address, validator, mode)
            guest = made.guest(device=device, arguments=_SANDBOX)
            validators.append(validator)
            guests.append(stack.enter_context(guest))
        yield World(made, folder, anchor, (validators[0], validators[1]), *guests)


#: As libvirt gives it to QEMU
_SANDBOX = (
    "-sandbox",
    "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
)


def _validator(made: Lab, folder: Path, anchor: Path, address: str, *more: str) -> Validator:
    options = ("--dns", SERVER, "--address6", address, "--trust-anchor", anchor, *more)
    return Validator(made.host, folder, *options)


def _device(address: str, validator: Validator, mode: str) -> str:
    own = f"virtio-vmrpc-pci,id=vmrpc0,address6={address},dns={SERVER}"
    return f"{own},dnssec={mode},validator={validator.socket}"


def _both(world: World) -> tuple[Guest, Guest]:
    return world.strict, world.permissive


def test_made_address(world: World) -> None:
    """What is made of a secure AAAA is reached, and has neither AD nor a signature."""
    for guest in _both(world):
        for told in ask(guest, *(("six.vm.example", "A", *flags) for flags in _FLAGS)):
            assert (told.status, told.is_authentic, told.ede) == ("NOERROR", False, -1)
            assert [kind for _, kind, _ in told.records] == ["A"]
            assert told.data("A")[0].startswith(("198.18.", "198.19."))
        assert guest.run("curl -sS --fail http://six.vm.example/").stdout == PAGE


def test_flags(world: World) -> None:
    """AD is for who asks with DO or AD, signatures are for DO; remembered answers too."""
    cases = [
        (("+dnssec",), True, True),
        (("+adflag",), True, False),
        ((), False, False),
        (("+cdflag",), False, False),
        # RFC 6147 section 5.5, 3: the guest validates, so it gets the data as they are.
        (("+cdflag", "+dnssec"), False, True),
    ] * 2
    for guest in _both(world):
        questions = (("www.vm.example", "SSHFP", *flags) for flags, _, _ in cases)
        for told, (_, is_told, is_signed) in zip(ask(guest, *questions), cases, strict=True):
            assert (told.status, told.is_authentic) == ("NOERROR", is_told)
            assert told.data("SSHFP") == [_FINGERPRINT]
            assert bool(told.data("RRSIG")) == is_signed


def test_denial(world: World) -> None:
    """That there is nothing is proven, and told with AD and its proof."""
    name = "nothing.vm.example"
    for guest in _both(world):
        proven, told = ask(guest, (name, "A", "+dnssec"), (name, "A"))
        assert (proven.status, proven.is_authentic) == ("NXDOMAIN", True)
        assert proven.data("NSEC") and proven.data("RRSIG")
        assert (told.status, told.is_authentic) == ("NXDOMAIN", False)
        assert not told.data("NSEC") and not told.data("RRSIG")


def test_not_secure(world: World) -> None:
    """What is provably not signed, or below no anchor, is told without AD."""
    for guest in _both(world):
        zones = ("plain.vm.example", "other.example")
        fingerprints = (("www." + zone, "SSHFP", "+dnssec") for zone in zones)
        addresses = (("six." + zone, "A") for zone in zones)
        answers = ask(guest, *fingerprints, *addresses)
        for told in answers:
            assert (told.status, told.is_authentic, told.ede) == ("NOERROR", False, -1)
        assert [told.data("SSHFP") for told in answers[:2]] == [[_FINGERPRINT]] * 2
        assert all(told.data("A")[0].startswith(("198.18.", "198.19.")) for told in answers[2:])


_BOGUS = {"expired": 7, "early": 8, "wrongds": 9, "stripped": 10, "forged": 6}


def test_bogus_to_strict(world: World) -> None:
    """It is told why it is told nothing, whatever it asks for."""
    questions = [
        (f"six.{zone}.vm.example", kind, flag)
        for zone in _BOGUS
        for kind, flag in (("A", "+adflag"), ("A", "+dnssec"), ("AAAA", "+dnssec"))
    ]
    expected = [Told("SERVFAIL", False, ede, []) for ede in _BOGUS.values() for _ in range(3)]
    assert ask(world.strict, *questions) == expected
    (told,) = ask(world.strict, ("six.forged.vm.example", "A", "+noedns"))
    assert told == Told("SERVFAIL", False, -1, [])


def test_bogus_to_permissive(world: World) -> None:
    """It is told, with why, without AD, and not for long; what is right beside it is secure."""
    names = (f"six.{zone}.vm.example" for zone in _BOGUS)
    for told in ask(world.permissive, *((name, "A", "+adflag") for name in names)):
        assert (told.status, told.is_authentic) == ("NOERROR", False)
        assert told.data("A")[0].startswith(("198.18.", "198.19."))
        assert max(ttl for ttl, _, _ in told.records) <= 5
    aliases = [(f"alias.{zone}.vm.example", "CNAME", "+dnssec") for zone in _BOGUS]
    for told, (zone, ede) in zip(ask(world.permissive, *aliases), _BOGUS.items(), strict=True):
        assert told.data("CNAME") == [f"www.{zone}.vm.example."]
        # Of these only addresses are spoilt.
        assert told.is_authentic == (zone in ("stripped", "forged"))
        assert told.ede == (-1 if told.is_authentic else ede)


def test_exceptions_by_name(world: World) -> None:
    """What is below ``--insecure`` is told as it is, as if the clock were right, and without AD."""
    exceptions = ("expired.vm.example", "early.vm.example")
    more = ("--insecure", "+".join(exceptions))
    folder = world.folder / "exceptions"
    with (
        _validator(world.lab, folder, world.anchor, OWN_VM_ADDRESS, *more) as validator,
        world.lab.guest(
            device=_device(OWN_VM_ADDRESS, validator, "strict"), kernel=kernel.MAIN
        ) as guest,
    ):
        *told, bogus = ask(
            guest,
            *((f"six.{zone}", "A", "+adflag") for zone in exceptions),
            ("six.forged.vm.example", "A", "+adflag"),
        )
        assert [(each.status, each.is_authentic, each.ede) for each in told] == [
            ("NOERROR", False, -1)
        ] * 2
        assert all(each.data("A")[0].startswith(("198.18.", "198.19.")) for each in told)
        assert (bogus.status, bogus.ede) == ("SERVFAIL", _BOGUS["forged"])


def test_a_guest_that_validates(world: World) -> None:
    """With CD and DO even a strict device hands on what is bogus, as it is, and makes nothing."""
    zones = {"forged.vm.example": FORGED6, "vm.example": ADDRESS6}
    questions = ((f"six.{zone}", "AAAA", "+cdflag", "+dnssec") for zone in zones)
    for told, address in zip(ask(world.strict, *questions), zones.values(), strict=True):
        assert (told.status, told.is_authentic, told.ede) == ("NOERROR", False, -1)
        assert told.data("AAAA") == [address] and told.data("RRSIG")


def test_counted(world: World) -> None:
    """Every verdict is counted, and the log has the first name that is bogus."""
    for guest, mode in zip(_both(world), ("strict", "permissive"), strict=True):
        zones = ("expired.vm.example", "other.example", "plain.vm.example", "vm.example")
        ask(guest, *((f"www.{zone}", "SSHFP") for zone in zones))
        counted = guest.vmrpc_counters()
        verdicts = ("secure", "insecure", "bogus", "indeterminate")
        assert all(counted[f"upstream_{verdict}"] > 0 for verdict in verdicts), counted
        assert (counted["dns_servfail_bogus"] > 0) == (mode == "strict")
        said = guest.stderr_path.read_text()
        assert said.count(" is bogus: ") == 1
        assert f"virtio-vmrpc: dnssec={mode}: the answer for " in said


def test_validators_that_go(world: World) -> None:
    """They are killed, and come back: no connection is lost, and each outage is told once."""
    fetch = "curl -sS --fail --limit-rate 20k -o /dev/null http://six.vm.example/big.bin"
    outages = [each.vmrpc_counters()["upstream_validator_outages"] for each in _both(world)]
    for guest in _both(world):
        guest.run(f"{fetch} >/tmp/curl 2>&1 & echo $! >/tmp/curl.pid")
    for validator in world.validators:
        validator.kill()
    (refused,) = ask(world.strict, ("www.plain.vm.example", "TXT"))
    assert (refused.status, refused.is_authentic) == ("SERVFAIL", False)
    (told,) = ask(world.permissive, ("alias.expired.vm.example", "CNAME", "+adflag"))
    assert (told.status, told.is_authentic) == ("NOERROR", False)
    assert told.data("CNAME") == ["www.expired.vm.example."]
    for guest, validator, before in zip(_both(world), world.validators, outages, strict=True):
        validator.start()
        log = guest.stderr_path
        place = f"vmmnet-validate at {validator.socket} is"
        wait.until(lambda log=log, place=place: f"{place} back" in log.read_text(), "its return")
        assert log.read_text().count(f"{place} away: ") == 1
        assert guest.vmrpc_counters()["upstream_validator_outages"] == before + 1
        (told,) = ask(guest, ("www.nsec3.vm.example", "SSHFP", "+dnssec"))
        assert (told.status, told.is_authentic) == ("NOERROR", True)
        # The connection that was there before is still there.
        assert guest.run("kill -0 $(cat /tmp/curl.pid) && kill $(cat /tmp/curl.pid); cat /tmp/curl")
