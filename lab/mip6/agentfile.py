# SPDX-License-Identifier: GPL-2.0-or-later
"""The configuration file of vmmnet-ha, from a line a statement."""

from __future__ import annotations

import json
from collections.abc import Iterable

_SA = ("home", "sa", "spi", "cipher", "key-file")


def _items(word: str, values: list[str]) -> list[str] | list[dict[str, str]]:
    if word == "esp":
        return [dict(zip(_SA, value.split(), strict=True)) for value in values]
    return values


def text(lines: Iterable[str]) -> str:
    """YAML of lines such as ``lifetime 60``; those of lists may be repeated.

    Each statement is one line, in the order of the first ones.
    """
    found: dict[str, list[str]] = {}
    for line in lines:
        word, value = line.split(" ", 1)
        found.setdefault(word, []).append(value)
    return "".join(
        f"{word}: {json.dumps(_items(word, values))}\n"
        if word in ("allow", "prefix", "esp")
        else "".join(f"{word}: {value}\n" for value in values)
        for word, values in found.items()
    )
