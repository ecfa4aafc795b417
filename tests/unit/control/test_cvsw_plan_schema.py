# SPDX-License-Identifier: GPL-2.0-or-later
"""The published schema and the reader agree about a file's form."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from lab.cvsw import plans as cvsw_plans
from vmmnet.cvsw import plan as package
from vmmnet.cvsw.plan import read
from vmmnet.cvsw.plan.document import Keys
from vmmnet.cvsw.plan.model import CIPHERS
from vmmnet.cvsw.plan.values import offload_names
from vmmnet.cvsw.wire.message import OFFLOADS

SCHEMA = json.loads((Path(package.__file__).parent / "schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)

#: Faults that no schema can find: other files, and combinations of values.
BEYOND = re.compile(
    r" is that of | is IPv[46]| cannot be read| is no file| is not an IP address"
    r"| is not a multicast group| is a multicast address; | is this host itself"
    r"| a prefix of IPv| is not in | members, and | routes by itself| reaches "
)
VALUES: list[Any] = [
    None, True, 0, -1, 1, 1.5, 1279, 1280, 65536, 1 << 24, (1 << 24) - 1, 1 << 32, (1 << 32) - 1,
    "", "x", "aes-gcm-128", "aes-gcm-192", "52:54:00:00:00:63", "52-54-00-00-00-63",
    "5254.0000.0063", "52540000aa63", "53:54:00:00:00:63", "52:54:00:00:00", "52:54-00:00:00:63",
    "192.0.2.50", "192.0.2.50/24", "192.0.2.50/x", "2001:db8::50", "239.0.0.1", "20.key",
    [], ["x"], ["02:00:00:00:00:44"], [1], {}, {"x": 1}, {"x": {}},
    "none", ["none"], ["csum"], ["csum", "csum"], ["tso4"], ["ecn", "csum"],
    ["csum", "tso4", "tso6", "ecn", "ufo", "uso4", "uso6"],
]  # fmt: skip
ADDED = ["zzz", "next-hop", "cipher", "group", "lnid", "stations", "tunnel-mac", "a/b", "x" * 64]


def full() -> cvsw_plans.Tree:
    """A small tree with all keys."""
    return {
        "underlay": {"mtu": 1500, "next-hop": "02:00:00:00:00:fe", "offloads": "none"},
        "tenants": {
            "red": {
                "vni": 1,
                "lnid": 7,
                "cipher": "aes-gcm-256",
                "offloads": ["csum", "ecn", "tso6"],
                "vms": {"red1": cvsw_plans.vm(1, "192.0.2.1", **{"next-hop": "020000000afd"})},
            },
            "blue": {
                "vni": 2,
                "group": "239.0.0.1",
                "vms": {"blue1": {**cvsw_plans.vm(2, "192.0.2.2/24"), "offloads": ["csum"]}},
                "stations": {"router": cvsw_plans.station(9, "192.0.2.9")},
            },
        },
    }


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all values."""
    yield path
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(node, dict):
        items = node.items()
    elif isinstance(node, list):
        items = enumerate(node)
    for key, value in items:
        yield from places(value, (*path, key))


def at(tree: Any, path: tuple[Any, ...]) -> Any:
    """A value in a tree."""
    for key in path:
        tree = tree[key]
    return tree


def variants() -> Iterator[tuple[str, Any]]:
    """Trees with one change each."""
    for path in places(full()):
        for value in VALUES:
            tree = copy.deepcopy(full())
            if path:
                at(tree, path[:-1])[path[-1]] = value
            yield f"{path} is {value!r}", tree if path else value
        if path and isinstance(path[-1], str):
            tree = copy.deepcopy(full())
            del at(tree, path[:-1])[path[-1]]
            yield f"without {path}", tree
        if isinstance(at(full(), path), dict):
            for key in ADDED:
                tree = copy.deepcopy(full())
                at(tree, path).setdefault(key, "239.0.0.1" if key == "group" else "aes-gcm-128")
                yield f"{key} in {path}", tree


def test_agree(tmp_path: Path) -> None:
    """Schema and reader refuse the same files for their form."""
    path = cvsw_plans.write(tmp_path, full())
    assert not read.examine(path)[1]
    count = 0
    for what, tree in variants():
        # All JSON is YAML.
        path.write_text(json.dumps(tree))
        faults = [fault.message for fault in read.examine(path)[1]]
        form = [fault for fault in faults if not BEYOND.search(fault)]
        if VALIDATOR.is_valid(tree):
            assert not form, f"only the reader refuses: {what}"
        else:
            assert faults, f"only the schema refuses: {what}"
        count += 1
    assert count > 800


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        (read.PLAN, SCHEMA),
        (read.UNDERLAY, SCHEMA["properties"]["underlay"]),
        (read.TENANT, SCHEMA["$defs"]["tenant"]),
        (read.VM, SCHEMA["$defs"]["vm"]),
        (read.STATION, SCHEMA["$defs"]["station"]),
    ],
)
def test_keys(keys: Keys, place: dict[str, Any]) -> None:
    """Both have the same keys, and the same required ones."""
    assert (set(place["properties"]), set(place["required"])) == (keys.all, keys.required)
    assert place["additionalProperties"] is False


def test_values() -> None:
    """The schema is one, and both have the same ciphers."""
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$defs"]["tenant"]["properties"]["cipher"]["enum"] == list(CIPHERS)
    (offloads,) = (each["items"]["enum"] for each in SCHEMA["$defs"]["offloads"]["oneOf"][1:])
    assert offloads == offload_names(OFFLOADS)


def test_example(tmp_path: Path) -> None:
    """The example in the documentation is valid, and has the documented result."""
    page = Path(__file__).parents[3] / "docs" / "cvsw-controller.md"
    (text,) = re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.M | re.S)
    for number, name in enumerate(re.findall(r"key: (\S+?)[,}\n]", text)):
        cvsw_plans.key(tmp_path, name, bytes([number]) * 32)
    plan = read.read(cvsw_plans.write(tmp_path, text))
    assert len(list(plan.nics())) == text.count("key: ")
