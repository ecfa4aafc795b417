# SPDX-License-Identifier: GPL-2.0-or-later
"""Clean Debian systems for packages to be installed in, without a kernel of their own.

A base is made once by mmdebstrap and never written to again; what a test does
goes into an overlay over it.  Programs run in a mount, process and network
namespace each, so nothing that they start or mount stays, and nothing is
fetched.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import debian, paths, tools
from .lock import locked

_ENTER = """
set -e
base=$1 copy=$2
shift 2
mount -t overlay overlay -o "lowerdir=$base,upperdir=$copy/upper,workdir=$copy/work" "$copy/root"
mount -t proc proc "$copy/root/proc"
mount --rbind /dev "$copy/root/dev"
exec chroot "$copy/root" "$@"
"""
#: What programs in a clean system are told.
ENVIRONMENT = {
    "DEBIAN_FRONTEND": "noninteractive",
    "HOME": "/root",
    "LC_ALL": "C.UTF-8",
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "TERM": "dumb",
}
#: What the package system keeps for itself.
_OWN = (
    *("/var/lib/dpkg", "/var/lib/apt", "/var/cache/apt", "/var/cache/debconf", "/var/log"),
    *("/var/cache/ldconfig", "/etc/ld.so.cache"),
    # Lists of users before the last change, and locks.
    *("/etc/passwd-", "/etc/shadow-", "/etc/group-", "/etc/gshadow-", "/etc/.pwd.lock"),
    "/run/adduser",
)
# Changed configuration stays: without a terminal dpkg can ask nobody.
_APT = (
    *("apt-get", "--yes", "--no-install-recommends"),
    *("-o", "Dpkg::Options::=--force-confold"),
)


def base(installed: Sequence[str], at_hand: Sequence[str]) -> Path:
    """A system with packages of Debian installed, and others to be installed offline.

    It is named by these and stays in the folder of builds.
    """
    recipe = [debian.SUITE, *sorted(installed), "at hand", *sorted(at_hand), "layout 1"]
    product = paths.BUILD / "image" / f"chroot-{paths.digest(recipe)}"
    with locked("chroot"):
        if not product.exists():
            fresh = product.with_suffix(".new")
            shutil.rmtree(fresh, ignore_errors=True)
            fetch = f'chroot "$1" {" ".join(_APT)} --download-only install {" ".join(at_hand)}'
            tools.run(
                [
                    *("mmdebstrap", "--quiet", "--mode=root", "--variant=apt"),
                    "--skip=cleanup/apt",
                    *((f"--include={','.join(installed)}",) if installed else ()),
                    *(("--customize-hook=" + fetch,) if at_hand else ()),
                    debian.SUITE,
                    str(fresh),
                    *(entry for entry in debian.sources() if "-backports" not in entry),
                ]
            )
            # Services are not for a system without an init.
            policy = fresh / "usr" / "sbin" / "policy-rc.d"
            policy.write_text("#!/bin/sh\nexit 101\n")
            policy.chmod(0o755)
            fresh.rename(product)
    return product


class Chroot:
    """A copy of a base that a test changes; a context manager removes it."""

    def __init__(self, system: Path) -> None:
        self._base = system
        self._folder = tempfile.TemporaryDirectory(dir=system.parent, prefix="copy-")
        self._copy = Path(self._folder.name)
        for name in ("upper", "work", "root"):
            (self._copy / name).mkdir()

    def __enter__(self) -> Chroot:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def run(self, *words: str, text: str = "") -> str:
        """Run a program that reads ``text``; returns what it writes, errors included.

        Raises ``tools.CommandFailed`` if it fails.
        """
        alone = ["--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--net"]
        enter = [tools.find("unshare"), *alone, "sh", "-c", _ENTER, "sh"]
        ended = subprocess.run(
            [*enter, str(self._base), str(self._copy), *words],
            input=text,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        if ended.returncode:
            raise tools.CommandFailed(
                f"{' '.join(words)}: exit {ended.returncode}\n{ended.stdout[-8000:]}"
            )
        return ended.stdout

    def write(self, path: str, content: str) -> None:
        """Write a file."""
        self.run("sh", "-c", 'mkdir -p "${1%/*}" && cat >"$1"', "sh", path, text=content)

    def install(self, *packages: str | Path) -> str:
        """Install or upgrade packages: files of ours, names of Debian's that are at hand."""
        words = []
        for package in packages:
            if isinstance(package, Path):
                folder = self._copy / "upper" / "debs"
                folder.mkdir(exist_ok=True)
                shutil.copy(package, folder)
                words.append(f"/debs/{package.name}")
            else:
                words.append(package)
        try:
            return self.run(*_APT, "install", *words)
        finally:
            self.run("rm", "-rf", "/debs")

    def purge(self, *names: str) -> str:
        """Remove packages with their configuration; what they depend on stays."""
        return self.run(*_APT, "purge", *names)

    def files(self) -> set[str]:
        """All that is in the file system, a line each, but what the package system keeps.

        Of everything kind, mode, owner and where a link leads; of files also
        their size, and in /etc what they hold.
        """
        skip = [word for path in _OWN for word in ("-path", path, "-prune", "-o")]
        line = r"%p %y %m %U:%G %l"
        find = ["find", "/", "-xdev", *skip]
        sums = ["find", "/etc", "-xdev", *skip, "-type", "f", "-exec", "md5sum", "{}", "+"]
        listing = self.run(
            *find, *("-type", "f", "-printf", rf"{line} %s\n", "-o", "-printf", rf"{line}\n")
        )
        return {*listing.splitlines(), *self.run(*sums).splitlines()}
