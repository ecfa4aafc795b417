# SPDX-License-Identifier: GPL-2.0-or-later
"""Zones that the same servers have beside the one that is asked for most. They are not signed."""

from __future__ import annotations

import random

from .zones import CHILD, ORIGIN, OTHER, RENAMED, Zone


def make(rng: random.Random, first: Zone) -> list[Zone]:
    """A child of the first zone, which gets a delegation to it, and two beside it."""
    first.names[CHILD] = {"NS": [f"ns.{CHILD}"]}
    if rng.random() < 0.6:
        first.names[CHILD]["DS"] = [f"1 13 2 {'CD' * 32}"]
    first.names[f"ns.{CHILD}"] = {"A": ["192.0.2.54"]}
    return [_child(), _other(rng, first), _renamed()]


def _begun(origin: str, server: str) -> Zone:
    zone = Zone(origin=origin)
    zone.names[origin] = {"SOA": [f"{server} admin.{origin} 1 3600 600 86400 60"], "NS": [server]}
    return zone


def _child() -> Zone:
    zone = _begun(CHILD, f"ns.{CHILD}")
    zone.names[f"ns.{CHILD}"] = {"A": ["192.0.2.54"]}
    zone.names[f"www.{CHILD}"] = {"A": ["192.0.2.81"], "MX": [f"1 ns.{ORIGIN}"]}
    zone.names[f"up.{CHILD}"] = {"CNAME": [f"ns.{ORIGIN}"]}
    zone.names[f"d.{CHILD}"] = {"DNAME": [ORIGIN]}
    zone.names[f"cut.{CHILD}"] = {"NS": [f"ns.cut.{CHILD}", f"ns.{ORIGIN}"]}
    zone.names[f"ns.cut.{CHILD}"] = {"A": ["192.0.2.55"]}
    zone.names[f"*.wild.{CHILD}"] = {"CNAME": [f"www.{CHILD}"]}
    return zone


def _other(rng: random.Random, first: Zone) -> Zone:
    """One whose names lead back to the first zone."""
    zone = _begun(OTHER, f"ns.{ORIGIN}")
    zone.names[f"www.{OTHER}"] = {"A": ["192.0.2.82"], "TXT": ['"second"']}
    zone.names[f"d.{OTHER}"] = {"DNAME": [rng.choice((ORIGIN, f"e.{OTHER}", f"renamed.{ORIGIN}"))]}
    zone.names[f"w.e.{OTHER}"] = {"CNAME": [f"x.d.{OTHER}"]}
    zone.names[f"back.{OTHER}"] = {"CNAME": [rng.choice(list(first.names))]}
    zone.names[f"mail.{OTHER}"] = {"MX": [f"1 ns.{ORIGIN}", f"2 www.{OTHER}"]}
    return zone


def _renamed() -> Zone:
    """One that has DNAME at its apex."""
    zone = _begun(RENAMED, f"ns.{ORIGIN}")
    zone.names[RENAMED]["DNAME"] = [ORIGIN]
    zone.names[RENAMED]["TXT"] = ['"apex"']
    return zone
