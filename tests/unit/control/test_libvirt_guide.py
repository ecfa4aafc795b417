# SPDX-License-Identifier: GPL-2.0-or-later
"""The guide, docs/libvirt.md: its elements can be defined, and its messages are ours.

Its session is typed by tests/deb/test_guide.py.
"""

from __future__ import annotations

import re
from functools import cache

import pytest
from lab.base import paths
from lab.libvirt import guide
from lab.libvirt.guide import Step
from lxml import etree  # type: ignore[import-untyped]
from vmmnet.libvirt import expand

MOST_LINES = 4
#: Who says what, on the page, and where that is in the sources.
SPEAKERS = {
    "vmmnet libvirt": ("control/vmmnet/libvirt/**/*.py", "control/vmmnet/libvirtd.py"),
    "define": ("control/vmmnet/libvirt/**/*.py",),
    "hook": (
        *("control/vmmnet/libvirt/**/*.py", "control/libvirt/vmmnet"),
        "control/vmmnet/controlsocket.py",
    ),
    "QEMU": ("net/handoff/**/*.c", "net/hostvlan/*.c"),
}
_NIC = (
    "<interface type='bridge'><mac address='{}'/><source bridge='b'/>"
    "<model type='virtio'/></interface>"
)


@cache
def said_by(speaker: str) -> str:
    """Sources, with texts that go over several lines in one."""
    files = (path for pattern in SPEAKERS[speaker] for path in sorted(paths.ROOT.glob(pattern)))
    text = "".join(each.read_text() for each in files)
    return re.sub(r'"\n\s*f?"', "", text)


def messages() -> list[tuple[str, str]]:
    """Those of the page's table that are ours: who says it, and a part of it."""
    rows = re.findall(r"^\| (\S[^|]*) \| `([^|`]+)` \|", guide.PAGE.read_text(), re.M)
    ours = [(who.strip("`"), text) for who, text in rows if who.strip("`") in SPEAKERS]
    return [(who, part.strip()) for who, text in ours for part in text.split("…") if part.strip()]


def test_the_element_is_short() -> None:
    """Of VMRPC and HostVLAN together."""
    first = etree.tostring(guide.elements()[0], encoding="unicode").strip()
    assert "address6=" in first and "hostvlan=" in first
    assert len(first.splitlines()) <= MOST_LINES


def test_the_elements_can_be_defined() -> None:
    for net in guide.elements():
        nics = "".join(_NIC.format(each.get("mac")) for each in net.iter("{*}interface"))
        domain = etree.fromstring(
            "<domain type='kvm'><name>guest</name><metadata/>"
            "<os><type arch='x86_64' machine='q35'>hvm</type></os>"
            f"<devices>{nics}</devices></domain>"
        )
        domain.find("metadata").append(net)
        made = expand.expand(domain)
        assert expand.drift(made) == []


def test_there_are_messages() -> None:
    assert {who for who, _ in messages()} == {*SPEAKERS}


@pytest.mark.parametrize(("who", "text"), messages())
def test_a_message_is_one_of_ours(who: str, text: str) -> None:
    assert text in said_by(who)


@pytest.mark.parametrize(
    ("shown", "seen", "agree"),
    [
        (("a", ""), ["a"], True),
        (("a",), ["b"], False),
        ((), [], True),
        ((), ["a"], False),
        (("…", "c"), ["a", "b", "c"], True),
        (("…", "c"), ["c"], True),
        (("…", "c"), ["c", "d"], False),
        (("a … c",), ["a b c"], True),
        (("a … c",), ["a b", "c"], False),
        (("a.c",), ["abc"], False),
    ],
)
def test_what_is_seen_is_what_the_page_shows(
    shown: tuple[str, ...], seen: list[str], agree: bool
) -> None:
    assert Step("one", "true", shown).agrees(seen) is agree
