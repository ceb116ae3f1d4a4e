"""The bank of questions: what is asked of each kind of project, and what follows once a kind is settled."""

from collections import Counter
from dataclasses import replace

import pytest

from overlord.config_files import packaged
from overlord.domain.discovery.bank import (
    KIND_QUESTION,
    KIND_WORDS,
    bank,
    kind_named,
    load_bank,
    questions,
    with_kind,
)
from overlord.domain.discovery.question import (
    MOST_QUESTIONS,
    Discovery,
    Kind,
    ProjectKind,
    RepositoryState,
    Status,
    read_discovery,
)
from overlord.domain.discovery.recording import MOST_NEW
from overlord.domain.discovery.reply import reply
from overlord.errors import SettingsError


def _discovery(kind: ProjectKind = ProjectKind.OTHER) -> Discovery:
    return Discovery(kind=kind, state=RepositoryState.EMPTY, questions=questions(kind))


@pytest.mark.parametrize("kind", list(ProjectKind))
def test_each_kind_has_questions_of_every_tier_and_a_module_of_its_own(kind: ProjectKind) -> None:
    asked = questions(kind)
    assert {item.tier for item in asked} == {1, 2, 3}
    assert len(asked) + MOST_NEW <= MOST_QUESTIONS
    assert all(item.status is Status.GAP and item.is_open for item in asked)
    common = {item.id for item in bank().questions}
    own = [item for item in asked if item.id not in common]
    assert len(own) in ((0,) if kind is ProjectKind.OTHER else (5, 6))
    assert all(item.id.startswith(f"{kind}.") for item in own)


def test_details_have_proposals_and_decisions_too() -> None:
    for kind in ProjectKind:
        for item in questions(kind):
            if item.tier == 3 or item.kind is Kind.DECISION:
                assert item.default, item.id


def test_what_is_asked_is_asked_once() -> None:
    for kind in ProjectKind:
        counted = Counter(item.ask for item in questions(kind))
        assert counted.most_common(1)[0][1] == 1


def test_a_kind_has_proposals_of_its_own() -> None:
    def language(kind: ProjectKind) -> str:
        return next(item.default for item in questions(kind) if item.id == "architecture.language")

    assert (language(ProjectKind.MOBILE), language(ProjectKind.CLI)) == ("Dart", "Python")


def test_the_kind_is_asked_for_only_where_it_is_not_known() -> None:
    assert _discovery().get(KIND_QUESTION) is not None
    assert _discovery(ProjectKind.API).get(KIND_QUESTION) is None


def test_a_discovery_of_the_bank_is_kept_and_read_again() -> None:
    found = _discovery(ProjectKind.DATA)
    assert read_discovery(found.to_json()) == found


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("A command line tool.", ProjectKind.CLI),
        ("cli", ProjectKind.CLI),
        ("web_app", ProjectKind.WEB_APP),
        ("API", ProjectKind.API),
        ("Two mobile apps, and a web app for the office", ProjectKind.MOBILE),
        ("A machine that brews coffee for clients", ProjectKind.OTHER),
        ("Ein Werkzeug für die Küche", ProjectKind.OTHER),
    ],
)
def test_a_settled_kind_brings_its_questions(answer: str, kind: ProjectKind) -> None:
    found = _discovery()
    asked = found.get(KIND_QUESTION)
    assert asked is not None
    said = with_kind(found.with_changed([replace(asked, status=Status.ANSWERED, answer=answer)]))
    assert said.kind is kind
    known = {item.id for item in found.questions}
    new = {item.id for item in said.questions} - known
    assert new == {item.id for item in questions(kind)} - known
    assert with_kind(said) == said, "once"


def test_a_settled_kind_changes_no_answer() -> None:
    found = _discovery()
    kind, language = found.get(KIND_QUESTION), found.get("architecture.language")
    assert kind is not None and language is not None
    changed = [
        replace(kind, status=Status.ANSWERED, answer="a mobile app"),
        replace(language, status=Status.ANSWERED, answer="Kotlin"),
    ]
    said = with_kind(found.with_changed(changed))
    assert said.get("architecture.language") == changed[1]
    framework = said.get("architecture.framework")
    assert framework is not None and framework.default == "Flutter"


def test_what_texts_speak_of_is_counted_in_whole_words() -> None:
    assert kind_named(["clients click on eclipses"]) == (ProjectKind.OTHER, False)
    assert kind_named(["A CLI.", "the command\nline, two CLIs, a library"]) == (ProjectKind.CLI, True)
    assert kind_named(["A CLI, a library."]) == (ProjectKind.CLI, False)
    assert kind_named([]) == (ProjectKind.OTHER, False)


def test_each_kind_is_understood_by_the_words_it_is_called_by() -> None:
    assert {kind: kind_named([words])[0] for kind, words in KIND_WORDS.items()} == {
        kind: kind for kind in KIND_WORDS
    }


def test_questions_of_a_kind_it_is_not_go_unless_they_are_answered() -> None:
    fresh = questions(ProjectKind.CLI, asks_kind=True)
    found = Discovery(kind=ProjectKind.CLI, state=RepositoryState.DOCS_ONLY, questions=fresh)
    said = reply(found, ("cli.errors", "cli.commands"), "1: By mail", by="x")
    said = reply(said, (KIND_QUESTION,), "No, a web app", by="x")
    assert said.kind is ProjectKind.WEB_APP
    assert [item.id for item in said.questions if item.id.startswith("cli.")] == ["cli.errors"]
    assert said.get("web_app.pages") is not None


QUESTION = "{id: a.b, tier: 1, section: x, ask: What is it?}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("questions: [", "cannot be read as YAML"),
        ("questions: []\nkinds: {}\nmore: 1", "unknown key 'more'"),
        (f"questions: [{QUESTION}, {QUESTION}]\nkinds: {{}}", "the same id is listed twice: a.b"),
        (
            f"questions: [{QUESTION}]\nkinds: {{cli: {{questions: [], defaults: {{a.c: x}}}}}}",
            "defaults of unknown questions: a.c",
        ),
        (f"questions: [{QUESTION}]\nkinds: {{boat: {{questions: []}}}}", "kinds.boat"),
    ],
)
def test_a_bank_that_is_wrong_is_refused(text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        load_bank(text, "bank.yaml")


def test_headings_are_written_as_they_are_compared() -> None:
    found = load_bank(packaged("bootstrap/discovery.yaml"), "discovery.yaml")
    asked = [item for kind in ProjectKind for item in found.of(kind)]
    assert [item.id for item in asked if any(word != word.casefold().strip() for word in item.keywords)] == []
