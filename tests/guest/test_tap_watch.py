# SPDX-License-Identifier: GPL-2.0-or-later
"""A stage tells when the host does nothing with the frames of its tap."""

from __future__ import annotations

import re
from pathlib import Path

from lab.base import wait
from lab.base.net import Network
from lab.guest import qemu
from vmmnet.qmp import Qmp


def test_each_change_of_tap_and_bridge_is_a_line(tmp_path: Path) -> None:
    with Network() as network:
        host = network.namespace("host")
        bridge = host.bridge()
        tap = host.tap("tap0", bridge)
        path = tmp_path / "qmp"
        command: list[str | Path] = [
            qemu.binary(),
            *("-machine", "q35,accel=qtest", "-display", "none", "-nodefaults"),
            *("-qmp", f"unix:{path},server=on,wait=off"),
            *("-netdev", "tap,id=net0,ifname=tap0,script=no,downscript=no,vhost=off"),
            *("-netdev", "stage,id=st0,netdev=net0"),
            *("-device", "virtio-net-pci,netdev=st0,romfile="),
        ]
        process = qemu.QemuProcess(command, netns=host.netns, stderr=tmp_path / "log")
        told = 0

        def tells(text: str) -> None:
            """It tells this after what it has told before."""
            nonlocal told

            def at() -> int:
                lines = process.errors().splitlines()
                found = (f"stage 'st0': {text}" in line for line in lines[told:])
                return next((told + i for i, has in enumerate(found, 1) if has), 0)

            told = wait.until(at, text)

        try:
            qmp = Qmp(process.connect(path))

            def counted(counter: str) -> bool:
                """Whether frames of the NIC count as this and as nothing else."""
                text = qmp.command("human-monitor-command", command_line="info network")
                (line,) = (each for each in text.splitlines() if "NIC: " in each)
                return set(re.findall(r"(\w+)=[1-9]", line)) == {counter}

            assert "st0" not in process.errors()
            tap.down()
            tells("tap0 is down")
            qmp.command("announce-self", initial=10, max=10, rounds=1, step=10)
            wait.until(lambda: counted("failed"), "a frame that the tap refuses")
            qmp.close()
            tap.up()
            tells("tap0 is connected again")
            bridge.down()
            tells("the bridge br0 of tap0 is down")
            bridge.up()
            tells("tap0 is connected again")
            # It still knows the tap by another name.
            host.ip("link", "set", tap.name, "name", "tap9")
            host.ip("link", "delete", bridge.name)
            tells("tap9 is no port of br0 any more")
            host.ip("link", "add", "br0", "up", "type", "bridge")
            host.ip("link", "set", "tap9", "master", "br0")
            tells("tap9 is connected again")
            host.ip("link", "delete", "tap9")
            tells("tap9 was deleted")
        finally:
            process.stop()
