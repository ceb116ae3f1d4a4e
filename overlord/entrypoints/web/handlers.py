"""The page's addresses: each reads what it shows in one look, or gives one verb and goes back to where it came from."""

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from overlord.domain.conversation.argument import CommandError
from overlord.domain.conversation.look_argument import DaySpan
from overlord.domain.identifiers import RepositoryName
from overlord.domain.interface import Interface
from overlord.domain.text.csv_rows import csv_text
from overlord.entrypoints.web.address import back, done_in, is_part, job_in, number_in, part_of
from overlord.entrypoints.web.form import form_of
from overlord.entrypoints.web.giving import (
    about_job,
    answer_in,
    command_in,
    fields_of,
    give,
    outcome_of,
    plain_answer,
    ref_in,
)
from overlord.entrypoints.web.pages import change
from overlord.entrypoints.web.pages import history as history_page
from overlord.entrypoints.web.pages import inbox as inbox_page
from overlord.entrypoints.web.pages import job as job_page
from overlord.entrypoints.web.pages import now as now_page
from overlord.entrypoints.web.pages import space as space_page
from overlord.entrypoints.web.render import Templates
from overlord.entrypoints.web.site import Site
from overlord.entrypoints.web.visitor import UNSEEN, NotSeen, Visitor
from overlord.errors import NotFound, Refused, StoreError
from overlord.queries import registry as queries
from overlord.queries import session as session_query
from overlord.queries.declared.trends import OfTrends
from overlord.queries.look import Look
from overlord.queries.registry import Question
from overlord.verbs import registry as verbs
from overlord.verbs.registry import Command, help_of
from overlord.verbs.right import OF_TOKEN
from overlord.verbs.typed_words import typed_words
from overlord.verbs.verb import Done

MOST_BATCH = 100
WORK_WAIT_S = 3.0
"""How long a page waits for what the forge says of work that is asked for; later, Now shows it."""


class Handlers:
    """Each takes a request of a visitor who is signed in."""

    def __init__(self, site: Site, templates: Templates) -> None:
        self._site, self._templates = site, templates

    # Looks

    async def now(self, request: Request, visitor: Visitor) -> Response:
        known = await self._site.known()
        found = await self._site.look(lambda look: now_page.now(look, known, visitor.spaces))
        return await self._page(request, visitor, "now", {"now": found})

    async def waiting(self, _request: Request, visitor: Visitor) -> Response:
        """How much waits for a person: what the navigation shows."""
        number = await self._site.look(lambda look: inbox_page.count(look, visitor.spaces))
        return HTMLResponse(str(number or ""))

    async def inbox(self, request: Request, visitor: Visitor) -> Response:
        found = await self._site.look(lambda look: inbox_page.inbox(look, visitor.spaces, visitor.actor))
        if found.is_news and not is_part(request):
            await self._site.note_seen(visitor, {item.decision.id: item.digest for item in found.waiting})
        return await self._page(request, visitor, "inbox", {"inbox": found})

    async def decision(self, request: Request, visitor: Visitor) -> Response:
        ref = ref_in(request.path_params["ref"])
        found = await self._site.look(lambda look: inbox_page.one(look, ref, visitor.actor))
        visitor.check_sees([found.space])
        return await self._page(request, visitor, "decision", {"item": found}, here="inbox")

    async def job(self, request: Request, visitor: Visitor) -> Response:
        found = await self._site.look(lambda look: job_page.story(look, job_in(request)))
        values = {"story": found, "ledger": self._site.verifier.known}
        return await self._of_job(request, visitor, found.head, "story", values)

    async def transcript(self, request: Request, visitor: Visitor) -> Response:
        number, session = job_in(request), request.query_params.get("session", "")
        home = self._site.running.parts.home
        first = number_in(request.query_params.get("first", "-1"))
        found = await self._site.look(lambda look: job_page.transcript(look, home, number, session, first))
        return await self._of_job(request, visitor, found.head, "transcript", {"transcript": found})

    async def diff(self, request: Request, visitor: Visitor) -> Response:
        number = job_in(request)

        def read(look: Look) -> Any:
            head = job_page.head(look, number)
            ran = session_query.sessions_of(look.connection, number)
            try:
                return head, session_query.change_of(look.connection, number), job_page.scope_of(ran), ""
            except NotFound as error:
                return head, None, None, str(error)

        head, changed, scope, why_not = await self._site.look(read)
        visitor.check_sees([head.job.space])
        shown = None
        if changed is not None:
            git = self._site.running.parts.git
            shown = await change.shown(git, RepositoryName(head.job.space), changed, scope)
        values = {"diff": shown, "why_not": why_not if head.job.call_number is not None else ""}
        return await self._of_job(request, visitor, head, "diff", values)

    async def checks(self, request: Request, visitor: Visitor) -> Response:
        found = await self._site.look(lambda look: job_page.checks(look, job_in(request)))
        return await self._of_job(request, visitor, found.head, "checks", {"checks": found})

    async def evidence(self, request: Request, visitor: Visitor) -> Response:
        number, digest = job_in(request), request.path_params["digest"]
        home = self._site.running.parts.home

        def read(look: Look) -> Any:
            head = job_page.head(look, number)
            visitor.check_sees([head.job.space])
            return job_page.file(look, home, number, digest)

        item, content = await self._site.look(read)
        name = f"job-{number}-{item.kind}-{digest[:12]}"
        disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
        headers = {"content-disposition": disposition}
        return Response(content, media_type="application/octet-stream", headers=headers)

    async def history(self, request: Request, visitor: Visitor) -> Response:
        asked = request.query_params
        wanted = history_page.Filter(
            words=asked.get("q", ""),
            space=asked.get("space", ""),
            state=asked.get("state", ""),
            before=max(0, number_in(asked.get("before", "0"))),
        )
        found = await self._site.look(lambda look: history_page.history(look, wanted, visitor.spaces))
        return await self._page(request, visitor, "history", {"history": found})

    async def trends(self, request: Request, visitor: Visitor) -> Response:
        question = _trends(request, visitor)
        chosen = question.arguments
        names = [name for name in self._site.running.parts.settings.repositories if visitor.sees(name)]
        rest = f"?{request.url.query}" if request.url.query else ""
        values = {"chosen": chosen, "spaces": names, "csv": f"/trends.csv{rest}", "days": list(DaySpan)}
        return await self._shown(request, visitor, question, "trends", values, here="trends")

    async def trends_csv(self, request: Request, visitor: Visitor) -> Response:
        """The same figures as rows, for a spreadsheet."""
        question = _trends(request, visitor)
        rows = await self._site.look(lambda look: list(question.csv(look)))
        headers = {"content-disposition": 'attachment; filename="trends.csv"'}
        return Response(csv_text(rows), media_type="text/csv; charset=utf-8", headers=headers)

    async def spaces(self, request: Request, visitor: Visitor) -> Response:
        if visitor.spaces:  # theirs alone
            return RedirectResponse(f"/spaces/{quote(visitor.spaces[0])}", 303)
        question = Question(name="spaces", arguments=queries.find("spaces").arguments())
        return await self._shown(request, visitor, question, "spaces", here="spaces")

    async def space(self, request: Request, visitor: Visitor) -> Response:
        name = f"{request.path_params['owner']}/{request.path_params['name']}"
        visitor.check_sees([name])
        found = await self._site.look(lambda look: space_page.space(look, name))
        values = {"view": found.settings, "contract": found.contract, "space": name}
        return await self._page(request, visitor, "space", values, here="spaces")

    async def look(self, request: Request, visitor: Visitor) -> Response:
        """Any query, with the words after its name as a chat has them."""
        name = request.path_params["query"]
        if name not in queries.names():
            raise NotFound("there is no such page")
        visitor.check_may(OF_TOKEN[queries.find(name).right], "")
        question = queries.question_of(name, request.query_params.get("words", ""), Interface.PAGE)
        return await self._shown(request, visitor, question, "look", here=name)

    async def verbs(self, request: Request, visitor: Visitor) -> Response:
        """Everything that can be done, each with a form of its own."""
        offered = [name for name in verbs.offered(Interface.PAGE) if visitor.may(verbs.find(name).right)]
        found = [(name, help_of(name).partition("\n")[0]) for name in offered]
        return await self._page(request, visitor, "verbs", {"verbs": found})

    async def verb(self, request: Request, visitor: Visitor) -> Response:
        """The form of a verb."""
        name = request.path_params["verb"]
        if name not in verbs.offered(Interface.PAGE):
            raise NotFound("there is no such verb")
        values = {
            "verb": name,
            "help": help_of(name),
            "fields": fields_of(name),
            "confirm": verbs.find(name).confirm,
            "is_allowed": visitor.may(verbs.find(name).right),
        }
        return await self._page(request, visitor, "verb", values)

    # Acts

    async def act(self, request: Request, visitor: Visitor) -> Response:
        """Give a verb by its form."""
        form = dict(await form_of(request))
        name = request.path_params["verb"]
        try:
            command = command_in(name, form)
        except KeyError:
            raise NotFound("there is no such verb") from None
        return await self._given(request, visitor, command, form)

    async def job_act(self, request: Request, visitor: Visitor) -> Response:
        """Give a verb about a job."""
        form = dict(await form_of(request))
        name, number = request.path_params["verb"], job_in(request)
        command = about_job(name, number, form.get("words", "").strip())
        return await self._given(request, visitor, command, form)

    async def answer(self, request: Request, visitor: Visitor) -> Response:
        """Answer what waits, as it was shown."""
        form = dict(await form_of(request))
        return await self._given(request, visitor, answer_in(form), form)

    async def answer_many(self, request: Request, visitor: Visitor) -> Response:
        """Say yes or no to several at once; each is bound to what was shown of it, and what was refused is said."""
        fields = await form_of(request)
        chosen = [value for name, value in fields if name == "chosen"][:MOST_BATCH]
        if (verb := dict(fields).get("verb")) not in {"approve", "reject"}:
            raise CommandError("Say approve or reject.")
        approves = verb == "approve"
        said: list[str] = []
        for item in chosen:
            label, _, digest = item.partition(" ")
            try:
                read = partial(plain_answer, label=label, approves=approves)
                done = await give(self._site, visitor, await self._site.look(read), digest)
                said.append(done.text)
            except (Refused, NotFound, CommandError, StoreError) as error:
                said.append(_worded(NotSeen(UNSEEN) if visitor.hides(error) else error))
        return back(request, visitor, " ".join(said) or "Nothing was chosen.")

    # What they share

    async def _given(
        self, request: Request, visitor: Visitor, command: Command, form: Mapping[str, str]
    ) -> Response:
        done = await give(self._site, visitor, command, form.get("digest", ""))
        said = _said(done)
        if done.work_request_id is not None or done.issue_request_id is not None:
            found = await outcome_of(self._site, done, wait_s=WORK_WAIT_S)
            said = found.worded(typed_words) if found is not None else said
        return back(request, visitor, said)

    async def _of_job(
        self, request: Request, visitor: Visitor, head: job_page.JobHead, tab: str, values: Mapping[str, Any]
    ) -> Response:
        visitor.check_sees([head.job.space])
        return await self._page(
            request, visitor, f"job_{tab}", {"head": head, "tab": tab, **values}, here="job"
        )

    async def _shown(
        self,
        request: Request,
        visitor: Visitor,
        question: Question,
        template: str,
        values: Mapping[str, Any] | None = None,
        *,
        here: str,
    ) -> Response:
        view = await self._site.look(question.view)
        return await self._page(
            request,
            visitor,
            template,
            {"view": view, "query": question.name, **(values or {})},
            here=here,
        )

    async def _page(
        self, request: Request, visitor: Visitor, name: str, values: Mapping[str, Any], *, here: str = ""
    ) -> Response:
        """A page, or the part of it that is fetched again when something has changed."""
        waiting = await self._site.look(lambda look: inbox_page.count(look, visitor.spaces))
        common = {
            "here": here or name,
            "at": self._site.now,
            "waiting": waiting,
            "csrf": visitor.csrf,
            "person": visitor.name,
            "visitor": visitor,
            "events": f"/events?after={self._site.live.number}",
            "waiting_url": "/waiting",
            "part": part_of(request),
            "done": done_in(request, visitor),
            "url": request.url.path,
        }
        folder = "parts/" if is_part(request) else ""
        return self._templates.response(f"{folder}{name}.html", {**common, **values})


def error_page(templates: Templates, visitor: Visitor | None, status: int, title: str, text: str) -> Response:
    """What cannot be shown or done, in words."""
    if visitor is None:
        return PlainTextResponse(f"{title}: {text}\n", status)
    values = {
        "here": "",
        "waiting": 0,
        "csrf": visitor.csrf,
        "person": visitor.name,
        "events": "/events",
        "waiting_url": "",
        "done": "",
        "heading": title,
        "text": text,
    }
    return templates.response("error.html", values, status=status)


def _trends(request: Request, visitor: Visitor) -> Question:
    """Raises CommandError for days that nobody asks for, NotAllowed for a repository somebody may not see."""
    asked = request.query_params
    if asked.get("days", DaySpan.MONTH) not in set(DaySpan):
        raise CommandError("Say 7, 30 or 90 days.")
    space = asked.get("space", "")
    visitor.check_sees([space])
    arguments = OfTrends(
        days=DaySpan(asked.get("days", DaySpan.MONTH)),
        model=asked.get("model", "")[:200],
        agent=asked.get("agent", "")[:200],
        space=space,
    )
    return Question(name="trends", arguments=arguments)


def _said(done: Done) -> str:
    return done.worded(typed_words) or "Done."


def _worded(error: Exception) -> str:
    if isinstance(error, CommandError):
        return f"{error} {' or '.join(error.examples)}".strip()
    worded = getattr(error, "worded", None)
    text = str(worded(typed_words)) if worded is not None else str(error)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def worded(error: Exception) -> str:
    """An error as a sentence."""
    return _worded(error)
