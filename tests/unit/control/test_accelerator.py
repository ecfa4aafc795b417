# SPDX-License-Identifier: GPL-2.0-or-later
"""Which accelerator make run takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import run
from lab.guest import accelerator, qemu

_BOOTS = "echo '[    1.5] Kernel panic - not syncing: VFS: Unable to mount root fs'"


def _sh(script: str) -> list[str]:
    return ["sh", "-c", script]


def test_device_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "kvm"
    assert accelerator.cannot_open(missing) == f"{missing}: No such file or directory"


def test_device_that_opens(tmp_path: Path) -> None:
    (tmp_path / "kvm").touch()
    assert not accelerator.cannot_open(tmp_path / "kvm")


def test_kernel_that_boots() -> None:
    assert not accelerator.cannot_boot(_sh(_BOOTS))


def test_vcpu_that_cannot_be_set_up() -> None:
    """QEMU says so and aborts, as where the host has not all registers of its processor."""
    fault = accelerator.cannot_boot(_sh("echo 'failed to set MSR 0x10a' >&2; kill -ABRT $$"))
    assert fault.endswith("no guest starts on it: QEMU ended with -6: failed to set MSR 0x10a")


def test_guest_that_hangs() -> None:
    """Its QEMU is gone afterwards, though it does not end by itself."""
    fault = accelerator.cannot_boot(_sh("trap '' TERM; echo Decompressing; sleep 1000"), limit=0.2)
    assert fault.endswith("no guest starts on it within 0.2 s")


def test_silent_end() -> None:
    assert accelerator.cannot_boot(_sh("exit 0")).endswith("ended with 0: it said nothing")


@pytest.mark.parametrize(
    ("script", "accel", "said"),
    [
        (_BOOTS, "kvm", "KVM: a guest starts on it"),
        ("exit 1", qemu.TCG, "TCG: /dev/kvm opens, but"),
    ],
)
def test_choice_is_told(
    script: str,
    accel: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(accelerator, "_command", lambda _: _sh(script))
    monkeypatch.setattr(accelerator, "cannot_open", lambda _: "")
    assert run.accelerate(run.parse([])) == accel
    assert f"    {said}" in capsys.readouterr().out


def test_user_is_not_asked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """With --accel nothing is tried."""
    monkeypatch.setattr(accelerator, "choose", lambda _: pytest.fail("it was tried"))
    assert run.accelerate(run.parse(["--accel", "tcg"])) == "tcg"
