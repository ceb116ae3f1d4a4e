"""The tools with which a session of a repository's first job proposes a contract and records what it read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from minion.errors import ToolError
from minion.native.model import ToolCall
from minion.native.prompt import MISSION, layers
from minion.protocol import (
    DISCOVERY_PATH,
    Bootstrap,
    Consultation,
    ConsultationKind,
    Outcome,
    PlanFile,
    Scope,
    Terms,
)
from minion.tools.registry import perform, schemas_of, tools_of
from tests.minion.conftest import make_session
from tests.minion.session_api import SessionApi, call, cut, done, make_brief, status

MakeDoor = Callable[..., SessionApi]
Run = Callable[..., int]

FILES = {"calc.py": "x = 1\n"}
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"roles": {"$ref": "#/$defs/Roles"}},
        "required": ["roles"],
        "$defs": {"Roles": {"type": "object"}},
    }
)
VALID = {"contract": "small", "roles": {"minion": {}}}
YAML = "contract: small\nroles:\n  minion: {}\n"
SCOPES = (
    Scope.unrestricted(),
    Scope(patterns=("vision.md",)),
    Scope(patterns=("plan/contract.yaml", "*.md")),
)


def terms(bootstrap: Bootstrap | None, **more: Any) -> Terms:
    return Terms(contract="first", phase="propose", bootstrap=bootstrap, **more)


CONTRACT, DISCOVERY = terms(Bootstrap.CONTRACT, contract_schema=SCHEMA), terms(Bootstrap.DISCOVERY)


def judged(*problems: str, left: int = 11, yaml: str = YAML) -> bytes:
    return json.dumps({"valid": not problems, "problems": problems, "yaml": yaml, "left": left}).encode()


def recorded(
    *accepted: str, refused: tuple[str, ...] = (), unrecorded: tuple[str, ...] = (), left: int = 29
) -> bytes:
    said = {"recorded": accepted, "refused": refused, "unrecorded": unrecorded, "open": 2, "left": left}
    return json.dumps({**said, "text": "# Discovery\n"}).encode()


def propose(contract: object = VALID) -> bytes:
    return call("propose_contract", contract=contract)


def sent(session_api: SessionApi) -> list[Any]:
    return [value["contract"] for _, value in session_api.recorded]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (CONTRACT, {"propose_contract"}),
        (DISCOVERY, {"record_discovery"}),
        (terms(Bootstrap.CONTRACT, tools=("read_file",)), {"propose_contract"}),
        (terms(None), set()),
        (
            terms(
                Bootstrap.DISCOVERY,
                consultation=Consultation(
                    kind=ConsultationKind.RESOLUTION, question="q", facts="f", choices=("guidance",)
                ),
            ),
            set(),
        ),
    ],
)
def test_a_session_has_the_one_tool_of_what_it_records(given: Terms, names: set[str]) -> None:
    known = tools_of(make_brief(terms=given))
    assert known.keys() & {"propose_contract", "record_discovery"} == names


def test_the_schema_of_a_contract_is_the_one_of_the_terms() -> None:
    [tool] = [
        tool["function"]
        for tool in schemas_of(make_brief(terms=CONTRACT))
        if tool["function"]["name"] == "propose_contract"
    ]
    contract = tool["parameters"]["properties"]["contract"]
    assert contract["type"] == "object"
    assert contract["required"] == ["roles"]
    assert contract["description"]
    check = Draft202012Validator(tool["parameters"]).is_valid
    assert check({"contract": VALID})
    assert not check({"contract": {"roles": 7}}), "what it refers to is found"
    [without] = tools_of(make_brief(terms=terms(Bootstrap.CONTRACT)))["propose_contract"].parameters
    assert without.schema() == {"type": "object", "description": "The whole contract."}


@pytest.mark.parametrize("scope", SCOPES)
def test_a_contract_is_mended_until_it_is_valid(make_door: MakeDoor, run: Run, scope: Scope) -> None:
    """What is kept lies in the plan, whatever the scope says of it, and is no change outside the scope."""
    session_api = make_door(FILES, terms=CONTRACT, scope=scope)
    session_api.record_answers = [
        judged("rule 4: nobody reviews", "roles.x: unknown", yaml="a: b\n"),
        judged(left=10),
    ]
    session_api.will(
        propose({"roles": {}}),
        call("read_file", path="plan/contract.yaml"),
        propose(),
        call("read_file", path="plan/contract.yaml"),
        done(),
    )
    assert run(session_api) == 0
    assert session_api.report.outcome is Outcome.COMPLETE
    assert session_api.report.turns == 5, "nothing was held against it at the end"
    assert sent(session_api) == [{"roles": {}}, VALID]
    assert session_api.tool_results(1) == [
        "The contract is not valid, with 2 problems. plan/contract.yaml has the best one so far. 11 proposals are left: "
        "mend each problem and call propose_contract with the whole contract again.\n"
        "1. rule 4: nobody reviews\n2. roles.x: unknown"
    ]
    assert "a: b" in session_api.tool_results(2)[0]
    assert session_api.tool_results(3) == [
        "The contract is valid and kept as plan/contract.yaml: end the session with task_complete."
    ]
    assert "contract: small" in session_api.tool_results(4)[0]
    pushed = session_api.files() if session_api.report.head else {}
    opened = "plan/contract.yaml" in scope.patterns
    assert pushed.get("plan/contract.yaml", "") == (YAML.strip() if opened else "")


def test_what_no_save_may_hold_is_in_none(make_door: MakeDoor, run: Run) -> None:
    plan = (PlanFile(path="plan/rules.md", text="r"), PlanFile(path="plan/contract.yaml", text="old"))
    session_api = make_door(FILES, terms=terms(Bootstrap.CONTRACT, plan=plan))
    session_api.record_answers = [judged()]
    session_api.will(propose(), call("write_file", path="a.md", content="x"), done())
    assert run(session_api) == 0
    assert set(session_api.files()) == {"calc.py", "a.md"}


@pytest.mark.parametrize("scope", SCOPES)
def test_nothing_but_its_tool_writes_the_contract(tmp_path: Path, scope: Scope) -> None:
    session = make_session(tmp_path, FILES, terms=CONTRACT, scope=scope)
    with pytest.raises(ToolError, match="has what was recorded"):
        perform(
            session,
            ToolCall(id="1", name="write_file", arguments={"path": "plan/contract.yaml", "content": "x"}),
        )


@pytest.mark.parametrize(
    "command",
    [
        "mkdir -p plan; echo mine > plan/contract.yaml",
        "mkdir -p plan/contract.yaml/deep",
        "ln -s /tmp plan",
        "mkdir plan; ln -s ../calc.py plan/contract.yaml",
        "echo x > plan",
    ],
)
def test_whatever_lies_there_makes_room(make_door: MakeDoor, run: Run, command: str) -> None:
    session_api = make_door(FILES, terms=CONTRACT, scope=Scope(patterns=("plan/contract.yaml",)))
    session_api.record_answers = [judged()]
    session_api.will(call("run_command", command=command), propose(), done())
    assert run(session_api) == 0
    assert session_api.files() == {"calc.py": "x = 1", "plan/contract.yaml": YAML.strip()}


@pytest.mark.parametrize(
    ("given", "arrives"),
    [
        (json.dumps(VALID), VALID),
        ({"contract": VALID}, VALID),
        (YAML, {"yaml": YAML}),
        (f"```yaml\n{YAML}```", {"yaml": YAML}),
        (f"```json\n{json.dumps(VALID)}\n```\n", VALID),
        ({}, {}),
        ({"roles": "\ud800"}, {"roles": "?"}),
        ("[" * 100_000, {"yaml": "[" * 100_000}),
    ],
)
def test_what_models_commonly_send_is_understood(
    make_door: MakeDoor, run: Run, given: object, arrives: object
) -> None:
    session_api = make_door(FILES, terms=CONTRACT)
    session_api.record_answers = [judged()]
    session_api.will(propose(given), done())
    assert run(session_api) == 0
    assert sent(session_api) == [arrives]


@pytest.mark.parametrize("given", [7, True, [VALID], "  "])
def test_what_is_no_contract_is_not_sent(tmp_path: Path, given: object) -> None:
    session = make_session(tmp_path, FILES, terms=CONTRACT)
    with pytest.raises(ToolError, match="contract must be an object"):
        perform(session, ToolCall(id="1", name="propose_contract", arguments={"contract": given}))


def test_a_contract_nested_without_end_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    session = make_session(tmp_path, FILES, terms=CONTRACT)
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(ToolError, match="nested too deep"):
        perform(session, ToolCall(id="1", name="propose_contract", arguments={"contract": deep}))


@pytest.mark.parametrize("proposals", [(), (judged("p"),)])
def test_an_end_without_a_valid_contract_is_refused_once(
    make_door: MakeDoor, run: Run, proposals: tuple[bytes, ...]
) -> None:
    session_api = make_door(FILES, terms=CONTRACT)
    session_api.record_answers = [*proposals]
    session_api.will(*(propose() for _ in proposals), done(), done("as it is"))
    assert run(session_api) == 0
    [said] = session_api.tool_results(len(proposals) + 1)
    assert said.startswith("Error: No contract was proposed, or the last one is not valid.")
    assert session_api.report.outcome is Outcome.COMPLETE
    assert session_api.report.summary == "as it is"


def test_an_end_after_the_last_proposal_is_taken(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, terms=CONTRACT)
    session_api.record_answers = [judged("p", left=0)]
    session_api.will(propose(), done())
    assert run(session_api) == 0
    assert "No proposal is left: end the session with task_complete" in session_api.tool_results(1)[0]
    assert session_api.report.turns == 2


def test_a_valid_contract_that_was_made_worse_is_not_settled(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, terms=CONTRACT)
    session_api.record_answers = [judged(), judged("p"), judged()]
    session_api.will(propose(), propose({}), done(), propose(), done())
    assert run(session_api) == 0
    assert session_api.tool_results(3)[0].startswith("Error: No contract")
    assert session_api.report.turns == 5


@pytest.mark.parametrize("code", [400, 403, 409, 413, 422, 429])
def test_a_refusal_is_told_to_the_model(make_door: MakeDoor, run: Run, code: int) -> None:
    session_api = make_door(FILES, terms=CONTRACT)
    session_api.record_answers = [status(code, "why", "in words"), judged()]
    session_api.will(propose(), propose(), done())
    assert run(session_api) == 0
    assert session_api.tool_results(1) == [f"Error: Nothing was recorded: in words ({code} why)"]
    assert session_api.report.turns == 3


def test_an_answer_that_was_cut_is_asked_for_again(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, terms=CONTRACT)
    session_api.record_answers = [cut, status(503), judged()]
    session_api.will(propose(), done())
    assert run(session_api) == 0
    assert sent(session_api) == [VALID] * 3
    assert session_api.report.outcome is Outcome.COMPLETE


def test_what_was_read_is_recorded(make_door: MakeDoor, run: Run) -> None:
    plan = (PlanFile(path="plan/discovery.md", text="old"),)
    session_api = make_door(
        FILES, terms=terms(Bootstrap.DISCOVERY, plan=plan), scope=Scope(patterns=("plan/notes.md",))
    )
    session_api.record_answers = [
        recorded("what: recorded", refused=("who: the quote is not in a.md",), unrecorded=("who", "where")),
        recorded("who: kept", "gap.1: added", left=0),
    ]
    answer = {"id": "what", "answer": "A calculator", "confidence": "High ", "source": "a.md", "quote": None}
    question = {"kind": "Conflict", "tier": "1", "section": "s", "ask": "Which?", "alternatives": "both"}
    session_api.will(
        call("record_discovery", answers=json.dumps(answer), questions=[json.dumps(question)]),
        call("record_discovery", answers=[{"id": "who", "tier": "4", "kind": 7, "alternatives": " "}]),
        call("read_file", path="plan/discovery.md"),
        call("write_file", path="plan/notes.md", content="n"),
        done(),
    )
    assert run(session_api) == 0
    assert session_api.recorded == [
        (
            DISCOVERY_PATH,
            {
                "answers": [{"id": "what", "answer": "A calculator", "confidence": "high", "source": "a.md"}],
                "questions": [
                    {"kind": "conflict", "tier": 1, "section": "s", "ask": "Which?", "alternatives": ["both"]}
                ],
            },
        ),
        (
            DISCOVERY_PATH,
            {"answers": [{"id": "who", "tier": "4", "kind": 7, "alternatives": []}], "questions": []},
        ),
    ]
    assert session_api.tool_results(1) == [
        "Recorded:\n- what: recorded\nRefused:\n- who: the quote is not in a.md\n"
        "Not looked at yet (2): who, where."
    ]
    assert session_api.tool_results(2) == [
        "Recorded:\n- who: kept\n- gap.1: added\nEvery id was looked at. End with task_complete once nothing else needs a question.\n"
        "No more can be recorded in this session: end it with task_complete."
    ]
    assert "# Discovery" in session_api.tool_results(3)[0]
    assert session_api.report.turns == 5, "what was recorded is no change outside the scope"
    assert session_api.files()["plan/discovery.md"] == "# Discovery"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "There is nothing to record"),
        ({"answers": [], "questions": []}, "There is nothing to record"),
        ({"answers": "no JSON"}, "answers must be a list of objects, not a string"),
        ({"answers": [{"id": "a"}, "b"]}, "answers must be a list of objects; item 2 is a string"),
        ({"questions": 7}, "questions must be a list of objects, not a number"),
        ({"questions": [None]}, "item 1 is null"),
        ({"answers": "[" * 100_000}, "answers must be a list of objects, not a string"),
    ],
)
def test_what_cannot_be_recorded_is_said(tmp_path: Path, arguments: dict[str, Any], said: str) -> None:
    session = make_session(tmp_path, FILES, terms=DISCOVERY)
    with pytest.raises(ToolError) as error:
        perform(session, ToolCall(id="1", name="record_discovery", arguments=arguments))
    assert said in str(error.value)


def test_a_repository_with_its_own_plan_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="has its own plan/"):
        make_session(tmp_path, {"plan/a": "b"}, terms=CONTRACT)


def test_what_is_to_be_recorded_is_told_in_words_of_ours() -> None:
    for bootstrap, tool in (
        (Bootstrap.CONTRACT, "propose_contract"),
        (Bootstrap.DISCOVERY, "record_discovery"),
    ):
        told = [
            part
            for part in layers(make_brief(terms=terms(bootstrap)), "F")
            if part.layer == MISSION and part.source == "program"
        ]
        assert len(told) == 1
        assert tool in told[0].text
    assert not [
        part
        for part in layers(make_brief(terms=terms(None)), "F")
        if part.layer == MISSION and part.source == "program"
    ]
