# SPDX-License-Identifier: GPL-2.0-or-later
"""Secrets of libvirt, read from its daemon's files: the daemon waits for the hook.

A secret has UUID.xml, and UUID.base64 if it has a value.  An ephemeral one is in the daemon's
memory only; from 12.1 on values are encrypted, without UUID.base64.
"""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from xml.etree import ElementTree

FOLDER = Path("/etc/libvirt/secrets")

# libvirt's limit of a value, in base64.
_LARGEST_FILE = 4 * (1 << 16) // 3 + 4


class SecretError(Exception):
    """A secret is not available; the message has the reason and the remedy.

    ``untold``: the caller lacks permission, so nothing is known about it.
    """

    def __init__(self, text: str, remedy: str, *, untold: bool = False) -> None:
        self.text, self.remedy, self.untold = text, remedy, untold
        super().__init__(f"{text}: {remedy}")


def read(uuid: str, folder: Path = FOLDER) -> bytes:
    """The value of a secret; never empty. Raises SecretError."""
    set_value = f"'virsh secret-set-value {uuid} --file KEY', where KEY has it in base64"
    xml = _read(folder / f"{uuid}.xml", folder)
    if xml is None:
        told = f"the libvirt of this host keeps no secret {uuid}"
        raise SecretError(told, f"'virsh secret-define', with ephemeral='no', and {set_value}")
    if _is_private(xml):
        remedy = (
            f"'virsh secret-undefine {uuid}', 'virsh secret-define' with private='no',"
            f" and {set_value}"
        )
        raise SecretError(
            f"the secret {uuid} is private='yes', so that it is libvirt's own", remedy
        )
    text = _read(folder / f"{uuid}.base64", folder)
    if text is None:
        told = f"the secret {uuid} has no value in {folder}/{uuid}.base64"
        remedy = (
            f"{set_value}; libvirt 12.1 and later write it there only with 'encrypt_data = 0'"
            " in /etc/libvirt/secret.conf, else name a file instead of the secret"
        )
        raise SecretError(told, remedy)
    try:
        value = base64.b64decode(text.strip(), validate=True)
    except binascii.Error:
        value = b""
    if not value:
        raise SecretError(f"{folder}/{uuid}.base64 is no value in base64", set_value)
    return value


def _is_private(xml: bytes) -> bool:
    """Whether a secret is private; yes if it cannot be parsed."""
    try:
        return ElementTree.fromstring(xml).get("private", "no") != "no"
    except ElementTree.ParseError:
        return True


def _read(path: Path, folder: Path) -> bytes | None:
    try:
        with path.open("rb") as stream:
            return stream.read(_LARGEST_FILE)
    except FileNotFoundError:
        return None
    except OSError as error:
        told = f"{folder} cannot be read ({error.strerror}), so that the secret is not known"
        raise SecretError(told, "run this as root", untold=True) from None
