# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands around libvirt's hook: the script, /etc/vmmnet/host.conf, the host's addresses."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from vmmnet.libvirt import names
from vmmnet.libvirt.host import address6, conf
from vmmnet.testbed import paths

UUID = "00000000-0000-4000-9000-000000000001"
VM = "2001:db8:1::c0de"
SCRIPT = paths.ROOT / "control/libvirt/vmmnet"


# The script


def script(tmp_path: Path, python: str) -> Path:
    """The script with its places below a folder, and another interpreter."""
    text = SCRIPT.read_text().replace("/run/vmmnet", str(tmp_path / "run"))
    copy = tmp_path / "hook"
    copy.write_text(text.replace("/usr/bin/python3", python))
    copy.chmod(0o755)
    return copy


def call(hook_script: Path, kind: str, xml: str) -> subprocess.CompletedProcess[str]:
    """Run the script as libvirt does."""
    return subprocess.run(
        [hook_script, "guest", kind, "begin", "-"],
        input=xml,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        check=False,
    )


FOREIGN = f"<domain><name>guest</name><uuid>{UUID}</uuid><metadata/></domain>"
OURS = FOREIGN.replace("<metadata/>", f"<metadata><n:net xmlns:n='{names.NET}'/></metadata>")


@pytest.mark.parametrize("kind", ["prepare", "migrate", "release", "reconnect"])
def test_foreign_domains_need_no_python(tmp_path: Path, kind: str) -> None:
    done = call(script(tmp_path, "/bin/false"), kind, FOREIGN)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("kind", ["start", "started", "stopped", "attach"])
def test_events_of_no_use_need_none_either(tmp_path: Path, kind: str) -> None:
    assert call(script(tmp_path, "/bin/false"), kind, OURS).returncode == 0


def test_our_domains_do(tmp_path: Path) -> None:
    broken = script(tmp_path, "/bin/false")
    assert call(broken, "prepare", OURS).returncode
    assert call(broken, "reconnect", OURS).returncode == 0


def test_what_was_made_of_an_element_is_looked_at_without_it(tmp_path: Path) -> None:
    left = "<qemu:arg value='hostvlan,id=vmmnet-hostvlan-525400000001,netdev=hostnet0'/>"
    edited = FOREIGN.replace("<metadata/>", left)
    assert call(script(tmp_path, "/bin/false"), "prepare", edited).returncode


def test_a_domain_that_has_lost_its_element_is_released(tmp_path: Path) -> None:
    note = tmp_path / "run/libvirt" / UUID
    note.parent.mkdir(parents=True)
    note.touch()
    assert call(script(tmp_path, "/bin/false"), "release", FOREIGN).returncode


def test_script_runs_the_hook(tmp_path: Path) -> None:
    text = SCRIPT.read_text().replace("/usr/share/vmmnet", str(paths.ROOT / "control"))
    copy = tmp_path / "hook"
    copy.write_text(text)
    copy.chmod(0o755)
    done = call(copy, "prepare", OURS.replace("<n:net", "<n:net wrong='yes'"))
    assert done.returncode == 1 and "vmmnet: domain 'guest': " in done.stderr
    assert "wrong='yes'" in done.stderr


# host.conf and addresses


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("hostvlan-table", "line 1: 'hostvlan-table' is not of the form 'hostvlan-table PATH'"),
        ("\nuplink br0", "line 2: 'uplink br0' is not of the form 'uplink THERE HERE'"),
        ("hostvlan-table lnid.table", "'lnid.table' is no whole path"),
        ("uplink a b\nuplink a c", "line 2: 'a' has an uplink already: b"),
        ("address6-device a\naddress6-device b", "line 2: address6-device is given already: a"),
        ("table /x", "'table' is none of hostvlan-table, uplink, address6-device"),
    ],
)
def test_what_is_wrong_with_host_conf(text: str, complaint: str) -> None:
    with pytest.raises(conf.BadConf) as error:
        conf.parse(text)
    assert str(error.value).startswith("/etc/vmmnet/host.conf, line") and complaint in str(
        error.value
    )


def test_uplinks() -> None:
    found = conf.parse("uplink br0 br7\nuplink * br8  # all others\n")
    assert [found.uplink(each) for each in ("br0", "br1")] == ["br7", "br8"]
    assert conf.parse("").uplink("br1") == "br1"


def _route(prefix: str, length: int, device: str, flags: int = 1) -> str:
    words = [prefix.ljust(32, "0"), f"{length:02x}", "0" * 32, "00", "0" * 32]
    return " ".join([*words, "00000100", "00000001", "00000000", f"{flags:08x}", device])


def test_the_interface_of_an_address() -> None:
    routes = [
        _route("", 0, "eth9"),
        _route("20010db80001", 48, "eth1"),
        _route("20010db80001", 64, "eth2"),
        _route("20010db80001", 80, "eth3", flags=3),
        _route("20010db80001", 96, "lo", flags=0x201),
        _route("20010db80002", 64, "eth4"),
    ]
    assert address6.device(VM, "\n".join(routes)) == "eth2"
    assert address6.device("2001:db8:3::1", "\n".join(routes)) is None


def test_an_address_is_here_if_it_can_be_bound() -> None:
    assert address6.is_here("::1")
    assert not address6.is_here("2001:db8:ffff::1")
