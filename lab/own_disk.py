# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot a disk image of the user's on vmmnet: ``make run DISK=image.qcow2``.

The image is not changed.  A second disk, labelled VMMNET, has the guest module: built for
Debian 12's kernels, and as source for others, with a script that installs the right one.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from lab.base import process, tools
from lab.base.net import Namespace
from lab.guest import qemu
from lab.packages import debian, kernel
from vmmnet.guestimage import module

LABEL = "VMMNET"
#: Kernels with a module that is built: others would need another release's compiler for a disk
#: that may need none of them.
READY = [one for one, origin in kernel.ORIGINS.items() if origin.release == debian.SUITE]

# ext4's block size, and its journal and tables.
_BLOCK_KIB = 4
_FILE_SYSTEM_KIB = 8192

INSTALL = """\
#!/bin/sh
# Install the vmrpc module in this guest and load it. Run as root.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
release=$(uname -r)
target=/lib/modules/$release/extra
ready=$here/ready/$release/vmrpc.ko
if [ ! -e "$ready" ]; then
    [ -d "/lib/modules/$release/build" ] || {
        echo "No module for $release here, and no headers to build one:" \\
             "install linux-headers-$release on this image first." >&2
        exit 1
    }
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cp -r "$here/source/." "$work"
    make -C "$work" VMMNET_INCLUDE="$work/include"
    ready=$work/vmrpc.ko
fi
mkdir -p "$target"
cp "$ready" "$target/vmrpc.ko"
depmod "$release"
install -D -m 755 "$here/source/vmrpc-ss" /usr/local/bin/vmrpc-ss
install -D -m 644 "$here/source/modules-load.conf" /etc/modules-load.d/vmrpc.conf
install -D -m 644 "$here/source/10-vmrpc.network" /etc/systemd/network/10-vmrpc.network
modprobe vmrpc
# Whoever writes resolv.conf is told, so that it stays. With systemd-resolved it is
# not the link's DNS: the sockets for that are bound to an interface of the guest.
case $(readlink -f /etc/resolv.conf) in
/run/systemd/resolve/*)
    mkdir -p /etc/systemd/resolved.conf.d
    # Addresses of the proxy's own are not signed.
    printf '[Resolve]\\nDNS=192.0.0.1\\nDomains=~.\\nDNSSEC=no\\n' \\
        > /etc/systemd/resolved.conf.d/vmrpc.conf
    systemctl restart systemd-resolved
    ;;
*)
    if [ -d /etc/NetworkManager ]; then
        mkdir -p /etc/NetworkManager/conf.d
        printf '[main]\\ndns=none\\n[keyfile]\\nunmanaged-devices=interface-name:vmrpc0\\n' \\
            > /etc/NetworkManager/conf.d/vmrpc.conf
        systemctl reload NetworkManager || true
    fi
    rm -f /etc/resolv.conf
    echo "nameserver 192.0.0.1" > /etc/resolv.conf
    ;;
esac
echo "vmrpc is loaded; IPv4 sockets now run on the host."
"""


def module_disk(folder: Path) -> Path:
    """Write the disk with the module; returns its path."""
    tools.require("mke2fs")
    content = folder / "content"
    module.lay_out(content / "source")
    for series in READY:
        ready = content / "ready" / kernel.get(series).release
        ready.mkdir(parents=True)
        shutil.copy(kernel.build_module(series), ready / "vmrpc.ko")
    script = content / "install"
    script.write_text(INSTALL)
    script.chmod(0o755)
    disk = folder / "module.img"
    size = f"{_image_kib(content)}k"
    tools.run(["mke2fs", "-q", "-t", "ext4", "-L", LABEL, "-d", content, disk, size])
    return disk


def _image_kib(content: Path) -> int:
    """Size for a folder's files and the file system's own data, KiB."""
    files = sum(_BLOCK_KIB + path.stat().st_size // 1024 for path in content.rglob("*"))
    return _FILE_SYSTEM_KIB + files * 5 // 4


def _format(disk: Path) -> str:
    """qcow2 by its magic; anything else is raw."""
    with disk.open("rb") as file:
        return "qcow2" if file.read(4) == b"QFI\xfb" else "raw"


def boot(disk: Path, host: Namespace, device: str, accel: str) -> None:
    """Boot the image with its console on the terminal, until it powers off."""
    with tempfile.TemporaryDirectory(prefix="vmmnet-run-") as scratch:
        modules = module_disk(Path(scratch))
        print(
            f"\nBooting {disk}; nothing is written to it. What 'vmmnet guest-image' made\n"
            "has the module; in any other, log in, then, as root:\n"
            f"    mount -o ro LABEL={LABEL} /mnt && /mnt/install\n"
            "Ctrl-a x ends QEMU.\n",
            flush=True,
        )
        command: list[str | Path] = [
            qemu.binary(),
            *qemu.firmware_options(),
            *("-machine", "q35", "-accel", accel, "-cpu", "max", "-smp", "2", "-m", "2G"),
            *("-nodefaults", "-no-user-config", "-nographic", "-serial", "mon:stdio"),
            *("-drive", f"file={disk},format={_format(disk)},if=virtio,snapshot=on"),
            *("-drive", f"file={modules},format=raw,if=virtio,readonly=on"),
            *("-device", device, "-device", "virtio-rng-pci"),
        ]
        child = process.start(command, netns=host.netns, stdin=None)
        try:
            status = child.wait()
        finally:
            process.stop(child)
        if status:
            raise qemu.QemuFailed(f"QEMU ended with {status}.")
