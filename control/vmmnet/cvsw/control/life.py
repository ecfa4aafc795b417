# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon: a controller with its sockets, from start to signal."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator

from vmmnet import listen, service

from . import api
from .controller import Controller, Options
from .say import say

#: Seconds between two looks for interface and addresses, or for a place that cannot be bound.
_RETRY_AFTER = 0.5


class StartError(Exception):
    """The daemon cannot start; the message says why."""


def run(options: Options) -> None:
    """Run the daemon until a signal. Raises StartError and BadPlan."""

    async def life() -> None:
        controller = Controller(options)
        controller.keeper.load(options.plan)
        await _serve(controller, options)

    asyncio.run(life())


def _on_signals(controller: Controller) -> asyncio.Event:
    """SIGHUP reads the plan again; SIGINT and SIGTERM set the event."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    reloads = set[asyncio.Task[None]]()  # the loop has weak references only

    def reload() -> None:
        task = loop.create_task(controller.reload())
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    loop.add_signal_handler(signal.SIGHUP, reload)
    return stop


async def _serve(controller: Controller, options: Options) -> None:
    """Serve until a signal arrives."""
    stop = _on_signals(controller)
    async with contextlib.AsyncExitStack() as stack:
        first = _first(options)
        with _named(f"--socket {options.socket}"):
            await stack.enter_async_context(api.serving(options.socket, controller))
        say(f"commands come to {options.socket}")
        listening = asyncio.create_task(_listen(controller, options, first))
        stack.callback(listening.cancel)
        controller.keeper.start()
        service.notify("READY=1")
        controller.wake()
        await stop.wait()
        service.notify("STOPPING=1")
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await controller.keeper.stop()


def _first(options: Options) -> listen.Listeners | None:
    """Bind; None: something is missing that may come. Raises StartError."""
    with contextlib.suppress(listen.NotYet):
        with _named(f"--listen {listen.place(options.host, options.port)}"):
            return listen.bound(options.host, options.port)
    return None


async def _listen(controller: Controller, options: Options, bound: listen.Listeners | None) -> None:
    """Have switches connect, also at an interface that comes later, or that is made again."""
    where = listen.place(options.host, options.port)
    how, told = "ssl" if options.tls else "tcp", ""
    while True:
        try:
            bound = bound or listen.bound(options.host, options.port)
        except (listen.NotYet, OSError) as error:
            if str(error) != told:
                told = str(error)
                say(f"--listen {where} waits: {error}")
            await asyncio.sleep(_RETRY_AFTER)
            continue
        told = ""
        with contextlib.ExitStack() as stack:
            for each in bound.sockets:
                server = await asyncio.start_server(controller.serve_switch, sock=each)
                stack.callback(server.close)
                host, port = each.getsockname()[:2]
                say(f"switches connect to {how}:{listen.place(host, port)}")
            missing = tuple[str, ...]()
            while listen.index(options.host) == bound.index:
                before, missing = missing, bound.missing()
                for address in missing:
                    if address not in before:
                        say(f"--listen {where}: this host does not have {address}: no switch can"
                            " connect until it does")  # fmt: skip
                for address in before:
                    if address not in missing:
                        say(f"--listen {where}: this host has {address}")
                await asyncio.sleep(_RETRY_AFTER)
            say(f"--listen {where}: the interface has gone, or is another one")
        bound = None


@contextlib.contextmanager
def _named(option: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StartError(f"{option}: {error.strerror or error}") from None
