# SPDX-License-Identifier: GPL-2.0-or-later
"""A folder that is followed wherever its path leads."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import wait
from vmmnet import inotify
from vmmnet.hostvlan.host.hostports import Ports, PortsFolder

MAC_A, MAC_B = 0x525400000001, 0x525400000002


def write(folder: Path, mac: str) -> None:
    other = folder / ".new"
    other.write_text(mac + "\n")
    other.rename(folder / "vm")


class Followed:
    """What a PortsFolder has told last."""

    def __init__(self, folder: Path) -> None:
        self._told = threading.Condition()
        self._ports: Ports | None = None
        self._follower = PortsFolder(folder, self._changed)
        self._ports = self._follower.start()

    def _changed(self, ports: Ports | None) -> None:
        with self._told:
            self._ports = ports
            self._told.notify_all()

    def wait_for(self, *macs: int) -> None:
        """Wait until these are the ports."""

        def is_so() -> bool:
            return self._ports is not None and self._ports.macs == frozenset(macs)

        with self._told:
            assert self._told.wait_for(is_so, wait.PATIENCE), self._ports

    def stop(self) -> None:
        """End it."""
        self._follower.stop()


@pytest.fixture
def places(tmp_path: Path) -> Path:
    for name, mac in (("a", "52:54:00:00:00:01"), ("b", "52:54:00:00:00:02")):
        (tmp_path / name / "ports").mkdir(parents=True)
        write(tmp_path / name / "ports", mac)
    return tmp_path


@pytest.fixture
def link(places: Path) -> Path:
    """ports -> link/ports, link -> far/link, far/link -> a, in folders of their own."""
    (places / "near").mkdir()
    (places / "far").mkdir()
    (places / "near" / "ports").symlink_to("../link/ports")
    (places / "link").symlink_to(places / "far" / "link")
    (places / "far" / "link").symlink_to("../a")
    return places / "near" / "ports"


@pytest.fixture
def followed(link: Path) -> Iterator[Followed]:
    followed = Followed(link)
    yield followed
    followed.stop()


def replace_link(path: Path, target: str) -> None:
    other = path.with_name("other")
    other.symlink_to(target)
    other.rename(path)


def test_a_link_elsewhere_comes_to_lead_elsewhere(places: Path, followed: Followed) -> None:
    followed.wait_for(MAC_A)
    replace_link(places / "far" / "link", "../b")
    followed.wait_for(MAC_B)
    write(places / "b" / "ports", "52:54:00:00:00:01")
    followed.wait_for(MAC_A)


def test_what_a_link_leads_to_is_replaced(places: Path, followed: Followed) -> None:
    followed.wait_for(MAC_A)
    (places / "a").rename(places / "old")
    (places / "b").rename(places / "a")
    followed.wait_for(MAC_B)
    write(places / "a" / "ports", "52:54:00:00:00:01")
    followed.wait_for(MAC_A)


def test_without_a_watch_it_looks_by_itself(
    places: Path, link: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Exhausted:
        def inotify_init1(self, _flags: int) -> int:
            return os.eventfd(0, os.EFD_NONBLOCK)  # to which nothing can be added

        def inotify_add_watch(self, fd: int, path: bytes, mask: int) -> int:
            return int(inotify.ctypes.CDLL(None, use_errno=True).inotify_add_watch(fd, path, mask))

    monkeypatch.setattr(inotify, "_libc", Exhausted())
    followed = Followed(link)
    followed.wait_for(MAC_A)
    write(places / "a" / "ports", "52:54:00:00:00:02")
    followed.wait_for(MAC_B)
    followed.stop()


def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with inotify.FolderWatch(tmp_path / "loop" / "ports") as watch:
        (tmp_path / "loop").unlink()
        assert watch.wait()
