"""The one comment on an issue: where its job stands, what is asked of people, and how they answer there, in the chat and in a terminal."""

from collections.abc import Iterator

from overlord.command_ref import CommandRef
from overlord.domain.chat.markdown import parts_of
from overlord.domain.conversation.pull_card import (
    MOST_AGENT,
    MOST_AGENTS,
    Story,
    is_planned,
    state_of,
    where_work_is,
)
from overlord.domain.decision import Decision, Verb
from overlord.domain.job import Job, JobState
from overlord.domain.text.plain import plain_line
from overlord.domain.view.markdown import markdown
from overlord.domain.view.span import Bold, Code, Command, Pull, Span
from overlord.domain.view.view import Paragraph, Part, View
from overlord.verbs.typed_words import typed_in_comment

_EDITED = (
    "The issue was edited after work began. Overlord works on the text as it stood; no session is given the new one "
    "before a person says so."
)


def issue_comment(story: Story) -> str:
    """The comment in Markdown, for the forge."""
    view = View(summary="", parts=tuple(_parts(story)))
    return markdown(view, typed_in_comment, space=story.job.space)


def _parts(story: Story) -> Iterator[Part]:
    job = story.job
    yield Paragraph((*_state(job), *_agents(story)))
    if job.reason and not is_planned(job):
        yield Paragraph((job.reason,))
    if job.is_open and job.edited_issue is not None:
        yield Paragraph((_EDITED,))
    if place := where_work_is(job):
        yield Paragraph((f"{place}; ", _command("job diff", str(job.id)), " shows it."))
    for decision in story.decisions:
        yield Paragraph((Bold(decision.title),))
        yield from parts_of(decision.body)
        yield from _ways_to_answer(decision)
    if job.state is JobState.WAITING:
        yield Paragraph(("Or put the work label on again to have another try.",))


def _state(job: Job) -> tuple[Span, ...]:
    said = (is_planned(job) and job.reason) or state_of(job)
    state = Bold(f"Overlord: {said}")
    return (state,) if job.pull_number is None else (state, " ", Pull(job.space, job.pull_number))


def _agents(story: Story) -> tuple[Span, ...]:
    """Who worked, where it is not the native agent alone."""
    return tuple(f" · by {plain_line(who, limit=MOST_AGENT)}" for who in story.worked_by[:MOST_AGENTS])


def _ways_to_answer(decision: Decision) -> Iterator[Part]:
    label = decision.ref.label
    ways = [span for verb in decision.verbs for span in (", ", _command("answer", label, verb))]
    shown = _command("decision", label)
    yield Paragraph(("Answer in the chat with ", *ways[1:], ", or on the command line: ", shown, "."))
    if Verb.REPLY in decision.verbs:
        more = (
            ". Other comments of people who may write here are read by the next session too, but begin none."
        )
        yield Paragraph(("Or in words, with a comment: ", _command("answer", label, "your words"), more))
    if Verb.LIMIT in decision.verbs:
        scope = _command("scope", "+src/**", "+tests/**")
        more = ", as many as are meant; "
        yield Paragraph(("Or with a comment: ", scope, more, Code("+**"), " for any file."))


def _command(name: str, *arguments: str) -> Command:
    return Command(CommandRef(name, arguments))
