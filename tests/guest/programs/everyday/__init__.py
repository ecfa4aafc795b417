# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of Debian's packages, with its settings where it has some.

What is written here of their settings is what an administrator has to write, such as who may log
in; of sockets and families, nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PACKAGES = (
    "caddy",
    "dovecot-imapd",
    "golang-1.19-go",
    "golang-1.19-src",
    "haproxy",
    "mtr-tiny",
    "nodejs",
    "openjdk-17-jdk-headless",
    "openssh-client",
    "openssh-server",
    "postgresql-15",
    "prometheus-node-exporter",
    "squid",
    "vsftpd",
)
_SOURCES = Path(__file__).parent


@dataclass(frozen=True)
class Server:
    """A server, and what its callers do."""

    #: A line of shell.
    start: str
    port: int
    #: A caller's line of shell; ``{host}`` is an address, ``{url}`` the same in a URL.
    ask: str
    #: A regular expression of what the caller gets.
    answer: str
    #: Before the start.
    prepare: str = ":"
    #: What is written before, by their paths.
    files: Mapping[str, str] = field(default_factory=dict)
    #: It insists on IPv6, so that it does not start where the kernel has none.
    needs_ipv6: bool = False
    #: It listens with AF_INET alone, so that ::1 is closed to the guest, as natively.
    only_ipv4: bool = False


def _source(name: str) -> Mapping[str, str]:
    return {f"/root/{name}": (_SOURCES / name).read_text()}


#: A user who may log in.
_USER = "id user || useradd -m -s /bin/bash user; echo user:secret | chpasswd"

_HAPROXY = """\
frontend everybody
    bind :::8004 v4v6
    default_backend web
backend web
    server www www.test:80
"""

_POSTGRES = """\
setpriv --reuid=postgres --regid=postgres --init-groups
/usr/lib/postgresql/15/bin/postgres -D /var/lib/postgresql/15/main
-c config_file=/etc/postgresql/15/main/postgresql.conf -c hba_file=/run/hba.conf
-c listen_addresses=*
""".replace("\n", " ")

SERVERS = {
    "caddy": Server(
        "env HOME=/root caddy run --config /etc/caddy/Caddyfile",
        80,
        "curl -sS --fail http://{url}/",
        "Your web server is working",
    ),
    "dovecot": Server(
        "dovecot -F",
        993,
        "curl -ksS --fail imaps://user:secret@{url}/",
        "LIST .* INBOX",
        _USER,
        needs_ipv6=True,
    ),
    "go": Server("/root/program serve", 8003, "curl -sS http://{url}:8003/", "go for "),
    "haproxy": Server(
        "haproxy -db -f /etc/haproxy/haproxy.cfg -f /etc/haproxy/web.cfg",
        8004,
        "curl -sS --fail http://{url}:8004/",
        "an IPv6-only page",
        "mkdir -p /run/haproxy",
        {"/etc/haproxy/web.cfg": _HAPROXY},
        needs_ipv6=True,
    ),
    "java": Server(
        "java /root/Server.java",
        8002,
        "curl -sS http://{url}:8002/",
        "java for ",
        files=_source("Server.java"),
    ),
    "nginx": Server(
        "nginx -g 'daemon off;'",
        80,
        "curl -sS --fail http://{url}/",
        "Welcome to nginx!",
        needs_ipv6=True,
    ),
    "node": Server(
        "node /root/server.js",
        8001,
        "curl -sS http://{url}:8001/",
        "node for ",
        files=_source("server.js"),
    ),
    "node-exporter": Server(
        "prometheus-node-exporter",
        9100,
        "curl -sS --fail http://{url}:9100/metrics",
        "node_uname_info",
    ),
    "postgresql": Server(
        _POSTGRES,
        5432,
        "PGSSLMODE=disable psql -h {host} -U postgres -Atc 'select 6 * 7'",
        "^42$",
        "install -d -o postgres /run/postgresql; chmod 644 /run/hba.conf",
        {"/run/hba.conf": "host all all all trust\n"},
    ),
    "python": Server(
        "python3 -m http.server -d /srv",
        8000,
        "curl -sS --fail http://{url}:8000/",
        "Directory listing",
        only_ipv4=True,
    ),
    "squid": Server(
        "squid --foreground -N",
        3128,
        "curl -sS --fail -x http://{url}:3128 http://www.test/",
        "an IPv6-only page",
        files={"/etc/squid/conf.d/callers.conf": "http_access allow all\n"},
    ),
    "sshd": Server(
        "/usr/sbin/sshd -D -e",
        22,
        "ssh-keyscan -t ed25519 {host}",
        "ssh-ed25519 ",
        "mkdir -p /run/sshd",
    ),
    "vsftpd": Server(
        "vsftpd /etc/vsftpd.conf",
        21,
        "curl -sS --fail ftp://user:secret@{url}/file",
        "a file",
        f"{_USER}; echo a file > /home/user/file; mkdir -p /run/vsftpd/empty",
        needs_ipv6=True,
    ),
}


@dataclass(frozen=True)
class Client:
    """A program that asks; ``{mapped}`` is peer.test as an IPv4-mapped address."""

    line: str
    #: A regular expression of what it says.
    answer: str
    files: Mapping[str, str] = field(default_factory=dict)
    needs_ipv6: bool = False


_PAGE = "an IPv6-only page"
_PAGE_AND_DATAGRAMS = f"(?s)^(?=.*{_PAGE})(?=.*datagram\n.*datagram\n)"
_SSH = "-o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"

CLIENTS = {
    "curl": Client("curl -6 -sS http://www.test/", _PAGE, needs_ipv6=True),
    "go": Client("/root/program ask http://www.test/ peer.test {mapped}", _PAGE_AND_DATAGRAMS),
    "java": Client(
        "java /root/Client.java http://www.test/ peer.test {mapped}",
        _PAGE_AND_DATAGRAMS,
        _source("Client.java"),
    ),
    "nc": Client("echo stream | nc -6 -N peer.test 7", "^stream$", needs_ipv6=True),
    "nc-udp": Client("echo datagram | nc -6 -u -W 1 peer.test 7", "^datagram$", needs_ipv6=True),
    "node": Client(
        "node /root/client.js http://www.test/ peer.test {mapped}",
        _PAGE_AND_DATAGRAMS,
        _source("client.js"),
        needs_ipv6=True,
    ),
    "ping": Client("ping -6 -c 2 peer.test", " 0% packet loss", needs_ipv6=True),
    "socat": Client("echo stream | socat - TCP:peer.test:7", "^stream$"),
    "socat-6": Client("echo stream | socat - TCP6:peer.test:7", "^stream$", needs_ipv6=True),
    "socat-udp": Client("echo datagram | socat - UDP6:peer.test:7", "^datagram$", needs_ipv6=True),
    "ssh": Client(
        f"ssh -6 {_SSH} peer.test 'echo $SSH_CONNECTION'", "2001:db8:1::c0de ", needs_ipv6=True
    ),
    "wget": Client("wget -6 -q -O - http://www.test/", _PAGE, needs_ipv6=True),
}
