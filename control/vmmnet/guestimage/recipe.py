# SPDX-License-Identifier: GPL-2.0-or-later
"""The requested image: packages, mirrors, mmdebstrap's arguments."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vmmnet.architecture import AMD64, ARM64, HOST, Architecture

SUITE = "bookworm"
#: A mirror, as an example in messages.
EXAMPLE = "http://mirror.example/debian"
#: Series of Debian 12's kernels, and the part of package names before "cloud-ARCHITECTURE".
KERNELS = {"6.1": "", "6.12": "6.12-"}
FORMATS = ("qcow2", "raw")
#: Bytes: the system takes 0.7 GiB; the rest is for more packages.
SMALLEST = 2 << 30
#: Bytes: sectors of the partition table have 32 bits.
LARGEST = 2 << 40

_UNITS = {"M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_BASE = (
    *("ca-certificates", "curl", "dbus", "dkms", "initramfs-tools", "iproute2", "iputils-ping"),
    *("kmod", "less", "libpam-systemd", "nano", "netbase", "procps", "systemd-sysv", "udev"),
)
#: The package of the boot loader.
LOADERS = {AMD64: "grub-pc-bin", ARM64: "grub-efi-arm64-bin"}


@dataclass(frozen=True)
class Recipe:
    """The parameters of an image.

    ``size`` in bytes, whole MiB.  ``password`` and ``keys`` are root's; ``autologin``: no
    password on the serial console.  ``mirror`` None: the host's own.
    """

    size: int
    format: str
    hostname: str
    kernel: str
    packages: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    password: str | None = None
    autologin: bool = False
    mirror: str | None = None
    architecture: Architecture = HOST


def size(text: str) -> int:
    """Bytes of a size like ``4G``. Raises ValueError."""
    found = re.fullmatch(r"([1-9][0-9]{0,6})([MGT])", text)
    if not found:
        raise ValueError(f"'{text}' is no size: a number with M, G or T, like 4G")
    number = int(found[1]) * _UNITS[found[2]]
    if not SMALLEST <= number <= LARGEST:
        raise ValueError(f"'{text}': an image has 2G to 2T")
    return number


def hostname(text: str) -> str:
    """A name of a host: one label (RFC 1123 section 2.1). Raises ValueError."""
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", text):
        raise ValueError(
            f"'{text}' is no host's name: 1 to 63 of a-z, 0-9 and '-', which is within"
        )
    return text


def package(text: str) -> str:
    """A name of a package (Debian policy 5.6.7). Raises ValueError."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", text):
        raise ValueError(f"'{text}' is no name of a Debian package, like nginx-light")
    return text


def mirror(text: str) -> str:
    """A URL of Debian's archive, without a slash at its end. Raises ValueError."""
    if not re.fullmatch(r"https?://[^/\s]+(/\S*)?", text):
        raise ValueError(f"'{text}' is no mirror: a URL like {EXAMPLE}")
    return text.rstrip("/")


def keys(text: str) -> tuple[str, ...]:
    """The public keys in a file for OpenSSH. Raises ValueError."""
    if "PRIVATE KEY-----" in text:
        raise ValueError("this is a private key: give the public one, which ends in .pub")
    lines = [line.strip() for line in text.splitlines()]
    found = tuple(line for line in lines if line and not line.startswith("#"))
    kind = r"(ssh-|ecdsa-|sk-)[a-z0-9@.-]+ [A-Za-z0-9+/]+=*( |$)"
    if not found or not all(re.search(rf"(^| ){kind}", line) for line in found):
        raise ValueError("these are no public keys, one a line: ssh-ed25519 AAAA… NAME")
    return found


def password(text: str) -> str:
    """The password in a file: its first line. Raises ValueError."""
    first = text.splitlines()[0] if text else ""
    if not first or len(first) > 256 or not first.isprintable():
        raise ValueError("its first line is no password: 1 to 256 characters")
    return first


def packages(recipe: Recipe) -> list[str]:
    """All packages that are installed by name."""
    flavour = f"{KERNELS[recipe.kernel]}cloud-{recipe.architecture.name}"
    loader = LOADERS[recipe.architecture]
    names = [*_BASE, loader, f"linux-image-{flavour}", f"linux-headers-{flavour}"]
    if recipe.keys:
        names.append("openssh-server")
    return sorted({*names, *recipe.packages})


def sources(mirror: str) -> list[str]:
    """The lines for apt of a mirror with security updates at ``MIRROR-security``."""
    return [
        f"deb {mirror} {SUITE} main",
        f"deb {mirror} {SUITE}-updates main",
        f"deb {mirror}-security {SUITE}-security main",
    ]


def bootstrap(recipe: Recipe, sources: Sequence[str], overlay: Path, tree: Path) -> list[str]:
    """The command of mmdebstrap that makes the system as a folder, with ``overlay``'s files."""
    return [
        *("mmdebstrap", "--mode=root", "--variant=apt"),
        f"--architectures={recipe.architecture.name}",
        f"--include={','.join(packages(recipe))}",
        '--aptopt=APT::Install-Recommends "false"',
        '--aptopt=Acquire::Retries "3"',
        # No fsync: an incomplete image is not kept.
        "--dpkgopt=force-unsafe-io",
        f"--customize-hook=upload {shlex.quote(str(overlay))} /overlay.tar",
        '--customize-hook=chroot "$1" tar -xf /overlay.tar -C /',
        '--customize-hook=rm "$1/overlay.tar"',
        '--customize-hook=chroot "$1" sh /root/vmmnet-customize 2>&1',
        SUITE,
        str(tree),
        *sources,
    ]
