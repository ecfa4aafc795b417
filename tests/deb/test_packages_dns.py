# SPDX-License-Identifier: GPL-2.0-or-later
"""The DNS packages in a clean Debian: a zone is served there, and programs look it up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from lab.packages import chroot
from lab.packages.chroot import Chroot
from lab.packages.debs import dependencies, newer

pytestmark = pytest.mark.long

NAMES = ("libnss-vmmnet", "libvmmnet-dns-dev", "libvmmnet-dns0", "vmmnet-dnsd")
#: To compile the example.
COMPILER = ("gcc", "libc6-dev", "pkg-config")
EXAMPLE = "/usr/share/doc/libvmmnet-dns-dev/examples/lookup.c"
CONFIG = "/etc/vmmnet/dnsd.yaml"
IMAGE = "/var/lib/vmmnet-dns/example.test.vzi"
NSSWITCH = "/etc/nsswitch.conf"
WORDS = "vmmnet [!UNAVAIL=return]"
MDNS = "files mdns4_minimal [NOTFOUND=return]"

_ZONE = """\
$TTL 60
@ SOA ns root 1 3600 600 86400 60
@ NS ns
ns A 127.0.0.1
www A 192.0.2.80
www AAAA 2001:db8::80
"""
_SERVED = f"""\
zones:
  - name: example.test
    image: {IMAGE}
"""
# The part of systemd for the service, and commands with it.
_SERVE = """
set -e
ip link set lo up
install -d -o vmmnet-dns /run/vmmnet-dns
vmmnet-dnsd &
server=$!
until vmmnet-dnsd metrics >/dev/null 2>&1; do kill -0 $server; sleep 0.1; done
grep -q "^Uid:.$(id -u vmmnet-dns)\\b" /proc/$server/status
eval "$1"
kill $server
wait $server
rm -r /run/vmmnet-dns
"""


@pytest.fixture(scope="module")
def system(packages: Mapping[str, Path]) -> Path:
    """A Debian with what the packages depend on, but none of ours."""
    wanted = dependencies([packages[name] for name in NAMES], "Depends")
    return chroot.base(["iproute2", *COMPILER, *wanted], [])


@pytest.fixture
def root(system: Path) -> Iterator[Chroot]:
    """A system of the test's own, whose name server is on it."""
    with Chroot(system) as copy:
        copy.write("/etc/resolv.conf", "nameserver 127.0.0.1\n")
        yield copy


def served(root: Chroot, commands: str) -> str:
    """What commands say while the service runs, without its messages."""
    said = root.run("bash", "-c", _SERVE, "bash", commands)
    return "".join(f"{line}\n" for line in said.splitlines() if "vmmnet-dnsd" not in line)


def hosts(root: Chroot) -> str:
    """How hosts are looked up."""
    (found,) = re.findall(r"^hosts:(.*)", root.run("cat", NSSWITCH), re.M)
    return " ".join(found.split())


def compile_example(root: Chroot) -> None:
    """A program of the library's, by the words of pkg-config."""
    flags = "$(pkg-config --cflags --libs libvmmnet-dns)"
    root.run("sh", "-c", f"cc -o /tmp/lookup {EXAMPLE} {flags}")


def look_up(root: Chroot) -> None:
    """Programs of the C library get a name's addresses, and one of ours."""
    said = served(root, "getent ahosts www.example.test; /tmp/lookup www.example.test")
    assert re.findall(r"^(\S+) +STREAM", said, re.M) == ["2001:db8::80", "192.0.2.80"], said
    assert set(re.findall(r"^  (\S+)$", said, re.M)) == {"2001:db8::80", "192.0.2.80"}, said
    said = served(root, "getent -s hosts:vmmnet ahosts ns.example.test")
    assert re.match(r"127\.0\.0\.1 +STREAM", said), said


def test_a_zone_is_served_and_looked_up(
    root: Chroot, packages: Mapping[str, Path], tmp_path: Path
) -> None:
    before = root.files()
    root.install(*(packages[name] for name in NAMES))
    root.write("/tmp/zone", _ZONE)
    root.run("vmmnet-zone", "compile", "example.test", "/tmp/zone", "-o", IMAGE)
    root.write(CONFIG, _SERVED)
    compile_example(root)
    look_up(root)
    root.install(*(newer(packages[name], tmp_path) for name in NAMES))
    assert root.run("cat", CONFIG) == _SERVED
    look_up(root)
    root.purge(*NAMES)
    root.run("rm", "/tmp/zone", "/tmp/lookup")
    assert root.files() == before


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("files dns", f"files {WORDS} dns"),
        (f"{MDNS} dns", f"{MDNS} {WORDS} dns"),
        ("files resolve [!UNAVAIL=return] dns", f"files {WORDS} resolve [!UNAVAIL=return] dns"),
        # Nobody is asked whom the administrator does not want.
        ("files", "files"),
    ],
)
def test_nsswitch_conf_has_the_module_while_it_is_installed(
    root: Chroot, packages: Mapping[str, Path], said: str, says: str
) -> None:
    root.run("sed", "-i", f"s/^hosts:.*/hosts: {said}/", NSSWITCH)
    before = root.files()
    root.install(packages["libnss-vmmnet"])
    assert hosts(root) == says
    root.run("apt-get", "--yes", "remove", "libnss-vmmnet")
    assert hosts(root) == said
    root.purge("libnss-vmmnet")
    assert root.files() == before


def test_who_takes_the_module_out_keeps_it_out(
    root: Chroot, packages: Mapping[str, Path], tmp_path: Path
) -> None:
    root.install(packages["libnss-vmmnet"])
    root.run("sed", "-i", "s/^hosts:.*/hosts: files dns/", NSSWITCH)
    root.install(newer(packages["libnss-vmmnet"], tmp_path))
    assert hosts(root) == "files dns"
