# SPDX-License-Identifier: GPL-2.0-or-later
"""debian/ agrees with the rest of the sources."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from unittest.mock import Mock

import pytest
import vmmnet
from lab.base import architecture, paths, tools
from lab.packages import chroot, elsewhere
from vmmnet.__main__ import parser as command_line
from vmmnet.architecture import AMD64, ARM64
from vmmnet.libvirt.check import apparmor


def text(name: str) -> str:
    """A file of the sources."""
    return (paths.ROOT / name).read_text()


def section(name: str) -> set[str]:
    """The packages in a section of qemu/packages.txt."""
    (found,) = re.findall(rf"^\[{name}\]\n((?:[^\[].*\n|\n)*)", text("qemu/packages.txt"), re.M)
    return {line for line in found.splitlines() if re.match(r"[a-z0-9]", line)}


def test_each_architecture_of_a_host_has_packages() -> None:
    """With the emulator's name as libvirt's AppArmor and completion for bash have it."""
    architectures = re.findall(r"^Architecture: (.*)", text("debian/control"), re.M)
    assert set(architectures) == {"all", f"{AMD64.name} {ARM64.name}"}
    rules, completion = text("debian/apparmor/libvirt-qemu"), text("debian/completion/qemu")
    for each in AMD64, ARM64:
        assert apparmor.allows(rules, str(each.emulator), "rix")
        assert each.emulator.name in completion.splitlines()[-1].split()
        assert f"linux-headers-{each.name} |" in text("debian/control")


def test_the_root_for_another_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is linked with is of that architecture, what compiles is of this one."""
    made = Mock()
    monkeypatch.setattr(chroot, "base", made)
    other = architecture.AMD64 if architecture.HOST == architecture.ARM64 else architecture.ARM64
    elsewhere.root("trixie", other)
    names = made.call_args.args[0]
    assert made.call_args.kwargs == {"foreign": other.name}
    assert {f"libglib2.0-dev:{other.name}", f"pkg-config:{other.name}"} <= set(names)
    assert {"meson", "clang", f"crossbuild-essential-{other.name}"} <= set(names)
    assert not [each for each in names if each.endswith("-dev")]


def test_there_is_one_version() -> None:
    """That of the Python package; dpkg and meson want theirs in files of their own."""
    version = tomllib.loads(text("control/pyproject.toml"))["project"]["version"]
    assert text("debian/changelog").startswith(f"vmmnet ({version})")
    assert version == vmmnet.VERSION
    assert f"version: '{version}'" in text("meson.build")
    assert f'PACKAGE_VERSION="{version}"\n' in text("guest-linux/vmrpc/dkms.conf")


def test_make_deb_installs_what_the_packages_are_built_with() -> None:
    (field,) = re.findall(r"^Build-Depends:((?:.*\n )*.*)", text("debian/control"), re.M)
    items = [item.strip() for item in field.split(",")]
    wanted = {re.split(r"[ :(<]", item)[0] for item in items if "<cross>" not in item}
    installed = section("build") | section("full") | section("deb") | {"debhelper-compat"}
    assert wanted <= installed, wanted - installed


def test_the_rules_build_and_install_each_package() -> None:
    packages = set(re.findall(r"^Package: (\S+)", text("debian/control"), re.M))
    for step in ("build", "install"):
        lines = re.findall(rf"^({step}-[^:=]*):", text("debian/rules"), re.M)
        # Those of the DNS room are built together.
        assert packages | {"programs"} == set(re.findall(rf"{step}-(\S+)", "\n".join(lines)))


def test_what_an_installed_package_provides_is_not_missing(tmp_path: Path) -> None:
    """A name may be virtual in one release of Debian; who is not root is asked for nothing."""
    names = sorted(section("dns"))
    real, virtual = names[1:], names[0]
    listed = [f"installed {each}, " for each in real]
    listed.append(f"installed {virtual}t64, another (= 1), {virtual} (= 1.2-3)")
    listed.append("config-files removed, gone")
    query = tmp_path / "dpkg-query"
    query.write_text("#!/bin/sh\ncat <<END\n" + "\n".join(listed) + "\nEND\n")
    (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n")
    for program in query, tmp_path / "id":
        program.chmod(0o755)
    found = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [paths.ROOT / "qemu/deps", "dns"]
    ended = subprocess.run(command, env=found, capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("deps: nothing is missing (dns)\n", "")
    query.write_text("#!/bin/sh\necho 'config-files ${Package}, '\n")
    ended = subprocess.run(command, env=found, capture_output=True, text=True)
    assert f"sudo apt-get install --yes --no-install-recommends {' '.join(names)}" in ended.stderr


def test_a_suite_that_is_no_name_is_told() -> None:
    command = [sys.executable, "-m", "lab.packages.elsewhere", "Trixie"]
    found = {**os.environ, "PYTHONPATH": paths.PYTHONPATH}
    ended = subprocess.run(command, cwd=paths.ROOT, env=found, capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr == "deb: SUITE=Trixie: give a release of Debian, such as trixie\n"


def test_packages_that_are_not_built_to_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line says why."""
    monkeypatch.setattr(sys, "argv", ["elsewhere", "trixie"])
    for error, said, status in (
        (KeyboardInterrupt(), "deb: interrupted; all started programs have ended.", 130),
        (tools.CommandFailed("debian/make-packages: exit 1"), "deb: debian/make-packages: ", 1),
        (OSError(28, "No space left on device"), "deb: the disk is full ", 1),
    ):
        monkeypatch.setattr(elsewhere, "build", Mock(side_effect=error))
        assert elsewhere.main() == status
        assert f"\n{said}" in capsys.readouterr().err


def test_the_rules_give_each_release_its_version(tmp_path: Path) -> None:
    """An upgrade of the system passes to the packages of the next one."""
    (found,) = re.findall(r"^RELEASE := \$\(shell (.*)\)$", text("debian/rules"), re.M)
    for release, version in (
        ('ID=debian\nVERSION_ID="12"\n', "+deb12"),
        ('ID=debian\nVERSION_ID="13"\n', "+deb13"),
        ("ID=debian\nVERSION_CODENAME=sid\n", ""),
        ('ID=ubuntu\nVERSION_ID="24.04"\n', ""),
    ):
        (tmp_path / "os-release").write_text(release)
        command = found.replace("$$", "$").replace("/etc/os-release", str(tmp_path / "os-release"))
        said = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
        assert said.stdout.strip() == version


@pytest.mark.parametrize("qemu", ["10.0.13", "10.2.2", "11.0.0", "11.1.3"])
def test_the_rules_say_which_libvirt_does_not_save_vms(tmp_path: Path, qemu: str) -> None:
    (found,) = re.findall(r"^BREAKS := \$\(shell (.*)\)$", text("debian/rules"), re.M)
    (tmp_path / "VERSION").write_text(f"{qemu}\n")
    command = found.replace("qemu/src", str(tmp_path))
    said = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    breaks = "libvirt-daemon-driver-qemu (<< 12.1)\n" if qemu.startswith("11") else ""
    assert said.stdout == breaks
    assert "-V'qemu:Breaks=$(BREAKS)'" in text("debian/rules")
    assert "\nBreaks: ${qemu:Breaks}\n" in text("debian/control")


def test_a_program_has_a_page() -> None:
    """Each program that a package installs; the pages are made when it is built."""
    debian = paths.ROOT / "debian"
    pages = {path.name for path in (debian / "man").glob("*.[1-8]")}
    by_hand = {Path(line).name for file in debian.glob("*.manpages") for line in file.open()}
    assert {name.strip() for name in by_hand} == pages - {"vmmnet.1"}
    installed = [line for file in debian.glob("*.install") for line in file.read_text().split()]
    names = [Path(each).name for each in installed if each.startswith(("usr/bin/", "usr/sbin/"))]
    assert {*("vmmnet-ha", "vmmnet-hostd", "vmmnet-dnsd", "vmmnet-validate", "vmmnet-zone")} == {
        *names
    }
    for name in names:
        assert [each for each in installed if re.match(rf"usr/share/man/man\d/{name}\.\d$", each)]
    rules = text("debian/rules")
    assert "debian/man/emulator $(QEMU)/$(EMULATOR)" in rules
    assert "debian/man/program $</usr/share/man/man1/vmrpc-ss.1 $(MODULE)/vmrpc-ss" in rules
    relay = text("guest-linux/published/Makefile")
    assert "debian/man/program $(root)/share/man/man8/vmrpc-published.8" in relay
    assert "/debian/man/rooms" in text("control/install")


def _leaves(parser: argparse.ArgumentParser) -> list[str]:
    """What is typed for each command that has none below it."""
    below = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    found = [leaf for each in below for made in each.choices.values() for leaf in _leaves(made)]
    return found or [parser.prog]


def test_a_page_has_all_commands_of_a_room(tmp_path: Path) -> None:
    tools.run([sys.executable, paths.ROOT / "debian/man/rooms", tmp_path, paths.ROOT / "control"])
    written = "".join(page.read_text() for page in tmp_path.glob("vmmnet*.1"))
    said = written.replace("\\-", "-")
    missing = [leaf for leaf in _leaves(command_line()) if f"\n{leaf} " not in said]
    assert not missing


def test_the_page_of_a_program_has_its_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the program and of each command; then what no help says."""
    # A script runs by itself also where programs need this.
    monkeypatch.setenv("VMMNET_RUNNER", "false")
    program, page = tmp_path / "vmmnet-ha", tmp_path / "vmmnet-ha.8"
    program.write_text(_PROGRAM)
    program.chmod(0o755)
    tools.run([paths.ROOT / "debian/man/program", page, program])
    made = page.read_text()
    assert (
        "vmmnet\\-ha \\- run an agent\n.SH SYNOPSIS\n.nf\nvmmnet\\-ha FILE\nvmmnet\\-ha show"
        in made
    )
    assert ".SH SHOW\n.nf\nvmmnet\\-ha show\n\nshow bindings\n" in made
    assert made.endswith(text("debian/man/vmmnet-ha.8.more"))


#: A program whose help has the form of base/args.c.
_PROGRAM = """\
#!/bin/sh
case "$*" in
"show --help") printf 'usage: vmmnet-ha show\\n\\nshow bindings\\n' ;;
*) printf 'usage: vmmnet-ha FILE\\n       vmmnet-ha show\\n\\nRun an agent.\\n'
   printf '\\ncommands:\\n  show       show bindings\\n' ;;
esac
"""


#: An emulator that has what the page is about, and QEMU's own.
_EMULATOR = """\
#!/bin/sh
case "$*" in
"-device virtio-rng-pci,help") echo virtio-rng-pci options: ; echo '  aer=<bool>' ;;
"-device virtio-net-pci,help") echo virtio-net-pci options: ; echo '  mac=<str>' ;;
"-device virtio-vmrpc-pci,help") echo o: ; echo '  aer=<bool>'; echo '  address6=<str>' ;;
"-device virtio-net-cvsw-pci,help") echo o: ; echo '  mac=<str>'; echo '  miss=<str>' ;;
"-object vmmnet-handoff,help") echo o: ; echo '  path=<string>  - a socket' ;;
-help) printf -- '-netdev %s,id=str\\n      what it is\\n' tap stage hostvlan mip6 ;;
*) exit 1 ;;
esac
"""


def test_the_page_of_the_emulator(tmp_path: Path) -> None:
    """It has our options, and not those that other devices have; another page says what it is."""
    emulator = tmp_path / "qemu-system-aarch64"
    emulator.write_text(_EMULATOR)
    emulator.chmod(0o755)
    tools.run([paths.ROOT / "debian/man/emulator", emulator, tmp_path])
    whole = (tmp_path / "man1/qemu-system-aarch64-vmmnet.1").read_text()
    assert ".TH QEMU-SYSTEM-AARCH64-VMMNET 1 " in whole and "@" not in whole
    assert "QEMU's emulator of aarch64, with" in whole
    page = (tmp_path / "man7/vmmnet-qemu.7").read_text()
    assert "netdevs of qemu\\-system\\-aarch64\\-vmmnet\n" in page
    assert page.startswith('.\\" SPDX') and ".TH VMMNET\\-QEMU 7 " in page
    for own in ("address6=<str>", "miss=<str>", "path=<string>", "what it is"):
        assert own in page
    assert "aer=" not in page and "mac=" not in page and "\\-netdev tap" not in page


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--help",), 0, "usage: vmrpc-ss [FILE]"),
        (("--hlep",), 2, "vmrpc-ss: '--hlep' is wrong; usage: vmrpc-ss [FILE]"),
        (("a", "b"), 2, "vmrpc-ss: 'a b' is wrong; usage: vmrpc-ss [FILE]"),
        (("/none",), 1, "vmrpc-ss: /none cannot be read: is the module vmrpc loaded here?"),
    ],
)
def test_vmrpc_ss_says_what_is_wrong(words: tuple[str, ...], status: int, said: str) -> None:
    program = paths.ROOT / "guest-linux/vmrpc/vmrpc-ss"
    done = subprocess.run(["sh", program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == status and (done.stdout + done.stderr).startswith(said)
