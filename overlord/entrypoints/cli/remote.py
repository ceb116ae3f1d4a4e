"""A daemon elsewhere: queries and verbs over its HTTP API (`overlord --url … --token …`), shown as those of this machine."""

import json
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
import typer

from overlord.command_ref import CommandRef, Hint
from overlord.domain.text.plain import visible
from overlord.domain.view.view_json import NoView, view_of
from overlord.entrypoints.cli.query_document import show_yaml, write_graph
from overlord.entrypoints.cli.query_form import Form
from overlord.entrypoints.invocation import TOKEN, chosen_address
from overlord.entrypoints.terminal.show import as_json, error_console, line, show_text
from overlord.entrypoints.terminal.view_text import show_view
from overlord.errors import ExternalServiceError, NotFound, OverlordError, Refused, SettingsError
from overlord.queries.registry import Question
from overlord.settings.chat import LOOPBACK
from overlord.verbs.argument_json import json_of
from overlord.verbs.registry import Command
from overlord.verbs.typed_words import typed_words

PREFIX = "/api/v1"
TIMEOUT_S = 30.0
TRIES = 2
MOST_TOKEN = 500
_KINDS: Mapping[str, type[OverlordError]] = {
    "not-found": NotFound,
    "refused": Refused,
    "not-allowed": Refused,
    "key-used": Refused,
    "not-signed-in": Refused,
    "too-many-tries": Refused,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """Where a daemon's page is, and who asks it."""

    url: str
    token: str

    def show(self, question: Question, form: Form, path: str = "") -> None:
        """Print what a query shows there, or write it to the file that is named. Raises what `_asked` raises."""
        kind, name = ("views" if form in (Form.VIEW, Form.SVG) else "queries"), question.name
        answer = self._asked(
            "GET",
            f"/{kind}/{name}{'.csv' if form is Form.CSV else ''}",
            params={
                key: str(value).lower() if isinstance(value, bool) else value
                for key, value in json_of(question.arguments).items()
            },
        )
        match form:
            case Form.CSV:
                print(visible(answer.text), end="")
            case Form.JSON:
                as_json(_json(answer))
            case Form.YAML:
                show_yaml(question, _json(answer))
            case Form.VIEW | Form.SVG:
                try:
                    view = view_of(_json(answer))
                except NoView as error:
                    raise ExternalServiceError(f"{self.url} answered what is no view: {error}") from None
                if form is Form.SVG:
                    write_graph(view, path)
                else:
                    show_view(view)

    def give(self, command: Command, *, digest: str, wait_s: float) -> None:
        """Have a verb done there, once, and show what came of it. Raises what `_asked` raises."""
        body: dict[str, Any] = {"arguments": json_of(command.arguments)}
        if digest:
            body["digest"] = digest
        headers = {"idempotency-key": str(uuid.uuid4())}
        if wait_s:
            headers["prefer"] = f"wait={round(wait_s)}"
        answer = self._asked(
            "POST",
            f"/verbs/{command.name}",
            json=body,
            headers=headers,
            timeout=TIMEOUT_S + wait_s,
        )
        done = _json(answer)
        said, hint = str(done.get("text", "")), _hint(done.get("hint"))
        if hint is not None:
            said = f"{said.rstrip('.')}; {hint.worded(typed_words)}."
        if said:
            show_text(line(said))
        if done.get("secret"):
            show_text(str(done["secret"]))

    def _asked(self, method: str, path: str, **more: Any) -> httpx.Response:
        """What is answered. Raises NotFound, Refused, ExternalServiceError, typer.BadParameter.

        It is asked twice where no answer came: a verb's key keeps it from being carried out twice.
        """
        headers = {"authorization": f"Bearer {self.token}", **more.pop("headers", {})}
        more.setdefault("timeout", TIMEOUT_S)
        for left in reversed(range(TRIES)):
            try:
                answer = httpx.request(
                    method, f"{self.url}{PREFIX}{path}", headers=headers, follow_redirects=False, **more
                )
            except httpx.HTTPError as error:
                if left:
                    time.sleep(0.5)
                    continue
                why = str(error) or type(error).__name__
                raise ExternalServiceError(f"{self.url} does not answer: {why}") from None
            break
        if not answer.is_success:
            raise _problem(self.url, answer)
        return answer


def chosen_remote() -> Remote:
    """The daemon elsewhere that is meant. Raises SettingsError for what is no address or no token."""
    url, token = chosen_address()
    _check_url(url)
    if not token:
        raise SettingsError(f"there is no token for {url}: give it with --token, or in {TOKEN}")
    if not token.isascii() or token.split() != [token] or len(token) > MOST_TOKEN:
        raise SettingsError("that is no token: it is one word, as `overlord token create` shows it")
    return Remote(url=url, token=token)


def _check_url(url: str) -> None:
    """Raises SettingsError for what is no address of a page."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address, parts = False, urlsplit("")
    if not is_address or parts.query or parts.fragment or parts.username:
        raise SettingsError("give the address of an Overlord's page, as https://overlord.example.org")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        said = "overlord: the token is sent unencrypted; whoever is on the way can read it. Use https."
        error_console.print(said, markup=False, soft_wrap=True)


def _json(answer: httpx.Response) -> Any:
    try:
        return json.loads(answer.content)
    except (ValueError, RecursionError):
        raise ExternalServiceError(f"{answer.url.host} answered what is no JSON") from None


def _problem(url: str, answer: httpx.Response) -> Exception:
    """What went wrong there, as the error it would be here."""
    try:
        body = answer.json()
        kind, detail = str(body["type"]).rpartition(":")[2], str(body["detail"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ExternalServiceError(
            f"{url} answered {answer.status_code} and is no Overlord, or something before it did"
        )
    if kind == "not-understood":
        field = str(body.get("field") or "")
        examples = [str(item) for item in body.get("examples") or ()]
        about, instead = f"{field}: " if field else "", f" As: {', '.join(examples)}." if examples else ""
        return typer.BadParameter(line(f"{about}{detail}{instead}"))
    made = _KINDS.get(kind, ExternalServiceError)
    return made(line(detail), hint=_hint(body.get("hint")), kept=str(body.get("kept") or ""))


def _hint(parts: Any) -> Hint | None:
    """What can be done, as it was sent; None for nothing."""
    if not isinstance(parts, list) or not parts:
        return None
    return Hint(tuple(_hint_part(part) for part in parts))


def _hint_part(part: Any) -> str | CommandRef:
    if not isinstance(part, Mapping):
        return str(part)
    return CommandRef(str(part.get("command")), tuple(str(word) for word in part.get("arguments") or ()))
