"""Queries are declared once: a new one is one file, and every interface has it."""

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from overlord.domain.interface import Interface
from overlord.domain.text.reference import IssueRef
from overlord.engine.chat.chat_command import chat_command, usages
from overlord.engine.chat.chat_view import chat_view
from overlord.engine.conversation.comment_command import command_in, usage
from overlord.entrypoints.cli.command_list import app as overlord_app
from overlord.entrypoints.cli.lazy_group import LazyGroup
from overlord.entrypoints.cli.verb_list import add_queries
from overlord.queries import declared, registry
from overlord.queries.look import Look
from overlord.queries.registry import Question
from overlord.settings.load import load
from tests.architecture import query_schemas
from tests.records import NOW

NEW = '''"""How tall a job is.

In metres.
"""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import JobArgument
from overlord.domain.text.reference import Target
from overlord.domain.view.span import Bold
from overlord.domain.view.view import Paragraph, View
from overlord.queries.look import Look
from overlord.queries.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class OfJob:
    job: Annotated[Target | None, JobArgument()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Height:
    metres: int


def _read(look: Look, arguments: OfJob) -> Height:
    return Height(metres=3)


def _view(look: Look, height: Height) -> View:
    return View(summary="Height", parts=(Paragraph((Bold(str(height.metres)), " m")),), has_title=True)


QUERY = Query(
    read=_read, view=_view, arguments=OfJob, usage="height #42", means="how tall its job is", position=99
)
'''


@pytest.fixture
def measured(tmp_path: Path) -> Iterator[None]:
    """One file more among the queries."""
    (tmp_path / "height.py").write_text(NEW)
    declared.__path__.append(str(tmp_path))
    registry.find.cache_clear()
    yield
    declared.__path__.remove(str(tmp_path))
    registry.find.cache_clear()
    sys.modules.pop(f"{declared.__name__}.height", None)


@pytest.mark.usefixtures("measured")
def test_a_new_query_is_one_file_and_every_interface_has_it() -> None:
    question = chat_command("height #42")
    assert isinstance(question, Question)
    assert question.arguments.job == IssueRef(number=42)  # type: ignore[attr-defined]
    assert ("height #42", "how tall its job is") in [(item.form, item.means) for item in usages()]
    look = Look(connection=sqlite3.connect(":memory:"), current_settings=lambda: load({}), at=NOW)
    assert chat_view(question.view(look), web="").parts[0].text == "Height"  # type: ignore[union-attr]

    asked = command_in("/overlord height")
    assert asked is not None and asked.question is not None and asked.question.name == "height"
    assert "`height`" in usage()

    app = typer.Typer(cls=LazyGroup, add_completion=False)
    add_queries(app)
    assert "How tall a job is." in CliRunner().invoke(app, ["--help"]).output
    shown = CliRunner().invoke(app, ["height", "--help"]).output
    assert "In metres." in shown and "--json" in shown and "--repo" in shown
    assert CliRunner().invoke(app, ["height", "nobody"]).exit_code == 2

    assert query_schemas.schema("height")["properties"] == {"metres": {"title": "Metres", "type": "integer"}}


@pytest.mark.parametrize("name", registry.offered(Interface.TERMINAL))
def test_every_query_is_a_command_where_it_says(name: str) -> None:
    words = (registry.find(name).terminal or name).split()
    shown = CliRunner().invoke(overlord_app, [*words, "--help"])
    assert shown.exit_code == 0 and "--json" in shown.output


def test_queries_are_told_apart() -> None:
    queries = registry.queries()
    assert len({query.position for query in queries.values()}) == len(queries)
    for name in queries:
        assert registry.help_of(name).partition("\n")[0].endswith(".")
    assert set(registry.offered(Interface.COMMENT)) == {"why", "cost"}


def test_the_published_schemas_are_those_of_the_values() -> None:
    published = {path.name: path.read_text(encoding="utf-8") for path in query_schemas.FOLDER.glob("*.json")}
    assert published == query_schemas.files(), "run `python -m tests.architecture.query_schemas`"
