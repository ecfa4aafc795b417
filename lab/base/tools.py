# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of the host that the test bed runs.

A missing program is reported with the Debian package that holds it, so that
the reader of the error knows what to do next.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Program -> Debian package.
PACKAGES: Mapping[str, str] = {
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
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
    "microsocks": "microsocks",
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
    "pdns_server": "pdns-server",
    "pasta": "passt",
    "ping": "iputils-ping",
    "qemu-aarch64-static": "qemu-user-static",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "strace": "strace",
    "sysctl": "procps",
    "tcpdump": "tcpdump",
    "tinyproxy": "tinyproxy-bin",
    "tshark": "tshark",
    "unbound": "unbound",
    "virsh": "libvirt-clients",
}

_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class MissingTool(RuntimeError):
    """A program that the test bed needs is not installed."""


class CommandFailed(RuntimeError):
    """A program ended with an error; the message holds its output."""


@dataclass(frozen=True)
class Peers:
    """A system beside this machine's from which programs come."""

    #: Its suite of Debian.
    suite: str
    root: Path
    #: A folder of scripts, each of which runs the program of its name in the root.
    programs: Path
    #: The words before a command that run it with the root's /usr and /etc.
    enter: Sequence[str]


_peers: Peers | None = None


def use_peers(chosen: Peers) -> None:
    """Find the programs of a system before this machine's, from now on."""
    global _peers
    _peers = chosen


def peers_suite() -> str:
    """The suite of the system from which peers come; "": this machine."""
    return _peers.suite if _peers is not None else ""


def _own_suite() -> str:
    text = Path("/etc/os-release").read_text()
    found = re.search(r"^VERSION_CODENAME=(\w+)$", text, re.M)
    return found[1] if found else "host"


#: The suite of this machine.
OWN_SUITE = _own_suite()


def version(package: str, *, own: bool = False) -> str:
    """The version of a package, without Debian's part, where peers come from; "": not there.

    ``own``: on this machine.
    """
    root = Path("/") if own else system()
    words = ["dpkg-query", f"--admindir={root / 'var/lib/dpkg'}", "--show"]
    try:
        found = run([*words, "--showformat=${Version}", package])
    except CommandFailed:
        return ""
    return re.sub(r"^\d+:|-[^-]*$", "", found)


def system() -> Path:
    """The root of the system from which peers come."""
    return _peers.root if _peers is not None else Path("/")


def in_system(*words: str | Path) -> list[str | Path]:
    """A command that runs another one, for root, where peers run."""
    return [*(_peers.enter if _peers is not None else ()), *words]


def find(name: str) -> str:
    """Return the path of a program, or raise with the name of its package."""
    if _peers is not None and "/" not in name and (peer := _peers.programs / name).exists():
        return str(peer)
    return find_own(name)


def find_own(name: str) -> str:
    """Do the same with this machine's programs, wherever peers come from."""
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
