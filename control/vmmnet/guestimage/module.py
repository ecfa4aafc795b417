# SPDX-License-Identifier: GPL-2.0-or-later
"""The sources of the guest's module, as DKMS has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

#: Its name for DKMS.
NAME = "vmmnet-vmrpc"
_HERE = Path(__file__).resolve()
#: control/install puts a copy beside the package ``vmmnet``.
_INSTALLED = _HERE.parents[2] / "guest-module"
_TREE = _HERE.parents[3]
_FILES = (
    *("Kbuild", "Makefile", "dkms.conf", "dkms-fits", "vmrpc-ss"),
    *("modules-load.conf", "10-vmrpc.network"),
    *("*.[ch]", "*/*.[ch]"),
)


class NoSources(RuntimeError):
    """The sources of the module are missing."""


def sources() -> Mapping[str, bytes]:
    """The files of the module's folder by their names in it. Raises NoSources, OSError."""
    folder, include = _TREE / "guest-linux" / "vmrpc", _TREE / "include"
    if _INSTALLED.is_dir():
        folder, include = _INSTALLED, _INSTALLED / "include"
    found = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for each in _FILES
        for path in folder.glob(each)
    }
    header = include / "vmmnet" / "vmrpc.h"
    if "dkms.conf" not in found or not header.is_file():
        raise NoSources(
            f"the guest module's sources are neither in {_INSTALLED} nor in {_TREE}:"
            " run the command of the package vmmnet-control, or of vmmnet's sources"
        )
    return {**found, "include/vmmnet/vmrpc.h": header.read_bytes()}


def version(files: Mapping[str, bytes]) -> str:
    """The version in dkms.conf."""
    found = re.search(rb'^PACKAGE_VERSION="([^"]+)"', files["dkms.conf"], re.MULTILINE)
    if not found:
        raise NoSources("the guest module's dkms.conf names no PACKAGE_VERSION")
    return found[1].decode()


def lay_out(folder: Path) -> None:
    """Write the sources into a folder: ``make VMMNET_INCLUDE=FOLDER/include`` builds them."""
    for name, data in sources().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o755 if name == "vmrpc-ss" else 0o644)
