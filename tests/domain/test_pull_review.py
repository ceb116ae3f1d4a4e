"""What is held against the skills that a pull request changes, and how it is said."""

from dataclasses import replace

import pytest

from overlord.domain.identifiers import Sha
from overlord.domain.repositories.forge import PulledFile, TreeEntry
from overlord.domain.skills.finding import SkillFinding
from overlord.domain.skills.pull_review import (
    MARK,
    TOO_LARGE,
    Change,
    Outcome,
    ReviewedFile,
    SkillPullReview,
    agreed,
    fingerprint,
    judge,
    outcome_of,
    published_review,
    readable,
    sentence,
    shortened,
)
from overlord.domain.skills.scan.rule import Level
from tests.drafting import PATH, skill

OTHER = ".nebulus/skills/other.yaml"
HEAD = Sha("a" * 40)
TOKEN = "ghp_aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3bC4"
ROW = SkillPullReview(space="acme/calc", number=7, head_sha=HEAD, outcome=Outcome.UNTOUCHED)


def changed(*paths: str, gone: tuple[str, ...] = ()) -> Change:
    return Change.of(
        [PulledFile(path=path) for path in paths] + [PulledFile(path=path, is_removed=True) for path in gone]
    )


@pytest.mark.parametrize(
    "path", [PATH, ".Nebulus/Skills/a.yaml", ".nebulus/skills", ".nebulus", ".nebulus/skills/below/a.txt"]
)
def test_what_is_or_replaces_a_skill_is_about_skills(path: str) -> None:
    assert changed(path) and changed("a.txt", gone=(path,))


@pytest.mark.parametrize(
    "path", ["a.txt", ".nebulus/checks.yaml", "docs/.nebulus/skills/a.yaml", ".nebulus2"]
)
def test_what_is_elsewhere_is_not(path: str) -> None:
    assert not changed(path, gone=(path,))


def test_one_that_was_moved_is_gone_from_where_it_was() -> None:
    out = Change.of([PulledFile(path="docs/a.yaml", old_path=PATH)])
    assert (out.left, out.gone) == ((), (PATH,))
    within = Change.of([PulledFile(path=OTHER, old_path=PATH)])
    assert (within.left, within.gone) == ((OTHER,), (PATH,))


def test_it_is_judged_beside_what_it_leaves_alone() -> None:
    others = {OTHER: skill().encode()}
    [file] = judge(changed(PATH), {PATH: skill().encode()}, others)
    assert "skill/name-conflict" in [item.rule for item in file.findings]
    assert outcome_of([file]) is Outcome.REJECT
    left, gone = judge(changed(PATH, gone=(OTHER,)), {PATH: skill().encode()}, others)
    assert (left.findings, gone.is_removed, outcome_of([left, gone])) == ((), True, Outcome.ACCEPT)


def test_what_is_no_plain_file_or_too_large_is_rejected() -> None:
    for content, words in ((None, "no regular file"), (TOO_LARGE, "larger than 65,536 bytes")):
        [file] = judge(changed(PATH), {PATH: content}, {})
        assert outcome_of([file]) is Outcome.REJECT and words in file.findings[0].message


def test_more_files_than_anybody_reads_are_not_judged_at_length() -> None:
    paths = [f".nebulus/skills/s{number:02}.yaml" for number in range(30)]
    found = judge(changed(*paths), {path: skill(f"s{path[-7:-5]}").encode() for path in paths}, {})
    assert len(found) == 21
    assert "30 files of skills are changed at once; 20 are the limit" in found[-1].findings[0].message
    assert outcome_of(found) is Outcome.REJECT


def test_a_base_is_told_from_another_by_what_it_holds() -> None:
    one = {"a.yaml": TreeEntry(mode="100644", sha="1" * 40, size=3)}
    assert fingerprint(one) == fingerprint(dict(one)) != fingerprint({})
    assert fingerprint({"a.yaml": replace(one["a.yaml"], mode="120000")}) != fingerprint(one)


def test_only_plain_skill_files_of_a_base_are_read() -> None:
    entries = {
        "b.yaml": TreeEntry(mode="100755", sha="1", size=3),
        "a.yaml": TreeEntry(mode="100644", sha="2", size=65_536),
        "large.yaml": TreeEntry(mode="100644", sha="3", size=65_537),
        "link.yaml": TreeEntry(mode="120000", sha="4", size=3),
        "module.yaml": TreeEntry(mode="160000", sha="5"),
        "below": TreeEntry(mode="040000", sha="6"),
        "README.md": TreeEntry(mode="100644", sha="7", size=3),
    }
    assert list(readable(entries)) == [".nebulus/skills/a.yaml", ".nebulus/skills/b.yaml"]


def test_what_touches_no_skills_has_nothing_to_say_unless_it_did_or_everything_is_told() -> None:
    assert published_review(ROW, every=False).stamp(HEAD) == ""
    every = published_review(ROW, every=True)
    assert (every.state, every.description, every.body) == ("success", "changes no skills", "")
    before = published_review(replace(ROW, is_marked=True), every=False)
    assert before.state == "success" and "does not any more" in before.body and not before.is_labelled
    assert len({every.stamp(HEAD), before.stamp(HEAD), every.stamp("b" * 40)}) == 3


def vetted(outcome: Outcome, *findings: SkillFinding, trouble: str = "", path: str = PATH) -> SkillPullReview:
    files = (ReviewedFile(path=path, findings=findings),)
    return replace(ROW, outcome=outcome, files=files, trouble=trouble, is_marked=True)


FOUND = SkillFinding(rule="skill/rm", level=Level.REJECT, message="It deletes.", line=8, evidence="rm -rf /")
LOOK = SkillFinding(rule="skill/odd", level=Level.FLAG, message="It is odd.")
NOTED = SkillFinding(rule="skill/noted", level=Level.NOTE, message="It is noted.", line=3)


@pytest.mark.parametrize(
    ("pull_review", "state", "description"),
    [
        (
            vetted(Outcome.ACCEPT, NOTED),
            "success",
            "nothing is held against its skills; a person must approve them",
        ),
        (vetted(Outcome.FLAG, NOTED, LOOK), "pending", f"to be looked at: skill/odd in {PATH}: It is odd."),
        (
            vetted(Outcome.REJECT, LOOK, FOUND),
            "failure",
            f"rejected: skill/rm in {PATH}:8: It deletes.",
        ),
        (
            vetted(Outcome.UNJUDGED, trouble="It is too much."),
            "error",
            "its skills could not be judged: It is too much.",
        ),
    ],
)
def test_each_outcome_is_a_status_of_its_own(
    pull_review: SkillPullReview, state: str, description: str
) -> None:
    said = published_review(pull_review, every=False)
    assert (said.state, said.description, said.is_labelled) == (state, description, True)
    assert said.body.endswith(MARK) and "a person must read this and approve it" in said.body


def test_what_a_person_was_to_look_at_passes_by_their_approval_and_nothing_else_does() -> None:
    said = published_review(vetted(Outcome.FLAG, LOOK), every=False, approved_by="bob")
    assert (said.state, said.description) == (
        "success",
        "a person looked at its skills and approved them: bob",
    )
    assert "`bob` approved it at this commit.\n" in said.body and "skill/odd" in said.body
    for outcome in (Outcome.REJECT, Outcome.UNJUDGED):
        refused = vetted(outcome, FOUND)
        assert published_review(refused, every=False, approved_by="bob") == published_review(
            refused, every=False
        )


def test_findings_are_listed_by_rule_and_line_and_not_without_end() -> None:
    body = published_review(vetted(Outcome.REJECT, FOUND, LOOK), every=False).body
    assert f"- ❌ `{PATH}`\n  - line 8, `skill/rm` (reject): It deletes. `rm -rf /`\n" in body
    assert "  - `skill/odd` (flag): It is odd.\n" in body
    many = published_review(vetted(Outcome.REJECT, *[FOUND] * 50), every=False).body
    assert many.count("skill/rm") == 40 and "and 10 findings more" in many


def test_words_of_files_are_text_and_no_markup() -> None:
    hostile = "`*x* @alice #1 <b> [a](https://e.example) www.e.example " + TOKEN
    finding = replace(FOUND, message=hostile, evidence=hostile)
    body = published_review(
        vetted(Outcome.REJECT, finding, path=f".nebulus/skills/{hostile}.yaml"), every=False
    ).body
    outside = "".join(body.split("`")[::2])
    for live in ("@alice", "#1", "<b>", "](", "://", "www.e", "*x*", TOKEN):
        assert live not in outside, live
    assert TOKEN not in body


def test_people_are_told_in_a_sentence() -> None:
    assert sentence(vetted(Outcome.REJECT, FOUND)) == f"rejected: skill/rm in {PATH}:8: It deletes."
    assert sentence(vetted(Outcome.ACCEPT)) == "accepted"


def test_pull_requests_of_one_commit_say_the_gravest_of_what_is_held_against_them() -> None:
    """A commit has one status, and may be offered to several branches."""
    rows = [
        replace(ROW, number=number, outcome=outcome, is_marked=True)
        for number, outcome in ((1, Outcome.REJECT), (2, Outcome.ACCEPT), (3, Outcome.UNTOUCHED))
    ]
    rows.append(replace(ROW, number=4, head_sha=Sha("b" * 40), outcome=Outcome.ACCEPT))
    said = {
        row.number: words
        for row, words in agreed([(row, published_review(row, every=False)) for row in rows])
    }
    assert {number: words.state for number, words in said.items()} == {
        1: "failure",
        2: "failure",
        3: "failure",
        4: "success",
    }
    assert "accepted" in said[2].body, "what is said at each is about itself"
    assert list(agreed([(ROW, published_review(ROW, every=False))])) == []


def test_of_many_findings_the_gravest_are_kept() -> None:
    def found(level: Level, line: int) -> SkillFinding:
        return SkillFinding(rule="skill/a", level=level, message="A.", line=line)

    many = [found(Level.NOTE, line) for line in range(100)] + [found(Level.REJECT, 200)]
    file = shortened(ReviewedFile(path=PATH, findings=tuple(many)))
    assert (len(file.findings), file.findings[0].line, outcome_of([file])) == (40, 200, Outcome.REJECT)
