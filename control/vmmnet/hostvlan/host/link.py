# SPDX-License-Identifier: GPL-2.0-or-later
"""The state of the agent's link to the store, and when a lost one is tried again."""

from __future__ import annotations

import enum
import random
import time

from vmmnet.etcd.errors import Compacted, StoreError, Unreachable
from vmmnet.log import logger

from .settings import Times


class State(enum.Enum):
    """Of the link to the store."""

    LOST = "there are no watches; the next try is at ``retry_at``"
    OPENING = "topics are read, and watches opened; etcd has not confirmed all of them"
    FOLLOWING = "every topic that was necessary has a watch"


_NEXT = {
    State.LOST: {State.OPENING},
    State.OPENING: {State.FOLLOWING, State.LOST},
    State.FOLLOWING: {State.LOST},
}


class Link:
    """The link to the store; any thread may read it."""

    def __init__(self, times: Times) -> None:
        self._times = times
        self._state = State.LOST
        #: Why it was lost the last time; None: it follows, or has not been lost.
        self.error: StoreError | None = None
        #: Since when it does not follow: monotonic, and as the clock shows it.
        self.lost_since, self.lost_at = time.monotonic(), time.time()
        self._following_since = 0.0
        self.retry_at = 0.0
        #: Seconds until the next try but one, before they are shortened at random.
        self.retry_after = times.first_retry
        self.disconnections = 0

    @property
    def state(self) -> State:
        """The state now."""
        return self._state

    @property
    def is_following(self) -> bool:
        """Whether every topic that was necessary has a watch."""
        return self._state is State.FOLLOWING

    @property
    def is_refused(self) -> bool:
        """Whether etcd answers, and refuses us."""
        return self.error is not None and not isinstance(self.error, Unreachable | Compacted)

    @property
    def lag(self) -> float:
        """The seconds since when the table may be older than the store."""
        return 0.0 if self.is_following else time.monotonic() - self.lost_since

    def _become(self, state: State) -> None:
        if state not in _NEXT[self._state]:
            raise RuntimeError(f"the link goes from {self._state.name} to {state.name}")
        logger.debug("link to the store: %s, then %s", self._state.name, state.name)
        self._state = state

    def open(self) -> None:
        """Topics are read, and watches opened."""
        self._become(State.OPENING)

    def follow(self) -> float:
        """Every topic has a watch; returns the seconds that this took."""
        self._following_since = time.monotonic()
        self.error = None
        self._become(State.FOLLOWING)
        return self._following_since - self.lost_since

    def lose(self, error: StoreError) -> None:
        """The store is lost, or could not be followed: plan the next try."""
        if self.is_following:
            self.lost_since, self.lost_at = time.monotonic(), time.time()
            if self.lost_since - self._following_since >= self._times.last_retry:
                self.retry_after = self._times.first_retry
            if not isinstance(error, Compacted):
                self.disconnections += 1
        self._become(State.LOST)
        self.error = error
        self.retry_at = time.monotonic() + self.retry_after * random.uniform(0.5, 1)
        self.retry_after = min(2 * self.retry_after, self._times.last_retry)
