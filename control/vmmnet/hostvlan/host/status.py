# SPDX-License-Identifier: GPL-2.0-or-later
"""What the agent shows of itself on this host: its control socket, systemd's line, the metrics."""

from __future__ import annotations

import time
from typing import Any

from vmmnet import metrics, service
from vmmnet.metrics import Metric
from vmmnet.values import mac as macs

from .follower import Follower
from .hooks import Hooks
from .link import Link
from .portmetrics import PortNumbers
from .reporter import Reporter
from .settings import Settings
from .writer import Writer

_PREFIX = "vmmnet_hostvlan_"


def _spell_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class Status:
    """The state of the agent's parts; it changes none of them."""

    def __init__(
        self,
        settings: Settings,
        link: Link,
        follower: Follower,
        writer: Writer,
        reporter: Reporter,
        hooks: Hooks,
    ) -> None:
        self._settings, self._link = settings, link
        self._follower, self._writer, self._reporter = follower, writer, reporter
        self._hooks = hooks
        self._ports = PortNumbers(settings.qmp)
        self._now: dict[str, Any] = {}

    def note(self) -> None:
        """Note the state for those who ask, and tell systemd if it has changed."""
        settings, link, mirror = self._settings, self._link, self._follower.mirror
        state = {
            "host": settings.host,
            "store": settings.store.name,
            "table": str(settings.table),
            "state": "following" if link.is_following else "store lost",
            "error": str(link.error) if link.error is not None else None,
            "refused": link.is_refused,
            "lost_at": None if link.is_following else _spell_time(link.lost_at),
            "revision": mirror.revision,
            "generation": self._writer.generation,
            "entries": len(self._writer.applied),
            "lnids": mirror.lnids,
            "ports": sorted(macs.text(mac) for mac in mirror.ports),
            "assigned": sorted(macs.text(mac) for mac in mirror.assigned),
            "unacknowledged": sorted(map(macs.text, self._reporter.unsent)),
            "table_written": not self._writer.is_behind,
            "interface_faults": self._hooks.faults,
        }
        if state != self._now:
            service.notify(
                f"STATUS={state['state']}: {len(self._writer.applied)} MACs of {mirror.lnids} LNIDs"
                f" as of revision {mirror.revision}"
            )
            self._now = state

    # These are called in other threads.

    def value(self) -> dict[str, Any]:
        """The state, for programs."""
        return self._now

    def show(self) -> str:
        """The same as lines."""
        now = self._now
        if not now:
            return "starting\n"
        lines = [
            f"{now['state']} {now['store']} as of revision {now['revision']}",
            f"table {now['table']}: {now['entries']} MACs of {now['lnids']} LNIDs",
            f"ports {', '.join(now['ports']) or 'none'}",
            *([f"error {now['error']}"] if now["error"] else []),
        ]
        return "".join(f"{line}\n" for line in lines)

    def metrics(self) -> str:
        """The numbers of the agent and of its host's ports, for Prometheus."""
        return metrics.text(_PREFIX, [*self.numbers(), *self._ports.read()])

    def numbers(self) -> list[Metric]:
        """Those of the agent."""
        link, follower, writer, reporter = self._link, self._follower, self._writer, self._reporter
        mirror = follower.mirror
        return [
            Metric(*each)
            for each in (
                ("store_up", "Whether all topics are watched.", int(link.is_following)),
                ("store_refused", "Whether etcd answers, and refuses us.", int(link.is_refused)),
                ("lag_seconds", "Since when the table may be older than the store.", link.lag),
                ("entries", "MACs in the table.", len(writer.applied)),
                ("generation", "Generation of the table.", writer.generation),
                ("revision", "Newest revision of the store in the table.", mirror.revision),
                ("store_revision", "Newest revision that was seen.", follower.store_revision),
                ("held_revision", "The table has all changes up to this one.", reporter.held),
                ("changed_revision", "Last change of the store that was seen.", follower.changed),
                ("lnids", "LNIDs that are mirrored.", mirror.lnids),
                ("ports", "Ports on this host.", len(mirror.ports)),
                ("unacknowledged", "MACs of which etcd is to be told.", len(reporter.unsent)),
                ("table_unwritten", "Whether the table lacks changes.", int(writer.is_behind)),
                ("changes_total", "MACs changed in the table.", writer.changes),
                ("resyncs_total", "Times that everything was read.", follower.resyncs),
                ("compactions_total", "Resumes from too old a revision.", follower.compactions),
                ("disconnections_total", "Times that the store was lost.", link.disconnections),
                ("write_errors_total", "Failures to write the table.", writer.write_errors),
                ("twin_errors_total", "Failures to sync eBPF.", writer.twin_errors),
                ("tell_errors_total", "Failures to tell etcd.", reporter.tell_errors),
                ("bad_values_total", "Keys that nobody can read.", writer.bad_values),
                ("hooks_mended_total", "Hooks that got their program back.", self._hooks.mended),
            )
        ]
