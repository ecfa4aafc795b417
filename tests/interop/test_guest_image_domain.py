# SPDX-License-Identifier: GPL-2.0-or-later
"""The domain that ``vmmnet guest-image --print-domain`` prints, with libvirt's own daemon."""

from __future__ import annotations

from pathlib import Path

from lab.base import commandline
from lab.libvirt import session as libvirt_session
from lab.peers.lab import VM_ADDRESS, lab


def test_the_domain_is_defined(tmp_path: Path) -> None:
    image = tmp_path / "guest.qcow2"
    words = ["--output", str(image), "--hostname", "tiny", "--address6", VM_ADDRESS]
    printed = commandline.run("guest-image", "--print-domain", *words)
    assert (printed.status, printed.err) == (0, "")
    with lab() as world, libvirt_session.session(world, 1) as session:
        # KVM need not be here, and the emulator is the one that was built.
        text = printed.out.replace('type="kvm"', 'type="qemu"')
        emulator = session.build / "qemu-lean" / "qemu-system-x86_64"
        text = text.replace("/usr/bin/qemu-system-x86_64-vmmnet", str(emulator))
        file = session.folder / "guest.xml"
        file.write_text(text)
        uri = f"qemu+unix:///session?socket={session.folder}/libvirt/libvirt-sock"
        defined = commandline.run("libvirt", "define", str(file), "--connect", uri)
        assert defined.out == f"tiny: defined, VMRPC with {VM_ADDRESS}\n", defined
        kept = session.virsh("dumpxml", "--inactive", "tiny")
    assert f"file='{image}'" in kept and VM_ADDRESS in kept
    assert "<interface" not in kept
