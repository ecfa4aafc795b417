# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs under load, unmodified, IPv4 in the guest and IPv6 outside.

Each test runs in both roles: the guest serves and the outside asks, and the
other way round.  What counts is what the programs themselves say of their
success, and checksums; see ``programs``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base import wait
from lab.guest.fixtures import KERNELS
from lab.guest.guest import Guest
from lab.packages import kernel
from lab.peers.lab import PAGE, WEB_ADDRESS, Lab, lab

_FOLDER = Path(__file__).parent / "programs"
sys.path.insert(0, str(_FOLDER.parent))

from programs.machines import PACKAGES, Inside, Machine, Outside, Roles, outside  # noqa: E402
from programs.tree import contents  # noqa: E402

_WEB_JS = (_FOLDER / "web.js").read_text()
_TREE_PY = (_FOLDER / "tree.py").read_text()
#: The kernel with which the tests that are not long run.
_SERIES = kernel.MAIN
_LONG = 10

_NGINX = """\
daemon off; user root; worker_processes 2; pid /run/nginx.pid; error_log stderr;
events {{ worker_connections 2048; }}
http {{
    access_log off;
    sendfile on;
    ssl_certificate /etc/ssl/certs/ssl-cert-snakeoil.pem;
    ssl_certificate_key /etc/ssl/private/ssl-cert-snakeoil.key;
    server {{
        listen {address}:8080 backlog=1024;
        listen {address}:8443 ssl http2;
        root /srv;
    }}
}}
"""


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


@pytest.fixture(scope="module")
def outer(world: Lab) -> Iterator[Outside]:
    with outside(world.peer) as machine:
        yield machine


@pytest.fixture(
    scope="module", params=[*KERNELS, pytest.param(f"{_SERIES}+ipv6", marks=pytest.mark.long)]
)
def guest(request: pytest.FixtureRequest, world: Lab) -> Iterator[Guest]:
    """One guest of each kernel, of IPv4 alone; and one with Debian's own settings."""
    series, _, ipv6 = request.param.partition("+")
    settings = {"ipv6": bool(ipv6), "packages": PACKAGES, "memory": "1G"}
    with world.guest(series, **settings) as running:
        yield running


@pytest.fixture(scope="module")
def inner(guest: Guest) -> Inside:
    return Inside(guest)


@pytest.fixture(scope="module", params=["guest-serves", "guest-asks"])
def roles(request: pytest.FixtureRequest, inner: Inside, outer: Outside) -> Roles:
    """Who serves and who asks."""
    if request.param == "guest-serves":
        return Roles(server=inner, client=outer)
    return Roles(server=outer, client=inner)


@pytest.fixture(params=[1, pytest.param(_LONG, marks=pytest.mark.long)], ids=["brief", "long"])
def load(request: pytest.FixtureRequest) -> int:
    """How often a test does its work."""
    times: int = request.param
    return times


def _figure(pattern: str, text: str) -> int:
    """The number that a program reports."""
    found = re.search(pattern, text)
    assert found, text
    return int(found.group(1))


def _tree(machine: Machine, folder: str, count: int) -> str:
    """Make a tree of files; return what is in it, as ``_sums`` does."""
    machine.put(_TREE_PY, "/root/tree.py")
    machine.run(f"rm -rf {folder}; python3 /root/tree.py {folder} {count}")
    files = sorted(contents(count).items())
    return "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files)


def _sums(machine: Machine, folder: str) -> str:
    listing = "find . -type f -printf '%P\\n' | LC_ALL=C sort"
    return machine.run(f"cd {folder} && {listing} | xargs sha256sum")


# --- HTTP ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Web:
    """A web server, what is called its name, and what is in its tree."""

    client: Machine
    name: str
    sums: str


@pytest.fixture(scope="module")
def web(roles: Roles) -> Iterator[Web]:
    """nginx, with a tree of files."""
    server = roles.server
    address = f"[{server.any_address}]" if ":" in server.any_address else server.any_address
    server.put(_NGINX.format(address=address), "/run/nginx.conf")
    sums = _tree(server, "/srv", 50)
    with server.started("nginx -c /run/nginx.conf", 8080):
        yield Web(roles.client, roles.name, sums)


def test_nginx_wrk(web: Web, load: int) -> None:
    # An answer that comes later than --timeout is an error to it.
    # It takes 8 MB for each second of patience.
    options = f"-t2 -c50 -d{load}s --timeout 10s"

    def requests() -> int:
        text = web.client.run(f"wrk {options} http://{web.name}:8080/folder1/1")
        assert "Socket errors" not in text and "Non-2xx" not in text, text
        return _figure(r"(\d+) requests in", text)

    wait.until(requests, "requests in the time that there is")


@pytest.mark.parametrize("options", ["", "-k"], ids=["connection-each", "keep-alive"])
def test_nginx_ab(web: Web, load: int, options: str) -> None:
    count = 300 * load
    url = f"http://{web.name}:8080/folder3/3"
    text = web.client.run(f"ab -s {wait.PATIENCE:.0f} {options} -c 20 -n {count} {url}")
    assert _figure(r"Complete requests:\s+(\d+)", text) == count
    assert _figure(r"Failed requests:\s+(\d+)", text) == 0, text
    assert "Non-2xx" not in text and _figure(r"HTML transferred:\s+(\d+)", text) == count * 1893


def test_http2_h2load(web: Web, load: int) -> None:
    count = 200 * load
    url = f"https://{web.name}:8443/folder5/5"
    text = web.client.run(f"h2load -n {count} -c 4 -m 10 {url}")
    assert f"{count} succeeded, 0 failed, 0 errored, 0 timeout" in text, text
    assert "Application protocol: h2" in text


_CURL = {
    "keep-alive": "http://{}:8080",
    "parallel": "-Z --parallel-max 25 http://{}:8080",
    "http2": "-k --http2 https://{}:8443",
    "http2-parallel": "-k --http2 -Z https://{}:8443",
}


@pytest.mark.parametrize("way", _CURL)
def test_curl(web: Web, way: str) -> None:
    options, _, url = _CURL[way].rpartition(" ")
    names = [line.split()[1] for line in web.sums.splitlines()]
    each = (f'url = "{url.format(web.name)}/{name}"\noutput = "got/{name}"\n' for name in names)
    web.client.put("".join(each), "/root/urls")
    form = "%{http_version} %{num_connects}\\n"
    command = f"curl -sS --fail --create-dirs {options} -w '{form}' -K urls"
    text = web.client.run(f"cd /root && rm -rf got && {command}")
    lines = [line.split() for line in text.splitlines()]
    assert _sums(web.client, "/root/got") == web.sums
    assert {version for version, _ in lines} == {"2" if "http2" in way else "1.1"}
    connections = sum(int(count) for _, count in lines)
    assert connections == 1 if way != "parallel" else connections <= 25, lines


# --- data bases and caches ------------------------------------------------------------


@contextlib.contextmanager
def _redis(machine: Machine) -> Iterator[None]:
    options = f"--bind {machine.any_address} --protected-mode no --save '' --dir /tmp"
    with machine.started(f"redis-server {options}", 6379):
        yield


@pytest.mark.parametrize("pipeline", [1, 16])
def test_redis(roles: Roles, load: int, pipeline: int) -> None:
    # Each of 50 clients sends whole pipelines.
    count = 16 * 50 * load
    ask = f"redis-cli -h {roles.name}"
    with _redis(roles.server):
        common = f"redis-benchmark -h {roles.name} -c 50 -P {pipeline} -n {count}"
        text = roles.client.run(f"{common} -q incr counter")
        assert "requests per second" in text, text
        # Each of the requests was carried out once.
        assert int(roles.client.run(f"{ask} get counter")) == count
        text = roles.client.run(f"{common} -d 3000 -r 100 -q -t set,get")
        assert text.count("requests per second") == 2 and "rror" not in text, text
        value = hashlib.sha512(b"").hexdigest() * 2000
        roles.client.put(value, "/root/value")
        assert roles.client.run(f"{ask} -x set value < /root/value") == "OK\n"
        assert roles.client.run(f"{ask} get value") == f"{value}\n"


def test_memcached(roles: Roles, load: int) -> None:
    server = f"memcached -u root -c 2000 -l {roles.server.any_address}"
    where = f"--servers={roles.name}:11211"
    with roles.server.started(server, 11211):
        for test in "set", "get":
            options = f"--concurrency=16 --execute-number={50 * load} --test={test} --flush"
            roles.client.run(f"memcslap {where} {options}")
        stats = roles.client.run(f"memcstat {where}")
    assert _figure(r"curr_items: (\d+)", stats) > 0, stats
    assert _figure(r"get_misses: (\d+)", stats) == 0, stats


_POSTGRES = """\
setpriv --reuid=postgres --regid=postgres --init-groups
/usr/lib/postgresql/15/bin/postgres -D /var/lib/postgresql/15/main
-c config_file=/etc/postgresql/15/main/postgresql.conf -c hba_file=/run/hba.conf
-c listen_addresses={} -c fsync=off -c external_pid_file=
"""

# What the transactions of pgbench keep equal.
_BALANCES = """\
select count(distinct n) from (select sum(abalance) n from pgbench_accounts union all
select sum(bbalance) from pgbench_branches union all select sum(tbalance) from pgbench_tellers
union all select sum(delta) from pgbench_history) sums;
"""


def test_postgresql(roles: Roles, load: int) -> None:
    roles.server.put("host all all all trust\n", "/run/hba.conf")
    roles.server.run("install -d -o postgres -m 755 /run/postgresql; chmod 644 /run/hba.conf")
    server = _POSTGRES.format(roles.server.any_address).replace("\n", " ")
    # Ciphers have their turn with nginx and ssh.
    client = f"-U postgres -h {roles.name}"
    bench = f"PGSSLMODE=disable /usr/lib/postgresql/15/bin/pgbench {client}"
    ask = f"PGSSLMODE=disable psql {client} -At -c"
    count = 5 * load
    with roles.server.started(server, 5432):
        roles.client.run(f"until pg_isready -q {client}; do :; done")
        roles.client.run(f"{bench} -i -q postgres")
        assert int(roles.client.run(f"{ask} 'select count(*) from pgbench_accounts'")) == 100_000
        for options in "-M prepared", "-S -C":
            line = f"{bench} -n -c 8 -j 2 {options} -t {count} postgres"
            text = roles.client.run(line)
            assert f"actually processed: {8 * count}/{8 * count}" in text, text
            assert "failed transactions: 0 " in text, text
        assert int(roles.client.run(f'{ask} "{_BALANCES}"')) == 1
        history = int(roles.client.run(f"{ask} 'select count(*) from pgbench_history'"))
        assert history == 8 * count


# --- files and shells -----------------------------------------------------------------

_SSH = (
    "-q -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
    # The default takes long to compute.
    " -o KexAlgorithms=curve25519-sha256"
)


@contextlib.contextmanager
def _sshd(roles: Roles) -> Iterator[None]:
    """Let the client in at the server."""
    name = "~/.ssh/id_ed25519"
    roles.client.run(f"[ -e {name} ] || ssh-keygen -q -t ed25519 -N '' -f {name}")
    key = roles.client.run(f"cat {name}.pub")
    roles.server.put(key, "/root/.ssh/authorized_keys")
    roles.server.run("mkdir -p /run/sshd; chmod 700 ~/.ssh; chmod 600 ~/.ssh/authorized_keys")
    with roles.server.started("/usr/sbin/sshd -D -e", 22):
        yield


def test_ssh(roles: Roles, load: int) -> None:
    with _sshd(roles):
        text = roles.client.run(f"echo input | ssh {_SSH} {roles.name} 'cat; echo $SSH_CONNECTION'")
        assert text.startswith("input\n")
        sums = _tree(roles.client, "/root/tree", 20 * load)
        roles.server.run("rm -rf /root/copy /root/put")
        roles.client.run(f"scp -r {_SSH} /root/tree {roles.name}:/root/copy")
        assert _sums(roles.server, "/root/copy") == sums
        script = "put /root/tree/large /root/put\\nget /root/put /root/got-back\\n"
        roles.client.run(f"printf '{script}' | sftp {_SSH} -b - {roles.name}")
        roles.client.run("cmp /root/got-back /root/tree/large")


def test_ssh_forwards(roles: Roles, world: Lab) -> None:
    """-L, -R and -D at the same time, each carrying requests at the same time."""

    def get(machine: Machine, how: str) -> None:
        urls = " ".join([how] * 8)
        assert machine.run(f"curl -sS -Z {urls}").splitlines().count(PAGE.strip()) == 8

    # The web server is outside; whoever is there can name it.
    web = "www.test" if isinstance(roles.server, Inside) else f"[{WEB_ADDRESS}]"
    origin = "www.test" if isinstance(roles.client, Inside) else f"[{WEB_ADDRESS}]"
    forwards = f"-L 127.0.0.1:9001:{web}:80 -R 127.0.0.1:9002:{origin}:80 -D 127.0.0.1:9003"
    with _sshd(roles):
        options = f"-N -o ExitOnForwardFailure=yes {_SSH} {forwards}"
        with roles.client.started(f"ssh {options} {roles.name}", 9003):
            get(roles.client, "http://127.0.0.1:9001/")
            get(roles.client, f"--proxy socks5h://127.0.0.1:9003 http://{web}/")
            get(roles.server, "http://127.0.0.1:9002/")


_RSYNCD = """\
use chroot = no
uid = root
gid = root
log file = /run/rsyncd.log
[tree]
path = /root/tree
[into]
path = /root/into
read only = no
"""


@pytest.mark.parametrize("way", ["daemon", pytest.param("ssh", marks=pytest.mark.long)])
def test_rsync(roles: Roles, load: int, way: str) -> None:
    sums = _tree(roles.server, "/root/tree", 50 * load)
    roles.server.put(_RSYNCD, "/run/rsyncd.conf")
    roles.server.run("rm -rf /root/into; mkdir /root/into")
    roles.client.run("rm -rf /root/copy")
    daemon = roles.server.started("rsync --daemon --no-detach --config=/run/rsyncd.conf", 873)
    place, rsync = f"rsync://{roles.name}/", "rsync -a"
    if way == "ssh":
        place, rsync = f"{roles.name}:/root/", f"rsync -a -e 'ssh {_SSH}'"
    with _sshd(roles) if way == "ssh" else daemon:
        roles.client.run(f"{rsync} {place}tree/ /root/copy")
        assert _sums(roles.client, "/root/copy") == sums
        # Change something, and bring the difference to another place, then nothing.
        roles.client.run("cd /root/copy && echo more >> large && rm -r folder1 && echo new > new")
        roles.client.run(f"{rsync} --delete /root/copy/ {place}into")
        assert _sums(roles.server, "/root/into") == _sums(roles.client, "/root/copy")
        assert roles.client.run(f"{rsync} -c -i /root/copy/ {place}into") == ""


# --- bandwidth --------------------------------------------------------------------------

_IPERF3 = {
    "eight": "-P 8",
    "eight-receive": "-P 8 -R",
    "both": "--bidir",
    "udp": "-u -b 20M",
    "udp-receive": "-u -b 20M -R",
}


@pytest.mark.parametrize("way", _IPERF3)
def test_iperf3(roles: Roles, load: int, way: str) -> None:
    with roles.server.started("iperf3 -s", 5201):
        command = f"iperf3 -c {roles.name} -t {load} --json {_IPERF3[way]}"
        found = json.loads(roles.client.run(command))
    assert "error" not in found, found
    end = found["end"]
    if "udp" in way:
        assert end["sum"]["packets"] > end["sum"]["lost_packets"], end["sum"]
        return
    for stream in end["streams"]:
        assert stream["sender"]["bytes"] > 0 and stream["receiver"]["bytes"] > 0, end


# --- node ---------------------------------------------------------------------------------


def test_node(roles: Roles, load: int) -> None:
    clients = 50 * load
    for machine in roles.server, roles.client:
        machine.put(_WEB_JS, "/root/web.js")
    resolve = "A" if isinstance(roles.client, Inside) else ""
    with roles.server.started(f"node /root/web.js serve {roles.server.any_address} 3000", 3000):
        command = f"node /root/web.js ask {roles.name} 3000 {clients} {2 * load} {resolve}"
        text = roles.client.run(command)
    assert text == f"{clients * 2 * load} right, {clients} sockets\n"


# --- time -----------------------------------------------------------------------------------

#: Nobody else is to be able to say anything to it.
_CHRONYD = "chronyd -u root -F 0 {} 'pidfile /run/chronyd.pid' 'bindcmdaddress /' 'cmdport 0'"
# A sample that was long under way is passed over: it may be wrong by half of that.
_SERVER = "'server peer.test iburst maxsamples 1 maxdelay 1'"
#: It serves the time of a clock that it leaves alone.
_TIME_SERVER = _CHRONYD.format("-d -x") + " 'local stratum 3' 'allow all'"
_SET_TIME = _CHRONYD.format("-q -t 120") + f" {_SERVER} 2>&1"
_ASK_TIME = _CHRONYD.format("-Q -t 120") + f" {_SERVER} 2>&1"
_FOLLOW_TIME = _CHRONYD.format("-d") + " 'server peer.test iburst minpoll -2 maxpoll 0'"
#: Seconds; what is wrong is wrong by half of what the clock is off.
_TOLERANCE = 1.0
_OFF = 30


def _clock_is_off(guest: Guest) -> tuple[float, float]:
    """Bounds of what the guest's clock is ahead of the host's."""
    begin = time.time()
    said = float(guest.run(["date", "+%s.%N"]).stdout)
    return said - time.time(), said - begin


@pytest.mark.parametrize("ahead", [_OFF, -_OFF])
def test_chronyd(guest: Guest, inner: Inside, outer: Outside, ahead: int) -> None:
    """A client of NTP finds out how wrong the guest's clock is, and sets it right."""
    with outer.started(_TIME_SERVER, 123, "udp"):
        inner.run(f"date --set '{ahead} seconds'")
        least, most = _clock_is_off(guest)
        assert abs(least) > _OFF / 2 < abs(most)
        told = inner.run(_ASK_TIME)
        found = re.search(r"System clock wrong by ([-.0-9]+) seconds", told)
        assert found, told
        # It says what is to be added.
        assert least - _TOLERANCE <= -float(found.group(1)) <= most + _TOLERANCE
        inner.run(_SET_TIME)
        least, most = _clock_is_off(guest)
        assert least <= _TOLERANCE and most >= -_TOLERANCE


@pytest.mark.long
def test_chronyd_slews(guest: Guest, inner: Inside, outer: Outside) -> None:
    """The same without a step: what it measures while the clock is slewed is right, too."""
    tolerance = 0.05
    with outer.started(_TIME_SERVER, 123, "udp"):
        inner.run(_SET_TIME)
        inner.run("date --set '2 seconds'")
        job = guest.spawn(f"exec {_FOLLOW_TIME}")

        def is_right() -> bool:
            least, most = _clock_is_off(guest)
            return job.running and least <= tolerance and most >= -tolerance

        try:
            wait.until(is_right, "the guest's clock to be right", 300)
        finally:
            job.kill()
            job.wait()
