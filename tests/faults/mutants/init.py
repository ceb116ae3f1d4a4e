"""Defences of the first job of a repository: what people answer and confirm, and what of it is committed."""

from tests.faults.mutants.mutant import Mutant

INIT, CONFIRMED = "tests/scenarios/test_init.py", "tests/scenarios/test_init_confirmed.py"
CALLS, TYPED = "tests/session_api/test_bootstrap_calls.py", "tests/cli/test_init_interrupted.py"
HOLDS = (
    "tests/faults/test_init_kills.py::test_a_job_of_init_that_nobody_kills_comes_to_the_end_that_is_expected"
)

INIT_MUTANTS = (
    Mutant(
        name="init: what is open is asked before the next phase begins",
        file="overlord/engine/contracts/questions.py",
        before="if discovery is None or not (batch := discovery.batch()):",
        after="if discovery is None or (batch := discovery.batch()):",
        tests=(f"{INIT}::test_a_repository_gets_the_contract_that_a_person_confirmed",),
        says="assert|ValueError|UnboundLocalError",
    ),
    Mutant(
        name="init: what a person answers is written down",
        file="overlord/engine/contracts/questions.py",
        before="    init_job.keep_discovery(move.connection, move.parts, move.job, found)\n",
        after="",
        tests=(f"{INIT}::test_a_repository_gets_the_contract_that_a_person_confirmed",),
        says="assert",
    ),
    Mutant(
        name="init: what is committed is what the gate showed",
        file="overlord/engine/contracts/confirmed.py",
        before='        text = str(shown["inputs"].get(init_job.DRAFT, ""))\n',
        after='        text = "name: another\\n"\n',
        tests=(f"{CONFIRMED}::test_what_was_shown_is_committed_whatever_the_proposal_is_by_then",),
        says="assert",
    ),
    Mutant(
        name="init: what was confirmed is known by its fingerprint",
        file="overlord/engine/contracts/confirmed.py",
        before='if shown["fingerprint"] != fingerprint:',
        after='if not shown["fingerprint"]:',
        tests=(f"{CONFIRMED}::test_a_contract_is_not_committed_whose_evidence_is_gone",),
        says="assert|ValueError",
    ),
    Mutant(
        name="init: another contract after a review is put to a person",
        file="overlord/engine/contracts/carry_on.py",
        before="in_round = is_round(turn, job) and not await confirmed.is_changed(parts, job)",
        after="in_round = is_round(turn, job)",
        tests=(f"{CONFIRMED}::test_another_contract_after_a_review_is_put_to_a_person_first",),
        says="assert|ValueError",
    ),
    Mutant(
        name="init: a contract is committed once for each confirmation",
        file="overlord/engine/delivery/contract_commit.py",
        before="    if dict(present) == wanted or (paths[0] in present and committed == digest):\n",
        after="    if present is wanted:\n",
        tests=(f"{CONFIRMED}::test_a_round_that_leaves_the_contract_as_it_was_confirmed_asks_nobody",),
        says="assert 2 == 1",
    ),
    Mutant(
        name="init: no contract is committed that does not hold",
        file="overlord/engine/delivery/contract_commit.py",
        before="    if found.problems:\n",
        after="    if found.problems and not found.text:\n",
        tests=(f"{CONFIRMED}::test_a_contract_that_does_not_hold_any_more_is_not_committed",),
        says="assert|ValueError",
    ),
    Mutant(
        name="init: a contract that somebody pushes is the proposal",
        file="overlord/engine/delivery/rounds.py",
        before="        pushed_contract.adopt(connection, parts, job, contract)\n",
        after="",
        tests=(f"{CONFIRMED}::test_a_contract_that_a_person_pushes_is_asked_about_and_never_taken_back",),
        says="assert",
    ),
    Mutant(
        name="init: a contract with problems reaches no gate",
        file="overlord/engine/bootstrap/init_job.py",
        before="problems = list(found.problems) if text else",
        after="problems = list(found.problems[:0]) if text else",
        tests=(
            f"{INIT}::test_an_architect_that_never_proposes_a_valid_contract_leaves_the_best_draft_to_a_person",
        ),
        says="assert|ValueError",
    ),
    Mutant(
        name="init: every question is looked at before people are asked",
        file="overlord/engine/bootstrap/init_job.py",
        before="[item.id for item in discovery.unrecorded] if discovery is not None else []",
        after="[item.id for item in discovery.unrecorded[:0]] if discovery is not None else []",
        tests=(f"{CONFIRMED}::test_a_discovery_that_was_not_finished_goes_back_to_the_architect",),
        says="assert|ValueError",
    ),
    Mutant(
        name="init: only the phase that is there for it records",
        file="overlord/session_api/bootstrap.py",
        before="if not is_init or brief.terms is None or brief.terms.bootstrap is not bootstrap:",
        after="if brief.terms is None:",
        tests=(CALLS,),
        says="assert",
    ),
    Mutant(
        name="init: nothing is recorded once the work is handed in",
        file="overlord/session_api/bootstrap.py",
        before="if row.report is not None or row.state is SessionState.ENDED:",
        after="if row.state is SessionState.ENDED:",
        tests=(f"{CALLS}::test_what_a_session_says_after_its_work_was_handed_in_changes_nothing",),
        says="assert",
    ),
    Mutant(
        name="init: an edited contract is held against the rules",
        file="overlord/verbs/contract.py",
        before="    if problems := review_text(text, existing=existing).problems:\n",
        after="    if not text and (problems := review_text(text, existing=existing).problems):\n",
        tests=(f"{CONFIRMED}::test_a_person_edits_no_contract_that_does_not_hold_nor_one_with_a_secret",),
        says="DID NOT RAISE",
    ),
    Mutant(
        name="init: a contract that is edited is asked about anew",
        file="overlord/verbs/contract.py",
        before="    decisions.close_waiting(connection, job_id, DecisionState.SUPERSEDED, at=at)\n",
        after="",
        tests=(HOLDS,),
        says="assert|AssertionError",
    ),
    Mutant(
        name="init: no edited contract holds a secret",
        file="overlord/verbs/contract.py",
        before="    if redacted(text) != text:\n",
        after="    if redacted(text) == text + text:\n",
        tests=(f"{CONFIRMED}::test_a_person_edits_no_contract_that_does_not_hold_nor_one_with_a_secret",),
        says="DID NOT RAISE",
    ),
    Mutant(
        name="init: what is typed is kept before it is sent",
        file="overlord/entrypoints/local/init/asking_discovery.py",
        before="        kept.keep(decision, answers)\n",
        after="",
        tests=(f"{TYPED}::test_an_answer_that_was_typed_is_not_asked_for_again",),
        says="is not shown",
    ),
)
