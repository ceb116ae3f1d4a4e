"""Log lines on standard error, plain for people or as JSON for programs: what each carries, and that no secret is in one.

Whatever is logged, by us or by a library, passes the same chain. The last step looks at the line as it is written, so that
nothing that was turned into text on the way (an exception, an object) gets past it. Local variables are never logged.
"""

import logging
import sys
import threading
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

import structlog
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, Processor

from overlord.domain.text.redaction import Redactor
from overlord.entrypoints.terminal.log_repeats import RepeatedEvents, RepeatedRecords, Repeats
from overlord.entrypoints.terminal.plain_lines import SENTENCE, is_terminal, plain_lines
from overlord.settings.watch import Log, LogFormat

log = structlog.get_logger()


class _Secrets:
    """What no line of this process may hold."""

    redactor = Redactor()
    values: frozenset[str] = frozenset()


def conceal(values: Iterable[str]) -> None:
    """Keep these values out of every line from now on, besides those that were named before."""
    _Secrets.values |= frozenset(values)
    _Secrets.redactor = Redactor(_Secrets.values)


def configure_logs(*, json: bool, level: int = logging.INFO, console: bool = False) -> None:
    """Send every line of this process to standard error: as plain sentences, unless with every field, as JSON or for a `console`.
    What libraries log counts from WARNING on."""
    chain: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: list[Processor] = [*_rendering(json=json, console=console), _without_secrets]
    repeats = Repeats()
    structlog.configure(
        processors=[*chain, RepeatedEvents(repeats), *last],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(RepeatedRecords(repeats))
    handler.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=[*chain, structlog.stdlib.add_logger_name],
            processors=[ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING), force=True)
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # what cannot be formatted would be printed as it is, past every chain
    sys.excepthook = _crashed
    threading.excepthook = _thread_crashed


def form_of(settings: Log, asked: LogFormat | None = None) -> LogFormat:
    """What the log looks like: as it is asked for, as the settings say, or as it fits who reads it."""
    wanted = asked or settings.format
    if wanted == "auto":
        return "plain" if is_terminal() else "json"
    return wanted


def configure_from(settings: Log, form: LogFormat | None = None) -> None:
    """As the settings say, or in the form that the command line asks for."""
    wanted = form_of(settings, form)
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    configure_logs(json=wanted == "json", console=wanted == "console", level=level)


def _rendering(*, json: bool, console: bool) -> list[Processor]:
    if not json and not console:
        return [structlog.processors.format_exc_info, _cleaned_event, plain_lines()]
    if console:
        renderer = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
        return [structlog.processors.StackInfoRenderer(), _cleaned_event, _for_programs, renderer]
    tracebacks = structlog.processors.ExceptionRenderer(
        structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    )
    return [tracebacks, _cleaned_event, _for_programs, structlog.processors.JSONRenderer()]


def _cleaned_event(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Without the secrets in texts as they are: a renderer may spell one in a way of its own."""
    return {name: value if name == "exc_info" else _cleaned(value) for name, value in event.items()}


def _for_programs(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """A fact in its fields alone: its sentence is made of them."""
    event.pop(SENTENCE, None)
    return event


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return _Secrets.redactor.redact(value)
    if isinstance(value, Mapping):
        return {_cleaned(name): _cleaned(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return _Secrets.redactor.redact(repr(value))


def _without_secrets(_logger: Any, _method: str, line: Any) -> str:
    return _Secrets.redactor.redact(str(line))


def _crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    log.critical("crashed", exc_info=(kind, error, trace))


def _thread_crashed(arguments: threading.ExceptHookArgs) -> None:
    if arguments.exc_value is not None:
        log.error(
            "thread_crashed", exc_info=(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)
        )
