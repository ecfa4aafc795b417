# SPDX-License-Identifier: GPL-2.0-or-later
"""Errors of a store."""

from __future__ import annotations


class StoreError(Exception):
    """A request failed; the text says what to do about it."""


class EtcdError(StoreError):
    """etcd refused; the text names the endpoint and says what to do."""

    def __init__(self, text: str, code: int = 0) -> None:
        super().__init__(text)
        #: gRPC's status code; 0: none.
        self.code = code


class Unreachable(EtcdError):
    """No endpoint answers, or none has a leader."""


class Uncertain(EtcdError):
    """The connection ended during a write: it may have been done."""


class Denied(EtcdError):
    """Wrong user or password, or no permission."""


class Compacted(EtcdError):
    """The requested revision was compacted."""
