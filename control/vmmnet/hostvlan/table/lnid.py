# SPDX-License-Identifier: GPL-2.0-or-later
"""Logical network identifiers: 1 to 4294967295, and the global one (the paper, section 3.3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

#: The LNID of ports that may speak to all others; people write it ``global``.
GLOBAL = 0
WORD = "global"
MAX = (1 << 32) - 1
#: How many one MAC can have.
PER_MAC = 64


class BadLnid(ValueError):
    """A text or a number is not an LNID; the message says why."""


def parse(spelled: str) -> int:
    """Read an LNID: a decimal number, or ``global``.

    Zero, the number of the global LNID, is refused: a typing error must not open a
    port to all tenants.  Raises BadLnid.
    """
    if spelled == WORD:
        return GLOBAL
    if not (spelled.isascii() and spelled.isdigit()):
        several = [each for each in re.split("[,;:/+]", spelled) if each]
        if len(several) > 1 and all(each == WORD or each.isdecimal() for each in several):
            raise BadLnid(f"'{spelled}': LNIDs are separated by blanks: {' '.join(several)}")
        if spelled.lower() == WORD:
            raise BadLnid(f"'{spelled}': the global LNID is written '{WORD}', in small letters")
        raise BadLnid(f"'{spelled}' is not an LNID: a number from 1 to {MAX}, or '{WORD}'")
    number = int(spelled) if len(spelled) <= 10 else MAX + 1
    if number == GLOBAL:
        raise BadLnid(
            f"'{spelled}' is not a tenant's LNID: these are 1 to {MAX};"
            f" write '{WORD}' for a port that may speak to all tenants"
        )
    if number > MAX:
        raise BadLnid(f"'{spelled}' is out of range: LNIDs are 1 to {MAX}, or '{WORD}'")
    return number


def check(numbers: Iterable[int]) -> tuple[int, ...]:
    """Return the LNIDs of one MAC sorted; raise BadLnid for duplicates and not 1 to 64."""
    result = tuple(numbers)
    if len(result) == 1 and GLOBAL <= result[0] <= MAX:
        return result
    result = tuple(sorted(result))
    if not result:
        raise BadLnid("a MAC address needs at least one LNID")
    if result[0] < 0 or result[-1] > MAX:
        wrong = result[0] if result[0] < 0 else result[-1]
        raise BadLnid(f"'{wrong}' is out of range: LNIDs are 1 to {MAX}, or '{WORD}'")
    if len(result) > PER_MAC:
        raise BadLnid(
            f"{len(result)} LNIDs are too many: a MAC address has {PER_MAC} at most;"
            f" one that serves all tenants has '{WORD}'"
        )
    for one, other in pairwise(result):
        if one == other:
            raise BadLnid(f"LNID {text(one)} is given twice")
    return result


def text(number: int) -> str:
    """Spell an LNID."""
    return str(number) if number else WORD


def listed(numbers: Iterable[int]) -> str:
    """LNIDs as text: ``global, 3``."""
    return ", ".join(map(text, numbers))


def named(numbers: Sequence[int]) -> str:
    """LNIDs as text: ``LNIDs 1, 3``."""
    if list(numbers) == [GLOBAL]:
        return "the global LNID"
    return f"{'LNID' if len(numbers) == 1 else 'LNIDs'} {listed(numbers)}"
