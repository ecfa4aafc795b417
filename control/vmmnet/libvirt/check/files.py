# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of the element's files: tables, policies, keys."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import UUID

from .. import keys, validation
from ..element import Net
from ..expand import qemu
from ..host import account
from . import apparmor, selinux, ways
from .facts import READ, Domain, Finding, Host, Policy

#: The default trust anchor.
_ROOT = Path("/usr/share/dns/root.key")


@dataclass(frozen=True)
class _File:
    """A file that QEMU reads."""

    path: Path
    kind: str
    #: How to create it.
    missing: str
    #: QEMU watches its folder for changes; keys are read once.
    watched: bool = False
    #: vmmnet-validate reads it, as a user of its own, and QEMU does not.
    shared: bool = False


def check(domain: Domain, net: Net, host: Host) -> Iterator[Finding]:
    """Check files by modes, AppArmor and SELinux."""
    path = net.sockets.policy if net.sockets is not None else None
    policy = (host.policy(path) if path is not None else None) or Policy("", ())
    secrets = {each.id: each for each in qemu.objects(domain.defined) if "secret" in each.type}
    files = [*_files(net), *_secret_files(policy, secrets)]
    named = {each.path: each for each in files}
    has_log = net.sockets is not None and net.sockets.audit is not None
    if (named or has_log) and host.user() is None:
        told = "this host has no user that QEMU could run as, so that files are not checked for it"
        yield Finding("QEMU's user", told, "name one with 'user' in qemu.conf", "note")
    for each in named.values():
        yield from _file(each, host)
    yield from _policy(f"policy {path}", policy, secrets)
    yield from _secrets(domain, net, host)
    rules = apparmor.of(domain, host)
    if rules is not None:
        yield from _confined(rules, [each for each in named.values() if not each.shared], net)
        yield from _confined_validator(rules, domain, net)
        yield from _confined_keys(rules, domain, net)
    if host.selinux() and apparmor.is_confined(domain, host):
        yield from selinux.check([path for path in named if not named[path].shared], host)


def _files(net: Net) -> Iterator[_File]:
    if net.sockets is not None and net.sockets.policy is not None:
        written = "write it (docs/vmrpc-policy.md), or leave 'policy' out"
        yield _File(net.sockets.policy, "policy", written, watched=True)
    if net.sockets is not None and net.sockets.zone is not None:
        for image in net.sockets.zone.split("+"):
            made = f"'vmmnet-zone compile ZONE FILE -o {shlex.quote(image)}' makes it"
            yield _File(Path(image), "zone", made, watched=True)
    if net.sockets is not None and validation.is_by_unit(net.sockets):
        installed = "install dns-root-data, or name a file of yours with 'trust-anchor'"
        yield _File(net.sockets.trust_anchor or _ROOT, "trust anchor", installed, shared=True)
    for nic in net.interfaces:
        if nic.table_of_qemu is not None:
            made = f"'vmmnet hostvlan add {nic.mac} LNID --table {shlex.quote(str(nic.hostvlan))}'"
            made += " makes it"
            yield _File(nic.table_of_qemu, "table", made, watched=True)
        for key in keys.of(nic):
            if isinstance(key.source, Path):
                yield _File(key.source, key.option, "put the key there, for QEMU's user alone")


def _policy(about: str, policy: Policy, secrets: Mapping[str, qemu.Words]) -> Iterator[Finding]:
    """Check what QEMU would refuse of a policy that it can read."""
    if policy.wrong:
        yield Finding(about, policy.wrong, "correct it, and try it with 'vmmnet policy test FILE'")
    for each in policy.secrets:
        if each not in secrets:
            told = f"a proxy wants the secret '{each}', and the domain has no object of that id"
            words = f"<qemu:arg value='-object'/><qemu:arg value='secret,id={each},file=PATH'/>"
            yield Finding(about, told, f"put {words} into <qemu:commandline>")


def _secret_files(policy: Policy, secrets: Mapping[str, qemu.Words]) -> Iterator[_File]:
    """Files of the secrets that a policy's proxies want."""
    for each in policy.secrets:
        if each in secrets and (file := secrets[each].member("file")):
            yield _File(Path(file), "secret", "put USER:PASSWORD there, for QEMU's user alone")


def _secrets(domain: Domain, net: Net, host: Host) -> Iterator[Finding]:
    """Check keys in libvirt's secrets, which the hook gives to QEMU's user."""
    label = account.label(domain.defined)
    if _named_secrets(net) and not host.has_user(label):
        told = f"the host has no user of {account.named(label)}, and the hook gives QEMU no keys"
        yield Finding("QEMU's user", told, "put 'user' right there")
    for secret, option in _named_secrets(net).items():
        wrong = host.secret(str(secret))
        if wrong is not None:
            severity: Literal["fault", "note"] = "note" if wrong.untold else "fault"
            yield Finding(f"{option} {secret}", wrong.text, wrong.remedy, severity)


def _named_secrets(net: Net) -> dict[UUID, str]:
    """Secrets of libvirt, each with its option."""
    found = (key for nic in net.interfaces for key in keys.of(nic))
    return {key.source: key.option for key in found if isinstance(key.source, UUID)}


def _file(file: _File, host: Host) -> Iterator[Finding]:
    about = f"{file.kind} {file.path}"
    owned = not file.watched and not file.shared
    wrong = ways.trouble(file.path, READ, host, owned=owned)
    if wrong is not None:
        yield Finding(about, wrong.text, wrong.remedy or file.missing, wrong.severity)
        return
    user = host.user()
    if file.watched and user is not None:
        folder = host.way(file.path)[-2]
        if not user.may(folder, READ):
            told = f"QEMU's user, {user.name}, may not watch its folder, and notices a change late"
            yield Finding(about, told, f"'chmod a+r {shlex.quote(str(folder.path))}'", "note")


def _confined(rules: str, named: list[_File], net: Net) -> Iterator[Finding]:
    for each in named:
        lines = [(f"{each.path.parent}/", "r")] if each.watched else []
        lines.append((str(each.path), "r"))
        missing = [line for line in lines if not apparmor.allows(rules, *line)]
        if missing:
            yield apparmor.not_allowed(f"{each.kind} {each.path}", missing)
    if net.handoff and not apparmor.allows(rules, apparmor.HOSTD, "rw"):
        yield apparmor.not_allowed(apparmor.HOSTD, [(apparmor.HOSTD, "rw")])


def _confined_validator(rules: str, domain: Domain, net: Net) -> Iterator[Finding]:
    """Check AppArmor for the socket of who validates names."""
    vm = (domain.defined.findtext("uuid") or "").strip().lower()
    path = validation.socket(net.sockets, vm) if net.sockets is not None else None
    if path is not None and not apparmor.allows(rules, str(path), "rw"):
        yield apparmor.not_allowed(str(path), [(str(path), "rw")])


def _confined_keys(rules: str, domain: Domain, net: Net) -> Iterator[Finding]:
    """Check AppArmor for the hook's key files, whose folder is named by the domain's UUID."""
    vm = (domain.defined.findtext("uuid") or "").strip().lower()
    files = (
        key.file(vm)
        for nic in net.interfaces
        for key in keys.of(nic)
        if isinstance(key.source, UUID)
    )
    if not all(apparmor.allows(rules, str(each), "r") for each in files):
        yield apparmor.not_allowed(str(keys.FOLDER), [(f"{keys.FOLDER}/**", "r")])
