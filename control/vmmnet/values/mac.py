# SPDX-License-Identifier: GPL-2.0-or-later
"""MAC addresses of ports: 48-bit integers, unicast, not zero.

The first octet is the most significant one, as on the wire:
00:11:22:33:44:55 is 0x001122334455.
"""

from __future__ import annotations

import re
import string

#: Bits that a port's address cannot have: those above 48, and the group bit.
FORBIDDEN = 0xFFFF << 48 | 1 << 40
_BROADCAST = (1 << 48) - 1
_OCTETS = 6
_DIGITS = 2 * _OCTETS
_EXAMPLE = "52:54:00:12:34:56"
# The usual spellings; _complaint() says what is wrong with any other.
_SPELLING = re.compile(
    r"(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}|(?:[0-9a-fA-F]{2}-){5}[0-9a-fA-F]{2}"
    r"|(?:[0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}|[0-9a-fA-F]{12}"
)
_SEPARATORS = str.maketrans("", "", ":-.")


class BadMac(ValueError):
    """A text or a number is not the MAC address of a port; the message says why."""


def parse(spelled: str) -> int:
    """Read ``52:54:00:12:34:56``, ``52-54-00-…``, ``5254.0012.3456`` or ``525400123456``.

    Raises BadMac, whose message quotes the text and gives a correct one.
    """
    if not _SPELLING.fullmatch(spelled):
        raise BadMac(_complaint(spelled))
    number = int(spelled.translate(_SEPARATORS), 16)
    if number & FORBIDDEN or not number:
        raise BadMac(_not_a_port(spelled, number))
    return number


def check(number: int) -> int:
    """Return ``number`` if it is a port's address; raise BadMac if not."""
    if not 0 < number <= _BROADCAST:
        raise BadMac(f"{number:#x} is not a MAC address of a port: it has 48 bits, not all zero")
    if number & FORBIDDEN:
        raise BadMac(_not_a_port(text(number), number))
    return number


def text(number: int) -> str:
    """Spell a number as ``52:54:00:12:34:56``."""
    digits = f"{number:012x}"
    return ":".join((digits[:2], digits[2:4], digits[4:6], digits[6:8], digits[8:10], digits[10:]))


def _not_a_port(spelled: str, number: int) -> str:
    if number == _BROADCAST:
        return f"'{spelled}' is the broadcast address; a port has a unicast one, like {_EXAMPLE}"
    if not number:
        return f"'{spelled}' is not an address; a port has one like {_EXAMPLE}"
    unicast = text(number & ~FORBIDDEN)
    return (
        f"'{spelled}' is a multicast address (its first octet is odd);"
        f" a port has a unicast one: is it {unicast}?"
    )


def _complaint(spelled: str) -> str:
    like = f"a MAC address is six octets of two hexadecimal digits, like {_EXAMPLE}"
    if not spelled:
        return f"'' is empty; {like}"
    strangers = [each for each in spelled if each not in string.hexdigits + ":-."]
    if strangers:
        return f"'{spelled}': '{strangers[0]}' is not a hexadecimal digit (0-9, a-f); {like}"
    octets = re.split("[:-]", spelled)
    if len(octets) == 1:
        digits = len(spelled.translate(_SEPARATORS))
        return f"'{spelled}' has {digits} digits, not {_DIGITS}; {like}"
    if len(octets) != _OCTETS:
        return f"'{spelled}' has {len(octets)} octets, not {_OCTETS}; {like}"
    wrong = next((each for each in octets if len(each) != 2), None)
    if wrong is not None:
        hint = f": write {wrong.zfill(2)}" if len(wrong) == 1 else ""
        return f"'{spelled}': the octet '{wrong}' does not have two digits{hint}; {like}"
    return f"'{spelled}' mixes separators; {like}"
