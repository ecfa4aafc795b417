# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong with a store, etcd or another."""

from __future__ import annotations


class StoreError(Exception):
    """A store cannot do what it was asked; the text says what to do about it."""


class EtcdError(StoreError):
    """etcd refused; the text names the endpoint and says what to do."""

    def __init__(self, text: str, code: int = 0) -> None:
        super().__init__(text)
        #: gRPC's status code; 0 if it does not come from there.
        self.code = code


class Unreachable(EtcdError):
    """No endpoint answers, or none has a leader."""


class Uncertain(EtcdError):
    """The connection ended while a write was under way: it may have happened."""


class Denied(EtcdError):
    """The user is wrong, or may not do that."""


class Compacted(EtcdError):
    """A revision that was asked for is not kept any more."""
