# SPDX-License-Identifier: GPL-2.0-or-later
"""The steps from packages to an image.

All files are made in a folder beside the image, which goes with whatever is in it, and
the image has its name when it is whole.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import uuid
from pathlib import Path

from vmmnet.hostvlan import output
from vmmnet.hostvlan.options import Refused

from . import disk, mirror, module, overlay, programs, recipe
from .recipe import Recipe

# What mmdebstrap says, the step that begins, and what to do when that fails.
_STEPS = {
    "I: running apt-get update...": "Read the lists of packages",
    "I: downloading packages with apt...": "Download Debian 12",
    "I: extracting archives...": "Unpack it",
    "I: installing essential packages...": "Install the base",
    "I: installing remaining packages inside the chroot...": "Install kernel and packages",
    "I: cleaning package lists and apt cache...": "Clean up",
}
_BEGIN, _TREE, _IMAGE = "Begin", "Make the file system", "Write the image"
_NETWORK = "see that the mirror is reached and has Debian 12, or name another one by --mirror"
_ADVICE = {
    "Read the lists of packages": _NETWORK,
    "Download Debian 12": _NETWORK,
    "Install kernel and packages": "see that Debian 12 has each --package, and that the"
    " mirror is reached",
    _TREE: "give a larger --size, or see that the disk has room",
    _IMAGE: "see that the disk has room",
}
_ELSE = "see that the disk has room; what was said may tell more"


class Progress:
    """The step that is under way; a line of standard error for each."""

    def __init__(self) -> None:
        self.step = _BEGIN

    def begin(self, step: str) -> None:
        """Go on to a step."""
        self.step = step
        output.say(f"{step} …")

    def hear(self, line: str) -> None:
        """Take the steps from what mmdebstrap, and our script within, say."""
        if line in _STEPS:
            self.begin(_STEPS[line])
        elif line.startswith(overlay.STEP):
            self.begin(line.removeprefix(overlay.STEP))


def make(wanted: Recipe, image: Path) -> None:
    """Make an image at a place where nothing is. Raises Refused, which tells what to do."""
    if os.geteuid() != 0:
        raise Refused("needs root, whose files most of the image are: run it by sudo")
    for name in ("mmdebstrap", "mke2fs", *(["qemu-img"] if wanted.format != "raw" else [])):
        programs.find(name)
    _terminate_as_interrupted()
    progress = Progress()
    try:
        with tempfile.TemporaryDirectory(dir=image.parent, prefix=f".{image.name}-") as name:
            _make(wanted, image, Path(name), progress)
    except programs.Failed as error:
        said = "".join(f"\n    {line}" for line in error.last)
        advice = _ADVICE.get(progress.step, _ELSE)
        raise Refused(f"'{progress.step}': {error}{said}\n{advice}") from None
    except module.NoSources as error:
        raise Refused(str(error)) from None
    except disk.BadLoader as error:
        raise Refused(f"'{progress.step}': {error}: Debian 12's grub-pc-bin is needed") from None
    except FileExistsError:
        raise Refused(f"--output {image}: there is such a file by now") from None
    except OSError as error:
        raise Refused(f"'{progress.step}': {error}") from None


def _terminate_as_interrupted() -> None:
    """Let what is made go also when the system or the terminal ends the command."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)


def _make(wanted: Recipe, image: Path, folder: Path, progress: Progress) -> None:
    root = str(uuid.uuid4())
    changes, tree, raw = folder / "overlay.tar", folder / "tree", folder / "disk.raw"
    changes.write_bytes(overlay.archive(overlay.files(wanted, root)))
    sources = recipe.sources(wanted.mirror) if wanted.mirror else mirror.of_host()
    words = recipe.bootstrap(wanted, sources or recipe.sources(recipe.MIRROR), changes, tree)
    programs.run(words, progress.hear, folder)
    progress.begin(_TREE)
    disk.blank(raw, wanted.size)
    programs.run(disk.file_system(raw, tree, wanted.size, root), progress.hear, folder)
    progress.begin(_IMAGE)
    boot, core = (tree / name for name in (overlay.GRUB_BOOT, overlay.GRUB_CORE))
    signature = os.urandom(4)
    sectors = disk.first_sectors(boot.read_bytes(), core.read_bytes(), wanted.size, signature)
    disk.write(raw, sectors)
    product = raw
    if wanted.format != "raw":
        product = folder / "disk.image"
        convert = ["qemu-img", "convert", "-f", "raw", "-O", wanted.format]
        programs.run([*convert, str(raw), str(product)], progress.hear, folder)
    # Unlike a rename it takes nobody's place.
    os.link(product, image)


def run(given: argparse.Namespace, wanted: Recipe) -> int:
    """Make the image of a command line and tell of it."""
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
    """The ways by which root comes in."""
    ways = {
        "the serial console, without a password": wanted.autologin,
        "password": wanted.password is not None,
        "ssh": bool(wanted.keys),
    }
    return [way for way, there in ways.items() if there]
