# SPDX-License-Identifier: GPL-2.0-or-later
"""Clean Debian systems for packages to be installed in, without a kernel of their own.

mmdebstrap makes a base once; after this it is read-only, and changes of a test go into an overlay
over it. Each program runs in a mount, process and network namespace of its own, so that its
processes and mounts end with it, and it cannot download anything.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..base import paths, tools
from ..base.architecture import HOST
from ..base.lock import locked
from . import debian

_ENTER = """
set -e
base=$1 copy=$2 shared=$3
shift 3
mount -t overlay overlay -o "lowerdir=$base,upperdir=$copy/upper,workdir=$copy/work" "$copy/root"
for place in $shared; do
    mkdir -p "$copy/root$place"
    mount --bind "$place" "$copy/root$place"
done
mount -t proc proc "$copy/root/proc"
mount --rbind /dev "$copy/root/dev"
exec chroot "$copy/root" "$@"
"""
#: Environment of programs in a clean system.
ENVIRONMENT = {
    "DEBIAN_FRONTEND": "noninteractive",
    "HOME": "/root",
    "LC_ALL": "C.UTF-8",
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "TERM": "dumb",
}
#: Files of the package system itself.
_OWN = (
    *("/var/lib/dpkg", "/var/lib/apt", "/var/cache/apt", "/var/cache/debconf", "/var/log"),
    *("/var/cache/ldconfig", "/etc/ld.so.cache"),
    # Lists of users before the last change, and locks.
    *("/etc/passwd-", "/etc/shadow-", "/etc/group-", "/etc/gshadow-", "/etc/.pwd.lock"),
    "/run/adduser",
)
# Keep changed configuration, as without a terminal dpkg cannot ask.
APT = (
    *("apt-get", "--yes", "--no-install-recommends"),
    *("-o", "Dpkg::Options::=--force-confold"),
    # A system that ends with the test need not outlive a crash of the machine.
    *("-o", "Dpkg::Options::=--force-unsafe-io"),
)


def base(
    installed: Sequence[str],
    at_hand: Sequence[str],
    suite: str = debian.SUITE,
    then: str = "",
    foreign: str = "",
) -> Path:
    """Make a system with installed packages of Debian, and others available offline.

    ``then`` is a release that it can be upgraded to offline; what is at hand is of that.
    ``foreign`` is an architecture whose packages it may have, too. Its name depends on all of
    these, and it stays in the folder of builds.
    """
    recipe = [suite, *sorted(installed), "at hand", *sorted(at_hand), "layout 1"]
    recipe += [then] if then else []
    recipe += [f"with {foreign}"] if foreign else []
    product = paths.BUILD / "image" / f"chroot-{paths.digest(recipe)}"
    # A user of a root that exists does not wait for a root that is being made.
    if product.exists():
        return product
    with locked("chroot"):
        if not product.exists():
            fresh = product.with_suffix(".new")
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.parent.mkdir(parents=True, exist_ok=True)
            apt = f'chroot "$1" {" ".join(APT)} --download-only'
            hooks = [f"{apt} install {' '.join(at_hand)}"] if at_hand else []
            if then:
                rename = f"""sed -i 's/{suite}/{then}/' "$1/etc/apt/sources.list\""""
                hooks[:0] = [rename, 'chroot "$1" apt-get update', f"{apt} dist-upgrade"]
            tools.run(
                [
                    *("mmdebstrap", "--quiet", "--mode=root", "--variant=apt"),
                    "--skip=cleanup/apt" if hooks else "--skip=cleanup/apt/lists",
                    *((f"--include={','.join(installed)}",) if installed else ()),
                    *((f"--architectures={HOST.name},{foreign}",) if foreign else ()),
                    # A mirror may stand still, and only the lists of a release never expire.
                    *(
                        ('--aptopt=Acquire::Check-Valid-Until "false"',)
                        if suite in debian.ROLLING
                        else ()
                    ),
                    *(f"--customize-hook={hook}" for hook in hooks),
                    suite,
                    str(fresh),
                    *debian.sources_of(suite),
                ]
            )
            # A system without an init starts no services.
            policy = fresh / "usr" / "sbin" / "policy-rc.d"
            policy.write_text("#!/bin/sh\nexit 101\n")
            policy.chmod(0o755)
            fresh.rename(product)
    return product


class Chroot:
    """A copy of a base that a test changes; a context manager removes it.

    ``shared`` are folders of the host that it has at the same paths.
    """

    def __init__(self, system: Path, shared: Iterable[Path] = ()) -> None:
        self._base = system
        self._shared = tuple(shared)
        self._folder = tempfile.TemporaryDirectory(dir=system.parent, prefix="copy-")
        self._copy = Path(self._folder.name)
        for name in ("upper", "work", "root"):
            (self._copy / name).mkdir()

    def __enter__(self) -> Chroot:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def run(self, *words: str, text: str = "") -> str:
        """Run a program that reads ``text``; returns its output, with errors.

        Raises ``tools.CommandFailed`` if it fails.
        """
        alone = ["--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--net"]
        enter = [tools.find("unshare"), *alone, "sh", "-c", _ENTER, "sh"]
        shared = " ".join(map(str, self._shared))
        ended = subprocess.run(
            [*enter, str(self._base), str(self._copy), shared, *words],
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
        """Install or upgrade packages: files of ours, or names of Debian's available packages."""
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
            return self.run(*APT, "install", *words)
        finally:
            self.run("rm", "-rf", "/debs")

    def purge(self, *names: str) -> str:
        """Remove packages with their configuration; their dependencies stay."""
        return self.run(*APT, "purge", *names)

    def files(self) -> set[str]:
        """Return a line for each file, except files of the package system itself.

        A line has kind, mode, owner and the target of a link; of regular files also the size, and
        in /etc the content.
        """
        skip = [word for path in _OWN for word in ("-path", path, "-prune", "-o")]
        line = r"%p %y %m %U:%G %l"
        find = ["find", "/", "-xdev", *skip]
        sums = ["find", "/etc", "-xdev", *skip, "-type", "f", "-exec", "md5sum", "{}", "+"]
        listing = self.run(
            *find, *("-type", "f", "-printf", rf"{line} %s\n", "-o", "-printf", rf"{line}\n")
        )
        return {*listing.splitlines(), *self.run(*sums).splitlines()}
