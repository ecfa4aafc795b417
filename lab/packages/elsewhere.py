# SPDX-License-Identifier: GPL-2.0-or-later
"""Our Debian packages, built in a root of a release of Debian.

    make deb SUITE=trixie
    make deb ARCH=arm64 [SUITE=trixie]

The root has what the packages are built with, and no network.  A copy of the sources, with what
was compiled of them, stays in build/suites/SUITE, so that a second build is a short one; the
packages are put into build/deb-SUITE.  For another architecture than this system's, they are
cross-compiled, against libraries of that architecture in the root, and both folders have its name
at their end.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from ..base import paths, tools
from ..base.architecture import HOST, Architecture, guests
from . import chroot, debian
from .conclude import conclude

#: Sections of qemu/packages.txt with what ``make deb`` needs.
_SECTIONS = ("build", "full", "deb")
#: In the copy, but not in the list of sources.
_BUILT = ("build", "qemu/src")


#: Compiles for an architecture; its programs run in the emulation of processes.
_CROSS = "crossbuild-essential-{}", "qemu-user-static"


def _needed() -> list[str]:
    text = (paths.ROOT / "qemu" / "packages.txt").read_text()
    sections = re.split(r"^\[(\w+)\]$", text, flags=re.MULTILINE)[1:]
    found = dict(zip(sections[::2], sections[1::2], strict=True))
    return [name for each in _SECTIONS for name in re.findall(r"^[a-z0-9]\S*$", found[each], re.M)]


def root(suite: str, target: Architecture = HOST) -> Path:
    """Make the system in which packages are built and checked by lintian."""
    names = set(_needed())
    if target == HOST:
        return chroot.base(sorted(names), [], suite)
    # What is linked with, and pkg-config, which finds it.
    theirs = {each for each in names if each.endswith("-dev")} | {"pkg-config"}
    names = names - theirs | {f"{each}:{target.name}" for each in theirs}
    names |= {each.format(target.name) for each in _CROSS}
    return chroot.base(sorted(names), [], suite, foreign=target.name)


def _sources() -> Iterator[str]:
    listed = tools.run(["git", "-C", paths.ROOT, "ls-files", "-z", "-co", "--exclude-standard"])
    return (name for name in set(listed.split("\0")) if name and (paths.ROOT / name).is_file())


def _copy(tree: Path) -> None:
    """Bring a copy of the sources up to date; what did not change keeps its time."""
    wanted = set(_sources())
    for folder, names, files in os.walk(tree):
        here = Path(folder).relative_to(tree)
        names[:] = [name for name in names if str(here / name) not in _BUILT]
        for name in files:
            if str(here / name) not in wanted:
                (tree / here / name).unlink()
    for name in wanted:
        source, copy = paths.ROOT / name, tree / name
        new, old = source.lstat(), copy.lstat() if copy.is_symlink() or copy.exists() else None
        if not old or (new.st_mtime_ns, new.st_size) != (old.st_mtime_ns, old.st_size):
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.unlink(missing_ok=True)
            shutil.copy2(source, copy, follow_symlinks=False)


def place(suite: str, target: Architecture) -> str:
    """What folders of a release and an architecture have at the end of their names."""
    return f"{suite}{target.tail}"


def build(suite: str, target: Architecture = HOST) -> Path:
    """Build the packages for an architecture; returns their folder.

    As for ``make deb``, DEB_BUILD_PROFILES and DEB_BUILD_OPTIONS are dpkg-buildpackage's.
    """
    tree = paths.BUILD / "suites" / place(suite, target)
    tree.mkdir(parents=True, exist_ok=True)
    _copy(tree)
    if "pkg.vmmnet.noqemu" not in os.environ.get("DEB_BUILD_PROFILES", "").split():
        tools.run([tree / "qemu" / "fetch"], cwd=tree)
    settings = [f"{name}={value}" for name, value in os.environ.items() if name[:4] == "DEB_"]
    settings.append(f"CCACHE_DIR={tree}/build/ccache")
    with chroot.Chroot(root(suite, target), shared=[tree]) as system:
        system.run("env", f"--chdir={tree}", *settings, "debian/make-packages", target.name)
    folder = paths.BUILD / f"deb-{place(suite, target)}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(tree / "build" / "deb", folder)
    return folder


def main() -> int:
    """Build for the suite of the command line, by default this system's."""
    own = platform.freedesktop_os_release()
    default = own.get("VERSION_CODENAME", "") if own["ID"] == "debian" else debian.SUITE
    suite, target = [*sys.argv[1:], default][0], guests()
    if not re.fullmatch(r"[a-z]+", suite):
        print(f"deb: SUITE={suite}: give a release of Debian, such as trixie", file=sys.stderr)
        return 2
    print(
        f"deb: building packages of {suite} for {target.name} in a root of its own (log:"
        f" build/suites/{place(suite, target)}/build/logs/deb.log)",
        flush=True,
    )

    def work() -> None:
        for each in sorted(build(suite, target).glob("*.deb")):
            print(f"{each.stat().st_size >> 10:6} KiB {each.relative_to(paths.ROOT)}")

    return conclude("deb", work)


if __name__ == "__main__":
    sys.exit(main())
