# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk with the suites: Debian's packages of them, and Go's tests compiled.

    /python/test         the package ``test``, for PYTHONPATH=/python
    /etc                 names of services and protocols
    /go/src              the folders of the tests, where they find their data
    /go/bin/NAME.test    the tests of one package, static

Guests mount it; their own image has none of it.  It is built once for a recipe,
as the other images are.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from vmmnet.testbed import debian, image, kernel, paths, tools

_PYTHON = "3.11"
_PYTHON_PACKAGES = (f"libpython{_PYTHON}-stdlib", f"libpython{_PYTHON}-testsuite")
_GO = "1.19"
_GO_PACKAGES = (f"golang-{_GO}-go", f"golang-{_GO}-src")

#: The packages of Go whose tests run, and what their binaries are called.
GO_TESTS = {"net": "net", "net/http": "net-http", "internal/poll": "internal-poll"}
#: What these tests read beside their binaries.
_GO_DATA = ("net", "internal/poll", "testdata")

#: Ports and protocols by name.
_NAMES = "netbase"

_FOLDER = paths.BUILD / "suites"


def _unpack(packages: tuple[str, ...], series: str, folder: Path) -> None:
    for name in packages:
        file = debian.fetch(debian.newest(name, series), _FOLDER)
        debian.unpack(file, folder)
        file.unlink()


def _put_names(scratch: Path, folder: Path) -> None:
    _unpack((_NAMES,), "6", scratch)
    shutil.move(scratch / "etc", folder)


def _put_python(scratch: Path, folder: Path) -> None:
    _unpack(_PYTHON_PACKAGES, _PYTHON, scratch)
    folder.mkdir()
    shutil.move(scratch / "usr" / "lib" / f"python{_PYTHON}" / "test", folder)


def _put_go(scratch: Path, folder: Path) -> None:
    _unpack(_GO_PACKAGES, _GO, scratch)
    root = scratch / "usr" / "lib" / f"go-{_GO}"
    environment = {
        "GOROOT": str(root),
        "GOCACHE": str(scratch / "cache"),
        "GOPROXY": "off",
        "GOFLAGS": "",
        "CGO_ENABLED": "0",
    }
    for package, name in GO_TESTS.items():
        product = folder / "bin" / f"{name}.test"
        tools.run(
            [root / "bin" / "go", "test", "-c", "-trimpath", "-o", product, package],
            cwd=root / "src",
            env=environment,
        )
    for data in _GO_DATA:
        shutil.copytree(root / "src" / data, folder / "src" / data)


def suites() -> Path:
    """Return the disk, building it when its recipe is new."""
    packages = (*_PYTHON_PACKAGES, *_GO_PACKAGES, _NAMES)
    recipe = paths.digest([debian.SUITE, *packages, Path(__file__)])
    product = image.FOLDER / f"suites-{recipe}.squashfs"
    with kernel.locked("suites"):
        if product.exists():
            return product
        tools.require("dpkg-deb", "mksquashfs")
        _FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_FOLDER) as name:
            scratch = Path(name)
            (scratch / "disk").mkdir()
            _put_names(scratch / "names", scratch / "disk" / "etc")
            _put_python(scratch / "python", scratch / "disk" / "python")
            _put_go(scratch / "go", scratch / "disk" / "go")
            image.squash(scratch / "disk", product)
    return product
