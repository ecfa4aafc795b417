# SPDX-License-Identifier: GPL-2.0-or-later
"""A minimal vhost-user backend: it accepts all messages and moves no frame.

docs/interop/vhost-user.rst of QEMU has the messages.
"""

from __future__ import annotations

import array
import contextlib
import os
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

_HEAD = struct.Struct("<III")
_VERSION, _REPLY, _NEED_REPLY = 1, 4, 8
_GET_FEATURES, _GET_PROTOCOL_FEATURES, _GET_QUEUE_NUM = 1, 15, 17
# VIRTIO_F_VERSION_1, VHOST_USER_F_PROTOCOL_FEATURES
_ANSWERS = {_GET_FEATURES: 1 << 32 | 1 << 30, _GET_PROTOCOL_FEATURES: 0, _GET_QUEUE_NUM: 1}


def _read(connection: socket.socket, size: int) -> bytes:
    """Read octets of a message; fewer at the end.  Received descriptors are closed."""
    data = b""
    while len(data) < size:
        part, ancillary, _, _ = connection.recvmsg(size - len(data), 1024)
        for _, _, content in ancillary:
            for number in array.array("i", content[: len(content) // 4 * 4]):
                os.close(number)
        if not part:
            break
        data += part
    return data


def _serve(connection: socket.socket) -> None:
    with connection, contextlib.suppress(OSError):
        while len(head := _read(connection, _HEAD.size)) == _HEAD.size:
            request, flags, size = _HEAD.unpack(head)
            _read(connection, size)
            answer = _ANSWERS.get(request, 0 if flags & _NEED_REPLY else None)
            if answer is not None:
                connection.sendall(
                    _HEAD.pack(request, _VERSION | _REPLY, 8) + answer.to_bytes(8, "little")
                )


@contextlib.contextmanager
def backend(path: Path) -> Iterator[None]:
    """Serve each QEMU that connects to a UNIX socket."""

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=_serve, args=(listener.accept()[0],), daemon=True).start()

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
