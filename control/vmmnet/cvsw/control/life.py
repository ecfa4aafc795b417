# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon: a controller with its sockets, from start to signal."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator

from vmmnet import service

from . import api
from .controller import Controller, Options
from .say import say


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
        with _named(f"--listen {options.host}:{options.port}"):
            switches = await asyncio.start_server(
                controller.serve_switch, options.host, options.port
            )
        await stack.enter_async_context(switches)
        with _named(f"--socket {options.socket}"):
            await stack.enter_async_context(api.serving(options.socket, controller))
        host, port = switches.sockets[0].getsockname()[:2]
        how = "ssl" if options.tls else "tcp"
        say(f"switches connect to {how}:{host}:{port}, commands to {options.socket}")
        controller.keeper.start()
        service.notify("READY=1")
        controller.wake()
        await stop.wait()
        service.notify("STOPPING=1")
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await controller.keeper.stop()


@contextlib.contextmanager
def _named(option: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StartError(f"{option}: {error.strerror or error}") from None
