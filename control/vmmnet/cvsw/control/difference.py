# SPDX-License-Identifier: GPL-2.0-or-later
"""From the flows that a NIC has to those that it should have, in few frames.

The order is such that nothing leaves meanwhile that should not: what passes frames on
goes first, then come the flows that drop, and those that pass frames on last, the most
particular ones before the general ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..wire import PAYLOAD_MAX, Type
from .flow import Flow


@dataclass(frozen=True)
class Batch:
    """Flows of one command."""

    type: Type
    flows: list[Flow]

    def payload(self) -> bytes:
        """FLOW_MODs, back to back."""
        return b"".join(_message(self.type, flow) for flow in self.flows)


def difference(
    has: Mapping[bytes, Flow],
    wanted: Mapping[bytes, Flow],
    refused: Mapping[bytes, Flow | None],
) -> tuple[list[Flow], list[Flow]]:
    """What is to be deleted and what to be set, each in its order.

    A flow that was refused is not tried again.
    """
    deleted = [flow for key, flow in has.items() if key not in wanted and key not in refused]
    changed = [
        flow for key, flow in wanted.items() if has.get(key) != flow and refused.get(key) != flow
    ]
    deleted.sort(key=lambda flow: flow.drops)
    changed.sort(key=lambda flow: (not flow.drops, -flow.priority))
    return deleted, changed


def batches(deleted: Iterable[Flow], changed: Iterable[Flow]) -> Iterator[Batch]:
    """As few commands as hold them: deletions, then the others; of these, drops stay first.

    Deletions of flows that drop wait for the end, when all others are right.
    """
    early, late = list[Flow](), list[Flow]()
    for flow in deleted:
        (late if flow.drops else early).append(flow)
    yield from _packed(Type.DELETE_ENTRY, early)
    yield from _packed(Type.SET_ENTRY, changed)
    yield from _packed(Type.DELETE_ENTRY, late)


def _packed(kind: Type, flows: Iterable[Flow]) -> Iterator[Batch]:
    room, some = 0, list[Flow]()
    for flow in flows:
        size = len(_message(kind, flow))
        if some and size > room:
            yield Batch(kind, some)
            some = []
        if not some:
            room = PAYLOAD_MAX
        some.append(flow)
        room -= size
    if some:
        yield Batch(kind, some)


def _message(kind: Type, flow: Flow) -> bytes:
    return flow.deletion() if kind == Type.DELETE_ENTRY else flow.message
