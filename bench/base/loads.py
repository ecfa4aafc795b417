# SPDX-License-Identifier: GPL-2.0-or-later
"""Measurements on a path: load generators and their values.

A measurement runs once for every path in every round; each starts a server
of its own, so that none inherits the state of another.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

from lab.base import paths as tree
from lab.base import tools, wait

from . import measure
from .paths import Path

_IPERF_PORT, _PINGPONG_PORT = 5201, 5202
# Seconds that a client may take beyond the measured time: start, names, report.
_SLACK = 30.0
UDP_PAYLOAD = 1400
THREADS = 16

Values = dict[str, float]

#: The load of round trips.
LATENCY = "latency"


class LoadError(RuntimeError):
    """A load generator ended without a usable result."""


@dataclass(frozen=True)
class Metric:
    """A measured number of a path: its unit, and whether more or less is better.

    ``compared`` is False for a number that only explains another one, and whose ratio to a peer's
    has no meaning.
    """

    name: str
    unit: str
    higher_is_better: bool
    title: str
    compared: bool = True


@dataclass(frozen=True)
class Load:
    """One run of a generator, and the metrics that come out of it."""

    name: str
    metrics: tuple[Metric, ...]
    measure: Callable[[Path, int], Values]


def build_pingpong(folder: File) -> File:
    """Compile the latency and connection client; static, for any guest."""
    product = folder / "pingpong"
    source = tree.ROOT / "bench" / "base" / "pingpong.c"
    warnings = ["-Wall", "-Wextra", "-Werror"]
    options = ["-std=gnu11", "-O2", "-static", "-pthread", *warnings]
    tools.run(["gcc", *options, "-o", product, source])
    return product


@contextlib.contextmanager
def _serving(path: Path, command: Sequence[str], port: int) -> Iterator[None]:
    with tempfile.TemporaryFile() as out:
        with path.server.started(command, stdout=out, stderr=out) as child:
            try:
                wait.listening(child.pid, port)
            except (RuntimeError, TimeoutError) as error:
                out.seek(0)
                text = out.read().decode(errors="replace")
                raise LoadError(f"{command[0]}: {error}\n{text}") from error
            yield


def _client(path: Path, command: Sequence[str], seconds: int) -> dict[str, Any]:
    """Run a client that prints JSON."""
    text = path.run(command, timeout=seconds + _SLACK)
    try:
        result: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise LoadError(f"{' '.join(command)}: no JSON: {text[-500:]}") from error
    return result


def _iperf(path: Path, seconds: int, *options: str) -> tuple[dict[str, Any], measure.Cost]:
    server = ["iperf3", "-s", "-B", path.listen, "-p", str(_IPERF_PORT)]
    client = ["iperf3", "-J", "-c", path.target, "-p", str(_IPERF_PORT), "-t", str(seconds)]
    with _serving(path, server, _IPERF_PORT), measure.cost() as cost:
        result = _client(path, [*client, *options], seconds)
    if "error" in result:
        raise LoadError(f"iperf3: {result['error']}")
    end: dict[str, Any] = result["end"]
    if not end["sum_received"]["bytes"]:
        raise LoadError("iperf3: nothing arrived")
    return end, cost


def _stream(direction: str, size: str, label: str) -> Load:
    """TCP for a fixed time with writes of one size, and the cost of a GB.

    The cost contains the client's start, about 0.1 s in each guest.
    """
    options = ["-l", size, *(["-R"] if direction == "receive" else [])]
    what = f"{direction}-{label}"

    def run(path: Path, seconds: int) -> Values:
        end, cost = _iperf(path, seconds, *options)
        received = end["sum_received"]
        return {
            f"throughput-{what}": received["bits_per_second"] / 1e6,
            f"cpu-{what}": cost.ours / (received["bytes"] / 1e9),
            "others": cost.others,
        }

    writes = f"TCP {direction}, {label} writes"
    return Load(
        what,
        (
            Metric(f"throughput-{what}", "Mbit/s", True, writes),
            Metric(f"cpu-{what}", "CPU s/GB", False, f"Host CPU, {writes}"),
        ),
        run,
    )


def _datagrams(path: Path, seconds: int) -> Values:
    # -b 0: as fast as the sender can; what counts is what arrives.
    end, cost = _iperf(path, seconds, "-u", "-b", "0", "-l", str(UDP_PAYLOAD))
    return {
        f"throughput-udp-{UDP_PAYLOAD}B": end["sum_received"]["bits_per_second"] / 1e6,
        f"throughput-udp-{UDP_PAYLOAD}B-lost": end["sum"]["lost_percent"],
        "others": cost.others,
    }


def _pingpong(path: Path, seconds: int, mode: str, *more: str) -> tuple[dict[str, Any], Values]:
    port = str(_PINGPONG_PORT)
    server = [str(path.program), "server", path.listen, port]
    with _serving(path, server, _PINGPONG_PORT):
        client = [path.pingpong, mode, path.address(), port, str(seconds), *more]
        with measure.cost() as cost:
            result = _client(path, client, seconds)
    return result, {"others": cost.others}


def _latency(path: Path, seconds: int) -> Values:
    result, values = _pingpong(path, seconds, "latency")
    names = ("mean", "p50", "p99")
    return {**values, **{f"latency-{name}": result[f"{name}_us"] for name in names}}


def _connections(threads: int, name: str) -> Callable[[Path, int], Values]:
    def run(path: Path, seconds: int) -> Values:
        result, values = _pingpong(path, seconds, "connect", str(threads))
        if result["failed"]:
            raise LoadError(
                f"{result['failed']} of {result['failed'] + result['connections']} "
                f"connections failed: {result['error']}"
            )
        return {**values, name: result["connections"] / result["seconds"]}

    return run


def _connection_load(threads: int, word: str) -> Load:
    name = f"connections-{word}"
    title = f"TCP connections, {threads} at a time"
    metric = Metric(name, "1/s", True, title)
    return Load(name, (metric,), _connections(threads, name))


_ALL = (
    _stream("send", "1M", "1MiB"),
    _stream("receive", "1M", "1MiB"),
    _stream("send", "128K", "128KiB"),
    _stream("receive", "128K", "128KiB"),
    Load(
        "udp",
        (
            Metric(f"throughput-udp-{UDP_PAYLOAD}B", "Mbit/s", True, "UDP send, 1400 B, arrived"),
            Metric(
                f"throughput-udp-{UDP_PAYLOAD}B-lost",
                "%",
                False,
                "UDP send, 1400 B, lost",
                compared=False,
            ),
        ),
        _datagrams,
    ),
    Load(
        LATENCY,
        (
            Metric("latency-mean", "us", False, "TCP round trip of 1 byte, mean", compared=False),
            Metric("latency-p50", "us", False, "TCP round trip of 1 byte, median"),
            Metric("latency-p99", "us", False, "TCP round trip of 1 byte, 99th percentile"),
        ),
        _latency,
    ),
    _connection_load(1, "sequential"),
    _connection_load(THREADS, f"{THREADS}-threads"),
)

LOADS: Mapping[str, Load] = {load.name: load for load in _ALL}
METRICS: Mapping[str, Metric] = {m.name: m for load in _ALL for m in load.metrics}


def measure_small(load: Load, path: Path, seconds: int) -> Values:
    """Measure with small noise: round trips run on one processor."""
    with contextlib.ExitStack() as stack:
        if load.name == LATENCY:
            pids = [path.guest.pid] if path.guest else []
            stack.enter_context(measure.one_processor(*pids))
        return load.measure(path, seconds)
