"""Templates: what they can use, and the headers of every answer. All text is escaped; a template says where a fragment is HTML."""

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from overlord.command_ref import CommandRef
from overlord.domain.inquiry import age_text
from overlord.domain.text.plain import count, visible
from overlord.domain.view.html import Links, html
from overlord.domain.view.span import Issue
from overlord.domain.view.view import View
from overlord.queries import registry as queries
from overlord.verbs.typed_words import typed_words

HERE = Path(__file__).parent
SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Templates:
    """The page's templates, compiled once."""

    def __init__(self, web: str) -> None:
        """`web` is where repositories are shown to people; empty where nobody knows."""
        self._links = PageLinks(web)
        self._environment = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters |= {
            "age": age,
            "count": count,
            "plain": visible,
            "view": self._view,
            "moment": moment,
            "ticked": ticked,
            "path": lambda text: quote(text, safe="/"),
        }
        self._environment.globals |= {"version": version("overlord"), "links": self._links}

    def response(self, name: str, values: Mapping[str, Any], *, status: int = 200) -> HTMLResponse:
        """A page or a part of one."""
        text = self._environment.get_template(name).render(values)
        return HTMLResponse(text, status, headers={"cache-control": "no-store"})

    def _view(self, view: View) -> Markup:
        return Markup(html(view, typed_words, links=self._links))  # noqa: S704 - its renderer escapes all text


_PAGES = {"initiative": "/initiatives/", "task": "/tasks/", "note": "/knowledge/"}
"""Queries that have a page of their own, with what they are about."""


class PageLinks(Links):
    """Where the page leads from what a view names."""

    def __init__(self, web: str) -> None:
        self._web = web

    def command(self, ref: CommandRef) -> str:
        """A look is a page of its own; an act is not a link."""
        if ref.name not in queries.names():
            return ""
        if (page := _PAGES.get(ref.name)) is not None:
            return f"{page}{quote(ref.arguments[0], safe='')}" if ref.arguments else page.rstrip("/")
        words = {"words": " ".join(ref.arguments)} if ref.arguments else {}
        return f"/look/{ref.name}{f'?{urlencode(words)}' if words else ''}"

    def issue(self, space: str, number: int) -> str:
        """An issue's page at the forge; of the job of a call, the call's page here."""
        if call := Issue(space, number).call:
            return self.command(CommandRef("call", (call,)))
        return f"{self._web}/{space}/issues/{number}" if self._web else ""

    @staticmethod
    def issue_words(space: str, number: int) -> str:
        """How an issue is written, or a call."""
        return Issue(space, number).words

    def pull(self, space: str, number: int) -> str:
        return f"{self._web}/{space}/pull/{number}" if self._web else ""


def age(at: datetime | None, now: datetime) -> str:
    """How long ago, in one unit."""
    return age_text(max((now - at).total_seconds(), 0.0)) if at is not None else ""


def ticked(text: str) -> Markup:
    """A sentence of ours, with what stands between backticks as code."""
    pieces = enumerate(visible(text).split("`"))
    return Markup().join(
        Markup("<code>{}</code>").format(piece) if number % 2 else piece for number, piece in pieces
    )


def moment(at: datetime | str) -> Markup:
    """A time that each browser shows by its own clock; words that are no time are shown as they are."""
    try:
        utc = (datetime.fromisoformat(at) if isinstance(at, str) else at).astimezone(UTC)
    except (ValueError, OverflowError):
        return Markup(escape(visible(str(at))))  # noqa: S704 - escaped
    return Markup('<time datetime="{}">{}</time>').format(
        utc.isoformat(timespec="seconds"), f"{utc.day} {utc:%b %H:%M} UTC"
    )
