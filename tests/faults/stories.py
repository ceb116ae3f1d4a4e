"""Where each named point is reached: a story, told to a world whose daemon is cut off there.

A story takes a campaign and works through one issue of its own, from the outside. `PLACES` is the whole list: a point without a story
in it fails a test.
"""

import contextlib
import os
import sqlite3
from collections.abc import Mapping

from overlord.domain.job import JobState
from overlord.failpoints import Failpoint
from overlord.home import Home
from overlord.store import jobs, ledger
from overlord.store.database import open_reader
from tests.faults import (
    call_stories,
    chat_stories,
    contract_stories,
    draft_stories,
    init_stories,
    model_stories,
    portfolio_stories,
    proposal_stories,
    retrospective_stories,
    skill_review_stories,
    steering_stories,
)
from tests.faults.campaign import Campaign
from tests.faults.story import Story
from tests.local import made
from tests.world import CALC, REPO

S = JobState
EXTRA = "acme/extra"
NEEDS_SETUP = {**CALC, "requirements.txt": "", ".nebulus/environment.yaml": "setup: 'true'\n"}
BROKEN_CHECKS = {**CALC, ".nebulus/checks.yaml": "test: [1\n"}


async def _merged(told: Campaign) -> None:
    issue = await told.issue("plain")
    await told.settle()
    job = told.expect(issue, S.IN_REVIEW)
    assert job.revision == 0
    assert "session_lost" not in told.events(issue), told.events(issue)
    await told.world.forge.merge(REPO, job.pull_number or 0)
    await told.settle()
    told.expect(issue, S.COMPLETED)
    await told.world.push({"calc.py": CALC["calc.py"]})


async def _reviewed(told: Campaign) -> None:
    """Changes are asked for, somebody else pushes, the base branch goes another way; then it is merged."""
    forge = told.world.forge
    issue = await told.issue("plain")
    await told.settle()
    job = told.expect(issue, S.IN_REVIEW)
    pull = job.pull_number or 0
    at_line = (("calc.py", 2, "Why?"),)
    await forge.review(REPO, pull, author="alice", state="CHANGES_REQUESTED", comments=at_line)
    await told.settle()
    assert told.expect(issue, S.IN_REVIEW).round == 1
    await told.settle()
    assert len(forge.review_comments(REPO, pull)) == 2
    theirs = await forge.push_files(REPO, job.branch, {"README.md": "Mine.\n"}, "Mine")
    await told.settle()
    assert told.expect(issue, S.IN_REVIEW).head_sha == theirs
    await told.world.push({"calc.py": CALC["calc.py"].replace("a - b", "a - b  # so")})
    await told.settle()
    conflicting = told.expect(issue, S.IN_REVIEW)
    assert (conflicting.round, conflicting.round_kind) == (2, "conflict")
    await forge.merge(REPO, pull)
    await forge.reopen_issue(REPO, issue)
    await told.settle()
    told.expect(issue, S.COMPLETED)
    assert not forge.issue(REPO, issue).open
    assert job.branch not in await forge.heads(REPO)
    await told.world.push({"calc.py": CALC["calc.py"], "README.md": CALC["README.md"]})


async def _gone(told: Campaign) -> None:
    """Its repository cannot be found for a while; then it is there again, and a person says so."""
    issue = await told.issue("blocked")
    await told.settle()
    told.world.forge.fail("issues/list-for-repo", kind="404", times=1000)
    told.later(days=1)
    await told.settle_after(1000)
    told.world.forge.wire.faults.pending.clear()
    *_, asked = told.waiting()
    await told.command("decisions", "answer", str(asked), "retry", done=(0, 5))
    await told.settle()
    told.expect(issue, S.WAITING)
    await told.close(issue)


async def _dropped(told: Campaign) -> None:
    issue = await told.issue("strays")
    await told.settle()
    assert told.expect(issue, S.IN_REVIEW).revision == 1
    await told.close(issue)


async def _blocked(told: Campaign) -> None:
    issue = await told.issue("blocked")
    await told.settle()
    told.expect(issue, S.WAITING)
    await told.world.forge.label(REPO, issue, "nebulus-ready")
    await told.settle()
    told.expect(issue, S.WAITING)
    [decision] = told.waiting()
    # Whoever gives the answer again hears that it was given, or goes on to where the job has gone since.
    await told.command("decisions", "answer", str(decision), "drop", done=(0, 5))
    await told.settle()
    told.expect(issue, S.CANCELLED)


async def _scope_said(told: Campaign) -> None:
    """Nothing says what may be written, and the contract has a person say it: asked once, however often it is looked at."""
    issue = await told.issue("plain")
    await told.settle()
    told.expect(issue, S.WAITING)
    assert "session_prepared" not in told.events(issue)
    [decision] = told.waiting()
    await told.command("decisions", "answer", str(decision), "limit", "calc.py", done=(0, 5))
    await told.settle()
    told.expect(issue, S.IN_REVIEW)
    assert told.events(issue).count("decision_raised") == 1
    await told.close(issue)


async def _commanded(told: Campaign) -> None:
    """By a comment, to which the answer is a reaction and words."""
    issue = await told.world.forge.open_issue(REPO, "plain")
    told.play()
    await told.world.forge.comment(REPO, issue, "/overlord work")
    await told.settle()
    told.expect(issue, S.IN_REVIEW)
    asked = await told.world.forge.comment(REPO, issue, "/overlord explain")
    await told.settle()
    await told.settle()
    assert [reaction.content for reaction in told.world.forge.reactions(asked)] == ["+1"]
    said = [item.body for item in told.world.forge.comments(REPO, issue) if "overlord:reply" in item.body]
    assert len(said) == 1, said
    await told.close(issue)


async def _mislabelled(told: Campaign) -> None:
    told.world.forge.add_user("tina", association="CONTRIBUTOR")
    issue = await told.world.forge.open_issue(REPO, "plain")
    await told.world.forge.label(REPO, issue, "nebulus-ready", author="tina")
    await told.settle()
    await told.settle()
    said = [item.body for item in told.world.forge.comments(REPO, issue) if "overlord:refused" in item.body]
    assert len(said) == 1, said
    told.play()
    told.world.clock.move(60)
    await told.world.forge.unlabel(REPO, issue, "nebulus-ready")
    await told.world.forge.label(REPO, issue, "nebulus-ready")
    await told.settle()
    told.expect(issue, S.IN_REVIEW)
    await told.close(issue)


async def _outlived(told: Campaign) -> None:
    issue = await told.issue("blocked")
    await told.settle()
    told.later(days=40)
    await told.settle_after(3700)
    told.expect(issue, S.FAILED)
    await told.close(issue)


async def _stopped(told: Campaign) -> None:
    issue = await told.issue("holds")
    await told.until_holding()
    await told.command("job", "stop", str(told.job(issue).id), done=(0, 5))
    await told.settle()
    told.expect(issue, S.CANCELLED)


async def _too_long(told: Campaign) -> None:
    issue = await told.issue("holds")
    await told.until_holding()
    await told.settle_after(1900)
    told.expect(issue, S.WAITING)
    await told.close(issue)


async def _unanswered(told: Campaign) -> None:
    issue = await told.issue("asks")
    await told.until_holding()
    await told.settle_after(61)
    told.expect(issue, S.IN_REVIEW)
    await told.close(issue)


async def _refused(told: Campaign) -> None:
    told.world.forge.fail("pulls/create", kind="403", times=1000)
    issue = await told.issue("plain")
    await told.settle()
    told.world.forge.wire.faults.pending.clear()
    told.expect(issue, S.WAITING)
    [decision] = told.waiting()
    await told.command("decisions", "answer", str(decision), "redeliver", done=(0, 5))
    await told.settle()
    told.expect(issue, S.IN_REVIEW)
    await told.close(issue)


async def _troubled(told: Campaign) -> None:
    told.world.forge.fail("pulls/create", kind="500", times=2)
    issue = await told.issue("plain")
    await told.settle()
    told.expect(issue, S.IN_REVIEW)
    await told.close(issue)


async def _spent(told: Campaign) -> None:
    issue = await told.issue("plain")
    await told.settle()
    told.expect(issue, S.WAITING)
    await told.close(issue)


async def _check_died(told: Campaign) -> None:
    issue = await told.issue("check dies")
    await told.settle()
    told.expect(issue, S.IN_REVIEW)
    await told.close(issue)


async def _unjudged(told: Campaign) -> None:
    issue = await told.issue("plain")
    await told.settle()
    told.expect(issue, S.WAITING)
    await told.close(issue)


async def _set_up(told: Campaign) -> None:
    issue = await told.issue("setup dies")
    await told.settle()
    told.expect(issue, S.IN_REVIEW)
    await told.close(issue)
    # Nobody needs it any more: the next look after a while removes it, and the next story makes it anew.
    told.later(days=30)
    await told.settle()


async def _setup_failed(told: Campaign) -> None:
    issue = await told.issue("setup fails")
    await told.settle()
    told.expect(issue, S.WAITING)
    await told.close(issue)
    # What failed is tried again for the next one that needs it.
    again = await told.issue("plain")
    await told.settle()
    await told.close(again)
    told.later(days=30)
    await told.settle()


async def _more_needed(told: Campaign) -> None:
    issue = await told.issue("needs more")
    await told.settle()
    told.expect(issue, S.WAITING)
    [decision] = told.waiting()
    await told.command("decisions", "answer", str(decision), "install", done=(0, 5))
    await told.settle()
    told.expect(issue, S.IN_REVIEW, S.WAITING)
    await told.close(issue)
    told.later(days=30)
    await told.settle()


async def _damaged(told: Campaign) -> None:
    issue = await told.issue("holds")
    await told.until_holding()
    with contextlib.closing(sqlite3.connect(told.place.home / "overlord.db")) as connection:
        connection.execute("UPDATE sessions SET state = 'ended' WHERE state != 'ended'")
        connection.commit()
    (told.world.root / "go").touch()
    await told.settle()
    told.expect(issue, S.IN_REVIEW)
    (told.world.root / "go").unlink()
    await told.close(issue)


async def _entrusted(told: Campaign) -> None:
    """A repository is put into Overlord's care by command, and taken out again; the settings change in between. So with a token."""
    forge = told.world.forge
    if EXTRA not in [repository.name for repository in forge.repositories()]:
        await forge.create_repository(EXTRA, files=CALC)
    await told.settle()
    await told.command("space", "add", EXTRA, "--unchecked")
    # Whoever makes a token again hears that there is one: its secret is not shown again.
    await told.command("token", "create", "ci", "--right", "act", done=(0, 5))
    told.play()
    issue = await forge.open_issue(EXTRA, "blocked", "", labels=["nebulus-ready"])
    told.rounds += 1
    await told.saves(f"delivery: {{rounds: {told.rounds}}}")
    await told.settle()
    told.expect(issue, S.WAITING)
    # Whoever takes it out again hears that it was, or is not there.
    await told.command("space", "remove", EXTRA, "--stop-jobs", done=(0, 4))
    await told.command("token", "revoke", "ci", done=(0, 4))
    await told.settle()
    told.expect(issue, S.CANCELLED)


async def _kept_long_enough(told: Campaign) -> None:
    """A year after a job has ended, what it left is removed, and so is what nobody names; the ledger stays."""
    issue = await told.world.forge.open_issue(REPO, "plain")
    told.play()
    await told.settle()
    await told.command("work", f"{REPO}#{issue}")
    await told.settle()
    await told.close(issue)
    home = Home(told.place.home)
    gone, cache = home.mirror("acme/gone"), home.processes / ".layers" / "cache" / "acme" / "gone"
    for place in (gone, cache):
        place.mkdir(parents=True, exist_ok=True)
    stray = home.evidence / "ab" / "stray"
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.touch()
    os.utime(stray, (0, 0))
    told.later(days=400)
    await told.settle()
    assert told.events(issue)[-1] == "evidence_removed"
    assert [place for place in (gone, cache, stray) if place.exists()] == []
    await told.command("ledger", "verify")


async def _low(told: Campaign) -> None:
    """The disk runs low before an issue is seen, and has room again."""
    issue = await told.issue("plain")
    told.world.overrides["disk"] = {"least_free_gb": 1e9}
    await told.settle()
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        assert [job for job in jobs.all_jobs(connection) if job.issue.number == issue] == []
    told.world.overrides["disk"] = {"least_free_gb": 0}
    await told.settle()
    told.expect(issue, S.IN_REVIEW)
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        said = [entry.name for entry in ledger.entries(connection) if entry.name.startswith("disk_")]
    assert said[-2:] == ["disk_ran_low", "disk_recovered"]
    assert len(said) == 2 * said.count("disk_ran_low")
    await told.close(issue)


async def _backed_up(told: Campaign) -> None:
    """A backup is written, and a home made of it; whoever is cut off says it again, and may hear that it was done."""
    issue = await told.issue("blocked")
    await told.settle()
    told.expect(issue, S.WAITING)
    file, home = told.world.root / f"{issue}.tar.gz", told.world.root / f"restored-{issue}"
    await told.command("backup", str(file), done=(0, 5))
    await told.command("backup", "--verify", str(file))
    await told.command("restore", str(file), "--home", str(home), done=(0, 5))
    with contextlib.closing(open_reader(home / "overlord.db")) as connection:
        assert [job.state for job in jobs.all_jobs(connection) if job.issue.number == issue] == [S.WAITING]
        [*_, last] = ledger.entries(connection)
        assert (last.name, list(ledger.problems(connection))) == ("backup_restored", [])
    await told.close(issue)


async def _tried(told: Campaign) -> None:
    await told.command("check", _checkout(told))


async def _ran(told: Campaign) -> None:
    told.play()
    place = _checkout(told)
    await told.command("run", "plain", "--repo", place, done=(0, 5))
    await told.command("resume", "--repo", place, done=(0, 5))
    [database] = told.place.home.glob("local/*/overlord.db")
    with contextlib.closing(open_reader(database)) as connection:
        assert {job.state for job in jobs.all_jobs(connection)} == {S.IN_REVIEW}, told.log()


def _checkout(told: Campaign) -> str:
    """A user's repository, and their settings."""
    place = told.world.root / "mine"
    if not place.exists():
        made(place)
        told.place.home.mkdir(exist_ok=True)
        python = told.world.overrides["process"]["python"]
        settings = f"process: {{python: '{python}'}}\nrunner: process\n"
        (told.place.home / "overlord.yaml").write_text(settings)
    return str(place)


MERGED = Story(name="merged", tell=_merged)
OBSERVED = Story(
    name="observed", tell=_merged, settings={"hooks": {"evidence": [{"command": ["true"], "seconds": 60}]}}
)
REVIEWED = Story(
    name="reviewed", tell=_reviewed, settings={"delivery": {"open_pulls": 1000, "delete_branch": True}}
)
GONE = Story(name="gone", tell=_gone)
SCOPE = {"spaces": {REPO: {"scope": ["calc.py"]}}}
DROPPED = Story(name="dropped", tell=_dropped, settings=SCOPE)
BLOCKED = Story(name="blocked", tell=_blocked)
SCOPE_SAID = Story(name="scope said", tell=_scope_said, settings={"contract": "approve-scope"})
COMMANDED = Story(name="commanded", tell=_commanded)
MISLABELLED = Story(name="mislabelled", tell=_mislabelled)
OUTLIVED = Story(name="outlived", tell=_outlived)
STOPPED = Story(name="stopped", tell=_stopped)
TOO_LONG = Story(name="too long", tell=_too_long)
UNANSWERED = Story(name="unanswered", tell=_unanswered, settings={"questions": {"wait_s": 60}})
REFUSED = Story(name="refused", tell=_refused)
TROUBLED = Story(name="troubled", tell=_troubled)
SPENT = Story(name="spent", tell=_spent, settings={"budget": {"session_tokens": 1}})
CHECK_DIED = Story(name="check died", tell=_check_died)
UNJUDGED = Story(name="unjudged", tell=_unjudged, files=BROKEN_CHECKS)
REFUSED_CHECK = Story(name="refused check", tell=_unjudged, refused="check")
DAMAGED = Story(name="damaged", tell=_damaged, is_checked=False)
TRIED = Story(name="tried", tell=_tried, is_checked=False)
RAN = Story(name="ran", tell=_ran, is_checked=False)
ENTRUSTED = Story(name="entrusted", tell=_entrusted)
BACKED_UP = Story(name="backed up", tell=_backed_up)
LOW = Story(name="low disk", tell=_low, settings={"slack": {}})
KEPT = Story(name="kept long enough", tell=_kept_long_enough)
SET_UP = Story(name="set up", tell=_set_up, files=NEEDS_SETUP)
SETUP_FAILED = Story(name="setup failed", tell=_setup_failed, files=NEEDS_SETUP)
MORE_NEEDED = Story(name="more needed", tell=_more_needed, files=NEEDS_SETUP)

P = Failpoint
IN_EVERY = """
daemon_started space_polled job_claimed projection_noted base_chosen work_prepared door_opened
work_started progress_seen exchange_reserved exchange_settled report_taken session_sealed work_settled
session_cleared final_kept evaluation_begun diff_judged check_prepared check_started check_judged review_prepared
review_made verdict_written push_ordered push_noted pull_noted job_delivered fate_noted add_comment
edit_comment add_label remove_label open_pull edit_pull mark_ready set_status fetch make_ready
prepare_repository keep_commit push remove_repository forget_ready start_session remove_session
ask_model keep_evidence
"""
"""What any issue that ends in a merge passes."""
PLACES: Mapping[Failpoint, Story] = {
    **dict.fromkeys(map(Failpoint, IN_EVERY.split()), MERGED),
    **dict.fromkeys((P.COMMENT_PROCESSED, P.COMMENT_ACKNOWLEDGED, P.COMMENTS_SEEN, P.REACT), COMMANDED),
    P.ISSUES_SEEN: MERGED,
    P.DISK_NOTED: LOW,
    P.HOOK_POSITION_NOTED: OBSERVED,
    P.SPACE_PAUSED: GONE,
    P.SPACE_KNOWN: ENTRUSTED,
    **dict.fromkeys(
        (
            *(P.ROUND_BEGUN, P.FOREIGN_PUSH_NOTED, P.MERGE, P.REVIEW_ANSWERED),
            *(P.ANSWER_REVIEW, P.CLOSE_ISSUE, P.DELETE_BRANCH),
        ),
        REVIEWED,
    ),
    P.LABEL_REFUSED: MISLABELLED,
    P.DROP_PATHS: DROPPED,
    **dict.fromkeys((P.JOB_RESUMED, P.DECISION_ANSWERED, P.ANSWER_APPLIED), BLOCKED),
    P.JOB_EXPIRED: OUTLIVED,
    **dict.fromkeys((P.JOB_STOPPED, P.STOP_SESSION, P.SESSION_ABANDONED), STOPPED),
    P.STOP_ORDERED: TOO_LONG,
    **dict.fromkeys((P.QUESTION_ASKED, P.DECISIONS_EXPIRED), UNANSWERED),
    P.PERSON_ASKED: REFUSED,
    P.SCOPE_ASKED: SCOPE_SAID,
    P.TROUBLE_NOTED: TROUBLED,
    P.BUDGET_EXHAUSTED: SPENT,
    P.CHECK_LOST: CHECK_DIED,
    P.CHECK_UNAVAILABLE: UNJUDGED,
    P.CHECK_REFUSED: REFUSED_CHECK,
    P.LOSS_NOTED: DAMAGED,
    **dict.fromkeys((P.TRIAL_BEGUN, P.TRIAL_ENDED), TRIED),
    P.POLL_MADE_DUE: RAN,
    **dict.fromkeys((P.SPACE_ADDED, P.SPACE_REMOVED, P.SETTINGS_TAKEN), ENTRUSTED),
    **dict.fromkeys((P.ACCESS_GRANTED, P.ACCESS_REVOKED), ENTRUSTED),
    **dict.fromkeys(
        (
            *(P.SETUP_PREPARED, P.SETUP_STARTED, P.SETUP_LOST, P.SETUP_COMPLETED),
            *(P.ENVIRONMENT_FORGOTTEN, P.PREPARE_LAYER, P.KEEP_LAYER, P.REMOVE_LAYER),
        ),
        SET_UP,
    ),
    P.SETUP_FAILED: SETUP_FAILED,
    **dict.fromkeys(
        (
            *(P.EVIDENCE_FORGOTTEN, P.REMOVE_EVIDENCE, P.ROWS_FORGOTTEN),
            *(P.TIDY_MIRROR, P.REMOVE_MIRROR, P.REMOVE_DOWNLOADS),
        ),
        KEPT,
    ),
    **dict.fromkeys((P.BACKUP_RESTORED, P.KEEP_BACKUP, P.RESTORE_HOME), BACKED_UP),
    P.DEPENDENCIES_ASKED: MORE_NEEDED,
    **call_stories.PLACES,
    **chat_stories.PLACES,
    **contract_stories.PLACES,
    **portfolio_stories.PLACES,
    **proposal_stories.PLACES,
    **draft_stories.PLACES,
    **init_stories.PLACES,
    **skill_review_stories.PLACES,
    **model_stories.PLACES,
    **retrospective_stories.PLACES,
    **steering_stories.PLACES,
}
