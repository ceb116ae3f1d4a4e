"""Queries and their views, each at an address of its own: `GET /queries/NAME` and `GET /views/NAME`."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.responses import Response

from overlord.domain.conversation.argument import arguments_of
from overlord.domain.interface import Interface
from overlord.domain.text.csv_rows import csv_text
from overlord.domain.view.view_json import VIEW_SCHEMA, view_json
from overlord.entrypoints.web.api.endpoint import Asked, Endpoint, Parameter
from overlord.queries import registry
from overlord.queries.look import Look
from overlord.queries.query import Query
from overlord.queries.registry import Question, help_of
from overlord.verbs.argument_json import argument_schema, is_needed, record_of
from overlord.verbs.right import OF_TOKEN


def query_endpoints() -> Iterator[Endpoint]:
    """Two for each query."""
    for name, query in registry.offered(Interface.API).items():
        shown = help_of(name).partition("\n")[0]
        of_query = partial(
            Endpoint,
            tag="queries",
            parameters=parameters_of(query.arguments),
            problems={404: "There is no such thing.", 409: "It could be several."},
            right=query.right.value,
        )
        yield of_query(
            path=f"/queries/{name}",
            answer=_answer(name, query, Question.value),
            summary=shown,
            returns=query.value,
        )
        yield of_query(
            path=f"/views/{name}",
            answer=_answer(name, query, lambda question, look: view_json(question.view(look))),
            summary=f"{shown} As a view: parts that any interface can show.",
            schema=VIEW_SCHEMA,
        )
        if query.csv is not None:
            yield of_query(
                path=f"/queries/{name}.csv",
                answer=_answer(name, query, _rows),
                summary=f"{shown} As rows for a spreadsheet.",
                media_type="text/csv",
            )


def _rows(question: Question, look: Look) -> Response:
    return Response(csv_text(question.csv(look)), media_type="text/csv")


def parameters_of(record: type) -> tuple[Parameter, ...]:
    """A record's arguments as parameters of an address."""
    return tuple(
        Parameter(name=name, schema=argument_schema(kind), is_needed=is_needed(record, name, kind))
        for name, kind in arguments_of(record)
    )


def _answer(name: str, query: Query, read: Callable[[Question, Look], Any]) -> Any:
    async def answer(asked: Asked) -> Any:
        question = _question(name, query, asked)

        def look_at(look: Look) -> Any:
            _check(asked, question, look)
            return read(question, replace(look, spaces=asked.visitor.spaces))

        return await asked.site.look(look_at)

    return answer


def _question(name: str, query: Query, asked: Asked) -> Question:
    given = dict[str, object](asked.request.query_params)
    return Question(name=name, arguments=record_of(query.arguments, given, query.typed(name, Interface.API)))


def _check(asked: Asked, question: Question, look: Look) -> None:
    """Raises NotAllowed, and NotSeen for what is about a repository they may not see."""
    asked.visitor.check_may(OF_TOKEN[registry.find(question.name).right], question.space(look))
