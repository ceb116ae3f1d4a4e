"""What people type in a chat, as they type it, and what is not understood: told with what to type, never with their words."""

import hypothesis
import pytest
from hypothesis import strategies as st
from inline_snapshot import snapshot

from overlord.domain.chat.answer import help_message
from overlord.domain.conversation.argument import MOST_CHARS, CommandError, SkillRef
from overlord.domain.conversation.look_argument import CostOf, DaySpan, Span
from overlord.domain.decision import ApprovalKind, ApprovalRef
from overlord.domain.interface import Interface
from overlord.domain.text.reference import IssueRef, JobRef
from overlord.engine.chat.chat_command import Help, chat_command, usages
from overlord.queries import registry as queries
from overlord.queries.declared.briefing import OfDay
from overlord.queries.declared.cost import OfCost
from overlord.queries.declared.search import OfSearch
from overlord.queries.declared.status import OfStatus
from overlord.queries.declared.trends import OfTrends
from overlord.queries.declared.why import OfJob
from overlord.queries.query import Nothing
from overlord.queries.registry import Question
from overlord.verbs import registry
from overlord.verbs.decide import Decide
from overlord.verbs.declared.answer import Answer
from overlord.verbs.declared.message import Message
from overlord.verbs.declared.pause import Pause
from overlord.verbs.declared.resume import Resume
from overlord.verbs.declared.retire import Retire
from overlord.verbs.declared.retry import Retry
from overlord.verbs.declared.scope import WidenScope
from overlord.verbs.declared.stop import Stop
from overlord.verbs.declared.work import Work
from overlord.verbs.registry import Command
from tests.domain.test_chat_answer import plain

ISSUE, THEIRS, JOB = IssueRef(number=42), IssueRef(number=42, space="acme/calc"), JobRef(number=7)
ONE_MODEL = OfTrends(days=DaySpan.WEEK, by="week", model="m", space="acme/calc")
FIVE = ApprovalRef(kind=ApprovalKind.DECISION, number=5)
OFFERED = [*registry.offered(Interface.CHAT), *queries.offered(Interface.CHAT), "help"]


def looked(name: str, arguments: object) -> Question:
    return Question(name=name, arguments=arguments)


def given(name: str, arguments: object) -> Command:
    return Command(name=name, arguments=arguments)


@pytest.mark.parametrize(
    "text",
    [
        "work on acme/calc#42",
        "work acme/calc#42",
        "  Work   ON  acme/calc#42. ",
        "/work on `acme/calc#42`",
        "work on https://github.com/acme/calc/issues/42",
        "work on https://github.com/acme/calc/issues/42#issuecomment-1",
        "work on <https://github.com/acme/calc/issues/42>",
        "work on <https://github.com/acme/calc/issues/42|github.com/acme/calc/issues/42>",
        "work on <https://github.com/acme/calc/issues/42|acme/other#7>",
        "work on <https://git.example.org:8443/acme/calc/issues/42?a=1&amp;b=2|that>",
        "work on “acme/calc#42”",
        "work\u00a0on\u00a0acme/calc#42",
        "work on acme/calc\u200b#42",
        "\twork\non\r\nacme/calc#42",
    ],
)
def test_an_issue_is_named_in_many_ways(text: str) -> None:
    assert chat_command(text) == given("work", Work(issue=THEIRS))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", Help()),
        ("   ", Help()),
        ("help me please", Help()),
        ("work on #42", given("work", Work(issue=ISSUE))),
        ("stop 7", given("stop", Stop(job=JOB))),
        ("stop job 7", given("stop", Stop(job=JOB))),
        ("stop #42 not needed, thanks", given("stop", Stop(job=ISSUE, reason="not needed, thanks"))),
        ("retry #42", given("retry", Retry(job=ISSUE))),
        ("why 7?", looked("why", OfJob(job=JOB))),
        ("why https://github.com/acme/calc/pull/42/files", looked("why", OfJob(job=THEIRS))),
        ("pause", given("pause", Pause())),
        ("pause everything", given("pause", Pause())),
        ("pause ALL lunch", given("pause", Pause(reason="lunch"))),
        ("pause acme/calc", given("pause", Pause(space="acme/calc"))),
        ("pause calc a release", given("pause", Pause(space="calc", reason="a release"))),
        ("pause <https://github.com/acme/calc.git|acme/calc>", given("pause", Pause(space="acme/calc"))),
        ("pause https://github.com/acme/calc.git", given("pause", Pause(space="acme/calc"))),
        ("resume", given("resume", Resume())),
        ("resume acme/calc", given("resume", Resume(space="acme/calc"))),
        ("cost", looked("cost", OfCost(of=CostOf()))),
        ("cost today", looked("cost", OfCost(of=CostOf()))),
        ("Cost Week", looked("cost", OfCost(of=CostOf(span=Span.WEEK)))),
        ("cost job 7", looked("cost", OfCost(of=CostOf(span=Span.JOB, job=JOB)))),
        ("cost job #42", looked("cost", OfCost(of=CostOf(span=Span.JOB, job=ISSUE)))),
        ("cost #42", looked("cost", OfCost(of=CostOf(span=Span.JOB, job=ISSUE)))),
        ("scope #42 +src/**", given("scope", WidenScope(job=ISSUE, patterns=("src/**",)))),
        (
            "scope 7 `+src/**` +'docs/a.md' +<http://README.md|README.md> +src/<http://main.py|main.py>",
            given("scope", WidenScope(job=JOB, patterns=("src/**", "docs/a.md", "README.md", "src/main.py"))),
        ),
        ("scope 7 +src/?", given("scope", WidenScope(job=JOB, patterns=("src/?",)))),
        ("approve 5", given("approve", Decide(which=FIVE))),
        ("approve decision #5 looks good", given("approve", Decide(which=FIVE, reason="looks good"))),
        (
            "approve proposal 3",
            given("approve", Decide(which=ApprovalRef(kind=ApprovalKind.PROPOSAL, number=3))),
        ),
        ("approve p3", given("approve", Decide(which=ApprovalRef(kind=ApprovalKind.PROPOSAL, number=3)))),
        (
            "reject draft d3 no",
            given("reject", Decide(which=ApprovalRef(kind=ApprovalKind.DRAFT, number=3), reason="no")),
        ),
        ("retire say-why", given("retire", Retire(skill=SkillRef(name="say-why")))),
        (
            "retire acme/calc say-why nobody needs it",
            given(
                "retire", Retire(skill=SkillRef(name="say-why", space="acme/calc"), reason="nobody needs it")
            ),
        ),
        ("reject 5: too risky", given("reject", Decide(which=FIVE, reason="too risky"))),
        ("message #42 use port 8080", given("message", Message(job=ISSUE, words="use port 8080"))),
        ("answer 5 use the second one", given("answer", Answer(decision=FIVE, words="use the second one"))),
        (
            "answer 5 ask <@U123|bob>, <#C9|dev>, <!subteam^S1|@team> or <!channel>; a &lt; b &amp;&amp; c\n\n  twice",
            given(
                "answer",
                Answer(decision=FIVE, words="ask @bob, #dev, @team or @channel; a < b && c\n\n  twice"),
            ),
        ),
        ("answer 5 it’s “one”", given("answer", Answer(decision=FIVE, words='it\'s "one"'))),
        *((name, looked(name, Nothing())) for name in ("queue", "history", "decisions", "inbox", "list")),
        ("status", looked("status", OfStatus())),
        ("/status job #42?", looked("status", OfStatus(job=ISSUE))),
        ("briefing", looked("briefing", OfDay(day="", hours=24.0))),
        ("trends", looked("trends", OfTrends())),
        ("trends 90 days", looked("trends", OfTrends(days=DaySpan.QUARTER))),
        ("trends 7 by week model m acme/calc", looked("trends", ONE_MODEL)),
        ("trends acme/calc", looked("trends", OfTrends(space="acme/calc"))),
        ("search lint failed", looked("search", OfSearch(words="lint failed"))),
        ('search "the state: of" -things', looked("search", OfSearch(words='"the state: of" -things'))),
        (
            "search lint state:failed SPACE:acme/calc before:9 now",
            looked("search", OfSearch(words="lint now", space="acme/calc", state="failed", before="9")),
        ),
        ("briefing 48", looked("briefing", OfDay(day="", hours=48.0))),
        ("briefing day 2026-11-26", looked("briefing", OfDay(day="2026-11-26", hours=24.0))),
        ("brief", looked("briefing", OfDay(day="", hours=24.0))),
    ],
)
def test_what_people_type_is_understood(text: str, wanted: Command | Question | Help) -> None:
    assert chat_command(text) == wanted


@pytest.mark.parametrize(
    ("text", "said", "example"),
    [
        ("destroy everything", "do not know", "help"),
        ("stat", "Did you mean this", "status"),
        ("desicions", "Did you mean this", "decisions"),
        ("status now", "Say which", "status 7"),
        ("work", "Say which issue", "work on #42"),
        ("work on 42", "Say which issue", "work on #42"),
        ("work on #42 and #43", "takes nothing after the issue", "work on #42"),
        ("work on #", "Say which issue", "work on #42"),
        ("work on #0x10", "Say which issue", "work on #42"),
        ("work on #9999999999999999999999", "Say which issue", "work on #42"),
        ("work on #４２", "Say which issue", "work on #42"),
        ("work on ../..#1", "Say which issue", "work on #42"),
        ("work on https://github.com/acme/calc", "Say which issue", "work on #42"),
        ("work on https://a:b@evil/acme/calc/issues/1", "Say which issue", "work on #42"),
        ("stop", "Say which", "stop 7"),
        ("stop it", "Say which", "stop owner/repo#42"),
        ("why -7", "Say which", "why 7"),
        ("retry 7 now", "takes nothing after", "retry #42"),
        ("pause <!channel>", "Say what", "pause everything"),
        ("pause a/b/c", "Say what", "pause everything"),
        ("pause acme/..", "Say what", "pause everything"),
        ("pause -acme/calc", "Say what", "pause everything"),
        ("resume acme/calc now", "takes nothing after", "resume owner/repo"),
        ("cost yesterday", "Say of what", "cost week"),
        ("cost job", "Say of what", "cost job 7"),
        ("cost week job", "Say of what", "cost week"),
        ("scope", "Say which", "scope 7 +src/**"),
        ("scope #42", "each with a plus", "scope #42 +src/** +README.md"),
        ("scope #42 src/**", "each with a plus", "scope #42 +src/** +README.md"),
        ("scope #42 +src -docs", "each with a plus", "scope #42 +src/** +README.md"),
        ("scope #42 +../etc", "none that a scope can have", "scope #42 +src/**"),
        ("scope #42 +", "none that a scope can have", "scope #42 +src/**"),
        ("scope #42 " + " ".join(f"+d{number}" for number in range(21)), "at most 20", "scope #42 +src/**"),
        ("approve", "Say which decision", "approve 5"),
        ("reject it", "Say which decision", "reject 5 too risky"),
        ("reject draft p3", "Say which decision", "reject 5 too risky"),
        ("answer 5", "Say what the answer is", "answer 5 use the second one"),
        ("answer 5  \n", "Say what the answer is", "answer 5 use the second one"),
        ("search", "Say the words to find", "search lint failed"),
        ("search state:failed", "Say the words to find", "search lint failed"),
        ("search lint state:odd", "That state is none there is", "search lint failed"),
        ("status " * MOST_CHARS, "too long", "help"),
        ("\x1b[2J" * 10, "do not know", "help"),
        ("A" * 10_000_000, "too long", "help"),
        ("<" * MOST_CHARS, "do not know", "help"),
        ("<a|" * 1000, "do not know", "help"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_not_understood_is_told_with_what_to_type(text: str, said: str, example: str) -> None:
    with pytest.raises(CommandError, match=said) as caught:
        chat_command(text)
    assert example in caught.value.examples


@hypothesis.given(st.text(max_size=200), st.sampled_from(OFFERED))
def test_nothing_of_theirs_is_ever_said_back(words: str, verb: str) -> None:
    text = f"{verb} {words}XYZZY"
    try:
        chat_command(text)
    except CommandError as error:
        told = " ".join([str(error), *error.examples])
        assert "XYZZY" not in told
        for example in error.examples:
            chat_command(example)


def test_everything_is_explained_and_what_is_shown_can_be_typed() -> None:
    assert len(usages()) == len(OFFERED)
    for name, usage in zip(OFFERED, usages(), strict=True):
        command = chat_command(usage.form)
        known = "help" if isinstance(command, Help) else command.name
        assert (known, usage.form.split()[0]) == (name, {"spaces": "space"}.get(name, name))


def test_help_names_every_verb() -> None:
    assert plain(help_message(usages())) == snapshot("""\
# What I understand
- `/overlord work on #42`  work on an issue, label or not
- `/overlord stop #42`  end its job; what it made stays
- `/overlord retry #42`  try again what its job waits for
- `/overlord scope #42 +src/**`  let its job write more
- `/overlord pause owner/repo`  begin nothing new there; pause everything for all
- `/overlord resume owner/repo`  go on there; resume everything for all
- `/overlord approve 5`  say yes to a decision; approve p3 to a proposal, approve d3 to a draft
- `/overlord reject 5 too risky`  say no to one; reject p3 or reject d3 as well
- `/overlord retire say-why`  draft that a skill goes; retire owner/repo say-why where several have it
- `/overlord answer 5 use the second one`  answer one in words
- `/overlord message #42 use port 8080`  say something to its Minion, which reads it as it works
- `/overlord ask-again owner/repo`  take back what was said about its missing tests
- `/overlord build owner/repo "add() takes several numbers"`  open an issue for a requirement, and have it worked on
- `/overlord init owner/repo`  have a contract proposed for it; init owner/repo review looks at the one it has
- `/overlord portfolio-run`  go through the portfolio now, whatever the schedule says
- `/overlord initiative-add owner/repo "Totals in euros"`  open an initiative, which is planned before anything is written
- `/overlord initiative-set i3 priority high`  change priority, budget, paths or title of an initiative
- `/overlord initiative-pause i3`  let an initiative rest
- `/overlord initiative-resume i3`  let an initiative go on that rests
- `/overlord initiative-cancel i3`  give an initiative up
- `/overlord task-add i3 "Round as banks do"`  add a task; lines with a dash are its acceptance criteria
- `/overlord task-set i3.4 blocked-by i3.1`  change priority, paths, blocked-by, subject, description, labels, or add a criterion
- `/overlord task-done i3.4 "Rotated by hand"`  say that a task is done, and what was done
- `/overlord task-cancel i3.4`  give a task up
- `/overlord initiative-plan i3 the API changed`  have an initiative planned, or planned anew
- `/overlord knowledge-add convention owner/repo All endpoints return data and error.`  write down what sessions are to know; without a repository in all of them
- `/overlord knowledge-accept n12`  have a draft of a note count
- `/overlord knowledge-withdraw n12 it is not so any more`  have a note count no more; a draft is rejected
- `/overlord knowledge-edit n12 All endpoints return data, error and meta.`  put other words in a note's place
- `/overlord knowledge-promote n12`  have a note of one repository count in all of them
- `/overlord rule-add 5 always`  answer a question always, as decision 5 was answered; also rule-add Which cache do tokens need? Redis. for 30 days
- `/overlord rule-revoke r2`  have a rule answer nothing more
- `/overlord status`  what is going on; with a job (status 7), all about that one
- `/overlord queue`  what starts next, and what it waits for
- `/overlord history`  what ended lately
- `/overlord why #42`  where its job stands, and how it came there
- `/overlord job #42`  its whole story: what happened, what was checked, what it cost
- `/overlord cost week`  what was spent: today, week, or #42
- `/overlord space list`  the managed repositories; space show owner/repo what one is worked on by
- `/overlord space owner/repo`  what a repository is worked on by
- `/overlord inbox`  everything that waits for a person
- `/overlord decisions`  what waits for a person
- `/overlord decision 5`  one decision, and what each answer does
- `/overlord proposals`  what Overlord would improve, and waits for an answer
- `/overlord proposal p3`  one proposal, with what it rests on
- `/overlord draft d3`  one draft, with its text
- `/overlord drafts`  skills that are drafted, and wait for a person or are under way
- `/overlord briefing`  the day's briefing, now or of an earlier day
- `/overlord skills`  the skills there are, and how work goes that loads them
- `/overlord skill say-why`  one skill, with how the work goes that loads it
- `/overlord skill-pulls`  open pull requests that change skills, and what is held against them
- `/overlord trends 30`  how work went over 7, 30 or 90 days, also trends 90 by week owner/repo
- `/overlord search lint failed`  jobs by words of their issues, findings and transcripts, also search state:failed "exact words" -without
- `/overlord list`  every job under way, and what each waits for
- `/overlord agents 30`  how each coding agent and model did over 7, 30 or 90 days, also agents 90 owner/repo
- `/overlord tier`  which models there are, whether they answer, how fast, and what they cost
- `/overlord contract-experience owner/repo`  what happened under a repository's contract
- `/overlord portfolio`  every initiative: how far it is, what it waits for, what it cost
- `/overlord initiative i3`  one initiative: plan, tasks, escalations, cost and story
- `/overlord task i3.4`  one task: criteria with what was said of each, links, jobs and story
- `/overlord knowledge cache`  what was learned, also knowledge drafts, knowledge kind:decision space:owner/repo cache
- `/overlord note n12`  a note, and what happened to it
- `/overlord rules`  questions that are answered always, and how often each rule answered
- `/overlord rule-preview 5`  what a rule would have answered, before it is made
- `/overlord escalations`  what sessions could not decide, and how it was resolved
- `/overlord calls`  what other agents called over MCP, and what was verified of it
- `/overlord call c7`  a call of a discipline: what was asked, what came of it, and why that is verified or not
- `/overlord help`  this list
(Where a #42 stands, owner/repo#42, the issue's address and a job's number do too. A mention takes the same words.)
""")
