# SPDX-License-Identifier: GPL-2.0-or-later
"""The steps from packages to an image.

All files are made in a folder beside the image, which is removed at the end; the image gets
its name when it is complete.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import shutil
import signal
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from vmmnet.architecture import AMD64, HOST
from vmmnet.command import output
from vmmnet.command.status import Refused

from . import disk, mirror, module, overlay, programs, recipe
from .recipe import Recipe

# Messages of mmdebstrap, the step that they begin, and the advice if it fails.
_STEPS = {
    "I: running apt-get update...": "Read the lists of packages",
    "I: downloading packages with apt...": "Download Debian 12",
    "I: extracting archives...": "Unpack it",
    "I: installing essential packages...": "Install the base",
    "I: installing remaining packages inside the chroot...": "Install kernel and packages",
    "I: cleaning package lists and apt cache...": "Clean up",
}
_BEGIN, _TREE, _IMAGE = "Begin", "Make the file system", "Write the image"
_NETWORK = "check that the mirror is reachable and has Debian 12, or name another one by --mirror"
_ADVICE = {
    "Read the lists of packages": _NETWORK,
    "Download Debian 12": _NETWORK,
    "Install kernel and packages": "see that Debian 12 has each --package, and that the"
    " mirror is reached",
    _TREE: "give a larger --size",
}
_ELSE = "see the output"
# From the user, the system, the terminal.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Bytes of the intermediate files, and of the image.
ROOM = 3 << 30


class Progress:
    """The current step; each is a line on standard error."""

    def __init__(self) -> None:
        self.step = _BEGIN

    def begin(self, step: str) -> None:
        """Begin a step."""
        self.step = step
        output.say(f"{step} …")

    def hear(self, line: str) -> None:
        """Recognise steps in the output of mmdebstrap and of our script within."""
        if line in _STEPS:
            self.begin(_STEPS[line])
        elif line.startswith(overlay.STEP):
            self.begin(line.removeprefix(overlay.STEP))


def make(wanted: Recipe, image: Path) -> None:
    """Make an image at a free path. Raises Refused with a remedy."""
    if os.geteuid() != 0:
        raise Refused("needs root, as files of the image are root's: use sudo")
    for name in ("mmdebstrap", "mke2fs", *(["qemu-img"] if wanted.format != "raw" else [])):
        programs.find(name)
    progress = Progress()
    with _explained(image, progress), _folder(image) as folder:
        _make(wanted, image, folder, progress)


@contextlib.contextmanager
def _folder(image: Path) -> Iterator[Path]:
    """A folder beside the image. Raises Refused."""
    free = shutil.disk_usage(image.parent).free
    if free < ROOM:
        raise Refused(
            f"--output {image}: {free / (1 << 30):.1f} GiB are free there, and it takes"
            f" {ROOM >> 30} meanwhile: make room, or give another place"
        )
    for number in _SIGNALS:
        signal.signal(number, _end_once)
    try:
        made = tempfile.TemporaryDirectory(dir=image.parent, prefix=f".{image.name}-")
    except OSError as error:
        raise Refused(f"--output {image}: {error.strerror}: give another place") from None
    with made as name:
        yield Path(name)


@contextlib.contextmanager
def _explained(image: Path, progress: Progress) -> Iterator[None]:
    """Raise Refused with the failure and the remedy."""
    try:
        yield
    except programs.Failed as error:
        said = "".join(f"\n    {line}" for line in error.last)
        advice = _advice(progress.step, error.full)
        raise Refused(f"'{progress.step}': {error}{said}\n{advice}") from None
    except module.NoSources as error:
        raise Refused(str(error)) from None
    except disk.BadLoader as error:
        loader = recipe.LOADERS[HOST]
        raise Refused(f"'{progress.step}': {error}: Debian 12's {loader} is needed") from None
    except FileExistsError:
        raise Refused(f"--output {image}: the file exists meanwhile") from None
    except OSError as error:
        advice = _advice(progress.step, error.errno == errno.ENOSPC)
        raise Refused(f"'{progress.step}': {error}\n{advice}") from None


def _advice(step: str, full: bool) -> str:
    """The remedy of a failed step, also for a full disk."""
    if full:
        return f"make room, or give another place: it takes {ROOM >> 30} GiB meanwhile"
    return _ADVICE.get(step, _ELSE)


def _end_once(number: int, frame: FrameType | None) -> None:
    """End by the first signal; a second one would interrupt the removal of files."""
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def _sources(wanted: Recipe) -> list[str]:
    sources = recipe.sources(wanted.mirror) if wanted.mirror else mirror.of_host()
    if not sources:
        raise Refused(
            "no --mirror is given, and this host has none of Debian's of its own:"
            f" --mirror URL names one, like {recipe.EXAMPLE}"
        )
    return sources


def _make(wanted: Recipe, image: Path, folder: Path, progress: Progress) -> None:
    root = str(uuid.uuid4())
    changes, tree, raw = folder / "overlay.tar", folder / "tree", folder / "disk.raw"
    sources = _sources(wanted)
    changes.write_bytes(overlay.archive(overlay.files(wanted, root, sources)))
    for_bios = wanted.architecture == AMD64
    words = recipe.bootstrap(wanted, sources, changes, tree)
    programs.run(words, progress.hear, folder)
    progress.begin(_TREE)
    disk.blank(raw, wanted.size)
    start = disk.OFFSET if for_bios else disk.OFFSET_EFI
    programs.run(disk.file_system(raw, tree, wanted.size, root, start), progress.hear, folder)
    progress.begin(_IMAGE)
    core, signature = (tree / overlay.GRUB_CORE).read_bytes(), os.urandom(4)
    if for_bios:
        boot = (tree / overlay.GRUB_BOOT).read_bytes()
        sectors = disk.first_sectors(boot, core, wanted.size, signature)
    else:
        sectors = disk.first_sectors_efi(core, wanted.size, signature)
    disk.write(raw, sectors)
    product = raw
    if wanted.format != "raw":
        product = folder / "disk.image"
        convert = ["qemu-img", "convert", "-f", "raw", "-O", wanted.format]
        programs.run([*convert, str(raw), str(product)], progress.hear, folder)
    if wanted.password is not None:
        # A reader of the image could attack the password's hash.
        product.chmod(0o600)
    # Unlike a rename, it does not replace a file.
    os.link(product, image)


def run(given: argparse.Namespace, wanted: Recipe) -> int:
    """Make the image of a command line and report it."""
    image: Path = given.output
    make(wanted, image)
    if given.json:
        output.print_json(
            {
                "image": str(image),
                "format": wanted.format,
                "size": wanted.size,
                "hostname": wanted.hostname,
                "kernel": wanted.kernel,
                "packages": recipe.packages(wanted),
                "login": logins(wanted),
            }
        )
    else:
        size = f"{image.stat().st_blocks * 512 / (1 << 20):,.0f} MiB"
        print(f"{image}: made, {size} on disk; root logs in by {', '.join(logins(wanted))}")
    return 0


def logins(wanted: Recipe) -> list[str]:
    """How root can log in."""
    ways = {
        "the serial console, without a password": wanted.autologin,
        "password": wanted.password is not None,
        "ssh": bool(wanted.keys),
    }
    return [way for way, there in ways.items() if there]
