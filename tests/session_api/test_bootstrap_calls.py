"""The two calls of a repository's first job: what a session proposes or records is bounded, judged and kept, and never trusted."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest
import yaml

from minion.protocol import (
    CONTRACT_PATH,
    DISCOVERY_PATH,
    Bootstrap,
    Outcome,
    Report,
    SessionKind,
    Terms,
    encode,
)
from overlord.domain.bootstrap.proposal import HEADING
from overlord.domain.conversation.issue_request import RequestKind, RequestOptions
from overlord.domain.discovery.question import (
    Confidence,
    Discovery,
    ProjectKind,
    Question,
    RepositoryState,
    Status,
)
from overlord.domain.event import EventName
from overlord.domain.job import Job
from overlord.domain.session import Session
from overlord.session_api.bootstrap import MOST_PROPOSALS, MOST_RECORDINGS
from overlord.store import ledger, sessions
from overlord.store.bootstrap import contract_drafts, discoveries, issue_requests
from overlord.store.contracts import plan_files
from tests.domain.contract_texts import SMALL
from tests.records import NOW, REPO, a_brief
from tests.session_api.ground import Ground, visitor

DISCOVERY = Discovery(
    kind=ProjectKind.CLI,
    state=RepositoryState.HAS_CODE,
    questions=(
        Question(id="purpose", tier=1, section="Purpose", ask="What is it for?"),
        Question(id="users", tier=1, section="Purpose", ask="Who uses it?"),
    ),
)
DOCUMENT = "The calculator is for people in the office.\n"
TOKEN = "ghp_" + "a" * 36
WORSE = {"name": "x", "version": 2}
DEEP = "[" * 1_000 + "]" * 1_000


async def first_job(ground: Ground, number: int = 7, kind: RequestKind | None = RequestKind.INIT) -> Job:
    """A job whose issue a person asked for, with a discovery and a document that was given."""
    job = await ground.job(number)

    def ask(connection: Any) -> None:
        if kind is not None:
            issue_requests.request(
                connection,
                space=job.space,
                kind=kind,
                title="t",
                body="b",
                options=RequestOptions(),
                actor="cli:ada",
                at=NOW,
                issue_number=number,
            )
        plan = {"plan/documents/idea.md": DOCUMENT, "plan/discovery.md": "old"}
        plan_files.put(connection, job.id, plan, session_id="", at=NOW)
        discoveries.put(connection, job.id, DISCOVERY, at=NOW)

    await ground.database.write("by hand", ask)
    return job


async def at_work(
    ground: Ground, bootstrap: Bootstrap | None, job: Job | None = None, ordinal: int = 1
) -> Session:
    job = job or await first_job(ground)
    terms = Terms(contract="first", phase="p", bootstrap=bootstrap)
    brief = replace(
        a_brief(job, SessionKind.WORK, ordinal), base_sha=ground.base, head_sha=ground.base, terms=terms
    )
    return await ground.session(job, ordinal=ordinal, brief=encode(brief).decode())


async def post(ground: Ground, session: Session, path: str, body: Any) -> httpx.Response:
    async with visitor(ground, session) as inside:
        return await inside.post(path, body)


async def propose(ground: Ground, session: Session, contract: object) -> dict[str, Any]:
    response = await post(ground, session, CONTRACT_PATH, {"contract": contract})
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


async def record(ground: Ground, session: Session, **recording: Any) -> dict[str, Any]:
    response = await post(ground, session, DISCOVERY_PATH, recording)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def refusal(response: httpx.Response) -> str:
    message: str = response.json()["error"]["message"]
    return message


async def plan_of(ground: Ground, session: Session) -> Mapping[str, str]:
    return await ground.database.read(lambda c: plan_files.of_job(c, session.job_id))


async def events(ground: Ground, name: EventName) -> list[Mapping[str, Any]]:
    found = await ground.database.read(lambda c: list(ledger.entries(c)))
    return [entry.details for entry in found if entry.name == name]


async def draft_of(ground: Ground, session: Session) -> contract_drafts.ContractDraft | None:
    return await ground.database.read(lambda c: contract_drafts.of_job(c, session.job_id))


async def discovery_of(ground: Ground, session: Session) -> Discovery:
    found = await ground.database.read(lambda c: discoveries.of_job(c, session.job_id))
    assert found is not None
    return found


# A contract that is proposed.


async def test_a_valid_contract_is_kept_as_what_a_person_will_be_shown(ground: Ground) -> None:
    session = await at_work(ground, Bootstrap.CONTRACT)
    said = await propose(ground, session, SMALL)
    assert (said["valid"], said["problems"], said["left"]) == (True, [], MOST_PROPOSALS - 1)
    assert said["yaml"].startswith(HEADING)
    assert (await plan_of(ground, session))["plan/contract.yaml"] == said["yaml"]
    draft = await draft_of(ground, session)
    assert draft is not None
    assert (draft.text, draft.problems, draft.proposals) == (said["yaml"], (), 1)
    assert await events(ground, EventName.CONTRACT_PROPOSED) == [{"session": session.id, "problems": 0}]


async def test_every_problem_is_told_and_the_best_one_is_kept(ground: Ground) -> None:
    session = await at_work(ground, Bootstrap.CONTRACT)
    worse = await propose(ground, session, WORSE)
    assert not worse["valid"]
    assert len(worse["problems"]) > 1
    broken = await propose(ground, session, {**SMALL, "gates": {}})
    assert not broken["valid"]
    assert 0 < len(broken["problems"]) < len(worse["problems"])
    assert broken["yaml"] != worse["yaml"]
    again = await propose(ground, session, WORSE)
    assert again["problems"] == worse["problems"], "what is said is of this one"
    assert again["yaml"] == broken["yaml"], "what is kept is the best"
    assert again["left"] == MOST_PROPOSALS - 3
    counts = [event["problems"] for event in await events(ground, EventName.CONTRACT_PROPOSED)]
    assert counts == [len(said["problems"]) for said in (worse, broken, again)]


async def test_dollars_over_a_model_without_a_price_are_a_problem(ground: Ground) -> None:
    session = await at_work(ground, Bootstrap.CONTRACT)
    said = await propose(ground, session, {**SMALL, "lifetime": {"hours": 1, "usd": 3}})
    [problem] = said["problems"]
    assert problem.startswith("leave every `usd` out of the contract: lifetime.usd caps dollars")
    assert (await propose(ground, session, SMALL))["valid"]


async def test_a_contract_may_be_sent_as_yaml(ground: Ground) -> None:
    session = await at_work(ground, Bootstrap.CONTRACT)
    as_object = await propose(ground, session, SMALL)
    as_yaml = await propose(ground, session, {"yaml": json.dumps(SMALL)})
    assert as_yaml["valid"]
    assert as_yaml["yaml"] == as_object["yaml"]


@pytest.mark.parametrize("unreadable", [{"yaml": "a: [b"}, {"yaml": "\ud800"}, 7, "text: [", [SMALL]])
async def test_what_cannot_be_read_takes_no_readable_ones_place(ground: Ground, unreadable: object) -> None:
    """It has one problem, and what can be read has more: the number alone does not tell."""
    session = await at_work(ground, Bootstrap.CONTRACT)
    body = json.dumps({"contract": unreadable})
    first = (await post(ground, session, CONTRACT_PATH, body)).json()
    assert len(first["problems"]) == 1
    readable = await propose(ground, session, WORSE)
    assert len(readable["problems"]) > 1
    assert readable["yaml"].startswith(HEADING)
    last = (await post(ground, session, CONTRACT_PATH, body)).json()
    assert last["yaml"] == readable["yaml"]
    assert (await plan_of(ground, session))["plan/contract.yaml"] == readable["yaml"]
    assert last["left"] == MOST_PROPOSALS - 3


async def test_files_of_the_commit_are_looked_at(ground: Ground) -> None:
    """Read paths of a role are held against the repository: one that matches nothing is found only with its files."""
    session = await at_work(ground, Bootstrap.CONTRACT)
    phases = {name: dict(phase) for name, phase in SMALL["phases"].items()}
    first = next(iter(phases))
    there, missing = ({**SMALL, "phases": {**phases, first: {**phases[first], "inputs": [path]}}} for path in ("calc.py", "gone.py"))  # fmt: skip
    assert (await propose(ground, session, there))["problems"] == []
    [problem] = (await propose(ground, session, missing))["problems"]
    assert "gone.py" in problem


@pytest.mark.parametrize("escape", [False, True])
async def test_no_secret_is_kept_however_it_is_spelt(ground: Ground, escape: bool) -> None:
    session = await at_work(ground, Bootstrap.CONTRACT)
    spelt = "".join(f"\\u{ord(char):04x}" for char in TOKEN) if escape else TOKEN
    body = json.dumps({"contract": {**SMALL, "lifetime": "SECRET", "SECRET": "SECRET"}}).replace(
        "SECRET", spelt
    )
    response = await post(ground, session, CONTRACT_PATH, body)
    assert response.status_code == 200
    assert TOKEN not in response.text
    assert response.json()["yaml"].endswith("'[redacted]': '[redacted]'\n")
    assert yaml.safe_load(response.json()["yaml"])["lifetime"] == "[redacted]"
    draft = await draft_of(ground, session)
    assert draft is not None
    assert TOKEN not in draft.text + "".join(draft.problems) + "".join(
        (await plan_of(ground, session)).values()
    )


@pytest.mark.parametrize(
    "contract", [{**SMALL, "lifetime": {"hours": 1234567890}}, {"yaml": "a: [1234567890"}]
)
async def test_a_secret_that_is_no_text_is_a_problem(ground: Ground, contract: object) -> None:
    ground.keeper.parts.redactor.learn(["1234567890"])
    session = await at_work(ground, Bootstrap.CONTRACT)
    said = await propose(ground, session, contract)
    assert "1234567890" not in json.dumps(said)
    assert said["problems"][-1] == "it holds something that is secret here: leave that out"


async def test_a_session_proposes_so_often_and_the_next_one_again(ground: Ground) -> None:
    job = await first_job(ground)
    session = await at_work(ground, Bootstrap.CONTRACT, job)
    for _ in range(MOST_PROPOSALS):
        said = await propose(ground, session, SMALL)
    assert said["left"] == 0
    response = await post(ground, session, CONTRACT_PATH, {"contract": WORSE})
    assert response.status_code == 429
    assert "end the session with task_complete" in refusal(response)
    await ground.end(session)
    following = await at_work(ground, Bootstrap.CONTRACT, job, ordinal=2)
    assert (await propose(ground, following, SMALL))["left"] == MOST_PROPOSALS - 1


async def test_proposals_at_once_are_counted_each(ground: Ground) -> None:
    session = await at_work(ground, Bootstrap.CONTRACT)
    calls = [post(ground, session, CONTRACT_PATH, {"contract": SMALL}) for _ in range(MOST_PROPOSALS + 3)]
    codes = sorted(response.status_code for response in await asyncio.gather(*calls))
    assert codes == [200] * MOST_PROPOSALS + [429] * 3
    assert len(await events(ground, EventName.CONTRACT_PROPOSED)) == MOST_PROPOSALS


# What is recorded of a discovery.


async def test_answers_are_recorded_and_what_is_left_is_told(ground: Ground) -> None:
    session = await at_work(ground, Bootstrap.DISCOVERY)
    answer = {
        "id": "purpose",
        "answer": "A calculator for the office",
        "confidence": "high",
        "source": "plan/documents/idea.md",
        "quote": "for people in the office",
    }
    said = await record(ground, session, answers=[answer, {"id": "nobody"}])
    assert len(said["recorded"]) == len(said["refused"]) == 1
    assert "nobody" in said["refused"][0]
    assert (said["unrecorded"], said["open"], said["left"]) == (["users"], 1, MOST_RECORDINGS - 1)
    kept = (await discovery_of(ground, session)).get("purpose")
    assert kept is not None
    assert (kept.status, kept.confidence) == (Status.INFERRED, Confidence.HIGH)
    assert (await plan_of(ground, session))["plan/discovery.md"] == said["text"]
    assert "A calculator for the office" in said["text"]
    assert await events(ground, EventName.DISCOVERY_RECORDED) == [
        {"session": session.id, "recorded": 1, "open": 1}
    ]


@pytest.mark.parametrize(
    ("source", "quote", "confidence"),
    [
        ("calc.py", "def add(a, b):", Confidence.HIGH),
        ("calc.py", "it was never said", Confidence.LOW),
        ("gone.py", "def add(a, b):", Confidence.LOW),
        ("../calc.py", "def add(a, b):", Confidence.LOW),
        ("/etc/passwd", "root:x:0:0", Confidence.LOW),
        ("calc.py\0", "def add(a, b):", Confidence.LOW),
        (":(glob)*", "def add(a, b):", Confidence.LOW),
        ("plan/documents/idea.md", "def add(a, b):", Confidence.LOW),
    ],
)
async def test_a_quote_is_looked_up_in_the_base_commit(
    ground: Ground, source: str, quote: str, confidence: Confidence
) -> None:
    session = await at_work(ground, Bootstrap.DISCOVERY)
    answer = {"id": "purpose", "answer": "a", "confidence": "high", "source": source, "quote": quote}
    await record(ground, session, answers=[answer])
    kept = (await discovery_of(ground, session)).get("purpose")
    assert kept is not None
    assert kept.confidence is confidence


async def test_no_session_makes_its_own_words_a_source(ground: Ground) -> None:
    """What it recorded, and notes of its phase, are in the plan: quoting them would spare a person the question."""
    session = await at_work(ground, Bootstrap.DISCOVERY)
    mine = "It is a calculator that mines coins"
    await record(ground, session, answers=[{"id": "purpose", "answer": mine, "confidence": "low"}])
    assert mine in (await plan_of(ground, session))["plan/discovery.md"]
    await ground.database.write(
        "by hand",
        lambda c: plan_files.put(c, session.job_id, {"plan/notes.md": mine}, session_id=session.id, at=NOW),
    )
    for source in ("plan/discovery.md", "plan/notes.md"):
        answer = {"id": "purpose", "answer": mine, "confidence": "high", "source": source, "quote": mine}
        await record(ground, session, answers=[answer])
        kept = (await discovery_of(ground, session)).get("purpose")
        assert kept is not None and kept.is_open and kept.sources == ()


async def test_a_question_is_added_once(ground: Ground) -> None:
    """A call whose answer was lost is sent again, and makes nothing twice."""
    session = await at_work(ground, Bootstrap.DISCOVERY)
    question = {"kind": "conflict", "tier": 1, "section": "Purpose", "ask": "Which of the two?"}
    await record(ground, session, questions=[question])
    first = await discovery_of(ground, session)
    said = await record(ground, session, questions=[question])
    assert await discovery_of(ground, session) == first
    assert [item.id for item in first.questions] == ["purpose", "users", "conflict.1"]
    assert said["refused"] == []


@pytest.mark.parametrize("escape", [False, True])
async def test_no_secret_is_kept_of_an_answer(ground: Ground, escape: bool) -> None:
    session = await at_work(ground, Bootstrap.DISCOVERY)
    spelt = "".join(f"\\u{ord(char):04x}" for char in TOKEN) if escape else TOKEN
    body = json.dumps({"answers": [{"id": "purpose", "answer": "with SECRET"}]}).replace("SECRET", spelt)
    response = await post(ground, session, DISCOVERY_PATH, body)
    assert response.status_code == 200
    assert TOKEN not in response.text
    kept = (await discovery_of(ground, session)).get("purpose")
    assert kept is not None
    assert kept.answer == "with [redacted]"
    assert TOKEN not in (await plan_of(ground, session))["plan/discovery.md"]


async def test_recordings_at_once_lose_nothing(ground: Ground) -> None:
    """One that another one overtook is told to try again."""
    session = await at_work(ground, Bootstrap.DISCOVERY)

    async def until_taken(identifier: str) -> None:
        answers = {"answers": [{"id": identifier, "answer": identifier}]}
        while (response := await post(ground, session, DISCOVERY_PATH, answers)).status_code == 503:
            assert "try again" in refusal(response)
        assert response.status_code == 200

    await asyncio.gather(*(until_taken(name) for name in ("purpose", "users") * 3))
    kept = await discovery_of(ground, session)
    assert [item.answer for item in kept.questions] == ["purpose", "users"]


async def test_a_session_records_so_often(ground: Ground) -> None:
    session = await at_work(ground, Bootstrap.DISCOVERY)
    for _ in range(MOST_RECORDINGS):
        said = await record(ground, session, answers=[{"id": "purpose"}])
    assert said["left"] == 0
    response = await post(ground, session, DISCOVERY_PATH, {"answers": [{"id": "users", "answer": "a"}]})
    assert response.status_code == 429
    assert "end the session with task_complete" in refusal(response)
    assert (await discovery_of(ground, session)).unrecorded[0].id == "users"


async def test_a_job_without_a_discovery_records_none(ground: Ground) -> None:
    session = await at_work(ground, Bootstrap.DISCOVERY)
    await ground.database.write("by hand", lambda c: c.execute("DELETE FROM discoveries"))
    response = await post(ground, session, DISCOVERY_PATH, {"answers": [{"id": "purpose"}]})
    assert response.status_code == 409
    assert "has no discovery" in refusal(response)


# Who may, and what is not read.


@pytest.mark.parametrize(
    ("path", "own"), [(CONTRACT_PATH, Bootstrap.CONTRACT), (DISCOVERY_PATH, Bootstrap.DISCOVERY)]
)
async def test_only_the_session_that_is_there_for_it_records(
    ground: Ground, path: str, own: Bootstrap
) -> None:
    [other] = [item for item in Bootstrap if item is not own]
    plain = await ground.session()
    strangers = [
        plain,
        await at_work(ground, other, await first_job(ground, 8)),
        await at_work(ground, None, await first_job(ground, 9)),
        await at_work(ground, own, await first_job(ground, 10, kind=RequestKind.BUILD)),
        await at_work(ground, own, await first_job(ground, 11, kind=None)),
        await ground.session(await first_job(ground, 12), SessionKind.CHECK),
        await ground.session(await first_job(ground, 13), SessionKind.SETUP),
    ]
    body = {"contract": SMALL} if own is Bootstrap.CONTRACT else {"answers": [{"id": "purpose"}]}
    for session in strangers:
        response = await post(ground, session, path, body)
        assert response.status_code == 403, session.id
        assert await draft_of(ground, session) is None
    assert not await events(ground, EventName.CONTRACT_PROPOSED)
    assert not await events(ground, EventName.DISCOVERY_RECORDED)
    said = refusal(await post(ground, strangers[1], path, body))
    assert said == f"this session records no {own}: only the phase of `init` that is there for it does"


HOSTILE = [
    b"",
    b"no JSON",
    b"\xff\xfe",
    b"null",
    b"[]",
    b"7",
    b"{}",
    b'{"more": 1}',
    DEEP.encode(),
    ("[" * 150_000).encode(),
    b"9" * 10_000,
]


@pytest.mark.parametrize(
    "body", [*HOSTILE, b'{"contract": 1, "more": 2}', b'{"contract": ' + DEEP.encode() + b"}"]
)
async def test_what_is_no_proposal_is_refused_with_the_reason(ground: Ground, body: bytes) -> None:
    session = await at_work(ground, Bootstrap.CONTRACT)
    response = await post(ground, session, CONTRACT_PATH, body)
    assert response.status_code == 400
    assert refusal(response).startswith(("the request is no JSON", "the request must be"))
    assert await draft_of(ground, session) is None
    assert (await propose(ground, session, SMALL))["valid"]


@pytest.mark.parametrize(
    "contract",
    [
        None,
        True,
        "",
        [],
        {},
        {"yaml": 7},
        {"roles": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]},
        {"version": float("nan")},
        {"version": float("inf")},
        {"version": 10**300},
        {"name": "\ud800"},
        {"name": "\x1b[31m\u202e"},
        {"": ""},
        {"yaml": "&a [*a, *a]"},
        {"yaml": "!!python/object/apply:os.system [true]"},
        {"yaml": "a: &x [1]\nb: [*x, *x]"},
        {"yaml": "\0"},
        {str(number): number for number in range(20_000)},
        {"yaml": "[" * 5_000},
    ],
)
async def test_whatever_is_proposed_has_a_problem_that_is_told(ground: Ground, contract: object) -> None:
    session = await at_work(ground, Bootstrap.CONTRACT)
    response = await post(ground, session, CONTRACT_PATH, json.dumps({"contract": contract}))
    assert response.status_code == 200, response.text
    said = response.json()
    assert not said["valid"]
    assert all(problem and problem.isprintable() for problem in said["problems"])
    assert said["problems"]
    assert (await propose(ground, session, SMALL))["valid"]


@pytest.mark.parametrize(
    "body",
    [
        *HOSTILE,
        b'{"answers": 7}',
        b'{"answers": ["purpose"]}',
        b'{"answers": [{"id": 7}]}',
        b'{"answers": [{"id": "purpose", "by": "ada"}]}',
        b'{"answers": [{"id": "purpose", "confidence": "sure"}]}',
        b'{"answers": [{"id": "purpose", "answer": "\\ud800"}]}',
        b'{"answers": [{"id": "purpose", "answer": NaN}]}',
        b'{"answers": ' + DEEP.encode() + b"}",
        b'{"questions": [{"kind": "question", "tier": 1, "section": "s", "ask": "What is it?"}]}',
        b'{"questions": [{"kind": "gap", "tier": 4, "section": "s", "ask": "What is it?"}]}',
        json.dumps({"answers": [{"id": "purpose", "answer": "x" * 5_000}]}).encode(),
    ],
)
async def test_what_is_no_recording_is_refused_with_the_reason(ground: Ground, body: bytes) -> None:
    session = await at_work(ground, Bootstrap.DISCOVERY)
    response = await post(ground, session, DISCOVERY_PATH, body)
    assert response.status_code == 400
    assert refusal(response)
    assert await discovery_of(ground, session) == DISCOVERY
    assert (await plan_of(ground, session))["plan/discovery.md"] == "old"
    assert await record(ground, session, answers=[{"id": "purpose"}])


@pytest.mark.parametrize(
    ("path", "own"), [(CONTRACT_PATH, Bootstrap.CONTRACT), (DISCOVERY_PATH, Bootstrap.DISCOVERY)]
)
async def test_ten_megabytes_are_not_read(ground: Ground, path: str, own: Bootstrap) -> None:
    session = await at_work(ground, own)
    response = await post(ground, session, path, b'{"contract": "' + b"x" * 10_000_000 + b'"}')
    assert response.status_code == 413
    assert "larger than 400000 bytes" in refusal(response)
    assert await draft_of(ground, session) is None


@pytest.mark.parametrize(
    ("path", "own", "body"),
    [
        (CONTRACT_PATH, Bootstrap.CONTRACT, {"contract": SMALL}),
        (DISCOVERY_PATH, Bootstrap.DISCOVERY, {"answers": [{"id": "purpose", "source": "calc.py"}]}),
    ],
)
async def test_a_repository_that_cannot_be_read_now_is_waited_for(
    ground: Ground, path: str, own: Bootstrap, body: Mapping[str, Any]
) -> None:
    session = await at_work(ground, own)
    mirror, away = ground.home.mirror(REPO), ground.home.root / "away"
    mirror.rename(away)
    response = await post(ground, session, path, body)
    assert response.status_code == 503
    assert refusal(response).startswith("the repository cannot be read now")
    away.rename(mirror)
    assert (await post(ground, session, path, body)).status_code == 200
    assert (
        len(await events(ground, EventName.CONTRACT_PROPOSED))
        + len(await events(ground, EventName.DISCOVERY_RECORDED))
        == 1
    )


@pytest.mark.parametrize("path", [CONTRACT_PATH, DISCOVERY_PATH])
async def test_what_a_session_says_after_its_work_was_handed_in_changes_nothing(
    ground: Ground, path: str
) -> None:
    is_contract = path == CONTRACT_PATH
    session = await at_work(ground, Bootstrap.CONTRACT if is_contract else Bootstrap.DISCOVERY)
    before = await plan_of(ground, session)
    report = Report(outcome=Outcome.COMPLETE, summary="Done.", head=None, turns=1)
    await ground.database.write("by hand", lambda c: sessions.take_report(c, session.id, report))
    body = {"contract": SMALL} if is_contract else {"answers": [{"id": "users", "confidence": "low"}]}
    response = await post(ground, session, path, body)
    assert (response.status_code, "has handed in its work" in response.text) == (409, True), response.text
    assert await plan_of(ground, session) == before
