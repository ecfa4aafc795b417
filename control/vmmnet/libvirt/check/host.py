# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts of this host."""

from __future__ import annotations

import functools
import os
import pwd
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vmmnet import controlsocket
from vmmnet.confine import judge
from vmmnet.hostvlan.bpf import twin
from vmmnet.values import mac

from ..host import account, address6, conf, hostd, secrets
from . import apparmor, validator
from .facts import Library, Node, Policy, Unit, User

# Time-out of a QEMU that prints a list, seconds.
_PATIENCE = 10.0
_ACL = "system.posix_acl_access"
_LABEL = "security.selinux"
_APPARMOR = Path("/etc/apparmor.d")
#: The secret of a proxy in a policy file.
_SECRET = re.compile(r"^[ \t]*proxy(?:[ \t]+[^\s#]+){4}[ \t]+secret[ \t]+([^\s#]+)", re.MULTILINE)
_HOOK = Path("/etc/libvirt/hooks/qemu.d/vmmnet")


class ThisHost:
    """This host, for the system's daemon or, with ``session``, the user's own."""

    def __init__(self, *, session: bool) -> None:
        self._session = session

    def qemu_conf(self) -> Mapping[str, str] | None:
        """``Host.qemu_conf``."""
        return self._conf

    def hook(self) -> Path | None:
        """``Host.hook``."""
        return None if self._session else _HOOK

    def user(self) -> User | None:
        """``Host.user``."""
        return self._user

    def way(self, path: Path) -> list[Node]:
        """``Host.way``."""
        real = path.resolve(strict=True)
        return [_node(each) for each in (*reversed(real.parents), real)]

    def help(self, emulator: Path, option: str, what: str) -> str | None:
        """``Host.help``."""
        return self._told(emulator, f"-{option}", what)

    def version(self, emulator: Path) -> str | None:
        """``Host.version``."""
        return self._told(emulator, "-version")

    def _told(self, emulator: Path, *words: str) -> str | None:
        """Runs as QEMU's user, as in libvirt: the emulator may be any program."""
        user, identity = self.user(), dict[str, Any]()
        if os.geteuid() == 0 and user is not None and user.uid:
            groups = sorted(user.groups)
            identity = {"user": user.uid, "group": groups[0], "extra_groups": groups}
        try:
            done = subprocess.run(
                [emulator, *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PATIENCE,
                cwd="/",
                env={"PATH": os.defpath},
                **identity,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        # One that cannot be loaded, or crashed, has not answered.
        return done.stdout.decode(errors="replace") if done.returncode in (0, 1) else None

    def address6_missing(self, address: str) -> str:
        """``Host.address6_missing``."""
        return "" if address6.is_here(address) else address6.missing(address)

    def address6_device(self, address: str) -> str | None:
        """``Host.address6_device``."""
        return conf.read().address6_device or address6.device(address)

    def conf_wrong(self) -> str:
        """``Host.conf_wrong``. A session has no hook that would read it."""
        try:
            conf.read()
        except conf.BadConf as error:
            return "" if self._session else str(error)
        return ""

    def has_interface(self, name: str) -> bool:
        """``Host.has_interface``."""
        return address6.exists(name)

    def has_user(self, label: str) -> bool:
        """``Host.has_user``."""
        known = self._conf is not None and not self._session
        return not known or account.of(self._conf or {}, label) is not None

    def hostd(self) -> str:
        """``Host.hostd``."""
        if not hostd.SOCKET.exists():
            return f"{hostd.SOCKET} does not exist"
        try:
            hostd.probe()
        except hostd.HostdError as error:
            return str(error)
        return ""

    def secret(self, uuid: str) -> secrets.SecretError | None:
        """``Host.secret``."""
        if self._session:
            told = "the hook of a session does not run as root, and gives QEMU no keys"
            return secrets.SecretError(told, "name a file in place of the secret")
        try:
            secrets.read(uuid)
        except secrets.SecretError as error:
            return error
        return None

    def unit(self, name: str) -> Unit:
        """``Host.unit``."""
        command = ["systemctl", "show", "--property=LoadState,ExecStart", name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        except subprocess.CalledProcessError as error:
            return Unit("", silent=" ".join(error.stderr.split()) or "systemctl fails")
        except OSError as error:
            return Unit("", silent=f"systemctl: {error.strerror}")
        told = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        program = re.search(r"path=(\S+)", told.get("ExecStart", ""))
        missing = program[1] if program and not os.access(program[1], os.X_OK) else ""
        return Unit(told.get("LoadState", ""), missing)

    def nobody_at(self, path: Path) -> str:
        """``Host.nobody_at``."""
        try:
            controlsocket.probe(path)
        except controlsocket.Unanswered as error:
            return str(error)
        return ""

    def policy(self, path: Path) -> Policy | None:
        """``Host.policy``."""
        try:
            text = path.read_bytes()
        except OSError:
            return None
        wrong = ""
        try:
            judge.ask(text, str(path))
        except judge.Wrong as error:
            wrong = re.sub(rf"^{re.escape(str(path))}:(?=\d)", "line ", str(error))
        except judge.Missing:
            pass
        found = dict.fromkeys(_SECRET.findall(text.decode(errors="replace")))
        return Policy(wrong, tuple(found))

    def sysctl(self, name: str) -> str | None:
        """``Host.sysctl``."""
        return _read(Path("/proc/sys", *name.split(".")))

    def apparmor(self) -> str | None:
        """``Host.apparmor``. libvirt does not confine sessions."""
        enabled = _read(Path("/sys/module/apparmor/parameters/enabled"))
        if self._session or enabled != "Y" or not (_APPARMOR / apparmor.GUESTS).exists():
            return None
        return "\n".join(apparmor.flat(_texts, apparmor.GUESTS))

    def selinux(self) -> bool:
        """``Host.selinux``."""
        return not self._session and _read(Path("/sys/fs/selinux/enforce")) == "1"

    def unbound(self) -> Library | None:
        """``Host.unbound``."""
        return validator.of_system()

    def filtered(self) -> set[str]:
        """``Host.filtered``."""
        try:
            # The program of a removed tap does not filter a new tap of that name.
            return {mac.text(each.mac) for each in twin.status() if each.here and each.whole}
        except (twin.TwinError, OSError):
            return set()

    @functools.cached_property
    def _conf(self) -> Mapping[str, str] | None:
        folder = Path("/etc")
        if self._session:
            folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        try:
            return account.read(folder / "libvirt/qemu.conf")
        except PermissionError:
            return None
        except OSError:
            return {}

    @functools.cached_property
    def _user(self) -> User | None:
        if self._session:
            uid = os.getuid()
            return User(_name(uid), uid, frozenset((os.getgid(), *os.getgroups())))
        found = account.of(self._conf or {})
        if found is None:
            return None
        return User(found.name, found.uid, frozenset(os.getgrouplist(found.name, found.gid)))


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _node(path: Path) -> Node:
    found = path.stat()
    try:
        acl = _ACL in os.listxattr(path)
    except OSError:
        acl = False
    return Node(path, found.st_uid, found.st_gid, found.st_mode, acl, _label(path))


def _label(path: Path) -> str:
    """The type of ``user:role:type:level``."""
    try:
        words = os.getxattr(path, _LABEL).rstrip(b"\0").decode(errors="replace").split(":")
    except OSError:
        return ""
    return words[2] if len(words) > 2 else ""


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _texts(name: str) -> list[str]:
    """The texts of a name below AppArmor's folder: of a file, or of all files of a folder."""
    place = _APPARMOR / name
    try:
        files = sorted(place.iterdir()) if place.is_dir() else [place]
    except OSError:
        return []
    return [text for each in files if (text := _read(each)) is not None]
