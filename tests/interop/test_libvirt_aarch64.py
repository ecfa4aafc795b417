# SPDX-License-Identifier: GPL-2.0-or-later
"""A domain of the machine virt for aarch64, with the element, by libvirt's own daemon."""

from __future__ import annotations

import json
import os

import pytest
from lab.base import architecture, commandline, paths
from lab.guest import qemu
from lab.libvirt import session as libvirt_session
from lab.peers.lab import VM_ADDRESS, lab

#: Of a pflash of the machine virt. The VM is paused: nothing reads what is in it.
_FIRMWARE = 64 << 20
_MAC = "52:54:00:00:00:01"
_DOMAIN = """
<domain type='qemu'>
  <name>arm</name>
  <metadata>
    <vmmnet:net xmlns:vmmnet='https://vmmnet.example/net/1'>
      <vmmnet:sockets address6='{address}'/>
      <vmmnet:interface mac='{mac}'><vmmnet:cvsw control-secret='{key}'/></vmmnet:interface>
    </vmmnet:net>
  </metadata>
  <memory unit='MiB'>128</memory>
  <vcpu>2</vcpu>
  <os>
    <type arch='aarch64' machine='virt'>hvm</type>
    <loader readonly='yes' type='pflash'>{loader}</loader><nvram>{nvram}</nvram>
  </os>
  <features><acpi/></features>
  <devices>
    <emulator>{emulator}</emulator>
    <interface type='user'><mac address='{mac}'/><model type='virtio'/>{at}</interface>
    <console type='pty'/>
    <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>
  </devices>
</domain>
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("at", "switch"),
    [("", "virtio-net-cvsw-pci"), ("<address type='virtio-mmio'/>", "virtio-net-cvsw-device")],
)
def test_a_domain_of_aarch64_starts(at: str, switch: str) -> None:
    """QEMU has our devices, at places that libvirt gave to no other one."""
    built = paths.BUILD / "qemu-lean-arm64" / architecture.ARM64.emulator
    if architecture.HOST == architecture.ARM64:
        built = qemu.binary()
    if not built.exists():
        pytest.skip("there is no emulator of aarch64: make lean ARCH=arm64")
    with lab() as world, libvirt_session.session(world, 1) as session:
        key, file = session.folder / "key", session.folder / "arm.xml"
        key.write_text("k" * 32)
        emulator = session.build / built.relative_to(paths.BUILD)
        # Without ACPI, Debian 12's libvirt gives QEMU an option that it has no more.
        firmware = {name: session.folder / name for name in ("loader", "nvram")}
        for each in firmware.values():
            each.touch()
            os.truncate(each, _FIRMWARE)
            each.chmod(0o666)
        given = {"address": VM_ADDRESS, "mac": _MAC, "key": key, "at": at, "emulator": emulator}
        file.write_text(_DOMAIN.format(**given, **firmware))
        uri = f"qemu+unix:///session?socket={session.folder}/libvirt/libvirt-sock"
        defined = commandline.run("libvirt", "define", str(file), "--connect", uri)
        assert defined.status == 0, defined
        session.virsh("start", "--paused", "arm")
        (bus,) = session.monitor("query-pci", "arm")
        places = {each["slot"]: each["qdev_id"] for each in bus["devices"]}
        assert places[0x19] == "vmmnet-sockets"
        devices = session.monitor("qom-list", "arm", path="/machine/peripheral")
        kinds = {each["name"]: each["type"] for each in devices}
        assert kinds["vmmnet-sockets"] == "child<virtio-vmrpc-pci>"
        assert f"child<{switch}>" in kinds.values(), json.dumps(kinds)
