# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that make a Debian a guest of vmmnet."""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vmmnet.architecture import AMD64, ARM64

from . import module
from .recipe import Recipe

#: Address of the device's DNS proxy (docs/virtio-vmrpc.md, resolver4).
RESOLVER = "192.0.0.1"
#: GRUB's core image, a program of UEFI or, for a BIOS, with an image for the first sector.
GRUB_CORE = "boot/grub/core.img"
GRUB_BOOT = "usr/lib/grub/i386-pc/boot.img"
#: Prefix of the script's lines that name the next step.
STEP = "vmmnet: "

_GRUB = """\
# Debian keeps /vmlinuz and /initrd.img at the newest kernel, *.old at the one before.
{terminal}set default=0
set timeout=2
menuentry "Debian" {{
    linux /vmlinuz {arguments}
    initrd /initrd.img
}}
menuentry "Debian, the kernel before" {{
    linux /vmlinuz.old {arguments}
    initrd /initrd.img.old
}}
"""
# The console of UEFI is the serial one, too.
_TERMINALS = {
    AMD64: "serial --unit=0 --speed=115200\n"
    "terminal_input serial console\nterminal_output serial console\n",
    ARM64: "",
}
_FIND = "search --no-floppy --fs-uuid --set=root {uuid}\nset prefix=($root)/boot/grub\n"
_MODULES = (
    *("part_msdos", "ext2", "search_fs_uuid", "search", "normal", "configfile", "linux"),
    *("terminal", "test", "echo", "ls", "cat", "reboot", "halt"),
)
# GRUB's name of the platform, and modules that it has besides.
_PLATFORMS = {AMD64: ("i386-pc", "biosdisk", "serial"), ARM64: ("arm64-efi",)}
_AUTOLOGIN = """\
[Service]
ExecStart=
ExecStart=-/sbin/agetty --autologin root --keep-baud 115200,57600,38400,9600 - $TERM
"""
# Under emulation on a busy host, consoles and keys take longer than 90 s.
_PATIENCE = "[Manager]\nDefaultDeviceTimeoutSec=30min\nDefaultTimeoutStartSec=30min\n"
# Images are copied: each copy makes its own keys at its first boot.
_SSH = """\
[Service]
ExecStartPre=
ExecStartPre=/usr/bin/ssh-keygen -A
ExecStartPre=/usr/sbin/sshd -t
"""
_CUSTOMIZE = """\
set -eu
cd /root
rm vmmnet-customize
release=$(ls /lib/modules)
echo "{step}Build the module vmrpc for $release"
dkms install {name}/{version} -k "$release" || {{
    cat /var/lib/dkms/{name}/{version}/build/make.log || true
    exit 1
}}
# The key that signs modules is each machine's own.
rm -f /var/lib/dkms/mok.*
modinfo -k "$release" vmrpc >/dev/null
echo "{step}Set up boot loader, console and names"
grub-mkimage -O {platform} -c /boot/grub/find.cfg -p /boot/grub -o /{core} {modules}
if [ -e password ]; then
    chpasswd <password
    rm password
fi
rm -f /etc/ssh/ssh_host_*
# Settings for making the image only.
rm -f /etc/apt/apt.conf.d/99mmdebstrap /etc/dpkg/dpkg.cfg.d/99mmdebstrap
"""


class File(NamedTuple):
    """A file of the image, owned by root."""

    data: bytes
    mode: int = 0o644


def files(recipe: Recipe, uuid: str, sources: Sequence[str]) -> dict[str, File]:
    """The files to add to the system, by path without the first slash.

    ``uuid`` is the root file system's, ``sources`` are lines for apt.
    Raises module.NoSources, OSError.
    """
    sources_of_module = module.sources()
    version = module.version(sources_of_module)
    console = recipe.architecture.console
    platform, *more = _PLATFORMS[recipe.architecture]
    arguments = f"root=UUID={uuid} ro console=tty0 console={console},115200"
    grub = _GRUB.format(terminal=_TERMINALS[recipe.architecture], arguments=arguments)
    texts = {
        "etc/hostname": f"{recipe.hostname}\n",
        "etc/hosts": f"127.0.0.1 localhost {recipe.hostname}\n::1 localhost\n",
        "etc/fstab": f"UUID={uuid} / ext4 errors=remount-ro 0 1\n",
        "etc/resolv.conf": f"nameserver {RESOLVER}\n",
        "etc/apt/sources.list": "\n".join(sources) + "\n",
        "etc/systemd/system.conf.d/patience.conf": _PATIENCE,
        "etc/modules-load.d/vmrpc.conf": sources_of_module["modules-load.conf"].decode(),
        "etc/systemd/network/10-vmrpc.network": sources_of_module["10-vmrpc.network"].decode(),
        "boot/grub/grub.cfg": grub,
        "boot/grub/find.cfg": _FIND.format(uuid=uuid),
        "root/vmmnet-customize": _CUSTOMIZE.format(
            step=STEP,
            name=module.NAME,
            version=version,
            core=GRUB_CORE,
            platform=platform,
            modules=" ".join([*more, *_MODULES]),
        ),
    }
    if recipe.autologin:
        unit = f"etc/systemd/system/serial-getty@{console}.service.d"
        texts[f"{unit}/autologin.conf"] = _AUTOLOGIN
    if recipe.keys:
        texts["etc/systemd/system/ssh.service.d/keys.conf"] = _SSH
    found = {path: File(text.encode()) for path, text in texts.items()}
    if recipe.keys:
        keys = "".join(f"{key}\n" for key in recipe.keys)
        found["root/.ssh/authorized_keys"] = File(keys.encode(), 0o600)
    if recipe.password is not None:
        found["root/password"] = File(f"root:{recipe.password}\n".encode(), 0o600)
    folder = f"usr/src/{module.NAME}-{version}"
    found |= {f"{folder}/{name}": File(data) for name, data in sources_of_module.items()}
    found["usr/local/bin/vmrpc-ss"] = File(sources_of_module["vmrpc-ss"], 0o755)
    return found


def archive(files: Mapping[str, File]) -> bytes:
    """The files as tar; sshd requires that only root can access its folder of keys."""
    buffer = io.BytesIO()
    # glibc ignores a resolv.conf whose time is 0.
    now = int(time.time())
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        if any(path.startswith("root/.ssh/") for path in files):
            folder = tarfile.TarInfo("root/.ssh")
            folder.type, folder.mode, folder.mtime = tarfile.DIRTYPE, 0o700, now
            tar.addfile(folder)
        for path, file in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode, entry.mtime = len(file.data), file.mode, now
            tar.addfile(entry, io.BytesIO(file.data))
    return buffer.getvalue()
