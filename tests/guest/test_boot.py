# SPDX-License-Identifier: GPL-2.0-or-later
"""The test bed itself: guests boot, obey, complain, move and go away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import net, paths, process, wait
from lab.guest.agent import ChannelClosed, CommandError
from lab.guest.console import KernelComplaint, complaints
from lab.guest.guest import Guest
from lab.guest.migration import migrated
from lab.guest.qemu import QemuFailed
from lab.packages import kernel
from lab.peers import servers as peers


@pytest.fixture(scope="module", params=kernel.SERIES)
def guest(request: pytest.FixtureRequest) -> Iterator[Guest]:
    """One guest of each kernel for the tests that leave it as it was."""
    with Guest(kernel=request.param) as guest:
        yield guest


def test_smoke(guest: Guest) -> None:
    """The kernel that was asked for runs, with loopback and without a NIC."""
    release = guest.run("uname -r").stdout.strip()
    assert release == kernel.get(guest.config.kernel).release
    links = guest.run("ip -o link").stdout.splitlines()
    assert len(links) == 1
    assert "lo:" in links[0] and "UP" in links[0]
    assert guest.run("cat /etc/resolv.conf").stdout == "nameserver 192.0.0.1\n"
    # dnsmasq takes a file of 1970 for one that is not there.
    assert int(guest.run("stat -c %Y /etc/resolv.conf").stdout) > 1_700_000_000


def test_result_has_status_and_both_streams(guest: Guest) -> None:
    result = guest.run("echo out; echo err >&2; exit 3", check=False)
    assert (result.rc, result.stdout, result.stderr) == (3, "out\n", "err\n")
    assert guest.run("kill -9 $$", check=False).rc == -signal.SIGKILL
    assert guest.run(["no-such-program"], check=False).rc == 127
    with pytest.raises(CommandError, match="oh no"):
        guest.run("echo oh no >&2; false")


def test_timeout_ends_the_command(guest: Guest) -> None:
    with pytest.raises(TimeoutError, match="sleep 1234"):
        guest.run("sleep 1234", timeout=0.3)
    guest.wait_for("! pgrep -x sleep")


def test_commands_run_at_the_same_time(guest: Guest) -> None:
    """Jobs do not wait for each other, and each gets its own output."""
    cats = [guest.spawn("cat") for _ in range(8)]
    for number, cat in enumerate(cats):
        cat.write(f"line {number}\n".encode())
    for number, cat in enumerate(cats):
        cat.wait_output(f"^line {number}$")
        assert cat.running
    for number, cat in enumerate(cats):
        cat.close_input()
        assert cat.wait().stdout == f"line {number}\n"


def test_files_go_in_and_come_out(guest: Guest) -> None:
    data = os.urandom(300_001)
    guest.put(data, "/tmp/new folder/file", mode=0o750)
    assert guest.get("/tmp/new folder/file") == data
    assert guest.run("stat -c %a '/tmp/new folder/file'").stdout == "750\n"


def test_modules_of_the_kernel_load(guest: Guest) -> None:
    guest.run("modprobe dummy && lsmod | grep -q ^dummy && rmmod dummy")


_ABORTS = """\
#!/usr/bin/python3
import socket, sys
path = sys.argv[sys.argv.index("-qmp") + 1].removeprefix("unix:").partition(",")[0]
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(path)
    listener.listen()
    listener.accept()[0].close()
sys.exit("kvm_buf_set_msrs: Assertion failed.")
"""


def test_a_qemu_that_aborts_is_quoted(tmp_path: Path) -> None:
    """As one does whose KVM cannot run the guest: after the monitor's socket is made."""
    program = tmp_path / "qemu"
    program.write_text(_ABORTS)
    program.chmod(0o755)
    with pytest.raises(QemuFailed, match="ended with 1:\nkvm_buf_set_msrs: Assertion failed"):
        Guest(qemu=program).__enter__()


def test_qmp(guest: Guest) -> None:
    assert guest.qmp("query-status")["running"] is True


def test_boot_files_and_command_line() -> None:
    files = {"/etc/motd": b"hello\n", "/usr/bin/probe": Path("/bin/true")}
    with Guest(files=files, ipv6=False, resolver="192.0.0.2", append="quiet") as guest:
        assert guest.get("/etc/motd") == b"hello\n"
        assert guest.run("stat -c %a /usr/bin/probe").stdout == "755\n"
        assert guest.run("cat /etc/resolv.conf").stdout == "nameserver 192.0.0.2\n"
        assert not guest.run("ls /proc/sys/net").stdout.count("ipv6")


def test_kernel_complaint_fails() -> None:
    with pytest.raises(KernelComplaint, match="BUG"):
        with Guest() as guest:
            guest.run("echo '<2>BUG: unable to handle page fault' > /dev/kmsg")
            guest.run("echo '<2>WARNING: CPU: 0 PID: 1 at x.c:1' > /dev/kmsg")
    first, second = complaints(guest.console_path)
    assert "BUG: unable" in first and "WARNING: CPU: 0" in second


def test_failure_of_the_test_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        with Guest() as guest:
            guest.run("echo '<2>BUG: made up' > /dev/kmsg")
            raise ZeroDivisionError


def test_death_of_qemu_is_noticed() -> None:
    guest = Guest()
    with pytest.raises(ChannelClosed):
        with guest:
            job = guest.spawn("sleep 1000")
            os.kill(guest.pid, signal.SIGKILL)
            job.wait()


def test_network_and_peers(network: net.Network, tmp_path: Path) -> None:
    """Wires carry, can be cut and mended; the servers answer."""
    host, peer, switch = (network.namespace(name) for name in ("host", "peer", "switch"))
    bridge = switch.bridge()
    link = network.connect(host, bridge, ["2001:db8::1/64"])
    network.connect(peer, bridge, ["2001:db8::2/64"])
    (tmp_path / "page").write_text("hello\n")
    get = ["curl", "-gsS", "http://[2001:db8::2]/page"]
    with peers.web(peer, tmp_path, "2001:db8::2"):
        assert host.run(get).stdout == "hello\n"
        link.down()
        assert host.run([*get, "--connect-timeout", "1"], check=False).returncode != 0
        link.up()
        assert host.run(get).stdout == "hello\n"


def test_name_server(network: net.Network) -> None:
    host = network.namespace("host")
    host.ip("address", "add", "2001:db8::53/128", "dev", "lo", "nodad")
    records = ["six.test. 60 IN AAAA 2001:db8::6", "alias.test. 60 IN CNAME six.test."]

    def ask(name: str, kind: str) -> str:
        return host.run(["dig", "@2001:db8::53", name, kind]).stdout

    with peers.dns(host, records, "2001:db8::53"):
        assert "AAAA\t2001:db8::6" in ask("six.test", "AAAA")
        assert "AAAA\t2001:db8::6" in ask("alias.test", "AAAA")
        assert "NOERROR" in (answer := ask("six.test", "A")) and "ANSWER: 0" in answer
        assert "NXDOMAIN" in ask("none.test", "AAAA")


def test_migration_keeps_guest_and_jobs(network: net.Network) -> None:
    here, there = network.namespace("here"), network.namespace("there")
    with Guest(netns=here, name="traveller") as source:
        counter = source.spawn("i=0; while i=$((i + 1)); do echo $i; sleep 0.01; done")
        cat = source.spawn("cat")
        counter.wait_output("^10$")
        with migrated(source, netns=there.netns) as target:
            seen = int(counter.output().stdout.splitlines()[-1])
            counter.wait_output(f"^{seen + 20}$")
            cat.write(b"still here\n")
            cat.wait_output("still here")
            assert there.run(["cat", "/proc/self/net/dev"]).returncode == 0
            assert target.run("hostname").stdout == "traveller\n"
            counter.kill()
            numbers = [int(line) for line in counter.wait().stdout.splitlines()]
            assert numbers == list(range(1, len(numbers) + 1))


def test_destination_is_connected_before_its_guest_comes() -> None:
    """QEMU discards what a guest writes to a port without a host: jobs would lose their output."""
    with Guest(memory="128M").arriving() as target:
        ports = {each["label"]: each["filename"] for each in target.qmp("query-chardev")}
        assert not ports["agent"].startswith("disconnected:"), ports


_OWNER = """
import sys, time
from lab.base import net
from lab.guest.guest import Guest
with net.Network() as network:
    host = network.namespace("host")
    host.popen(["sleep", "1000"])
    with Guest(netns=host) as guest:
        guest.spawn("sleep 1000")
        print("ready", flush=True)
        time.sleep(1000)
"""


def _start_owner() -> tuple[subprocess.Popen[str], str]:
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER],
        env={**os.environ, "PYTHONPATH": paths.PYTHONPATH},
        stdout=subprocess.PIPE,
        text=True,
        # A background job starts with SIGINT ignored; a user's does not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == "ready\n"
    mark = f"{owner.pid}.{process.start_time(owner.pid)}"
    assert len(process.owned(mark)) == 2
    assert len(net.existing(owner.pid)) == 1
    return owner, mark


# What a vCPU reads of one device's memory while another vCPU takes a second
# device's memory off the map and puts it back.
_READ = """
import mmap, os
device = '/sys/bus/pci/devices/0000:00:11.0/'
command = os.open(device + 'config', os.O_RDWR)
os.pwrite(command, b'\\x02\\x00', 4)
memory = mmap.mmap(os.open(device + 'resource0', os.O_RDWR), 4096)
memory[0] = 0
right = memory[16]
print('reading', flush=True)
reads = wrong = 0
while not os.path.exists('/run/enough'):
    for _ in range(1000):
        wrong += memory[16] != right
    reads += 1000
print(right, reads, wrong)
"""
_CHANGE = """
import os, sys
command = os.open('/sys/bus/pci/devices/0000:00:10.0/config', os.O_RDWR)
for _ in range(4000):
    os.pwrite(command, b'\\x00\\x00', 4)
    os.pwrite(command, b'\\x02\\x00', 4)
"""


def test_devices_are_found_while_the_memory_map_changes() -> None:
    """The hook tcg-section-of-the-map; without it QEMU aborts, or reads what is elsewhere."""
    devices = [f"pci-testdev,addr={slot:#x}" for slot in (0x10, 0x11)]
    with Guest(devices=devices) as guest:
        reader = guest.spawn(["taskset", "1", "python3", "-c", _READ])
        reader.wait_output("reading")
        guest.run(["taskset", "2", "python3", "-c", _CHANGE])
        guest.run("touch /run/enough")
        right, reads, wrong = map(int, reader.wait(check=True).stdout.split()[1:])
    assert (chr(right), wrong) == ("m", 0), f"of {reads}"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_cleans_up(number: signal.Signals) -> None:
    owner, mark = _start_owner()
    owner.send_signal(number)
    owner.communicate(timeout=wait.PATIENCE)
    assert owner.returncode != 0
    wait.until(lambda: process.owned(mark) == [], "end of all that it started")
    assert net.existing(owner.pid) == []


def test_killed_run_is_reaped_by_the_next() -> None:
    owner, mark = _start_owner()
    owner.kill()
    # Its orphans keep the pipe open: wait for the process alone.
    owner.wait(timeout=wait.PATIENCE)
    net.reap_stale()
    wait.until(lambda: process.owned(mark) == [], "end of the orphans")
    assert net.existing(owner.pid) == []


def test_nothing_stays() -> None:
    before = set(process.owned())
    with net.Network() as network:
        with Guest(netns=network.namespace("host")) as guest:
            folder, pid = guest.folder, guest.pid
            assert pid in process.owned()
    wait.until(lambda: set(process.owned()) <= before, "end of all that was started")
    assert net.existing(os.getpid()) == []
    assert not folder.exists()
