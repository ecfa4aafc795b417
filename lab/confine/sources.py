# SPDX-License-Identifier: GPL-2.0-or-later
"""Small mirrors: a Debian repository, an index of Python packages, a Git repository.

All are files below the root of a web server.
"""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

from lab.base import tools

from . import places as at

PACKAGE = "confine-greeting"
MODULE = "confine_greeting"
_CONTROL = f"""\
Package: {PACKAGE}
Version: 1.0
Architecture: all
Maintainer: nobody <nobody@{at.MIRROR_NAME}>
Description: says that it came
"""
_METADATA = f"Metadata-Version: 2.1\nName: {MODULE}\nVersion: 1.0\n"
_WHEEL = "Wheel-Version: 1.0\nGenerator: lab\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def _debian(root: Path) -> None:
    """A flat repository at /debian, with one package; apt is told to trust it."""
    tree = root / "tree"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(_CONTROL)
    (tree / "usr" / "share" / PACKAGE).mkdir(parents=True)
    (tree / "usr" / "share" / PACKAGE / "text").write_text("it came\n")
    repository = root / "debian"
    tools.run(["dpkg-deb", "--root-owner-group", "--build", tree, repository])
    listed = tools.run(["dpkg-scanpackages", "--multiversion", "debian"], cwd=root)
    listed = listed.replace("Filename: debian/", "Filename: ")
    (repository / "Packages.gz").write_bytes(gzip.compress(listed.encode()))


def _python(root: Path) -> None:
    """An index at /simple, and the file that it names at another host's /packages."""
    wheel = f"{MODULE}-1.0-py3-none-any.whl"
    info = f"{MODULE}-1.0.dist-info"
    with zipfile.ZipFile(root / "packages" / wheel, "w") as archive:
        archive.writestr(f"{MODULE}.py", "TEXT = 'it came'\n")
        archive.writestr(f"{info}/METADATA", _METADATA)
        archive.writestr(f"{info}/WHEEL", _WHEEL)
        archive.writestr(f"{info}/RECORD", "")
    page = root / "simple" / PACKAGE
    page.mkdir()
    link = f"https://{at.FILES_NAME}/packages/{wheel}"
    (page / "index.html").write_text(f'<!DOCTYPE html><a href="{link}">{wheel}</a>\n')


def _git(root: Path) -> None:
    """A repository at /greeting.git, for clients that only fetch files."""
    work, bare = root / "work", root / "greeting.git"
    work.mkdir()
    (work / "text").write_text("it came\n")
    author = ["-c", "user.name=nobody", "-c", f"user.email=nobody@{at.GIT_NAME}"]
    tools.run(["git", "init", "--quiet", "--initial-branch=main", work])
    tools.run(["git", "-C", work, "add", "text"])
    tools.run(["git", "-C", work, *author, "commit", "--quiet", "--message=first"])
    tools.run(["git", "clone", "--quiet", "--bare", work, bare])
    tools.run(["git", "-C", bare, "update-server-info"])


def make(root: Path) -> None:
    """Make all of them below a folder."""
    for part in ("debian", "simple", "packages"):
        (root / part).mkdir()
        (root / part / "index.html").write_text(f"a page of /{part}\n")
    for each in (_debian, _python, _git):
        each(root)
