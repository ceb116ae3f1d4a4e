"""The one comment on an issue: where its job stands, what is asked of people, and how they answer there, in the chat and in a terminal."""

from overlord.domain.conversation.pull_card import Story, state_in_words, where_work_is
from overlord.domain.decision import Verb
from overlord.domain.job import JobState
from overlord.domain.text.plain import defused

_EDITED = (
    "The issue was edited after work began. Overlord works on the text as it stood; no session is given the new one "
    "before a person says so."
)


def issue_comment(story: Story) -> str:
    """The one comment on the issue: where its job stands, and what is asked of people."""
    job = story.job
    lines = [
        f"**Overlord: {state_in_words(job.state)}**" + (f" (#{job.pull_number})" if job.pull_number else "")
    ]
    if job.reason:
        lines.append(defused(job.reason))
    if job.is_open and job.edited_issue is not None:
        lines.append(_EDITED)
    if place := where_work_is(job):
        lines.append(f"{place}; `overlord job diff {job.id}` shows it.")
    for decision in story.decisions:
        lines += [f"**{defused(decision.title)}**", decision.body]
        ways = ", ".join(f"`/overlord answer {decision.id} {verb}`" for verb in decision.verbs)
        lines.append(
            f"Answer in the chat with {ways}, or on the command line: `overlord decisions show {decision.id}`."
        )
        if Verb.REPLY in decision.verbs:
            lines.append(
                f"Or in words, with a comment: `/overlord answer {decision.id} your words`. Other comments of people who may write "
                "here are read by the next session too, but begin none."
            )
        if Verb.LIMIT in decision.verbs:
            lines.append(
                "Or with a comment: `/overlord scope +src/** +tests/**`, as many as are meant; `+**` for any file."
            )
    if job.state is JobState.WAITING:
        lines.append("Or put the work label on again to have another try.")
    return "\n\n".join(lines)
