# SPDX-License-Identifier: GPL-2.0-or-later
"""Write an object file as the C source of what ha/host/fast.h declares."""

import sys
from pathlib import Path

_PER_LINE = 12


def main() -> None:
    """Read the first argument's file; write that of the second."""
    data = Path(sys.argv[1]).read_bytes()
    starts = range(0, len(data), _PER_LINE)
    lines = [", ".join(f"{octet:#04x}" for octet in data[at : at + _PER_LINE]) for at in starts]
    body = ",\n    ".join(lines)
    Path(sys.argv[2]).write_text(
        "/* SPDX-License-Identifier: GPL-2.0-or-later */\n"
        '#include "ha/host/fast.h"\n\n'
        f"const uint8_t mip6_fast_program[] __attribute__((aligned(8))) = {{\n    {body}\n}};\n"
        "const size_t mip6_fast_program_len = sizeof(mip6_fast_program);\n"
    )


main()
