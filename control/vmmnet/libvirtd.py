# SPDX-License-Identifier: GPL-2.0-or-later
"""A daemon of libvirt. Only this file imports Python's package libvirt."""

from __future__ import annotations

import contextlib
import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from vmmnet.command.status import Refused

T = TypeVar("T")


class Daemon:
    """A connection to a daemon; its errors are raised as Refused with its message."""

    def __init__(self, libvirt: Any, connection: Any) -> None:
        self._libvirt, self._connection = libvirt, connection

    def version(self) -> tuple[int, int, int]:
        """The daemon's version: 9.0.0 is (9, 0, 0)."""
        number = self._call(self._connection.getLibVersion)
        return number // 1_000_000, number // 1000 % 1000, number % 1000

    def uri(self) -> str:
        """Its URI, also of the default."""
        return str(self._call(self._connection.getURI))

    def is_session(self) -> bool:
        """Whether it is a user's own daemon, which calls no hook of ours."""
        return urlsplit(self.uri()).path == "/session"

    def names(self) -> list[str]:
        """All domains."""
        return sorted(each.name() for each in self._call(self._connection.listAllDomains))

    def running_names(self) -> list[str]:
        """Domains that are active, also paused."""
        flags = self._libvirt.VIR_CONNECT_LIST_DOMAINS_ACTIVE
        return sorted(each.name() for each in self._call(self._connection.listAllDomains, flags))

    def has(self, domain: str) -> bool:
        """Whether there is a domain of this name or UUID."""
        return self._found(domain) is not None

    def uuid(self, domain: str) -> str:
        """The UUID of a domain."""
        return str(self._domain(domain).UUIDString())

    def is_running(self, domain: str) -> bool:
        """Whether a domain is active, also paused."""
        return bool(self._call(self._domain(domain).isActive))

    def defined(self, domain: str) -> str:
        """The domain at its next start, as XML."""
        flags = self._libvirt.VIR_DOMAIN_XML_INACTIVE | self._secure()
        return str(self._call(self._domain(domain).XMLDesc, flags))

    def running(self, domain: str) -> str:
        """The running domain, as XML."""
        return str(self._call(self._domain(domain).XMLDesc, self._secure()))

    def monitor(self, domain: str, command: str, arguments: Mapping[str, Any]) -> Any:
        """The answer of a running domain's QEMU to a QMP command."""
        try:
            qemu: Any = importlib.import_module("libvirt_qemu")
        except ModuleNotFoundError:
            raise Refused("needs Python's package libvirt_qemu, a part of libvirt-python") from None
        request = json.dumps({"execute": command, "arguments": arguments})
        text = self._call(qemu.qemuMonitorCommand, self._domain(domain), request, 0)
        answer = json.loads(text)
        if "return" not in answer:
            told = answer.get("error", {}).get("desc", "no answer")
            raise Refused(f"QEMU does not answer to {command}: {told}")
        return answer["return"]

    def define(self, xml: str) -> None:
        """Define a domain, or redefine it."""
        self._call(self._connection.defineXML, xml)

    def is_transient(self, domain: str) -> bool:
        """Whether a domain ends with its QEMU, as it is not defined."""
        return not self._call(self._domain(domain).isPersistent)

    def set_metadata(self, domain: str, xml: str, uri: str, *, of_next_start: bool) -> None:
        """Replace the metadata of a namespace, of a running domain or its definition.

        ``xml`` has no namespaces.
        """
        affected = "CONFIG" if of_next_start else "LIVE"
        self._call(
            self._domain(domain).setMetadata,
            self._libvirt.VIR_DOMAIN_METADATA_ELEMENT,
            xml,
            "vmmnet",
            uri,
            getattr(self._libvirt, f"VIR_DOMAIN_AFFECT_{affected}"),
        )

    def undefine(self, domain: str) -> None:
        """Undefine a domain."""
        self._call(self._domain(domain).undefine)

    def _secure(self) -> int:
        """The XML with passwords, which a redefinition would lose otherwise."""
        return int(self._libvirt.VIR_DOMAIN_XML_SECURE)

    def _domain(self, domain: str) -> Any:
        found = self._found(domain)
        if found is None:
            there = ", ".join(self.names()) or "none"
            raise Refused(f"there is no domain '{domain}'; there are {there}")
        return found

    def _found(self, domain: str) -> Any:
        for look in (self._connection.lookupByName, self._connection.lookupByUUIDString):
            # No such domain, or not a UUID.
            with contextlib.suppress(self._libvirt.libvirtError):
                return look(domain)
        return None

    def _call(self, function: Callable[..., T], *arguments: Any) -> T:
        try:
            return function(*arguments)
        except self._libvirt.libvirtError as error:
            raise Refused(f"libvirt: {error}") from None


@contextlib.contextmanager
def opened(uri: str | None) -> Iterator[Daemon]:
    """Open a daemon by URI, or virsh's default. Raises Refused."""
    try:
        libvirt: Any = importlib.import_module("libvirt")
    except ModuleNotFoundError:
        raise Refused(
            "needs Python's package libvirt: apt install python3-libvirt,"
            " or pip install libvirt-python"
        ) from None
    # Otherwise it prints each error to standard error.
    libvirt.registerErrorHandler(lambda *_: None, None)
    try:
        connection = libvirt.open(uri)
    except libvirt.libvirtError as error:
        named = f" of {uri}" if uri else ""
        raise Refused(
            f"no daemon of libvirt{named} is reached: {error}; --connect URI names another"
        ) from None
    try:
        yield Daemon(libvirt, connection)
    finally:
        connection.close()
