# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian packages in clean systems: installed, used, upgraded, purged."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from lab.base import tools
from lab.packages import chroot, elsewhere
from lab.packages.chroot import Chroot
from lab.packages.debs import (
    EMULATOR,
    LIBVIRT,
    NAMES,
    RELEASES,
    dependencies,
    field,
    newer,
)
from vmmnet.libvirt.check import apparmor

pytestmark = pytest.mark.long

#: Of a release, names of Debian's kernels begin so, and their headers are in these packages.
HEADERS = {
    "bookworm": {"6.1.": "linux-headers-cloud-amd64", "6.12.": "linux-headers-6.12-cloud-amd64"},
    "trixie": {"6.12.": "linux-headers-cloud-amd64"},
}
#: The version of Debian's own emulator.
QEMUS = {"bookworm": "7", "trixie": "10"}
RULES = "/etc/apparmor.d/abstractions/libvirt-qemu.d/vmmnet"
LOCAL = "/etc/apparmor.d/local/abstractions/libvirt-qemu"
HOOK = "/etc/libvirt/hooks/qemu.d/vmmnet"
MAC = "52:54:00:00:00:01"

#: What QEMU opens for the element, and how.
_FILES_OF_GUESTS = {
    "/var/lib/vmmnet/": "r",
    "/var/lib/vmmnet/lnid.table": "r",
    "/var/lib/vmmnet/corp.vzi": "r",
    "/etc/vmmnet/web.policy": "r",
    "/etc/vmmnet/keys/red1": "r",
    "/run/vmmnet/hostd.sock": "rw",
}
_DAEMON = "/etc/apparmor.d/usr.sbin.libvirtd"
# How libvirt makes the profile of a guest, from its TEMPLATE.qemu.
_GUEST = """\
include <tunables/global>
profile libvirt-guest flags=(attach_disconnected) {
  include <abstractions/libvirt-qemu>
}
"""


@pytest.fixture(scope="session", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    """Each release that there are packages for."""
    return str(request.param)


@pytest.fixture(scope="module")
def system(packages: Mapping[str, Path], release: str) -> Path:
    """A Debian with what the packages depend on, but none of ours."""
    wanted = dependencies(packages.values(), "Depends")
    wanted |= dependencies([packages["vmmnet-control"]], "Recommends")
    wanted |= {"apparmor", "bash-completion", *HEADERS[release].values()}
    return chroot.base([*wanted], LIBVIRT, release)


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
    begun = sorted(each[: each.index(".", 2) + 1] for each in found)
    assert begun in [sorted(each) for each in HEADERS.values()]
    return found


def files(root: Chroot) -> set[str]:
    """What there is, but the key that DKMS makes when it builds its first module."""
    return {line for line in root.files() if "/var/lib/dkms/mok." not in line}


_DOMAIN = """
<domain type='kvm'>
  <name>guest</name>
  <uuid>00000000-0000-4000-9000-000000000001</uuid>
  <metadata>
    <vmmnet:net xmlns:vmmnet='https://vmmnet.example/net/1'>
      <vmmnet:sockets address6='2001:db8:1::c0de'/>
    </vmmnet:net>
  </metadata>
  <memory unit='MiB'>512</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices><emulator>/usr/bin/qemu-system-x86_64-vmmnet</emulator></devices>
</domain>
"""


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
    root.write("/tmp/guest.xml", _DOMAIN)
    assert "virtio-vmrpc-pci" in root.run(
        "vmmnet", "libvirt", "define", "--print", "/tmp/guest.xml"
    )
    root.run("rm", "/tmp/guest.xml")
    root.write("/tmp/web.policy", "default deny\n")
    assert "is right" in root.run("vmmnet", "policy", "test", "/tmp/web.policy")
    root.run("rm", "/tmp/web.policy")
    assert "usage: vmmnet-ha FILE" in root.run("vmmnet-ha", "--help")
    assert "Move addresses" in root.run("vmmnet-hostd", "--help")
    root.run(HOOK, "vm", "prepare", "begin", "-", text="<domain/>")
    root.run("vmrpc-ss", "/dev/null")
    assert "ports that Podman publishes" in root.run("vmrpc-published", "--help")
    # The example serves nothing.
    assert root.run("vmmnet-dnsd", "--check") == "/etc/vmmnet/dnsd.yaml: 0 zones\n"
    assert root.run("getent", "-s", "hosts:vmmnet", "ahosts", "localhost")
    found = kernels(root)
    for release in found:
        about = root.run("modinfo", "-k", release, "vmrpc")
        assert "/updates/dkms/vmrpc.ko" in about
        # The device's number, by which the module is loaded.
        assert "virtio:d0000003Fv" in about
    # Those of the version before have gone.
    assert root.run("dkms", "status").count(": installed") == len(found)


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


def test_lintian_finds_no_errors(packages: Mapping[str, Path], release: str) -> None:
    """That of the release."""
    folder = packages["vmmnet-control"].parent
    (changes,) = folder.glob("*.changes")
    words = ["lintian", "--allow-root", "--fail-on", "error", str(changes)]
    with Chroot(elsewhere.root(release), shared=[folder]) as root:
        print(root.run(*words))


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
    root.write("/etc/vmmnet/ha.conf", "interface: eth0\n")
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


def test_an_upgrade_keeps_configuration_that_was_changed(
    root: Chroot, packages: Mapping[str, Path], tmp_path: Path
) -> None:
    """What dpkg puts beside it is of no effect: libvirt runs no second hook."""
    before = files(root)
    both = [packages["vmmnet-control"], packages["vmmnet-qemu"]]
    root.install(*both)
    for each in HOOK, RULES:
        root.run("sh", "-c", 'echo "# mine" >>"$0"', each)
    added = dict.fromkeys((HOOK, RULES), "# new\n")
    root.install(*(newer(each, tmp_path, added) for each in both))
    for each in HOOK, RULES:
        assert root.run("tail", "-n1", each) == "# mine\n"
        assert root.run("tail", "-n1", f"{each}.dpkg-dist") == "# new\n"
    programs = root.run("find", str(Path(HOOK).parent), "-type", "f", "-perm", "/111")
    assert programs.split() == [HOOK]
    root.purge("vmmnet-control", "vmmnet-qemu")
    assert files(root) == before


def test_removed_packages_leave_configuration_that_does_no_harm(
    root: Chroot, packages: Mapping[str, Path]
) -> None:
    before = files(root)
    # Modules, which take a minute to build, leave nothing either way.
    names = [name for name in NAMES if name != "vmmnet-guest-dkms"]
    root.install(*(packages[name] for name in names))
    root.run("vmmnet", "hostvlan", "add", MAC, "7")
    root.run("apt-get", "--yes", "remove", *names)
    left = {line.split()[0] for line in files(root) - before if line.startswith("/")}
    assert {HOOK, RULES, "/var/lib/vmmnet/lnid.table"} <= left
    assert all(each.startswith(("/etc/", "/var/lib/")) for each in left)
    # A foreign domain starts, one with the element is told what it lacks.
    foreign = re.sub("<metadata>.*</metadata>", "", _DOMAIN, flags=re.DOTALL)
    assert root.run(HOOK, "guest", "prepare", "begin", "-", text=foreign) == ""
    with pytest.raises(tools.CommandFailed, match="install vmmnet-control again, or remove"):
        root.run(HOOK, "guest", "prepare", "begin", "-", text=_DOMAIN)
    assert root.run(HOOK, "guest", "release", "end", "-", text=_DOMAIN) == ""
    # The message's remedy helps.
    root.install(packages["vmmnet-control"])
    with pytest.raises(tools.CommandFailed, match="it is not what 'vmmnet libvirt define'"):
        root.run(HOOK, "guest", "prepare", "begin", "-", text=_DOMAIN)
    # apt does not know those any more that have left nothing.
    root.run("dpkg", "--purge", *names)
    assert files(root) == before


def test_each_package_runs_alone(system: Path, packages: Mapping[str, Path]) -> None:
    """None needs another one of ours."""
    commands = {
        "vmmnet-control": ("vmmnet", "--help"),
        "vmmnet-dnsd": ("vmmnet-dnsd", "--check"),
        "vmmnet-ha": ("vmmnet-ha", "--help"),
        "vmmnet-qemu": (EMULATOR, "--version"),
        "vmmnet-validate": ("vmmnet-validate", "--help"),
    }
    for name, words in commands.items():
        with Chroot(system) as root:
            root.install(packages[name])
            root.run(*words)


def contents(package: Path) -> set[str]:
    """The paths in a package."""
    lines = tools.run(["dpkg-deb", "-c", package]).splitlines()
    return {line.split()[5].lstrip(".") for line in lines}


def test_each_command_has_a_page(packages: Mapping[str, Path]) -> None:
    for package in packages.values():
        paths_in = contents(package)
        programs = {each for each in paths_in if re.fullmatch(r"/usr/s?bin/[^/]+", each)}
        pages = {re.sub(r"\.[18]\.gz$", "", Path(each).name) for each in paths_in}
        assert {Path(each).name for each in programs} <= pages


def test_each_room_has_a_page_and_is_completed(system: Path, packages: Mapping[str, Path]) -> None:
    with Chroot(system) as root:
        root.install(packages["vmmnet-control"])
        rooms = completed(root, "vmmnet", "").split()
        assert {"cvsw", "guest-image", "hostvlan", "libvirt"} <= set(rooms)
    pages = {f"/usr/share/man/man1/vmmnet-{room}.1.gz" for room in rooms}
    assert pages <= contents(packages["vmmnet-control"])


def test_the_controller_runs_with_debians_python(
    root: Chroot, packages: Mapping[str, Path]
) -> None:
    """What the package recommends is what 'vmmnet cvsw run' needs."""
    root.install(packages["vmmnet-control"])
    imports = "import sys; sys.path[0] = '/usr/share/vmmnet'; import vmmnet.cvsw.control.controller"
    root.run("python3", "-c", imports)


def test_systemd_takes_the_units(packages: Mapping[str, Path], tmp_path: Path) -> None:
    """All of their words, and programs that are there."""
    for package in packages.values():
        tools.run(["dpkg-deb", "-x", package, tmp_path / "tree"])
    # Debian 12 has them below /lib.
    found = sorted((tmp_path / "tree").glob("**/lib/systemd/system/*.service"))
    assert len(found) == 7
    for unit in found:
        ours = r"^(Exec\w+=)(/\S+/vm(mnet|rpc))"
        text = re.sub(ours, rf"\1{tmp_path}/tree\2", unit.read_text(), flags=re.M)
        copy = tmp_path / unit.name
        copy.write_text(text)
        # It warns of what it does not know, and goes on.
        words = ["systemd-analyze", "verify", "--man=no", copy]
        told = subprocess.run(words, check=True, capture_output=True, text=True)
        assert told.stdout + told.stderr == ""


@pytest.mark.parametrize("order", ["libvirt-first", "libvirt-last"])
def test_libvirt_may_start_it(
    root: Chroot, packages: Mapping[str, Path], release: str, order: str
) -> None:
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
    rules = root.run("apparmor_parser", "-p", "/tmp/guest")
    for path, access in _FILES_OF_GUESTS.items():
        assert apparmor.allows(rules, path, access), path
    assert not apparmor.allows(rules, "/etc/vmmnet/ha.conf", "r")
    # Later versions of libvirt include the folder themselves.
    lines = root.run("sh", "-c", f"cat {LOCAL} 2>/dev/null || true")
    assert lines.count("by vmmnet-qemu") == (release == "bookworm")
    # The daemon itself runs both.
    root.run("apparmor_parser", "--skip-kernel-load", "--skip-cache", _DAEMON)
    rules = root.run("apparmor_parser", "-p", _DAEMON)
    assert all(apparmor.allows(rules, each, "x") for each in (f"/usr/bin/{EMULATOR}", HOOK))
    # Debian's emulator is still there.
    said = root.run("qemu-system-x86_64", "--version")
    assert f"QEMU emulator version {QEMUS[release]}." in said
    root.purge("vmmnet-qemu")
    assert EMULATOR not in root.run("apparmor_parser", "-p", "/tmp/guest")
    root.run("apparmor_parser", "--skip-kernel-load", "--skip-cache", "/tmp/guest")
    root.run("rm", "/tmp/guest")
    if order == "libvirt-first":
        assert files(root) == before
