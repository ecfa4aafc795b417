# SPDX-License-Identifier: GPL-2.0-or-later
"""bench/publish pastes the parts and rows that a page asks for."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest
from lab.base import paths

RESULTS = """2 rounds; commit 0.

| | ours | theirs |
| --- | --- | --- |
| send, 1 MiB | 1 | 2 |
| receive, 1 MiB | 3 | 4 |

Text below a table.

### Goals

| metric | goal |
| --- | --- |
| send | 5 |
"""


@pytest.fixture
def publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program, with a repository of its own."""
    loader = SourceFileLoader("publish", str(paths.ROOT / "bench/publish"))
    spec = spec_from_loader("publish", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    for folder in ("docs", "build/bench"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "build/bench/it.md").write_text(RESULTS)
    monkeypatch.setattr(module, "_ROOT", tmp_path)
    monkeypatch.setattr(module, "_DOCS", tmp_path / "docs")
    return module


def pasted(module: ModuleType, parts: str) -> str:
    """Return the text between the marks of a page afterwards."""
    mark = f"<!-- build/bench/it.md{parts} -->"
    page = module._DOCS / "page.md"
    page.write_text(f"Before.\n\n{mark}\n\nold\n\n<!-- end -->\n\nBehind.\n")
    assert module.publish("it") == 1
    begin, found, rest = page.read_text().partition(f"{mark}\n")
    between, end, behind = rest.partition("<!-- end -->")
    assert found and end and (begin, behind) == ("Before.\n\n", "\n\nBehind.\n")
    return between


def test_the_whole_file(publish: ModuleType) -> None:
    assert pasted(publish, "").strip() == RESULTS.strip()


def test_parts(publish: ModuleType) -> None:
    goals = "| metric | goal |\n| --- | --- |\n| send | 5 |"
    assert pasted(publish, ": first line + Goals").strip() == f"2 rounds; commit 0.\n\n{goals}"


def test_rows(publish: ModuleType) -> None:
    """Only tables with the wanted rows, and no text between them."""
    chosen = pasted(publish, ": tables [receive, 1]").strip()
    assert chosen == "| | ours | theirs |\n| --- | --- | --- |\n| receive, 1 MiB | 3 | 4 |"


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (": Peers", "there is no section Peers in first line, tables, Goals"),
        (": tables [send; fly]", "no row begins with fly"),
    ],
)
def test_what_is_not_there_is_refused(publish: ModuleType, parts: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        pasted(publish, parts)
