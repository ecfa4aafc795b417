# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion of command lines by argcomplete.

The parser has the sub-commands, options and choices. Values of other arguments are
found by the argument's name in the help (``MAC``, ``FILE``), for which a room has a
function, or by a ``completer`` of the argument. control/completion/vmmnet.bash is the
shell's part.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import argcomplete

#: Finds the values of an argument, from the command line so far and its sub-command's parser.
Values = Callable[[argparse.Namespace, argparse.ArgumentParser], Iterable[str]]
#: Completes an argument, as argcomplete calls it.
Completer = Callable[..., list[str]]

# More than a terminal shows.
_LIMIT = 500
# Names of arguments that are files.
_FILES = ("FILE", "FILE|URL", "LOG", "NEW", "OLD", "PATH")


def files(prefix: str, **_: Any) -> list[str]:
    """Files and folders that begin with a prefix.

    argcomplete's own completer passes the prefix to a shell as code, so that a quote in
    it would be parsed.
    """
    folder, slash, name = prefix.rpartition("/")
    found = sorted(Path(folder + slash).iterdir())
    return [
        f"{folder}{slash}{each.name}{'/' if each.is_dir() else ''}"
        for each in found
        if each.name.startswith(name)
    ]


def named(known: Mapping[str, Values]) -> Completer:
    """What completes values of arguments by the names that help gives them.

    ``known`` has the names of rooms' arguments; names of files are known already.
    """

    def complete(
        prefix: str, action: argparse.Action, parser: argparse.ArgumentParser, parsed_args: Any
    ) -> list[str]:
        metavar = str(action.metavar)
        try:
            if metavar in _FILES:
                return files(prefix)
            if metavar not in known:
                return []
            found = known[metavar](parsed_args, parser)
            return list(islice((each for each in found if each.startswith(prefix)), _LIMIT))
        except (OSError, ValueError):
            return []

    return complete


#: CompletionFinder, which argcomplete 3 has in another place than argcomplete 2
_Finder: Any = type(argcomplete.autocomplete)


class Finder(_Finder):  # type: ignore[misc]
    """Completes command lines.

    A call with a parser and ``default_completer`` answers the shell that asks for
    completions, and exits. It does nothing if no shell asks.
    """

    def __init__(
        self,
        parser: argparse.ArgumentParser | None = None,
        *,
        default_completer: Completer = files,
        **_: Any,
    ) -> None:
        """argcomplete calls this again, with its other defaults: they are ignored."""
        super().__init__(
            parser,
            always_complete_options=False,
            append_space=False,
            default_completer=default_completer,
        )

    def collect_completions(self, active_parsers: list[Any], *rest: Any) -> list[str]:
        """Offer nothing after a word that is not one of the choices.

        ``rest`` is for argcomplete's own: after 2.0 it has an argument less.
        """
        if getattr(active_parsers[-1], "is_lost", False):
            return []
        return list(super().collect_completions(active_parsers, *rest))
