"""No path in the code approves a proposal without a person's identity: who may say that somebody is one is a list."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.house.test_imports import ROOT, imported, modules

CLI, CHAT, VERB = (
    "overlord/entrypoints/cli/proposal.py",
    "overlord/engine/chat_proposals.py",
    "overlord/commands_proposal.py",
)
DRAFT_CLI, DRAFT_CHAT, DRAFT_VERB = (
    "overlord/entrypoints/cli/draft.py",
    "overlord/engine/chat_drafts.py",
    "overlord/commands_skill.py",
)
CALLERS: Mapping[str, set[str]] = {
    # A person is made where the command line runs as somebody, and where Slack said who pressed or typed.
    "Person": {CLI, CHAT, DRAFT_CLI, DRAFT_CHAT},
    # What a person says is one record and one verb.
    "ApproveProposal": {CLI, CHAT},
    "RejectProposal": {CLI, CHAT},
    "approve_proposal": {CLI, CHAT},
    "reject_proposal": {CLI, CHAT},
    # The store's way to write it down is the verb's alone.
    "proposals.approve": {VERB},
    "proposals.reject": {VERB},
    # The same of drafts of skills, which a person edits as well.
    "ApproveDraft": {DRAFT_CLI, DRAFT_CHAT},
    "RejectDraft": {DRAFT_CLI, DRAFT_CHAT},
    "EditDraft": {DRAFT_CLI, DRAFT_CHAT},
    "RetireSkill": {DRAFT_CLI, DRAFT_CHAT},
    "approve_draft": {DRAFT_CLI, DRAFT_CHAT},
    "reject_draft": {DRAFT_CLI, DRAFT_CHAT},
    "edit_draft": {DRAFT_CLI, DRAFT_CHAT},
    "retire_skill": {DRAFT_CLI, DRAFT_CHAT},
    "drafts.approve": {DRAFT_VERB},
    "drafts.reject": {DRAFT_VERB},
    "drafts.edit": {DRAFT_VERB},
    # A draft begins with a person's word: to a proposal, or to a skill by its name.
    "drafts.request": {VERB, DRAFT_VERB},
}
"""Every place in the source that uses these, but for saying that something is of their type."""
TYPED = {VERB, DRAFT_VERB, "overlord/store/proposals.py", "overlord/store/drafts.py"}
"""What takes a person as an argument."""


def used(path: Path) -> Iterator[str]:
    """What a module makes, calls or hands on, of the names above."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    types = {id(part) for node in ast.walk(tree) for hint in _hints(node) for part in ast.walk(hint)}
    knows = "overlord.domain.person" in set(imported(path))
    for node in ast.walk(tree):
        name = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        if id(node) not in types and name in CALLERS and (name != "Person" or knows):
            yield name


def _hints(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
        yield node.returns
    elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield node.annotation


def test_whoever_approves_is_a_person() -> None:
    found: dict[str, set[str]] = {name: set() for name in CALLERS}
    knowing = set()
    for path in modules("overlord"):
        place = path.relative_to(ROOT).as_posix()
        for name in used(path):
            found[name].add(place)
        if "overlord.domain.person" in set(imported(path)):
            knowing.add(place)
    assert found == CALLERS
    assert knowing == {CLI, CHAT, DRAFT_CLI, DRAFT_CHAT} | TYPED


def test_nothing_but_the_store_writes_that_a_proposal_was_decided() -> None:
    said = ("PROPOSAL_APPROVED", "PROPOSAL_REJECTED", '"decided_by"', "UPDATE proposals")
    store = "overlord/store/proposals.py"
    words = {"overlord/domain/event.py", "overlord/domain/telling.py", "overlord/domain/proposal.py"}
    writers = {
        path.relative_to(ROOT).as_posix()
        for path in modules("overlord")
        if any(word in path.read_text(encoding="utf-8") for word in said)
    }
    assert writers == words | {store, "overlord/store/drafts.py"}
    functions = [
        node
        for node in ast.walk(ast.parse((ROOT / store).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]
    deciding = {
        item.name: ast.unparse(item.args)
        for item in functions
        if "_decide(" in ast.unparse(item) or '"decided_by"' in ast.unparse(item).replace("'", '"')
    }
    assert deciding.keys() == {"approve", "reject", "_decide"}
    assert all("by: Person" in arguments for arguments in deciding.values())


def test_nothing_but_the_store_writes_that_a_draft_was_decided() -> None:
    said = ("DRAFT_APPROVED", "DRAFT_REJECTED", "DRAFT_EDITED", "UPDATE drafts")
    store = "overlord/store/drafts.py"
    words = {"overlord/domain/event.py", "overlord/domain/telling.py", "overlord/domain/skill_draft.py"}
    writers = {
        path.relative_to(ROOT).as_posix()
        for path in modules("overlord")
        if any(word in path.read_text(encoding="utf-8") for word in said)
    }
    assert writers == words | {store}
    functions = [
        node
        for node in ast.walk(ast.parse((ROOT / store).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]
    deciding = {
        item.name: ast.unparse(item.args)
        for item in functions
        if any(word in ast.unparse(item) for word in ("DRAFT_APPROVED", "DRAFT_REJECTED", "DRAFT_EDITED"))
    }
    assert deciding.keys() == {"approve", "reject", "edit"}
    assert all("by: Person" in arguments for arguments in deciding.values())
