"""The programs of coding agents that are known by name: what they are called, and where people get them."""

from collections.abc import Mapping, Sequence

from overlord.domain.launch import AgentProgram

EXECUTABLES: Mapping[str, Sequence[str]] = {
    "claude-code": ("claude",),
    "codex": ("codex",),
    "opencode": ("opencode",),
    "aider": ("aider",),
    "cursor": ("agent", "cursor-agent"),
    "gemini": ("gemini",),
}
"""What each is called on a search path, the newest name first, as `minion/agents/` has it."""
INSTALLING: Mapping[str, str] = {
    "claude-code": "npm install -g @anthropic-ai/claude-code",
    "codex": "npm install -g @openai/codex",
    "opencode": "npm install -g opencode-ai",
    "aider": "uv tool install --python 3.12 aider-chat",
    "cursor": "",
    "gemini": "npm install -g @google/gemini-cli",
}
"""The command that installs it on a machine; no registry has Cursor's."""
PROPRIETARY = frozenset({"claude-code", "cursor"})
"""Everybody downloads these under their makers' terms; nobody passes on an image that holds them."""
BUILD = "docker/images --agents {program}"
"""What builds the image of one."""


def executables(program: AgentProgram) -> Sequence[str]:
    """What is looked for on a search path."""
    return (program.executable,) if program.executable else EXECUTABLES.get(program.program, ())


def installing(program: str) -> str:
    """What a person does to have it on a machine, as the end of a sentence."""
    if command := INSTALLING.get(program):
        return f"install it: `{command}`"
    if program in INSTALLING:
        return "install it from its maker"
    return "install it"


def building(program: str) -> str:
    """What a person does to have its image, as the end of a sentence."""
    if program not in EXECUTABLES:
        return "build or pull it on this engine"
    command = BUILD.format(program=program)
    if program == "cursor":
        command = f"CURSOR_AGENT=/path/to/cursor-agent {command}"
    return f"run `{command}`"
