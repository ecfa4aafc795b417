# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of the host that the test bed runs.

A missing program is reported with the Debian package that holds it, so that
the reader of the error knows what to do next.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

# Program -> Debian package.
PACKAGES: Mapping[str, str] = {
    "ab": "apache2-utils",
    "apt-get": "apt",
    "clang": "clang",
    "curl": "curl",
    "depmod": "kmod",
    "dig": "bind9-dnsutils",
    "dnssec-keygen": "bind9-utils",
    "dnssec-signzone": "bind9-utils",
    "dpkg-deb": "dpkg",
    "e2fsck": "e2fsprogs",
    "ebtables-nft-restore": "iptables",
    "etcd": "etcd-server",
    "etcdctl": "etcd-client",
    "gcc": "gcc",
    "go": "golang",
    "ip": "iproute2",
    "iperf3": "iperf3",
    "knotd": "knot",
    "libvirtd": "libvirt-daemon",
    "make": "make",
    "meson": "meson",
    "mkfs.ext4": "e2fsprogs",
    "mksquashfs": "squashfs-tools",
    "mmdebstrap": "mmdebstrap",
    "named": "bind9",
    "named-compilezone": "bind9-utils",
    "nft": "nftables",
    "nginx": "nginx-light",
    "ninja": "ninja-build",
    "nm": "binutils",
    "openssl": "openssl",
    "ovs-ofctl": "openvswitch-common",
    "ovs-vsctl": "openvswitch-switch",
    "ovs-vswitchd": "openvswitch-switch",
    "passt": "passt",
    "pasta": "passt",
    "ping": "iputils-ping",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "strace": "strace",
    "sysctl": "procps",
    "tcpdump": "tcpdump",
    "tshark": "tshark",
    "unbound": "unbound",
    "virsh": "libvirt-clients",
}

_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class MissingTool(RuntimeError):
    """A program that the test bed needs is not installed."""


class CommandFailed(RuntimeError):
    """A program ended with an error; the message holds its output."""


def find(name: str) -> str:
    """Return the path of a program, or raise with the name of its package."""
    path = shutil.which(name, path=_SYSTEM_PATH) or shutil.which(name)
    if path is None:
        package = PACKAGES.get(name, name)
        raise MissingTool(
            f"{name} is not installed: it is in the Debian package {package}; run 'make deps'"
        )
    return path


def require(*names: str) -> None:
    """Fail now, not in the middle, when one of the programs is missing."""
    for name in names:
        find(name)


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Run a program to its end and return its standard output."""
    words = [find(str(command[0])), *map(str, command[1:])]
    done = subprocess.run(
        words,
        cwd=cwd,
        env={**os.environ, **env} if env else None,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode:
        tail = (done.stdout + done.stderr)[-4000:]
        raise CommandFailed(f"{' '.join(words)}: exit {done.returncode}\n{tail}")
    return done.stdout
