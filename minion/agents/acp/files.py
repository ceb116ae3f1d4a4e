"""Files of the working copy, read and written for an agent that asks its client for them."""

import os
import stat
from pathlib import Path

from minion.agents.acp.call import plain_path
from minion.agents.acp.guard import Guard
from minion.agents.acp.wire import INVALID_PARAMS, REFUSED, RESOURCE_NOT_FOUND, Message, RequestRefused

MOST_BYTES = 4 * 1024 * 1024


def read_file(guard: Guard, params: Message) -> str:
    """The text of a file, or the lines of it that are wanted. Raises RequestRefused."""
    path = _path(params)
    if not guard.allows_read(path):
        raise RequestRefused(REFUSED, f"This session may not read {path[:200]}")
    place = guard.place(path)
    if not place.exists() and guard.allows_write(path):
        return ""  # Gemini CLI 0.61 takes every error for a file that cannot be made
    text, first, most = _content(place), params.get("line"), params.get("limit")
    if not isinstance(first, int) and not isinstance(most, int):
        return text
    begin = max(first, 1) - 1 if isinstance(first, int) else 0
    end = begin + max(most, 0) if isinstance(most, int) else None
    return "".join(text.splitlines(keepends=True)[begin:end])


def write_file(guard: Guard, params: Message) -> None:
    """Make or change a file. Raises RequestRefused; where that is for want of permission, `is_denied` says so."""
    path, text = _path(params), params.get("content")
    if not isinstance(text, str):
        raise RequestRefused(INVALID_PARAMS, "content must be a string")
    if not guard.allows_write(path):
        raise RequestRefused(REFUSED, f"This session may not change {path[:200]}", is_denied=True)
    place = guard.place(path)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        _replace(place, text)
    except OSError as error:
        raise RequestRefused(REFUSED, f"{path[:200]} cannot be written: {error.strerror}") from None


def _replace(place: Path, text: str) -> None:
    number = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    with os.fdopen(number, "wb") as file:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise OSError(0, "it is no plain file")
        file.truncate()
        file.write(text.encode("utf-8", "replace"))


def _content(place: Path) -> str:
    try:
        number = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(number, "rb") as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise RequestRefused(REFUSED, f"{place.name} is no plain file")
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise RequestRefused(RESOURCE_NOT_FOUND, f"Resource not found: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise RequestRefused(REFUSED, f"{place.name} is larger than {MOST_BYTES:,} bytes")
    return data.decode("utf-8", "replace")


def _path(params: Message) -> str:
    path = params.get("path")
    if not isinstance(path, str):
        raise RequestRefused(INVALID_PARAMS, "path must be a string")
    return plain_path(path)
