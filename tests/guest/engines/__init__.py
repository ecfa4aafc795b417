# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of container engines share: the guest, an image, a caller from outside."""

from __future__ import annotations

import sys

from lab.base import wait
from lab.peers.lab import Lab

BOX_PAGE = "in the box"
#: The root file system is in memory, and overlayfs does not stand on overlayfs.
PREPARE = f"""
set -e
mount -t cgroup2 none /sys/fs/cgroup
for each in /var/lib/containers /var/lib/docker /run /home; do
    mkdir -p $each; mount -t tmpfs tmpfs $each
done
mount --make-rshared /
modprobe tun && chmod 666 /dev/net/tun
box=/home/box
mkdir -p $box/bin $box/www $box/etc $box/tmp
cp /usr/bin/busybox $box/bin
for each in $(ldd /usr/bin/busybox | grep -o '/[^ ]*'); do
    mkdir -p $box$(dirname $each); cp $each $box$each
done
for each in $($box/bin/busybox --list); do ln -sf busybox $box/bin/$each; done
echo {BOX_PAGE} > $box/www/index.html
tar -C $box -cf /home/box.tar .
"""
#: Prints the page, or how the connection ended.
_FETCH = """
import socket, sys
try:
    s = socket.create_connection(sys.argv[1:3])
    s.settimeout(float(sys.argv[3]))
    s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
    print(s.makefile().read().splitlines()[-1])
except OSError as error:
    print(type(error).__name__)
"""


def fetch(world: Lab, address: str, port: int, patience: float = wait.PATIENCE) -> str:
    """Fetch a page from outside; its last line, or the name of the error."""
    command = [sys.executable, "-c", _FETCH, address, str(port), str(patience)]
    return world.peer.run(command).stdout.strip()
