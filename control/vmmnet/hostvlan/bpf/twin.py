# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN on an interface of the host, in eBPF: attach, detach, status, sync.

This is for frames that QEMU does not see: those of vhost-net taps, macvtaps and veths
of containers, and those of the host's own network stack at a bridge.  The programs in
net/hostvlan/bpf give the verdicts; make bpf compiles them to hostvlan.bpf.o beside
this file.

Theory of operation
===================

All state is in the kernel and has names in bpffs, so that it does not depend on a
process:

    /sys/fs/bpf/vmmnet/TABLE/tables, copy   the table's copy (see ``mirror``)
                            /path           the path of its file
                            /NETNS-IFINDEX/port, counters
                                          /interface      a map that loses it with the interface
                                          /xdp            a link
                                          /send, receive  links, or programs, of tc
                                          /send_program, receive_program

TABLE is a hash of the file's path, NETNS the network namespace's cookie.  A link in
bpffs keeps its program on the interface; a filter of tc stays by itself.  A process
that changes anything below /sys/fs/bpf/vmmnet, a table's copy included, locks that
folder.

If the interface is attached already, attach() replaces the programs in its link and its
filters, so that no frame passes unchecked during an upgrade.  If a process is killed in
attach(), the next attach() completes its work, and detach() removes it.  The next
attach() or sync(), in any network namespace, removes the state of interfaces that no
longer exist.  That an interface has lost its links does not prove it: somebody may have
detached them, and whoever keeps that namespace's interfaces attaches them again.
"""

from __future__ import annotations

import contextlib
import ctypes
import enum
import errno
import fcntl
import hashlib
import os
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from vmmnet.log import logger
from vmmnet.values import mac as macs

from ..table import layout
from ..table.table import Table, TableError
from . import bpf, mirror, nic

BPFFS = Path("/sys/fs/bpf")
ROOT = BPFFS / "vmmnet"
OBJECT = Path(__file__).with_name("hostvlan.bpf.o")

#: The counters, in the order of enum hostvlan_reason.
REASONS = (
    "passed",
    "spoofed",
    "unknown-source",
    "other-tenant",
    "forged-address",
    "malformed",
    "no-table",
    "no-port",
    "damaged",
    "l2-control",
    "multicast-query",
    "ra-guard",
    "dhcp-guard",
)

#: The hook for frames that the interface's station sends: see attach().
Sending = Literal["xdp", "tc"]
Verdict = Literal["send", "receive"]

_STATUS = Path("/proc/self/status")
# From linux/capability.h.
_CAP_SYS_ADMIN, _CAP_PERFMON = 1 << 21, 1 << 38
_BPF_FS_MAGIC = 0xCAFE4A11
# Before filters of other programs, with a handle that no other program uses.
_PRIORITY, _HANDLE = 1, 0x484C414E

# struct hostvlan_port, and its flags.
_PORT = struct.Struct("=QQII16s")
_SEND_TC, _REVERSED, _CLSACT, _L2_CONTROL, _CHECK_SENDER = 1, 2, 4, 8, 16
_RA_GUARD, _DHCP_GUARD = 32, 64
_OPTIONS = _L2_CONTROL | _CHECK_SENDER | _RA_GUARD | _DHCP_GUARD
_COUNTERS = struct.Struct(f"={2 * len(REASONS)}Q")
_PATH_MAP, _PATH_SIZE = "hostvlan_path", 4096
# The newest version of tables that the programs read, in the flags of struct hostvlan_port.
_READS_SHIFT, _READS = 8, 0xFF00
# The oldest version of tables has none of these.
_NEWER = "--router, --dhcp-server, --also and prefixes"
# Not for the programs: detach() removes this interface.
_DETACHED = 128


class TwinError(RuntimeError):
    """A call cannot be carried out; the message says why, and what to do."""


class Synced(enum.Enum):
    """The result of sync(); the value is a sentence for people."""

    NOBODY = "no interface uses it"
    UNCHANGED = "interfaces use it already"
    CHANGED = "interfaces use it; one MAC address was changed for them"
    REPLACED = "interfaces use it; all of it was copied for them"


@dataclass(frozen=True)
class Hook:
    """A place in the kernel where one of our programs checks frames."""

    #: "xdp", "tc ingress" or "tc egress" of the interface.
    place: str
    #: "send": frames from the VM or container; "receive": frames for it.
    verdict: Verdict
    #: Whether the program is there; None: unknown in this network namespace.
    present: bool | None
    #: Whether no other program of tc comes before it; None: unknown, or it is not there.
    first: bool | None


@dataclass(frozen=True)
class Attachment:
    """An interface with HostVLAN."""

    interface: str
    ifindex: int
    #: The network namespace's cookie, and whether this process is in that namespace.
    netns: int
    here: bool
    #: The MAC address of the VM or container behind the interface, as in ``mac``.
    mac: int
    #: Whether it may send layer 2 control protocols.
    l2_control: bool
    #: Whether the senders in its ARP, neighbour discovery and IP are checked.
    check_sender: bool
    #: Whether it may send router advertisements, and DHCP messages to clients, only if
    #: the table allows it.
    ra_guard: bool
    dhcp_guard: bool
    table: Path
    #: The generation of the copy in the kernel; that of the file may be newer.
    generation: int
    hooks: tuple[Hook, ...]
    #: Frames by verdict: those from the VM or container, and those for it.
    send: Mapping[str, int]
    receive: Mapping[str, int]

    @property
    def whole(self) -> bool:
        """Whether no hook is missing, as far as this network namespace shows it."""
        return not self.missing

    @property
    def missing(self) -> list[str]:
        """The places without our program."""
        return [hook.place for hook in self.hooks if hook.present is False]

    @property
    def overtaken(self) -> list[str]:
        """The places where another program decides before ours."""
        return [hook.place for hook in self.hooks if hook.first is False]

    def as_json(self) -> dict[str, object]:
        """The attachment as JSON; the MAC address is a string."""
        return {
            "interface": self.interface,
            "ifindex": self.ifindex,
            "netns": self.netns,
            "here": self.here,
            "mac": macs.text(self.mac),
            "l2-control": self.l2_control,
            "check-sender": self.check_sender,
            "ra-guard": self.ra_guard,
            "dhcp-guard": self.dhcp_guard,
            "table": str(self.table),
            "generation": self.generation,
            "hooks": [vars(hook) for hook in self.hooks],
            "send": dict(self.send),
            "receive": dict(self.receive),
        }


def attach(
    interface: str,
    mac: int | None,
    table: Path,
    *,
    sending: Sending = "xdp",
    l2_control: bool = False,
    check_sender: bool = False,
    ra_guard: bool = False,
    dhcp_guard: bool = False,
) -> Attachment:
    """Let only those frames pass an interface that the table allows.

    ``interface`` is in this process's network namespace.  ``mac`` is the address of the
    station behind it (None: the own address of a macvtap or of a bridge, behind which
    is the host).  With ``l2_control``, it may send layer 2 control protocols: STP, LLDP,
    LACP, CDP and so on.  With ``check_sender``, the senders in its ARP, neighbour
    discovery and IP must be its own addresses.  With ``ra_guard`` and ``dhcp_guard``,
    it may send router advertisements, and DHCP messages to clients, only if the table
    allows it.  If the interface is attached already, with the same arguments, the
    programs are loaded again and missing ones are added; the counters stay, and no frame
    passes unchecked meanwhile.

    With ``sending`` "xdp", frames are checked before any reader gets them, Open vSwitch
    in user space included.  "tc" is cheaper for large frames, and enough for a port of
    a Linux bridge.  A macvtap and a bridge have only "tc".

    Raises TwinError; an interface that was not attached is then still not attached.
    """
    device = _device(interface)
    options = {
        _L2_CONTROL: l2_control,
        _CHECK_SENDER: check_sender,
        _RA_GUARD: ra_guard,
        _DHCP_GUARD: dhcp_guard,
    }
    flags = sum(flag for flag, on in options.items() if on)
    wanted = _wanted(device, mac, sending, flags)
    with _translated(f"attaching to {interface}"), locked(create=True):
        _forget_gone()
        port = _known(device.index, nic.namespace())
        if port is None:
            port = _Port(folder_of(table) / f"{wanted.netns}-{wanted.ifindex}", wanted)
            with _opened(table) as opened:
                try:
                    _put_on(port, opened)
                except BaseException:
                    _take_off(port)
                    raise
        else:
            _refuse_other(port, wanted, table)
            with _opened(table) as opened:
                _put_on(port, opened)
        return _attachment(port)


def attach_again(lost: Attachment) -> Attachment:
    """Attach an interface that was made again under its name, with the arguments of before.

    Raises TwinError as attach() does.
    """
    with _translated(f"attaching to {lost.interface}"), locked(create=True):
        taken = _taken_over(lost)
    if taken is not None:
        return taken
    sending: Sending = "xdp" if any(hook.place == "xdp" for hook in lost.hooks) else "tc"
    return attach(
        lost.interface,
        lost.mac,
        lost.table,
        sending=sending,
        l2_control=lost.l2_control,
        check_sender=lost.check_sender,
        ra_guard=lost.ra_guard,
        dhcp_guard=lost.dhcp_guard,
    )


def _taken_over(lost: Attachment) -> Attachment | None:
    """Give an interface the programs and counters of the one that had its name before.

    The kernel needs half a second of a processor to verify programs, in which frames
    would pass unjudged.  None: there are none any more, or they do not fit.
    """
    before = _known(lost.ifindex, lost.netns)
    if before is None or not _is_gone(before) or before.config.flags & _DETACHED:
        return None
    device = _device(lost.interface)
    wanted = _wanted(device, lost.mac, before.config.sending, before.config.flags & _OPTIONS)
    pins = [_program_pin(before, verdict) for verdict in wanted.places]
    if (
        wanted.places != before.config.places
        or not all(pin.exists() for pin in pins)
        or _known(wanted.ifindex, wanted.netns) is not None
    ):
        return None
    flags = wanted.flags | before.config.flags & _READS
    port = _Port(
        before.folder.with_name(f"{wanted.netns}-{wanted.ifindex}"), replace(wanted, flags=flags)
    )
    before.folder.rename(port.folder)
    try:
        with bpf.closing(bpf.pinned(port.folder / "port")) as fd:
            bpf.update(fd, 0, port.config.pack())
        if _put_back(port):
            return _attachment(port)
    except BaseException:
        _take_off(port)
        raise
    _take_off(port)
    return None


def mend(ifindex: int) -> Attachment | None:
    """Put back what somebody has removed from an interface of this network namespace.

    Programs of ours that come after others come first again.  None: the interface is
    not attached (any more), and stays so.  Raises TwinError if that is impossible.
    """
    with _translated("attaching again"), locked():
        port = _known(ifindex, nic.namespace())
        if port is None:
            return None
        if not _put_back(port):
            with _opened(port.table) as opened:
                _put_on(port, opened)
        return _attachment(port)


class Gone:
    """An interface that is gone, after which nobody has removed its state yet."""

    def __init__(self, lost: Attachment) -> None:
        """Raises FileNotFoundError if somebody has."""
        pin = folder_of(lost.table) / f"{lost.netns}-{lost.ifindex}" / "port"
        self._fd = bpf.pinned(pin)

    @property
    def detached(self) -> bool:
        """Whether somebody has called detach() for it since then."""
        octets = bpf.lookup(self._fd, 0, _PORT.size)
        return octets is not None and bool(_Config.unpack(octets).flags & _DETACHED)

    def __del__(self) -> None:
        if hasattr(self, "_fd"):
            os.close(self._fd)


def detach(interface: str) -> None:
    """Remove HostVLAN from an interface; all frames pass it then.

    The interface may be gone.  Raises TwinError if it is not attached.
    """
    with _translated(f"detaching from {interface}"), locked():
        interface, here = nic.known_as(interface), nic.namespace()
        found = [port for port in _ports() if port.name == interface]
        ours = [port for port in found if port.config.netns == here]
        if not ours:
            where = ", but one of this name in another network namespace is" if found else ""
            raise TwinError(f"{interface} is not attached{where}: see 'vmmnet hostvlan status'")
        for port in ours:
            if not port.visible:
                _note_detached(port)
            _take_off(port)
        _forget_gone()


def status(interface: str | None = None, table: Path | None = None) -> list[Attachment]:
    """The attached interfaces: all of them, or those with this name or this table.

    Raises TwinError if ``interface`` is given and not attached.
    """
    interface = nic.known_as(interface) if interface is not None else None
    with _translated("looking at what is attached"), locked():
        folder = folder_of(table) if table is not None else None
        found = [
            _attachment(port)
            for port in _ports()
            if (folder is None or port.folder.parent == folder) and interface in (None, port.name)
        ]
    if interface is not None and not found:
        raise TwinError(f"{interface} is not attached: 'vmmnet hostvlan status' lists what is")
    return sorted(found, key=lambda each: (not each.here, each.netns, each.interface))


def sync(table: Path, *, check: bool = True) -> Synced:
    """Copy the changes of a table's file to the kernel; call it after each change.

    When it returns, frames are checked by the file's content at the time of the call,
    or a later one.  ``check=False`` is for callers that have checked or written the
    file: only its header and the changes are checked.  To check a million MACs takes
    twenty times as long as to copy them.

    Raises TwinError if the file is missing or damaged; the last good copy stays in force.
    """
    with _translated(f"copying {table} to the kernel"), locked():
        _forget_gone()
        pin = folder_of(table) / "tables"
        if not pin.exists():
            _refuse_hidden(table)
            return Synced.NOBODY
        try:
            with _opened(table) as opened, bpf.closing(bpf.pinned(pin)) as tables:
                if older := _older_programs(pin.parent, opened):
                    raise TwinError(f"{older}; the last good copy of it stays in force")
                done = mirror.copy(tables, copy_pin(pin.parent), opened, check=check)
        except (TableError, mirror.Unsteady) as error:
            raise TwinError(f"{error}; the last good copy of it stays in force") from error
    return {None: Synced.UNCHANGED, True: Synced.CHANGED, False: Synced.REPLACED}[done]


def is_synced(table: Path) -> bool:
    """Whether the kernel's copy is the same as the file, so that sync() has nothing to do.

    Raises TwinError if the file is missing or its header is damaged.
    """
    with _translated(f"comparing {table} with the kernel's copy"), locked():
        pin = folder_of(table) / "tables"
        if not pin.exists():
            return True
        with _opened(table) as opened, bpf.closing(bpf.pinned(pin)) as tables:
            return mirror.is_copied(tables, copy_pin(pin.parent), opened)


# The arguments of attach().


@dataclass(frozen=True)
class _Config:
    """The content of the map ``port``: struct hostvlan_port."""

    mac: int
    netns: int
    ifindex: int
    flags: int
    interface: str

    @classmethod
    def unpack(cls, octets: bytes) -> _Config:
        mac, netns, ifindex, flags, interface = _PORT.unpack(octets)
        return cls(mac, netns, ifindex, flags, interface.split(b"\0")[0].decode())

    def pack(self) -> bytes:
        name = self.interface.encode()
        return _PORT.pack(self.mac, self.netns, self.ifindex, self.flags, name)

    @property
    def sending(self) -> Sending:
        return "tc" if self.flags & (_SEND_TC | _REVERSED) else "xdp"

    @property
    def l2_control(self) -> bool:
        return bool(self.flags & _L2_CONTROL)

    @property
    def check_sender(self) -> bool:
        return bool(self.flags & _CHECK_SENDER)

    @property
    def ra_guard(self) -> bool:
        return bool(self.flags & _RA_GUARD)

    @property
    def dhcp_guard(self) -> bool:
        return bool(self.flags & _DHCP_GUARD)

    @property
    def places(self) -> Mapping[Verdict, int | None]:
        """The hook for each direction: a point of tc, or None for XDP."""
        if self.flags & _REVERSED:
            return {"receive": bpf.INGRESS, "send": bpf.EGRESS}
        sending = bpf.INGRESS if self.flags & _SEND_TC else None
        return {"receive": bpf.EGRESS, "send": sending}


def _device(interface: str) -> nic.Nic:
    try:
        return nic.look(interface)
    except OSError as error:
        raise TwinError(
            f"there is no interface '{interface}' in this network namespace:"
            " 'ip link' lists what there is"
        ) from error


def _wanted(device: nic.Nic, mac: int | None, sending: Sending, flags: int) -> _Config:
    if not device.ethernet:
        raise TwinError(f"{device.name} {_no_port(device)}")
    is_own = device.driver in nic.OWN
    if mac is None and not is_own:
        raise TwinError(
            f"{device.name} is not a macvtap or a bridge: the MAC address of the VM or container"
            f" behind it is not known; give it: 'vmmnet hostvlan attach {device.name} MAC'"
        )
    try:
        number = macs.check(device.mac if mac is None else mac)
    except macs.BadMac as error:
        raise TwinError(str(error)) from error
    flags |= _REVERSED if is_own else _SEND_TC if sending == "tc" else 0
    return _Config(number, nic.namespace(), device.index, flags, device.name)


def _no_port(device: nic.Nic) -> str:
    """Why an interface without Ethernet frames cannot be attached."""
    if device.loopback:
        return (
            "is the loopback of this host: no VM and no container is behind it; the host itself is"
            " behind a bridge"
        )
    if device.driver == "tun":
        return "carries no Ethernet frames: it must be a tap, not a tun"
    return "carries no Ethernet frames: a tap, veth, macvtap or bridge does"


def _refuse_other(port: _Port, wanted: _Config, table: Path) -> None:
    """Raise TwinError if an interface is attached with other arguments."""
    has, asked = port.config, wanted
    differences = (
        ("MAC address", macs.text(has.mac), macs.text(asked.mac)),
        ("table", str(port.table), str(_resolved(table))),
        ("sending", has.sending, asked.sending),
        ("l2-control", *map(_on_off, (has.l2_control, asked.l2_control))),
        ("check-sender", *map(_on_off, (has.check_sender, asked.check_sender))),
        ("ra-guard", *map(_on_off, (has.ra_guard, asked.ra_guard))),
        ("dhcp-guard", *map(_on_off, (has.dhcp_guard, asked.dhcp_guard))),
    )
    for what, one, other in differences:
        if one != other:
            raise TwinError(
                f"{asked.interface} is attached with the {what} {one}, not {other}:"
                f" run 'vmmnet hostvlan detach {asked.interface}' first"
            )


def _on_off(value: bool) -> str:
    return "on" if value else "off"


# The folders in bpffs.


@dataclass(frozen=True)
class _Port:
    """The folder of one interface in bpffs."""

    folder: Path
    config: _Config

    @property
    def here(self) -> bool:
        """Whether it was attached in this network namespace."""
        return self.config.netns == nic.namespace()

    @property
    def visible(self) -> bool:
        """Whether it still is in this network namespace."""
        return self.here and nic.name_of(self.config.ifindex) is not None

    @property
    def name(self) -> str:
        """Its present name, or the one that it had when it was attached."""
        return (nic.name_of(self.config.ifindex) if self.here else None) or self.config.interface

    @property
    def table(self) -> Path:
        octets = _element(self.folder.parent / "path", _PATH_SIZE)
        return Path(os.fsdecode(octets.split(b"\0")[0]))


def _resolved(table: Path) -> Path:
    return Path(os.path.realpath(table))


def folder_of(table: Path) -> Path:
    """The folder of a table in bpffs."""
    return ROOT / hashlib.sha256(os.fsencode(_resolved(table))).hexdigest()[:16]


def copy_pin(folder: Path) -> Path:
    """The name of the copy in a table's folder."""
    return folder / "copy"


def _element(pin: Path, size: int) -> bytes:
    """The only element of a pinned array."""
    with bpf.closing(bpf.pinned(pin)) as fd:
        value = bpf.lookup(fd, 0, size)
    assert value is not None
    return value


def _ports() -> Iterator[_Port]:
    """All interfaces; folders that an interrupted attach() has left are removed."""
    if not ROOT.is_dir():
        return
    for folder in sorted(ROOT.glob("*/*-*")):
        try:
            octets = _element(folder / "port", _PORT.size)
        except FileNotFoundError:
            # The interface has no program yet.
            _remove(folder)
            continue
        yield _Port(folder, _Config.unpack(octets))


def _known(ifindex: int, netns: int) -> _Port | None:
    found = (
        port for port in _ports() if (port.config.ifindex, port.config.netns) == (ifindex, netns)
    )
    return next(found, None)


def _remove(folder: Path) -> None:
    """Remove the folder of an interface, and that of its table if it was the last one."""
    for pin in folder.iterdir():
        pin.unlink()
    folder.rmdir()
    table = folder.parent
    if table != ROOT and not any(table.glob("*-*")):
        _remove_table(table)


def _remove_table(folder: Path) -> None:
    for pin in folder.iterdir():
        pin.unlink()
    folder.rmdir()


@contextlib.contextmanager
def locked(create: bool = False) -> Iterator[None]:
    """Hold the lock.  Without ``create`` the folder may be missing: there is no state then."""
    if create:
        _mount()
        ROOT.mkdir(mode=0o700, exist_ok=True)
    try:
        lock = os.open(ROOT, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    with bpf.closing(lock):
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _mount() -> None:
    """Mount a bpffs if there is none; raises TwinError if it would not stay."""
    if _is_bpffs():
        return
    space = _netns_of_exec()
    if space is not None:
        raise TwinError(
            f"'ip netns exec {space}' hides {BPFFS}, and what would be mounted there now would"
            f" end with it: use 'nsenter --net=/run/netns/{space}' instead"
        )
    if ctypes.CDLL(None, use_errno=True).mount(b"bpffs", os.fsencode(BPFFS), b"bpf", 0, None):
        number = ctypes.get_errno()
        raise OSError(number, f"mounting a bpffs at {BPFFS}: {os.strerror(number)}")
    logger.warning("there was no bpffs at %s: it is mounted now", BPFFS)


def _netns_of_exec() -> str | None:
    """The namespace if 'ip netns exec' runs this process; it mounts a /sys of its own."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mounted, _, filesystem = line.partition(" - ")
        kind, source, _ = filesystem.split(" ", 2)
        if mounted.split()[4] == "/sys" and kind == "sysfs" and Path("/run/netns", source).exists():
            return source
    return None


def _is_bpffs() -> bool:
    answer = ctypes.create_string_buffer(256)
    if ctypes.CDLL(None).statfs(os.fsencode(BPFFS), answer):
        return False
    (magic,) = struct.unpack_from("@l", answer)
    return bool(magic == _BPF_FS_MAGIC)


# Attaching.


@contextlib.contextmanager
def _opened(table: Path) -> Iterator[Table]:
    """Open a table whose header is good."""
    with Table.open(_resolved(table), verify=False) as opened:
        yield opened


def _put_on(port: _Port, table: Table) -> None:
    """Load the programs and attach them, in place of older ones if there are any."""
    links = bpf.tcx_programs(port.config.ifindex, bpf.EGRESS) is not None
    if not links:
        _refuse_qdisc(port)
    folder = port.folder
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with bpf.Object(_object()) as loaded:
        shared = {"tables": folder.parent, "port": folder, "counters": folder}
        # The kernel needs much time to verify a program: load only those in use.
        loaded.leave_out("hostvlan_send" if port.config.sending == "xdp" else "hostvlan_xdp")
        counted = _outgrown_counters(port)
        for name, where in shared.items():
            with contextlib.suppress(FileNotFoundError):
                with bpf.closing(bpf.pinned(where / name)) as fd:
                    loaded.reuse(name, fd)
        _load(loaded)
        if older := _older_programs(folder.parent, table, but=folder):
            # They use the present copy until the last of them is attached again.
            logger.warning("%s", older)
        else:
            mirror.copy(loaded.map("tables"), copy_pin(folder.parent), table, check=True)
        _keep_path(folder.parent, table.path)
        config = port.config
        if not links:
            config = _with_clsact(config)
        # A table that older programs cannot read is refused until the new ones are there.
        config = replace(config, flags=config.flags & ~_READS)
        bpf.update(loaded.map("port"), 0, config.pack())
        if counted is not None:
            bpf.update(loaded.map("counters"), 0, counted)
        _keep_interface(port)
        for name, where in shared.items():
            if not (where / name).exists():
                bpf.pin(loaded.map(name), where / name)
        # "receive" before "send": a station that cannot send yet gets no answers.
        for verdict, point in config.places.items():
            name = "hostvlan_xdp" if point is None else f"hostvlan_{verdict}"
            _put(port, verdict, loaded.program(name), links=links)
            pin = _program_pin(port, verdict)
            pin.unlink(missing_ok=True)
            bpf.pin(loaded.program(name), pin)
        config = replace(config, flags=config.flags | layout.VERSIONS[-1] << _READS_SHIFT)
        bpf.update(loaded.map("port"), 0, config.pack())
        if links:
            _drop_filters(config, loaded.map("port"))


def _put(port: _Port, verdict: Verdict, program: int, *, links: bool) -> None:
    """Attach a program where frames of a direction pass."""
    point = port.config.places[verdict]
    if point is None:
        _put_xdp(port, program)
    elif links:
        _put_tcx(port, verdict, point, program)
    else:
        _put_filter(port, verdict, point, program)


def _program_pin(port: _Port, verdict: Verdict) -> Path:
    return port.folder / f"{verdict}_program"


def _put_back(port: _Port) -> bool:
    """Attach the programs that were attached; False: they must be loaded again.

    That takes the kernel a hundred times as long, and needs the file.  Those of an older
    version have no name.  To come first without a gap, there must be two of them for a
    moment; the kernel takes no program twice.
    """
    pins = {verdict: _program_pin(port, verdict) for verdict in port.config.places}
    if not all(pin.exists() for pin in pins.values()):
        return False
    if any(hook.first is False for hook in _hooks(port)):
        return False
    links = bpf.tcx_programs(port.config.ifindex, bpf.EGRESS) is not None
    if not links:
        _refuse_qdisc(port)
        with bpf.closing(bpf.pinned(port.folder / "port")) as config:
            bpf.update(config, 0, _with_clsact(port.config).pack())
    for verdict, pin in pins.items():
        with bpf.closing(bpf.pinned(pin)) as program:
            _put(port, verdict, program, links=links)
    return True


def _outgrown_counters(port: _Port) -> bytes | None:
    """The counters of older programs with fewer reasons, for a new map; None: not older."""
    pin = port.folder / "counters"
    if not pin.exists():
        return None
    with bpf.closing(bpf.pinned(pin)) as fd:
        if bpf.value_size(fd) == _COUNTERS.size:
            return None
    sums = [number for each in _counters(port) for number in each.values()]
    pin.unlink()
    return _COUNTERS.pack(*sums) + bytes(_COUNTERS.size * (bpf.possible_cpus() - 1))


def _older_programs(folder: Path, table: Table, but: Path | None = None) -> str:
    """A sentence about programs that cannot read a table's version; empty: there are none.

    The interface in the folder ``but`` is left out.
    """
    if table.version == layout.VERSION:
        return ""
    for pin in sorted(folder.glob("*-*/counters")):
        if pin.parent == but:
            continue
        config = _Config.unpack(_element(pin.with_name("port"), _PORT.size))
        reads = _reads(pin, config)
        if reads >= table.version:
            continue
        without = "prefixes" if reads == layout.WITH_RIGHTS else _NEWER
        return (
            f"{table.path}: it is of version {table.version} of the format, and the programs on"
            f" {config.interface} read version {reads}: 'vmmnet hostvlan attach' it again, with"
            f" the options of before; without {without} in it the table is of version {reads}"
        )
    return ""


def _reads(pin: Path, config: _Config) -> int:
    """The newest version of tables that an interface's programs read; ``pin``: its counters.

    A loader that knew no version 4 does not say, and the oldest programs have fewer counters.
    """
    with bpf.closing(bpf.pinned(pin)) as fd:
        if bpf.value_size(fd) != _COUNTERS.size:
            return layout.VERSION
    return (config.flags & _READS) >> _READS_SHIFT or layout.WITH_RIGHTS


def _object() -> Path:
    if not OBJECT.exists():
        raise TwinError(f"{OBJECT} is not there: run 'make bpf' where the sources are")
    return OBJECT


def _load(loaded: bpf.Object) -> None:
    try:
        loaded.load()
    except OSError as error:
        if error.errno == errno.EPERM or (error.errno == errno.EACCES and not _is_trusted()):
            raise
        if error.errno in (errno.EACCES, errno.E2BIG):
            raise TwinError(
                f"the verifier of Linux {os.uname().release} refuses {OBJECT.name}"
                f" ({error.strerror}); 'bpftool prog loadall {OBJECT} {BPFFS}/trial' says why"
            ) from error
        raise TwinError(
            f"the kernel does not take {OBJECT.name} ({error.strerror}): it must be Linux 5.17"
            " or later, with BPF and NET_CLS_BPF"
        ) from error


def _is_trusted() -> bool:
    """Whether the verifier lets this process's programs compute with pointers."""
    (text,) = re.findall(r"^CapEff:\s*(\w+)$", _STATUS.read_text(), re.MULTILINE)
    return bool(int(text, 16) & (_CAP_PERFMON | _CAP_SYS_ADMIN))


def _keep_interface(port: _Port) -> None:
    """Let other network namespaces see whether the interface still exists."""
    pin = port.folder / "interface"
    with bpf.closing(bpf.interface_create("hostvlan_nic", port.config.ifindex)) as fd:
        pin.unlink(missing_ok=True)
        bpf.pin(fd, pin)


def _keep_path(folder: Path, table: Path) -> None:
    if (folder / "path").exists():
        return
    with bpf.closing(bpf.array_create(_PATH_MAP, _PATH_SIZE, 1)) as fd:
        bpf.update(fd, 0, _path_element(table))
        bpf.pin(fd, folder / "path")


def _path_element(table: Path) -> bytes:
    return os.fsencode(table).ljust(_PATH_SIZE, b"\0")


def _refuse_hidden(table: Path) -> None:
    """Raise TwinError if interfaces use a table, but their bpffs is not visible here."""
    space = _netns_of_exec()
    if space is None:
        return
    wanted = _path_element(_resolved(table))
    if any(bpf.lookup(fd, 0, _PATH_SIZE) == wanted for fd in bpf.maps_called(_PATH_MAP)):
        raise TwinError(
            f"interfaces use {table}, but 'ip netns exec {space}' hides {BPFFS}: use"
            f" 'nsenter --net=/run/netns/{space}' instead; to attach one of them again brings"
            " over what has changed"
        )


def _refuse_qdisc(port: _Port) -> None:
    """Refuse an interface whose hooks belong to another qdisc than a clsact of its own."""
    kind, name = nic.ingress_qdisc(port.config.ifindex), port.name
    if kind not in ("", "clsact"):
        raise TwinError(
            f"{name} has the qdisc {kind}, which leaves no place for clsact: remove it with"
            f" 'tc qdisc del dev {name} {kind.split()[0]}' (a <bandwidth> of libvirt, or the CNI"
            " plugin bandwidth, makes it again), or use Linux 6.6, where HostVLAN needs no qdisc"
        )


def _with_clsact(config: _Config) -> _Config:
    """Make clsact if it is missing; the flags then say that detach() removes it."""
    flags = config.flags | (_CLSACT if bpf.clsact_create(config.ifindex) else 0)
    return replace(config, flags=flags)


def _drop_filters(config: _Config, port_map: int) -> None:
    """Remove the filters of an older attachment; the links do their work already."""
    for point in config.places.values():
        if point is not None:
            with contextlib.suppress(OSError):
                bpf.tc_detach(config.ifindex, point, _PRIORITY, _HANDLE)
    if config.flags & _CLSACT:
        bpf.update(port_map, 0, replace(config, flags=config.flags & ~_CLSACT).pack())
        _drop_clsact(config)


def _drop_clsact(config: _Config) -> None:
    if config.flags & _CLSACT and not nic.has_filters(config.ifindex):
        with contextlib.suppress(OSError):
            bpf.clsact_destroy(config.ifindex)


def _put_xdp(port: _Port, program: int) -> None:
    pin = port.folder / "xdp"
    if pin.exists():
        with bpf.closing(bpf.pinned(pin)) as link:
            if bpf.link_ifindex(link):
                bpf.link_update(link, program)
                return
        pin.unlink()
    try:
        link = bpf.link_create_xdp(program, port.config.ifindex, bpf.XDP_GENERIC)
    except OSError as error:
        if error.errno in (errno.EBUSY, errno.EEXIST):
            name = port.config.interface
            raise TwinError(
                f"another XDP program is on {name}, or on an interface above it: take it off,"
                f" for example with 'ip link set dev {name} xdp off'"
            ) from error
        raise
    with bpf.closing(link):
        bpf.pin(link, pin)


def _put_tcx(port: _Port, verdict: Verdict, point: int, program: int) -> None:
    pin = port.folder / verdict
    if pin.exists():
        with bpf.closing(bpf.pinned(pin)) as old:
            if bpf.is_link(old) and bpf.link_ifindex(old) and _is_first(old, point):
                bpf.link_update(old, program)
                return
    # The old link ends with its name, when the new one is in its place already.
    part = pin.with_name(f"{verdict}-new")
    part.unlink(missing_ok=True)
    with bpf.closing(bpf.link_create_tcx(program, port.config.ifindex, point)) as link:
        bpf.pin(link, part)
    part.rename(pin)


def _is_first(link: int, point: int) -> bool:
    programs = bpf.tcx_programs(bpf.link_ifindex(link), point)
    return programs is None or programs[:1] == [bpf.link_program(link)]


def _put_filter(port: _Port, verdict: Verdict, point: int, program: int) -> None:
    bpf.tc_attach(port.config.ifindex, point, program, _PRIORITY, _HANDLE)
    pin = port.folder / verdict
    pin.unlink(missing_ok=True)
    bpf.pin(program, pin)


# Detaching.


def _note_detached(port: _Port) -> None:
    """Tell those who wait for an interface that is gone that it is not to be attached again."""
    with bpf.closing(bpf.pinned(port.folder / "port")) as fd:
        config = port.config
        bpf.update(fd, 0, replace(config, flags=config.flags | _DETACHED).pack())


def _take_off(port: _Port) -> None:
    """Remove the programs from an interface, and its folder in bpffs."""
    config = port.config
    with contextlib.suppress(FileNotFoundError):
        # The map has the flags that attach() has added.
        config = _Config.unpack(_element(port.folder / "port", _PORT.size))
    for link in _links(port):
        with contextlib.suppress(OSError):
            bpf.link_detach(link)
    if port.visible:
        _take_off_tc(config)
    if port.folder.is_dir():
        _remove(port.folder)


def _take_off_tc(config: _Config) -> None:
    for point in config.places.values():
        if point is not None:
            with contextlib.suppress(OSError):
                bpf.tc_detach(config.ifindex, point, _PRIORITY, _HANDLE)
    _drop_clsact(config)


def _links(port: _Port) -> Iterator[int]:
    """The links of an interface; each is closed when the next one is asked for."""
    for pin in sorted(port.folder.glob("*")):
        if pin.name in ("xdp", "send", "receive", "send-new", "receive-new"):
            with bpf.closing(bpf.pinned(pin)) as fd:
                if bpf.is_link(fd):
                    yield fd


def _forget_gone() -> None:
    """Remove the state of interfaces that no longer exist."""
    for port in list(_ports()):
        if _is_gone(port):
            _take_off(port)


def _is_gone(port: _Port) -> bool:
    if port.visible:
        return False
    # Links stay on an interface that moves to another namespace, where we do not see filters.
    if any(bpf.link_ifindex(link) for link in _links(port)):
        return False
    if port.here:
        return True
    try:
        with bpf.closing(bpf.pinned(port.folder / "interface")) as fd:
            return not bpf.has_interface(fd)
    except FileNotFoundError:
        # An older version has attached it: whoever is in its namespace knows.
        return False


# Status.


def _attachment(port: _Port) -> Attachment:
    config = port.config
    with bpf.closing(bpf.pinned(port.folder.parent / "tables")) as tables:
        generation = mirror.generation(tables, copy_pin(port.folder.parent)) or 0
    send, receive = _counters(port)
    return Attachment(
        interface=port.name,
        ifindex=config.ifindex,
        netns=config.netns,
        here=port.here,
        mac=config.mac,
        l2_control=config.l2_control,
        check_sender=config.check_sender,
        ra_guard=config.ra_guard,
        dhcp_guard=config.dhcp_guard,
        table=port.table,
        generation=generation,
        hooks=tuple(_hooks(port)),
        send=send,
        receive=receive,
    )


def _hooks(port: _Port) -> Iterator[Hook]:
    names = {None: "xdp", bpf.INGRESS: "tc ingress", bpf.EGRESS: "tc egress"}
    for verdict, point in port.config.places.items():
        pin = port.folder / ("xdp" if point is None else verdict)
        try:
            with bpf.closing(bpf.pinned(pin)) as fd:
                present, first = _looked_at(port, fd, point)
        except FileNotFoundError:
            present, first = False, None
        yield Hook(names[point], verdict, present, first)


def _looked_at(port: _Port, fd: int, point: int | None) -> tuple[bool | None, bool | None]:
    """Whether a program is at its hook, and whether it is the first one there."""
    if bpf.is_link(fd):
        if not bpf.link_ifindex(fd):
            return False, None
        if point is None:
            return True, True
        try:
            return True, _is_first(fd, point) if port.visible else None
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise
            # It has gone in between.
            return False, None
    if not port.here or point is None:
        return None, None
    index = port.config.ifindex
    if nic.ingress_qdisc(index) != "clsact":
        # Another qdisc takes the filters for its own: what is sent goes to the wrong one.
        return False, None
    if bpf.tc_program(index, point, _PRIORITY, _HANDLE) != bpf.program_id(fd):
        return False, None
    return True, not bpf.tcx_programs(index, point)


def _counters(port: _Port) -> tuple[dict[str, int], dict[str, int]]:
    with bpf.closing(bpf.pinned(port.folder / "counters")) as fd:
        # Older programs have fewer reasons, until the next attach().
        size = bpf.value_size(fd)
        octets = bpf.lookup(fd, 0, bpf.element_size(fd))
    assert octets is not None
    sums = [sum(each) for each in zip(*struct.iter_unpack(f"={size // 8}Q", octets), strict=True)]
    count = len(sums) // 2
    nothing = dict.fromkeys(REASONS, 0)
    return (
        nothing | dict(zip(REASONS, sums[:count], strict=False)),
        nothing | dict(zip(REASONS, sums[count:], strict=False)),
    )


@contextlib.contextmanager
def _translated(doing: str) -> Iterator[None]:
    """Turn errors of the system into TwinError with a message for users."""
    try:
        yield
    except PermissionError as error:
        raise TwinError(
            f"{doing}: {error.strerror}: only root can (CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON)"
        ) from error
    except (TableError, mirror.Unsteady) as error:
        raise TwinError(str(error)) from error
    except OSError as error:
        raise TwinError(f"{doing}: {error.strerror}") from error
