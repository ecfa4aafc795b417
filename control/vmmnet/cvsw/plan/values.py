# SPDX-License-Identifier: GPL-2.0-or-later
"""The values of a plan's file: MAC addresses, tunnels' ends, groups, names, keys.

Each function parses one, and raises ValueError with the fault and what would be right.
"""

from __future__ import annotations

import difflib
import ipaddress
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

from vmmnet.cvsw.wire.message import KEY_LEN_MIN, Offload
from vmmnet.values import address, mac

from .model import CIPHERS, Address, Network

#: Allowed octets of a key file.
KEY_LEN_MAX = 4096
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_GROUPS = "239.1.2.3 or ff05::1:3"
_OFFLOADS = {str(each.name).lower(): each for each in Offload}
_TSO = Offload.TSO4 | Offload.TSO6


def station(text: str) -> bytes:
    """The MAC address of one station."""
    return mac.parse(text).to_bytes(6)


def tunnel(text: str) -> tuple[Address, Network | None]:
    """A tunnel end: an address, with or without a prefix length."""
    alone, slash, length = text.partition("/")
    result = address.parse(alone)
    if not slash:
        return result, None
    most = result.max_prefixlen
    if not (length.isascii() and length.isdigit() and len(length) <= 3 and int(length) <= most):
        raise ValueError(f"'{text}': a prefix of IPv{result.version} has 0 to {most} bits")
    return result, ipaddress.ip_network(f"{alone}/{int(length)}", strict=False)


def group(text: str) -> Address:
    """A multicast group of the underlay."""
    try:
        result = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a multicast group like {_GROUPS}") from None
    if not result.is_multicast:
        raise ValueError(f"'{text}' is not a multicast group, which is like {_GROUPS}")
    return result


def name(text: str) -> str:
    """A name of a tenant, VM or station."""
    if not _NAME.fullmatch(text):
        raise ValueError(
            f"'{text}' is no name: 1 to 63 letters, digits, '.', '-' and '_', a letter or a"
            " digit first"
        )
    return text


def cipher(text: str) -> str:
    """An ESP cipher."""
    if text not in CIPHERS:
        raise ValueError(f"there is no '{text}': there are {', '.join(CIPHERS)}")
    return text


def offload(text: str) -> Offload:
    """One offload."""
    if text not in _OFFLOADS:
        near = difflib.get_close_matches(text, _OFFLOADS, n=1)
        hint = f"is it '{near[0]}'?" if near else f"there are {', '.join(_OFFLOADS)}"
        raise ValueError(f"there is no '{text}': {hint}")
    return _OFFLOADS[text]


def no_offload(text: str) -> Offload:
    """The word for no offloads."""
    if text != "none":
        raise ValueError(f"'{text}' is not 'none', nor a list of offloads like [csum, tso4]")
    return Offload(0)


def offload_names(offloads: Offload) -> list[str]:
    """Their names in files."""
    return [name for name, each in _OFFLOADS.items() if each in offloads]


def offload_json(offloads: Offload | None) -> list[str] | None:
    """The same for JSON; None: not in the file."""
    return None if offloads is None else offload_names(offloads)


def check_offloads(offloads: Offload) -> None:
    """Check that they can be on together (virtio 1.2 section 5.1.3.1)."""
    if offloads and Offload.CSUM not in offloads:
        names = ", ".join(offload_names(offloads))
        raise ValueError(f"there is no {names} without csum: frames of these have no checksum yet")
    if Offload.ECN in offloads and not offloads & _TSO:
        raise ValueError("there is no ecn without tso4 or tso6, whose frames it is about")


def key(folder: Path) -> Callable[[str], bytes]:
    """The key of a file, all of its octets; a relative path begins at the folder."""

    def read(text: str) -> bytes:
        if not text:
            raise ValueError("'' names no file")
        path = folder / text
        try:
            # Do not block, as on a pipe.
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                about, octets = os.fstat(file), b""
                if stat.S_ISREG(about.st_mode):
                    octets = os.read(file, KEY_LEN_MAX + 1)
            finally:
                os.close(file)
        except OSError as error:
            raise ValueError(f"'{path}' cannot be read: {error.strerror}") from None
        _check_key(path, about, octets)
        return octets

    return read


def _check_key(path: Path, about: os.stat_result, octets: bytes) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise ValueError(f"'{path}' is no file")
    if about.st_mode & stat.S_IRWXO:
        mode = stat.S_IMODE(about.st_mode)
        raise ValueError(
            f"others may read or write '{path}' (mode {mode:04o}): 'chmod o= {path}', and make"
            " a new key"
        )
    if not KEY_LEN_MIN <= len(octets) <= KEY_LEN_MAX:
        size = f"{len(octets)} octets" if len(octets) <= KEY_LEN_MAX else "more octets"
        raise ValueError(
            f"'{path}' has {size}: a key has {KEY_LEN_MIN} to {KEY_LEN_MAX}, as"
            f" 'head -c {KEY_LEN_MIN} /dev/urandom' writes them"
        )
