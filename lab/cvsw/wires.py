# SPDX-License-Identifier: GPL-2.0-or-later
"""Simulated NICs on real wires: their control frames pass through interfaces."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from vmmnet.cvsw.wire.message import ETHERTYPE

from ..base.net import Interface
from .nics import SimNic

_TICK = 0.05


class Wires:
    """NICs that run in a thread of their own."""

    def __init__(self, nics: Sequence[tuple[SimNic, Interface]]) -> None:
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._nics = {self._open(end): nic for nic, end in nics}
        self._thread = threading.Thread(target=self._run)

    @contextlib.contextmanager
    def running(self) -> Iterator[Wires]:
        """Start them, for the time of a block."""
        for wire, nic in self._nics.items():
            nic.send = self._sender(wire)
            nic.boot(time.monotonic())
        self._thread.start()
        try:
            yield self
        finally:
            self._end.set()
            self._thread.join()
            for wire in self._nics:
                wire.close()

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """Stop the NICs for the time of a block."""
        with self._lock:
            yield

    @staticmethod
    def _open(end: Interface) -> socket.socket:
        with end.namespace.entered():
            wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
        wire.bind((end.name, ETHERTYPE))
        return wire

    @staticmethod
    def _sender(wire: socket.socket) -> Callable[[bytes], None]:
        def send(frame: bytes) -> None:
            # A wire that is full, or down, loses the frame.
            with contextlib.suppress(OSError):
                wire.send(frame)

        return send

    def _run(self) -> None:
        while not self._end.is_set():
            ready, _, _ = select.select(list(self._nics), [], [], _TICK)
            with self._lock:
                for wire in ready:
                    frame, address = wire.recvfrom(2000)
                    if address[2] != socket.PACKET_OUTGOING:
                        self._nics[wire].input(frame, time.monotonic())
                for nic in self._nics.values():
                    nic.tick(time.monotonic())
