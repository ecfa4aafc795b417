# SPDX-License-Identifier: GPL-2.0-or-later
"""Every device of ours in a microvm: no PCI, each on a transport of virtio-mmio.

The layer suites runs tests/guest/test_semantics.py and others there, too.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.base import scratch, wait
from lab.base.net import Network
from lab.cvsw import bed
from lab.guest import machine, many, qemu
from lab.guest.flood import flood
from lab.packages import kernel
from lab.peers.lab import OWN_VM_ADDRESS, Lab, lab
from vmmnet.qmp import Qmp

_KIND = machine.of(machine.MICROVM, qemu.accelerator())
_SETTINGS: dict[str, Any] = {"module": True, "machine": machine.MICROVM, "memory": "192M"}
_VCPUS = 4
_SECONDS = 3


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


def _qemu(*words: str) -> list[str | Path]:
    command: list[str | Path] = [
        *(qemu.binary(), *qemu.firmware_options(), "-machine", "microvm,accel=qtest"),
        *("-m", "64M", "-display", "none", "-nodefaults", "-no-user-config", *words),
    ]
    return _KIND.adapt(command)


def test_legacy_is_refused_by_name() -> None:
    """QEMU's default: the user learns the option, and does not look for the fault in the guest."""
    ended = subprocess.run(
        _qemu("-device", "virtio-vmrpc-pci"), capture_output=True, text=True, timeout=wait.PATIENCE
    )
    assert ended.returncode == 1
    assert "add -global virtio-mmio.force-legacy=false" in ended.stderr


@pytest.mark.parametrize("series", [kernel.OLDEST, kernel.NEWEST])
def test_requests_run_in_the_vcpus(world: Lab, tmp_path: Path, series: str) -> None:
    """All vCPUs send at once, none waits for another, and the main loop has no request."""
    trace = tmp_path / "trace"
    arguments = ["-trace", "virtio_vmrpc_nested", "-D", str(trace)]
    device = world.device(OWN_VM_ADDRESS)
    settings = {**_SETTINGS, "smp": _VCPUS, "ipv6": False}
    with world.guest(series, device=device, arguments=arguments, **settings) as guest:
        assert guest.run("curl -sS http://www.test/").stdout
        before = guest.vmrpc_counters()["requests"]
        counts = flood(guest, _VCPUS, _SECONDS)
        assert all(counts), counts
        after = guest.vmrpc_counters()["requests"]
        assert after - before >= sum(counts)
        print(f"microvm, Linux {series}: {counts} datagrams in {_SECONDS} s")
        guest.check_kernel()
    assert not trace.exists() or not trace.read_text()


def test_switches_have_names(network: Network) -> None:
    """Two NICs with a CVSW are two, as on PCI."""
    space = network.namespace("host")
    bridge = space.bridge()
    first, second = (
        bed.options(space.tap(f"tap{number}", bridge), f"52:54:00:00:00:0{number}")
        for number in range(2)
    )
    # The same secret serves both.
    second = tuple(re.sub(r"\b(nic|net)0\b", r"\g<1>1", word) for word in second[:2] + second[4:])
    with scratch.folder() as name:
        command = _qemu(*first, *second, "-qmp", f"unix:{name}/qmp,server=on,wait=off")
        process = qemu.QemuProcess(command, netns=space.netns, stderr=Path(name) / "log")
        try:
            monitor = Qmp(process.connect(Path(name) / "qmp"))
            names = {nic["id"] for nic in monitor.command("query-cvsw")}
            monitor.close()
        finally:
            process.stop()
    assert names == {"nic0", "nic1"}


@pytest.mark.parametrize("count", [2, pytest.param(100, marks=pytest.mark.long)])
def test_many(network: Network, count: int) -> None:
    """The example: each answers at its address, alone in its root, and follows its policy there."""
    host = network.namespace("host")
    began = time.monotonic()
    with many.running(host, count, kernel.OLDEST) as vms:
        for number in range(1, count + 1):
            assert vms.page(number) == f"I am vm{number}.\n"
        took = time.monotonic() - began
        states = [vms.status(number) for number in range(1, count + 1)]
        assert len({state["Uid"] for state in states}) == count
        assert {state["CapEff"] for state in states} == {"0000000000000000"}
        assert {state["Seccomp"] for state in states} == {"2"}
        resident = sum(int(state["VmRSS"].split()[0]) for state in states) / count / 1024
        print(f"{count} microvms answer after {took:.0f} s; {resident:.0f} MiB each")
        policy = vms.folder / "1" / "policy"
        fresh = policy.with_suffix(".new")
        fresh.write_text("default deny\n")
        fresh.rename(policy)
        with vms.monitor(1) as monitor:

            def was_read() -> bool:
                (device,) = monitor.command("query-vmrpc", sockets_limit=0)
                return bool(device["counters"]["policy-reloads"])

            wait.until(was_read, "the new policy")
        pids = [vms.pid(number) for number in range(1, count + 1)]
        vms.end()
        wait.until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "their end")
    assert many.PREFIX not in host.ip("-6", "address", "show")
