# SPDX-License-Identifier: GPL-2.0-or-later
"""No circles between the floors, or between the files, of a room."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.base import arrows, paths

#: Rooms of the control plane: none imports another one.
CONTROL = ("confine", "cvsw", "daemons", "guestimage", "hostvlan", "libvirt")
#: What rooms stand on: it imports no room.
BELOW = ("command", "controlsocket", "etcd", "values", "inotify", "libvirtd", "qmp", "service")
#: Modules that use another room's function, and not only a part that both need.
USERS = {
    # A tenant's LNID is HostVLAN's; 'cvsw lnids' writes the file for 'hostvlan import'.
    "cvsw/plan/command": {"hostvlan/table/entry", "hostvlan/table/exchange"},
    "cvsw/plan/read": {"hostvlan/table/lnid"},
    # 'vmmnet show' knows where each is asked.
    "daemons/known": {"cvsw/client", "hostvlan/command/agent"},
    "daemons/validators": {"libvirt/host/claims", "libvirt/host/validator"},
    # '--print-domain' writes the element of libvirt's room, and checks its address.
    "guestimage/command": {"libvirt/values"},
    "guestimage/domain": {"libvirt/names"},
    # 'libvirt check' has the policy judged, and looks at HostVLAN's eBPF programs; the hook and
    # 'libvirt protect' attach them.
    "libvirt/check/host": {"confine/judge", "hostvlan/bpf/twin"},
    "libvirt/check/definition": {"hostvlan/table/filestore"},
    "libvirt/ebpf": {"hostvlan/bpf/twin"},
    "libvirt/protect": {"hostvlan/table/filestore"},
    # 'libvirt show' spells the LNIDs of a device.
    "libvirt/devices": {"hostvlan/table/lnid"},
}


@pytest.mark.parametrize("name", arrows.ROOMS)
def test_arrows_point_one_way(name: str) -> None:
    room = arrows.read(paths.ROOT / name)
    assert len(room.uses) > 1
    assert arrows.circles(room.floors) == []
    assert arrows.circles(room.uses) == []


def _strangers(uses: arrows.Graph) -> dict[str, set[str]]:
    """What modules of the control plane import of a room that is not theirs."""
    found: dict[str, set[str]] = {}
    for module, used in uses.items():
        room = module.partition("/")[0]
        if room not in CONTROL + BELOW:
            continue
        of_others = {each for each in used if each.partition("/")[0] in {*CONTROL} - {room}}
        if of_others:
            found[module] = of_others
    return found


def test_rooms_of_the_control_plane_do_not_know_each_other() -> None:
    uses = arrows.read(paths.ROOT / "control/vmmnet").uses
    assert {module.partition("/")[0] for module in uses}.issuperset(CONTROL + BELOW)
    assert _strangers(uses) == USERS


def test_a_room_that_knows_another_is_found(tmp_path: Path) -> None:
    package = tmp_path / "vmmnet"
    for room in ("cvsw", "hostvlan", "command"):
        (package / room).mkdir(parents=True)
        (package / room / "one.py").write_text("from vmmnet.command import two\n")
        (package / room / "two.py").write_text("")
    assert _strangers(arrows.read(package).uses) == {}
    (package / "cvsw" / "two.py").write_text("def f():\n    from ..hostvlan.one import x\n")
    (package / "command" / "two.py").write_text("import vmmnet.hostvlan.two\n")
    assert _strangers(arrows.read(package).uses) == {
        "cvsw/two": {"hostvlan/one"},
        "command/two": {"hostvlan/two"},
    }


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
