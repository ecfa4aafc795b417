#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Fuzz outsourced sockets from inside a guest.

  differ   random sequences of calls, on outsourced sockets and on native ones
           of the same guest in lock step: what a program sees must be the same
  storm    random calls from many threads; afterwards the guest's kernel has not complained, nothing
           has leaked, and the device still works

The peers of the outsourced sockets are beyond the host and speak IPv6; those
of the native ones are in another network namespace of the guest.  The guest's
kernel looks for faults of its own as far as it can, and stops at the first.

  run.py --seconds 1800                      the long run
  run.py --mode differ --seed S --count 1    what a difference's seed stood for
  run.py --mode differ --replay FILE         a sequence that was printed

Sequences are determined by the seed; --steps is their length.  Differences go
to build/logs/guest-fuzz as files for --replay; what was found and mended is in
mended.txt, with which each run begins.  The last lines are TAP.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "control"))

from lab.base import net, paths, process, tools, wait
from lab.base.net import Namespace, Network
from lab.guest.agent import ChannelClosed
from lab.guest.guest import MODULE_PATH, Guest
from lab.packages import kernel
from lab.peers import servers as peers

_FOLDER = Path(__file__).parent
_LOGS = paths.LOGS / "guest-fuzz"
_PROGRAM = "/usr/sbin/guest-fuzz"
_KNOWN = "/usr/lib/vmmnet/known"
_FIRST = "/usr/lib/vmmnet/first"
_REPLAY = "/usr/lib/vmmnet/replay"
_PORT = "vmmnet.fuzz"

_HOST6 = "2001:db8:1::1"
_VM6 = "2001:db8:1::c0de"
_PEER6 = ("2001:db8:1::2", "2001:db8:1::3")
_DNS6 = "2001:db8:1::53"
_VM4 = "192.0.0.2"
_NAMES = ("peer.test", "peer2.test")

# A guest's kernel that stops at the first fault it finds. Debian's has no KASAN and no lockdep;
# 6.12 has KFENCE. On a busy machine a virtual CPU may pause for a while, hence the patience;
# self-tests of the kernel may then fail, so warnings count from the end of its boot.
_DEBUG = (
    "slub_debug=FZPU init_on_free=1 kfence.sample_interval=20"
    " sysctl.kernel.panic_on_warn=1 oops=panic softlockup_panic=1 watchdog_thresh=40"
    " sysctl.kernel.hung_task_panic=1 sysctl.kernel.hung_task_timeout_secs=90"
)

# Seconds for events that take one second on an idle machine.
_PATIENCE = 300.0

# Small buffers, so that to fill them does not take long; no limit on ICMP
# errors, or the second one would be missing.
_SMALL = {
    "net.ipv4.tcp_rmem": "4096 65536 65536",
    "net.ipv4.tcp_wmem": "4096 65536 65536",
}
_SYSCTL4 = {**_SMALL, "net.ipv4.icmp_ratelimit": "0", "net.ipv4.icmp_ratemask": "0"}
_SYSCTL6 = {**_SMALL, "net.ipv6.icmp.ratelimit": "0", "net.ipv6.icmp.ratemask": ""}

# The native world, with the addresses of the other one, twice: near and far, where peers have
# IPv4 addresses, and near6 and far6, where they have IPv6's.  MTU: the host's veth has 1500, of
# which IPv6 takes 20 bytes more than IPv4.
# The interface has our device's name, as calls use it. The metric keeps the multicast route apart:
# with a next hop in common, Linux takes a peer for a group.
# Other namespaces have no part of the module, so that these sockets are Linux's own.
_NATIVE = """
set -e
echo off > /sys/module/vmrpc/parameters/namespaces
lladdr() {{ ip -n $1 -o link show vmrpc0 | sed 's/.*ether \\([^ ]*\\).*/\\1/'; }}
pair() {{
    ip netns add $1
    ip netns add $2
    ip -n $1 link add vmrpc0 type veth peer name vmrpc0 netns $2
    for space in $1 $2; do
        ip -n $space link set lo up
        ip -n $space link set vmrpc0 mtu $3 up
    done
    ip -n $1 address add {me}/29 dev vmrpc0
    ip -n $1 -6 address add {me6}/128 dev vmrpc0 nodad
    ip -n $1 route add 255.255.255.255/32 dev vmrpc0 src {me}
    ip -n $1 route add 224.0.0.0/4 dev vmrpc0 src {me} metric 9
    ip -n $1 route add unreachable 198.18.0.0/15
    for each in {peer} {peer2}; do
        ip -n $2 address add $each/32 dev vmrpc0
        ip -n $1 route add $each/32 dev vmrpc0 src {me}
        ip -n $1 neighbour add $each lladdr $(lladdr $2) dev vmrpc0 nud permanent
    done
    for each in {peer6} {peer26}; do
        ip -n $2 -6 address add $each/128 dev vmrpc0 nodad
        ip -n $1 -6 route add $each/128 dev vmrpc0 src {me6}
        ip -n $1 neighbour add $each lladdr $(lladdr $2) dev vmrpc0 nud permanent
    done
    ip -n $2 route add {me}/32 dev vmrpc0 src {peer}
    ip -n $2 -6 route add {me6}/128 dev vmrpc0 src {peer6}
    for each in {me} {me6}; do
        ip -n $2 neighbour add $each lladdr $(lladdr $1) dev vmrpc0 nud permanent
    done
}}
pair near far 1480
pair near6 far6 1500
"""


@dataclass(frozen=True)
class Finding:
    """A test that failed, and all that is known about it."""

    title: str
    text: str


@dataclass(frozen=True)
class World:
    """A network for VMs, and the compiled fuzzer."""

    host: Namespace
    peer: Namespace
    program: Path
    channel: Path


def _compile(folder: Path) -> Path:
    """Compile the program, statically: it runs in the guest and outside."""
    tools.require("gcc")
    program = folder / "guest-fuzz"
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-static", "-pthread"]
    flags += ["-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]
    tools.run(["gcc", *flags, "-o", program, *sorted(_FOLDER.glob("*.c"))])
    return program


@contextlib.contextmanager
def _world() -> Iterator[World]:
    """Make the network and the outer peer."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vmmnet-fuzz-")))
        program = _compile(folder)
        network = stack.enter_context(Network())
        host, peer = network.namespace("host"), network.namespace("peer")
        network.connect(
            host,
            peer,
            [f"{_HOST6}/64", f"{_VM6}/128"],
            [f"{_PEER6[0]}/64", f"{_PEER6[1]}/128", f"{_DNS6}/128"],
        )
        for space in (host, peer):
            space.sysctl(_SYSCTL6)
        records = [
            f"{name}. 60 IN AAAA {address}" for name, address in zip(_NAMES, _PEER6, strict=True)
        ]
        stack.enter_context(peers.dns(peer, records, _DNS6))
        channel = folder / "channel"
        stack.enter_context(peer.started([program, "peer", *_PEER6, _VM6, channel]))
        wait.until(channel.exists, "the outer peer")
        yield World(host, peer, program, channel)


def _guest(world: World, series: str, files: dict[str, bytes | Path]) -> Guest:
    """Start a guest whose kernel detects faults, with a channel to the outer peer."""
    return Guest(
        name=f"fuzz-{series}",
        netns=world.host,
        kernel=series,
        module=True,
        append=_DEBUG,
        memory="768M",
        boot_timeout=_PATIENCE,
        devices=[f"virtio-vmrpc-pci,id=vmrpc0,address6={_VM6},dns={_DNS6}"],
        arguments=[
            *("-chardev", f"socket,id=fuzz,path={world.channel}"),
            *("-device", f"virtserialport,bus=agentbus.0,chardev=fuzz,name={_PORT}"),
        ],
        files={_PROGRAM: world.program, **files},
    )


def _addresses(guest: Guest) -> list[str]:
    """The virtual addresses of the outer peer."""
    found = [guest.run(["getent", "ahostsv4", name]).stdout.split()[0] for name in _NAMES]
    guest.run(["sysctl", "-qw", *(f"{key}={value}" for key, value in _SYSCTL4.items())])
    return found


def _port(guest: Guest) -> str:
    """The device file of the channel to the outer peer."""
    script = f"cd /sys/class/virtio-ports && grep -l -x {_PORT} */name"
    return f"/dev/{guest.run(script).stdout.split('/')[0]}"


def _make_native_world(guest: Guest, addresses: Sequence[str]) -> None:
    script = _NATIVE.format(
        me=_VM4,
        peer=addresses[0],
        peer2=addresses[1],
        me6=_VM6,
        peer6=_PEER6[0],
        peer26=_PEER6[1],
    )
    guest.run(script, timeout=_PATIENCE)
    for space in ("near", "far", "near6", "far6"):
        settings = [f"{key}={value}" for key, value in (_SYSCTL4 | _SYSCTL6).items()]
        guest.run(["ip", "netns", "exec", space, "sysctl", "-qw", *settings])


def _known() -> bytes:
    """The patterns of known differences, without their reasons."""
    text = (_FOLDER / "known.txt").read_text()
    patterns = [line for line in text.splitlines() if line and line[0] not in "# "]
    return "".join(f"{pattern}\n" for pattern in patterns).encode()


def _differ_words(guest: Guest, options: argparse.Namespace) -> list[str]:
    addresses = _addresses(guest)
    _make_native_world(guest, addresses)
    words = [_PROGRAM, "differ", "--native-netns=/run/netns/near", "--peer-netns=/run/netns/far"]
    words += [f"--port={_port(guest)}", f"--me={_VM4}", f"--known={_KNOWN}"]
    words += [f"--peer={addresses[0]}", f"--peer2={addresses[1]}", f"--me6={_VM6}"]
    words += [f"--peer6={_PEER6[0]}", f"--peer26={_PEER6[1]}"]
    words += [f"--seed={options.seed}", f"--steps={options.steps}", f"--count={options.count}"]
    words += [f"--seconds={options.seconds}"]
    words += [f"--replay={_REPLAY}"] if options.replay else [f"--first={_FIRST}"]
    return words


_DIFFERENCE = re.compile(r"^=== difference: (.*?)\n(.*?)^=== end\n", re.MULTILINE | re.DOTALL)


# The position of a hanging sequence's threads, printed before the sequence.
_STACKS = re.compile(r"^a sequence does not end.*?(?=^=== )", re.MULTILINE | re.DOTALL)


def _differences(output: str, series: str) -> list[Finding]:
    """Return the program's findings; each is also kept as a file."""
    found = [
        Finding(f"{series}: stacks", stacks) for stacks in dict.fromkeys(_STACKS.findall(output))
    ]
    for title, text in _DIFFERENCE.findall(output):
        name = re.sub(r"[^A-Za-z0-9]+", "-", title).strip("-")[:80]
        file = _LOGS / f"{series}-{name}.txt"
        file.write_text(f"# {title}\n{text}")
        found.append(Finding(f"{series}: {title}", f"{text}kept in {file}\n"))
    return found


def _watched(guest: Guest, words: Sequence[str], timeout: float) -> tuple[int, str]:
    """Run the program; its output so far is kept if the guest fails."""
    job = guest.spawn(words)
    job.close_input()
    try:
        result = job.wait(timeout)
    except (ChannelClosed, TimeoutError) as error:
        said = job.output()
        return -1, f"{said.stdout}{said.stderr}\n{error}\n"
    return result.rc, result.stdout + result.stderr


def differ(world: World, series: str, options: argparse.Namespace) -> list[Finding]:
    """Compare with native sockets."""
    files: dict[str, bytes | Path] = {_KNOWN: _known(), _FIRST: _FOLDER / "mended.txt"}
    if options.replay:
        files[_REPLAY] = options.replay
    with _guest(world, series, files) as guest:
        words = _differ_words(guest, options)
        status, output = _watched(guest, words, options.seconds + 1200)
        found = _differences(output, series)
        print("".join(f"# {line}\n" for line in output.splitlines() if "summary:" in line), end="")
        if status not in (0, 1):
            found.append(Finding(f"{series}: differ ended with {status}", output[-4000:]))
        elif guest_fault := _unload(guest):
            found.append(Finding(f"{series}: {guest_fault}", ""))
    return found


def _unload(guest: Guest) -> str | None:
    """Unload the module, which fails if a socket is still in use."""
    deadline = time.monotonic() + 20
    while True:
        done = guest.run(["rmmod", "vmrpc"], check=False, timeout=60)
        if not done.rc:
            return None
        if time.monotonic() > deadline:
            return f"the module cannot be unloaded: {done.stderr.strip()}"
        time.sleep(0.5)


def _aftermath(guest: Guest) -> Iterator[str]:
    """Yield faults after the storm."""
    fault = _unload(guest)
    if fault:
        yield fault
        return
    counters = guest.vmrpc_counters()
    print("# " + ", ".join(f"{key} {value}" for key, value in sorted(counters.items()) if value))
    if counters["sockets_opened"] != counters["sockets_closed"]:
        yield (
            f"of {counters['sockets_opened']} host sockets"
            f" {counters['sockets_closed']} have been closed"
        )
    if counters["requests_malformed"]:
        yield f"the device got {counters['requests_malformed']} malformed requests"
    if not counters["requests"]:
        yield "the storm made no request"
    guest.run(["insmod", MODULE_PATH])
    _addresses(guest)


def storm(world: World, series: str, options: argparse.Namespace) -> list[Finding]:
    """Make random calls, then check the remains."""
    with contextlib.ExitStack() as stack:
        command: list[str | Path] = [world.program, "peer-storm", *_PEER6, _VM6]
        stack.enter_context(
            world.peer.started([*command, str(options.seed)], stderr=subprocess.DEVNULL)
        )
        guest = stack.enter_context(_guest(world, series, {}))
        words = [_PROGRAM, "storm", f"--peer={_addresses(guest)[0]}", f"--peer2={_PEER6[0]}"]
        words += [f"--seed={options.seed}", f"--seconds={options.seconds}"]
        status, output = _watched(guest, words, options.seconds + 300)
        print("".join(f"# {line}\n" for line in output.splitlines() if "summary:" in line), end="")
        if status:
            return [Finding(f"{series}: storm ended with {status}", output[-4000:])]
        return [Finding(f"{series}: {fault}", "") for fault in _aftermath(guest)]


Mode = Callable[[World, str, argparse.Namespace], list[Finding]]
_MODES: dict[str, Mode] = {"differ": differ, "storm": storm}


def _run(mode: str, series: str, options: argparse.Namespace) -> list[Finding]:
    """Run one mode; a guest that fails in the middle is a finding too."""
    try:
        with _world() as world:
            return _MODES[mode](world, series, options)
    except (AssertionError, RuntimeError, TimeoutError) as error:
        return [Finding(f"{series}: {type(error).__name__}", str(error))]


def _print_tap(number: int, name: str, found: Sequence[Finding]) -> None:
    for finding in found:
        print(f"# {finding.title}")
        print("".join(f"#     {line}\n" for line in finding.text.splitlines()), end="")
    print(f"{'not ok' if found else 'ok'} {number} - {name}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mode", choices=[*_MODES, "both"], default="both")
    parser.add_argument("--kernel", choices=kernel.ORIGINS, action="append", dest="kernels")
    parser.add_argument("--seconds", type=int, default=60, help="of each mode and kernel")
    parser.add_argument("--seed", type=lambda text: int(text, 0), default=1)
    parser.add_argument("--steps", type=int, default=24, help="of a sequence")
    parser.add_argument("--count", type=int, default=0, help="sequences; 0: as time allows")
    parser.add_argument("--replay", type=Path, help="sequences as text")
    return parser.parse_args()


def main() -> int:
    """Run what the command line asks for."""
    options = _arguments()
    process.unwind_on_signals()
    net.reap_stale()
    _LOGS.mkdir(parents=True, exist_ok=True)
    modes = list(_MODES) if options.mode == "both" else [options.mode]
    runs = [(mode, series) for series in options.kernels or kernel.SERIES for mode in modes]
    print(f"1..{len(runs)}")
    failed = False
    for number, (mode, series) in enumerate(runs, 1):
        found = _run(mode, series, options)
        failed |= bool(found)
        _print_tap(number, f"{mode} {series}, seed {options.seed}", found)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
