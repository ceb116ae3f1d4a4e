"""Where a session ends by itself; a part of `minion/protocol.py`, and used from there."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Where a session ends by itself. Numbers come from `config/overlord.yaml` and the contract's role."""

    turns: int = 50
    time_s: int = 1800
    tool_errors: int = 3
    """Consecutive tool errors."""
    command_s: int = 120
    """The longest one `run_command` may take."""
    output_chars: int = 20_000
    """The most of one tool's output the model is shown."""
    context_tokens: int = 120_000
    """What the model's window holds; older tool output is shortened before it is reached."""
    questions: int = 3
    question_wait_s: int = 600
    silent_s: int = 300
    """How long an agent's program may do nothing at all before it is ended."""
