# SPDX-License-Identifier: GPL-2.0-or-later
"""The program that changes the table in etcd without end, as fast as it can, until it is killed.

    python3 -m kills.writer URL SEED

Each line that it prints is the number of MACs that it has changed meanwhile.
"""

from __future__ import annotations

import random
import sys
import threading

from vmmnet.etcd.errors import StoreError
from vmmnet.etcd.place import parse_url
from vmmnet.hostvlan.etcd.store import EtcdStore
from vmmnet.hostvlan.table.entry import Entry

from .policy import a_change

# A batch of so many MACs at most.
_MANY = 24
# How long after a failure etcd is asked again, seconds.
_RETRY = 0.1


def write(store: EtcdStore, dice: random.Random) -> int:
    """Change some MACs at once; returns how many are other than before."""
    wanted = dict(a_change(dice) for _ in range(dice.choice((1, 1, _MANY))))

    def change(mac: int, before: Entry | None) -> Entry | None:
        return Entry.of(mac, wanted[mac]) if wanted[mac] else None

    done = store.edit(list(wanted), change)
    return sum(each.before != each.after for each in done)


def main() -> None:
    """Entry point."""
    dice, pause = random.Random(int(sys.argv[2])), threading.Event()
    with EtcdStore(parse_url(sys.argv[1])) as store:
        while True:
            try:
                print(write(store, dice), flush=True)
            except StoreError:
                pause.wait(_RETRY)


if __name__ == "__main__":
    main()
