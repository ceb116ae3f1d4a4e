"""Overlord merges nothing: no operation of the forge that could is asked for, and what is pushed goes to branches of its own."""

import re

from overlord.adapters.git.mirrors import BRANCH_PREFIX
from overlord.adapters.github.conversation import EDITED
from overlord.adapters.github.forge import MARK_READY
from overlord.adapters.github.operation import OPERATIONS
from tests.architecture.test_imports import ROOT, modules

MERGING = re.compile(
    r"(?i)pulls/merge|/merges?\b|auto.?merge|merge.?queue|mergePullRequest|mergeBranch|enqueuePullRequest|update-branch"
    r"|submitPullRequestReview|addPullRequestReview|pulls/(?:create-review|submit-review)"
)
"""What merges, or approves, at GitHub: REST operations, addresses and mutations."""
STAND_IN = "overlord/embedded/"
"""Where the external service is played, people's own merges among it."""


def test_no_operation_merges_or_approves() -> None:
    writes = {name for name, (method, _) in OPERATIONS.items() if method != "GET"}
    assert writes == {
        "apps/create-installation-access-token",
        "git/delete-ref",
        "graphql",
        "issues/add-blocked-by-dependency",
        "issues/add-labels",
        "issues/add-sub-issue",
        "issues/create",
        "issues/create-comment",
        "issues/create-label",
        "issues/remove-dependency-blocked-by",
        "issues/remove-label",
        "issues/update",
        "issues/update-comment",
        "pulls/create",
        "pulls/create-reply-for-review-comment",
        "pulls/update",
        "reactions/create-for-issue-comment",
        "repos/create-commit-status",
    }
    assert not [item for item in OPERATIONS.items() if MERGING.search(str(item))]


def test_the_one_mutation_marks_ready() -> None:
    called = re.compile(r"self\._graphql\(.*?\b([A-Z_]{3,})\b")
    mutations = {
        name
        for path in modules("overlord")
        if path.relative_to(ROOT).as_posix().startswith("overlord/adapters/")
        for name in called.findall(path.read_text(encoding="utf-8"))
    }
    assert mutations == {"MARK_READY", "EDITED"}
    assert "markPullRequestReadyForReview" in MARK_READY and MARK_READY.count("mutation") == 1
    assert EDITED.startswith("query")


def test_nothing_in_the_source_names_a_way_to_merge_at_the_forge() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path in modules("overlord")
        if MERGING.search(path.read_text(encoding="utf-8"))
    }
    assert {place for place in found if not place.startswith(STAND_IN)} == set()


def test_what_is_pushed_goes_below_minion() -> None:
    assert BRANCH_PREFIX == "minion/"
    source = (ROOT / "overlord/adapters/git/mirrors.py").read_text(encoding="utf-8")
    assert "if not _SAFE_BRANCH.fullmatch(branch):" in source
    pushing = re.compile(r'"push"[,\]].*--', re.DOTALL)
    found = {
        path.relative_to(ROOT).as_posix()
        for path in modules("overlord")
        if pushing.search(path.read_text(encoding="utf-8"))
    }
    people = {
        "overlord/entrypoints/local/build/pull_request.py",  # their own result, with their own credentials, as they asked
        "overlord/entrypoints/local/recovery.py",  # the forge of local runs beside the repository, made anew from the mirror
    }
    assert found - people == {"overlord/adapters/git/mirrors.py"}
    assert people == {path for path in people if "push" in (ROOT / path).read_text(encoding="utf-8")}
