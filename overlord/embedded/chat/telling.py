"""The conversation as people can read it, in the order it happened."""

from collections.abc import Sequence

from overlord.embedded.chat.record import Message, RecordedCall
from overlord.embedded.chat.workspace import Workspace

INDENT = "    "


def transcript(
    workspace: Workspace, acts: Sequence[tuple[str, str]], requests: Sequence[RecordedCall]
) -> str:
    """Everything that stands, was shown or done, and each call that was refused, a line or more each."""
    entries = [(float(ts), f"  {words}") for ts, words in acts]
    entries += [
        (float(message.ts), _message_lines(workspace, message)) for message in workspace.standing.values()
    ]
    entries += [(float(message.ts), _message_lines(workspace, message)) for message in workspace.whispers]
    entries += [
        (seen.at.timestamp(), f"  ! {seen.method}: {seen.error or 'no answer'}")
        for seen in requests
        if not seen.ok
    ]
    return "\n".join(words for _, words in sorted(entries, key=lambda entry: entry[0]))


def _message_lines(workspace: Workspace, message: Message) -> str:
    channel = workspace.channels[message.channel].name
    author = workspace.people[message.user].name
    notes = (
        [f"#{channel}"] if not message.thread_ts else [f"#{channel}, in the thread of {message.thread_ts}"]
    )
    notes += [f"only {workspace.people[message.shown_to].name} sees it"] if message.shown_to else []
    notes += [f"edited {message.edits} times"] if message.edits else []
    first, *rest = message.plain.split("\n")
    lines = [f"{author} ({'; '.join(notes)}): {first}", *(f"{INDENT}{line}" for line in rest)]
    return "\n".join(f"  {line}" for line in lines)
