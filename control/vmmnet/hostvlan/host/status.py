# SPDX-License-Identifier: GPL-2.0-or-later
"""What the agent shows of itself on this host: the status file, systemd's line, the metrics."""

from __future__ import annotations

import contextlib
import json
import os
import time

from vmmnet import service
from vmmnet.values import mac as macs

from .follower import Follower
from .hooks import Hooks
from .journal import Journal
from .link import Link
from .metrics import Metric
from .reporter import Reporter
from .settings import Settings
from .writer import Writer


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
        journal: Journal,
    ) -> None:
        self._settings, self._link = settings, link
        self._follower, self._writer, self._reporter = follower, writer, reporter
        self._hooks, self._journal = hooks, journal
        self._written = ""

    def write(self) -> None:
        """Write the status file and tell systemd if the status has changed."""
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
        text = json.dumps(state, indent=1) + "\n"
        file = settings.status
        # Others may empty /run.
        if text == self._written and (file is None or file.exists()):
            return
        service.notify(
            f"STATUS={state['state']}: {len(self._writer.applied)} MACs of {mirror.lnids} LNIDs"
            f" as of revision {mirror.revision}"
        )
        if file is not None:
            new = file.with_name(f".{file.name}.{os.getpid()}")
            try:
                new.write_text(text)
                new.replace(file)
                self._journal.over("status")
            except OSError as error:
                with contextlib.suppress(OSError):
                    new.unlink()
                self._journal.say("status", f"--status {file}: {error.strerror}")
                return
        self._written = text

    def metrics(self) -> list[Metric]:
        """The numbers, for Prometheus; called in another thread."""
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
