# SPDX-License-Identifier: GPL-2.0-or-later
"""The address of etcd and the credentials: a URL and its options.

Rooms have their own names of the options: ``--store`` and ``--store-ca``, or ``--state`` and
``--state-ca``.  Messages use the name that was typed.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

from .errors import StoreError

DEFAULT_PORT = 2379
#: The prefix of a HostVLAN table if the URL has none.
DEFAULT_PREFIX = "/vmmnet/hostvlan"


@dataclass(frozen=True)
class Config:
    """How to reach etcd."""

    #: Host and port.
    endpoints: tuple[tuple[str, int], ...]
    #: Prefix of all keys; no slash at its end.
    prefix: str
    tls: bool = False
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    user: str | None = None
    password_file: Path | None = None
    #: Time-out of an endpoint, seconds.
    timeout: float = 10.0
    #: The option of the URL.
    option: str = "--store"

    @property
    def name(self) -> str:
        """The URL."""
        where = ",".join(spell(*endpoint) for endpoint in self.endpoints)
        return f"etcd{'s' if self.tls else ''}://{where}{self.prefix}"


def spell(host: str, port: int) -> str:
    """An endpoint in the form of URLs."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_url(text: str, *, option: str = "--store", prefix: str = DEFAULT_PREFIX) -> Config:
    """Parse etcd://HOST[:PORT][,HOST[:PORT]...][/PREFIX]; raises StoreError.

    IPv6 addresses are in brackets.  etcds:// is with TLS.  ``option`` is the option's name,
    ``prefix`` the default prefix.
    """
    example = "such as etcd://127.0.0.1:2379/vmmnet"
    scheme, mark, rest = text.partition("://")
    if not mark or scheme not in ("etcd", "etcds"):
        raise StoreError(f"{option} '{text}': it begins with etcd:// or etcds://, {example}")
    where, _, path = rest.partition("/")
    if "@" in where:
        raise StoreError(f"{option} '{text}': give the user with {option}-user, not in the URL")
    try:
        endpoints = tuple(map(_endpoint, where.split(",")))
    except ValueError as error:
        raise StoreError(f"{option} '{text}': {error}") from None
    if path.strip("/"):
        prefix = f"/{path.strip('/')}"
    if not prefix.isascii() or not prefix.isprintable() or " " in prefix:
        raise StoreError(f"{option} '{text}': the prefix has printable ASCII characters only")
    return Config(endpoints, prefix, tls=scheme == "etcds", option=option)


def _endpoint(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(DEFAULT_PORT)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError("an IPv6 address is in brackets, such as [::1]:2379")
    if not host:
        raise ValueError("a host is missing, such as 127.0.0.1:2379")
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError(f"the port '{port}' is not 1 to 65535")
    return host, int(port)


def add_options(group: argparse._ArgumentGroup, option: str) -> None:
    """Add the options of credentials."""
    group.add_argument(f"{option}-user", metavar="NAME", help="user of etcd")
    group.add_argument(
        f"{option}-password-file", metavar="FILE", type=Path, help="its password, on the first line"
    )
    group.add_argument(
        f"{option}-ca", metavar="FILE", type=Path, help="authority of etcd's certificate (PEM)"
    )
    group.add_argument(f"{option}-cert", metavar="FILE", type=Path, help="our certificate (PEM)")
    group.add_argument(f"{option}-key", metavar="FILE", type=Path, help="its key (PEM)")


def with_options(config: Config, given: argparse.Namespace) -> Config:
    """The same, with the options of ``add_options``; raises StoreError."""
    option = config.option

    def value(name: str) -> Path | None:
        path: Path | None = getattr(given, f"{option}_{name}".strip("-").replace("-", "_"))
        return path

    user: str | None = getattr(given, f"{option}_user".strip("-"))
    ca, cert, key, password_file = map(value, ("ca", "cert", "key", "password_file"))
    if (ca or cert or key) and not config.tls:
        raise StoreError(f"{option}-ca, {option}-cert and {option}-key are for etcds://")
    if key and not cert:
        raise StoreError(f"{option}-key needs {option}-cert")
    if user and not password_file:
        raise StoreError(f"{option}-user needs {option}-password-file")
    if password_file and not user:
        raise StoreError(f"{option}-password-file needs {option}-user")
    return replace(config, ca=ca, cert=cert, key=key, user=user, password_file=password_file)


def read_password(path: Path, option: str = "--store") -> str:
    """The first line of a file; raises StoreError."""
    try:
        password = path.read_text().partition("\n")[0]
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{option}-password-file {path}: {error}") from error
    if not password:
        raise StoreError(f"{option}-password-file {path}: its first line is empty")
    return password
