# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet hostvlan``: its sub-commands and their exit statuses."""

from __future__ import annotations

import argparse

from vmmnet.architecture import HOST
from vmmnet.command.parser import Parser
from vmmnet.command.status import Refused, Status, carry_out, refuse
from vmmnet.etcd.errors import StoreError

from ..host.ports import PortsError
from ..table.filestore import DEFAULT, VARIABLE
from ..table.lnid import WORD
from ..table.table import TableError, TableMissing, TableUnsettled
from . import agent, convert, edit, host, hosts, move, roles, show

_BRIEF = "keep tenants apart: which VMs hear each other"
_TEXT = f"""\
Keep the tenants of a host apart. A table has the logical networks of each MAC
address; a logical network has a number, its LNID. VMs hear only VMs that are in
one of their own networks. '{WORD}' is for routers and other ports that serve
all tenants.

  vmmnet hostvlan add 52:54:00:00:00:01 7         two VMs of tenant 7
  vmmnet hostvlan add 52:54:00:00:00:02 7
  qemu-system-{HOST.qemu} … -netdev tap,id=tap0,… \\
      -netdev hostvlan,id=hv0,netdev=tap0,table={DEFAULT} \\
      -device virtio-net-pci,netdev=hv0,mac=52:54:00:00:00:01
  vmmnet hostvlan watch --qmp 'DIR/*.qmp'         what passes, what is dropped

Changes take effect at once, in all VMs that run with the table.

exit status: {Status.DONE:d}  done
             {Status.REFUSED:d}  it cannot be done; nothing is changed
             {Status.USAGE:d}  the command line is wrong
             {Status.FAULTS:d}  'check' has found a fault
             {Status.BEHIND:d}  the table is changed, but some ports or hosts do not use
                it yet; the message names them and says what to do
             {Status.UNWRITTEN:d}  the answer could not be written (a full disk); a change is
                made
             {Status.INTERRUPTED:d}  interrupted
environment: {VARIABLE}, the table; VMMNET_QMP, patterns of QMP sockets
"""


def add_command(rooms: argparse._SubParsersAction[Parser]) -> None:
    """Add ``hostvlan`` to the command ``vmmnet``."""
    parser = rooms.add_parser("hostvlan", help=_BRIEF, description=_TEXT)
    parser.set_defaults(execute=execute)
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    for module in (edit, show, host):
        module.add_commands(subparsers)
    for single in (agent, convert, hosts, move, roles):
        single.add_command(subparsers)


def execute(given: argparse.Namespace) -> int:
    """Run the sub-command of a parsed command line; returns its exit status."""
    try:
        return carry_out(given)
    except TableMissing as error:
        text = f"{error}: 'vmmnet hostvlan add' and 'import' make one"
        return refuse(given, "hostvlan", text)
    except TableUnsettled as error:
        return refuse(given, "hostvlan", str(error), Status.BEHIND)
    except (TableError, StoreError, PortsError, Refused) as error:
        return refuse(given, "hostvlan", str(error))
