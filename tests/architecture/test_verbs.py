"""Verbs are declared once: a new one is one file, and every interface has it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from overlord.domain.interface import Interface
from overlord.domain.text.reference import IssueRef
from overlord.engine.chat.chat_command import chat_command, usages
from overlord.engine.conversation.comment_command import command_in, usage
from overlord.entrypoints.cli.lazy_group import LazyGroup
from overlord.entrypoints.cli.verb_list import add_verbs
from overlord.queries import registry as queries
from overlord.verbs import declared, registry
from overlord.verbs.registry import Command
from overlord.verbs.right import NotAllowed, Right, check_right
from tests.architecture import verb_table

NEW = '''"""Wave at a job.

Nothing comes of it.
"""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import JobArgument, WordsArgument
from overlord.domain.text.reference import Target
from overlord.errors import Refused
from overlord.failpoints import Failpoint
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    job: Annotated[Target | None, JobArgument()]
    how: Annotated[str, WordsArgument(missing="Say how.", help="How.")]


def _wave(context: Context, arguments: Wave) -> Done:
    return Done(text=f"Waved {arguments.how}.")


VERB = Verb(
    arguments=Wave,
    act=_wave,
    space=lambda context, arguments: context.job(arguments.job).space,
    right=Right.WRITER,
    usage="wave #42 gladly",
    means="wave at its job",
    position=99,
    failpoint=Failpoint.JOB_STOPPED,
)
'''


@pytest.fixture
def waving(tmp_path: Path) -> Iterator[None]:
    """One file more among the verbs."""
    (tmp_path / "wave.py").write_text(NEW)
    declared.__path__.append(str(tmp_path))
    registry.find.cache_clear()
    yield
    declared.__path__.remove(str(tmp_path))
    registry.find.cache_clear()
    sys.modules.pop(f"{declared.__name__}.wave", None)


@pytest.mark.usefixtures("waving")
def test_a_new_verb_is_one_file_and_every_interface_has_it() -> None:
    command = chat_command("wave #42 with both hands")
    assert isinstance(command, Command)
    assert vars_of(command) == {"job": IssueRef(number=42), "how": "with both hands"}
    assert ("wave #42 gladly", "wave at its job") in [(item.form, item.means) for item in usages()]

    asked = command_in("/overlord wave with both hands")
    assert asked is not None and asked.command is not None
    assert vars_of(asked.command) == {"job": None, "how": "with both hands"}
    assert "`wave gladly`" in usage()

    app = typer.Typer(cls=LazyGroup, add_completion=False)
    add_verbs(app)
    listed = CliRunner().invoke(app, ["--help"]).output
    assert "Wave at a job." in listed
    shown = CliRunner().invoke(app, ["wave", "--help"]).output
    assert "Nothing comes of it." in shown and "--repo" in shown
    assert CliRunner().invoke(app, ["wave", "nobody", "gladly"]).exit_code == 2


def vars_of(command: Command) -> dict[str, object]:
    names = command.arguments.__dataclass_fields__  # type: ignore[attr-defined]
    return {name: getattr(command.arguments, name) for name in names}


def test_verbs_are_told_apart() -> None:
    verbs = registry.verbs()
    assert len({verb.position for verb in verbs.values()}) == len(verbs)
    assert not verbs.keys() & queries.queries().keys()
    for name, verb in verbs.items():
        assert verb.usage.split()[0] == name
        assert registry.help_of(name).partition("\n")[0].endswith(".")


def test_the_page_of_verbs_is_as_they_are_declared() -> None:
    text = verb_table.PAGE.read_text(encoding="utf-8")
    assert text == verb_table.page(text), "run `python -m tests.architecture.verb_table`"


def test_what_approvers_alone_may_is_no_command_of_a_comment() -> None:
    offered = registry.offered(Interface.COMMENT)
    assert offered.keys() == {
        name
        for name, verb in registry.verbs().items()
        if verb.right <= Right.WRITER and Interface.COMMENT not in verb.gaps
    }
    assert registry.verbs()["pause"].gap(Interface.COMMENT)


@pytest.mark.parametrize("needed", Right)
@pytest.mark.parametrize("held", Right)
def test_who_may_less_than_is_needed_is_refused(needed: Right, held: Right) -> None:
    if held >= needed:
        check_right(needed, held, "no")
    else:
        with pytest.raises(NotAllowed, match="no"):
            check_right(needed, held, "no")
