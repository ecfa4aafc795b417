# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM's disk that follows its moves: served over NBD, or copied by the migration."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from ..base import tools, wait
from ..base.net import Namespace
from . import qemu
from .guest import Guest
from .migration import Move

_PORT = 10809
_SIZE = 64 << 20
#: Device for a node with the name "disk".
DEVICE = ("-device", "virtio-blk-pci,drive=disk")


def image(path: Path) -> Path:
    """Make the image of a disk with a file system."""
    blank(path)
    tools.run(["mkfs.ext4", "-q", path])
    return path


def blank(path: Path) -> Path:
    """Make an image of the same size with nothing in it."""
    with path.open("wb") as file:
        file.truncate(_SIZE)
    return path


def check(path: Path) -> None:
    """Fail unless the image's file system is whole."""
    tools.run(["e2fsck", "-f", "-n", path])


def local(path: Path) -> tuple[str, ...]:
    """QEMU's arguments for a disk whose image is on its host."""
    return ("-blockdev", f"raw,node-name=disk,file.driver=file,file.filename={path}", *DEVICE)


@contextlib.contextmanager
def served(host: Namespace, address: str, path: Path) -> Iterator[tuple[str, ...]]:
    """Serve an image over NBD from a host; yields QEMU's arguments for the disk, anywhere."""
    command: list[str | Path] = [
        *(qemu.binary().with_name("qemu-nbd"), "--persistent", "--shared=2", "--format=raw"),
        *("--export-name=disk", f"--bind={address}", f"--port={_PORT}", path),
    ]
    with host.started(command) as child:
        wait.listening(child.pid, _PORT)
        server = f"server.type=inet,server.host={address},server.port={_PORT}"
        yield ("-blockdev", f"nbd,node-name=disk,{server},export=disk", *DEVICE)


class Mirror:
    """Copies the disk of a VM that moves to its target, whose host has an ``address``.

    virsh migrate --copy-storage-all lets QEMU do the same. Begin it before the migration, and end
    it when the VM is paused.
    """

    def __init__(self, move: Move, address: str) -> None:
        self._move = move
        server = {"host": address, "port": str(_PORT)}
        move.target.qmp("nbd-server-start", addr={"type": "inet", "data": server})
        move.target.qmp("block-export-add", id="disk", type="nbd", node_name="disk", writable=True)
        move.source.qmp(
            "blockdev-add",
            driver="nbd",
            node_name="copy",
            server={"type": "inet", **server},
            export="disk",
        )
        move.source.qmp("blockdev-mirror", job_id="copy", device="disk", target="copy", sync="full")
        move.source.monitor.wait_event("BLOCK_JOB_READY", device="copy")

    def end(self) -> None:
        """Wait until both disks are equal, then release the target's to its VM."""
        self._move.source.qmp("block-job-cancel", device="copy")
        ended = self._move.source.monitor.wait_event("BLOCK_JOB_COMPLETED", device="copy")
        assert "error" not in ended["data"], ended
        self._move.source.qmp("blockdev-del", node_name="copy")
        self._move.target.qmp("nbd-server-stop")


#: Writes one file after the other, each more than once, and reports each file on the disk.
_WRITE = """
import hashlib, os, signal
ended = []
signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
number = 0
while not ended:
    block = hashlib.sha256(b"%d" % number).digest() * 128
    with open("/mnt/%d" % (number % 50), "wb") as file:
        file.write(block * (1 + number % 8))
        file.flush()
        os.fsync(file.fileno())
    print("written", number, flush=True)
    number += 1
"""
#: Reads the files again.
_READ = """
import hashlib, sys
last = int(sys.argv[1])
for number in range(max(0, last - 49), last + 1):
    block = hashlib.sha256(b"%d" % number).digest() * 128
    with open("/mnt/%d" % (number % 50), "rb") as file:
        assert file.read() == block * (1 + number % 8), number
"""


class Writer:
    """Writes to a guest's disk without an end."""

    def __init__(self, guest: Guest) -> None:
        guest.run("mount -t ext4 /dev/vdc /mnt")
        self._job = guest.spawn(["python3", "-u", "-c", _WRITE])
        self.goes_on()

    def _written(self) -> int:
        return self._job.output().stdout.count("written")

    def goes_on(self, files: int = 60) -> None:
        """Wait for some more files."""
        goal = self._written() + files
        wait.until(
            lambda: self._written() >= goal or not self._job.running, "a disk that is written to"
        )
        assert self._job.running, self._job.output().stderr

    def end(self, guest: Guest) -> str:
        """End the writer, and read all files again from the disk; returns the disk's SHA-256."""
        self._job.kill()
        last = self._job.wait(check=True).stdout.split()[-1]
        guest.run("umount /mnt && mount -t ext4 -o ro /dev/vdc /mnt")
        guest.run(["python3", "-c", _READ, last])
        guest.run("umount /mnt")
        return guest.run("sha256sum /dev/vdc").stdout.split()[0]
