# SPDX-License-Identifier: GPL-2.0-or-later
"""An authority, and certificates that it signs, without a CommonName."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..base import tools

_NEW = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"


def make(folder: Path, *names: str, hosts: Sequence[str] = ()) -> None:
    """Make ca.pem, and NAME.pem and NAME.key of each name, for clients, 127.0.0.1 and ``hosts``."""
    _openssl(folder, f"req -x509 {_NEW} -subj /CN=authority -keyout ca.key -out ca.pem -days 2")
    extensions = folder / "certificate.ext"
    places = ",".join(("IP:127.0.0.1", *(f"DNS:{host}" for host in hosts)))
    extensions.write_text(f"subjectAltName={places}\nextendedKeyUsage=serverAuth,clientAuth\n")
    for name in names:
        _openssl(folder, f"req {_NEW} -subj /O=vmmnet -keyout {name}.key -out {name}.csr")
        _openssl(
            folder,
            f"x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out {name}.pem"
            f" -days 2 -extfile {extensions}",
        )


def _openssl(folder: Path, words: str) -> None:
    tools.run(["openssl", *words.split()], cwd=folder)
