# SPDX-License-Identifier: GPL-2.0-or-later
"""debian/ agrees with the rest of the sources."""

from __future__ import annotations

import re
import tomllib

import vmmnet
from vmmnet.testbed.base import paths


def text(name: str) -> str:
    """A file of the sources."""
    return (paths.ROOT / name).read_text()


def section(name: str) -> set[str]:
    """The packages in a section of qemu/packages.txt."""
    (found,) = re.findall(rf"^\[{name}\]\n((?:[^\[].*\n|\n)*)", text("qemu/packages.txt"), re.M)
    return {line for line in found.splitlines() if re.match(r"[a-z0-9]", line)}


def test_there_is_one_version() -> None:
    """That of the Python package; dpkg and meson want theirs in files of their own."""
    version = tomllib.loads(text("control/pyproject.toml"))["project"]["version"]
    assert text("debian/changelog").startswith(f"vmmnet ({version})")
    assert version == vmmnet.VERSION
    for project in ("net/dns/programs", "net/mip6/ha"):
        assert f"version: '{version}'" in text(f"{project}/meson.build")
    assert f'PACKAGE_VERSION="{version}"\n' in text("guest-linux/vmrpc/dkms.conf")


def test_make_deb_installs_what_the_packages_are_built_with() -> None:
    (field,) = re.findall(r"^Build-Depends:((?:.*\n )*.*)", text("debian/control"), re.M)
    wanted = {re.split(r"[ (<]", item.strip())[0] for item in field.split(",")}
    installed = section("build") | section("full") | section("deb") | {"debhelper-compat"}
    assert wanted <= installed, wanted - installed


def test_the_rules_build_and_install_each_package() -> None:
    packages = set(re.findall(r"^Package: (\S+)", text("debian/control"), re.M))
    for step in ("build", "install"):
        lines = re.findall(rf"^({step}-[^:=]*):", text("debian/rules"), re.M)
        # Those of the DNS room are built together.
        assert packages | {"dns"} == set(re.findall(rf"{step}-(\S+)", "\n".join(lines)))
