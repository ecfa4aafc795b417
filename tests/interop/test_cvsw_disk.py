# SPDX-License-Identifier: GPL-2.0-or-later
"""The controller's disk is full: what cannot be kept is not done, and said."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base.net import Network
from lab.cvsw import plans as cvsw_plans
from lab.cvsw.controller import PORT, Controller
from lab.cvsw.nics import SimNic
from lab.cvsw.switch import Switch
from vmmnet.cvsw.plan.read import read

_SMALL_DISK = 'mount -t tmpfs -o size=64k none "$1" && shift && exec "$@"'


@contextlib.contextmanager
def full(folder: Path) -> Iterator[None]:
    """Its file system has no room for the time of a block."""
    path = folder / "filler"
    with contextlib.ExitStack() as stack, path.open("wb", 0) as filler:
        stack.callback(path.unlink)
        with contextlib.suppress(OSError):
            while True:
                filler.write(bytes(4096))
        yield


def test_a_full_disk(network: Network, tmp_path: Path) -> None:
    """apply and rekey fail, the state stays as it was, and is written when there is room."""
    host, disk = network.namespace("host"), tmp_path / "disk"
    disk.mkdir()
    file = cvsw_plans.write(tmp_path, cvsw_plans.tree())
    shorter = tmp_path / "shorter.yaml"
    shorter.write_text(file.read_text().replace("mtu: 1500", "mtu: 1400"))
    controller = Controller(
        host, "127.0.0.1", tmp_path, "--state", str(disk / "state.json"), str(file)
    )
    with contextlib.ExitStack() as stack:
        stack.callback(controller.stop)
        controller.start("unshare", "--mount", "sh", "-c", _SMALL_DISK, "sh", disk)
        disk = controller.sees(disk)
        state = disk / "state.json"
        with host.entered():
            switch = stack.enter_context(contextlib.closing(Switch(("127.0.0.1", PORT), 4)))
        nics = dict[str, SimNic]()
        for port, about in enumerate(read(file).nics(), 1):
            nics[about.name] = SimNic(about.mac, about.key, lambda _: None)
            switch.attach(port, nics[about.name])
        switch.until(lambda: _are_ready(controller), "all NICs are programmed")
        switch.until(
            lambda: state.exists() and len(json.loads(state.read_text())["associations"]) == 8,
            "it remembers",
        )
        octets = state.read_text()
        with full(disk):
            for words in (["apply", shorter], ["rekey"]):
                with pytest.raises(RuntimeError, match=r"status 1.*No space left.*is changed"):
                    controller.command(*words)
            assert controller.command("diff", file) == "nothing changes\n"
            nics["red2"].boot(time.monotonic())  # it gets new keys
            cannot = "cannot save what NICs have, it is tried again: --state"
            switch.until(lambda: cannot in controller.log(), cannot)
            assert state.read_text() == octets
            assert {path.name for path in disk.iterdir()} == {"filler", "state.json"}
        again = "what NICs have is saved again: --state"
        switch.until(lambda: again in controller.log(), again)
        assert controller.log().count(cannot) == 1
        controller.command("apply", shorter)
        assert json.loads(state.read_text())["plan"] == str(shorter)
        controller.command("rekey")
        switch.until(lambda: _are_ready(controller), "all NICs are programmed")


def _are_ready(controller: Controller) -> bool:
    return {nic["state"] for nic in controller.nics().values()} == {"ready"}
