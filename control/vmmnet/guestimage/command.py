# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet guest-image``: its options and exit status."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from vmmnet.command.parser import Parser, subcommand, typed
from vmmnet.command.status import Refused, Status, UsageError, carry_out, refuse
from vmmnet.libvirt import values

from . import domain, make, recipe
from .recipe import Recipe

T = TypeVar("T")

_NAME = "guest-image"
_BRIEF = "make a Debian for guests, whose IPv4 sockets run on the host"
_TEXT = f"""\
Make a disk image with Debian 12 for a guest without a NIC: the module vmrpc, which
DKMS builds again for each new kernel, DNS by the device, and a serial console.

  vmmnet guest-image --output guest.qcow2
  make run DISK=guest.qcow2
  vmmnet guest-image --output guest.qcow2 --print-domain \\
      --address6 2001:db8:1::c0de >guest.xml
  vmmnet libvirt define guest.xml

It is for the architecture of this host, and boots from a BIOS (SeaBIOS, QEMU's own) on
amd64, by UEFI (qemu-efi-aarch64) on arm64. Packages come from the mirrors of this
host if it is a Debian, else from that of --mirror. It takes some
minutes, and 3 GiB beside the image meanwhile.

exit status: {Status.DONE:d}  done
             {Status.REFUSED:d}  it cannot be done; what is said tells the step and what to do
             {Status.USAGE:d}  the command line is wrong
             {Status.UNWRITTEN:d}  the answer could not be written
             {Status.INTERRUPTED:d}  interrupted; nothing is left
"""


def add_command(rooms: argparse._SubParsersAction[Parser]) -> None:
    """Add ``guest-image`` to the command ``vmmnet``."""
    parser = subcommand(rooms, _NAME, _run, _BRIEF, _TEXT)
    parser.set_defaults(execute=execute)
    add = parser.add_argument
    add("--output", metavar="FILE", type=Path, help="the image to make")
    add("--size", type=typed(recipe.size), default="4G", help="of its disk (default: 4G)")
    add("--format", choices=recipe.FORMATS, default="qcow2", help="default: qcow2")
    add("--hostname", metavar="NAME", type=typed(recipe.hostname), default="guest", help="its name")
    add("--kernel", choices=recipe.KERNELS, default="6.1", help="series of Debian's (default: 6.1)")
    add(
        "--package",
        metavar="NAME",
        action="extend",
        nargs="+",
        default=[],
        type=typed(recipe.package),
        help="packages of Debian that it has besides",
    )
    add(
        "--ssh-key", metavar="FILE", type=Path, help="public keys for root; brings a server for SSH"
    )
    add("--root-password", metavar="FILE", type=Path, help="root's password is its first line")
    add(
        "--autologin",
        action="store_true",
        help="root at the serial console needs no password; so it is if there is no key and"
        " no password",
    )
    add(
        "--mirror",
        metavar="URL",
        type=typed(recipe.mirror),
        help=f"of Debian, like {recipe.EXAMPLE}",
    )
    add("--print-domain", action="store_true", help="print a domain of libvirt; nothing is made")
    add(
        "--address6",
        metavar="ADDRESS",
        type=typed(_address6),
        help="the VM's own, an IPv6 address of its host; for --print-domain",
    )


def execute(given: argparse.Namespace) -> int:
    """Run a parsed command line; returns its exit status."""
    try:
        return carry_out(given)
    except Refused as error:
        return refuse(given, _NAME, str(error))


def _address6(text: str) -> str:
    try:
        return str(values.address6(text))
    except ValueError as error:
        raise ValueError(f"'{text}' {error}") from None


def _run(given: argparse.Namespace) -> int:
    named = given.output is not None
    given.output = Path(given.output or f"guest.{given.format}").absolute()
    if given.print_domain:
        if given.json:
            raise UsageError("--print-domain prints XML: leave --json out")
        print(domain.text(given.hostname, given.output, given.format, given.address6), end="")
        return Status.DONE
    if given.address6:
        raise UsageError("--address6 is the VM's, not the image's: it goes with --print-domain")
    if not named:
        given.parser.print_usage(sys.stderr)
        raise UsageError("--output names the image to make, for example guest.qcow2")
    if os.path.lexists(given.output):
        raise Refused(f"--output {given.output}: exists already; remove it, or give another name")
    if not given.output.parent.is_dir():
        raise Refused(f"--output {given.output}: there is no folder {given.output.parent}")
    return make.run(given, _recipe(given))


def _recipe(given: argparse.Namespace) -> Recipe:
    keys = _file("--ssh-key", given.ssh_key, recipe.keys) or ()
    password = _file("--root-password", given.root_password, recipe.password)
    return Recipe(
        size=given.size,
        format=given.format,
        hostname=given.hostname,
        kernel=given.kernel,
        packages=tuple(given.package),
        keys=keys,
        password=password,
        autologin=given.autologin or not (keys or password),
        mirror=given.mirror,
    )


def _file(option: str, path: Path | None, parse: Callable[[str], T]) -> T | None:
    """The parsed file of an option, if it is given."""
    if path is None:
        return None
    try:
        return parse(path.read_text())
    except OSError as error:
        raise Refused(f"{option} {path}: {error.strerror}") from None
    except ValueError as error:
        raise Refused(f"{option} {path}: {error}") from None
