# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt check``: each fault that is planted is found, with its remedy."""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from lxml import etree  # type: ignore[import-untyped]
from vmmnet.architecture import AMD64, ARM64, HOST
from vmmnet.libvirt import element, names
from vmmnet.libvirt.check import apparmor, core
from vmmnet.libvirt.check.facts import Domain, Finding, Library, Node, Policy, Unit, User
from vmmnet.libvirt.expand import expand
from vmmnet.libvirt.host.conf import BadConf
from vmmnet.libvirt.host.secrets import SecretError

A, B = "52:54:00:00:00:0a", "52:54:00:00:00:0b"
VM = "2001:db8:1::c0de"
EMULATOR = "/usr/bin/qemu-system-x86_64-vmmnet"
TABLE = "/var/lib/vmmnet/lnid.table"
POLICY = "/etc/vmmnet/guest.policy"
KEY = "/etc/vmmnet/keys/red1"
HOSTD = "/run/vmmnet/hostd.sock"
VALIDATE = "/run/vmmnet-validate/*/socket"
HOOK = "/etc/libvirt/hooks/qemu.d/vmmnet"
SOCKETS = f"<vmmnet:sockets address6='{VM}' policy='{POLICY}'/>"
NIC = (
    f"<vmmnet:interface mac='{A}' hostvlan='{TABLE}'>"
    f"<vmmnet:cvsw control-secret='{KEY}' miss='drop'/></vmmnet:interface>"
)
RULES = f"""
  {EMULATOR} rmix,
  /var/lib/vmmnet/ r,
  /var/lib/vmmnet/*.table r,
  /etc/vmmnet/ r,
  /etc/vmmnet/{{*.policy,keys/**}} r,
  {HOSTD} rw,
  {VALIDATE} rw,
"""
USER = User("libvirt-qemu", 64055, frozenset((107, 64055)))


def _files() -> dict[str, int]:
    files = {EMULATOR: 0o755, TABLE: 0o644, POLICY: 0o644, KEY: 0o444, HOOK: 0o755}
    return {path: stat.S_IFREG | mode for path, mode in files.items()}


def _devices() -> dict[tuple[str, str], str]:
    sockets = ["address6", "policy", "dns", "zone", "max-sockets", "dnssec", "validator"]
    switch = ["netdev", "control-secret", "miss"]
    return {
        ("device", "virtio-vmrpc-pci,help"): _options("virtio-vmrpc-pci", sockets),
        ("device", "virtio-net-cvsw-pci,help"): _options("virtio-net-cvsw-pci", switch),
        ("netdev", "help"): "Available netdev backend types:\nstage\nhostvlan\nmip6\ntap\n",
        ("object", "help"): "List of user creatable objects:\n  secret\n  vmmnet-handoff\n",
    }


def _options(device: str, options: list[str]) -> str:
    return f"{device} options:\n" + "".join(f"  {each}=<str>\n" for each in options)


@dataclass
class World:
    """A host without faults, in which tests plant faults."""

    conf: dict[str, str] | None = field(default_factory=lambda: {"max_files": "32768"})
    as_user: User | None = USER
    #: Modes of files, and of folders that are not 0755; all are root's.
    modes: dict[str, int] = field(default_factory=_files)
    #: Folders on whose way nothing of these is.
    folders: set[str] = field(default_factory=lambda: {"/", "/var", "/var/log"})
    links: dict[str, str] = field(default_factory=dict)
    acls: set[str] = field(default_factory=set)
    #: SELinux's types, where they are not that of libvirt's content.
    labels: dict[str, str] = field(default_factory=dict)
    hook_path: Path | None = Path(HOOK)
    qemu: dict[tuple[str, str], str] | None = field(default_factory=_devices)
    release: str = "10.0.13"
    addresses: set[str] = field(default_factory=lambda: {VM})
    devices: dict[str, str] = field(default_factory=lambda: {VM: "eth0"})
    host_conf: str = ""
    silent: str = ""
    sysctls: dict[str, str] = field(
        default_factory=lambda: {
            "net.ipv4.ping_group_range": "0\t2147483647",
            "net.ipv4.ip_unprivileged_port_start": "80",
        }
    )
    rules: str | None = None
    enforcing: bool = False
    library: Library | None = None
    unit_state: Unit = field(default_factory=lambda: Unit("loaded"))
    no_validator: str = ""
    rules_of_guest: Policy = field(default_factory=lambda: Policy("", ()))
    ebpf: set[str] = field(default_factory=set)
    secrets: dict[str, SecretError | None] = field(default_factory=dict)
    no_interfaces: set[str] = field(default_factory=set)

    def qemu_conf(self) -> dict[str, str] | None:
        """What is planted."""
        return self.conf

    def user(self) -> User | None:
        """What is planted."""
        return self.as_user

    def way(self, path: Path) -> list[Node]:
        """By the modes."""
        path = Path(self.links.get(str(path), path))
        if str(path) not in {*self.modes, *self.folders}:
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return [self._node(each) for each in (*reversed(path.parents), path)]

    def _node(self, path: Path) -> Node:
        mode = self.modes.get(str(path), stat.S_IFDIR | 0o755)
        label = self.labels.get(str(path), "virt_content_t")
        return Node(path, 0, 0, mode, str(path) in self.acls, label)

    def hook(self) -> Path | None:
        """What is planted."""
        return self.hook_path

    def help(self, emulator: Path, option: str, what: str) -> str | None:
        """Of the one emulator."""
        assert str(emulator) == EMULATOR
        return None if self.qemu is None else self.qemu.get((option, what), "")

    def version(self, emulator: Path) -> str | None:
        """Of the one emulator."""
        assert str(emulator) == EMULATOR
        return None if self.qemu is None else f"QEMU emulator version {self.release} (vmmnet)\n"

    def address6_missing(self, address: str) -> str:
        """Of the addresses."""
        return "" if address in self.addresses else "is no address of this host"

    def address6_device(self, address: str) -> str | None:
        """Of the devices."""
        if self.host_conf:
            raise BadConf(self.host_conf)
        return self.devices.get(address)

    def conf_wrong(self) -> str:
        """What is planted."""
        return self.host_conf

    def has_interface(self, name: str) -> bool:
        """But for those that are planted."""
        return name not in self.no_interfaces

    def has_user(self, label: str) -> bool:
        """Of qemu.conf, or of labels that are not planted."""
        return not label.startswith("nobody-there:") if label else self.as_user is not None

    def hostd(self) -> str:
        """What is planted."""
        return self.silent

    def secret(self, uuid: str) -> SecretError | None:
        """What is planted."""
        return self.secrets[uuid]

    def sysctl(self, name: str) -> str | None:
        """What is planted."""
        return self.sysctls.get(name)

    def unit(self, name: str) -> Unit:
        """What is planted."""
        assert name == "vmmnet-validate@00000000-0000-4000-9000-000000000001.service"
        return self.unit_state

    def nobody_at(self, path: Path) -> str:
        """What is planted, at the one socket."""
        assert str(path) == "/run/own"
        return self.no_validator

    def policy(self, path: Path) -> Policy | None:
        """What is planted, of the one file."""
        return self.rules_of_guest if str(path) == POLICY else None

    def unbound(self) -> Library | None:
        """What is planted."""
        return self.library

    def apparmor(self) -> str | None:
        """What is planted."""
        return self.rules

    def selinux(self) -> bool:
        """What is planted."""
        return self.enforcing

    def filtered(self) -> set[str]:
        """What is planted."""
        return self.ebpf


def domain(inside: str = SOCKETS + NIC, net: str = "", more: str = "") -> Any:
    """A domain with a NIC, not expanded; ``more`` is beside its devices."""
    return etree.fromstring(f"""
        <domain type='kvm'><name>guest</name><uuid>00000000-0000-4000-9000-000000000001</uuid>
          <metadata><vmmnet:net xmlns:vmmnet='{names.NET}' {net}>{inside}</vmmnet:net></metadata>
          <os><type arch='x86_64' machine='q35'>hvm</type></os>
          <devices>
            <emulator>{EMULATOR}</emulator>
            <interface type='bridge'><mac address='{A}'/><source bridge='br0'/>
              <model type='virtio'/></interface>
          </devices>{more}
        </domain>""")


def check(world: World, defined: Any = None, **given: Any) -> list[Finding]:
    """Return the findings for a domain, by default an expanded one."""
    defined = expand(domain()) if defined is None else defined
    return list(core.findings(Domain("guest", defined, **given), world))


def only(found: list[Finding], severity: str = "fault") -> Finding:
    """Return the only finding."""
    assert len(found) == 1, found
    assert found[0].severity == severity and found[0].remedy, found
    return found[0]


def test_a_host_that_is_in_order() -> None:
    assert check(World()) == []
    assert check(World(rules=RULES), expand(domain(net="handoff='on'"))) == []
    assert check(World(), version=(8, 2, 0), running=expand(domain())) == []


def test_a_domain_without_the_element_is_not_looked_at() -> None:
    bare = domain()
    bare.remove(bare.find("metadata"))
    assert "no <vmmnet:net>" in only(check(World(modes={}), bare), "note").wrong


# The definition


def test_what_was_expanded_goes_with_its_element() -> None:
    """The hook refuses the start; 'define' of a file leaves it out."""
    left = expand(domain())
    left.remove(left.find("metadata"))
    found = only(check(World(), left))
    assert "no <vmmnet:net> any more, and what was made of that: " in found.wrong
    assert f"NIC {A}: override of netdev is there" in found.wrong
    assert "vmmnet libvirt define" in found.remedy
    assert "no <vmmnet:net>, so" in only(check(World(), left, is_file=True), "note").wrong


@pytest.mark.parametrize("is_file", [True, False])
def test_an_element_whose_namespace_is_mistyped(is_file: bool) -> None:
    text = etree.tostring(domain()).replace(b"/net/1", b"/net")
    found = only(check(World(), etree.fromstring(text), is_file=is_file))
    assert "'https://vmmnet.example/net': this namespace is not that" in found.wrong
    assert names.NET in found.wrong and "vmmnet libvirt define" in found.remedy


def test_a_domain_that_was_never_expanded() -> None:
    found = only(check(World(), domain()))
    assert "never expanded" in found.wrong and "vmmnet libvirt define FILE" in found.remedy
    assert check(World(), domain(), is_file=True) == []


def test_drift() -> None:
    edited = expand(domain())
    edited.find(f"metadata/*/{names.net('interface')}").set("check-sender", "on")
    found = only(check(World(), edited))
    assert "<vmmnet:net> was changed" in found.wrong and "check-sender=on" in found.wrong
    only(check(World(), edited, is_file=True), "note")


def test_an_element_that_is_wrong() -> None:
    found = only(check(World(modes={}), domain(SOCKETS.replace("address6", "adress6"))))
    assert "is it 'address6'?" in found.wrong
    read, change, define = found.remedy.split(", ")
    assert "dumpxml" in read and change == "correct it there" and "define FILE" in define


def test_a_remedy_runs_nothing_that_a_name_asks_for() -> None:
    """Root pastes it into a shell."""
    evil = "/etc/vmmnet/$(reboot)"
    world = World()
    world.modes[evil] = stat.S_IFREG | 0o600
    found = only(check(world, expand(domain(SOCKETS.replace(POLICY, evil)))))
    assert found.remedy == f"'chmod a+r '{evil}''"


@pytest.mark.parametrize("how", ["<driver name='vhost'/>", ""])
def test_frames_that_go_past_qemu(how: str) -> None:
    """By vhost, or by the type of the NIC; the rest of the host is looked at all the same."""
    wrong = domain()
    nic = wrong.find("devices/interface")
    if how:
        nic.append(etree.fromstring(how))
    else:
        nic.set("type", "hostdev")
    found = check(World(addresses=set()), wrong)
    assert len(found) == 2 and "bypass QEMU" in found[0].wrong and "address6" in found[1].about


def test_a_libvirt_that_is_too_old() -> None:
    found = only(check(World(), version=(8, 1, 0)))
    assert found.about == "libvirt" and "8.1.0 is too old" in found.wrong
    assert check(World(), expand(domain(SOCKETS)), version=(8, 1, 0)) == []


def _plugged(into: Any) -> Any:
    nic = f"<interface type='bridge'><mac address='{B}'/><target dev='vnet1'/></interface>"
    into.find("devices").append(etree.fromstring(nic))
    return into


def test_a_nic_that_was_plugged_in_past_the_filter() -> None:
    running = _plugged(expand(domain()))
    found = only(check(World(), running=running))
    assert found.about == B and found.remedy == f"'vmmnet libvirt protect guest {B}'"
    found = only(check(World(ebpf={B}), running=running))
    assert found.about == B and "ends when the domain is saved" in found.wrong
    # A session has no hook that would attach it again.
    session = World(ebpf={B})
    session.hook_path = None
    assert check(session, running=running) == []
    session.ebpf = set()
    assert only(check(session, running=running)).remedy == f"'vmmnet hostvlan attach vnet1 {B}'"
    net = f"<vmmnet:interface mac='{A}' hostvlan='{TABLE}' ebpf='on'/>"
    assert "a session has no hook" in only(check(session, expand(domain(net)))).wrong
    # The element has it, and the hook attaches it.
    net = element.find(running)
    etree.SubElement(net, names.net("interface"), mac=B, hostvlan=TABLE, ebpf="on")
    assert check(World(ebpf={B}), running=running) == []
    found = only(check(World(), running=running))
    assert found.about == B and "its interface has none" in found.wrong
    # A domain without HostVLAN needs no filter.
    plain = expand(domain(SOCKETS))
    assert check(World(), plain, running=_plugged(expand(domain(SOCKETS)))) == []


def test_a_nic_that_was_plugged_out_and_in_again() -> None:
    """By its XML nothing has changed; behind HostVLAN in QEMU there is no tap any more."""
    made = expand(domain())
    nic = made.find("devices/interface")
    nic.set("type", "bridge")
    nic.append(etree.fromstring("<target dev='vnet1'/>"))
    empty = frozenset({names.id_of("hostvlan", A)})
    found = only(check(World(), made, running=made, empty=empty))
    assert found.about == A and f"protect guest {A}" in found.remedy
    assert check(World(ebpf={A}), made, running=made, empty=empty) == []
    # As long as it is out, nothing passes.
    out = expand(domain())
    out.find("devices").remove(out.find("devices/interface"))
    notes = check(World(), made, running=out, empty=empty)
    assert all(each.severity == "note" for each in notes)


def test_a_domain_that_runs_with_other_words() -> None:
    found = only(check(World(), running=expand(domain(SOCKETS))), "note")
    assert "other settings" in found.wrong


# The hook


def test_no_hook() -> None:
    """A session's daemon needs none."""
    world = World()
    del world.modes[HOOK]
    found = only(check(world))
    assert found.about == f"hook {HOOK}" and "vmmnet-control" in found.remedy
    world.hook_path = None
    assert check(world) == []


def test_a_hook_that_libvirt_passes_over() -> None:
    world = World()
    world.modes[HOOK] = stat.S_IFREG | 0o644
    found = only(check(world))
    assert "not executable" in found.wrong
    assert found.remedy.startswith(f"'chmod a+x {HOOK}', 'systemctl restart libvirtd'")


# The emulator


def test_no_emulator() -> None:
    world = World()
    del world.modes[EMULATOR]
    found = only(check(world))
    assert EMULATOR in found.about and "does not exist" in found.wrong
    assert "vmmnet-qemu" in found.remedy


def test_no_emulator_of_another_architecture() -> None:
    """The package has none for it."""
    defined = expand(domain())
    other = next(each for each in (AMD64, ARM64) if each != HOST)
    defined.find("os/type").set("arch", other.qemu)
    defined.find("devices").remove(defined.find("devices/emulator"))
    found = only(check(World(), defined))
    assert found.about == f"emulator /usr/bin/qemu-system-{other.qemu}"
    assert f"of this host is for <type arch='{HOST.qemu}'>" in found.remedy
    assert f"an emulator of {other.qemu} is built from the sources" in found.remedy


def test_an_emulator_that_cannot_be_run() -> None:
    world = World()
    world.modes[EMULATOR] = stat.S_IFREG | 0o644
    assert "not executable" in only(check(world)).wrong
    world.modes[EMULATOR] = stat.S_IFREG | 0o750
    assert "libvirt-qemu, may not run it" in only(check(world)).wrong


@pytest.mark.parametrize(
    ("asked", "said", "wrong"),
    [
        (("device", "virtio-vmrpc-pci,help"), "", "-device virtio-vmrpc-pci"),
        (("device", "virtio-net-cvsw-pci,help"), "", "-device virtio-net-cvsw-pci"),
        (
            ("device", "virtio-vmrpc-pci,help"),
            _options("virtio-vmrpc-pci", ["address6"]),
            "-device virtio-vmrpc-pci with the option policy",
        ),
        (("netdev", "help"), "tap\nuser\n", "-netdev hostvlan"),
        (("object", "help"), "  secret\n", "-object vmmnet-handoff"),
    ],
)
def test_a_qemu_that_lacks_something(asked: tuple[str, str], said: str, wrong: str) -> None:
    world = World()
    assert world.qemu is not None
    world.qemu[asked] = said
    found = only(check(world, expand(domain(net="handoff='on'"))))
    assert found.wrong == f"this QEMU has no {wrong}" and EMULATOR in found.about


def test_a_qemu_that_does_not_answer() -> None:
    assert "did not answer" in only(check(World(qemu=None)), "note").wrong


@pytest.mark.parametrize("release", ["11.0.0", "11.1.3", "12.0.0"])
def test_a_libvirt_that_does_not_save_this_qemu(release: str) -> None:
    for defined in (None, expand(domain(SOCKETS))):
        found = only(check(World(release=release), defined, version=(12, 0, 9)))
        told = f"12.0.9 does not save and restore VMs of QEMU {release}"
        assert found.about == "libvirt" and told in found.wrong
        assert found.remedy.startswith("install libvirt 12.1.0 or later, or")
    assert check(World(release=release), version=(12, 1, 0)) == []


@pytest.mark.parametrize("release", ["10.0.13", "10.2.2"])
def test_a_libvirt_that_saves_this_qemu(release: str) -> None:
    assert check(World(release=release), version=(9, 0, 0)) == []
    # No daemon was asked, or QEMU does not tell.
    assert check(World(release="11.1.3")) == []
    assert check(World(release="(unknown)"), version=(9, 0, 0)) == []


# Files


@pytest.mark.parametrize(
    ("path", "remedy"),
    [(TABLE, "vmmnet hostvlan add"), (POLICY, "write it"), (KEY, "put the key there")],
)
def test_a_file_that_is_missing(path: str, remedy: str) -> None:
    world = World()
    del world.modes[path]
    found = only(check(world))
    assert path in found.about and "does not exist" in found.wrong and remedy in found.remedy


def test_a_zone_image_that_is_missing() -> None:
    world = World()
    world.modes["/srv/b"] = 0o100644
    given = expand(domain(f"<vmmnet:sockets zone='/srv/a+/srv/b' policy='{POLICY}'/>{NIC}"))
    found = only(check(world, given))
    assert "/srv/a" in found.about and "vmmnet-zone compile" in found.remedy


@pytest.mark.parametrize(
    ("named", "path"), [("", "/usr/share/dns/root.key"), ("trust-anchor='/srv/own'", "/srv/own")]
)
def test_a_trust_anchor(named: str, path: str) -> None:
    world = World()
    sockets = f"<vmmnet:sockets address6='{VM}' dnssec='strict' {named}/>"
    given = expand(domain(sockets + NIC))
    found = only(check(world, given))
    assert path in found.about and "dns-root-data" in found.remedy
    world.modes[path] = 0o100644
    assert check(world, given) == []


def _validating(more: str = "") -> tuple[World, Any]:
    world = World()
    world.modes["/usr/share/dns/root.key"] = 0o100644
    sockets = f"<vmmnet:sockets address6='{VM}' dnssec='strict' {more}/>"
    return world, expand(domain(sockets + NIC))


@pytest.mark.parametrize(
    ("unit", "wrong", "remedy"),
    [
        (Unit("not-found"), "vmmnet-validate is not installed", "'apt install vmmnet-validate'"),
        (Unit("masked"), "is masked", "'systemctl unmask vmmnet-validate@00000000-"),
        (Unit("bad-setting"), "is 'bad-setting'", "'systemctl status vmmnet-validate@00000000-"),
        (Unit("loaded", "/x"), "/x, which vmmnet-validate@", "--reinstall vmmnet-validate'"),
        (Unit("", silent="no systemd"), "no systemd", "socket with 'validator'"),
    ],
)
def test_a_validator_that_cannot_be_started(unit: Unit, wrong: str, remedy: str) -> None:
    """The domain, its attribute, and the package are named."""
    world, given = _validating()
    assert check(world, given) == []
    world.unit_state = unit
    found = only(check(world, given))
    assert found.about == "dnssec='strict'" and "'guest' does not start" in found.wrong
    assert wrong in found.wrong and remedy in found.remedy
    assert check(world) == []
    world.hook_path = None
    assert "a session has no hook" in only(check(world, given)).wrong


def test_a_validator_of_the_administrators() -> None:
    """It may come later."""
    world, given = _validating("validator='/run/own'")
    world.unit_state = Unit("not-found")
    assert check(world, given) == []
    world.no_validator = "/run/own does not exist"
    found = only(check(world, given), "note")
    assert "/run/own does not exist: names get SERVFAIL" in found.wrong
    assert "--socket=/run/own" in found.remedy


def test_a_policy_that_is_refused() -> None:
    world = World(rules_of_guest=Policy(f"{POLICY}:7: 'hots' is not an address", ()))
    found = only(check(world))
    assert found.about == f"policy {POLICY}" and ":7: 'hots'" in found.wrong


@pytest.mark.parametrize(
    ("given", "file"),
    [
        ("secret,id=corp,file=/etc/vmmnet/corp", "/etc/vmmnet/corp"),
        ('{"qom-type":"secret","id":"corp","file":"/etc/vmmnet/corp"}', "/etc/vmmnet/corp"),
        ("secret,id=corp,data=a:b", ""),
        ("secret_keyring,id=corp,serial=1", ""),
    ],
)
def test_a_secret_of_a_proxy(given: str, file: str) -> None:
    """It is an object of the domain, and QEMU's user can read its file."""
    world = World(rules_of_guest=Policy("", ("corp",)), rules=RULES)
    found = only(check(world))
    assert "the secret 'corp'" in found.wrong and "secret,id=corp,file=PATH" in found.remedy
    defined = expand(domain())
    line = defined.find(names.qemu("commandline"))
    for value in ("-object", "rng-random,id=corp"):
        etree.SubElement(line, names.qemu("arg"), value=value)
    only(check(world, defined))
    for value in ("-object", given):
        etree.SubElement(line, names.qemu("arg"), value=value)
    if file:
        found = check(world, defined)[0]
        assert found.about == f"secret {file}" and "does not exist" in found.wrong
        world.modes[file] = 0o100600
        missing, confined = check(world, defined)
        assert "'chown libvirt-qemu /etc/vmmnet/corp'" in missing.remedy
        assert f"'{file} r,'" in confined.remedy
        world.modes[file] = 0o100644
        world.rules = f"{RULES}\n  {file} r,"
    assert check(world, defined) == []


# The same are in test-dns-unbound-fixes.c.
@pytest.mark.parametrize(
    ("version", "package", "lacks"),
    [
        ("1.17.1", "", True),
        ("1.25.2", "", True),
        ("1.26.0", "", True),
        ("1.26", "", True),
        ("1.26.1", "", False),
        ("1.26.2", "", False),
        ("1.100.0", "", False),
        ("2.0.0", "", False),
        ("1.17.1", "1.17.1-2", True),
        ("1.17.1", "1.17.1-2+deb12u2", True),
        ("1.17.1", "1.17.1-2+deb12u4", True),
        ("1.17.1", "1.17.1-2+deb12u5", False),
        ("1.17.1", "1.17.1-2+deb12u10", False),
        ("1.22.0", "1.22.0-2", True),
        ("1.22.0", "1.22.0-2+deb13u1", True),
        ("1.26.1", "1.26.1-0+deb13u1", False),
        ("1.26.2", "1.26.2-0+deb13u1", False),
        ("1.22.0", "1.22.0-2~bpo12+1", True),
        ("1.26.2", "1.26.2-1~bpo13+1", False),
        ("1.25.2", "1.25.2-1", True),
        ("1.25.2", "1.25.2-1+b1", True),
        ("1.26.2", "1.26.2-1", False),
        ("1.19.2", "1.19.2-1ubuntu3.7", False),
        ("1.17.1", "1.17.1-2~site3", False),
    ],
)
def test_a_libunbound_without_fixes(version: str, package: str, lacks: bool) -> None:
    world = World()
    world.modes["/usr/share/dns/root.key"] = 0o100644
    world.library = Library(version, package)
    sockets = f"<vmmnet:sockets address6='{VM}' dnssec='{{}}'/>"
    assert check(world, expand(domain(sockets.format("off") + NIC))) == []
    found = check(world, expand(domain(sockets.format("strict") + NIC)))
    assert bool(found) == lacks
    for each in found:
        assert each.severity == "note" and each.about.endswith(package or version)
        assert "CVE-2026-81642" in each.wrong and "1.26.1" in each.remedy


@pytest.mark.parametrize(
    ("path", "mode", "wrong", "remedy"),
    [
        (TABLE, 0o600, "may not read it", f"'chmod a+r {TABLE}'"),
        (KEY, 0o400, "may not read it", f"'chown libvirt-qemu {KEY}', 'chmod 400 {KEY}'"),
        (
            "/etc/vmmnet/keys",
            0o700,
            "search /etc/vmmnet/keys",
            "'chmod a+x /etc/vmmnet/keys'",
        ),
        ("/var/lib/vmmnet", 0o750, "search /var/lib/vmmnet", "'chmod a+rx /var/lib/vmmnet'"),
    ],
)
def test_a_file_that_qemu_cannot_read(path: str, mode: int, wrong: str, remedy: str) -> None:
    world = World()
    world.modes[path] = (stat.S_IFREG if path in world.modes else stat.S_IFDIR) | mode
    found = only(check(world))
    assert wrong in found.wrong and found.remedy == remedy
    world.acls.add(path)
    assert check(world) == []


def test_a_folder_that_qemu_cannot_watch() -> None:
    world = World()
    world.modes["/var/lib/vmmnet"] = stat.S_IFDIR | 0o711
    assert "notices a change late" in only(check(world), "note").wrong


def test_no_user() -> None:
    found = only(check(World(as_user=None)), "note")
    assert found.about == "QEMU's user"


SECRET = "6d7ab5a4-5c1c-4a0e-9d0e-2f6d3b1b8f10"
WITH_SECRET = NIC.replace(f"control-secret='{KEY}'", f"secret='{SECRET}'")


@pytest.mark.parametrize(("untold", "severity"), [(False, "fault"), (True, "note")])
def test_a_secret_that_the_hook_cannot_have(untold: bool, severity: str) -> None:
    defined = expand(domain(SOCKETS + WITH_SECRET))
    assert check(World(secrets={SECRET: None}), defined) == []
    error = SecretError("keeps no secret", "define it", untold=untold)
    found = only(check(World(secrets={SECRET: error}), defined), severity)
    assert (found.about, found.wrong) == (f"control-secret {SECRET}", "keeps no secret")
    assert found.remedy == "define it"


def test_keys_for_a_user_that_the_host_has_not() -> None:
    """The hook refuses the start: it has nobody to give them to."""
    world, label = World(secrets={SECRET: None}), "<label>nobody-there:kvm</label>"
    label = f"<seclabel type='static' model='dac'>{label}</seclabel>"
    found = only(check(world, expand(domain(SOCKETS + WITH_SECRET, more=label))))
    assert found.about == "QEMU's user" and "<seclabel> (nobody-there:kvm)" in found.wrong
    assert check(world, expand(domain(more=label))) == []
    world.as_user = None
    faults = check(world, expand(domain(SOCKETS + WITH_SECRET)))
    found = only([each for each in faults if each.severity == "fault"])
    assert "no user of /etc/libvirt/qemu.conf" in found.wrong


def test_keys_of_the_hook_under_apparmor() -> None:
    defined = expand(domain(SOCKETS + WITH_SECRET))
    found = only(check(World(secrets={SECRET: None}, rules=RULES), defined))
    assert "'/run/vmmnet/libvirt/keys/** r,'" in found.remedy and "AppArmor" in found.wrong
    rules = RULES + "/run/vmmnet/libvirt/keys/** r,\n"
    assert check(World(secrets={SECRET: None}, rules=rules), defined) == []


# AppArmor, SELinux


@pytest.mark.parametrize(
    ("rule", "about", "line"),
    [
        ("/var/lib/vmmnet/ r,", TABLE, "'/var/lib/vmmnet/ r,'"),
        ("/var/lib/vmmnet/*.table r,", TABLE, f"'{TABLE} r,'"),
        ("/etc/vmmnet/ r,", POLICY, "'/etc/vmmnet/ r,'"),
        (f"{HOSTD} rw,", HOSTD, f"'{HOSTD} rw,'"),
        (f"{EMULATOR} rmix,", EMULATOR, f"'{EMULATOR} rmix,'"),
        (f"{VALIDATE} rw,", "/run/vmmnet-validate/", "/socket rw,'"),
    ],
)
def test_a_rule_that_is_missing(rule: str, about: str, line: str) -> None:
    sockets = SOCKETS.replace("/>", " dnssec='strict'/>")
    handing = expand(domain(sockets + NIC, net="handoff='on'"))
    world = World(rules=RULES.replace(rule, ""))
    world.modes["/usr/share/dns/root.key"] = 0o100644
    assert world.rules != RULES
    found = only(check(world, handing))
    assert about in found.about and "AppArmor" in found.wrong
    assert line in found.remedy and apparmor.LOCAL in found.remedy
    assert world.conf is not None
    world.conf["security_driver"] = "none"
    assert check(world, handing) == []


def test_a_domain_that_is_not_confined() -> None:
    loose = expand(domain(more="<seclabel type='none' model='apparmor'/>"))
    assert check(World(rules=""), loose) == []
    assert check(World(enforcing=True), loose) == []
    assert check(World(rules=""), expand(domain(more="<seclabel type='none' model='dac'/>")))


def test_selinux() -> None:
    """Labels matter in enforcing mode; everybody may read /etc."""
    world = World(enforcing=True, labels={TABLE: "var_lib_t", KEY: "", POLICY: "etc_t"})
    keys, tables = sorted(check(world), key=lambda each: each.about)
    assert keys.about == "/etc/vmmnet/keys" and "red1 is unlabeled_t" in keys.wrong
    assert tables.about == "/var/lib/vmmnet" and "lnid.table is var_lib_t" in tables.wrong
    rule = "semanage fcontext -a -t virt_content_t '/var/lib/vmmnet(/.*)?'"
    assert tables.remedy == f"\"{rule}\", 'restorecon -R /var/lib/vmmnet'"
    assert check(World(labels=world.labels)) == []
    assert check(World(enforcing=True)) == []


def test_an_audit_log_that_guests_may_not_write() -> None:
    """Its label counts when it is there; the hook makes it."""
    path = "/var/log/vmmnet/web.jsonl"
    logged = expand(domain(SOCKETS.replace("/>", f" audit='{path}'/>") + NIC))
    device = _options("virtio-vmrpc-pci", ["address6", "policy", "audit"])
    world = World(rules=RULES)
    world.qemu["device", "virtio-vmrpc-pci,help"] = device
    found = only(check(world, logged))
    assert found.about == f"audit {path}" and f"'{path} w,'" in found.remedy
    world.rules = f"{RULES}\n  {path} w,"
    assert check(world, logged) == []
    world.enforcing = True
    assert check(world, logged) == []
    world.modes |= {"/var/log/vmmnet": 0o040755, path: 0o100600}
    world.labels = {path: "var_log_t"}
    found = only(check(world, logged))
    assert found.about == f"audit {path}" and "var_log_t" in found.wrong
    assert "semanage fcontext -a -t svirt_image_t '/var/log/vmmnet(/.*)?'" in found.remedy


@pytest.mark.parametrize(
    ("modes", "wrong", "remedy"),
    [
        ({"/var/log": 0o040700}, "may not search /var/log", "'chmod a+x /var/log'"),
        ({"/var/log": 0o100644}, "/var/log is no folder", "name another"),
        ({"/var/log/web": 0o040755}, "is no file", "name another"),
    ],
)
def test_an_audit_log_in_a_wrong_place(modes: dict[str, int], wrong: str, remedy: str) -> None:
    """The hook makes file and folder, and QEMU's user has to get there."""
    world, given = _logged("/var/log/web")
    assert check(world, given) == []
    world.modes |= modes
    found = only(check(world, given))
    assert found.about == "audit /var/log/web"
    assert wrong in found.wrong and remedy in found.remedy


def test_an_audit_log_that_is_a_link() -> None:
    """The hook, which is root, follows none; it may be in a folder that is one."""
    world, given = _logged("/log/web")
    world.links = {"/log": "/var/log", "/log/web": "/var/log/web"}
    world.modes["/var/log/web"] = 0o100600
    assert check(world, given) == []
    world.links["/log/web"] = "/var/log/other"
    world.modes["/var/log/other"] = 0o100600
    assert "is a link" in only(check(world, given)).wrong


def test_an_audit_log_of_a_session() -> None:
    """QEMU makes it itself, in a folder that is there."""
    world, given = _logged("/var/log/vmmnet/web")
    world.hook_path = None
    assert only(check(world, given)).remedy == "'mkdir -p /var/log/vmmnet'"
    world.folders.add("/var/log/vmmnet")
    assert "may not write /var/log/vmmnet" in only(check(world, given)).wrong
    world.modes["/var/log/vmmnet"] = 0o040777
    assert check(world, given) == []
    world.modes["/var/log/vmmnet/web"] = 0o100644
    assert "may not write /var/log/vmmnet/web" in only(check(world, given)).wrong


def _logged(path: str) -> tuple[World, Any]:
    world = World()
    assert world.qemu is not None
    options = ["address6", "policy", "audit"]
    world.qemu["device", "virtio-vmrpc-pci,help"] = _options("virtio-vmrpc-pci", options)
    return world, expand(domain(SOCKETS.replace("/>", f" audit='{path}'/>") + NIC))


# Sockets


@pytest.mark.parametrize("net", ["", "handoff='on'"])
def test_an_address_of_another_domain(net: str) -> None:
    """Whose start the host refuses then."""
    defined = expand(domain(net=net))
    found = only(check(World(), defined, sharing={"web2": True}))
    assert found.about == f"address6 {VM}" and "'web2'" in found.remedy
    assert "is that of the domain 'web2' as well, which runs: a host refuses" in found.wrong
    found = only(check(World(), defined, sharing={"web2": False}), "note")
    assert "is that of the domain 'web2' as well: a host refuses" in found.wrong


def test_an_address_that_is_not_here() -> None:
    found = only(check(World(addresses=set())))
    assert found.about == f"address6 {VM}" and found.wrong == "is no address of this host"
    assert found.remedy.startswith(f"'ip -6 address add {VM}/128 dev eth0'")
    found = only(check(World(addresses=set(), devices={})))
    assert "routers have to" in found.wrong and "dev INTERFACE" in found.remedy
    assert check(World(addresses=set()), expand(domain(net="handoff='on'"))) == []
    assert check(World(addresses=set()), expand(domain(NIC))) == []


def test_a_hostd_that_is_silent() -> None:
    silent = World(silent=f"{HOSTD} does not exist")
    found = only(check(silent, expand(domain(net="handoff='on'"))))
    assert found.about == "vmmnet-hostd" and "systemctl enable --now" in found.remedy
    assert check(silent) == []


def test_an_address_without_a_place() -> None:
    handing = expand(domain(net="handoff='on'"))
    assert "address6-device" in only(check(World(devices={}), handing)).remedy
    found = only(check(World(no_interfaces={"eth0"}), handing))
    assert found.about == "/etc/vmmnet/host.conf" and "no interface eth0" in found.wrong
    assert check(World(no_interfaces={"eth0"})) == []


@pytest.mark.parametrize("net", ["", "handoff='on'"])
def test_settings_that_the_hook_cannot_read(net: str) -> None:
    """It refuses what arrives or is restored, and what is handed off."""
    wrong = World(host_conf="/etc/vmmnet/host.conf, line 3: no")
    found = only(check(wrong, expand(domain(net=net))))
    assert found.about == "/etc/vmmnet/host.conf" and "line 3" in found.wrong
    wrong.hook_path = None
    assert check(wrong, expand(domain())) == []


def _sysctl(name: str, value: str) -> World:
    world = World()
    world.sysctls[f"net.ipv4.{name}"] = value
    return world


@pytest.mark.parametrize(
    ("value", "right"),
    [("1 0", "107 107"), ("0 106", "0 107"), ("70000 80000", "107 80000"), ("107 107", "")],
)
def test_ping(value: str, right: str) -> None:
    """The remedy keeps the groups that already have the permission."""
    found = check(_sysctl("ping_group_range", value))
    assert bool(right) == bool(found)
    if right:
        assert only(found).remedy == f"'sysctl net.ipv4.ping_group_range=\"{right}\"'"


def test_low_ports_are_a_note() -> None:
    found = only(check(_sysctl("ip_unprivileged_port_start", "1024")), "note")
    assert "get no port below" in found.wrong


@pytest.mark.parametrize(
    ("max_sockets", "max_files", "severity"),
    [
        ("", "", "note"),
        ("", "1024", "fault"),
        ("", "16640", ""),
        ("max-sockets='65536'", "32768", "fault"),
        ("max-sockets='65536'", "", "fault"),
        ("max-sockets='512'", "1024", ""),
    ],
)
def test_descriptors(max_sockets: str, max_files: str, severity: str) -> None:
    given = expand(domain(SOCKETS.replace("address6", f"{max_sockets} address6")))
    found = check(World(conf={"max_files": max_files} if max_files else {}), given)
    assert [each.severity for each in found] == ([severity] if severity else [])
    if found:
        assert "EMFILE" in found[0].wrong and "'max_files = " in found[0].remedy


def test_a_qemu_conf_that_may_not_be_read() -> None:
    found = only(check(World(conf=None)), "note")
    assert found.about == "qemu.conf" and "root" in found.remedy
