"""What an agent that is not the native one is told of itself."""

import subprocess
import sys
from dataclasses import replace

import pytest

from minion.native.prompt import instructions, mission
from minion.protocol import (
    AgentChoice,
    Bootstrap,
    Brief,
    Consultation,
    ConsultationKind,
    Finding,
    SkillText,
    Terms,
)
from tests.minion.conftest import ROOT
from tests.minion.session_api import make_brief

SKILLS = (SkillText(name="tests", description="How tests are written.", instructions="Use pytest."),)
FINDINGS = (Finding(check="tests", rule="red", message="m"),)
TERMS = Terms(contract="c", phase="build", commands=("git",), outcomes=("done", "red"), events=("flawed",))
NATIVE_NAMES = ("run_command", "read_file", "edit_file", "list_directory")


def brief_for(program: str, terms: Terms | None = None) -> Brief:
    choice = AgentChoice(name=program, program=program)
    return make_brief(skills=SKILLS, findings=FINDINGS, agent=choice, scope_reasons=("r",), terms=terms)


def told(brief: Brief) -> str:
    return f"{instructions(brief, 'F')}\n{mission(brief, 'F')}"


@pytest.mark.parametrize("program", ["claude-code", "aider", "acp"])
@pytest.mark.parametrize("terms", [None, TERMS])
def test_it_is_told_of_no_tool_that_it_has_not(program: str, terms: Terms | None) -> None:
    text = told(brief_for(program, terms=terms))
    assert [name for name in NATIVE_NAMES if name in text] == []
    assert text.count("OVERLORD_EVENT") == 4
    assert "{" not in instructions(brief_for(program, terms=terms), "F").replace('{"type"', "").replace(
        "{fence", ""
    )
    assert text == told(brief_for(program, terms=terms))


def test_the_sessions_own_tools_are_named_where_it_has_them() -> None:
    text = told(brief_for("claude-code", terms=TERMS))
    assert "MCP server overlord" in text
    assert "in task_complete's replies" in text
    assert "your shell starts these programs: git" in text
    assert "task_blocked takes an event: needs_escalation, flawed" in text
    assert "Use pytest." not in text


def test_one_without_tools_of_ours_has_lines_alone_and_reads_skills_at_once() -> None:
    text = told(brief_for("aider", terms=TERMS))
    assert [
        name for name in ("task_complete", "task_blocked", "ask_question", "use_skill", "MCP") if name in text
    ] == []
    assert "in PHASE_COMPLETE's replies" in text
    assert "PHASE_COMPLETE takes the outcome of your work: done, red" in text
    assert "Use pytest." in text


def test_a_consultation_is_answered_with_a_tool_of_the_server() -> None:
    asked = Consultation(kind=ConsultationKind.GATE, question="q", facts="f", choices=("a",))
    text = told(brief_for("codex", terms=replace(TERMS, consultation=asked)))
    assert "give_answer, a tool of the MCP server overlord" in text
    assert "OVERLORD_EVENT" not in text
    assert "run_command" not in text


def test_a_contract_is_proposed_as_by_the_native_agent() -> None:
    text = told(brief_for("codex", terms=replace(TERMS, bootstrap=Bootstrap.CONTRACT)))
    assert "propose_contract" in text


def test_a_native_session_imports_nothing_of_other_agents() -> None:
    code = (
        "import sys, minion.__main__, minion.native.work_session; "
        "print([name for name in sys.modules if name.startswith('minion.agents')])"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
