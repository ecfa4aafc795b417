# SPDX-License-Identifier: GPL-2.0-or-later
"""What the counter of the tree counts."""

from __future__ import annotations

from pathlib import Path

from lab import house


def _tree(folder: Path, **files: str) -> house.Tree:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return house.Tree(folder)


def test_lines_of_source_in_each_part(tmp_path: Path) -> None:
    files = {"base/one.c": "1\n2\n", "lab/two.py": "1\n", "lab/notes.md": "1\n", "docs/a.c": "1\n"}
    counted = house.lines(_tree(tmp_path, **files))
    assert counted == {"product": 2, "control": 0, "bench": 0, "lab": 1, "tests": 0}


def test_mentions_of_a_file(tmp_path: Path) -> None:
    files = {
        **dict.fromkeys(("base/wire.c", "net/wire.c", "net/only.c"), ""),
        "base/meson.build": "files('wire.c') # wire.c\n",
        "net/meson.build": "files('wire.c', 'only.c')\n",
        "tests/meson.build": "files('../base/wire.c', 'only.c', 'gone.c')\n",
    }
    counted = house.mentions(_tree(tmp_path, **files))
    assert counted == {"base/wire.c": 2, "net/wire.c": 1, "net/only.c": 2}


def test_small_files_with_one_user(tmp_path: Path) -> None:
    files = {
        "base/small.h": "void small(void);\n",
        "base/small.c": '#include "small.h"\nvoid small(void)\n{\n}\n',
        "base/long.c": '#include "small.h"\nvoid last(void)\n{\n    small();\n}\n' + "\n" * 60,
    }
    assert house.small(_tree(tmp_path, **files)) == {"base/small.h", "base/small.c"}
    files["base/other.c"] = '#include "small.h"\n'
    assert house.small(_tree(tmp_path, **files)) == {"base/small.c"}


def test_ways_are_files_that_open_the_interface(tmp_path: Path) -> None:
    files = {
        "base/one.c": "struct sockaddr_un at;\nlisten(fd, 1);\n",
        "base/two.c": "struct sockaddr_un at;\n/* as listen() does */\n",
        "ha/three.c": 'struct sockaddr_un at;\nops->listen(one);\nputs("listen(fd, 1)");\n',
        "dnsd/tcp.c": "struct sockaddr_in6 at;\nlisten(fd, 1);\n",
        "control/four.py": "asyncio.start_unix_server(serve)\n",
        "lab/five.py": "asyncio.start_unix_server(serve)\n",
        "hw/vmrpc/server/claim.c": "struct sockaddr_un at;\nlisten(fd, 1);\n",
    }
    found = house.ways(_tree(tmp_path, **files))["control socket"]
    assert found == ({"base/one.c"}, {"control/four.py"})
