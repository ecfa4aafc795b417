# SPDX-License-Identifier: GPL-2.0-or-later
"""What the agent says in its log."""

from __future__ import annotations

from vmmnet.log import say

# The errors on these topics are in the report while they last.
_LASTING = ("table", "twin", "folder")


def log(text: str, level: str = "notice") -> None:
    """Write a line; any thread may call this."""
    say("vmmnet hostvlan agent", text, level)


class Journal:
    """Logs an error on a topic once, until the error is over."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    def say(self, topic: str, text: str) -> None:
        """Log an error, unless there is one on the same topic."""
        if topic not in self._said:
            self._said[topic] = text
            log(text, "error")

    def over(self, topic: str, text: str = "") -> bool:
        """The error on a topic is over: log that, and return whether there was one."""
        was = self._said.pop(topic, None) is not None
        if was and text:
            log(text)
        return was

    def lasting(self) -> tuple[str, ...]:
        """The errors that last and that are of interest to other hosts."""
        return tuple(self._said[each] for each in _LASTING if each in self._said)
