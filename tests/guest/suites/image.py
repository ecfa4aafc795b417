# SPDX-License-Identifier: GPL-2.0-or-later
"""The disks with the suites: Debian's packages of them; those of Go and libuv compiled.

    /packages            what it is made of, with versions
    /etc                 names of services and protocols
    /python/test         of CPython: the package ``test``, for PYTHONPATH=/python
    /go/src              of Go: the folders of the tests, where they find their data
    /go/bin/NAME.test    the tests of one package, static
    /libuv/tests         libuv's tests, static

Guests mount one; their own image has none of it.  Each is built once for a
recipe, as the other images are.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from lab.base import paths, tools
from lab.base.lock import locked
from lab.guest import image
from lab.packages import debian

_PYTHON = "3.11"
_PYTHON_PACKAGES = (f"libpython{_PYTHON}-stdlib", f"libpython{_PYTHON}-testsuite")
_GO = "1.19"
_GO_PACKAGES = (f"golang-{_GO}-go", f"golang-{_GO}-src")

#: The packages of Go whose tests run, and what their binaries are called.
GO_TESTS = {"net": "net", "net/http": "net-http", "internal/poll": "internal-poll"}
#: What these tests read beside their binaries.
_GO_DATA = ("net", "internal/poll", "testdata")

#: Debian's source package of libuv, and which of its files its tests are made of.
_LIBUV = "libuv1"
_LIBUV_FILES = (
    "src/*.c",
    *(
        f"src/unix/{name}.c"
        for name in (
            *("async", "core", "dl", "epoll", "fs", "getaddrinfo", "getnameinfo", "linux-core"),
            *("linux-inotify", "linux-syscalls", "loop", "loop-watcher", "pipe", "poll"),
            *("process", "procfs-exepath", "proctitle", "random-devurandom", "random-getrandom"),
            *("random-sysctl-linux", "signal", "stream", "tcp", "thread", "tty", "udp"),
        )
    ),
    "test/test-*.c",
    *(f"test/{name}.c" for name in ("blackhole-server", "echo-server", "run-tests")),
    *("test/runner.c", "test/runner-unix.c"),
)

#: Ports and protocols by name.
_NAMES = "netbase"

_FOLDER = paths.BUILD / "suites"


def _unpack(names: tuple[str, ...], series: str, folder: Path) -> str:
    """Unpack packages; return a line for each, with its version."""
    lines = []
    for name in names:
        package = debian.newest(name, series)
        file = debian.fetch(package, _FOLDER)
        debian.unpack(file, folder)
        file.unlink()
        lines.append(f"{package.name} {package.version}\n")
    return "".join(lines)


def _put_python(scratch: Path, disk: Path) -> None:
    (disk / "python").mkdir()
    shutil.move(scratch / "usr" / "lib" / f"python{_PYTHON}" / "test", disk / "python")


def _put_go(scratch: Path, disk: Path) -> None:
    root = scratch / "usr" / "lib" / f"go-{_GO}"
    environment = {
        "GOROOT": str(root),
        "GOCACHE": str(scratch / "cache"),
        "GOPROXY": "off",
        "GOFLAGS": "",
        "CGO_ENABLED": "0",
    }
    for package, name in GO_TESTS.items():
        product = disk / "go" / "bin" / f"{name}.test"
        tools.run(
            [root / "bin" / "go", "test", "-c", "-trimpath", "-o", product, package],
            cwd=root / "src",
            env=environment,
        )
    for data in _GO_DATA:
        shutil.copytree(root / "src" / data, disk / "go" / "src" / data)


def _put_libuv(scratch: Path, disk: Path) -> None:
    source = debian.fetch_source(_LIBUV, scratch)
    root = scratch / _LIBUV
    tools.run(["dpkg-source", "--no-check", "-x", source, root])
    with (disk / "packages").open("a") as packages:
        packages.write(f"{source.stem.replace('_', ' ')}\n")
    (disk / "libuv").mkdir()
    flags = ["-w", "-static", "-pthread", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64"]
    flags += ["-Iinclude", "-Isrc"]
    # Some tests have copies of what they test.
    flags += ["-Wl,-z,muldefs"]
    files = [path for pattern in _LIBUV_FILES for path in sorted(root.glob(pattern))]
    tools.run(["gcc", *flags, "-o", disk / "libuv" / "tests", *files], cwd=root)


_ORIGINS = {
    "cpython": (_PYTHON_PACKAGES, _PYTHON, _put_python),
    "go": (_GO_PACKAGES, _GO, _put_go),
    "libuv": ((), "", _put_libuv),
}


def suites(origin: str) -> Path:
    """Return the disk with the suites of "cpython", "go" or "libuv", building it when it is new."""
    packages, series, put = _ORIGINS[origin]
    recipe = paths.digest([debian.SUITE, *packages, _NAMES, Path(__file__)])
    product = image.FOLDER / f"suites-{origin}-{recipe}.squashfs"
    with locked("suites"):
        if product.exists():
            return product
        tools.require("dpkg-deb", "dpkg-source", "gcc", "mksquashfs")
        _FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_FOLDER) as name:
            scratch, disk = Path(name), Path(name) / "disk"
            disk.mkdir()
            _unpack((_NAMES,), "6", scratch)
            shutil.move(scratch / "etc", disk)
            (disk / "packages").write_text(_unpack(packages, series, scratch))
            put(scratch, disk)
            image.squash(disk, product)
    return product
