# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's module and kernels by DKMS: whatever comes first, and kernels it does not fit.

DKMS 3.0 of Debian 12 and 3.2 of Debian 13 differ. An apt that fails raises ``CommandFailed``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from lab.base import tools
from lab.packages import chroot
from lab.packages.chroot import Chroot
from lab.packages.debs import RELEASES

pytestmark = pytest.mark.long

IMAGE, HEADERS = "linux-image-cloud-amd64", "linux-headers-cloud-amd64"
PACKAGE = "vmmnet-guest-dkms"


@pytest.fixture(scope="session", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    """Each release that there are packages for: DKMS has to be as new as where one was built."""
    return str(request.param)


@pytest.fixture(scope="module")
def system(release: str) -> Path:
    """A Debian with DKMS, and a kernel and its headers at hand."""
    return chroot.base(["dkms"], [IMAGE, HEADERS], release)


@pytest.fixture
def root(system: Path) -> Iterator[Chroot]:
    """A system of the test's own."""
    with Chroot(system) as copy:
        yield copy


@pytest.fixture
def module(packages: Mapping[str, Path]) -> Path:
    """The package of the module."""
    return packages[PACKAGE]


def assert_installed(root: Chroot, *names: str) -> None:
    """These packages are whole, and none in the system is half of one."""
    assert root.run("dpkg", "--audit") == ""
    for name in names:
        assert root.run("dpkg-query", "-W", "-f", "${db:Status-Status}", name) == "installed"


def has_module(root: Chroot) -> bool:
    """Is the module there for the only kernel?"""
    (release,) = root.run("ls", "/lib/modules").split()
    found = root.run("sh", "-c", f"find /lib/modules/{release}/updates -name 'vmrpc.ko*' || :")
    return "vmrpc.ko" in found.replace("No such file", "")


def change(root: Chroot, expression: str, name: str) -> None:
    """Edit a file of the module's sources, as if the kernel or the package were another."""
    root.run("sh", "-c", f"sed -i '{expression}' /usr/src/vmmnet-vmrpc-*/{name}")


def test_module_after_its_kernel(root: Chroot, module: Path) -> None:
    root.install(IMAGE, HEADERS)
    root.install(module)
    assert_installed(root, IMAGE, HEADERS, PACKAGE)
    assert has_module(root)


def test_module_before_its_kernel(root: Chroot, module: Path) -> None:
    root.install(module)
    root.install(IMAGE, HEADERS)
    assert_installed(root, IMAGE, HEADERS, PACKAGE)
    assert has_module(root)


def test_headers_come_last(root: Chroot, module: Path) -> None:
    """Without headers the kernel is installed without the module, with a word."""
    root.install(module)
    said = root.install(IMAGE)
    print(said)
    assert "headers" in said
    assert_installed(root, IMAGE, PACKAGE)
    assert not has_module(root)
    root.install(HEADERS)
    assert_installed(root, IMAGE, HEADERS, PACKAGE)
    assert has_module(root)


def test_kernel_newer_than_tested(root: Chroot, module: Path) -> None:
    """It gets the module if that compiles."""
    root.install(module)
    change(root, "s/tested=.*/tested=6.0/", "dkms-fits")
    said = root.install(IMAGE, HEADERS)
    print(said)
    assert "is newer than 6.0, with which the module was tested: trying" in said
    assert_installed(root, IMAGE, HEADERS, PACKAGE)
    assert has_module(root)


@pytest.mark.parametrize("first", ["kernel", "module"])
def test_kernel_too_new(root: Chroot, module: Path, tmp_path: Path, first: str) -> None:
    """Where the module does not compile the kernel is installed without it, with the reason."""
    said = ""
    if first == "kernel":
        said += root.install(IMAGE, HEADERS)
    said += root.install(too_new(module, tmp_path))
    if first == "module":
        said += root.install(IMAGE, HEADERS)
    print(said)
    assert "whose installation goes on: it does not compile: " in said
    assert "struct proto_ops has changed" in said
    assert_installed(root, IMAGE, HEADERS, PACKAGE)
    assert not has_module(root)


def too_new(module: Path, folder: Path) -> Path:
    """The package as it was before any kernel, which it does not compile for."""
    tree = folder / "tree"
    tools.run(["dpkg-deb", "-R", module, tree])
    (fits,) = tree.glob("usr/src/*/dkms-fits")
    fits.write_text(fits.read_text().replace("tested=7.3", "tested=6.0"))
    source = fits.with_name("main.c")
    source.write_text(source.read_text() + '#error "struct proto_ops has changed"\n')
    product = folder / module.name
    tools.run(["dpkg-deb", "--root-owner-group", "-b", tree, product])
    return product


def test_kernel_too_old(root: Chroot, module: Path) -> None:
    root.install(module)
    change(root, "s/oldest=6.1/oldest=6.99/", "dkms-fits")
    said = root.install(IMAGE, HEADERS)
    print(said)
    assert "whose installation goes on: the module is for 6.99 and later" in said
    assert_installed(root, IMAGE, HEADERS, PACKAGE)
    assert not has_module(root)
