# SPDX-License-Identifier: GPL-2.0-or-later
"""How often a DNS query goes to and fro between the source files of vmmnet-dnsd.

``python3 -m lab.walk`` builds it with hooks at each function, asks it for an address, and counts. A
*stay* is work in one file without a break; a *return* is a stay in a file where the query was
before. Functions of headers are part of their callers. It needs root.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import dns.message
import dns.query

from .base import paths, scratch, wait

_HOOKS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define HOOK __attribute__((no_instrument_function)) void
static int trace;
__attribute__((constructor)) HOOK begin(void)
{
    trace = open(getenv("TRACE"), O_WRONLY | O_APPEND);
}
static HOOK put(char what, char *function)
{
    Dl_info where = { 0 };

    dladdr(function, &where);
    dprintf(trace, "%d %c %lx\n", gettid(), what,
            (unsigned long)(function - (char *)where.dli_fbase));
}
HOOK __cyg_profile_func_enter(void *function, void *from) { put('>', function); }
HOOK __cyg_profile_func_exit(void *function, void *from) { put('<', function); }
"""
_ZONE = "@ 60 IN SOA ns h 1 60 60 60 60\n@ 60 NS ns\nns 60 A 192.0.2.1\nwww 60 A 192.0.2.2\n"
_PORT = 5399
#: A round of a worker without a query has fewer stays.
_IDLE = 10


def build(folder: Path) -> Path:
    """Build vmmnet-dnsd and vmmnet-zone with hooks, and return their folder."""
    (folder / "hooks.c").write_text(_HOOKS)
    hooks = folder / "hooks.o"
    subprocess.run(["cc", "-fPIC", "-c", folder / "hooks.c", "-o", hooks], check=True)
    made = folder / "build"
    arguments = "-finstrument-functions -finstrument-functions-exclude-file-list=.h"
    options = ("-Dtests=false", "-Doptimization=0", "-Ddebug=true", f"-Dc_args={arguments}")
    setup = ["meson", "setup", str(made), str(paths.ROOT), *options, f"-Dc_link_args={hooks}"]
    for command in (setup, ["ninja", "-C", str(made), "programs-dns"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return made / "dnsd"


def rounds(program: Path, trace: Iterable[str]) -> list[list[str]]:
    """The rounds of the worker; each is a list of files, one for each stay."""
    events = [event.split() for event in trace]
    places = sorted({at for _, _, at in events})
    command: list[str | Path] = ["addr2line", "-f", "-e", program, *places]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    function = dict(zip(places, said[::2], strict=True))
    file = {at: each.rpartition(":")[0] for at, each in zip(places, said[1::2], strict=True)}
    worker = next(thread for thread, _, at in events if function[at] == "dnsd_udp_ready")
    found, stack = [list[str]()], list[str]()
    for thread, what, at in events:
        if thread != worker:
            continue
        if what == ">":
            stack.append(at)
        elif stack:
            stack.pop()
        if stack and found[-1][-1:] != [file[stack[-1]]]:
            found[-1].append(file[stack[-1]])
        if what == "<" and function[at] == "dnsd_connections_expire":
            found.append([])
    return found


def ask(programs: Path, folder: Path, edns: bool) -> list[str]:
    """The walk of a query for www.example."""
    trace = folder / "trace"
    trace.write_text("")
    trace.chmod(0o666)
    daemon = programs / "vmmnet-dnsd"
    command: list[str | Path] = [daemon, folder / "dnsd.yaml"]
    with subprocess.Popen(command, env={"TRACE": str(trace)}, stderr=subprocess.PIPE) as child:
        assert child.stderr is not None
        assert b"serving" in child.stderr.readline()
        # The first one checks a page of the image, too.
        for _ in range(2):
            question = dns.message.make_query("www.example", "A", use_edns=0 if edns else False)
            dns.query.udp(question, "127.0.0.1", wait.PATIENCE, _PORT)
        child.terminate()
    served = [each for each in rounds(daemon, trace.read_text().splitlines()) if len(each) > _IDLE]
    return served[-1]


def main() -> int:
    """Print the table."""
    with scratch.folder() as name:
        folder = Path(name)
        folder.chmod(0o755)
        programs = build(folder)
        image, text = folder / "example.vzi", folder / "example.zone"
        text.write_text(_ZONE)
        command: list[str | Path] = [
            programs / "vmmnet-zone",
            "compile",
            "example",
            text,
            "-o",
            image,
        ]
        subprocess.run(command, check=True, env={"TRACE": os.devnull}, stdout=subprocess.DEVNULL)
        server = {
            "listen": [f"127.0.0.1@{_PORT}"],
            "user": "nobody",
            "threads": 1,
            "control": "off",
        }
        zones = [{"name": "example", "image": str(image)}]
        (folder / "dnsd.yaml").write_text(json.dumps({"server": server, "zones": zones}))
        for edns in (False, True):
            stays = ask(programs, folder, edns)
            files = len(set(stays))
            print(
                f"a query with{'' if edns else 'out'} EDNS: stays {len(stays)}, files {files}, "
                f"returns {len(stays) - files}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
