# SPDX-License-Identifier: GPL-2.0-or-later
"""The parser of command lines, and how rooms add sub-commands to it."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from .status import Status

T = TypeVar("T")
Run = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """A parser whose error messages are one sentence, without the list of all options."""

    #: Returns a hint about a word that the command does not take, or nothing.
    hint: Callable[[str], str] = staticmethod(lambda _: "")
    #: Whether it was given a word that is not one of several choices.
    is_lost = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(*args, **kwargs)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """For a word that is not one of the choices, name the nearest one, or all."""
        if action.choices is None or value in action.choices:
            return
        self.is_lost = True
        words = [str(each) for each in action.choices]
        near = difflib.get_close_matches(str(value), words, n=1)
        hint = f"is it '{near[0]}'?" if near else f"there are {', '.join(words)}"
        raise argparse.ArgumentError(action, f"there is no '{value}': {hint}")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; an error about a word too many names the sub-command."""
        given, left = self.parse_known_args(args, namespace)
        if left:
            of: Parser = getattr(given, "parser", self)
            hint = of.hint(left[0])
            of.error(f"'{left[0]}' is a word too many{f': {hint}' if hint else ''}")
        return given

    def error(self, message: str) -> NoReturn:
        """End with the message and where help is."""
        self.exit(Status.USAGE, f"{self.prog}: {message}\nSee '{self.prog} --help'.\n")


def typed(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Make a type for argparse from a function that raises ValueError."""

    def convert(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def subcommand(
    subparsers: argparse._SubParsersAction[Parser], name: str, run: Run, brief: str, text: str
) -> Parser:
    """Add a sub-command: ``brief`` is for the list of commands, ``text`` for its help."""
    parser = subparsers.add_parser(name, help=brief, description=text)
    parser.set_defaults(run=run, parser=parser)
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    return parser
