# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt convert``: a domain of a daemon, or a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from vmmnet import libvirtd
from vmmnet.command import output
from vmmnet.command.status import Refused, Status, UsageError

from .. import define, document, element
from ..schema import BadElement
from .back import to_commandline
from .parts import CannotSay
from .whole import convert


def run(given: argparse.Namespace) -> int:
    """``convert DOMAIN|FILE``."""
    file = Path(given.subject) if document.is_file(given.subject) else None
    if given.print and file is not None:
        if given.connect is not None:
            raise UsageError("--print of a file asks no daemon: leave --connect out")
        _print(given, *_made(given, define.read(file)))
        return Status.DONE
    with libvirtd.opened(given.connect) as daemon:
        if file is None:
            domain = document.parse(daemon.defined(given.subject))
            name = domain.findtext("name")
        else:
            domain = define.read(file)
            name = define.identify(daemon, file, domain)
        made, more = _made(given, domain)
        if given.print:
            _print(given, made, more)
        else:
            define.give(given, daemon, name, made, more)
    return Status.DONE


def _made(
    given: argparse.Namespace, domain: etree._Element
) -> tuple[etree._Element, dict[str, Any]]:
    """The converted domain, and the messages about it."""
    try:
        return _written(given, domain) if given.to_commandline else _converted(given, domain)
    except (BadElement, CannotSay) as error:
        raise Refused(f"{given.subject}: {error}") from None


def _written(
    given: argparse.Namespace, domain: etree._Element
) -> tuple[etree._Element, dict[str, Any]]:
    if element.find(domain) is None:
        raise Refused(f"{given.subject}: the domain has no <vmmnet:net>")
    made = to_commandline(domain)
    _say(given, made.notes)
    return made.domain, {"notes": made.notes}


def _converted(
    given: argparse.Namespace, domain: etree._Element
) -> tuple[etree._Element, dict[str, Any]]:
    made = convert(domain)
    stays = [f"{each.name} stays: {each.reason}" for each in made.kept]
    if not made.parts:
        there = "; ".join(stays) or "it has no arguments of QEMU that the element can express"
        raise Refused(f"{given.subject}: nothing is converted: {there}")
    _say(given, [*stays, *made.notes])
    kept = [{"name": each.name, "reason": each.reason} for each in made.kept]
    return made.domain, {
        "converted": made.parts,
        "removed": made.gone,
        "kept": kept,
        "notes": made.notes,
    }


def _say(given: argparse.Namespace, sentences: list[str] | tuple[str, ...]) -> None:
    if not given.json:
        for each in sentences:
            output.say(f"{given.subject}: {each}")


def _print(given: argparse.Namespace, domain: etree._Element, more: dict[str, Any]) -> None:
    text = document.text(domain)
    if given.json:
        output.print_json({"xml": text, **more})
    else:
        sys.stdout.write(text)
