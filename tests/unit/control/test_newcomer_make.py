# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``make`` and ``configure`` say before they begin, while they work, and when they can't.

The scripts run in a copy, on a small disk of their own, where apt, dpkg and ninja are programs of
the test and the system is another one.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base import paths, tools, wait
from lab.packages import conclude, debian

#: Makes the disk and the system, and becomes the command.
_ENTER = """\
mount -t tmpfs -o size="$1" clone "$2/clone" &&
cp -a "$2/files/." "$2/clone" &&
mount --bind "$2/os-release" /etc/os-release &&
mount -t tmpfs sbin /usr/sbin &&
unset MAKEFLAGS MFLAGS MAKELEVEL MAKE_TERMOUT MAKE_TERMERR &&
cd "$2/clone" && PATH="$2/bin:$PATH" && shift 2 && exec "$@"
"""
SYSTEMS = {
    "bookworm": ("debian", "12", "", "Debian GNU/Linux 12 (bookworm)"),
    "trixie": ("debian", "13", "", "Debian GNU/Linux 13 (trixie)"),
    "forky": ("debian", "", "", "Debian GNU/Linux forky/sid"),
    "ubuntu": ("ubuntu", "24.04", "debian", "Ubuntu 24.04.3 LTS"),
    "mint": ("linuxmint", "22", "ubuntu debian", "Linux Mint 22"),
    "fedora": ("fedora", "42", "", "Fedora Linux 42 (Server Edition)"),
    "arch": ("arch", "", "", "Arch Linux"),
    "alpine": ("alpine", "3.22.0", "", "Alpine Linux v3.22"),
}
DERIVED, FOREIGN = ("ubuntu", "mint"), ("fedora", "arch", "alpine")
ASKING = (
    *("run", "run-migration", "run-confine", "run-cvsw", "run-dns"),
    *("check", "check-quick", "bench", "guests"),
)


@dataclass
class Clone:
    """The sources, on a system of the test."""

    folder: Path
    system: str = "bookworm"
    size: str = "9g"

    def put(self, name: str, script: str) -> None:
        """A program that is found before the system's."""
        program = self.folder / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}")
        program.chmod(0o755)

    def words(self, *command: str) -> list[str]:
        """A command in the folder of the sources."""
        kind, version, like, pretty = SYSTEMS[self.system]
        text = f'ID={kind}\nID_LIKE="{like}"\nPRETTY_NAME="{pretty}"\n'
        text += f'VERSION_ID="{version}"\n' if version else ""
        (self.folder / "os-release").write_text(text)
        enter = ["unshare", "--map-root-user", "--mount", "sh", "-c", _ENTER, "sh"]
        return [*enter, self.size, str(self.folder), *command]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; its errors are with its output."""
        done = subprocess.run(
            self.words(*command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=wait.PATIENCE,
        )
        assert "Traceback" not in done.stdout
        return done

    def refusal(self, *command: str) -> str:
        """The one sentence of a command that does nothing."""
        done = self.run(*command)
        lines = [line for line in done.stdout.splitlines() if not line.startswith("make: ***")]
        assert done.returncode and len(lines) == 1, done.stdout
        return lines[0]


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """Only what does the asking: nothing that would begin is there."""
    for name in ("bin", "clone", "files/qemu"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("Makefile", "configure"):
        shutil.copy2(paths.ROOT / name, tmp_path / "files")
    for file in (paths.ROOT / "qemu").iterdir():
        if file.is_file():
            shutil.copy2(file, tmp_path / "files/qemu")
    made = Clone(tmp_path)
    # What is asked for first must not depend on what is found here.
    made.put("apt-get", "echo apt-get was called; exit 100\n")
    made.put("dpkg-query", "exit 1\n")
    made.put("dpkg", "")
    return made


def without(clone: Clone, *missing: str) -> str:
    """A folder for PATH with the programs that every system has, but some."""
    every = [
        "sh",
        "sed",
        "tr",
        "tail",
        "awk",
        "cut",
        "df",
        "du",
        "id",
        "dirname",
        "unshare",
        "env",
        "make",
        "command",
        "true",
    ]
    folder = clone.folder / "few"
    folder.mkdir(exist_ok=True)
    for name in {*every, "bash"} - {*missing}:
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    return str(folder)


# ---- the system ------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "goal"),
    [("ubuntu", goal) for goal in ASKING]
    + [(system, goal) for system in ("mint", *FOREIGN) for goal in ("run", "check")],
)
def test_another_system_is_asked_for_first(clone: Clone, system: str, goal: str) -> None:
    clone.system = system
    said = clone.refusal("make", goal)
    assert said.startswith(
        f"make {goal}: needs Debian 12 or 13, and this is {SYSTEMS[system][3]}: "
    )
    assert "podman build" in said and "docs/other-systems.md" in said


@pytest.mark.parametrize("goal", ["deps", "deb"])
@pytest.mark.parametrize("system", FOREIGN)
def test_packages_are_of_debian(clone: Clone, system: str, goal: str) -> None:
    clone.system = system
    assert "needs Debian 12 or 13" in clone.refusal("make", goal)


def test_without_apt_and_bash(clone: Clone) -> None:
    """As on Alpine; there is no line of a shell that does not find them."""
    clone.system = "alpine"
    path = f"PATH={without(clone, 'bash')}"
    for goal in ("run", "check", "deps", "deb"):
        assert "and this is Alpine Linux v3.22" in clone.refusal("env", path, "make", goal)
    said = clone.refusal("env", path, "./configure")
    assert said.startswith("configure: needs Debian 12 or 13 to fetch QEMU's source by apt; Alpine")
    assert "--qemu-src" in said
    said = clone.refusal("env", path, "./configure", "--qemu-src=/q")
    assert said == "configure: needs bash, which is not installed."


@pytest.mark.parametrize("system", DERIVED)
def test_a_derivative_is_told_what_works(clone: Clone, system: str) -> None:
    clone.system = system
    for words in (["make", "deps"], ["make", "deb"], ["./configure"]):
        said = clone.run(*words).stdout.splitlines()[0]
        assert f"on {SYSTEMS[system][3]}, which derives from Debian, " in said
        assert "'make run' and 'make check' do not work" in said


def test_given_sources_are_taken_on_another_system(clone: Clone) -> None:
    clone.system = "fedora"
    done = clone.run("./configure", "--qemu-src=/none")
    assert "on Fedora Linux 42 (Server Edition) install by hand" in done.stdout
    assert "--qemu-src=/none does not exist" in done.stdout


def test_help_is_for_every_system(clone: Clone) -> None:
    clone.system = "fedora"
    done = clone.run("./configure", "--help")
    assert done.returncode == 0 and done.stdout.startswith("usage: ./configure")


@pytest.mark.parametrize("system", ["bookworm", "trixie", "forky"])
def test_a_debian_goes_on(clone: Clone, system: str) -> None:
    clone.system = system
    done = clone.run("make", "run")
    assert "deps: installing " in done.stdout
    assert (
        "built and tested on Debian 12 and 13; on Debian GNU/Linux forky/sid" in done.stdout
    ) == (system == "forky")


# ---- root, and the disk ----------------------------------------------------


@pytest.mark.parametrize("goal", ASKING)
def test_root_is_asked_for_first(clone: Clone, goal: str) -> None:
    """Not after ten minutes of compiling."""
    clone.put("id", "echo 1000\n")
    said = clone.refusal("make", goal)
    assert said.startswith(f"make {goal}: needs root") and f"run 'sudo make {goal}'" in said


def test_a_container_without_privileges(clone: Clone) -> None:
    clone.put("unshare", "exit 1\n")
    said = clone.refusal("make", "run")
    assert "root may not do here" in said and "--privileged" in said


def test_a_normal_user_is_told_what_to_install(clone: Clone) -> None:
    clone.put("id", "echo 1000\n")
    assert clone.refusal("make", "deps").startswith(
        "deps: only root can install packages; run: sudo apt-get install "
    )


@pytest.mark.parametrize("goal", ["run", "check", "check-quick", "deb"])
def test_a_small_disk_is_refused_with_numbers(clone: Clone, goal: str) -> None:
    clone.size = "100m"
    said = clone.refusal("make", goal)
    assert said.startswith(f"make {goal}: needs ") and f" MiB more in {clone.folder}/clone" in said
    assert " MiB are free: make room, or clone to a larger disk." in said


def test_the_need_of_disk_is_told_once(clone: Clone) -> None:
    """Not where most of it is there."""
    assert f"make run: takes 1600 MiB in {clone.folder}/clone" in clone.run("make", "run").stdout
    clone.put("du", "echo 1500 total\n")
    assert "make run: takes" not in clone.run("make", "run").stdout


# ---- apt -------------------------------------------------------------------

#: What apt-get says to its status descriptor in the course of an installation.
_STATUS = """\
case "$*" in *install*) ;; *) exit ;; esac
echo 'dlstatus:1:31.5:Retrieving file 1 of 9' >&3
echo 'pmstatus:gcc-12:62.25:Unpacking gcc-12' >&3
"""


def test_apt_is_not_silent(clone: Clone) -> None:
    """On a terminal; elsewhere a line in ten seconds."""
    clone.put("apt-get", _STATUS)
    done = clone.run("script", "-qec", "qemu/deps run", "/dev/null")
    assert done.returncode == 0
    assert "deps: 31 % fetched" in done.stdout and "deps: 62 % installed: gcc-12" in done.stdout


def test_a_full_disk_while_installing(clone: Clone) -> None:
    clone.put(
        "apt-get", "echo 'E: Write error - write (28: No space left on device)' >&2; exit 100"
    )
    done = clone.run("qemu/deps", "run")
    assert done.returncode == 1
    assert "deps: the disk is full (" in done.stdout and " MiB free): make room" in done.stdout


def test_packages_that_apt_does_not_know(clone: Clone) -> None:
    clone.put("apt-get", "echo 'E: Unable to locate package gcc-12' >&2; exit 100")
    done = clone.run("qemu/deps", "run")
    assert "deps: this system's apt has no gcc-12: add a mirror of Debian 12 or 13" in done.stdout


def interrupted(clone: Clone, begun: str, *command: str) -> tuple[int, str]:
    """Press Ctrl-C when a program of the test has written a file; exit status and output."""
    child = subprocess.Popen(
        clone.words(*command),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # A shell in the background would have it ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        wait.until(lambda: (clone.folder / begun).exists(), begun)
        os.killpg(child.pid, signal.SIGINT)
        said = child.communicate(timeout=wait.PATIENCE)[0]
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
    return child.returncode, said


def test_an_interrupted_installation(clone: Clone) -> None:
    """The script that keeps services from starting is not left."""
    clone.put("apt-get", f"touch {clone.folder}/begun; exec sleep 1000\n")
    check = "trap : INT; qemu/deps run; echo status $?; ls /usr/sbin"
    _, said = interrupted(clone, "begun", "sh", "-c", check)
    lines = said.splitlines()
    assert lines[0].startswith("deps: installing ") and lines[1].startswith("deps: interrupted; ")
    assert lines[2:] == ["status 130"]


# ---- compiling -------------------------------------------------------------


def test_an_interrupted_build(clone: Clone) -> None:
    """One line, and the status of the signal."""
    clone.put("ninja", f"echo '[1/9] cc'; touch {clone.folder}/begun; exec sleep 1000\n")
    check = "trap : INT; mkdir -p build/qemu-lean; qemu/build build/qemu-lean; echo status $?"
    _, said = interrupted(clone, "begun", "sh", "-c", check)
    assert said == "qemu-lean: interrupted; the next build goes on from here\nstatus 130\n"


@pytest.mark.parametrize(
    "ninja",
    [
        "echo 'FAILED: x.o'; echo 'fatal error: error writing: No space left on device'; exit 1\n",
        "head -c 200M /dev/zero >fill; echo 'FAILED: x.o'; exit 1\n",
        # The log has no room.
        "head -c 200M /dev/zero >fill; yes 'a warning' | head -c 1M\n",
    ],
)
def test_a_full_disk_while_compiling(clone: Clone, ninja: str) -> None:
    clone.put("ninja", f"exec 2>/dev/null; {ninja}")
    clone.size = "50m"
    done = clone.run("sh", "-c", "mkdir -p build/qemu-lean && qemu/build build/qemu-lean")
    last = done.stdout.splitlines()[-1]
    assert done.returncode == 1 and last.startswith("qemu-lean: the disk is full ("), last
    assert last.endswith(" MiB free): make room and build again")


# ---- fetching --------------------------------------------------------------

_FETCH = """\
case "$*" in
*indextargets*) echo 'Debian main trixie http://mirror.example/debian' ;;
*) {}; exit 100 ;;
esac
"""


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        ("echo 'E: Failed to fetch http://m/x  404  Not Found' >&2", "check the network"),
        ("echo 'E: Failed to fetch http://m/x  No space left on device' >&2", "the disk is full"),
        # Nothing can be written to the log.
        (
            "head -c 200M /dev/zero >fill 2>/dev/null; echo 'E: 404 Not Found' >&2",
            "the disk is full",
        ),
    ],
)
def test_a_full_disk_while_fetching(clone: Clone, fails: str, said: str) -> None:
    clone.put("apt-get", _FETCH.format(fails))
    clone.put("dpkg-source", "")
    clone.put("apt-cache", "")
    clone.size = "50m"
    done = clone.run("qemu/fetch")
    last = done.stdout.splitlines()[-1]
    assert done.returncode and last.startswith("fetch: ") and said in last
    assert ("404" in last) == (said == "check the network")


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("404  Not Found", "the mirror has no such source any more"),
        ("Connection timed out", "check the network"),
    ],
)
def test_a_source_that_is_only_listed(clone: Clone, why: str, said: str) -> None:
    fails = f"case $* in *update*) exit ;; esac; echo 'E: Failed to fetch http://m/x  {why}' >&2"
    clone.put("apt-get", _FETCH.format(fails))
    clone.put("apt-cache", "echo Version: 1:10.0.49+ds-1\n")
    clone.put("dpkg-source", "")
    done = clone.run("qemu/fetch")
    last = done.stdout.splitlines()[-1]
    assert done.returncode and last.startswith("fetch: ") and said in last, last
    assert "qemu 1:10.0.49+ds-1" in last and "--qemu-src=DIR|ARCHIVE" in last


# ---- the test runner, the benchmarks ---------------------------------------


@pytest.mark.parametrize("program", ["tests/run", "bench/run"])
def test_an_interrupted_runner(tmp_path: Path, program: str) -> None:
    """Interrupted in its first import, as anywhere: no traceback."""
    code = "import sys, runpy; sys.argv[0] = sys.argv[1]; del sys.argv[1]\n"
    code += "def interrupt(*_): raise KeyboardInterrupt\n"
    code += "from lab.base import net, process\n"
    code += "import importlib; net.reap_stale = importlib.import_module = interrupt\n"
    code += "runpy.run_path(sys.argv[0], run_name='__main__')"
    words = [sys.executable, "-c", code, str(paths.ROOT / program)]
    words += ["vmrpc"] if program == "bench/run" else ["--layers", "qtest"]
    env = {**os.environ, "PYTHONPATH": str(paths.ROOT / "control")}
    done = subprocess.run(words, env=env, text=True, capture_output=True, check=False)
    ended = f"\n{program}: interrupted; all started programs have ended.\n"
    assert (done.returncode, done.stderr) == (130, ended)


# ---- the demonstrations ----------------------------------------------------


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (KeyboardInterrupt(), 130, "make run: interrupted; all started programs have ended.\n"),
        (
            OSError(28, "No space left on device"),
            1,
            f"make run: the disk is full ({paths.ROOT} has ",
        ),
        (tools.CommandFailed("mksquashfs: exit 1\nNo space left on device"), 1, "the disk is full"),
        (tools.CommandFailed("mmdebstrap: exit 25"), 1, "make run: mmdebstrap: exit 25\n"),
        (tools.MissingTool("ip is not installed"), 1, "make run: ip is not installed\n"),
        (debian.Unavailable("this system is no Debian"), 1, "make run: this system is no Debian"),
    ],
)
def test_how_a_demonstration_ends(
    error: BaseException, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> None:
        raise error

    assert conclude.conclude("make run", work) == status
    assert said in capsys.readouterr().err


def test_a_fault_of_ours_is_not_hidden() -> None:
    def work() -> None:
        raise PermissionError(13, "Permission denied")

    with pytest.raises(PermissionError):
        conclude.conclude("make run", work)
