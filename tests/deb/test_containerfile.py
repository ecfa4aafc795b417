# SPDX-License-Identifier: GPL-2.0-or-later
"""``Containerfile``: on a host that is no Debian, the README's command works in a container.

No registry is asked: its base is a system that mmdebstrap makes, imported under the name of
Debian's image. Podman runs in a clean Debian, as root, with the host's network for apt.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lab.base import paths, tools
from lab.packages import chroot

pytestmark = pytest.mark.long

#: podman's, without what wants systemd or a bridge of containers.
_PODMAN = "podman --storage-driver=vfs --cgroup-manager=cgroupfs --events-backend=file"
_ENTER = """
set -e
# The runtime changes the root's propagation, so that it has to be a mount.
mount --bind "$1" "$1"
cd "$1"; shift
for each in run tmp; do mount -t tmpfs tmpfs $each; done
mount --bind "$1" mnt; shift
mount -t proc proc proc
mount --rbind /sys sys
mount -t cgroup2 none sys/fs/cgroup
mount --rbind /dev dev
exec chroot . sh -ec "$1"
"""
#: Limits that a bed without CAP_SYS_RESOURCE may set.
_LIMITS = "--ulimit nofile=4096:4096 --ulimit nproc=4096:4096"
#: Authorities whom this machine trusts, as in tests/machines.
_AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
_RUN = f"--privileged --cgroups=disabled --network=host {_LIMITS} --rm --volume /mnt/clone:/vmmnet"
_TRUST = f"--volume /mnt/authorities.crt:{_AUTHORITIES}:ro"

Shell = Callable[[str], str]


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    """A shell in a Debian with podman and Debian 13's image; /mnt/clone is a clone."""
    host = chroot.base(("podman", "crun", "iptables"), ())
    image = chroot.base((), (), "trixie")
    folder = paths.BUILD / "container"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "clone").mkdir(parents=True)
    tools.run(["cp", "-a", host, folder / "host"])
    tools.run(["tar", "-C", image, "-cf", folder / "debian.tar", "."])
    words = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    listed = tools.run(words, cwd=paths.ROOT).split("\0")
    for name in filter(None, listed):
        if (paths.ROOT / name).exists():
            target = folder / "clone" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(paths.ROOT / name, target, follow_symlinks=False)

    def run(script: str) -> str:
        enter = [tools.find("unshare"), "--mount", "sh", "-c", _ENTER, "sh"]
        done = subprocess.run(
            [*enter, str(folder / "host"), str(folder), script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        assert done.returncode == 0, done.stdout[-8000:]
        return done.stdout

    resolver = Path("/etc/resolv.conf")
    if resolver.exists():
        shutil.copy(resolver, folder / "host/etc/resolv.conf")
    shutil.copy(_AUTHORITIES, folder / "authorities.crt")
    run(f"{_PODMAN} import /mnt/debian.tar docker.io/library/debian:13")
    run(f"{_PODMAN} build --isolation=chroot --network=host --tag vmmnet /mnt/clone")
    yield run
    shutil.rmtree(folder)


def test_make_run_needs_a_privileged_container(shell: Shell) -> None:
    """It says so, and compiles nothing."""
    options = _RUN.replace("--privileged ", "")
    said = shell(f"{_PODMAN} run {options} vmmnet make run && exit 1 || true")
    assert "make run: needs to make network namespaces" in said and "--privileged" in said


def test_make_run_ends_with_both_pages(shell: Shell) -> None:
    said = shell(f"{_PODMAN} run {_RUN} {_TRUST} vmmnet")
    assert "<title>An IPv6-only page</title>" in said and "<title>An IPv4 server</title>" in said
