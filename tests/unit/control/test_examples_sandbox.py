# SPDX-License-Identifier: GPL-2.0-or-later
"""The files of examples/sandbox are right as they ship; tests/guest/test_confine.py uses them."""

from __future__ import annotations

import re

import pytest
from lab.base import commandline, paths
from vmmnet.libvirt import document
from vmmnet.libvirt.expand import expand

FOLDER = paths.ROOT / "examples" / "sandbox"
POLICY = FOLDER / "sandbox.policy"


@pytest.mark.usefixtures("judged")
@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((), 0),
        (("api.example", "tcp", "443"), 0),
        (("cdn.files.example", "tcp", "443"), 0),
        (("git.example", "tcp", "443"), 0),
        (("api.example", "tcp", "80"), 3),
        (("files.example", "tcp", "443"), 3),
        (("evil.example", "tcp", "443"), 3),
        (("2001:db8:80::3128", "tcp", "3128"), 3),
    ],
)
def test_policy(words: tuple[str, ...], status: int) -> None:
    answer = commandline.run("policy", "test", str(POLICY), *words)
    assert answer.status == status, answer


def test_domain() -> None:
    text = (FOLDER / "sandbox.xml").read_text()
    made = document.text(expand(document.parse(text)))
    for option in ("audit", "audit-full", "policy", "address6"):
        (value,) = re.findall(rf" {option}=['\"](.+?)['\"]", text)
        assert value in made.partition("<qemu:commandline>")[2]


def test_one_address() -> None:
    """Policy, firewall, domain and page are about the same VM."""
    (address,) = re.findall(r"address6='(.+?)'", (FOLDER / "sandbox.xml").read_text())
    for name in ("inbound.nft", "README.md"):
        assert address in (FOLDER / name).read_text()


def test_page_has_the_rules() -> None:
    def rules(text: str) -> list[list[str]]:
        return [line.split() for line in text.splitlines() if line.split()[:1] == ["allow"]]

    page = (paths.ROOT / "docs" / "confine.md").read_text().partition("## The profile")[2]
    assert rules(POLICY.read_text()) == rules(page)
