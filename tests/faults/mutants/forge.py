"""Defences towards the forge: what it says is looked at, what it refuses is put to people."""

from tests.faults.mutants.mutant import Mutant

FORGE = (
    Mutant(
        name="a hint leads to a look at everything, whichever poll comes first",
        file="overlord/engine/intake/poll.py",
        before="if parts.hints.take(name, parts.clock.monotonic()):",
        after="if parts.hints.take(name, parts.clock.monotonic()) and hinted:",
        tests=(
            "tests/engine/test_hinted.py::test_a_check_that_failed_is_seen_by_the_ordinary_poll_that_comes_before_its_hint_is_due",
        ),
        says="IN_REVIEW",
    ),
    Mutant(
        name="a push that a rule refuses is put to a person",
        file="overlord/adapters/git/mirrors.py",
        before="raise refusal_of(error, branch) or error from None",
        after="raise",
        tests=(
            "tests/engine/test_deliver_refused.py::test_a_push_that_a_rule_refuses_is_put_to_a_person_and_delivered_once_the_rule_is_gone",
        ),
        says="GitFailed: git push failed",
    ),
    Mutant(
        name="a draft that a rule refuses is not pushed in every pass",
        file="overlord/engine/delivery/deliver.py",
        before="REFUSALS = (ForgeRefused, PushRejected, PushRefused)",
        after="REFUSALS = (ForgeRefused, PushRejected)",
        tests=(
            "tests/engine/test_deliver_refused.py::test_a_draft_that_a_rule_refuses_does_not_hold_up_the_evaluation_and_delivery_asks",
        ),
        says="PushRefused: the forge refused",
    ),
    Mutant(
        name="no secret is in the words of a refused push",
        file="overlord/engine/delivery/deliver.py",
        before="redact = parts.current.redactor.redact",
        after="redact = str",
        tests=(
            "tests/engine/test_deliver_refused.py::test_the_question_has_the_forges_words_as_a_quote_that_does_nothing_and_holds_no_secret",
        ),
        says=r"PosixPath\('.*overlord.db",
    ),
    Mutant(
        name="a token that lacks a permission is not used again",
        file="overlord/adapters/github/requests.py",
        before="                self._credentials.forget(name, token)\n        await asyncio.sleep",
        after="                pass\n        await asyncio.sleep",
        tests=(
            "tests/adapters/test_github_app.py::test_a_permission_that_was_granted_meanwhile_is_used_at_once",
        ),
        says="ForgeForbidden: GET /repos/demo/calc/pulls: 403",
    ),
    Mutant(
        name="an answer drops what was granted before it",
        file="overlord/engine/sessions/apply_answers.py",
        before="    parts.forge.renew_sign_in(job.space)",
        after="    job.space",
        tests=(
            "tests/engine/test_deliver_refused.py::test_an_answer_lets_the_next_call_be_made_with_what_was_granted_before_it",
        ),
        says=r"assert \[\] == \['acme/calc'\]",
    ),
    Mutant(
        name="what the forge refuses keeps labels and comment from nothing",
        file="overlord/engine/issues/projection.py",
        before="    except (ForgeRefused, GitFailed) as error:\n        refused.append(error)\n",
        after="    except ForgeMissing as error:\n        refused.append(error)\n",
        tests=(
            "tests/engine/test_projection.py::test_a_refused_listing_keeps_neither_labels_nor_comment_from_saying_that_a_job_waits",
        ),
        says="in-progress",
    ),
)
