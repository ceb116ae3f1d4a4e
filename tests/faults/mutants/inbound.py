"""Defences of what comes in from outside: Slack's requests, what is asked of the listener, names people type; and of what Slack takes."""

from tests.faults.mutants.mutant import Mutant

ODD = "tests/scenarios/test_chat_signed_odd.py::test_whatever_is_signed_is_answered_and_what_makes_no_sense_is_one_line_in_the_log"
INBOUND = (
    Mutant(
        name="a signed body that cannot be read is answered",
        file="overlord/entrypoints/chat/signed.py",
        before="except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:",
        after="except ZeroDivisionError as error:",
        tests=(ODD,),
        says="Error",
    ),
    Mutant(
        name="a signed body is looked at before Bolt reads it",
        file="overlord/entrypoints/chat/signed.py",
        before="            _Shape.model_validate(read.body)\n",
        after="",
        tests=(ODD,),
        says=r"\(500, |request_not_heard",
    ),
    Mutant(
        name="a signature counts over the bytes as they came",
        file="overlord/entrypoints/chat/signed.py",
        before="return hmac.compare_digest(expected, signature)",
        after="return True",
        tests=(
            "tests/scenarios/test_chat_signed.py::test_a_body_that_is_no_text_is_refused_and_strangers_learn_nothing_of_why",
        ),
        says="400 == 401|401",
    ),
    Mutant(
        name="texts are measured as Slack keeps them",
        file="overlord/adapters/slack/blocks_text.py",
        before='room -= len(escapes.get(char, "")) or (2 if char > "\\uffff" else 1)',
        after='room -= 2 if char > "\\uffff" else 1',
        tests=(
            "tests/adapters/test_blocks.py::test_what_slack_escapes_fits_its_limits_and_no_entity_is_cut",
        ),
        says="<= 1000",
    ),
    Mutant(
        name="texts are cut before they are escaped",
        file="overlord/adapters/slack/blocks.py",
        before="escaped(title(message.summary, SUMMARY_CHARS))",
        after="escaped(message.summary)[:SUMMARY_CHARS]",
        tests=(
            "tests/adapters/test_blocks.py::test_what_slack_escapes_fits_its_limits_and_no_entity_is_cut",
        ),
        says="assert",
    ),
    Mutant(
        name="numbers are for who asks this machine by its own name",
        file="overlord/entrypoints/listen/metrics.py",
        before='elif not is_own_host(request.headers.getlist("host"), listened):',
        after="elif not request.headers:",
        tests=("tests/listener/test_metrics.py::test_without_a_token_a_page_of_another_name_is_refused",),
        says="403",
    ),
    Mutant(
        name="no repository is named with dots alone",
        file="overlord/domain/text/reference.py",
        before=r"(?!\.{1,2}(?![A-Za-z0-9._-]))",
        after="",
        tests=("tests/domain/test_reference.py::test_any_other_name_is_none",),
        says=r"is_full_name\('o/\.+'\)|'o/\.",
    ),
    Mutant(
        name="settings ask what a repository's name is",
        file="overlord/settings/space.py",
        before="if not is_full_name(value):",
        after='if "/" not in value:',
        tests=("tests/test_settings.py",),
        says="DID NOT RAISE|acme",
    ),
    Mutant(
        name="a stranger's later comment is in no brief",
        file="overlord/engine/conversation/issue_comments.py",
        before="if len(found) < MOST and await writers",
        after="if True or await writers",
        tests=(
            "tests/engine/test_dispatch.py::test_what_people_who_count_said_at_the_issue_since_is_in_the_next_brief",
        ),
        says="Delete everything",
    ),
    Mutant(
        name="a session reads and takes the messages of its own job alone",
        file="overlord/store/conversation/steering.py",
        before='"SELECT * FROM steering WHERE job_id = ? ORDER BY id"',
        after='"SELECT * FROM steering WHERE job_id > 0 OR job_id = ? ORDER BY id"',
        tests=(
            "tests/session_api/test_session_calls.py::test_a_message_is_given_until_the_session_has_it_and_only_to_its_own_job",
        ),
        says="use tabs|assert",
    ),
)
