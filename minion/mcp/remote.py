"""An MCP server that has an address: Overlord asks it for the session, which knows its name and no more."""

import json
from collections.abc import Mapping
from typing import Any

from minion.errors import McpFailed, SessionApiRefused
from minion.protocol import MCP_PATH
from minion.session_api import SessionApi

ANSWER_S = 660.0
"""Longer than Overlord waits for any server: it says by itself when one does not answer."""


class RemoteTransport:
    """One server behind the session API."""

    def __init__(self, session_api: SessionApi, name: str) -> None:
        self._session_api = session_api
        self._path = f"{MCP_PATH}/{name}"

    def exchange(self, message: Mapping[str, Any], *, timeout_s: float) -> Mapping[str, Any] | None:  # noqa: ARG002
        """Send one message and return its answer; None to a notification. Overlord keeps the time. Raises McpFailed."""
        try:
            body = json.dumps(message).encode()
            answer = self._session_api.post(self._path, body, timeout_s=ANSWER_S)
            value = answer.json() if answer.body else None
        except SessionApiRefused as error:
            raise McpFailed(str(error)) from error
        except (ValueError, RecursionError):
            raise McpFailed("its answer cannot be read") from None
        return value if isinstance(value, dict) else None

    def close(self) -> None:
        self._session_api.close()
