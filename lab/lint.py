# SPDX-License-Identifier: GPL-2.0-or-later
"""What tools find in the sources without running them: ``make lint``.

Each tool is a case. A finding is mended; one that is not a fault is named here, with its reason.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .base import paths, tools
from .base.report import Counts, Failure
from .packages import wheels

CHECKPATCH = paths.ROOT / "qemu" / "src" / "scripts" / "checkpatch.pl"
_SETTINGS = ("--config", "control/pyproject.toml")
_PUBLISHED = "guest-linux/published/vmrpc-published"
_PYTHON = ("control", "lab", "tests", "bench", _PUBLISHED)
#: What mypy reads: the product, the laboratory, the benchmarks, and the commands of tests.
_TYPED = ("control/vmmnet", "lab", "bench", "tests/machines", "tests/run", _PUBLISHED)
#: C in the style of somebody else: the guest's kernel, and OpenSSH, whose source these files join.
_OTHER_STYLE = ("guest-linux/", "examples/ssh/", "lab/guest/", "tests/guest/")
#: What checkpatch takes for an error: message, file, why it is none.
_NO_ERRORS = (
    (r"externs should be avoided", r"tests/", "libFuzzer and ld --wrap name these functions"),
    (
        r"consider using qemu_strtou?l|instead of sysconf",
        r"",
        "cores and programs have no QEMU headers",
    ),
    (r"required around that '\*'", r"", "it takes _Atomic and a compound literal for a factor"),
    (r"use strerror\(\) instead", r"hw/vmrpc/(audit|judge)/", "readers compare the error's name"),
    (r"suspect code indent", r"", "it does not see the end of a body at 'for', 'while' of a test"),
    (r"Macros with ", r"", "initializers and lists of arguments cannot be in parentheses"),
    (r"Saw unacceptable licenses", r"include/vmmnet/", "the guest's module includes them too"),
    (r"return of an errno", r"dnsd/server/service/notifier\.c", "its callers log an errno"),
    (r"Use of volatile", r"bench/cvsw/queue\.c", "the device writes there"),
    (r"line over 90", r"dnsd/server/service/|tests/interop/", "a text or a name is one word"),
)
#: Numbers of shellcheck's findings that are none of ours.
_NO_WARNINGS = {
    "SC1090,SC1091": "a file is named at run time",
    "SC2015": "A && B || C, where B cannot fail",
    "SC2034,SC2154": "a file that is sourced shares names with the one that sources it",
    "SC2148,SC2187": "commands for a shell that is already there",
    "SC2164": "in scripts of a machine's boot, which has nowhere else to go",
    "SC3045": "dash has ulimit -n",
}
#: Words of programs, protocols and the C of this tree; and mistakes that tests make on purpose.
_WORDS = (
    *(
        "bu",
        "conext",
        "debians",
        "ect",
        "ede",
        "fro",
        "gost",
        "iif",
        "nd",
        "passt",
        "servent",
        "upto",
    ),
    *("aer", "allwo", "alow", "bridg", "hda", "nin", "ond", "onwer", "relaod", "shwo", "tha"),
    *("ther", "uesr", "weigth", "wont"),
)
_NOT_WORDS = re.compile(r"/corpus/|\.svg$|^qemu/patches/|\.dict$|^LICENSE$|\.(pem|der|bin)$")


def _files(*patterns: str) -> list[str]:
    """The files of the tree that match, those that are not yet added as well."""
    # The clone may be of another user than root, who runs the checks.
    git = ["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard", "--"]
    names = tools.run([*git, *patterns], cwd=paths.ROOT).splitlines()
    return [name for name in names if (paths.ROOT / name).is_file()]


def _run(words: Sequence[str | Path], **environment: str) -> str:
    """Run a tool; what it found, or nothing."""
    done = subprocess.run(
        list(map(str, words)),
        cwd=paths.ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return (done.stdout or f"it ended with status {done.returncode}") if done.returncode else ""


def _ruff(folder: Path, *words: str) -> str:
    return _run([folder / "bin" / "ruff", *words, "--quiet", *_SETTINGS, *_PYTHON])


def _mypy(folder: Path) -> str:
    words = ["-m", "mypy", "--config-file", _SETTINGS[1]]
    words += [
        "--explicit-package-bases",
        "--scripts-are-modules",
        "--follow-imports=silent",
        "--cache-dir=build/mypy",
    ]
    where = f"{folder}:{paths.ROOT}/control:{paths.ROOT}"
    return _run([sys.executable, *words, *_TYPED], PYTHONPATH=where, MYPYPATH="control:.")


def unexcused(lines: Sequence[str]) -> list[str]:
    """Checkpatch's errors without those that are none."""
    errors = (line for line in lines if ": ERROR: " in line)
    return [
        line
        for line in errors
        if not any(re.search(f"^{file}.*: ERROR: .*{text}", line) for text, file, _ in _NO_ERRORS)
    ]


def _checkpatch(folder: Path) -> str:
    """Ask checkpatch, which is slow, about the files in which it did not find nothing before."""
    if not CHECKPATCH.exists():
        return "there is no source of QEMU: run 'make lean'"
    names = [name for name in _files("*.c", "*.h") if not name.startswith(_OTHER_STYLE)]
    rules = hashlib.sha256(CHECKPATCH.read_bytes() + Path(__file__).read_bytes())

    def mark(name: str) -> Path:
        digest = rules.copy()
        digest.update(name.encode() + b"\0" + (paths.ROOT / name).read_bytes())
        return paths.BUILD / "lint" / digest.hexdigest()

    marks = {name: mark(name) for name in names}
    names = [name for name in names if not marks[name].exists()]
    perl = ["perl", str(CHECKPATCH), "--no-tree", "--no-summary", "--terse", "-f"]
    parts = [names[start : start + 40] for start in range(0, len(names), 40)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def ask(parts: list[list[str]]) -> list[str]:
            found = pool.map(lambda part: _run([*perl, *part]), parts)
            return unexcused([line for text in found for line in text.splitlines()])

        # It takes a variable for a type of an earlier file, if they share a name: ask alone.
        suspects = sorted({line.partition(":")[0] for line in ask(parts)})
        lines = ask([[name] for name in suspects])
    (paths.BUILD / "lint").mkdir(parents=True, exist_ok=True)
    for name in set(names) - {line.partition(":")[0] for line in lines}:
        marks[name].touch()
    return "\n".join(lines)


def _is_shell(name: str) -> bool:
    """Whether a file is a script for a shell."""
    with (paths.ROOT / name).open("rb") as file:
        return name.endswith(".sh") or bool(
            re.match(rb"#! ?/\S*?[/ ](ba|da)?sh\b", file.readline())
        )


def _shellcheck(folder: Path) -> str:
    excluded = ",".join(_NO_WARNINGS)
    words = [str(folder / "bin" / "shellcheck"), "-x", "-S", "warning", "-f", "gcc", "-e", excluded]
    return _run([*words, *filter(_is_shell, _files())])


def _codespell(folder: Path) -> str:
    names = [name for name in _files() if not _NOT_WORDS.search(name)]
    words = [sys.executable, "-m", "codespell_lib", "-L", ",".join(_WORDS)]
    return _run([*words, *names], PYTHONPATH=str(folder))


_CHECKS: Mapping[str, Callable[[Path], str]] = {
    "ruff check": lambda folder: _ruff(folder, "check"),
    "ruff format": lambda folder: _ruff(folder, "format", "--check"),
    "mypy": _mypy,
    "checkpatch": _checkpatch,
    "shellcheck": _shellcheck,
    "codespell": _codespell,
}


def run() -> Counts:
    """Run all tools and print what they find."""
    folder = wheels.installed(paths.ROOT / "lab" / "lint.txt")
    counts = Counts()
    for name, check in _CHECKS.items():
        found = check(folder).strip()
        print(f"  {name}: {'found' if found else 'nothing found'}", flush=True)
        if found:
            print(found, flush=True)
        failure = Failure(f"lint {name}", found.partition("\n")[0])
        counts += Counts(failures=(failure,)) if found else Counts(passed=1)
    return counts
