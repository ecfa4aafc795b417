# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of tenants for tests, with the keys that they name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]
from vmmnet.cvsw.plan.model import Plan
from vmmnet.cvsw.plan.read import read

Tree = dict[str, Any]


def vm(number: int, tunnel: str, **more: str) -> Tree:
    """A VM with a MAC address and a key of its own."""
    return {"mac": f"52:54:00:00:{number >> 8:02x}:{number & 255:02x}", "key": f"{number}.key",
            "tunnel": tunnel, **more}  # fmt: skip


def station(number: int, tunnel: str) -> Tree:
    """A station without CVSW, with one MAC address behind it."""
    return {"macs": [f"02:00:00:00:00:{number:02x}"], "tunnel": tunnel,
            "tunnel-mac": f"02:00:00:00:01:{number:02x}"}  # fmt: skip


def tree() -> Tree:
    """Three tenants: with a cipher, in clear with a station, and over IPv6."""
    red = {"red1": vm(1, "192.0.2.1"), "red2": vm(2, "192.0.2.2"), "red3": vm(3, "192.0.2.3")}
    blue = {"blue1": vm(11, "192.0.2.11"), "blue2": vm(12, "192.0.2.12")}
    green = {"green1": vm(21, "2001:db8::1"), "green2": vm(22, "2001:db8::2")}
    return {
        "underlay": {"mtu": 1500},
        "tenants": {
            "red": {"vni": 5001, "lnid": 7, "cipher": "aes-gcm-256", "vms": red},
            "blue": {"vni": 5002, "vms": blue, "stations": {"router": station(9, "192.0.2.9")}},
            "green": {"vni": 5003, "cipher": "aes-gcm-128", "vms": green},
        },
    }


def write(folder: Path, what: Tree | str) -> Path:
    """A file of a tree or of a text, beside the keys that it names by numbers."""
    path = folder / "plan.yaml"
    path.write_text(what if isinstance(what, str) else yaml.safe_dump(what, sort_keys=False))
    for number in set(re.findall(r"\b(\d+)\.key", path.read_text())):
        key(folder, f"{number}.key", int(number).to_bytes(32))
    return path


def key(folder: Path, name: str, octets: bytes, mode: int = 0o600) -> None:
    """A key's file."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(octets)
    path.chmod(mode)


def plan(folder: Path, what: Tree) -> Plan:
    """Return the plan read from a tree."""
    return read(write(folder, what))
