# SPDX-License-Identifier: GPL-2.0-or-later
"""Real servers for guests, each inside a namespace.

Every peer is a context manager: inside the block the server answers; after
it the server is gone.  All of them speak IPv6 only.
"""

from __future__ import annotations

import contextlib
import functools
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv6Address
from pathlib import Path

from ..base import paths, scratch, wait
from ..base.net import Namespace

_NGINX_CONFIG = """\
daemon off;
worker_processes 1;
user root;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log {folder}/access.log;
    default_type application/octet-stream;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    sendfile on;
    server {{
        listen [{address}]:{port} ipv6only=on{options};
        root {root};
        autoindex on;
{server}
    }}
}}
"""

_UNBOUND_CONFIG = """\
server:
    chroot: ""
    username: ""
    directory: "{folder}"
    pidfile: "{folder}/unbound.pid"
    use-syslog: no
    logfile: "{folder}/unbound.log"
    log-queries: yes
    interface: {address}@{port}
    access-control: ::/0 allow
    access-control: 0.0.0.0/0 allow
    do-ip4: {ip4}
    do-daemonize: no
    num-threads: 1
    module-config: "{modules}"
{dns64}
    local-zone: "test." nodefault
    local-zone: "invalid." nodefault
    local-zone: "onion." nodefault
    local-zone: "ip6.arpa." nodefault
    local-zone: "8.b.d.0.1.0.0.2.ip6.arpa." nodefault
    local-zone: "d.f.ip6.arpa." nodefault
    cache-max-ttl: {ttl}
    cache-max-negative-ttl: 1
remote-control:
    control-enable: no
auth-zone:
    name: "."
    zonefile: "{folder}/root.zone"
    for-upstream: yes
    for-downstream: no
    fallback-enabled: no
"""

_ZONE_HEAD = """\
. 1 IN SOA ns.test. admin.test. 1 3600 600 86400 1
. 1 IN NS ns.test.
ns.test. 1 IN {kind} {address}
"""


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    with scratch.folder() as folder:
        yield Path(folder)


@contextlib.contextmanager
def _failure_shows(log: Path) -> Iterator[None]:
    """Add a server's own messages to a failure of its start."""
    try:
        yield
    except (RuntimeError, TimeoutError) as error:
        text = log.read_text(errors="replace") if log.exists() else ""
        raise RuntimeError(f"{error}\n{text[-3000:]}") from error


@contextlib.contextmanager
def _server(
    space: Namespace,
    command: Sequence[str | Path],
    log: Path,
    port: int,
    env: Mapping[str, str] | None = None,
) -> Iterator[int]:
    """Run a server, wait until it listens on TCP; yield its pid."""
    with log.open("ab") as out:
        with space.started(command, stdout=out, stderr=out, env=env) as child:
            with _failure_shows(log):
                wait.listening(child.pid, port)
            yield child.pid


@contextlib.contextmanager
def web(
    space: Namespace,
    root: Path,
    address: str = "::",
    port: int = 80,
    server: str = "",
    certificate: tuple[Path, Path] | None = None,
) -> Iterator[Path]:
    """nginx serving the folder ``root``; yields its access log.

    ``server`` adds directives to the server block; with a ``certificate``
    (file, key) it speaks TLS.
    """
    options = ""
    if certificate is not None:
        options = " ssl"
        server += f"ssl_certificate {certificate[0]};\nssl_certificate_key {certificate[1]};\n"
    with _scratch() as folder:
        config = folder / "nginx.conf"
        config.write_text(
            _NGINX_CONFIG.format(
                folder=folder, address=address, port=port, options=options, root=root, server=server
            )
        )
        command: list[str | Path] = [
            "nginx",
            "-c",
            config,
            "-p",
            folder,
            "-e",
            folder / "error.log",
        ]
        with _server(space, command, folder / "error.log", port):
            yield folder / "access.log"


def _sign(folder: Path, anchor: Path) -> None:
    """Sign root.zone in its place, with one key for all."""
    run = functools.partial(subprocess.run, cwd=folder, check=True, capture_output=True, text=True)
    run(["dnssec-keygen", "-q", "-a", "ECDSAP256SHA256", "-f", "KSK", "."])
    run(["dnssec-signzone", "-q", "-S", "-z", "-o", ".", "-f", "root.zone", "root.zone"])
    (public,) = folder.glob("K*.key")
    record = public.read_text().rsplit("DNSKEY", 1)[1].split()
    flags, protocol, algorithm, key = *record[:3], "".join(record[3:])
    anchor.write_text(
        f'trust-anchors {{ . static-key {flags} {protocol} {algorithm} "{key}"; }};\n'
    )


@contextlib.contextmanager
def dns(
    space: Namespace,
    records: Sequence[str],
    address: str,
    port: int = 53,
    ttl: int = 86400,
    dns64: str | None = None,
    anchor: Path | None = None,
) -> Iterator[Path]:
    """A recursive name server whose whole Internet is ``records``.

    A record is a line of a zone file with absolute names, for example
    ``www.test. 60 IN AAAA 2001:db8::80``.  It follows CNAMEs. Other names do not exist, and other
    types of a name have empty answers, with the root's SOA. With ``dns64``, a prefix, it makes AAAA
    from A (RFC 6147). With ``anchor``, all records are signed, and this file is the trust anchor
    for delv.  Yields the query log.
    """
    with _scratch() as folder:
        kind = "AAAA" if ":" in address else "A"
        zone = _ZONE_HEAD.format(kind=kind, address=address) + "\n".join(records) + "\n"
        (folder / "root.zone").write_text(zone)
        if anchor is not None:
            _sign(folder, anchor)
        config = folder / "unbound.conf"
        config.write_text(
            _UNBOUND_CONFIG.format(
                folder=folder,
                address=address,
                ip4="no" if ":" in address else "yes",
                port=port,
                ttl=ttl,
                modules="dns64 iterator" if dns64 else "iterator",
                dns64=f"    dns64-prefix: {dns64}" if dns64 else "",
            )
        )
        log = folder / "unbound.log"
        with _server(space, ["unbound", "-d", "-p", "-c", config], log, port):
            yield log


_TAYGA_CONFIG = """\
tun-device nat64
ipv4-addr {own}
prefix {prefix}
dynamic-pool {pool}
data-dir {folder}
"""


@contextlib.contextmanager
def nat64(space: Namespace, prefix: str, pool: str, own: str) -> Iterator[None]:
    """TAYGA: a NAT64 with its ``prefix``, and ``pool`` for its IPv6 clients.

    ``own`` is an address for TAYGA itself, outside of any network in use.
    """
    with _scratch() as folder:
        config = folder / "tayga.conf"
        config.write_text(_TAYGA_CONFIG.format(folder=folder, prefix=prefix, pool=pool, own=own))
        space.run(["tayga", "--config", config, "--mktun"])
        space.ip("link", "set", "nat64", "up")
        space.ip("address", "add", f"{own}/32", "dev", "nat64")
        space.ip("route", "add", pool, "dev", "nat64")
        space.ip("-6", "route", "add", prefix, "dev", "nat64")
        space.sysctl({"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1})
        log = folder / "log"
        with log.open("ab") as out:
            command: list[str | Path] = ["tayga", "--config", config, "--nodetach"]
            command += ["--pidfile", folder / "pid"]
            with space.started(command, stdout=out, stderr=out):
                # A tun interface has a carrier while a program has it open.
                with _failure_shows(log):
                    wait.until(lambda: "LOWER_UP" in space.ip("link", "show", "nat64"), "TAYGA")
                yield


# Also exchange the addresses in a packet that an ICMPv6 error quotes, so that its sender recognizes
# it.
_REFLECTOR = """\
table ip6 reflector {{
    chain output {{
        type route hook output priority mangle;
        ip6 saddr {own} ip6 daddr {far} goto turn
    }}
    chain turn {{
        icmpv6 type {{ destination-unreachable, packet-too-big, time-exceeded }} \
            @th,128,128 set {own:#x} @th,256,128 set {far:#x}
        ip6 saddr set {far} ip6 daddr set {own}
    }}
}}
"""


@contextlib.contextmanager
def reflector(space: Namespace, own: str, far: str) -> Iterator[None]:
    """A mirror at the address ``far``: the host ``own`` reaches itself there.

    Packets from ``own`` to ``far`` come back with both addresses exchanged, ports and checksums
    unchanged. It works in the namespace of ``own``, on output.
    """
    rules = _REFLECTOR.format(own=IPv6Address(own), far=IPv6Address(far))
    # Report each refused datagram.
    space.sysctl({"net.ipv6.icmp.ratelimit": 0})
    space.run(["nft", "-f", "-"], input=rules)
    yield
    space.run(["nft", "delete", "table", "ip6", "reflector"])


@contextlib.contextmanager
def iperf3(space: Namespace, address: str = "::", port: int = 5201) -> Iterator[None]:
    """An iperf3 server."""
    with _scratch() as folder:
        command = ["iperf3", "-s", "-6", "-B", address, "-p", str(port)]
        with _server(space, command, folder / "log", port):
            yield


@contextlib.contextmanager
def echo(space: Namespace, port: int, address: str = "::") -> Iterator[None]:
    """A server that echoes TCP streams and UDP datagrams on one port."""
    with _scratch() as folder:
        command = [sys.executable, "-m", "lab.peers.echo"]
        command += ["--address", address, "--port", str(port)]
        env = {"PYTHONPATH": paths.PYTHONPATH}
        with _server(space, command, folder / "log", port, env):
            yield


@contextlib.contextmanager
def odd_dns(
    space: Namespace, address: str, port: int, target: str, *, delay: float = 0, lame: bool = False
) -> Iterator[None]:
    """A DNS server with the AAAA record ``target`` for all names.

    It answers after ``delay`` seconds; a ``lame`` server answers without records.
    """
    with _scratch() as folder:
        command = [sys.executable, "-m", "lab.peers.odd_dns", "--address", address]
        command += ["--port", str(port), "--target", target, "--delay", str(delay)]
        command += ["--lame"] if lame else []
        env = {"PYTHONPATH": paths.PYTHONPATH}
        with _server(space, command, folder / "log", port, env):
            yield


@contextlib.contextmanager
def ftp(space: Namespace, root: Path, address: str, port: int = 21) -> Iterator[Path]:
    """An FTP server for anonymous users with write access; yields its log of commands."""
    with _scratch() as folder:
        command: list[str | Path] = [sys.executable, "-m", "pyftpdlib", "-D", "-w"]
        command += ["-i", address, "-p", str(port), "-d", root]
        log = folder / "log"
        with _server(space, command, log, port):
            yield log


@contextlib.contextmanager
def proxy(
    space: Namespace,
    kind: str,
    address: str,
    port: int,
    hosts: Mapping[str, str],
    secret: str = "",
    denied: str = "",
) -> Iterator[Path]:
    """A proxy, tinyproxy for ``http`` or microsocks for ``socks5``; yields its log.

    It resolves the names of ``hosts``, wants the ``secret`` USER:PASSWORD if there is one, and
    tinyproxy refuses the host ``denied``.
    """
    user, _, password = secret.partition(":")
    with _scratch() as folder:
        table = folder / "hosts"
        table.write_text("".join(f"{place} {name}\n" for name, place in hosts.items()))
        if kind == "http":
            config = folder / "tinyproxy.conf"
            lines = [f"Port {port}", f"Listen {address}", "LogLevel Connect", "DisableViaHeader On"]
            lines += [f"BasicAuth {user} {password}"] if secret else []
            if denied:
                (folder / "filter").write_text(f"^{denied}$\n")
                lines += [f'Filter "{folder}/filter"', "FilterExtended On"]
            config.write_text("\n".join(lines) + "\n")
            command: list[str | Path] = ["tinyproxy", "-d", "-c", config]
        else:
            command = ["microsocks", "-i", address, "-p", str(port)]
            command += ["-u", user, "-P", password] if secret else []
        # The names are in its own /etc/hosts.
        enter = 'mount --bind "$0" /etc/hosts && exec "$@"'
        command = ["unshare", "--mount", "sh", "-c", enter, table, *command]
        log = folder / "log"
        with _server(space, command, log, port):
            yield log
