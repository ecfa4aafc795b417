# SPDX-License-Identifier: GPL-2.0-or-later
"""Links of the pages lead to existing files and headings, and named files exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from lab.base import paths, tools

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_NAMED = re.compile(r"`([\w.*-]+/[\w./*-]+)`")
# Folders of the sources; a name that begins with one is a file's.
_FOLDERS = (
    *("bench", "control", "debian", "docs", "examples", "guest-linux"),
    *("hostd", "hw", "include", "net", "qemu", "tests"),
)


def pages() -> list[Path]:
    """Return all pages, also uncommitted ones."""
    words = ["git", "ls-files", "-co", "--exclude-standard", "*.md"]
    found = (paths.ROOT / name for name in tools.run(words, cwd=paths.ROOT).splitlines())
    return [page for page in found if page.exists()]


@cache
def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    made: list[str] = []
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.M):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        plain = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        made.append(plain)
    return {
        f"{each}-{before}" if (before := made[:number].count(each)) else each
        for number, each in enumerate(made)
    }


def wrong(page: Path, link: str) -> str | None:
    """Return the fault of a link; None: its target exists, or is external."""
    if re.match(r"[a-z]+:", link):
        return None
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not target.is_relative_to(paths.ROOT) or not target.exists():
        return f"({link}): there is no such file"
    if anchor and anchor not in anchors(target):
        return f"({link}): {target.name} has no such heading"
    return None


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(paths.ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert not [each for link in _LINK.findall(prose(page)) if (each := wrong(page, link))]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(paths.ROOT)))
def test_files_that_are_named_exist(page: Path) -> None:
    """Words in capitals stand for names, such as docs/PAGE.md."""
    names = (name for name in _NAMED.findall(prose(page)) if name.split("/")[0] in _FOLDERS)
    named = [name for name in names if not re.search(r"[A-Z]{4}|^net/http\.", name)]
    assert not [name for name in named if not any(paths.ROOT.glob(name.rstrip("/")))]


def test_rows_that_bench_publish_is_to_paste_are_there() -> None:
    """What a mark of performance.md names begins a row below it."""
    page = (paths.ROOT / "docs" / "performance.md").read_text()
    marks = re.findall(r"^<!-- build/bench/\S+: ([^\n]*) -->\n((?:(?!<!--).)*)", page, re.M | re.S)
    assert len(marks) > 5
    for mark, pasted in marks:
        named = [row for rows in re.findall(r"\[(.*?)\]", mark) for row in rows.split("; ")]
        assert not [row for row in named if f"\n| {row}" not in pasted]


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A\n\n## `b` and [c](d)\n\n## `b` and c\n\n```\n# no heading\n```\n")
    assert anchors(page) == {"a", "b-and-c", "b-and-c-1"}
    readme = paths.ROOT / "README.md"
    assert wrong(readme, "docs/no-such-page.md") == "(docs/no-such-page.md): there is no such file"
    assert wrong(readme, "docs/hostvlan.md#no-such") == (
        "(docs/hostvlan.md#no-such): hostvlan.md has no such heading"
    )
    assert wrong(readme, "docs/hostvlan.md#options") is None
    assert wrong(readme, "https://example.org/#a") is None
