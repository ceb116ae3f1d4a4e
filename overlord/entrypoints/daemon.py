"""The daemon: signals and the loop. It owns the process; sessions go on without it and are found again.

SIGHUP lets it read its settings anew. SIGTERM and SIGINT let it end what is in flight, for a while; a second one, or too long a while, ends it as it stands.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable

import structlog

from overlord.app import Overlord, overlord
from overlord.entrypoints.chat.stand_in import with_chat
from overlord.entrypoints.chat.talk import talking
from overlord.entrypoints.fact_log import chronicled
from overlord.entrypoints.listen.listener import listening
from overlord.entrypoints.notify import Supervisor
from overlord.entrypoints.terminal.logs import conceal
from overlord.entrypoints.tracing import traced
from overlord.session_api.gateway.model_watch import ModelWatch
from overlord.settings.load import Settings

DRAIN_S = 9.0
"""How long it may take to end what is in flight: a container engine kills after ten seconds."""
CUT_SHORT = 130
"""The exit code of a daemon that ended as it stood; what it was at is repeated by the next one."""

log = structlog.get_logger()


async def serve(settings: Settings) -> None:
    """Run until told to stop. Raises Fenced when another daemon has taken over, and what `overlord()` raises."""
    conceal(settings.secrets())
    supervisor = Supervisor(os.environ)
    ending = _Ending(supervisor)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ending.ask)
    async with (
        with_chat(settings) as chat_settings,
        overlord(chat_settings) as running,
        traced(running) as tracer,
        chronicled(running, tracer),
        talking(running) as signed,
        listening(settings.listen, running, slack=signed),
        with_page(running),
        running.concurrently("models", ModelWatch(running.session_api.parts).follow),
    ):
        ending.wake = running.wakeup.notify

        def read_anew() -> None:
            running.renewal.ask()
            running.wakeup.notify()

        loop.add_signal_handler(signal.SIGHUP, read_anew)
        running.renewal.before_taken = lambda new: conceal(new.secrets())
        log.info(
            "serving",
            repositories=list(settings.repositories),
            runner=running.parts.runner.name,
            home=str(settings.home),
        )
        supervisor.notify("READY=1", f"STATUS=watches {', '.join(settings.repositories)}")
        async with supervisor.watching(running.pulse):
            await running.run(ending.asked)
    log.info("stopped")


@contextlib.asynccontextmanager
async def with_page(running: Overlord) -> AsyncIterator[str]:
    """The operator's page, where the settings ask for one; its libraries are loaded then alone."""
    if not running.parts.settings.page.address:
        yield ""
        return
    from overlord.entrypoints.mcp.http import mcp_route
    from overlord.entrypoints.web.server import page_served

    async with page_served(running, beside=mcp_route) as address:
        yield address


class _Ending:
    """What signals ask for."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.asked = asyncio.Event()
        self._supervisor = supervisor
        self.wake: Callable[[], None] = _nobody

    def ask(self) -> None:
        if self.asked.is_set():
            _leave("told twice")
        log.info("stopping", within_s=DRAIN_S)
        self._supervisor.notify("STOPPING=1", "STATUS=lets what is in flight end")
        self.asked.set()
        self.wake()
        asyncio.get_running_loop().call_later(DRAIN_S, _leave, "what is in flight does not end")


def _nobody() -> None:
    """The loop does not run yet."""


def _leave(why: str) -> None:
    """End at once, as a crash would: everything lasting is a whole transaction or can be repeated."""
    log.warning("cut_short", why=why)
    sys.stderr.flush()
    os._exit(CUT_SHORT)
