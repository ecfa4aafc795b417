# SPDX-License-Identifier: GPL-2.0-or-later
"""XML of domains: parsed from files and daemons, written as libvirt does."""

from __future__ import annotations

import sys
from pathlib import Path

from lxml import etree  # type: ignore[import-untyped]

_STANDARD = Path("-")


class BadDocument(ValueError):
    """The text is no domain; the message says where and why."""


def is_file(subject: str) -> bool:
    """Whether a word of the command line is a file, not a domain."""
    return subject == "-" or "/" in subject or subject.endswith(".xml")


def read(path: Path) -> etree._Element:
    """The domain in a file; ``-`` is the standard input. Raises OSError, BadDocument."""
    text = sys.stdin.buffer.read() if path == _STANDARD else path.read_bytes()
    return parse(text)


def parse(text: str | bytes) -> etree._Element:
    """The element ``<domain>`` of a text, without indentation. Raises BadDocument."""
    # The file may be hostile: fetch nothing else.
    parser = etree.XMLParser(remove_blank_text=True, resolve_entities=False, no_network=True)
    try:
        root = etree.fromstring(text, parser)
    except etree.XMLSyntaxError as error:
        raise BadDocument(f"line {error.lineno}: this is no XML: {error.msg}") from None
    if root.tag != "domain":
        raise BadDocument(f"line {root.sourceline}: <{root.tag}> is no domain of libvirt")
    return root


def nics(domain: etree._Element) -> dict[str, etree._Element]:
    """The NICs of a domain by their MAC addresses, in lower case."""
    found = domain.iterfind("devices/interface/mac")
    return {each.get("address", "").lower(): each.getparent() for each in found}


def identify(domain: etree._Element, text: str) -> None:
    """Set a named domain's UUID, so that it replaces the one of before."""
    for old in domain.findall("uuid"):
        domain.remove(old)
    node = etree.Element("uuid")
    node.text = text
    domain.find("name").addnext(node)


def text(domain: etree._Element) -> str:
    """A domain as text."""
    return str(etree.tostring(domain, encoding="unicode", pretty_print=True))
