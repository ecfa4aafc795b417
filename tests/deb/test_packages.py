# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian packages in clean systems: installed, used, upgraded, purged."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from vmmnet.testbed import chroot, paths, tools
from vmmnet.testbed.chroot import Chroot

pytestmark = pytest.mark.long

NAMES = ("vmmnet-control", "vmmnet-guest-dkms", "vmmnet-ha", "vmmnet-qemu")
EMULATOR = "qemu-system-x86_64-vmmnet"
#: Names of Debian's kernels begin so, and their headers are in these packages.
HEADERS = {"6.1.": "linux-headers-cloud-amd64", "6.12.": "linux-headers-6.12-cloud-amd64"}
LIBVIRT = ("libvirt-daemon-system", "qemu-system-x86")
LOCAL = "/etc/apparmor.d/local/abstractions/libvirt-qemu"
MAC = "52:54:00:00:00:01"

# How libvirt makes the profile of a guest, from its TEMPLATE.qemu.
_GUEST = """\
include <tunables/global>
profile libvirt-guest flags=(attach_disconnected) {
  include <abstractions/libvirt-qemu>
}
"""


def field(package: Path, name: str) -> str:
    """A field of a package's control file."""
    return tools.run(["dpkg-deb", "-f", package, name]).strip()


def dependencies(package: Path, name: str) -> list[str]:
    """The packages that a field names, the first where there is a choice."""
    items = re.split(r",\s*", field(package, name))
    names = (re.split(r"[ :|(]", item, maxsplit=1)[0] for item in items if item)
    return [each for each in names if each not in NAMES]


@pytest.fixture(scope="module")
def packages() -> dict[str, Path]:
    """What make deb makes of the sources, by name."""
    tools.run(["make", "-C", paths.ROOT, "deb"])
    found = {each.name.split("_")[0]: each for each in (paths.BUILD / "deb").glob("*.deb")}
    assert tuple(sorted(found)) == NAMES
    return found


@pytest.fixture(scope="module")
def system(packages: Mapping[str, Path]) -> Path:
    """A Debian with what the packages depend on, but none of ours."""
    wanted = {each for deb in packages.values() for each in dependencies(deb, "Depends")}
    wanted |= set(dependencies(packages["vmmnet-control"], "Recommends"))
    return chroot.base(["apparmor", "bash-completion", *HEADERS.values(), *wanted], LIBVIRT)


@pytest.fixture
def root(system: Path) -> Iterator[Chroot]:
    """A system of the test's own."""
    with Chroot(system) as copy:
        for release in kernels(copy):
            copy.run("depmod", release)
        yield copy


def kernels(root: Chroot) -> list[str]:
    """Debian's kernels whose headers are there: one of each series."""
    found = root.run("ls", "/lib/modules").split()
    assert sorted(each[: each.index(".", 2) + 1] for each in found) == sorted(HEADERS)
    return found


def files(root: Chroot) -> set[str]:
    """What there is, but the key that DKMS makes when it builds its first module."""
    return {line for line in root.files() if "/var/lib/dkms/mok." not in line}


def newer(package: Path, folder: Path) -> Path:
    """The same package with a version that is one more."""
    old = field(package, "Version")
    new = f"{old}+1"
    tree = folder / package.stem
    tools.run(["dpkg-deb", "-R", package, tree])
    named = rf'^(Version: |DKMS_VERSION=|PACKAGE_VERSION="){re.escape(old)}'
    for path in [*(tree / "DEBIAN").iterdir(), *tree.glob("usr/src/*/dkms.conf")]:
        path.write_text(re.sub(named, rf"\g<1>{new}", path.read_text(), flags=re.MULTILINE))
    # The folder of the module's sources has the version in its name.
    for path in tree.glob(f"usr/src/*-{old}"):
        path.rename(path.with_name(path.name.replace(old, new)))
    product = folder / package.name.replace(old, new)
    tools.run(["dpkg-deb", "--root-owner-group", "-b", tree, product])
    shutil.rmtree(tree)
    return product


def use(root: Chroot) -> None:
    """Run what is in the packages, which leaves traces as it does for users."""
    assert "QEMU emulator version" in root.run(EMULATOR, "--version")
    assert "address6=" in root.run(EMULATOR, "-device", "virtio-vmrpc-pci,help")
    assert "control-secret=" in root.run(EMULATOR, "-device", "virtio-net-cvsw-pci,help")
    assert {"hostvlan", "mip6"} <= set(root.run(EMULATOR, "-netdev", "help").split())
    # Firmware, option ROMs and keymaps are found, though no option says where.
    machine = ["-machine", "q35", "-nodefaults", "-vga", "std", "-device", "virtio-net-pci"]
    machine += ["-vnc", "unix:/tmp/vnc", "-k", "de", "-monitor", "stdio"]
    assert "QEMU 10" in root.run(EMULATOR, *machine, text="quit\n")
    root.run("rm", "-f", "/tmp/vnc")
    assert "keep tenants apart" in root.run("vmmnet", "--help")
    root.run("vmmnet", "hostvlan", "add", MAC, "7")
    assert MAC in root.run("vmmnet", "hostvlan", "list")
    assert "usage: vmmnet-ha FILE" in root.run("vmmnet-ha", "--help")
    assert "Move addresses" in root.run("vmmnet-hostd", "--help")
    root.run("/etc/libvirt/hooks/qemu.d/vmmnet", "vm", "prepare", "begin", "-", text="<domain/>")
    root.run("vmrpc-ss", "/dev/null")
    for release in kernels(root):
        about = root.run("modinfo", "-k", release, "vmrpc")
        assert "/updates/dkms/vmrpc.ko" in about
        # The device's number, by which the module is loaded.
        assert "virtio:d0000003Fv" in about
    # Those of the version before have gone.
    assert root.run("dkms", "status").count(": installed") == len(HEADERS)


def completed(root: Chroot, command: str, word: str) -> str:
    """What a shell with bash-completion makes of a word after a command."""
    ask = (
        "source /usr/share/bash-completion/bash_completion; "
        '_completion_loader "$1"; COMP_WORDS=("$1" "$2"); COMP_CWORD=1; '
        'COMP_LINE="$1 $2"; COMP_POINT=${#COMP_LINE}; '
        'f=$(complete -p "$1" | sed "s/.*-F //; s/ .*//"); $f "$1" "$2" "$1"; '
        'echo "${COMPREPLY[*]}"'
    )
    return root.run("bash", "-c", ask, "bash", command, word)


def test_lintian_finds_no_errors(packages: Mapping[str, Path]) -> None:
    (changes,) = (paths.BUILD / "deb").glob("*.changes")
    print(tools.run(["lintian", "--allow-root", "--fail-on", "error", changes]))


def test_purged_packages_leave_nothing(root: Chroot, packages: Mapping[str, Path]) -> None:
    before = files(root)
    root.install(*packages.values())
    use(root)
    assert completed(root, "vmmnet", "cv") == "cvsw\n"
    assert "-netdev" in completed(root, EMULATOR, "-netd")
    assert files(root) - before
    root.purge(*NAMES)
    assert files(root) == before


def test_an_upgrade_keeps_what_is_configured(
    root: Chroot, packages: Mapping[str, Path], tmp_path: Path
) -> None:
    before = files(root)
    root.install(*packages.values())
    use(root)
    root.write("/etc/vmmnet/ha.conf", "interface eth0\n")
    table = root.run("vmmnet", "hostvlan", "list")
    root.install(*(newer(each, tmp_path) for each in packages.values()))
    versions = root.run("dpkg-query", "-W", "-f", "${Version}\n", *NAMES).split()
    assert versions == [f"{field(packages[name], 'Version')}+1" for name in NAMES]
    assert root.run("vmmnet", "hostvlan", "list") == table
    use(root)
    root.purge(*NAMES)
    left = [line.split() for line in files(root) ^ before]
    # The user's file is no package's to remove.
    paths_left = {word for words in left for word in words if word.startswith("/")}
    assert paths_left == {"/etc/vmmnet", "/etc/vmmnet/ha.conf"}


def test_each_package_runs_alone(system: Path, packages: Mapping[str, Path]) -> None:
    """None needs another one of ours."""
    commands = {
        "vmmnet-control": ("vmmnet", "--help"),
        "vmmnet-ha": ("vmmnet-ha", "--help"),
        "vmmnet-qemu": (EMULATOR, "--version"),
    }
    for name, words in commands.items():
        with Chroot(system) as root:
            root.install(packages[name])
            root.run(*words)


def test_the_controller_runs_with_debians_python(
    root: Chroot, packages: Mapping[str, Path]
) -> None:
    """What the package recommends is what 'vmmnet cvsw run' needs."""
    root.install(packages["vmmnet-control"])
    imports = "import sys; sys.path[0] = '/usr/share/vmmnet'; import vmmnet.cvsw.control.controller"
    root.run("python3", "-c", imports)


@pytest.mark.parametrize("order", ["libvirt-first", "libvirt-last"])
def test_libvirt_may_start_it(root: Chroot, packages: Mapping[str, Path], order: str) -> None:
    """AppArmor's profile of a guest has our rules, whichever package came first."""
    first, last = [*LIBVIRT], [packages["vmmnet-qemu"]]
    if order == "libvirt-last":
        root.install(*last)
        root.install(*first)
    else:
        root.install(*first)
        before = files(root)
        root.install(*last)
    root.write("/tmp/guest", _GUEST)
    assert f"/usr/bin/{EMULATOR} rmix," in root.run("apparmor_parser", "-p", "/tmp/guest")
    root.run("apparmor_parser", "--skip-kernel-load", "--skip-cache", "/tmp/guest")
    assert root.run("grep", "-c", "by vmmnet-qemu", LOCAL) == "1\n"
    # Debian's emulator is still there.
    assert "QEMU emulator version 7" in root.run("qemu-system-x86_64", "--version")
    root.purge("vmmnet-qemu")
    assert EMULATOR not in root.run("apparmor_parser", "-p", "/tmp/guest")
    root.run("apparmor_parser", "--skip-kernel-load", "--skip-cache", "/tmp/guest")
    root.run("rm", "/tmp/guest")
    if order == "libvirt-first":
        assert files(root) == before
