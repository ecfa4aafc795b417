# SPDX-License-Identifier: GPL-2.0-or-later
"""libvirt's hook for QEMU: the host's actions for a VM with the element, by event.

    hook.py NAME EVENT SUBEVENT EXTRA <domain.xml

libvirt runs the script ``control/libvirt/vmmnet``, which calls this only for domains with the
element or its expansion; docs/libvirt-hook.md has the table of events.  The hook must not call
libvirt, which waits for it.
"""

from __future__ import annotations

import re
import shlex
import sys
import syslog
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from uuid import UUID

from .host import account, address6, conf, history, hostd, logfile, secrets, validator, whole
from .host.claims import Claims

if TYPE_CHECKING:
    from .element import Net

_UUID = re.compile(rb"<uuid>([0-9A-Fa-f-]{36})</uuid>")


class Refused(Exception):
    """The VM cannot start here; the message has the reason and the remedy."""


@dataclass(frozen=True)
class Event:
    """One call of the hook."""

    name: str
    xml: bytes
    claims: Claims
    conf_path: Path = conf.PATH
    #: The domain that libvirt shall use instead; empty: the same.
    answer: list[bytes] = field(default_factory=list)
    #: Paths of libvirt's secrets and of qemu.conf.
    secrets: Path = secrets.FOLDER
    qemu_conf: Path = account.CONF

    def domain(self) -> Any:
        """The domain, parsed by lxml."""
        # Imported late: most calls do not need it.
        from lxml import etree  # type: ignore[import-untyped]

        safe = etree.XMLParser(resolve_entities=False, no_network=True)
        return etree.fromstring(self.xml, safe)

    def conf(self) -> conf.Conf:
        """This host's host.conf."""
        return conf.read(self.conf_path)


def _define(name: str) -> str:
    return "correct it with 'vmmnet libvirt define'"


def _define_saved(name: str) -> str:
    """A saved domain has an XML of its own, which 'define' does not change."""
    name = shlex.quote(name)
    return (
        "the saved domain has its own XML: 'virsh managedsave-dumpxml --security-info"
        f" {name} >FILE', correct FILE, 'vmmnet libvirt define --print FILE >NEW',"
        f" 'virsh managedsave-define {name} NEW'; for a file of 'virsh save': save-image-dumpxml"
        " and save-image-define"
    )


def _define_moving(name: str) -> str:
    """A running domain, too; its QEMU has what it began with."""
    return (
        "this is the running domain: put its <vmmnet:net> back as it was ('virsh metadata'), or end"
        " it, correct it with 'vmmnet libvirt define', and start it; a NIC that was plugged in gets"
        f" HostVLAN by 'vmmnet libvirt protect {shlex.quote(name)} MAC', on the host that it leaves"
    )


def _net(event: Event, domain: Any, remedy: Callable[[str], str]) -> Net | None:
    """The element; refuses a domain that differs from its expansion, also without an element.

    ``remedy`` says how to correct a domain of this name.
    """
    from . import bare, element, expand

    correct = remedy(event.name)
    try:
        net = element.read(domain)
        differences = expand.drift(domain)
    except element.BadElement as error:
        raise Refused(f"{error}; {correct}") from None
    if differences and net is None:
        told = "; ".join(differences)
        raise Refused(
            f"it has no <vmmnet:net> any more, and what was made of that: {told}; put the"
            f" element back, or take the rest out; {correct}"
        )
    if differences:
        told = "; ".join(differences)
        raise Refused(
            f"it is not what 'vmmnet libvirt define' has made of <vmmnet:net>: {told}; {correct}"
        )
    if net is not None and (wrong := bare.wrong(domain, net)) is not None:
        raise Refused(f"{wrong}; {correct}")
    return net


def _macs(domain: Any) -> list[str]:
    return [each.get("address") for each in domain.findall("devices/interface/mac")]


# prepare, started, reconnect


def _check_tables(net: Net) -> None:
    for nic in net.interfaces:
        if nic.hostvlan is not None and not nic.hostvlan.is_file():
            raise Refused(
                f"the table of {nic.mac}, {nic.hostvlan}, is not on this host:"
                f" 'vmmnet hostvlan add {nic.mac} LNID --table {nic.hostvlan}' makes it,"
                f" and 'hostvlan-table' in {conf.PATH} names another one to VMs that arrive"
            )


# A host that boots starts VMs before its network is there, and libvirt tries each only once.
# So what the network may bring is waited for.  libvirt starts them one after another, and may serve
# nobody meanwhile: when a wait was in vain, the next VMs do not wait.
_VAIN = "waited-in-vain"
_VAIN_SECONDS = 60.0


def _limit(event: Event) -> int:
    """Seconds to wait for the network."""
    try:
        age = time.monotonic() - float((event.claims.run / _VAIN).read_text())
    except (OSError, ValueError):
        age = _VAIN_SECONDS
    return 0 if 0 <= age < _VAIN_SECONDS else event.conf().address6_wait


def _wait(event: Event, there: Callable[[], bool], limit: int) -> bool:
    found = address6.wait_for(there, limit)
    if not found and limit:
        whole.write(event.claims.run / _VAIN, str(time.monotonic()))
    return found


def _interfaces(domain: Any) -> list[str]:
    """The host's interfaces of the VM's NICs."""
    sources = domain.findall("devices/interface/source")
    found = [each.get("bridge") or each.get("dev") for each in sources]
    return [each for each in found if each]


def _check_address(address: str, event: Event, domain: Any) -> Iterator[str]:
    if address6.is_here(address):
        yield f"address6 {address} is here"
        return
    if event.claims.is_arriving():
        yield f"address6 {address} is not here yet"
        return
    # Nobody ends the wait for an address that another node has.
    limit = 0 if address6.duplicate(address) else _limit(event)
    yield f"address6 {address} {address6.missing(address)}: it is waited for, {limit} s at most"
    if _wait(event, lambda: address6.is_here(address), limit):
        yield f"address6 {address} is here"
        return
    device = address6.device(address) or next(iter(_interfaces(domain)), "INTERFACE")
    raise Refused(
        f"address6 {address} {address6.missing(address)}, and could not be used within {limit} s:"
        f" 'ip -6 address add {address}/128 dev {device} nodad' makes it one of this host at once,"
        " and handoff='on' of <vmmnet:net> lets vmmnet-hostd do it"
    )


def _wait_device(address: str, event: Event, domain: Any) -> Iterator[str]:
    """Wait for vmmnet-hostd's interface for the address; refuses if it does not come."""
    wanted = event.conf().address6_device

    def there() -> bool:
        return address6.exists(wanted) if wanted else address6.device(address) is not None

    if there():
        return
    lack = (
        f"this host has no interface {wanted}, which is its 'address6-device'"
        if wanted
        else f"address6 {address} is in no prefix of an interface of this host"
    )
    limit = _limit(event)
    yield f"{lack}: it is waited for, {limit} s at most"
    if not _wait(event, there, limit):
        device = next(iter(_interfaces(domain)), "INTERFACE")
        remedy = (
            f"make {wanted}, or correct the line in {conf.PATH}"
            if wanted
            else f"'address6-device {device}' in {conf.PATH} names one, which needs no prefix then"
        )
        raise Refused(f"{lack}, nor came one within {limit} s: {remedy}")


def _device(address: str, event: Event) -> str:
    found = event.conf().address6_device or address6.device(address)
    if found is None:
        raise Refused(f"address6 {address} is in no prefix of an interface of this host")
    return found


def _claim(event: Event, domain: Any, net: Net) -> Iterator[str]:
    own = net.sockets.address6 if net.sockets else None
    addresses = [(str(own), _device(str(own), event))] if own and net.handoff else []
    validates = _validates(event, domain, net)
    yield from event.claims.claim(
        _macs(domain), addresses, handoff=net.handoff, validates=validates
    )


def _validates(event: Event, domain: Any, net: Net) -> validator.Wanted | None:
    """The unit that validates names for the VM; None: it has none of the hook's."""
    from . import validation

    sockets = net.sockets
    if sockets is None or not validation.is_by_unit(sockets):
        return None
    return validator.wanted(validation.options(sockets), _user(event, domain, "validation is"))


def _values(event: Event, net: Net) -> dict[str, bytes]:
    """The keys in libvirt's secrets, by the names of their files."""
    from . import keys

    result = {}
    for nic in net.interfaces:
        for key in keys.of(nic):
            if isinstance(key.source, UUID):
                try:
                    result[key.id] = secrets.read(str(key.source), event.secrets)
                except secrets.SecretError as error:
                    raise Refused(f"{key.option} of {nic.mac}: {error}") from None
    return result


def _user(event: Event, domain: Any, why: str = "keys are") -> int:
    """The user ID of QEMU: the domain's own, or the default."""
    label = account.label(domain)
    found = account.of(account.read(event.qemu_conf), label)
    if found is None:
        raise Refused(
            f"{why} for QEMU's user, and this host has none of the name in"
            f" {account.named(label, event.qemu_conf)}: put 'user' right there"
        )
    return found.uid


def _lay_keys(event: Event, domain: Any, values: dict[str, bytes]) -> Iterator[str]:
    if values:
        yield from event.claims.lay_keys(values, _user(event, domain))


def _lay_log(event: Event, domain: Any, net: Net) -> Iterator[str]:
    path = net.sockets.audit if net.sockets is not None else None
    if path is None:
        return
    try:
        told = logfile.make(path, _user(event, domain, "the audit log is"))
    except OSError as error:
        raise Refused(f"the audit log {path}: {error.strerror or error}") from None
    if told is not None:
        yield told


def _prepare(event: Event) -> Iterator[str]:
    yield from event.claims.settle()
    if refused := event.claims.refused():
        yield from event.claims.undo()
        raise Refused(refused)
    domain = event.domain()
    net = _net(event, domain, _define)
    if net is None:
        return
    _check_tables(net)
    own = net.sockets.address6 if net.sockets else None
    if own is not None:
        ready = _wait_device if net.handoff else _check_address
        yield from ready(str(own), event, domain)
    values = _values(event, net)
    try:
        yield from _claim(event, domain, net)
        yield from _lay_keys(event, domain, values)
        yield from _lay_log(event, domain, net)
    except BaseException:
        yield from event.claims.undo()
        raise


def _start(event: Event) -> Iterator[str]:
    # The interfaces are there, and QEMU does not run yet: nothing passes before its filter.
    from . import ebpf, element

    domain = event.domain()
    net = element.read(domain)
    for each in net.interfaces if net is not None else ():
        if not each.ebpf:
            continue
        if ebpf.interface_of(domain, each.mac) is None:
            yield f"{each.mac} is not plugged in: nothing to attach HostVLAN to"
            continue
        try:
            interface = ebpf.attach(domain, each)
        except ebpf.NotAttached as error:
            raise Refused(str(error)) from None
        yield f"{interface} has HostVLAN in eBPF for {each.mac}"


def _started(event: Event) -> Iterator[str]:
    # QEMU reads them only once, at its start.
    yield from event.claims.drop_keys()


def _reconnect(event: Event) -> Iterator[str]:
    from . import element

    yield from event.claims.settle()
    yield from event.claims.drop_keys()
    domain = event.domain()
    net = element.read(domain)
    if net is not None:
        yield from _claim(event, domain, net)


# migrate, restore


def _rewrite(domain: Any, net: Net, here: conf.Conf) -> Iterator[str]:
    """Apply host.conf to the element and its NICs."""
    from . import element

    found = element.find(domain)
    assert found is not None
    for nic in found.iterchildren("{*}interface"):
        table = nic.get("hostvlan")
        if table and here.table and table != here.table:
            nic.set("hostvlan", here.table)
            yield f"the table of {nic.get('mac')} is {here.table}, not {table}"
        yield from _rewrite_care_of(nic, here)
    ours = {each.mac for each in net.interfaces}
    for mac in domain.findall("devices/interface/mac"):
        source = mac.getparent().find("source")
        if source is None or mac.get("address", "").lower() not in ours:
            continue
        for kind in ("bridge", "dev"):
            there = source.get(kind)
            if there and here.uplink(there) != there:
                source.set(kind, here.uplink(there))
                yield f"{mac.get('address')} is on {here.uplink(there)}, not {there}"


def _rewrite_care_of(nic: Any, here: conf.Conf) -> Iterator[str]:
    mip6, wanted = nic.find("{*}mip6"), here.care_of(nic.get("mac").lower())
    if mip6 is None or wanted is None:
        return
    # QEMU's default.
    there = mip6.get("care-of", "auto")
    if there != wanted:
        mip6.set("care-of", wanted)
        yield f"the care-of address of {nic.get('mac')} is {wanted}, not {there}"


def _restore(event: Event) -> Iterator[str]:
    yield from _arrive(event, _define_saved)


def _migrate(event: Event) -> Iterator[str]:
    yield from _arrive(event, _define_moving)


def _arrive(event: Event, remedy: Callable[[str], str]) -> Iterator[str]:
    from lxml import etree

    from . import expand

    domain = event.domain()
    net = _net(event, domain, remedy)
    if net is None:
        return
    changes = list(_rewrite(domain, net, event.conf()))
    if changes:
        event.answer.append(etree.tostring(expand.expand(domain), encoding="utf-8"))
    event.claims.announce()
    yield from changes or ["it comes as it is"]


def _release(event: Event) -> Iterator[str]:
    yield from event.claims.undo()
    yield from event.claims.settle()


_EVENTS: dict[str, Callable[[Event], Iterator[str]]] = {
    "prepare": _prepare,
    "migrate": _migrate,
    "restore": _restore,
    "start": _start,
    "release": _release,
    "started": _started,
    "reconnect": _reconnect,
}
#: Here libvirt ends the VM if the hook fails.
_NEVER_FAIL = ("started", "reconnect")
#: Here libvirt 11.3 removes the managed save if the hook fails, and reports success: so the event
#: that follows, ``prepare``, refuses the VM.
_LATER = "restore"


def _log(level: int, text: str) -> None:
    # A name may contain any character; one line is one action.
    syslog.syslog(level, "".join(each if each.isprintable() else "?" for each in text))


def handle(event: Event, kind: str) -> str | None:
    """Handle an event of a kind; returns the reason of a failure, or None.

    Other kinds of events are ignored.
    """
    if kind not in _EVENTS:
        return None
    did: list[str] = []
    reason: str | None = "unexpected failure"
    try:
        for action in _EVENTS[kind](event):
            _log(syslog.LOG_INFO, f"{kind} {event.name}: {action}")
            did.append(action)
        reason = None
    # BadElement and BadConf are ValueErrors.
    except (
        *(Refused, ValueError, SyntaxError, OSError),
        *(hostd.HostdError, validator.ValidatorError),
    ) as error:
        reason = str(error)
        _log(syslog.LOG_ERR, f"{kind} {event.name}: {error}")
    finally:
        history.record(event.claims.run, event.claims.uuid, kind, did, reason)
    return reason


def _refuse_later(event: Event, reason: str) -> None:
    """Let ``prepare`` refuse the VM for a reason."""
    try:
        event.claims.announce(reason)
    except OSError as error:
        # "prepare" checks the domain itself, and can then make no note of claims either.
        _log(syslog.LOG_ERR, f"{_LATER} {event.name}: the refusal cannot be noted: {error}")


def main(arguments: Sequence[str], source: BinaryIO, answer: BinaryIO) -> int:
    """Be the hook; returns the exit status."""
    syslog.openlog("vmmnet-hook", syslog.LOG_PID, syslog.LOG_DAEMON)
    name, kind = arguments[:2]
    xml = source.read()
    uuid = _UUID.search(xml)
    if uuid is None:
        return 0
    event = Event(name, xml, Claims(uuid[1].decode().lower(), name))
    try:
        reason = handle(event, kind)
    except Exception as error:  # noqa: BLE001 - libvirt is to read it
        reason = f"a fault of the hook itself: {error!r}"
        _log(syslog.LOG_ERR, f"{kind} {name}: {reason}")
    if reason is not None and kind == _LATER:
        _refuse_later(event, reason)
        return 0
    answer.write(b"".join(event.answer))
    if reason is None or kind in _NEVER_FAIL:
        return 0
    print(f"vmmnet: domain '{name}': {reason}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin.buffer, sys.stdout.buffer))
