# SPDX-License-Identifier: GPL-2.0-or-later
"""The parser of command lines, and how rooms add sub-commands to it."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from .status import Status

T = TypeVar("T")
Run = Callable[[argparse.Namespace], int]

#: Words of other programs, and ours.
_MEANT = {
    "create": "add",
    "new": "add",
    "del": "remove",
    "delete": "remove",
    "rm": "remove",
    "erase": "remove",
    "change": "set",
    "edit": "set",
    "get": "show",
    "info": "show",
    "start": "run",
    "verify": "check",
}


class Parser(argparse.ArgumentParser):
    """A parser whose error messages are one sentence, without the list of all options."""

    #: Returns a hint about a word that the command does not take, or nothing.
    hint: Callable[[str], str] = staticmethod(lambda _: "")
    #: Where it is what some would look for among the choices.
    elsewhere: Mapping[str, str] = {}
    #: Whether it was given a word that is not one of several choices.
    is_lost = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(*args, **kwargs)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print, and ignore a full disk behind the standard error, as Python 3.12 and later do."""
        with contextlib.suppress(OSError):
            super()._print_message(message, file)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """For a word that is not one of the choices, name the nearest one, or all."""
        if action.choices is None or value in action.choices:
            return
        self.is_lost = True
        if str(value) in self.elsewhere:
            raise argparse.ArgumentError(None, f"'{value}': {self.elsewhere[str(value)]}")
        words = [str(each) for each in action.choices]
        meant = _MEANT.get(str(value))
        near = [meant] if meant in words else difflib.get_close_matches(str(value), words, n=1)
        hint = f"is it '{near[0]}'?" if near else f"there are {', '.join(words)}"
        raise argparse.ArgumentError(action, f"there is no '{value}': {hint}")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; an option that is not this command's is an error that names the right one.

        argparse would report its value as a wrong argument instead.
        """
        self._check_options(sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def _check_options(self, words: Sequence[str]) -> None:
        """End with an error if an option is unknown, or stands before its sub-command."""
        below = self._below()
        for word in words:
            name = word.partition("=")[0]
            if word == "--" or (below and not word.startswith("-")):
                return
            # argparse takes a word with a blank for a value.
            if name in self._option_string_actions or not self._is_option(word):
                continue
            if found := [where for where, names in self._options_below() if name in names]:
                self.error(
                    f"'{name}' comes after the command: {self._meant(found, words)} … {name}"
                )
            known = [each for each in self._option_string_actions if each.startswith("--")]
            long = f"--{name.lstrip('-').lower()}"
            # Other programs take the beginning of one for it.
            begun = [each for each in known if each.startswith(long)]
            near = begun or difflib.get_close_matches(long, known, n=1, cutoff=0.7)
            hint = f": is it '{near[0]}'?" if near else self._hint_below(long, words)
            self.error(f"there is no option '{name}'{hint}")

    def _is_option(self, word: str) -> bool:
        """Whether a word can only be meant as an option."""
        if " " in word or self._negative_number_matcher.match(word):
            return False
        # "-o" may have its value in the same word.
        return word.startswith("--") or (
            len(word) > 1 and word[0] == "-" and word[:2] not in self._option_string_actions
        )

    def _hint_below(self, name: str, words: Sequence[str]) -> str:
        """A hint about an option that is like one of a sub-command."""
        below = {each for _, names in self._options_below() for each in names}
        for near in difflib.get_close_matches(name, sorted(below), n=1, cutoff=0.7):
            found = [where for where, names in self._options_below() if near in names]
            return f": is it '{near}', after the command: {self._meant(found, words)} … {near}?"
        return ""

    def _meant(self, found: Sequence[str], words: Sequence[str]) -> str:
        """Of commands, the one whose words are among those of the line, or the first."""
        there = {*self.prog.split(), *words}
        return next((each for each in found if there.issuperset(each.split())), found[0])

    def _below(self) -> dict[str, Parser]:
        """The parsers of the sub-commands, by their names."""
        for action in self._subparsers._group_actions if self._subparsers else ():
            if isinstance(action, argparse._SubParsersAction):
                return action.choices
        return {}

    def _options_below(self) -> Iterator[tuple[str, set[str]]]:
        """Each sub-command, those of sub-commands included, with its options."""
        for parser in self._below().values():
            yield parser.prog, set(parser._option_string_actions)
            yield from parser._options_below()

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
        if message.startswith("the following arguments are required") and (below := self._below()):
            kind = next(each.metavar for each in self._actions if each.choices is below)
            message = f"a {kind} is missing: there are {', '.join(below)}"
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
