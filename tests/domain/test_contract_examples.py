"""What an architect is given to go by is itself without a fault."""

import re

import pytest

from overlord.domain.bootstrap.examples import examples_for, rules_text
from overlord.domain.bootstrap.proposal import review_text
from overlord.domain.contracts.criteria.registry import KINDS
from overlord.domain.contracts.rules.registry import RULES
from overlord.domain.discovery.question import ProjectKind, RepositoryState


@pytest.mark.parametrize("state", RepositoryState)
@pytest.mark.parametrize("kind", ProjectKind)
def test_every_example_can_be_proposed_in_a_repository_without_a_file(
    kind: ProjectKind, state: RepositoryState
) -> None:
    examples = examples_for(kind, state)
    assert 1 <= len(examples) <= 3
    for name, text in examples.items():
        found = review_text(text, existing=())
        assert found.problems == (), name
        assert found.contract is not None and found.contract.version == 2
        assert 2 <= len(found.contract.roles) <= 4, name
        assert len(text) < 5_000, "an example is a page"


def test_where_there_is_no_code_yet_the_first_phase_of_work_is_a_scaffold() -> None:
    for state in (RepositoryState.EMPTY, RepositoryState.DOCS_ONLY):
        first, *rest = examples_for(ProjectKind.CLI, state)
        assert (first, rest) == ("empty.yaml", ["cli.yaml"])
    found = review_text(examples_for(ProjectKind.API, RepositoryState.EMPTY)["empty.yaml"], existing=())
    assert found.contract is not None and list(found.contract.phases) == ["plan", "scaffold", "build", "ship"]


def test_the_rules_are_all_told_and_every_kind_of_criterion() -> None:
    text = rules_text()
    assert re.findall(r"^- \*\*(\d\.\d)\*\*", text, re.MULTILINE) == [rule.number for rule in RULES]
    assert [kind.kind for kind in KINDS if f"`{kind.kind}" not in text] == []
