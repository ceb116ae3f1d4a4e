"""What the embedded chat refuses, in Slack's own words: an error is a word in a JSON body, mostly with status 200."""

from collections.abc import Sequence
from typing import Any


class Problem(Exception):
    """A call that is answered with an error. People-side verbs raise it too."""

    def __init__(
        self,
        error: str,
        *,
        status: int = 200,
        messages: Sequence[str] = (),
        retry_after_s: int = 0,
        **more: Any,
    ) -> None:
        super().__init__(": ".join([error, *messages]))
        self.error = error
        self.status = status
        self.retry_after_s = retry_after_s
        """Seconds to wait, of a limit that was met."""
        self._messages = list(messages)
        self._more = more

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"ok": False, "error": self.error, **self._more}
        if self._messages:
            body["errors"] = [words.removeprefix("[ERROR] ") for words in self._messages]
            body["response_metadata"] = {"messages": self._messages}
        return body

    def headers(self) -> dict[str, str]:
        return {"retry-after": str(self.retry_after_s)} if self.retry_after_s else {}


def missing_field(name: str) -> Problem:
    """An argument that the method cannot do without."""
    return Problem("invalid_arguments", messages=[f"[ERROR] missing required field: {name}"])


def wrong_field(name: str, words: str) -> Problem:
    """An argument that is not what it must be."""
    return Problem("invalid_arguments", messages=[f"[ERROR] {words} [json-pointer:/{name}]"])


def limited(retry_after_s: int) -> Problem:
    """Too much at once."""
    return Problem("ratelimited", status=429, retry_after_s=retry_after_s)
