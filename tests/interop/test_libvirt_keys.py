# SPDX-License-Identifier: GPL-2.0-or-later
"""Keys of the element in secrets of a system's libvirt: QEMU has them, and nobody else keeps them.

one: br0 --- controller          two: br0

The VMs have firmware and no guest: the switch and Mobile IPv6 are QEMU's own.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import tools
from lab.base.net import Interface, Network
from lab.cvsw import bed as cvsw
from lab.guest import qemu
from lab.libvirt.libvirtd import Host
from lxml import etree  # type: ignore[import-untyped]
from vmmnet.libvirt import expand

_MAC = "52:54:00:00:00:01"
_UUID, _SECRET = "00000000-0000-4000-9000-000000000001", "00000000-0000-4000-a000-{:012}"
_KEYS = f"/run/vmmnet/libvirt/keys/{_UUID}"
_SWITCH = f"<vmmnet:cvsw secret='{_SECRET.format(1)}' miss='drop'/>"
# A hook that looks at the keys while a VM starts.
_WATCH = f"""#!/bin/sh
cat >/dev/null
[ $2 != start ] || ls -ln {_KEYS} >/run/keys-at-start 2>&1
"""


def _domain(inside: str, user: str = "") -> str:
    """A domain, expanded; QEMU runs as the user, or as all others do."""
    label = f"<seclabel type='static' model='dac' relabel='no'><label>{user}</label></seclabel>"
    made = etree.fromstring(f"""
        <domain type='qemu'><name>guest</name><uuid>{_UUID}</uuid>
          <metadata><vmmnet:net xmlns:vmmnet='https://vmmnet.example/net/1'>
            <vmmnet:interface mac='{_MAC}'>{inside}</vmmnet:interface>
          </vmmnet:net></metadata>
          <memory unit='MiB'>64</memory>
          <os><type arch='x86_64' machine='q35'>hvm</type></os><features><acpi/></features>
          {label if user else ""}
          <devices><emulator>{qemu.binary()}</emulator>
            <interface type='bridge'><mac address='{_MAC}'/><source bridge='br0'/>
              <model type='virtio'/></interface>
          </devices>
        </domain>""")
    text: str = etree.tostring(expand.expand(made), encoding="unicode")
    return text


def _secret(host: Host, number: int, value: bytes | None, more: str = "") -> str:
    """Have a secret; returns its UUID."""
    uuid = _SECRET.format(number)
    file = host.path("/run/secret")
    file.write_text(f"<secret {more}><uuid>{uuid}</uuid></secret>")
    host.virsh("secret-define", "/run/secret")
    if value is not None:
        file.write_bytes(base64.b64encode(value))
        host.virsh("secret-set-value", uuid, "--file", "/run/secret")
    file.unlink()
    return uuid


def _define(host: Host, text: str) -> None:
    host.path("/run/guest.xml").write_text(text)
    host.virsh("define", "/run/guest.xml")


def _refused(host: Host, *words: str | Path) -> str:
    """What virsh says of what cannot be."""
    with pytest.raises(tools.CommandFailed) as failed:
        host.virsh(*words)
    return str(failed.value)


def _keeps_no_key(host: Host) -> bool:
    return not host.path(_KEYS).exists()


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with Network() as made:
        yield made


@pytest.fixture(scope="module")
def one(network: Network) -> Iterator[Host]:
    with Host(network.namespace("one"), 1) as host:
        hook = host.path("/etc/libvirt/hooks/qemu.d/watch")
        hook.write_text(_WATCH)
        hook.chmod(0o755)
        _secret(host, 1, cvsw.KEY)
        yield host


@pytest.fixture(scope="module")
def wire(network: Network, one: Host) -> Interface:
    """The controller's, on the bridge of host one."""
    bridge = one.space.bridge("br0")
    return network.connect(network.namespace("controller"), bridge).a


@pytest.fixture
def guest(one: Host, wire: Interface) -> Iterator[Host]:
    """Host one, where a domain 'guest' is defined and started; it is gone afterwards."""
    yield one
    with contextlib.suppress(tools.CommandFailed):
        one.virsh("destroy", "guest")
    one.virsh("undefine", "guest")


def _is_driven(wire: Interface) -> None:
    """The controller that has the key finds the switch."""
    with contextlib.closing(cvsw.Controller(wire, _MAC)) as controller:
        controller.hello()
        controller.meet()


@pytest.mark.parametrize("user", ["", "libvirt-qemu:libvirt-qemu"])
def test_qemu_has_the_key_and_nobody_keeps_it(guest: Host, wire: Interface, user: str) -> None:
    _define(guest, _domain(_SWITCH, user))
    guest.virsh("start", "guest")
    _is_driven(wire)
    number = "64055" if user else "0"
    (line,) = guest.path("/run/keys-at-start").read_text().splitlines()[1:]
    mode, _, owner, *_, name = line.split()
    assert (mode[:10], owner, name) == (
        "-r--------",
        number,
        "vmmnet-control-secret-525400000001",
    )
    assert _keeps_no_key(guest)
    told = "\n".join(guest.log()) + guest.virsh("dumpxml", "--security-info", "guest")
    told += guest.run("sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout
    assert "vmmnet-control-secret-525400000001" in told
    assert cvsw.KEY.decode() not in told and base64.b64encode(cvsw.KEY).decode() not in told
    guest.virsh("destroy", "guest")
    assert _keeps_no_key(guest)


def _esp(keys: list[str]) -> str:
    """Mobile IPv6 with two home addresses, and a secret for each key."""
    words = "ipsec='esp' more-home-address='2001:db8::11' location='home'"
    names = ("signal-out", "signal-in", "tunnel-out", "tunnel-in")
    for number, name in enumerate([*names, *(f"more-{each}" for each in names)]):
        words += f" {name}-spi='{256 + number}' {name}-secret='{keys[number]}'"
    home = "home-address='2001:db8::10' home-prefix-length='64' home-agent='2001:db8::1'"
    return f"<vmmnet:mip6 {home} {words}/>"


def test_keys_of_several_home_addresses(guest: Host) -> None:
    """QEMU looks at their length, so that it has read them."""
    keys = [_secret(guest, number, bytes([number] * 20)) for number in range(10, 18)]
    _define(guest, _domain(_esp(keys) + _SWITCH))
    guest.virsh("start", "guest")
    assert len(guest.path("/run/keys-at-start").read_text().splitlines()) == 1 + 9
    assert _keeps_no_key(guest)
    guest.virsh("destroy", "guest")
    _secret(guest, 17, bytes([17] * 19))
    assert "more-tunnel-in-key" in _refused(guest, "start", "guest")
    assert _keeps_no_key(guest)


@pytest.mark.parametrize(
    ("number", "value", "more", "said"),
    [
        (2, None, "", "has no value in"),
        (3, cvsw.KEY, "private='yes'", "is private='yes'"),
        (4, cvsw.KEY, "ephemeral='yes'", "keeps no secret"),
    ],
)
def test_a_secret_that_is_of_no_use(
    guest: Host, number: int, value: bytes | None, more: str, said: str
) -> None:
    uuid = _secret(guest, number, value, more)
    _define(guest, _domain(f"<vmmnet:cvsw secret='{uuid}'/>"))
    text = _refused(guest, "start", "guest")
    assert "vmmnet: domain 'guest': control-secret of" in text and said in text
    assert _keeps_no_key(guest)


def test_a_host_takes_the_vm_once_it_has_the_secret(
    network: Network, guest: Host, wire: Interface
) -> None:
    _define(guest, _domain(_SWITCH))
    guest.virsh("start", "guest")
    with Host(network.namespace("two"), 2) as two, two.way() as way:
        two.space.bridge("br0")
        move = ["migrate", "--live", *way, "guest", two.uri()]
        assert f"keeps no secret {_SECRET.format(1)}" in _refused(guest, *move)
        assert guest.virsh("domstate", "guest").strip() == "running"
        _secret(two, 1, cvsw.KEY)
        guest.virsh(*move)
        assert two.virsh("domstate", "guest").strip() == "running"
        assert _keeps_no_key(two) and _keeps_no_key(guest)
        two.virsh("destroy", "guest")
