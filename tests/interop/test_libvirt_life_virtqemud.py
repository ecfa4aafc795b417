# SPDX-License-Identifier: GPL-2.0-or-later
"""The hook with virtqemud, libvirt's daemon for QEMU alone; Debian has none, up to 12.8 in sid."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from lab.base import tools
from lab.base.net import Network
from lab.libvirt.life import Site, Vm

VM = Vm(1)
_DAEMON = "virtqemud"

pytestmark = pytest.mark.skipif(
    not (tools.system() / "usr/sbin" / _DAEMON).exists(),
    reason="this system's libvirt has no virtqemud",
)


@pytest.fixture
def sites() -> Iterator[tuple[Site, Site]]:
    with Network() as network, contextlib.ExitStack() as stack:
        one, two = (
            stack.enter_context(Site(network.namespace(name), number, _DAEMON))
            for number, name in enumerate(("one", "two"), 1)
        )
        yield one, two


def test_starts_moves_and_ends(sites: tuple[Site, Site]) -> None:
    one, two = sites
    one.define(VM)
    one.virsh("start", VM.name)
    one.has(VM)
    one.restart_daemon(VM)
    one.has(VM)
    with two.way() as way:
        one.virsh("migrate", "--live", *way, VM.name, two.uri())
    assert two.said(VM, "migrate") == ["it comes as it is"]
    assert one.said(VM, "release")[-1] == "vmmnet-hostd has forgotten it"
    two.has(VM)
    one.has_nothing()
    two.virsh("destroy", VM.name)
    two.has_nothing()
