# SPDX-License-Identifier: GPL-2.0-or-later
"""Peers of another Debian than this machine's: servers, libvirt, and their tools.

    VMMNET_PEERS=sid python3 -m pytest tests/interop/test_dnsd.py    # or tests/run --peers sid

``choose`` makes a root of that suite once, and from then on tools.find finds each program of
PACKAGES there. Such a program has the root's /usr and /etc in place of the machine's, and shares
the rest: processes, network, /tmp, /run, /var, the tree. Everything else is the machine's own.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from ..base import paths, tools
from ..base.lock import locked
from . import chroot

#: The variable that names the suite; unset or empty: this machine's own programs.
VARIABLE = "VMMNET_PEERS"
SUITES = ("trixie", "sid")
#: Debian package -> the programs that tests take from it.
PACKAGES = {
    "bind9": ("named", "rndc"),
    "bind9-dnsutils": ("dig", "delv", "nsupdate"),
    "bind9-utils": (
        *("dnssec-dsfromkey", "dnssec-keygen", "dnssec-signzone", "dnssec-verify"),
        *("named-checkconf", "named-checkzone", "named-compilezone"),
    ),
    "etcd-client": ("etcdctl",),
    "etcd-server": ("etcd",),
    "knot": ("knotd", "knotc"),
    "knot-dnsutils": ("kdig",),
    "ldnsutils": ("drill", "ldns-keygen", "ldns-signzone", "ldns-verify-zone"),
    "libvirt-clients": ("virsh",),
    "libvirt-daemon": ("libvirtd",),
    "nsd": ("nsd", "nsd-checkzone"),
    "openssh-client": ("scp", "ssh", "ssh-keygen"),
    "openssh-server": ("sshd",),
    "openvswitch-common": ("ovs-appctl", "ovs-ofctl"),
    "openvswitch-switch": ("ovs-vsctl", "ovs-vswitchd", "ovsdb-server", "ovsdb-tool"),
    "passt": ("passt",),
    "pdns-server": ("pdns_server", "pdns_control", "pdnsutil"),
    "unbound": ("unbound", "unbound-checkconf"),
}
#: What else is in the root: the peers' own parts, and what our programs need beside libvirt.
_BESIDE = (
    *(
        "libvirt-daemon-driver-network",
        "libvirt-daemon-driver-qemu",
        "libvirt-daemon-driver-secret",
        "pdns-backend-bind",
    ),
    *(
        "ipxe-qemu",
        "libcares2",
        "libslirp0",
        "qemu-system-data",
        "seabios",
        "libunbound8",
        "libyaml-0-2",
    ),
    *(
        "iproute2",
        "mount",
        "procps",
        "python3-argcomplete",
        "python3-cryptography",
        "python3-libvirt",
    ),
    *("python3-lxml", "python3-prometheus-client", "python3-systemd", "python3-yaml"),
)
_ENTER = 'mount --bind "$0/etc" /etc && mount --bind "$0/usr" /usr && exec "$@"'


def choose(suite: str) -> None:
    """Take the peers from a suite; ``""`` leaves this machine's own.

    Raises ValueError, which names the suites, for an unknown one.
    """
    if not suite:
        return
    if suite not in SUITES:
        raise ValueError(f"{VARIABLE}={suite}: the peers' suites are {' and '.join(SUITES)}")
    root = chroot.base([*PACKAGES, *_BESIDE], (), suite)
    enter = ["unshare", "--mount", "sh", "-c", _ENTER, str(root)]
    tools.use_peers(tools.Peers(suite, root, _programs(root, enter), enter))


def _programs(root: Path, enter: list[str]) -> Path:
    """Return the folder of scripts, each of which runs the program of its name in the root."""
    folder = root.with_name(f"{root.name}-programs-{paths.digest([repr(PACKAGES), *enter])}")
    with locked("peers"):
        if not folder.exists():
            fresh = folder.with_suffix(".new")
            fresh.mkdir(exist_ok=True)
            for package, names in PACKAGES.items():
                for name in names:
                    script = fresh / name
                    words = shlex.join([*enter, _path(root, package, name)])
                    script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
                    script.chmod(0o755)
            fresh.rename(folder)
    return folder


def _path(root: Path, package: str, name: str) -> str:
    for place in ("usr/sbin", "usr/bin"):
        if (root / place / name).exists():
            return f"/{place}/{name}"
    raise tools.MissingTool(f"{package} of the peers' root {root} has no {name}")


def chosen() -> str:
    """The suite that the environment names."""
    return os.environ.get(VARIABLE, "")
