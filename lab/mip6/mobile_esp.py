# SPDX-License-Identifier: GPL-2.0-or-later
"""Keys of a mobile node and its home agent, in the format of each."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

CIPHER = "aes-gcm-128"
#: Names at the node, and at the agent.
_SIDES = {
    "signal-out": "signal-in",
    "signal-in": "signal-out",
    "tunnel-out": "tunnel-in",
    "tunnel-in": "tunnel-out",
}


@dataclass(frozen=True)
class Keys:
    """Four associations, with ``seed`` in their keys; for a further address if ``more``."""

    seed: int = 0
    spi: int = 0x1001
    more: bool = False

    def of(self, name: str) -> tuple[int, bytes]:
        """Return SPI and keying material, by the node's name of the association."""
        number = list(_SIDES).index(name)
        return self.spi + number, bytes((self.seed + 32 * number + i) & 0xFF for i in range(20))

    def options(self) -> list[str]:
        """Options of ``-netdev mip6``."""
        words = [] if self.more else ["ipsec=esp", f"esp-cipher={CIPHER}"]
        for name in map(self._option, _SIDES):
            spi = self.of(name.removeprefix("more-"))[0]
            words += [f"{name}-spi={spi:#x}", f"{name}-key={name}"]
        return words

    def _option(self, name: str) -> str:
        return f"more-{name}" if self.more else name

    def objects(self) -> list[str]:
        """QEMU's arguments that make the secrets."""
        words = []
        for name in _SIDES:
            key = base64.b64encode(self.of(name)[1]).decode()
            words += ["-object", f"secret,id={self._option(name)},format=base64,data={key}"]
        return words

    def lines(self, home: str, folder: Path) -> list[str]:
        """Lines of the agent's configuration; the keys become files in ``folder``."""
        lines = []
        for name, agents in _SIDES.items():
            spi, key = self.of(name)
            file = folder / f"{self._option(agents)}.key"
            file.touch(0o600)
            file.write_text(f"0x{key.hex()}\n")
            lines.append(f"esp {home} {agents} {spi:#x} {CIPHER} {file}")
        return lines

    def tshark(self) -> list[str]:
        """Rows of tshark's table of associations."""
        rows = []
        for name in _SIDES:
            spi, key = self.of(name)
            cipher = "AES-GCM with 16 octet ICV [RFC4106]"
            cells = ("IPv6", "*", "*", f"{spi:#x}", cipher, f"0x{key.hex()}")
            rows.append(",".join(f'"{cell}"' for cell in (*cells, "NULL", "")))
        return rows
