"""The daemon: signals, logs and the loop. It owns the process; SIGTERM and SIGINT end it, sessions go on and are found again."""

import asyncio
import logging
import signal
import sys

import structlog

from overlord.app import overlord
from overlord.settings import Settings


def configure_logs(*, json: bool, level: int = logging.INFO) -> None:
    """Log lines to standard error, as JSON or for a console. Local variables are never logged."""
    renderer: structlog.typing.Processor = structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
    )
    tracebacks: structlog.typing.Processor = structlog.processors.StackInfoRenderer()
    if json:
        renderer = structlog.processors.JSONRenderer()
        tracebacks = structlog.processors.ExceptionRenderer(
            structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            tracebacks,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
    )


async def serve(settings: Settings) -> None:
    """Run until told to stop."""
    stopped = asyncio.Event()
    async with overlord(settings) as running:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, _stop, stopped, running.bell.ring)
        structlog.get_logger().info(
            "serving",
            repositories=list(settings.repositories),
            runner=running.parts.runner.name,
            home=str(settings.home),
        )
        await running.run(stopped)


def _stop(stopped: asyncio.Event, ring: object) -> None:
    stopped.set()
    if callable(ring):
        ring()
