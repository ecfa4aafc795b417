# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether an address is handed off, where the element does not say."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from lxml import etree  # type: ignore[import-untyped]
from vmmnet.libvirt import element, handoff, names

_SOCKETS = "<v:sockets address6='2001:db8:1::c0de'/>"
_UUID = "<uuid>00000000-0000-4000-9000-000000000001</uuid>"


@pytest.fixture
def helper(tmp_path: Path) -> Path:
    """The socket of a host that has vmmnet-hostd."""
    path = tmp_path / "hostd.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(path))
    return path


def _chosen(
    path: Path, net: str = "", inside: str = _SOCKETS, uuid: str = _UUID, **more: str
) -> bool:
    domain = etree.fromstring(
        f"<domain>{uuid}<metadata><v:net xmlns:v='{names.NET}' {net}>{inside}</v:net>"
        "</metadata></domain>"
    )
    handoff.choose(domain, socket=path, **more)
    asked = element.read(domain)
    assert asked is not None
    return asked.handoff


def test_on_if_this_host_can(helper: Path) -> None:
    assert _chosen(helper)
    assert _chosen(helper, "handoff='on'")
    assert _chosen(helper, uri="qemu+unix:///system?socket=/run/other")


@pytest.mark.parametrize(
    "uri",
    ["qemu:///session", "qemu+ssh://other/system", "test:///default"],
)
def test_off_where_nobody_may_register_it(helper: Path, uri: str) -> None:
    assert not _chosen(helper, uri=uri)


def test_what_is_said_stays(helper: Path, tmp_path: Path) -> None:
    assert not _chosen(helper, "handoff='off'")
    assert _chosen(tmp_path / "nobody", "handoff='on'")


def test_off_without_what_it_takes(helper: Path, tmp_path: Path) -> None:
    """A helper, an address, the VM's UUID."""
    assert not _chosen(tmp_path / "nobody")
    assert not _chosen(helper, inside="<v:sockets/>")
    assert not _chosen(helper, inside="")
    assert not _chosen(helper, uuid="")


def test_a_domain_without_the_element(helper: Path) -> None:
    domain = etree.fromstring("<domain/>")
    handoff.choose(domain, socket=helper)
    assert etree.tostring(domain) == b"<domain/>"
