# SPDX-License-Identifier: GPL-2.0-or-later
"""The comparison of our tables with IANA's registries."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.dns import registry


def test_what_is_lacking(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An entry that a table lacks, or names otherwise, is told; others are not."""
    types = tmp_path / "types.csv"
    types.write_text("TYPE,Value,Meaning\nA,1,\nDSYNX,66,\nNEW,70,\nTKEY,249,\nUnassigned,71-98,\n")
    keys = tmp_path / "keys.csv"
    keys.write_text("Number,Name,Meaning\n1,alpn,\n8,ohttp,\n11,new-key,\n65535,Reserved,\n")
    assert registry.main([str(types), str(keys)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{types}: 66 is DSYNX, not DSYNC",
        f"{types}: 70 is NEW, not known",
        f"{keys}: 11 is new-key, not known",
    ]
    types.write_text("TYPE,Value,Meaning\nA,1,\nIPN,264,\n")
    assert registry.main([str(types)]) == 0
