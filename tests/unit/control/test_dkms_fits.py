# SPDX-License-Identifier: GPL-2.0-or-later
"""guest-linux/vmrpc/dkms-fits: which kernels get the guest's module, and when that is asked again.

The script of a test has a /lib/modules and a /run of its own, and the Makefile beside it stands for
the module's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from lab.base import paths, tools

NEWER = "99.1-test"
_FITS = "modules:\n\ttrue\n"
_FAILS = "modules:\n\t@echo 'main.c: error: no member'; false\n"


class Kernel:
    """A kernel that the module may be for, and the module's sources."""

    def __init__(self, folder: Path) -> None:
        self._headers = folder / "modules" / NEWER / "build"
        for name in ("run", f"modules/{NEWER}", "sources"):
            (folder / name).mkdir(parents=True)
        self.sources = folder / "sources" / "main.c"
        self.sources.write_text("")
        script = (paths.ROOT / "guest-linux" / "vmrpc" / "dkms-fits").read_text()
        for place, own in {"/lib/modules/": "modules", "/run/": "run"}.items():
            assert script.count(place) == 1
            script = script.replace(place, f"{folder / own}/")
        self._script = self.sources.with_name("dkms-fits")
        self._script.write_text(script)
        self.makefile = self.sources.with_name("Makefile")

    def unpack_headers(self) -> None:
        """As packages do: the files are as old as they were there."""
        self._headers.mkdir()
        for name in ("Makefile", "Module.symvers"):
            (self._headers / name).write_text("")
            os.utime(self._headers / name, (0, 0))

    def remove_headers(self) -> None:
        """The kernel is there without them."""
        shutil.rmtree(self._headers)

    def asked(self) -> tuple[bool, str]:
        """Whether the module fits, and what is said."""
        words = [tools.find("sh"), str(self._script), NEWER]
        ended = subprocess.run(words, capture_output=True, text=True)
        assert ended.returncode in (0, 1), ended
        return ended.returncode == 0, ended.stderr


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


@pytest.mark.parametrize("makefile", [_FITS, _FAILS], ids=["fits", "fails"])
def test_is_tried_once(kernel: Kernel, makefile: str) -> None:
    kernel.makefile.write_text(makefile)
    kernel.unpack_headers()
    fits, said = kernel.asked()
    assert fits == (makefile == _FITS)
    assert "is newer than" in said
    assert ("it does not compile: main.c: error: no member" in said) == (not fits)
    assert kernel.asked() == (fits, "")


def test_headers_that_come_later(kernel: Kernel) -> None:
    """DKMS itself says that they are missing; that the module fails without them is not kept."""
    kernel.makefile.write_text(_FITS)
    assert kernel.asked() == (True, "")
    kernel.unpack_headers()
    assert "trying" in kernel.asked()[1]


def test_sources_that_are_mended(kernel: Kernel) -> None:
    kernel.makefile.write_text(_FAILS)
    kernel.unpack_headers()
    assert not kernel.asked()[0]
    kernel.makefile.write_text(_FITS)
    assert kernel.asked()[0]


def test_headers_of_a_new_package(kernel: Kernel) -> None:
    """They come in the place of others, and are old, too."""
    kernel.makefile.write_text(_FAILS)
    kernel.unpack_headers()
    assert not kernel.asked()[0]
    kernel.remove_headers()
    kernel.unpack_headers()
    assert "trying" in kernel.asked()[1]
