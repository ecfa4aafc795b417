# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet guest-image``: its command line, messages, and the layout of the image."""

from __future__ import annotations

import io
import os
import signal
import struct
import subprocess
import sys
import tarfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from lab.base import commandline, paths, wait
from vmmnet.architecture import AMD64, ARM64, Architecture
from vmmnet.guestimage import disk, domain, make, mirror, module, overlay, programs, recipe
from vmmnet.guestimage.recipe import Recipe

_UUID = "11111111-2222-3333-4444-555555555555"
_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA== me"


def wanted(**settings: object) -> Recipe:
    given = {"size": 4 << 30, "format": "qcow2", "hostname": "tiny", "kernel": "6.1", **settings}
    return Recipe(**given)  # type: ignore[arg-type]


def ask(*words: str | Path) -> commandline.Answer:
    return commandline.run("guest-image", *map(str, words))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--size", "4"), "argument --size: '4' is no size: a number with M, G or T, like 4G"),
        (("--size", "1G"), "argument --size: '1G': an image has 2G to 2T"),
        (("--format", "vmdk"), "argument --format: there is no 'vmdk': there are qcow2, raw"),
        (("--kernel", "6.2"), "argument --kernel: there is no '6.2': is it '6.12'?"),
        (("--hostname", "a_b"), "argument --hostname: 'a_b' is no host's name"),
        (("--package", "vim", "$(x)"), "argument --package: '$(x)' is no name of a Debian package"),
        (("--mirror", "debian"), "argument --mirror: 'debian' is no mirror: a URL like http"),
        (("--mirror", "file:/debian"), "argument --mirror: 'file:/debian' is no mirror: a URL"),
        (("--address6", "192.0.2.1"), "argument --address6: '192.0.2.1' is no IPv6 address: write"),
        (("--address6", "fe80::1"), "argument --address6: 'fe80::1' is no address that a VM can"),
        (("--address6", "2001:db8::1"), "--address6 is the VM's, not the image's"),
        (("--print-domain", "--json"), "--print-domain prints XML: leave --json out"),
    ],
)
def test_a_wrong_command_line(words: tuple[str, ...], said: str) -> None:
    answer = ask(*words)
    assert answer.status == 2 and answer.out == ""
    assert answer.err.startswith(f"vmmnet guest-image: {said}"), answer.err


@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("--ssh-key", "-----BEGIN OPENSSH PRIVATE KEY-----\n", "this is a private key"),
        ("--ssh-key", "# none\n", "these are no public keys"),
        ("--ssh-key", f"{_KEY}\nnonsense\n", "these are no public keys"),
        ("--root-password", "\nsecret\n", "its first line is no password"),
        ("--root-password", None, "No such file or directory"),
    ],
)
def test_a_file_that_says_nothing(tmp_path: Path, option: str, text: str | None, said: str) -> None:
    file = tmp_path / "file"
    if text is not None:
        file.write_text(text)
    answer = ask("--output", tmp_path / "x", option, file)
    assert answer.status == 1
    assert answer.err.startswith(f"vmmnet guest-image: {option} {file}: {said}"), answer.err


def test_a_place_that_is_taken(tmp_path: Path) -> None:
    """No existing file is overwritten."""
    image = tmp_path / "guest.qcow2"
    image.write_text("mine")
    answer = ask("--output", image)
    assert answer.status == 1 and f"--output {image}: exists already" in answer.err
    assert image.read_text() == "mine"
    answer = ask("--output", tmp_path / "none" / "x")
    assert answer.status == 1 and "there is no folder" in answer.err


def failing(folder: Path, script: str) -> dict[str, str]:
    """An environment in which mmdebstrap is this script."""
    program = folder / "bin" / "mmdebstrap"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}")
    program.chmod(0o755)
    path = f"{program.parent}:{paths.BUILD}/qemu-lean:{os.environ['PATH']}"
    return {**os.environ, "PYTHONPATH": str(paths.ROOT / "control"), "PATH": path}


def make_by(script: str, folder: Path) -> list[str]:
    """Return the messages when mmdebstrap is a failing script; nothing else is left."""
    place = failing(folder, script)
    command = [sys.executable, "-m", "vmmnet", "guest-image", "--format", "raw", "--output", "g"]
    ended = subprocess.run(command, env=place, cwd=folder, text=True, capture_output=True)
    assert ended.returncode == 1 and ended.stdout == ""
    assert [each.name for each in folder.iterdir()] == ["bin"]
    return ended.stderr.splitlines()


def test_a_step_that_fails(tmp_path: Path) -> None:
    """The message names the step, with its last output and a remedy."""
    script = "echo 'I: running apt-get update...'; echo 'E: no route' >&2; exit 25"
    assert make_by(script, tmp_path) == [
        "Read the lists of packages …",
        "vmmnet guest-image: 'Read the lists of packages': mmdebstrap ended with 25",
        "    I: running apt-get update...",
        "    E: no route",
        "check that the mirror is reachable and has Debian 12, or name another one by --mirror",
    ]


def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    """The reason is found among later output."""
    script = "echo 'dpkg: write: No space left on device'; seq 99; exit 25"
    assert make_by(script, tmp_path)[-1].startswith("make room, or give another place: it takes ")


def test_ended_from_outside(tmp_path: Path) -> None:
    """The running programs end, too, and nothing is left."""
    # As mmdebstrap does, it does not end before what it has started.  That speaks itself: the
    # signal must not meet it while it still has the trap.
    line = "echo 'I: extracting archives...'; exec cat fifo"
    script = f'trap : TERM; sh -c "{line}" &\nwait; wait\n'
    place = failing(tmp_path, script)
    os.mkfifo(tmp_path / "fifo")
    command = [sys.executable, "-m", "vmmnet", "guest-image", "--format", "raw", "--output", "g"]
    with subprocess.Popen(
        command, env=place, cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stderr is not None
        assert child.stderr.readline() == "Unpack it …\n"
        # A second signal leaves nothing, either.
        child.send_signal(signal.SIGINT)
        child.terminate()
        try:
            assert child.wait(wait.PATIENCE) == 130
        finally:
            # A reader gets the end of file.
            os.close(os.open(tmp_path / "fifo", os.O_RDWR))
    assert {each.name for each in tmp_path.iterdir()} == {"bin", "fifo"}


def test_a_program_that_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(programs, "_PLACES", ())
    answer = ask("--output", tmp_path / "x", "--json")
    assert answer.status == 1 and '"needs mmdebstrap: apt install mmdebstrap"' in answer.out


def test_a_place_without_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is reported before any download."""
    monkeypatch.setattr(make, "ROOM", 1 << 60)
    for program in ("mmdebstrap", "qemu-img"):
        (tmp_path / program).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    answer = ask("--output", tmp_path / "x")
    assert answer.status == 1 and f"--output {tmp_path}/x: " in answer.err
    assert "make room, or give another place" in answer.err
    assert not list(tmp_path.glob("*x*"))


def test_what_mmdebstrap_is_told() -> None:
    wanted_ = wanted(packages=("vim-tiny",))
    words = recipe.bootstrap(wanted_, ["deb http://m/debian bookworm main"], Path("/o"), Path("/t"))
    assert words[-3:] == ["bookworm", "/t", "deb http://m/debian bookworm main"]
    (included,) = (word for word in words if word.startswith("--include="))
    assert "vim-tiny" in included.removeprefix("--include=").split(",")
    hooks = [word for word in words if word.startswith("--customize-hook=")]
    assert hooks[0].endswith("upload /o /overlay.tar") and "vmmnet-customize" in hooks[-1]


def test_packages_and_mirrors() -> None:
    names = recipe.packages(wanted(kernel="6.12", packages=("nginx-light",), keys=(_KEY,)))
    assert {"linux-image-6.12-cloud-amd64", "linux-headers-6.12-cloud-amd64"} <= set(names)
    assert {"nginx-light", "openssh-server", "dkms"} <= set(names)
    assert "linux-image-cloud-amd64" in recipe.packages(wanted())
    assert "openssh-server" not in recipe.packages(wanted())
    names = recipe.packages(wanted(kernel="6.12", architecture=ARM64))
    assert {"linux-image-6.12-cloud-arm64", "grub-efi-arm64-bin"} <= set(names)
    assert not [each for each in names if "amd64" in each or "pc" in each]
    listing = "trixie main http://m/debian\ntrixie contrib http://m/debian\ntrixie-security main http://m/s\n"
    found = ["deb http://m/debian bookworm main", "deb http://m/s bookworm-security main"]
    assert mirror.lines(listing, "trixie") == found
    assert mirror.lines("x main http://other/\n", "trixie") == []
    # The sources of a host may say "stable", and others than Debian have suites of these names.
    stable = "stable main http://other/chrome Google LLC\nstable main http://m/debian Debian\n"
    assert mirror.lines(stable, "trixie") == found[:1]
    assert mirror.lines("trixie main http://other/ HashiCorp\n", "trixie") == []


def test_what_is_put_into_the_system() -> None:
    recipe_ = wanted(keys=(_KEY,), password="secret", autologin=True)
    files = overlay.files(recipe_, _UUID, recipe.sources("http://m/debian"))
    with tarfile.open(fileobj=io.BytesIO(overlay.archive(files))) as tar:
        members = {each.name: each for each in tar.getmembers()}
    # glibc, and what looks whether it changed, take a time of 0 for none.
    assert all(each.mtime > 0 and each.uid == 0 for each in members.values())
    assert members["root/.ssh"].mode == 0o700 and members["root/password"].mode == 0o600
    assert files["etc/resolv.conf"].data == b"nameserver 192.0.0.1\n"
    assert files["etc/modules-load.d/vmrpc.conf"].data.endswith(b"\nvmrpc\n")
    assert b"\nKeepConfiguration=yes\n" in files["etc/systemd/network/10-vmrpc.network"].data
    for path in ("etc/fstab", "boot/grub/grub.cfg", "boot/grub/find.cfg"):
        assert _UUID.encode() in files[path].data
    source = f"usr/src/{module.NAME}-{module.version(module.sources())}"
    wanted_files = ("Kbuild", "main.c", "sock/sock.h", "include/vmmnet/vmrpc.h")
    assert {f"{source}/{each}" for each in wanted_files} <= set(files)
    # What comes late on a slow machine is waited for.
    assert b"Device" in files["etc/systemd/system.conf.d/patience.conf"].data
    plain = overlay.files(wanted(), _UUID, recipe.sources("http://m/debian"))
    assert not [path for path in plain if "ssh" in path or "autologin" in path or "pass" in path]
    assert b"deb http://m/debian bookworm main" in plain["etc/apt/sources.list"].data


def test_the_disk_begins_with_grub() -> None:
    boot = bytearray(b"\x90" * disk.SECTOR)
    struct.pack_into("<Q", boot, 0x5C, 1)
    core = bytearray(b"\xcc" * 5000)
    struct.pack_into("<Q", core, disk.SECTOR - 12, 2)
    sectors = disk.first_sectors(bytes(boot), bytes(core), 4 << 30, b"abcd")
    assert sectors[:440] == boot[:440] and sectors[disk.SECTOR :] == core
    assert sectors[440:444] == b"abcd" and sectors[510:512] == b"\x55\xaa"
    assert sectors[446] == 0x80 and sectors[450] == 0x83
    assert struct.unpack_from("<II", sectors, 454) == (2048, (4 << 30) // 512 - 2048)
    with pytest.raises(disk.BadLoader, match="too long"):
        disk.first_sectors(bytes(boot), bytes(core) + bytes(disk.OFFSET), 4 << 30, b"abcd")
    with pytest.raises(disk.BadLoader, match="sector 1"):
        disk.first_sectors(bytes(disk.SECTOR), bytes(core), 4 << 30, b"abcd")


def test_an_image_for_arm64() -> None:
    """Its console and its boot loader are those of the machine virt."""
    recipe_ = wanted(autologin=True, architecture=ARM64)
    files = overlay.files(recipe_, _UUID, recipe.sources("http://m/debian"))
    assert "etc/systemd/system/serial-getty@ttyAMA0.service.d/autologin.conf" in files
    assert b"console=ttyAMA0,115200" in files["boot/grub/grub.cfg"].data
    assert b"serial" not in files["boot/grub/grub.cfg"].data
    script = files["root/vmmnet-customize"].data
    assert b"grub-mkimage -O arm64-efi " in script and b"biosdisk" not in script
    words = recipe.bootstrap(recipe_, [], Path("/o"), Path("/t"))
    assert "--architectures=arm64" in words


def _cluster(partition: bytes, number: int) -> bytes:
    """A cluster of an EFI system partition."""
    sector, in_cluster, reserved, tables, entries, _, _, length = struct.unpack_from(
        "<HBHBHHBH", partition, 11
    )
    start = (reserved + tables * length) * sector + entries * 32
    size = in_cluster * sector
    return partition[start + (number - 2) * size :][:size]


def _read(partition: bytes, *path: str) -> bytes:
    """A file of an EFI system partition."""
    sector, _, reserved, _, _, _, _, length = struct.unpack_from("<HBHBHHBH", partition, 11)
    table = partition[reserved * sector :][: length * sector]
    folder = partition[(reserved + 2 * length) * sector :][: 512 * 32]
    for name in path:
        stem, _, suffix = name.partition(".")
        at = folder.index(f"{stem:8}{suffix:3}".encode())
        number, size = struct.unpack_from("<HI", folder, at + 26)
        folder = b""
        while number < 0xFFF8:
            folder += _cluster(partition, number)
            (number,) = struct.unpack_from("<H", table, 2 * number)
    return folder[:size]


@pytest.mark.parametrize("length", [2, 1024, 1025, 300_001])
def test_a_disk_for_uefi(length: int) -> None:
    """The first partition has the program that UEFI starts, the second one the system."""
    loader = (b"MZ" + bytes(range(1, 252)) * (length // 251 + 1))[:length]
    sectors = disk.first_sectors_efi(loader, 4 << 30, b"abcd")
    assert len(sectors) == disk.OFFSET_EFI and sectors[510:512] == b"\x55\xaa"
    assert sectors[440:444] == b"abcd" and sectors[450] == 0xEF and sectors[466] == 0x83
    start, count = struct.unpack_from("<II", sectors, 454)
    assert struct.unpack_from("<II", sectors, 470) == (start + count, (4 << 30) // 512 - 18432)
    assert (start + count) * disk.SECTOR == disk.OFFSET_EFI
    partition = sectors[start * disk.SECTOR :]
    assert _read(partition, "EFI", "BOOT", "BOOTAA64.EFI") == loader
    with pytest.raises(disk.BadLoader, match="too long: 8388608 bytes"):
        disk.first_sectors_efi(b"MZ".ljust(8 << 20), 4 << 30, b"abcd")
    with pytest.raises(disk.BadLoader, match="no program of UEFI"):
        disk.first_sectors_efi(bytes(512), 4 << 30, b"abcd")


@pytest.mark.parametrize("architecture", [AMD64, ARM64])
def test_the_domain(architecture: Architecture) -> None:
    made = ElementTree.fromstring(domain.text("g", Path("/g"), "raw", None, architecture))
    kind = made.find("os/type")
    assert kind is not None
    assert (kind.get("arch"), kind.get("machine")) == (architecture.qemu, architecture.machine)
    assert made.findtext("devices/emulator") == f"/usr/bin/qemu-system-{architecture.qemu}-vmmnet"
    # Its GRUB is started by firmware that asks for no signature.
    features = {each.get("name"): each.get("enabled") for each in made.iter("feature")}
    uefi = {"secure-boot": "no", "enrolled-keys": "no"} if architecture == ARM64 else {}
    assert features == uefi and (made.find("os[@firmware='efi']") is not None) == bool(uefi)


def test_words_are_offered(tmp_path: Path) -> None:
    assert commandline.offered("guest-im") == ["guest-image"]
    assert commandline.offered("guest-image", "--kernel", "") == ["6.1", "6.12"]
    (tmp_path / "key.pub").touch()
    (tmp_path / "keys").mkdir()
    offered = commandline.offered("guest-image", "--ssh-key", f"{tmp_path}/k")
    assert offered == [f"{tmp_path}/key.pub", f"{tmp_path}/keys/"]
