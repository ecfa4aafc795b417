# SPDX-License-Identifier: GPL-2.0-or-later
"""The environment of libvirt's hook: its script, /etc/vmmnet/host.conf, the host's addresses."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from lab.base import own_run, paths, wait
from lab.base.net import Network
from vmmnet.libvirt import document, names, strays
from vmmnet.libvirt.host import account, address6, conf, keyfiles, secrets
from vmmnet.libvirt.schema import BadElement

UUID = "00000000-0000-4000-9000-000000000001"
VM = "2001:db8:1::c0de"
SCRIPT = paths.ROOT / "control/libvirt/vmmnet"


# The script


def script(tmp_path: Path, python: str) -> Path:
    """The script with its places below a folder, and another interpreter."""
    text = SCRIPT.read_text().replace("/run/vmmnet", str(tmp_path / "run"))
    text = text.replace("/usr/share/vmmnet", str(paths.ROOT / "control"))
    copy = tmp_path / "hook"
    copy.write_text(text.replace("/usr/bin/python3", python))
    copy.chmod(0o755)
    return copy


def call(hook_script: Path, kind: str, xml: str) -> subprocess.CompletedProcess[str]:
    """Run the script as libvirt does."""
    return subprocess.run(
        own_run.words(hook_script, "guest", kind, "begin", "-"),
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


@pytest.mark.parametrize(
    "meant",
    [
        "<vmmnet:net xmlns:vmmnet='https://elsewhere.example/1'/>",
        '<n:net xmlns:n="https://vmmnet.example/net"/>',
        "<n:net xmlns:n='VMMNET.example/net/1'/>",
        "<net><sockets/></net>",
        "<n:net xmlns:n='https://vmnet.example/net/1'><n:sockets/></n:net>",
        "<n:net xmlns:n='https://vmnet.example/net/1'><n:interface mac='a' hostvlan='/t'/></n:net>",
        "<n:net xmlns:n='urn:x'><n:interface mac='a'><n:mip6/></n:interface></n:net>",
        "<net><interface mac='a'><cvsw secret='a'/></interface></net>",
    ],
)
def test_what_is_meant_as_our_element_is_looked_at(tmp_path: Path, meant: str) -> None:
    """Also by ``strays``, which knows more: so its refusal is reached."""
    mistyped = FOREIGN.replace("<metadata/>", f"<metadata>{meant}</metadata>")
    assert call(script(tmp_path, "/bin/false"), "prepare", mistyped).returncode
    with pytest.raises(BadElement):
        strays.check(document.parse(mistyped))


@pytest.mark.parametrize(
    "foreign",
    [
        "<emulator>/usr/bin/qemu-system-x86_64-vmmnet</emulator>",
        "<topology sockets='1' cores='2'/>",
        "<qemu:arg xmlns:qemu='urn:q' value='hostvlan,id=h,netdev=n,table=/var/lib/vmmnet/t'/>",
        "<metadata><t:net xmlns:t='https://tool.example/'><t:interface/></t:net></metadata>",
    ],
)
def test_what_others_have_alike_is_not(tmp_path: Path, foreign: str) -> None:
    domain = FOREIGN.replace("<metadata/>", foreign)
    assert call(script(tmp_path, "/bin/false"), "prepare", domain).returncode == 0
    strays.check(document.parse(domain))


def test_what_was_made_of_an_element_is_looked_at_without_it(tmp_path: Path) -> None:
    left = "<qemu:arg value='hostvlan,id=vmmnet-hostvlan-525400000001,netdev=hostnet0'/>"
    edited = FOREIGN.replace("<metadata/>", left)
    assert call(script(tmp_path, "/bin/false"), "prepare", edited).returncode


def test_keys_are_taken_away_once_qemu_has_started(tmp_path: Path) -> None:
    """Errors there do not end the VM."""
    called = tmp_path / "called"
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\ntouch {called}\n")
    python.chmod(0o755)
    copy = script(tmp_path, str(python))
    assert call(copy, "started", OURS).returncode == 0
    assert not called.exists()
    (tmp_path / "run/libvirt/keys" / UUID).mkdir(parents=True)
    assert call(copy, "started", OURS).returncode == 0
    assert called.exists()
    assert call(script(tmp_path, "/bin/false"), "started", OURS).returncode == 0


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


@pytest.mark.parametrize("kind", ["prepare", "migrate"])
def test_a_script_that_was_left_behind_says_what_is_missing(tmp_path: Path, kind: str) -> None:
    """As 'apt remove' leaves it."""
    copy = tmp_path / "hook"
    copy.write_text(SCRIPT.read_text().replace("/usr/share/vmmnet", str(tmp_path)))
    copy.chmod(0o755)
    assert call(copy, kind, FOREIGN).returncode == 0
    refused = call(copy, kind, OURS)
    assert refused.returncode == 1
    assert "install vmmnet-control again, or remove " in refused.stderr
    assert str(copy) in refused.stderr
    # What a restore lacks is said by "prepare", which follows (hook.py).
    for ends in "release", "reconnect", "restore":
        assert (call(copy, ends, OURS).returncode, call(copy, ends, OURS).stderr) == (0, "")


# host.conf and addresses


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("hostvlan-table", "line 1: 'hostvlan-table' is not of the form 'hostvlan-table PATH'"),
        ("\nuplink br0", "line 2: 'uplink br0' is not of the form 'uplink THERE HERE'"),
        ("hostvlan-table lnid.table", "'lnid.table' is no absolute path"),
        ("uplink a b\nuplink a c", "line 2: 'a' has an uplink already: b"),
        ("address6-device a\naddress6-device b", "line 2: address6-device is given already: a"),
        ("table /x", "'table' is none of hostvlan-table, uplink, address6-device, address6-wait"),
        ("address6-wait soon", "'soon' is no number of seconds from 0 to 240"),
        ("address6-wait -1", "line 1: '-1' is no number"),
        ("address6-wait 241", "line 1: '241' is no number"),
        ("care-of 52:54:00:00:00:01", "is not of the form 'care-of MAC ADDRESS'"),
        ("care-of * 2001:db8::1", "'2001:db8::1' can be one NIC's only"),
        ("care-of vm1 auto", "line 1: "),
        ("care-of 52:54:00:00:00:01 home", "'home' is neither an IPv6 address nor auto"),
        (
            "care-of 52:54:00:00:00:0A auto\ncare-of 52:54:00:00:00:0a 2001:db8::1",
            "line 2: '52:54:00:00:00:0a' has a care-of address already: auto",
        ),
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


def test_care_of_addresses() -> None:
    found = conf.parse("care-of 52:54:00:00:00:0A 2001:DB8::1\ncare-of * auto\n")
    assert found.care_of("52:54:00:00:00:0a") == "2001:db8::1"
    assert found.care_of("52:54:00:00:00:0b") == "auto"
    assert conf.parse("").care_of("52:54:00:00:00:0a") is None


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


def _held(flags: int) -> str:
    return f"{'20010db80001'.ljust(28, '0')}c0de 02 80 00 {flags:02x}     br0\n"


def test_why_an_address_is_not_here() -> None:
    assert address6.missing(VM, "") == "is no address of this host"
    assert address6.missing(VM, _held(0xC0)).startswith("is on br0, but tentative")
    assert address6.missing(VM, _held(0xC8)).startswith("is on br0, but another node")
    assert address6.duplicate(VM, _held(0xC8)) == "br0"
    assert address6.duplicate(VM, _held(0xC0)) is None


def test_the_wait_ends_with_a_change_or_with_its_time() -> None:
    with Network() as network:
        host = network.namespace("host")

        def there() -> bool:
            calls.append(address6.exists("late0"))
            if len(calls) == 1:
                host.tap("late0")
            return calls[-1]

        calls: list[bool] = []
        with host.entered():
            assert address6.wait_for(there, wait.PATIENCE)
            assert calls[0] is False and calls[-1] is True
            assert not address6.wait_for(lambda: False, 0.01)


# Keys


SECRET = "6d7ab5a4-5c1c-4a0e-9d0e-2f6d3b1b8f10"


def define(folder: Path, value: str | None, private: str = "no") -> None:
    """Have a secret as libvirt keeps it."""
    xml = f"<secret ephemeral='no' private='{private}'>\n  <uuid>{SECRET}</uuid>\n</secret>\n"
    (folder / f"{SECRET}.xml").write_text(xml)
    if value is not None:
        (folder / f"{SECRET}.base64").write_text(value)


def test_a_secret(tmp_path: Path) -> None:
    define(tmp_path, "AP8K")
    assert secrets.read(SECRET, tmp_path) == b"\0\xff\n"


@pytest.mark.parametrize(
    ("value", "private", "text", "remedy"),
    [
        (None, "no", "has no value in", "'encrypt_data = 0'"),
        ("AP8K", "yes", "is private='yes'", "define' with private='no'"),
        ("", "no", "is no value in base64", "virsh secret-set-value"),
        ("A", "no", "is no value in base64", "virsh secret-set-value"),
        ("AP8K AP8K", "no", "is no value in base64", "virsh secret-set-value"),
    ],
)
def test_a_secret_that_cannot_be_had(
    tmp_path: Path, value: str | None, private: str, text: str, remedy: str
) -> None:
    define(tmp_path, value, private)
    with pytest.raises(secrets.SecretError) as error:
        secrets.read(SECRET, tmp_path)
    assert text in error.value.text and remedy in error.value.remedy
    assert not error.value.untold and "AP8K" not in str(error.value)


def test_a_secret_that_is_not_there(tmp_path: Path) -> None:
    """One that is ephemeral leaves as little."""
    with pytest.raises(secrets.SecretError, match=r"keeps no secret .*with ephemeral='no'"):
        secrets.read(SECRET, tmp_path)


def test_a_secret_that_nobody_may_look_at(tmp_path: Path) -> None:
    (tmp_path / f"{SECRET}.xml").mkdir()
    with pytest.raises(secrets.SecretError) as error:
        secrets.read(SECRET, tmp_path)
    assert error.value.untold and "run this as root" in error.value.remedy


def test_files_with_keys(tmp_path: Path) -> None:
    folder = tmp_path / "keys/vm"
    keyfiles.put(folder, {"old": b"1"}, os.getuid())
    keyfiles.put(folder, {"a": b"\0\xff\n", "b": b"2"}, os.getuid())
    modes = {each.name: each.stat().st_mode & 0o777 for each in folder.iterdir()}
    assert modes == {"a": 0o400, "b": 0o400}
    assert (folder / "a").read_text() == "AP8K"
    assert folder.stat().st_mode & 0o777 == 0o500
    assert folder.parent.stat().st_mode & 0o777 == 0o711
    assert keyfiles.drop(folder) and not folder.exists()
    assert not keyfiles.drop(folder)


def test_a_link_in_the_folder_of_keys_leads_nowhere(tmp_path: Path) -> None:
    """The folder was the user's that QEMU runs as."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/file").touch()
    folder = tmp_path / "keys/vm"
    keyfiles.put(folder, {"a": b"1"}, os.getuid())
    folder.chmod(0o700)
    (folder / "link").symlink_to(tmp_path / "mine")
    keyfiles.drop(folder)
    assert (tmp_path / "mine/file").exists()


@pytest.mark.parametrize(
    ("given", "label", "uid"),
    [
        ({"user": "nobody"}, "", 65534),
        ({"user": "nobody"}, "root:root", 0),
        ({"user": "nobody"}, "+0:+0", 0),
        ({"user": "root", "group": "no-such-group"}, "", None),
        ({}, "no-such-user", None),
    ],
)
def test_the_user_that_qemu_runs_as(given: dict[str, str], label: str, uid: int | None) -> None:
    found = account.of(given, label)
    assert (found.uid if found else None) == uid
