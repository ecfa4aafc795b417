# SPDX-License-Identifier: GPL-2.0-or-later
"""Simulated agents that only watch etcd, as many as fit into a process.

    python3 -m bench.agents URL HOSTS FIRST COUNT SECONDS

One agent simulates one host. The hosts are COUNT hosts without a real agent, beginning with number
FIRST. Each agent has a connection to etcd with all watches of that host's agent, and reads the
events. When all agents watch, or after SECONDS, the program prints how many do. For each line of
its standard input it prints how many events have come.
"""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import replace

from lab.base import wait
from vmmnet.etcd.client import Client, Watch, Watched
from vmmnet.etcd.errors import EtcdError
from vmmnet.etcd.place import parse_url
from vmmnet.hostvlan.etcd.keys import ASSIGNED, Keys, Kind, Topic
from vmmnet.hostvlan.table.lnid import GLOBAL

from .datacentre import Datacentre

# For each thread, as each parses lines.
_STACK = 256 << 10


class Events:
    """Numbers of events, by thread, and of agents that have lost their watch."""

    def __init__(self) -> None:
        self._counts: list[list[int]] = []
        self.lost = 0

    def follow(self, watch: Watch, topics: int, created: threading.Semaphore) -> None:
        """Read a watch to its end; report when all topics are watched or the watch has failed."""
        count = [0]
        self._counts.append(count)
        try:
            for told in watch:
                topics -= told.created
                if told.created and not topics:
                    created.release()
                count[0] += len(told.events)
        except EtcdError as error:
            print(error, file=sys.stderr)
            self.lost += 1
            if topics:
                created.release()

    @property
    def total(self) -> int:
        """Number of all events."""
        return sum(count for (count,) in self._counts)


def topics(datacentre: Datacentre, host: int) -> list[Topic]:
    """Return the topics that the agent of a host watches."""
    vms = datacentre.vms_of(host)
    lnids = sorted({GLOBAL, *map(datacentre.lnid_of, vms)})
    return [
        ASSIGNED,
        *(Topic(Kind.LNID, lnid) for lnid in lnids),
        *(Topic(Kind.MAC, datacentre.mac_of(vm)) for vm in vms),
    ]


def main() -> None:
    """Entry point."""
    url, hosts, first, count, seconds = sys.argv[1], *map(int, sys.argv[2:6])
    datacentre, events = Datacentre(hosts), Events()
    config = replace(parse_url(url), timeout=wait.PATIENCE)
    keys, client, created = Keys(config.prefix), Client(config), threading.Semaphore(0)
    start = client.look(keys.format)[0] + 1
    deadline = time.monotonic() + seconds
    threading.stack_size(_STACK)
    reached = 0
    for host in datacentre.others[first : first + count]:
        if time.monotonic() > deadline:
            break
        wanted = topics(datacentre, host)
        name = datacentre.name_of(host)
        watch = client.watch([Watched(keys.topic(name, topic), start) for topic in wanted])
        threading.Thread(
            target=events.follow, args=(watch, len(wanted), created), daemon=True
        ).start()
        reached += 1
    for _ in range(reached):
        created.acquire()
    print(reached - events.lost, flush=True)
    for _ in sys.stdin:
        print(events.total, flush=True)


if __name__ == "__main__":
    main()
