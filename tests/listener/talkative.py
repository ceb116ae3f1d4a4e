"""A program that logs every secret of its settings in every way there is, and then crashes with one. Run by tests."""

import logging
import os
import sys
import threading
import warnings
from dataclasses import dataclass
from functools import partial

import structlog

from overlord.entrypoints.terminal.logs import conceal, configure_from
from overlord.settings.load import load


@dataclass
class Told:
    """An object that only a renderer turns into text."""

    secret: str


def say(secret: str) -> None:
    log = structlog.get_logger()
    log.info(secret, value=secret, nested={"a": [secret, {secret: secret}], "b": (secret,)}, number=1)
    log.warning(
        "objects", told=Told(secret), error=ValueError(secret), raw=secret.encode(), path=f"/x/{secret}/y"
    )
    library = logging.getLogger("some.library")
    library.warning("said %s of %r", secret, {"key": secret})
    library.warning("%d", secret)  # cannot be formatted
    library.info("not heard: %s", secret)
    warnings.warn(f"do not {secret}", stacklevel=1)
    try:
        inner(secret)
    except RuntimeError:
        log.exception("caught", also=secret)
        library.exception("caught %s", secret)
    thread = threading.Thread(target=partial(inner, secret))
    thread.start()
    thread.join()


def inner(secret: str) -> None:
    try:
        raise ValueError(f"inner {secret}")
    except ValueError as error:
        error.add_note(f"note {secret}")
        raise RuntimeError(secret) from error


settings = load(os.environ)
conceal(settings.secrets())
configure_from(settings.log.model_copy(update={"format": sys.argv[1]}))
for one in settings.secrets():
    say(one)
structlog.get_logger().info("bare", token="ghp_" + "a1B2" * 9)
raise RuntimeError(settings.secrets()[0])
