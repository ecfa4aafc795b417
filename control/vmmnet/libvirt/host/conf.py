# SPDX-License-Identifier: GPL-2.0-or-later
"""/etc/vmmnet/host.conf: settings of VMs that depend on the host.

Words on lines, comments after ``#``; docs/libvirt-hook.md has the table.  Without the file VMs
are not changed.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vmmnet.values import mac as macs

PATH = Path("/etc/vmmnet/host.conf")
#: Matches any uplink, or NIC, without a line of its own.
ANY = "*"
_AUTO = "auto"
#: Seconds that a VM's start waits for the network by default.
WAIT = 30
# The hook's claims of a VM that has not begun to run then are released.
_LONGEST_WAIT = 240

# A bound against mistakes; only root writes there.
_LARGEST_FILE = 1 << 16
_FORMS = {
    "hostvlan-table": "hostvlan-table PATH",
    "uplink": "uplink THERE HERE",
    "address6-device": "address6-device INTERFACE",
    "address6-wait": "address6-wait SECONDS",
    "care-of": "care-of MAC ADDRESS",
}


class BadConf(ValueError):
    """The file cannot be read, or has an invalid line; the message names it."""


@dataclass(frozen=True, slots=True)
class Conf:
    """The contents of the file."""

    #: HostVLAN's table; None: the VM's own.
    table: str | None = None
    #: Interfaces of this host, by those of other hosts.
    uplinks: Mapping[str, str] = field(default_factory=dict)
    #: Care-of addresses on this host, or ``auto``, by MAC address.
    care_ofs: Mapping[str, str] = field(default_factory=dict)
    #: vmmnet-hostd's interface for address6; None: the one with its prefix.
    address6_device: str | None = None
    #: Seconds that a VM's start waits for its address, or for the interface of that.
    address6_wait: int = WAIT

    def uplink(self, there: str) -> str:
        """This host's interface for a NIC with ``there`` on another host."""
        return self.uplinks.get(there) or self.uplinks.get(ANY) or there

    def care_of(self, mac: str) -> str | None:
        """The care-of address of a NIC here; None: the VM's own."""
        return self.care_ofs.get(mac) or self.care_ofs.get(ANY)


def parse(text: str, name: str = str(PATH)) -> Conf:
    """Parse the file's text; ``name`` is for errors.  Raises BadConf."""
    once: dict[str, str] = {}
    uplinks: dict[str, str] = {}
    care_ofs: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        known, where = words[0], f"{name}, line {number}"
        form = _FORMS.get(known)
        if form is None:
            raise BadConf(f"{where}: '{known}' is none of {', '.join(_FORMS)}")
        if len(words) != len(form.split()):
            raise BadConf(f"{where}: '{' '.join(words)}' is not of the form '{form}'")
        if known == "uplink":
            if uplinks.setdefault(words[1], words[2]) != words[2]:
                raise BadConf(f"{where}: '{words[1]}' has an uplink already: {uplinks[words[1]]}")
            continue
        if known == "care-of":
            mac, address = _care_of(words, where)
            if care_ofs.setdefault(mac, address) != address:
                raise BadConf(f"{where}: '{mac}' has a care-of address already: {care_ofs[mac]}")
            continue
        if once.setdefault(known, words[1]) != words[1]:
            raise BadConf(f"{where}: {known} is given already: {once[known]}")
        if known == "hostvlan-table" and not words[1].startswith("/"):
            raise BadConf(
                f"{where}: '{words[1]}' is no absolute path, such as /var/lib/vmmnet/lnid.table"
            )
        if known == "address6-wait" and not _is_wait(words[1]):
            raise BadConf(
                f"{where}: '{words[1]}' is no number of seconds from 0 to {_LONGEST_WAIT}"
            )
    return Conf(
        once.get("hostvlan-table"),
        uplinks,
        care_ofs,
        once.get("address6-device"),
        int(once.get("address6-wait", WAIT)),
    )


def _is_wait(text: str) -> bool:
    return re.fullmatch("[0-9]{1,3}", text) is not None and int(text) <= _LONGEST_WAIT


def _care_of(words: list[str], where: str) -> tuple[str, str]:
    """Parse a line: the MAC address, and its NIC's care-of address here."""
    _, mac, address = words
    if mac == ANY and address != _AUTO:
        raise BadConf(f"{where}: '{address}' can be one NIC's only: write its MAC address, or auto")
    try:
        mac = mac if mac == ANY else macs.text(macs.parse(mac))
    except ValueError as error:
        raise BadConf(f"{where}: {error}") from None
    try:
        return mac, address if address == _AUTO else str(ipaddress.IPv6Address(address))
    except ValueError:
        raise BadConf(f"{where}: '{address}' is neither an IPv6 address nor auto") from None


def read(path: Path = PATH) -> Conf:
    """Read the file, which may be missing.  Raises BadConf."""
    try:
        with path.open(encoding="utf-8") as stream:
            text = stream.read(_LARGEST_FILE)
    except FileNotFoundError:
        return Conf()
    except OSError as error:
        raise BadConf(f"{path}: {error.strerror}") from None
    except ValueError:
        raise BadConf(f"{path}: is no text in UTF-8") from None
    return parse(text, str(path))
