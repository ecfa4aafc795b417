# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs for arm64, compiled on another architecture, and the unit tests of them.

    make test ARCH=arm64 [ROOM=net/esp] [TEST=esp-sa]

Every program and every unit test is compiled with warnings as errors, against the libraries in a
root of Debian of that architecture.  The tests then run in QEMU's emulation of processes; those
that need more of a kernel than it emulates run in a guest.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from lab.base import architecture, paths, tools
from lab.base.lock import locked
from lab.packages import debian
from lab.packages.conclude import conclude

TARGET = architecture.ARM64
FOLDER = paths.BUILD / f"unit-{TARGET.name}"
#: What is compiled against.
_DEVELOPMENT = (
    *("libbpf-dev", "libc6-dev", "libglib2.0-dev", "libseccomp-dev", "libssl-dev"),
    *("libunbound-dev", "libyaml-dev", "linux-libc-dev"),
)
#: What the same programs need in a guest; the names of protocols for ip.
_IN_GUEST = ("netbase", "libglib2.0-0", "libseccomp2", "libssl3", "libunbound8", "libyaml-0-2")
_LIMIT = 600.0
_FILE_GONE = "it runs itself again from /proc/self/exe, which is then the emulation"
_AGAIN = "it runs itself again as a process of its own, which the emulation leaves to the host"
_OPTIONS = "it sets options of sockets, or reads control messages, that are not emulated"
#: Tests that the emulation of processes cannot run, and why; a guest runs them.
IN_GUEST = {
    "base-control": _AGAIN,
    "hostvlan-damage": _FILE_GONE,
    "hostvlan-dhcp": _FILE_GONE,
    "hostvlan-follow": _FILE_GONE,
    "hostvlan-golden": _FILE_GONE,
    "hostvlan-group": _FILE_GONE,
    "hostvlan-guard": _FILE_GONE,
    "hostvlan-offers": _FILE_GONE,
    "hostvlan-refused": _FILE_GONE,
    "hostvlan-sender": _FILE_GONE,
    "hostvlan-table": _FILE_GONE,
    "hostvlan-verdict": _FILE_GONE,
    "mip6-moves": _AGAIN,
    "vmrpc-cmsg": _OPTIONS,
    "vmrpc-server": _OPTIONS,
    "vmrpc-server-dns": _OPTIONS,
    "vmrpc-server-errors": _OPTIONS,
    "vmrpc-server-inspect": _OPTIONS,
    "vmrpc-server-moves": _AGAIN,
    "vmrpc-server-multicast": _OPTIONS,
    "vmrpc-server-ping": _OPTIONS,
    "vmrpc-server-reach": _OPTIONS,
    "vmrpc-sockopt": _OPTIONS,
}


@dataclass(frozen=True)
class Test:
    """A unit test of a room."""

    name: str
    room: str
    program: Path


def root() -> Path:
    """Make the root that programs are compiled against; nothing in it is configured."""
    product = paths.BUILD / "image" / f"cross-{paths.digest([debian.SUITE, *_DEVELOPMENT])}"
    with locked("cross"):
        if not product.exists():
            tools.require("mmdebstrap")
            product.parent.mkdir(parents=True, exist_ok=True)
            fresh = product.with_suffix(".new")
            tools.run(["rm", "-rf", fresh])
            tools.run(
                [
                    *("mmdebstrap", "--quiet", "--mode=root", "--variant=extract"),
                    *(f"--architectures={TARGET.name}", f"--include={','.join(_DEVELOPMENT)}"),
                    "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
                    *(debian.SUITE, fresh),
                    *(entry for entry in debian.sources() if "-backports" not in entry),
                ]
            )
            fresh.rename(product)
    return product


def configure(folder: Path = FOLDER) -> None:
    """Prepare a build of everything that needs nothing of QEMU's."""
    system = root()
    tools.require("meson", "ninja", f"{TARGET.triplet}-gcc", f"qemu-{TARGET.qemu}-static")
    if (folder / "build.ninja").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    cross = folder / "cross.ini"
    template = Path(__file__).with_suffix(".ini").read_text()
    cross.write_text(template.replace("'ROOT'", f"'{system}'"))
    tools.run(["meson", "setup", "--cross-file", cross, folder, paths.ROOT])


def compiled(rooms: Sequence[str] = (), names: Sequence[str] = ()) -> list[Test]:
    """Compile the unit tests that are wanted, by default all, and then every program, too."""
    configure()
    listed = json.loads((FOLDER / "meson-info" / "intro-tests.json").read_text())
    tests = [
        Test(each["name"], each["suite"][0].partition(":")[2], Path(each["cmd"][-1]))
        for each in listed
        # The others are scripts that read sources.
        if Path(each["cmd"][-1]).is_relative_to(FOLDER)
    ]
    wanted = [
        each
        for each in tests
        if (not rooms or each.room in rooms) and (not names or each.name in names)
    ]
    goals = [str(each.program.relative_to(FOLDER)) for each in wanted]
    if not rooms and not names:
        goals.append("all")
    # Manual pages are made of what the programs say.
    told = {**os.environ, "VMMNET_RUNNER": " ".join(emulation())}
    if subprocess.run(["ninja", "-C", FOLDER, "--quiet", *goals], env=told).returncode:
        raise tools.CommandFailed(f"{TARGET.name}: compiling failed, see above")
    return wanted


def emulation() -> tuple[str, ...]:
    """The command that runs a program in the emulation of processes."""
    return f"qemu-{TARGET.qemu}-static", "-cpu", "max", "-L", str(root())


def _emulated(test: Test) -> str:
    """Run a test in the emulation of processes; what it says if it fails, else nothing."""
    ended = subprocess.run(
        ["timeout", str(_LIMIT), *emulation(), str(test.program)],
        cwd=FOLDER,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    return ended.stdout[-2000:] + f"\nexit {ended.returncode}" if ended.returncode else ""


def _in_guest(tests: Sequence[Test]) -> Iterator[tuple[Test, str]]:
    """Run tests in a guest of the architecture."""
    os.environ["VMMNET_ARCH"] = TARGET.name
    # They take the architecture when they are imported.
    from lab.guest.guest import Guest

    files = {f"/tests/{each.name}": each.program for each in tests}
    with Guest(name="unit", packages=_IN_GUEST, files=files, memory="1G") as guest:
        for each in tests:
            ended = guest.run(f"cd /tests && ./{each.name} 2>&1", timeout=_LIMIT, check=False)
            yield each, f"{ended.stdout[-2000:]}\nexit {ended.rc}" if ended.rc else ""


def _report(place: str, results: Iterator[tuple[Test, str]]) -> list[Test]:
    """Print a line for each test; return those that failed."""
    failed = []
    for test, said in results:
        print(f"{'FAILED' if said else 'ok    '} {place} {test.room} {test.name}", flush=True)
        if said:
            failed.append(test)
            print("    " + said.strip().replace("\n", "\n    "), flush=True)
    return failed


def run(rooms: Sequence[str], names: Sequence[str], *, has_guest: bool) -> int:
    """Compile and run tests; returns how many failed."""
    tests = compiled(rooms, names)
    here = [each for each in tests if each.name not in IN_GUEST]
    there = [each for each in tests if each.name in IN_GUEST]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = _report("process", zip(here, pool.map(_emulated, here), strict=True))
    if there and has_guest:
        failed += _report("guest  ", _in_guest(there))
    skipped = 0 if has_guest else len(there)
    passed = len(tests) - len(failed) - skipped
    print(f"{passed} passed, {len(failed)} failed, {skipped} skipped", flush=True)
    return len(failed)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="make test ARCH=arm64", description=__doc__)
    parser.add_argument("--room", action="append", default=[], help="tests of this room")
    parser.add_argument("--no-guest", action="store_true", help="skip tests that need a guest")
    parser.add_argument("tests", nargs="*", help="names of tests")
    options = parser.parse_args()
    failed = 0

    def work() -> None:
        nonlocal failed
        failed = run(options.room, options.tests, has_guest=not options.no_guest)

    return conclude("make test", work) or bool(failed)


if __name__ == "__main__":
    sys.exit(main())
