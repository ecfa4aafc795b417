# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of peers from another Debian: where they run, and what they share with the tests."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest
from vmmnet.testbed.base import process, tools, wait
from vmmnet.testbed.base.net import Network
from vmmnet.testbed.hosts.island import Island
from vmmnet.testbed.packages import peers

pytestmark = pytest.mark.skipif(not peers.chosen(), reason="peers are this machine's")

_CONFIG = """\
options {{ directory "{folder}"; pid-file none; session-keyfile none;
  listen-on port 53 {{ 127.0.0.1; }}; listen-on-v6 {{ none; }}; recursion no; }};
controls {{ }};
"""


def _version(name: str) -> str:
    return tools.run(["cat", tools.system() / "var/lib/dpkg/status"]).split(
        f"\nPackage: {name}\n", 1
    )[1].split("\nVersion: ", 1)[1].split("\n", 1)[0]


def test_each_program_is_the_suites() -> None:
    for package, names in peers.PACKAGES.items():
        for name in names:
            assert Path(tools.find(name)).parent.parent == tools.system().parent, package
