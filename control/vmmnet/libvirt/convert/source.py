# SPDX-License-Identifier: GPL-2.0-or-later
"""A domain as its author wrote it: its command line, and its NICs with overrides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lxml import etree  # type: ignore[import-untyped]

from .. import element, names
from ..expand import nic, qemu
from ..model import Net
from . import arguments
from .arguments import Argument
from .parts import CannotSay


@dataclass(frozen=True)
class Nic:
    """A NIC of the domain, by its name in QEMU."""

    mac: str
    alias: str
    model: str
    #: Overridden properties: by ``qemu:override``, and by ``-set``.
    overrides: tuple[tuple[str, str], ...]
    sets: tuple[Argument, ...]

    @property
    def properties(self) -> dict[str, str]:
        """Both together; ``-set`` overrides the others."""
        return dict(self.overrides) | {each.pairs[0][0]: each.pairs[0][1] for each in self.sets}

    @property
    def is_named(self) -> bool:
        """Whether its alias is its author's."""
        return self.alias.startswith(names.USER_ALIAS)


class Source:
    """The author's parts of a domain, without the expansion of an element."""

    def __init__(self, domain: etree._Element) -> None:
        #: The present element. Raises BadElement.
        self.net: Net | None = element.read(domain)
        self.domain = domain
        all_of_it = arguments.read(domain)
        self.arguments = [each for each in all_of_it if not self._is_made(each.id)]
        self.nics = list(self._nics())

    def of(self, option: str, kind: str) -> list[Argument]:
        """All of a kind."""
        return [each for each in self.arguments if each.option == option and each.kind == kind]

    def find(self, option: str, number: str) -> Argument | None:
        """The one with an ID."""
        found = [
            each
            for each in self.arguments
            if each.option == option and each.id == number and number
        ]
        return found[-1] if found else None

    def sets(self, group: str, number: str) -> tuple[Argument, ...]:
        """The ``-set`` arguments for an argument."""
        wanted = f"{group}.{number}"
        found = self.of("-set", wanted) if number else []
        return tuple(each for each in found if each.pairs)

    def whole(self, argument: Argument) -> tuple[Argument, ...]:
        """An argument with its ``-set`` arguments."""
        return argument, *self.sets(argument.option.removeprefix("-"), argument.id)

    def pairs(self, argument: Argument) -> list[tuple[str, str]]:
        """Names and values of an argument, with those of ``-set``."""
        return [pair for each in self.whole(argument) for pair in each.pairs]

    def key(self, number: str, encoding: str) -> tuple[str, Argument]:
        """The file of a key, and the object that reads it. Raises CannotSay."""
        found = self.find("-object", number)
        if found is None or found.kind != "secret":
            raise CannotSay(f"there is no '-object secret' with its key, '{number}'")
        given = dict(found.pairs)
        if "file" not in given or set(given) - {"file", "format"}:
            raise CannotSay(f"the key of {found.name} is no file, and the element names files")
        if given.get("format", "raw") != encoding:
            raise CannotSay(f"the key of {found.name} is not in the format '{encoding}'")
        return given["file"], found

    def left(self, gone: Iterable[Argument]) -> list[Argument]:
        """The arguments without these."""
        numbers = {each.number for each in gone}
        return [each for each in self.arguments if each.number not in numbers]

    def overrides(self) -> Iterator[tuple[str, str, str]]:
        """All of ``qemu:override``: alias, property, value."""
        path = f"{names.qemu('override')}/{names.qemu('device')}"
        for device in self.domain.iterfind(path):
            alias = device.get("alias", "")
            for each in device.iter(names.qemu("property")):
                if not self._is_made(each.get("value", "")):
                    yield alias, each.get("name", ""), each.get("value", "")

    def _is_made(self, number: str) -> bool:
        return self.net is not None and number.startswith(names.OURS)

    def _nics(self) -> Iterator[Nic]:
        number = 0
        for each in nic.nics(self.domain):
            alias = nic.alias_of(each)
            # libvirt numbers NICs without an alias, except host devices.
            if not alias and each.get("type") != "hostdev":
                alias = f"net{number}"
            number += not alias.startswith(names.USER_ALIAS)
            model = each.find("model")
            yield Nic(
                nic.mac_of(each),
                alias,
                "" if model is None else model.get("type", ""),
                tuple(qemu.properties(self.domain, alias).items()),
                self.sets("device", alias),
            )
