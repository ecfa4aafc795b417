# SPDX-License-Identifier: GPL-2.0-or-later
"""No circles between the floors, or between the files, of a room."""

from __future__ import annotations

from pathlib import Path

import pytest
from vmmnet.testbed import arrows, paths

#: Rooms without circles of floors and of files.
ROOMS = (
    *("hw/vmrpc", "guest-linux/vmrpc"),
    *("hw/net/cvsw", "net/dns", "net/esp", "net/handoff", "net/hostvlan", "net/mip6"),
    *("net/packet", "net/stage", "net/watch", "hostd"),
    *("control/vmmnet/cvsw", "control/vmmnet/etcd", "control/vmmnet/guestimage"),
    *("control/vmmnet/hostvlan", "control/vmmnet/libvirt"),
)


@pytest.mark.parametrize("name", ROOMS)
def test_arrows_point_one_way(name: str) -> None:
    room = arrows.read(paths.ROOT / name)
    assert len(room.uses) > 1
    assert arrows.circles(room.floors) == []
    assert arrows.circles(room.uses) == []


def test_a_circle_of_c_is_found(tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    (tmp_path / "top.c").write_text(
        '#include "low/low.h"\n\nint top(void)\n{\n    return low();\n}\n'
    )
    (tmp_path / "low" / "low.h").write_text("int low(void);\n")
    (tmp_path / "low" / "low.c").write_text(
        '#include "low/low.h"\n\nint low(void)\n{\n    /* top() */\n    return 0;\n}\n'
    )
    room = arrows.read(tmp_path)
    assert room.uses == {
        "top.c": {"low/low.h", "low/low.c"},
        "low/low.h": set(),
        "low/low.c": {"low/low.h"},
    }
    assert arrows.circles(room.uses) == arrows.circles(room.floors) == []

    low = tmp_path / "low" / "low.c"
    low.write_text(low.read_text().replace("return 0", "return top()"))
    room = arrows.read(tmp_path)
    assert arrows.circles(room.uses) == [["low/low.c", "top.c"]]
    assert arrows.circles(room.floors) == [[".", "low"]]
    assert "    low/low.c -> top.c" in [line[2:] for line in arrows.picture(room, "room")]


def test_a_circle_of_python_is_found(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    (package / "sub").mkdir(parents=True)
    for folder in (package, package / "sub"):
        (folder / "__init__.py").write_text("")
    (package / "one.py").write_text("from .sub import two\n")
    (package / "sub" / "two.py").write_text("import os\n")
    assert arrows.circles(arrows.read(package).uses) == []
    (package / "sub" / "two.py").write_text("def f():\n    from ..one import x\n")
    assert arrows.circles(arrows.read(package).uses) == [["one", "sub/two"]]
