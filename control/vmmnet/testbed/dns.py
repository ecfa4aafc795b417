# SPDX-License-Identifier: GPL-2.0-or-later
"""Our DNS programs, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml  # type: ignore[import-untyped]

from . import paths, tools
from .lock import locked


def program(name: str) -> Path:
    """Build the DNS programs, if they are not built, and return one of them."""
    with locked("vmmnet-dns"):
        tools.run(["make", "-C", paths.ROOT, "dns"])
    return paths.BUILD / "dns" / name


def compile_zone(origin: str, text: str, image: Path) -> None:
    """Put the image of a zone, given as a master file, where it is to be served from."""
    source = image.with_suffix(".zone")
    source.write_text(text)
    tools.run([program("vmmnet-zone"), "compile", origin, source, "-o", image])


def configuration(zones: Mapping[str, Path], address: str, port: int, threads: int = 1) -> str:
    """What vmmnet-dnsd is to serve, as the text of its configuration.

    Its control socket is in a folder beside the first image, which this makes for it.
    """
    folder = next(iter(zones.values())).with_name("run")
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    server: dict[str, object] = {
        "listen": [f"{address}@{port}"],
        "threads": threads,
        "user": "nobody",
        "udp-size": 4096,
        "control": str(folder / "control.sock"),
    }
    served = [{"name": name, "image": str(image)} for name, image in zones.items()]
    return str(yaml.safe_dump({"server": server, "zones": served}))
