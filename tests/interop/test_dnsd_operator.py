# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-dnsd as somebody tries it who knows NSD, Knot and unbound: odd clients, load, mistakes."""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import dns.edns
import dns.flags
import dns.message
import dns.opcode
import dns.query
import dns.rcode
import dns.tsig
import dns.tsigkeyring
import dns.update
import pytest
from lab.base import tools, wait
from lab.base.net import Network
from lab.dns import dnsd
from lab.dns import room as dns_room
from lab.dns.dnsd import Dnsd
from lab.dns.dnsd_world import SERVER, ZONE, World, framed, made, query, read
from lab.packages import programs
from vmmnet.controlsocket import Refused

KEY = "ddns.test"
SECRET = "c2VjcmV0IG9mIHRoZSB0ZXN0cyBvZiB1cGRhdGVz"
IDLE = 1000
#: Zones of a test, and mappings that a server keeps for other things than images.
MANY, SPARE = 100, 2048


@pytest.fixture
def world(network: Network) -> Iterator[World]:
    with made(network) as hosts:
        yield hosts


def _dig(world: World, *words: str) -> str:
    """What dig says of the zone's address."""
    command = ["dig", "+tries=1", f"@{SERVER}", *words]
    return world.client.run(command, check=False).stdout


def _failed(world: World, server: Dnsd) -> str:
    """What a server says that does not start."""
    done = world.server.run([dns_room.program("vmmnet-dnsd"), server.file], check=False)
    assert done.returncode == 1
    return done.stderr


# --- clients ------------------------------------------------------------------------------------


def test_states_of_a_connection_are_traced(world: World) -> None:
    """--trace logs each change of a connection, from the first to the last."""
    changes = ["free -> open", "open -> ended", "ended -> free"]
    with world.dnsd() as server:
        _dig(world, "+tcp", "www.example")
        assert "connection" not in server.log.read_text()
        server.stop()
        server.start(options=["--trace"])
        _dig(world, "+tcp", "www.example")
        wait.until(
            lambda: re.findall(r"connection \d+: (.*)", server.log.read_text()) == changes,
            "the changes",
        )
        server.stop()
        server.start()
        assert server.ask("log debug") == "log level debug\n"
        before = server.log.read_text()
        _dig(world, "+tcp", "www.example")
        wait.until(
            lambda: "ended -> free" in server.log.read_text().removeprefix(before), "the changes"
        )


#: What dig can be made to send, and what it then says.
ODD = [
    (["+edns=1", "+noednsnegotiation"], "status: BADVERS"),
    (["+edns=7"], "status: NOERROR"),
    (["+ednsflags=0x4000"], "status: NOERROR"),
    (["+ednsopt=65001:00ff"], "status: NOERROR"),
    (["+subnet=198.51.100.0/24"], "status: NOERROR"),
    (["+padding=128", "+nocookie"], "status: NOERROR"),
    (["+opcode=status"], "status: NOTIMP"),
    (["+header-only", "+nocookie", "+noedns"], "status: FORMERR"),
    (["+aaflag", "+cdflag", "+adflag", "+zflag"], "flags: qr aa rd;"),
    (["-c", "HS"], "status: REFUSED"),
    (["-c", "ANY"], "status: REFUSED"),
    (["-t", "TYPE65280"], "ANSWER: 0, AUTHORITY: 1"),
    (["-t", "ANY", "+tcp"], "ANSWER: 2"),
    (["+bufsize=0"], "status: NOERROR"),
]


def test_odd_queries(world: World) -> None:
    """What dig can be made to send has an answer of the protocol, and the server goes on."""
    with world.dnsd():
        for words, told in ODD:
            text = _dig(world, "www.example", *words)
            assert told in text and "timed out" not in text, (words, text)
            assert "status: NOERROR" in _dig(world, "www.example")


def test_version(world: World) -> None:
    """The version is told if it is configured."""
    with world.dnsd(server={"version": "nine"}):
        for name in ("version.bind", "version.server"):
            assert _dig(world, "+short", "-c", "CH", "-t", "TXT", name) == '"nine"\n'


def test_wrong_cookies(world: World) -> None:
    """A forged or old cookie is one that the server does not know; one of no length is FORMERR."""
    with world.dnsd() as server:
        for size in (8, 16, 24, 40):
            option = dns.edns.GenericOption(dns.edns.OptionType.COOKIE, b"c" * size)
            reply = world.udp(query(use_edns=0, options=[option]))
            assert reply.rcode() == dns.rcode.NOERROR and reply.answer
            (own,) = (o.to_wire() for o in reply.options if o.otype == dns.edns.OptionType.COOKIE)
            assert own[:8] == b"c" * 8 and len(own) == 24 and own[8:] != b"c" * 16
        assert server.metric('cookies_total{state="valid"}') == 0
        for size in (0, 7, 9, 15, 41):
            option = dns.edns.GenericOption(dns.edns.OptionType.COOKIE, b"c" * size)
            reply = world.udp(query(use_edns=0, options=[option]))
            assert reply.rcode() == dns.rcode.FORMERR and not reply.answer
        assert server.metric('cookies_total{state="malformed"}') == 5


@contextlib.contextmanager
def _clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> Iterator[None]:
    """Messages are signed with a clock that is wrong by so much."""
    now = time.time
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: now() + seconds)
        yield


def test_wrong_tsig(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another clock, key or algorithm is told apart, and changes nothing."""
    folder = world.folder / "zones"
    folder.mkdir()
    image = dns_room.compile_zone("example", ZONE.format(serial=1), folder / "example.vzi")
    (folder / "secret").write_text(f"{SECRET}\n")
    tools.run(["chown", "-R", dnsd.USER, folder])
    zone = {"name": "example", "image": str(image), "allow-update": [KEY]}
    keys = [{"name": KEY, "secret-file": str(folder / "secret")}]
    with Dnsd(world.server, folder, {"keys": keys, "zones": [zone]}):

        def send(key: str, algorithm: object = dns.tsig.HMAC_SHA256) -> dns.message.Message:
            update = dns.update.UpdateMessage("example")
            update.add("new", 60, "A", "192.0.2.9")
            ring = dns.tsigkeyring.from_text({key: SECRET})
            update.use_tsig(ring, key, algorithm=algorithm)
            return world.udp(update)

        for seconds in (-3600, 3600):
            with _clock(monkeypatch, seconds), pytest.raises(dns.tsig.PeerBadTime):
                send(KEY)
        with pytest.raises(dns.tsig.PeerBadKey):
            send("other.test")
        with pytest.raises(dns.tsig.PeerBadKey):
            send(KEY, dns.tsig.HMAC_SHA512)
        assert world.udp(query("new.example")).rcode() == dns.rcode.NXDOMAIN
        assert send(KEY).rcode() == dns.rcode.NOERROR


# --- load ---------------------------------------------------------------------------------------


def _is_above(server: Dnsd, metric: str, count: int) -> bool:
    return server.metric(metric) > count


def test_reload_at_full_load(world: World) -> None:
    """As many queries as the server takes, over UDP and TCP: none is lost in ten reloads."""
    names = world.folder / "names"
    names.write_text("www.example A\nserial.example TXT\nnone.example A\nbig.example A\n")
    load: list[str | Path] = [
        "dnsperf",
        "-s",
        SERVER,
        "-d",
        names,
        "-l",
        "3600",
        "-t",
        str(int(wait.PATIENCE)),
    ]
    with world.dnsd() as server, contextlib.ExitStack() as stack:
        running = []
        for number, mode in enumerate(("udp", "tcp")):
            log = world.folder / f"load{number}"
            out = stack.enter_context(log.open("wb"))
            child = stack.enter_context(
                world.client.started([*load, "-m", mode, "-q", "60"], stdout=out, stderr=out)
            )
            running.append((child, log))
            asked = f'requests_total{{transport="{mode}"}}'
            wait.until(partial(_is_above, server, asked, 1000), f"load over {mode}")
        for serial in range(2, 12):
            world.image(serial)
            server.reload()
            asked = 'requests_total{transport="udp"}'
            before = server.metric(asked)
            wait.until(partial(_is_above, server, asked, before + 500), "load after the reload")
        for child, log in running:
            child.send_signal(signal.SIGINT)
            child.wait(wait.PATIENCE)
            text = log.read_text()
            assert re.search(r"Queries lost: +0 ", text), text
            assert "SERVFAIL" not in text and "REFUSED" not in text, text


def test_many_idle_connections(world: World) -> None:
    """A thousand clients that are silent cost another one nothing."""
    tcp = {"connections": IDLE + 8, "connections-per-client": IDLE + 8, "idle-timeout": 3600}
    with world.dnsd(tcp=tcp, server={"threads": 1}) as server, contextlib.ExitStack() as stack:
        for _ in range(IDLE):
            stack.enter_context(world.connect())
        wait.until(lambda: server.metric("tcp_connections") == IDLE, "connections")
        one = stack.enter_context(world.connect())
        asked = [query(kind=kind) for kind in ("A", "AAAA") * 250]
        one.sendall(b"".join(map(framed, asked)))
        for each in asked:
            assert each.is_response(read(one))
        assert world.udp(query()).answer
        assert server.metric("tcp_connections") == IDLE + 1


def test_replies_without_a_route(world: World) -> None:
    """To clients that nobody can reach: counted and told, of all threads that answer."""
    world.server.sysctl({f"net.ipv4.conf.{one}.rp_filter": 0 for one in ("all", "br0")})
    far = "198.51.100.1"
    world.client.ip("address", "add", f"{far}/32", "dev", "lo")
    notify = query("example", "SOA")
    notify.set_opcode(dns.opcode.NOTIFY)
    with world.dnsd() as server, world.client.entered():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.bind((far, 0))
            client.sendto(query().to_wire(), (SERVER, dnsd.PORT))
            told = "1 reply over UDP could not be sent; the last one: Network is unreachable"
            wait.until(lambda: told in server.log.read_text(), "the line")
            name = 'drops_total{reason="send"}'
            assert server.metric(name) == 1
            client.sendto(notify.to_wire(), (SERVER, dnsd.PORT))
            wait.until(lambda: server.metric(name) == 2, "the metric")
        assert server.log.read_text().count("could not be sent") == 1


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [socket.SOCK_DGRAM, socket.SOCK_STREAM])
def test_port_in_use(world: World, kind: int) -> None:
    """Another program has the port: the message names the address, the protocol and the reason."""
    with world.server.entered():
        other = socket.socket(socket.AF_INET, kind)
    with other:
        # As those do that share a port with their likes.
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind((SERVER, dnsd.PORT))
        if kind == socket.SOCK_STREAM:
            other.listen()
        told = _failed(world, world.dnsd(server={"listen": [SERVER]}))
        protocol = "TCP" if kind == socket.SOCK_STREAM else "UDP"
        assert f"cannot listen at {SERVER} ({protocol}): Address already in use" in told


def test_an_address_that_comes_late(world: World) -> None:
    """As after a boot, or with a virtual address that another node has."""
    late = {f"{SERVER.rpartition('.')[0]}.77": "/24", "2001:db8::77": "/64"}
    with world.dnsd(server={"listen": [SERVER, *late]}) as server:
        told = server.log.read_text()
        for address, length in late.items():
            for protocol in ("UDP", "TCP"):
                assert f"server.listen: {address} ({protocol}) is not an address of this" in told
            world.server.ip("address", "add", f"{address}{length}", "dev", "br0", *_nodad(address))
            assert world.udp(query(), address).answer
            with world.connect(address) as connection:
                connection.sendall(framed(query()))
                assert read(connection).answer


def test_an_address_that_leaves(world: World) -> None:
    """It is told, also when it is back, and once each; an address that stays is not."""
    server = world.server
    leaving = {f"{SERVER.rpartition('.')[0]}.78": "/24", "2001:db8::78": "/64"}

    def change(verb: str, address: str) -> None:
        words = ["address", verb, f"{address}{leaving[address]}", "dev", "br0"]
        server.ip(*words, *(_nodad(address) if verb == "add" else ()))

    for address in leaving:
        change("add", address)
    with world.dnsd(server={"listen": ["127.0.0.1", SERVER, *leaving]}) as daemon:

        def told(line: str) -> None:
            wait.until(lambda: line in daemon.log.read_text(), line)

        for address in leaving:
            change("delete", address)
            told(f"server.listen: {address} is no address of this host any more")
            change("add", address)
            told(f"server.listen: {address} is an address of this host")
            assert world.udp(query(), address).answer
        assert daemon.log.read_text().count("address of this host") == 2 * len(leaving)


def test_an_address_of_a_local_prefix(world: World) -> None:
    """No interface has it, and yet queries to it come: a route decides."""
    server, prefix, address = world.server, "198.51.100.0/24", "198.51.100.9"
    route = ["route", "add", "local", prefix, "dev", "lo"]
    server.ip(*route)
    with world.dnsd(server={"listen": [SERVER, address]}) as daemon:
        assert "address of this host" not in daemon.log.read_text()
        server.ip("route", "delete", *route[2:])
        line = f"server.listen: {address} is no address of this host any more"
        wait.until(lambda: line in daemon.log.read_text(), "the line")


def test_a_control_socket_that_is_removed(world: World) -> None:
    """It is made again, and told; another's file is left alone, also at the end."""
    with world.dnsd() as daemon:
        control, other = daemon.control, daemon.control.with_name("other")

        def told(line: str, count: int = 1) -> None:
            line = f"control socket: {control} {line}"
            wait.until(lambda: daemon.log.read_text().count(line) == count, line)

        control.unlink()
        told("was removed: it is there again")
        assert control.stat().st_mode & 0o777 == 0o600
        assert daemon.metric("threads")
        other.write_text("another's")
        other.rename(control)
        told("is another's")
        control.unlink()
        told("was removed: it is there again", 2)
        assert daemon.metric("threads")
        other.write_text("another's")
        other.rename(control)
        told("is another's", 2)
    assert control.read_text() == "another's"
    assert "cannot listen" in _failed(world, daemon)
    control.unlink()
    with world.dnsd() as daemon:
        assert daemon.control.is_socket()
    assert not control.exists()


def test_a_control_socket_of_a_server_that_lives(world: World) -> None:
    """Another server on other addresses does not take it away."""
    with world.dnsd() as daemon:
        other = world.dnsd(server={"listen": [f"{SERVER}@5353"], "control": str(daemon.control)})
        told = f"server.control: cannot listen at '{daemon.control}': Address already in use"
        assert told in _failed(world, other)
        assert daemon.metric("threads")


def test_a_control_socket_whose_folder_goes(world: World) -> None:
    """As when somebody empties /run: told once, and made again when the folder is there."""
    folder = world.folder / "run"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    control = folder / "control.sock"
    with world.dnsd(server={"control": str(control)}) as daemon:
        shutil.rmtree(folder)
        gone = f"control socket: {control} was removed: cannot listen at it: No such file"
        wait.until(lambda: gone in daemon.log.read_text(), "the line")
        folder.mkdir()
        folder.chmod(0o777)
        wait.until(control.is_socket, "the socket")
        back = f"control socket: {control} is there again"
        wait.until(lambda: back in daemon.log.read_text(), "the other line")
        assert daemon.log.read_text().count(gone) == 1


def test_an_interface_that_comes_late(world: World) -> None:
    """And that is made again: its sockets are new, beside those of the wildcard address."""
    here = "fe80::77%eth7"
    with world.dnsd(server={"listen": ["::", here], "threads": 2}) as server:
        told = f"server.listen: {here}: there is no interface 'eth7' yet: waiting for it"
        assert told in server.log.read_text()
        for turn in (1, 2):
            address = world.link_local("fe80::8", "fe80::77")

            def listens(count: int = turn) -> bool:
                line = f"server.listen: {here}: the interface 'eth7' is there"
                return server.log.read_text().count(line) == count

            wait.until(listens, "the listener")
            for _ in range(20):
                assert world.udp(query(), address).answer
            for _ in range(5):
                with world.client.entered():
                    assert dns.query.tcp(query(), address, timeout=wait.PATIENCE).answer
            bound = world.server.run(["ss", "-Hulnt", "sport", "=", ":53"]).stdout
            assert bound.count("[fe80::77]%eth7:53") == 4, bound
            world.server.ip("link", "delete", "eth7")

            def waits(count: int = turn) -> bool:
                line = f"server.listen: {here}: the interface 'eth7' is gone: waiting for it"
                return server.log.read_text().count(line) == count

            wait.until(waits, "the end of the listener")
        assert world.udp(query(), "2001:db8::1").answer
        # Of its privileges it has that for port 53 alone.
        assert server.status("CapPrm") == server.status("CapEff") == f"{1 << 10:016x}"
        assert server.status("CapInh") == server.status("CapAmb") == f"{0:016x}"


def test_an_interface_that_is_renamed(world: World) -> None:
    """It serves there until there is one of the old name, and says so."""
    here = "fe80::77%eth7"
    with world.dnsd(server={"listen": [SERVER, here]}) as server:
        address = world.link_local("fe80::8", "fe80::77")
        there = f"server.listen: {here}: the interface 'eth7' is there"
        wait.until(lambda: there in server.log.read_text(), "the listener")
        for words in ("eth7", "down"), ("eth7", "name", "other7"), ("other7", "up"):
            world.server.ip("link", "set", *words)
        world.server.ip("address", "replace", "fe80::77/64", "dev", "other7", "nodad")
        told = f"server.listen: {here}: the interface 'eth7' was renamed 'other7': queries there"
        wait.until(lambda: told in server.log.read_text(), "it is told")
        assert world.udp(query(), address).answer
        for words in ("other7", "down"), ("other7", "name", "eth7"), ("eth7", "up"):
            world.server.ip("link", "set", *words)
        world.server.ip("address", "replace", "fe80::77/64", "dev", "eth7", "nodad")
        wait.until(lambda: server.log.read_text().count(there) == 2, "the listener")
        assert world.udp(query(), address).answer
        assert "is gone" not in server.log.read_text()


def test_an_interface_that_others_use(world: World) -> None:
    """Another program has the port there: told once, tried again until it is free."""
    here = "fe80::77%eth7"
    with world.dnsd(server={"listen": [SERVER, here]}) as server:
        with world.server.entered():
            other = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        with other:
            other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            other.bind(("::", dnsd.PORT))
            address = world.link_local("fe80::8", "fe80::77")
            told = f"server.listen: cannot listen at {here} (UDP): Address already in use"
            wait.until(lambda: told in server.log.read_text(), "the message")
        wait.until(lambda: "'eth7' is there" in server.log.read_text(), "the listener")
        assert world.udp(query(), address).answer
        assert server.log.read_text().count(told) == 1


def _nodad(address: str) -> list[str]:
    return ["nodad"] if ":" in address else []


def test_no_permission(world: World) -> None:
    """What the server may not read or write is named; other zones are served."""
    other = dns_room.compile_zone("other", ZONE.format(serial=7), world.folder / "other.vzi")
    other.chmod(0o600)
    zones = [
        {"name": "example", "image": str(world.folder / "example.vzi")},
        {"name": "other", "image": str(other)},
    ]
    with Dnsd(world.server, world.folder, {"zones": zones}) as server:
        log = server.log.read_text()
        assert f"zone other: '{other}'" in log and "Permission denied" in log
        assert world.udp(query()).rcode() == dns.rcode.NOERROR
        assert world.udp(query("www.other")).rcode() == dns.rcode.SERVFAIL
        other.chmod(0o644)
        server.reload()
        assert world.udp(query("www.other")).rcode() == dns.rcode.NOERROR
    hidden = world.folder / "hidden"
    hidden.mkdir(mode=0o700)
    for section, key in (
        ({"server": {"control": str(hidden / "control.sock")}}, "server.control"),
        ({"cookies": {"secret-file": str(hidden / "secret")}}, "cookies.secret-file"),
    ):
        told = _failed(world, world.dnsd(**section))
        assert key in told and str(hidden) in told and "Permission denied" in told, told


def test_not_root(world: World) -> None:
    """Who is not root cannot have port 53: the message says so."""
    server = world.dnsd()
    command = ["setpriv", "--reuid", dnsd.USER, "--clear-groups", "--bounding-set=-all"]
    done = world.server.run([*command, dns_room.program("vmmnet-dnsd"), server.file], check=False)
    assert done.returncode == 1
    assert "server.listen: cannot listen at" in done.stderr and "Permission denied" in done.stderr


def test_zones_come_and_go(world: World) -> None:
    """A reload takes new zones, lets others go, and tells apart a file that is another zone's."""
    image = dns_room.compile_zone("new", ZONE.format(serial=7), world.folder / "new.vzi")
    zones = [{"name": "example", "image": str(world.folder / "example.vzi")}]
    with world.dnsd() as server:
        server.configure({"zones": [*zones, {"name": "new", "image": str(image)}]})
        assert "2 zones" in server.reload()
        assert world.udp(query("www.new")).answer
        server.configure({"zones": [{"name": "new", "image": str(image)}]})
        server.reload()
        assert world.udp(query()).rcode() == dns.rcode.REFUSED
        server.configure({"zones": [{"name": "example", "image": str(image)}]})
        with pytest.raises(Refused):
            server.reload()
        assert "has the zone 'new'" in server.log.read_text()
        assert world.udp(query()).rcode() == dns.rcode.SERVFAIL


def test_reload_of_one_zone(world: World) -> None:
    """It opens the image again; the configuration and other zones stay as they are."""

    def serial(name: str) -> int:
        return int(world.udp(query(name, "SOA")).answer[0][0].serial)

    image = dns_room.compile_zone("new", ZONE.format(serial=7), world.folder / "new.vzi")
    zones = [{"name": "example", "image": str(world.folder / "example.vzi")}]
    with world.dnsd() as server:
        server.configure({"zones": [*zones, {"name": "new", "image": str(image)}]})
        server.reload()
        world.image(2)
        dns_room.compile_zone("new", ZONE.format(serial=8), image)
        server.configure({"zones": []})
        assert server.ask("reload Example.") == "Example.: serial 2\n"
        assert (serial("example"), serial("new")) == (2, 7)
        image.write_bytes(b"no image")
        with pytest.raises(Refused, match=r"new\.vzi' cannot be used; the log says why"):
            server.ask("reload new")
        assert (serial("example"), serial("new")) == (2, 7)
        assert server.metric('reloads_total{result="failed"}') == 1
        for request in ("reload other", "notify other"):
            with pytest.raises(Refused, match="'other' is no zone here"):
                server.ask(request)
        with pytest.raises(Refused, match="example: it has no 'notify' in "):
            server.ask("notify example")


def test_no_server(world: World) -> None:
    """Commands to a server that does not run say that, and where they looked."""
    control = world.folder / "none.sock"
    for words in (
        ["show"],
        ["reload"],
        ["metrics"],
        ["refresh", "example"],
        ["retransfer", "example"],
        ["notify", "example"],
        ["reload", "example"],
    ):
        command: list[str | Path] = [dns_room.program("vmmnet-dnsd"), *words, "--control", control]
        done = subprocess.run(command, capture_output=True, text=True, timeout=wait.PATIENCE)
        assert done.returncode == 1 and str(control) in done.stderr, done


def test_too_few_descriptors(world: World) -> None:
    """A server that could not keep its promise of connections does not start."""
    server = world.dnsd()
    limited = ["prlimit", "--nofile=64:64", "setpriv", "--bounding-set=-sys_resource"]
    limited += ["--inh-caps=-sys_resource"]
    done = world.server.run([*limited, dns_room.program("vmmnet-dnsd"), server.file], check=False)
    assert done.returncode == 1
    assert "descriptors are needed" in done.stderr and "tcp.connections" in done.stderr


def test_too_few_mappings(world: World) -> None:
    """Beyond vm.max_map_count zones are SERVFAIL, and the others are served."""
    few = ["env", f"LD_PRELOAD={programs.built('libdnsd-few-mappings.so')}"]
    few.append(f"MAPPINGS_LEFT={SPARE + MANY // 2}")
    limit = Path("/proc/sys/vm/max_map_count").read_text().strip()
    (world.folder / "ddns.key").write_text(f"{SECRET}\n")
    keys = [{"name": KEY, "secret-file": str(world.folder / "ddns.key")}]
    names = [f"z{number}" for number in range(MANY)]
    zones = [{"name": name, "image": str(world.image(1, name))} for name in names]
    server = Dnsd(world.server, world.folder, {"keys": keys, "zones": zones})
    server.configure({"server": {"threads": 2}, "keys": keys, "zones": zones})
    try:
        server.start(few)

        def serials() -> list[str]:
            replies = [world.udp(query(f"serial.{name}", "TXT")) for name in names]
            return [one.answer[0][0].to_text() if one.answer else "" for one in replies]

        before = serials()
        served = before.count('"1"')
        assert 0 < served < MANY and before.count("") == MANY - served
        log = server.log.read_text()
        assert log.count(f"of which vm.max_map_count allows {limit}: raise it") == MANY - served
        assert f"{MANY - served} of {MANY} zones cannot be served" in log
        with world.connect() as connection:
            connection.sendall(framed(query("www.z0")))
            assert read(connection).answer
        # The threads have what they need: their part is left to images.
        server.reload()
        assert serials() == ['"1"'] * MANY
    finally:
        server.stop()


def test_end(world: World) -> None:
    """SIGTERM ends it with 0, whatever connections there are; the next one serves at once."""
    with world.dnsd() as server, world.connect() as connection:
        connection.sendall(framed(query()))
        read(connection)
        child = server.child
        assert child is not None
        child.terminate()
        assert child.wait(wait.PATIENCE) == 0
        server.start()
        assert world.udp(query()).answer
