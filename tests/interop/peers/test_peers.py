# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of peers from another Debian: where they run, and what they share with the tests."""

from __future__ import annotations

import re
import socket
import subprocess
from pathlib import Path

from lab.base import process, tools, wait
from lab.base.net import Network
from lab.hosts.island import Island
from lab.packages import peers
from vmmnet.libvirt.check import apparmor
from vmmnet.libvirt.check.apparmor import GUESTS

_CONFIG = """\
options {{ directory "{folder}"; pid-file none; session-keyfile none;
  listen-on port 53 {{ 127.0.0.1; }}; listen-on-v6 {{ none; }}; recursion no; }};
controls {{ }};
"""


def test_each_program_is_the_suites() -> None:
    for package, names in peers.PACKAGES.items():
        for name in names:
            assert Path(tools.find(name)).is_relative_to(tools.system().parent), package
    versions = {name: _version(name) for name in ("bind9", "libvirt-daemon", "libunbound8")}
    told = tools.run(["named", "-v"])
    assert versions["bind9"].partition(":")[2] in told
    assert tools.run(["libvirtd", "-V"]).split()[-1] == versions["libvirt-daemon"].split("-")[0]
    assert not Path("/usr/sbin/named").samefile(tools.system() / "usr/sbin/named")


def test_it_shares_all_but_its_system(network: Network, tmp_path: Path) -> None:
    """The pid is the program's own, as are namespace, folders of tests and signals."""
    host = network.namespace("host")
    config = tmp_path / "named.conf"
    config.write_text(_CONFIG.format(folder=tmp_path))
    child = host.popen(["named", "-g", "-c", config], stderr=subprocess.DEVNULL)
    wait.listening(child.pid, 53)
    assert Path(f"/proc/{child.pid}/comm").read_text() == "named\n"
    with host.entered(), socket.create_connection(("127.0.0.1", 53)):
        pass
    assert process.stop(child) == 0


def test_island_has_the_suites_system(network: Network) -> None:
    with Island(network.namespace("one")) as one:
        assert (
            one.run("cat", "/etc/os-release").stdout
            == (tools.system() / "etc/os-release").read_text()
        )
        assert one.run("/usr/sbin/libvirtd", "-V").stdout == tools.run(["libvirtd", "-V"])


def test_apparmor_reads_additions_in_both_places() -> None:
    """libvirt asks for the folder since 9.6; Debian's still reads the host's own file."""
    settings = tools.system() / "etc/apparmor.d"
    planted = {f"{GUESTS}.d": ["/of/the/folder r,"], f"local/{GUESTS}": ["/of/the/host r,"]}

    def read(name: str) -> list[str]:
        file = settings / name
        return planted.get(name) or ([file.read_text()] if file.is_file() else [])

    rules = "\n".join(apparmor.flat(read, GUESTS))
    assert apparmor.allows(rules, "/of/the/folder", "r")
    assert apparmor.allows(rules, "/of/the/host", "r")


def _version(name: str) -> str:
    """The version of a package of the root."""
    text = (tools.system() / "var/lib/dpkg/status").read_text()
    found = re.search(rf"^Package: {name}\n(?:\S.*\n|\s.*\n)*?Version: (.*)$", text, re.MULTILINE)
    assert found is not None, name
    return found[1]
