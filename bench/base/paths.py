# SPDX-License-Identifier: GPL-2.0-or-later
"""The paths under test: how a client reaches a server on an IPv6 network.

Each path has a pair of hosts of its own, two network namespaces joined by a
veth pair with the kernel's defaults (MTU 1500, every offload on), so that
nothing one path needs can slow another:

    client --- [ host ] ===veth=== [ peer ] --- server

All guests are the same, Debian's kernel on two vCPUs under TCG, and a path
for IPv4 guests gets a kernel without IPv6.  A guest is stopped whenever
its path is not being measured.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Any

from lab.base import scratch, tools, wait
from lab.base.net import Namespace, Network
from lab.guest.guest import Guest
from lab.peers import servers as peers

HOST6, PEER6, LINK6 = "2001:db8:1::1", "2001:db8:1::2", 64
GUEST6 = "2001:db8:1::10"
HOST4, PEER4, LINK4 = "192.0.2.1", "192.0.2.2", 24
SERVER_NAME = "server.test"
PINGPONG = "/usr/lib/vmmnet/pingpong"

# The network behind a routed tap.
_TAP_HOST4, _TAP_GUEST4 = "192.168.2.1", "192.168.2.2"
_TAP_HOST6, _TAP_GUEST6, _TAP_NET6 = "2001:db8:2::1", "2001:db8:2::2", "2001:db8:2::/64"

# Addresses of TAYGA: the server in IPv4, the guest in IPv6.
_SERVER4 = "198.51.100.80"
_GUEST_IN6, _TAYGA_NET6 = "2001:db8:64::2", "2001:db8:64::/64"

# A client that opens and closes thousands of connections a second needs many ports; equal for all
# kernels with client sockets.
_CLIENT_SYSCTL: Mapping[str, str | int] = {
    "net.ipv4.ip_local_port_range": "1024 65000",
    "net.ipv4.tcp_tw_reuse": 1,
}

# Socket buffers of guests that passt's authors measure TCP with.
_PASST_GUEST_SYSCTL: Mapping[str, str | int] = {
    "net.core.rmem_max": 536870912,
    "net.core.wmem_max": 536870912,
    "net.ipv4.tcp_rmem": "4096 131072 268435456",
    "net.ipv4.tcp_wmem": "4096 131072 268435456",
}

_UNBOUND_CONFIG = """\
server:
    chroot: ""
    username: ""
    directory: "{folder}"
    pidfile: "{folder}/pid"
    use-syslog: no
    logfile: "{folder}/log"
    interface: {address}
    access-control: 0.0.0.0/0 allow
    do-daemonize: no
    num-threads: 1
    local-zone: "test." static
    local-data: "{name}. A {server}"
remote-control:
    control-enable: no
"""

_TAYGA_CONFIG = """\
tun-device nat64
ipv4-addr 192.168.255.1
ipv6-addr 2001:db8:64::1
map {guest4} {guest6}
map {server4} {server6}
"""


_CONTAINER = """
modprobe bridge; modprobe veth; set -e
ip link add docker0 type bridge
ip address add 172.17.0.1/16 dev docker0
ip link set docker0 up
sysctl -qw net.ipv4.ip_forward=1
ip netns add box
ip link add veth0 master docker0 up type veth peer name eth0 netns box
ip -n box link set lo up
ip -n box address add 172.17.0.2/16 dev eth0
ip -n box link set eth0 up
ip -n box route add default via 172.17.0.1
"""


@dataclass
class Path:
    """A place where clients run, and the path from there to the server."""

    name: str
    host: Namespace
    server: Namespace
    # The namespace of the servers, and the name or address that clients connect to.
    listen: str
    target: str
    # The ping-pong program, on the host.
    program: File
    guest: Guest | None = None
    # The words before a command that enter the place where clients run.
    enter: Sequence[str] = ()
    _running: bool = field(default=True, init=False)

    def run(self, command: Sequence[str], timeout: float) -> str:
        """Run a client to its end; return its standard output."""
        if self.guest is None:
            return self.host.run(command, timeout=timeout).stdout
        return self.guest.run([*self.enter, *command], timeout=timeout).stdout

    @property
    def pingpong(self) -> str:
        """The ping-pong program where clients run."""
        return str(self.program) if self.guest is None else PINGPONG

    def address(self) -> str:
        """Look the target up, as every client does before it connects."""
        found = self.run(["getent", "ahosts", self.target], timeout=30).split()
        if not found:
            raise RuntimeError(f"{self.name}: {self.target} has no address")
        return found[0]

    def pause(self) -> None:
        """Stop the guest, so that it costs the other paths nothing."""
        if self.guest is not None and self._running:
            self.guest.qmp("stop")
            self._running = False

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Let the guest run for the time of a block."""
        if self.guest is not None and not self._running:
            self.guest.qmp("cont")
            self._running = True
        try:
            yield
        finally:
            self.pause()


def _hosts(network: Network) -> tuple[Namespace, Namespace]:
    host, peer = network.namespace("host"), network.namespace("peer")
    network.connect(host, peer, [f"{HOST6}/{LINK6}"], [f"{PEER6}/{LINK6}"])
    host.sysctl(_CLIENT_SYSCTL)
    return host, peer


def _guest_sysctl(guest: Guest, settings: Mapping[str, str | int]) -> None:
    for key, value in settings.items():
        guest.run(["sysctl", "-qw", f"{key}={value}"])


def _nic(guest: Guest, *commands: str) -> None:
    """Load the NIC's driver and run ``commands``."""
    guest.run("modprobe virtio_net")
    guest.wait_for("ip link show dev eth0")
    guest.run("ip link set dev eth0 up")
    for command in commands:
        guest.run(command)
    _guest_sysctl(guest, _CLIENT_SYSCTL)


@contextlib.contextmanager
def _daemon(
    space: Namespace, command: Sequence[str | File], ready: Callable[[int], object]
) -> Iterator[None]:
    """Run a daemon in the foreground; its messages explain a failed start."""
    with scratch.folder() as folder:
        log = File(folder) / "log"
        with log.open("wb") as out, space.started(command, stdout=out, stderr=out) as child:
            try:
                ready(child.pid)
            except (RuntimeError, TimeoutError) as error:
                text = log.read_text(errors="replace")[-2000:]
                raise RuntimeError(f"{command[0]}: {error}\n{text}") from error
            yield


@contextlib.contextmanager
def native(pingpong: File) -> Iterator[Path]:
    """IPv6 from host to peer without a guest: the limit of the machine."""
    with Network() as network:
        host, peer = _hosts(network)
        yield Path("native", host, peer, PEER6, PEER6, pingpong)


@contextlib.contextmanager
def _vmrpc(
    name: str, pingpong: File, arguments: Sequence[str] = (), ipv6: str = "off"
) -> Iterator[Path]:
    with Network() as network, contextlib.ExitStack() as stack:
        host, peer = _hosts(network)
        # The VM's own address, beside the host's.
        host.ip("address", "add", f"{GUEST6}/{LINK6}", "dev", _veth(host), "nodad")
        record = f"{SERVER_NAME}. 60 IN AAAA {PEER6}"
        stack.enter_context(peers.dns(peer, [record], PEER6))
        device = f"virtio-vmrpc-pci,id=vmrpc0,address6={GUEST6},dns={PEER6},ipv6={ipv6}"
        guest = stack.enter_context(
            _guest(
                name,
                host,
                pingpong,
                device,
                arguments=arguments,
                module=True,
                ipv6=ipv6 == "on",
            )
        )
        yield Path(name, host, peer, PEER6, SERVER_NAME, pingpong, guest)


@contextlib.contextmanager
def vmrpc(pingpong: File, arguments: Sequence[str] = ()) -> Iterator[Path]:
    """IPv4 sockets of the guest on the host, as IPv6; clients use the server's name."""
    with _vmrpc("vmrpc", pingpong, arguments) as path:
        yield path


@contextlib.contextmanager
def vmrpc_inet6(pingpong: File) -> Iterator[Path]:
    """Sockets of AF_INET6 of the guest on the host; clients use the server's address."""
    with _vmrpc("vmrpc-inet6", pingpong, ipv6="on") as path:
        path.target = PEER6
        yield path


@contextlib.contextmanager
def vmrpc_container(pingpong: File) -> Iterator[Path]:
    """IPv4 sockets of a network namespace in the guest, behind a bridge as a container's."""
    with _vmrpc("vmrpc-container", pingpong) as path:
        assert path.guest is not None
        path.guest.run(_CONTAINER)
        path.enter = ("ip", "netns", "exec", "box")
        yield path


@contextlib.contextmanager
def vmrpc_untranslated(pingpong: File) -> Iterator[Path]:
    """The same device with translate=off: IPv4 on both sides, no names."""
    with Network() as network, contextlib.ExitStack() as stack:
        host, peer = _hosts(network)
        host.ip("address", "add", f"{HOST4}/{LINK4}", "dev", _veth(host))
        peer.ip("address", "add", f"{PEER4}/{LINK4}", "dev", _veth(peer))
        device = f"virtio-vmrpc-pci,id=vmrpc0,translate=off,guest4={HOST4}/{LINK4}"
        guest = stack.enter_context(
            _guest("untranslated", host, pingpong, device, module=True, ipv6=False)
        )
        yield Path("vmrpc-untranslated", host, peer, PEER4, PEER4, pingpong, guest)


@contextlib.contextmanager
def virtio_net(pingpong: File) -> Iterator[Path]:
    """virtio-net on a routed tap, IPv6 in the guest too: nothing to translate.

    The best configuration for frames here: TSO, GSO and checksums are offloaded to the host in both
    directions (the guest negotiates them by default), and the host forwards large segments
    unchanged.  vhost needs KVM and /dev/vhost-net; under TCG QEMU moves the frames itself.
    """
    with Network() as network, contextlib.ExitStack() as stack:
        host, peer = _hosts(network)
        guest = _routed(stack, host, peer, pingpong, "virtio-net")
        _nic(
            guest,
            f"ip address add {_TAP_GUEST6}/64 dev eth0 nodad",
            f"ip -6 route add default via {_TAP_HOST6}",
        )
        yield Path("virtio-net", host, peer, PEER6, PEER6, pingpong, guest)


@contextlib.contextmanager
def tayga(pingpong: File) -> Iterator[Path]:
    """The same virtio-net for a guest with IPv4 only: TAYGA and unbound.

    The usual solution for an IPv4 guest on an IPv6 network.  NAT64 and DNS64 serve the opposite
    case, IPv6 clients of IPv4 servers, so unbound's dns64 has no part here: the administrator gives
    each server an IPv4 address, TAYGA maps it and the guest's statelessly (RFC 7757), unbound
    answers with it.  TAYGA's tun device has no offloads, so each packet of 1500 bytes passes user
    space twice; the guest's route carries the MTU of 1480 that the longer IPv6 header leaves, so
    nothing is fragmented.
    """
    with Network() as network, contextlib.ExitStack() as stack:
        host, peer = _hosts(network)
        folder = File(stack.enter_context(scratch.folder()))
        guest = _routed(stack, host, peer, pingpong, "tayga", resolver=_TAP_HOST4, ipv6=False)
        _translator(stack, host, peer, folder)
        _nic(
            guest,
            f"ip address add {_TAP_GUEST4}/24 dev eth0",
            f"ip -4 route add default via {_TAP_HOST4} mtu 1480",
        )
        yield Path("virtio-net-tayga", host, peer, PEER6, SERVER_NAME, pingpong, guest)


@contextlib.contextmanager
def passt(pingpong: File, name: str = "passt") -> Iterator[Path]:
    """virtio-net over a stream socket to passt: IPv6 in the guest too.

    passt cannot translate.  The MTU is passt's default and largest, 65520,
    in the guest as well; --no-map-gw because the guest's gateway would
    otherwise stand for the host itself.  The guest has the socket buffers of
    passt's own performance test, test/perf/passt_tcp, which carried somewhat
    more TCP than the kernel's defaults.  The hosts keep the defaults: with
    that test's buffers there too, the first transfer of a guest sometimes
    did not end within half a minute.  Its larger default buffers
    are left out: TCP does not use them, and UDP lost more datagrams.
    """
    with Network() as network, contextlib.ExitStack() as stack:
        host, peer = _hosts(network)
        host.route("default", PEER6)
        folder = File(stack.enter_context(scratch.folder()))
        # passt drops its privileges before it makes the socket.
        folder.chmod(0o777)
        socket = folder / "passt"
        program = tools.find_own("passt") if name == OWN_PASST else "passt"
        command = [program, "--foreground", "--stderr", "--no-map-gw", "--socket", str(socket)]
        stack.enter_context(
            _daemon(host, command, lambda _: wait.until(socket.exists, "socket of passt"))
        )
        backend = f"stream,id=net0,server=off,addr.type=unix,addr.path={socket}"
        device = "virtio-net-pci,netdev=net0,host_mtu=65520"
        arguments = ["-netdev", backend]
        guest = stack.enter_context(_guest(name, host, pingpong, device, arguments=arguments))
        _nic(
            guest,
            "ip link set dev eth0 mtu 65520",
            f"ip address add {HOST6}/{LINK6} dev eth0 nodad",
        )
        _guest_sysctl(guest, _PASST_GUEST_SYSCTL)
        yield Path(name, host, peer, PEER6, PEER6, pingpong, guest)


def _veth(space: Namespace) -> str:
    """The name of the namespace's end of the veth pair."""
    line = space.ip("-o", "link", "show", "type", "veth")
    return line.split(":")[1].split("@")[0].strip()


def _guest(
    name: str,
    host: Namespace,
    pingpong: File,
    device: str,
    *,
    arguments: Sequence[str] = (),
    module: bool = False,
    resolver: str = "192.0.0.1",
    ipv6: bool = True,
) -> Guest:
    return Guest(
        name=name,
        netns=host,
        devices=[device],
        arguments=arguments,
        module=module,
        resolver=resolver,
        ipv6=ipv6,
        files={PINGPONG: pingpong},
    )


def _routed(
    stack: contextlib.ExitStack,
    host: Namespace,
    peer: Namespace,
    pingpong: File,
    name: str,
    **settings: Any,
) -> Guest:
    """A guest on a tap of the host, which routes between tap and veth."""
    host.sysctl({"net.ipv6.conf.all.forwarding": 1, "net.ipv4.ip_forward": 1})
    tap = host.tap("tap0")
    tap.add_address(f"{_TAP_HOST6}/64")
    tap.add_address(f"{_TAP_HOST4}/24")
    peer.route(_TAP_NET6, HOST6)
    backend = "tap,id=net0,ifname=tap0,script=no,downscript=no,vhost=off"
    device = "virtio-net-pci,netdev=net0"
    return stack.enter_context(
        _guest(name, host, pingpong, device, arguments=["-netdev", backend], **settings)
    )


def _translator(
    stack: contextlib.ExitStack, host: Namespace, peer: Namespace, folder: File
) -> None:
    """TAYGA and unbound on the host."""
    host.ip("tuntap", "add", "nat64", "mode", "tun")
    host.ip("link", "set", "dev", "nat64", "up")
    host.ip("-4", "route", "add", _SERVER4, "dev", "nat64")
    host.ip("-6", "route", "add", _TAYGA_NET6, "dev", "nat64")
    peer.route(_TAYGA_NET6, HOST6)
    config = folder / "tayga.conf"
    config.write_text(
        _TAYGA_CONFIG.format(guest4=_TAP_GUEST4, guest6=_GUEST_IN6, server4=_SERVER4, server6=PEER6)
    )

    def attached(pid: int) -> None:
        carrier = ["ip", "-o", "link", "show", "dev", "nat64", "up"]
        wait.until(lambda: "LOWER_UP" in host.run(carrier).stdout, "tun device of tayga")

    stack.enter_context(_daemon(host, ["tayga", "--nodetach", "--config", config], attached))
    config = folder / "unbound.conf"
    config.write_text(
        _UNBOUND_CONFIG.format(folder=folder, address=_TAP_HOST4, name=SERVER_NAME, server=_SERVER4)
    )
    stack.enter_context(
        _daemon(host, ["unbound", "-d", "-p", "-c", config], lambda pid: wait.listening(pid, 53))
    )


#: The same peer of this machine.
OWN_PASST = f"passt-{tools.OWN_SUITE}"

Opener = Callable[[File], contextlib.AbstractContextManager[Path]]

PATHS: Mapping[str, Opener] = {
    "native": native,
    "vmrpc": vmrpc,
    "vmrpc-untranslated": vmrpc_untranslated,
    "vmrpc-inet6": vmrpc_inet6,
    "vmrpc-container": vmrpc_container,
    "virtio-net": virtio_net,
    "virtio-net-tayga": tayga,
    "passt": passt,
    OWN_PASST: functools.partial(passt, name=OWN_PASST),
}

# Programs of the host that a path needs; each Debian package has the program's name.
_PROGRAMS = {
    **dict.fromkeys(("vmrpc", "vmrpc-inet6", "vmrpc-container"), ("unbound",)),
    "virtio-net-tayga": ("tayga", "unbound"),
    "passt": ("passt",),
}


def require(names: Sequence[str]) -> None:
    """Fail now, with the name of the package, when a peer is not installed."""
    for name in names:
        tools.require(*_PROGRAMS.get(name, ()))


@contextlib.contextmanager
def opened(names: Sequence[str], pingpong: File) -> Iterator[dict[str, Path]]:
    """Set the named paths up, one after the other, and stop their guests."""
    with contextlib.ExitStack() as stack:
        ready: dict[str, Path] = {}
        for name in names:
            ready[name] = stack.enter_context(PATHS[name](pingpong))
            ready[name].pause()
        yield ready
