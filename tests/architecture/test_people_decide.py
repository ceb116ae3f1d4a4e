"""No path in the code approves a proposal without a person's identity: who may say that somebody is one is a list."""

import ast

import pytest

from tests.architecture.authority import CALLERS, KNOWING, Source, breaches, knows_people, sources, uses
from tests.architecture.test_imports import ROOT, modules


def test_whoever_approves_is_a_person() -> None:
    found: dict[str, set[str]] = {name: set() for name in CALLERS}
    knowing = set()
    for module, source in sources().items():
        for name in uses(source):
            found[name].add(module)
        if knows_people(source):
            knowing.add(module)
    assert found == CALLERS
    assert knowing == KNOWING


def test_nobody_gets_past_that_list() -> None:
    held = {module: breaches(source) for module, source in sources().items()}
    assert {module: found for module, found in held.items() if found} == {}


ROGUES = {
    "what the chat does": "from overlord.engine.chat import plan_request\ndef step(c, parts, request, by):\n    plan_request.plan(c, parts, request).act(c, by)",
    "the store under another name": "from overlord.domain import person\nfrom overlord.store.proposals import proposals as rows\n"
    "def step(c, p):\n    rows.approve(c, p, by=person.Person.of('cli:alice'), reason='')",
    "the store's function": "from overlord.store.proposals.proposals import approve\ndef step(c, p, by):\n    approve(c, p, by=by, reason='')",
    "the row": "from overlord.store import rows\ndef step(c, n):\n    rows.update(c, 'proposals', n, dict(status='approved', decided_by='x'))",
    "the verb": "from overlord.verbs import proposal as verbs\ndef step(c, by, at):\n    verbs.approve_proposal(c, 1, by=by, at=at)",
    "a whole dotted name": "import overlord.store.skills.drafts\ndef step(c, d, by):\n    overlord.store.skills.drafts.approve(c, d, by=by)",
    "an import in a function": "def step(c, p, by):\n    from overlord.store.proposals import proposals as q\n    q.reject(c, p, by=by)",
    "a name that another module has": "from overlord.engine.chat import message_projection\ndef step(c, p, by):\n    message_projection.proposals.approve(c, p, by=by)",
    "a function that another module has": "from overlord.verbs.answering import approve_proposal as do\ndef step(c, o):\n    do(c, o)",
    "everything of a module": "from overlord.verbs.skill import *\ndef step(c, o, at):\n    approve_draft(c, o, at=at)",
    "a relative import": "from ..store.skills import drafts\ndef step(c, d, by):\n    drafts.approve(c, d, by=by)",
    "another name for a module": "from overlord.store.proposals import proposals\nq = proposals\ndef step(c, p, by):\n    q.approve(c, p, by=by)",
    "an attribute by its name": "from overlord.store.proposals import proposals\ndef step(c, p, by):\n    getattr(proposals, 'appro' + 've')(c, p, by=by)",
    "a module by its name": "import importlib\ndef step(c, p, by):\n    importlib.import_module('overlord.store.proposals.proposals').approve(c, p)",
    "a function that is handed on": "from functools import partial\nfrom overlord.store.skills import drafts\nACT = partial(drafts.approve, said='')",
    "a person of its own": "from overlord.domain.person import Person as P\nME = P.of('cli:alice')",
    "a kind of person": "from overlord.domain.person import Person\nclass Robot(Person):\n    pass",
    "a person in a hint": "from overlord.domain.person import Person\ndef step(by: Person.of('cli:a')) -> None: ...",
    "SQL": "def step(c, n):\n    c.execute('UPDATE proposals SET status = ? WHERE id = ?', ('approved', n))",
    "SQL in pieces": "def step(c, n):\n    c.execute('UPDATE ' + 'drafts SET state = 1 WHERE id = ?', (n,))",
    "SQL of another dialect": "def step(c, n):\n    c.execute('UPDATE OR IGNORE main.\"proposals\" SET status = 1')",
    "SQL with a comment": "def step(c, n):\n    c.execute('update/* */drafts set state = 1')",
    "SQL with a mark": "def step(c, n):\n    c.execute('UPDATE %s SET status = 1' % 'proposals')",
    "SQL that is formatted": "def step(c, n):\n    c.execute('UPDATE {table} SET status = 1'.format(table='proposals'))",
    "a module's own table of names": "from overlord.store.proposals import proposals\ndef step(c, p, by):\n    proposals.__dict__['approve'](c, p, by=by)",
    "a module out of its package": "import importlib\ndef step(c, p, by):\n    importlib.import_module('.proposals', 'overlord.store.proposals').approve(c, p)",
    "text that is run": "def step(c, p, by):\n    exec('from overlord.store import ' + 'proposals')",
    "SQL for a table in a variable": "def step(c, n, table='drafts'):\n    c.execute(f'UPDATE {table} SET state = 1')",
    "a row of a table in a variable": "from overlord.store.rows import update as put\nT = 'drafts'\ndef step(c, n):\n    put(c, T, n, {'state': 'approved'})",
    "a row, by keyword": "from overlord.store.rows import update\ndef step(c, n):\n    update(c, table='drafts', key=n, changes={'state': 'approved'})",
    "a row that somebody wrote in the chat": "from overlord.store.chat import requests\ndef step(c, press):\n    requests.receive(c, press)",
    "what the command line does": "from overlord.entrypoints.cli import verb_command\ndef step(command):\n    verb_command.give(command)",
    "a declared verb": "from overlord.verbs import registry\ndef step(context):\n    registry.command_of('approve', 'p3', 'chat').act(context)",
    "who gives a verb": "from overlord.verbs.verb import Context as C\ndef step(c, by):\n    return C(connection=c, by=by)",
    "the answer to a decision": "from overlord.verbs import commands as verbs\ndef step(c, at):\n    verbs.answer_decision(c, 1, verb=None, at=at)",
}  # fmt: skip


@pytest.mark.parametrize("source", ROGUES.values(), ids=ROGUES)
def test_a_module_that_approves_by_itself_is_seen(source: str) -> None:
    assert breaches(Source("overlord.engine.rogue", source))


@pytest.mark.parametrize(
    "source",
    [
        "from overlord.store.proposals import proposals\ndef step(c):\n    return [p for p in proposals.standing(c) if p.is_approved]",
        "from overlord.domain.person import Person\ndef step(by: Person) -> Person: ...",
        "from overlord.store.rows import update\ndef step(c, n):\n    update(c, 'jobs', n, {'note': 'proposals'})",
        "def step(c):\n    c.execute('SELECT * FROM proposals')",
    ],
)
def test_a_module_that_looks_is_not_held_up(source: str) -> None:
    assert breaches(Source("overlord.engine.honest", source)) == set()


@pytest.mark.parametrize(
    ("store", "words", "deciding"),
    [
        ("proposals/proposals", ("_decide(", '"decided_by"'), {"approve", "reject", "_decide"}),
        (
            "skills/drafts",
            ("DRAFT_APPROVED", "DRAFT_REJECTED", "DRAFT_EDITED"),
            {"_decide", "edit"},
        ),
    ],
)
def test_what_the_store_writes_of_a_decision_takes_a_person(
    store: str, words: tuple[str, ...], deciding: set[str]
) -> None:
    tree = ast.parse((ROOT / "overlord" / "store" / f"{store}.py").read_text(encoding="utf-8"))
    found = {
        item.name: ast.unparse(item.args)
        for item in tree.body
        if isinstance(item, ast.FunctionDef)
        and any(word in ast.unparse(item).replace("'", '"') for word in words)
    }
    assert found.keys() == deciding
    assert all("by: Person" in arguments for arguments in found.values())


@pytest.mark.parametrize(
    ("said", "own"),
    [
        (
            ("PROPOSAL_APPROVED", "PROPOSAL_REJECTED", '"decided_by"'),
            {"domain/proposals/proposal", "store/proposals/proposals", "engine/proposals/raise_proposals"},
        ),
        (("DRAFT_APPROVED", "DRAFT_REJECTED", "DRAFT_EDITED"), {"domain/skills/draft"}),
    ],
)
def test_nobody_else_tells_of_a_decision(said: tuple[str, ...], own: set[str]) -> None:
    """But for who listens: `engine/proposals/raise_proposals.py` asks for what waited until one was decided."""
    texts = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in modules("overlord")}
    writers = {path.as_posix() for path, text in texts.items() if any(word in text for word in said)}
    words = {"domain/event", "domain/event_description", "store/skills/drafts", *own}
    assert writers == {f"overlord/{name}.py" for name in words}
