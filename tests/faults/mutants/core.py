"""Defences of what is accepted, done once and kept."""

from tests.faults.mutants.mutant import Mutant

CORE = (
    Mutant(
        name="look for the pull request before opening one",
        file="overlord/engine/issues/published.py",
        before="if pull.open), None)",
        after="if pull.open and pull.number < 0), None)",
        points="pull_noted",
        says="A pull request already exists",
    ),
    Mutant(
        name="look for the comment before posting one",
        file="overlord/engine/issues/projection.py",
        before="if mark in comment.body)",
        after="if number < 0)",
        points="add_comment",
        says="has [2-9] comments on its issue",
    ),
    Mutant(
        name="look for the comment on skills before posting one",
        file="overlord/engine/skills/review_pulls.py",
        before="and MARK in comment.body:",
        after="and number < 0:",
        points="vetting_told",
        says="[2-9] comments: ",
    ),
    Mutant(
        name="look for a proposal's issue before opening one",
        file="overlord/engine/issues/open_issue.py",
        before="if key in state.issue.body",
        after="if key == state.issue.body",
        points="open_issue",
        says=r"issues \[\d+(, \d+)+\] were opened",
    ),
    Mutant(
        name="a push is written down before it is made",
        file="overlord/engine/delivery/deliver.py",
        before="jobs.repair(c, job.id, pushing_sha=head)",
        after="jobs.repair(c, job.id, reason=job.reason)",
        tests=(
            "tests/faults/test_kills.py::test_a_push_that_was_not_noted_does_not_stand_in_the_way_of_the_next",
        ),
        says=r"minion/issue-\d+ at the forge is not where Overlord left it",
    ),
    Mutant(
        name="write a report down before it is acknowledged",
        file="overlord/session_api/sessions.py",
        before="""    taken = await parts.database.write(Failpoint.REPORT_TAKEN, take)
    parts.wakeup.notify()
    if not taken:
        return wire.error_response(409, "reported", "this session has reported already, or has ended")
    return Response(status_code=204)
""",
        after="""    from starlette.background import BackgroundTask

    return Response(status_code=204, background=BackgroundTask(parts.database.write, Failpoint.REPORT_TAKEN, take))
""",
        points="report_taken",
        says="'session_ended', 'session_lost'",
    ),
    Mutant(
        name="what failed is taken back",
        file="overlord/store/commit.py",
        before='connection.execute("ROLLBACK TO one")',
        after="pass",
        tests=("tests/store/test_commit.py::test_what_one_raises_takes_back_that_one_alone",),
        says=r"\['a', 'b', 'c'\] == \['a', 'c'\]",
    ),
    Mutant(
        name="a transaction takes the write lock at its beginning",
        file="overlord/store/commit.py",
        before="BEGIN IMMEDIATE",
        after="BEGIN DEFERRED",
        tests=(
            "tests/faults/test_sqlite_faults.py::test_nobody_writes_between_what_a_transaction_reads_and_what_it_writes",
        ),
        says="DID NOT RAISE OperationalError",
    ),
    Mutant(
        name="a daemon that was replaced is fenced",
        file="overlord/store/database.py",
        before='if row is None or row["token"] != token:',
        after="if row is None:",
        tests=(
            "tests/faults/test_two_daemons.py::test_a_daemon_that_was_suspended_and_replaced_ends_by_itself[0]",
        ),
        says="AssertionError: it does not end",
    ),
    Mutant(
        name="an answer counts once (compare and swap)",
        file="overlord/store/decisions.py",
        before="""    if decision.state is DecisionState.ANSWERED:
        raise Refused(f"{name} was answered before, by {decision.answered_by}: {_said(decision)}")
    if decision.state not in _ANSWERABLE:
""",
        after="    if decision.state not in (*_ANSWERABLE, DecisionState.ANSWERED):\n",
        points="decision_answered",
        says="was answered [2-9] times",
    ),
    Mutant(
        name="exit code 0 is no pass",
        file="overlord/domain/checks/testruns/judge.py",
        before="if own is None or not own.fits_its_exit_code:",
        after="if own is None and head.exit_code == 0:\n        return _tests_result(CheckScore.PASS, 'exit code 0')\n    if own is None or not own.fits_its_exit_code:",
        tests=("tests/faults/test_leaks.py::test_a_test_run_that_only_says_zero_is_no_pass",),
        says=r"is in_review \(.*\), not waiting",
    ),
    Mutant(
        name="strict objects",
        file="overlord/adapters/git/session.py",
        before="fsckObjects = true",
        after="fsckObjects = false",
        tests=(
            "tests/faults/test_leaks.py::test_a_hostile_tree_that_a_session_pushes_is_refused_and_gets_nowhere",
        ),
        says="the hostile tree was taken in",
    ),
    Mutant(
        name="secrets are taken out of what is kept",
        file="overlord/domain/text/redaction.py",
        before="            text = text.replace(form, MARK)",
        after="            pass",
        tests=("tests/faults/test_leaks.py",),
        says="holds ghp_",
    ),
    Mutant(
        name="seccomp",
        file="overlord/adapters/docker/profile.py",
        before='[f"seccomp={self.seccomp}"]',
        after='["seccomp=unconfined"]',
        tests=("tests/faults/test_docker_walls.py",),
        needs_docker=True,
        says="the kernel gave",
    ),
    Mutant(
        name="a container stays until its end was seen (no auto-remove)",
        file="overlord/adapters/docker/profile.py",
        before='"AutoRemove": False',
        after='"AutoRemove": True',
        tests=(
            "tests/faults/test_docker_meddling.py::test_how_a_session_ended_while_no_daemon_ran_is_known_to_the_next",
        ),
        says="== 'out_of_memory'",
        needs_docker=True,
    ),
    Mutant(
        name="doors that are nobody's are swept",
        file="overlord/session_api/server.py",
        before="if directory.name not in names:",
        after="if not directory.name:",
        points="session_sealed",
        says=r"left run/\w+",
    ),
    Mutant(
        name="a job that is over asks nobody",
        file="overlord/store/jobs.py",
        before="if not moved.is_open:",
        after="if not moved:",
        points="job_expired",
        says="is failed and decision 1 still asks people",
    ),
)
