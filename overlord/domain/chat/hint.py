"""Commands in a text, as they are typed in a chat: who reads it there has no shell.

Texts name a command as `overlord why 7`. What has no form in the chat, as `overlord doctor`, stays: it is for whoever runs Overlord.
"""

import re

_HERE: tuple[tuple[str, str], ...] = (
    (r"decisions answer (\d+) (\w+) '([^'`]*)'", r"answer \1 \2 \3"),
    (r"decisions (answer|approve|reject) ([^`]+)", r"\1 \2"),
    (r"decisions (?:list|show \d+)", "decisions"),
    (r"proposals (approve|reject) ([^`]+)", r"\1 \2"),
    (r"proposals (?:list|show \w+)", "proposals"),
    (r"skills retire (\S+) --space (\S+)", r"retire \2 \1"),
    (r"skills (approve|reject|retire) ([^`]+)", r"\1 \2"),
    (r"skills drafts(?: \w+)?", "drafts"),
    (r"skills list", "skills"),
    (r"job (?:list --all|history)", "history"),
    (r"work '?([^'`]+)'?", r"work on \1"),
    (r"(why|stop|scope) '?([^'`]+)'?", r"\1 \2"),
    (r"resume --all", "resume everything"),
    (r"(resume|pause) ([^`]+)", r"\1 \2"),
    (r"cost job '?([^'`]+)'?", r"cost \1"),
    (r"(status|queue|cost|cost week|space list|space show [^`]+)", r"\1"),
)
"""What follows `overlord` on the command line, and what follows `/overlord` in a chat for the same."""


def in_chat(text: str) -> str:
    """The text with what is typed in a chat in place of what is typed in a shell."""
    return re.sub(r"`overlord ([a-z][^`\n]*)`", _typed, text)


def _typed(found: re.Match[str]) -> str:
    for shell, chat in _HERE:
        if match := re.fullmatch(shell, found[1]):
            return f"`/overlord {match.expand(chat)}`"
    return found[0]
