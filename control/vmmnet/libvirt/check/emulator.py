# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of the emulator: QEMU's user can run it, and it has what the expansion needs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from vmmnet.architecture import HOST

from ..element import BadElement
from ..expand import asked, expand
from . import apparmor, ways
from .facts import RUN, Domain, Finding, Host

#: The QEMU from which on a VM is saved in another way, and the first libvirt that knows it.
_NEWER_SAVE, _SAVES = 11, (12, 1, 0)
_PACKAGE = f"install vmmnet-qemu, and write <emulator>{HOST.emulator}</emulator>"


def check(domain: Domain, host: Host) -> Iterator[Finding]:
    """Check the emulator, also under AppArmor."""
    path = _path(domain)
    wrong = ways.trouble(path, RUN, host)
    if wrong is not None:
        yield Finding(f"emulator {path}", wrong.text, wrong.remedy or _ours(domain), wrong.severity)
        if wrong.severity == "fault":
            return
    yield from _confined(path, domain, host)
    yield from _lacking(path, domain, host)
    yield from _unsaved(path, domain, host)


def _path(domain: Domain) -> Path:
    named = (domain.defined.findtext("devices/emulator") or "").strip()
    if named:
        return Path(named)
    # libvirt chooses it.
    return Path(f"/usr/bin/qemu-system-{_architecture(domain)}")


def _architecture(domain: Domain) -> str:
    kind = domain.defined.find("os/type")
    return HOST.qemu if kind is None else kind.get("arch", HOST.qemu)


def _ours(domain: Domain) -> str:
    """Where there is an emulator of ours for the domain."""
    wanted = _architecture(domain)
    if wanted == HOST.qemu:
        return _PACKAGE
    return (
        f"the package vmmnet-qemu of this host is for <type arch='{HOST.qemu}'>: an emulator of"
        f" {wanted} is built from the sources, './configure --arch' there"
    )


def _confined(path: Path, domain: Domain, host: Host) -> Iterator[Finding]:
    rules = apparmor.of(domain, host)
    if rules is None or apparmor.allows(rules, str(path), "rx"):
        return
    told = "AppArmor does not let guests of libvirt run it"
    yield Finding(f"emulator {path}", told, f"{apparmor.admit(path)}; or {_ours(domain)}")


def _lacking(path: Path, domain: Domain, host: Host) -> Iterator[Finding]:
    """Devices and options of the expansion that QEMU does not know."""
    try:
        wanted = asked(expand(domain.defined))
    except BadElement:
        # Reported already.
        return
    for (option, kind), names in wanted.items():
        text = host.help(path, option, f"{kind},help" if option == "device" else "help")
        if text is None:
            told = f"it did not answer to '-{option} help', so its devices are not known"
            yield Finding(f"emulator {path}", told, f"try it: '{path} -{option} help'", "note")
            return
        if option != "device":
            if kind not in text.split():
                yield _lacks(path, domain, f"-{option} {kind}")
            continue
        known = set(re.findall(r"^\s+([\w.-]+)=", text, re.MULTILINE))
        if not known:
            yield _lacks(path, domain, f"-device {kind}")
        elif names - known:
            options = ", ".join(sorted(names - known))
            told = f"-device {kind} with the option{_s(names - known)} {options}"
            yield _lacks(path, domain, told)


def _unsaved(path: Path, domain: Domain, host: Host) -> Iterator[Finding]:
    """A daemon that is too old to save and restore a VM of this QEMU."""
    if domain.version is None or domain.version >= _SAVES:
        return
    found = re.search(r"version ((\d+)[\d.]*)", host.version(path) or "")
    if found and int(found[2]) >= _NEWER_SAVE:
        version, needed = (".".join(map(str, each)) for each in (domain.version, _SAVES))
        told = f"{version} does not save and restore VMs of QEMU {found[1]}: 'virsh save' fails"
        remedy = f"install libvirt {needed} or later, or an emulator before QEMU {_NEWER_SAVE}"
        yield Finding("libvirt", told, remedy)


def _s(names: set[str]) -> str:
    return "" if len(names) == 1 else "s"


def _lacks(path: Path, domain: Domain, what: str) -> Finding:
    is_ours = path == HOST.emulator
    update = "'apt install vmmnet-qemu': it is older than this command"
    remedy = update if is_ours else _ours(domain)
    return Finding(f"emulator {path}", f"this QEMU has no {what}", remedy)
