# SPDX-License-Identifier: GPL-2.0-or-later
"""What the agent is started with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vmmnet.etcd.place import Config


@dataclass(frozen=True, slots=True)
class Times:
    """Intervals, in seconds."""

    #: Between a failure and the next try: doubled each time, and shortened at random by up
    #: to a half, so that the hosts of a data centre do not all connect at once.  It starts
    #: again at the first value after a connection of ``last_retry`` seconds.
    first_retry: float = 0.1
    last_retry: float = 5.0
    #: Until the next try after the table could not be written, and after it could not be
    #: copied to the kernel.
    rewrite: float = 0.5
    recopy: float = 2.0
    #: The watches are started again if the report has not arrived after so long, and after
    #: some probes.
    silence: float = 10.0


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings from the command line."""

    store: Config
    host: str
    table: Path
    folder: Path
    #: Ports that are always on this host, in addition to those in the folder.
    fixed: frozenset[int] = frozenset()
    #: Of the control socket; None: there is none.
    control: Path | None = None
    metrics: tuple[str, int] | None = None
    #: The QMP sockets for the metrics of ports; None: the default ones.
    qmp: Sequence[str] | None = None
    times: Times = field(default_factory=Times)
