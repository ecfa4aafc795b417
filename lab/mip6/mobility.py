# SPDX-License-Identifier: GPL-2.0-or-later
"""Networks, a home agent between them and the world: the paper's section 3.

    home link 2001:db8:2000::/64                foreign link 2001:db8:3000::/64
      host A   home agent                          host B
         |         |                                  |
        -+----+----+-                            -+---+-
              |          2001:db8:9000::/64       |
         home router ---------- core ----- foreign router
                                  |
                            correspondent

A second foreign link, 2001:db8:4000::/64 with host C, is as the first one.
Routers advertise with radvd.  Nothing here speaks IPv4.
"""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base import paths, scratch, tools, wait
from ..base.lock import locked
from ..base.net import Interface, Link, Namespace, Network
from ..base.rough import SMOOTH, Rough
from . import agentfile

HOME_PREFIX, FOREIGN_PREFIX, OTHER_PREFIX, CORE_PREFIX = (f"2001:db8:{n}000" for n in (2, 3, 4, 9))
HOME_ADDRESS, SECOND_ADDRESS = f"{HOME_PREFIX}::10", f"{HOME_PREFIX}::11"
AGENT_ADDRESS = f"{HOME_PREFIX}::1"
CORRESPONDENT_ADDRESS = f"{CORE_PREFIX}::c"
HOST_A_ADDRESS, HOST_B_ADDRESS = f"{HOME_PREFIX}::a", f"{FOREIGN_PREFIX}::b"
HOST_C_ADDRESS = f"{OTHER_PREFIX}::c"
GUEST_MAC = "52:54:00:6d:69:70"

_FORWARDING = {"net.ipv6.conf.all.forwarding": 1}
# By default radvd advertises every 200 to 600 s.
_FREQUENT = ("MinRtrAdvInterval 3;", "MaxRtrAdvInterval 10;")
_RADVD = """\
interface {interface} {{
    AdvSendAdvert on;
    {lines}
}};
"""


@dataclass
class Site:
    """A network behind a router."""

    prefix: str
    router: Namespace
    #: The router's switch, with all stations of the link.
    link: Interface
    host: Namespace
    #: The host's address, the destination of migrations.
    address: str
    #: The host's bridge, for its VMs.
    bridge: Interface
    #: Between the router's switch and the host's bridge.
    wire: Link
    advertiser: Advertiser

    def tap(self, name: str) -> Interface:
        """A port for a VM."""
        return self.host.tap(name, self.bridge)


@dataclass
class World:
    """The networks; ``agent`` starts a home agent."""

    network: Network
    home: Site
    foreign: Site
    other: Site
    core: Namespace
    correspondent: Namespace
    agent_host: Namespace
    agent_interface: str
    folder: Path

    @contextlib.contextmanager
    def agent(self, lifetime: int = 60, *more: str) -> Iterator[Path]:
        """Run our home agent, with more lines of configuration; yields its log."""
        with self.agent_process(lifetime, *more) as (log, _):
            yield log

    @contextlib.contextmanager
    def agent_process(
        self, lifetime: int = 60, *more: str
    ) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
        """Run our home agent as agent() does; yields its log and its process."""
        lines = (f"allow {SECOND_ADDRESS}", f"lifetime {lifetime}", *more)
        interface = Interface(self.agent_host, self.agent_interface)
        config = self.folder / "vmmnet-ha.conf"
        with agent_process(interface, config, AGENT_ADDRESS, HOME_ADDRESS, *lines) as running:
            yield running


def agent_host(network: Network, name: str, site: Site) -> Interface:
    """Make a host on a site's link for a home agent; returns its interface there."""
    host = network.namespace(name)
    host.sysctl(_FORWARDING)
    uplink = network.connect(host, site.link, [f"{site.prefix}::2/64"])
    host.route("::/0", f"{site.prefix}::ffff")
    return uplink.a


@contextlib.contextmanager
def agent_process(
    interface: Interface, config: Path, address: str, home: str, *more: str
) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """Run our home agent for a home address, and more lines; yields its log and its process.

    The configuration is written to ``config``, and the log is beside it.
    """
    log = config.with_suffix(".log")
    lines = (f"interface {interface.name}", f"address {address}/64", f"allow {home}", *more)
    config.write_text(agentfile.text(lines))
    with (
        log.open("wb") as out,
        interface.namespace.started([agent_binary(), config], stdout=out, stderr=out) as child,
    ):
        _await_text(child, log, "ready")
        yield log, child


def agent_binary() -> Path:
    """Build vmmnet-ha, if it is not built, and return it."""
    with locked("programs"):
        tools.run(["make", "-C", paths.ROOT, "ha"])
    return paths.BUILD / "programs/ha/vmmnet-ha"


def _await_text(child: subprocess.Popen[bytes], log: Path, text: str) -> None:
    def said() -> bool:
        if child.poll() is not None:
            raise RuntimeError(f"ended: {log.read_text()}")
        return text in log.read_text()

    wait.until(said, f"{text!r} in {log}")


def _site(
    network: Network,
    folder: Path,
    name: str,
    prefix: str,
    host_address: str,
) -> Site:
    router = network.namespace(f"{name}-router")
    router.sysctl(_FORWARDING)
    link = router.bridge("lan0")
    # A VM that pauses for some seconds on a busy machine still exists.
    router.sysctl({"net.ipv6.neigh.lan0.ucast_solicit": 60})
    link.add_address(f"{prefix}::ffff/64")
    host = network.namespace(f"host-{host_address[-1]}")
    bridge = host.bridge("br0")
    wire = network.connect(bridge, link)
    bridge.add_address(f"{host_address}/64")
    host.route("::/0", f"{prefix}::ffff")
    advertiser = Advertiser(link, folder, slow=network.rough.slow_adverts)
    return Site(prefix, router, link, host, host_address, bridge, wire, advertiser)


class Advertiser:
    """radvd on a router's link."""

    def __init__(self, link: Interface, folder: Path, *, slow: bool = False) -> None:
        """Describe it; if ``slow``, it advertises at its start, and then to those who ask."""
        self.link = link
        self._slow = slow
        self._paths = [folder / f"{link.namespace.name}.{end}" for end in ("conf", "log", "pid")]
        self._child: subprocess.Popen[bytes] | None = None

    def _write(self, lines: Sequence[str]) -> None:
        lines = (*lines, *(() if self._slow else _FREQUENT))
        text = _RADVD.format(interface=self.link.name, lines="\n    ".join(lines))
        self._paths[0].write_text(text)

    @contextlib.contextmanager
    def running(self, *lines: str) -> Iterator[Advertiser]:
        """Advertise, with these lines of configuration; at the end with a lifetime of 0."""
        self._write(lines)
        config, log, pid = self._paths
        command: Sequence[str | Path] = [
            *("radvd", "-C", config, "-p", pid, "-n", "-m", "logfile", "-l", log),
        ]
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with self.link.namespace.started(command, **streams) as self._child:
            # Before this, a signal would end it without a last advertisement.
            wait.until(self._takes_signals, f"radvd on {self.link.name}")
            yield self

    def _takes_signals(self) -> bool:
        assert self._child is not None
        if self._child.poll() is not None:
            raise RuntimeError(f"radvd ended: {self._paths[1].read_text()}")
        status = Path(f"/proc/{self._child.pid}/status").read_text()
        masks = re.findall(r"^Sig(?:Blk|Cgt):\s*(\w+)$", status, re.MULTILINE)
        return any(int(mask, 16) & 1 << signal.SIGHUP - 1 for mask in masks)

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """Neither advertise nor answer for a time."""
        assert self._child is not None
        self._child.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._child.send_signal(signal.SIGCONT)

    def change(self, *lines: str) -> None:
        """Change the advertisement."""
        assert self._child is not None
        self._write(lines)
        self._child.send_signal(signal.SIGHUP)


def prefix_line(prefix: str, more: str = "") -> str:
    """Return the line of an advertiser for a prefix for address configuration."""
    return f"prefix {prefix}::/64 {{ AdvOnLink on; AdvAutonomous on; {more} }};"


@contextlib.contextmanager
def world(rough: Rough = SMOOTH) -> Iterator[World]:
    """Build the networks with their routers."""
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(Network(rough))
        folder = Path(stack.enter_context(scratch.folder()))
        home = _site(network, folder, "home", HOME_PREFIX, HOST_A_ADDRESS)
        foreign = _site(network, folder, "foreign", FOREIGN_PREFIX, HOST_B_ADDRESS)
        other = _site(network, folder, "other", OTHER_PREFIX, HOST_C_ADDRESS)
        core = network.namespace("core")
        core.sysctl(_FORWARDING)
        middle = core.bridge("core")
        middle.add_address(f"{CORE_PREFIX}::ffff/64")
        for number, site in enumerate((home, foreign, other), 1):
            network.connect(site.router, middle, [f"{CORE_PREFIX}::{number}/64"])
            site.router.route("::/0", f"{CORE_PREFIX}::ffff")
            core.route(f"{site.prefix}::/64", f"{CORE_PREFIX}::{number}")
            stack.enter_context(site.advertiser.running(prefix_line(site.prefix)))
        correspondent = network.namespace("correspondent")
        network.connect(correspondent, middle, [f"{CORRESPONDENT_ADDRESS}/64"])
        correspondent.route("::/0", f"{CORE_PREFIX}::ffff")
        agent = agent_host(network, "agent", home)
        yield World(
            *(network, home, foreign, other, core),
            *(correspondent, agent.namespace, agent.name, folder),
        )


def arguments(
    tap: Interface, *options: str, home: str = HOME_ADDRESS, agent: str = AGENT_ADDRESS
) -> list[str]:
    """Return QEMU's arguments for a VM's mobile node, without the NIC."""
    words = [
        f"mip6,id=mip0,netdev=net0,home-address={home},home-prefix-length=64",
        f"home-agent={agent}",
        *options,
    ]
    return [
        *("-netdev", f"tap,id=net0,ifname={tap.name},script=no,downscript=no,vhost=off"),
        *("-netdev", ",".join(words)),
    ]


def device(mac: str) -> str:
    """Return the device option of the NIC."""
    return f"virtio-net-pci,id=nic0,netdev=mip0,mac={mac},romfile="


DEVICE = device(GUEST_MAC)
