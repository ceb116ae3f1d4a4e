"""Names of tools as chat completions take them: 64 letters, digits, `_` and `-`, each name once, and no namespaces.

The list is made of the request's tools, in order, so the same request gives the same names whenever it is asked.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

MOST_CHARS = 64
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class ToolName:
    """What a client calls a tool."""

    name: str
    namespace: str = ""
    is_custom: bool = False
    """Whether it takes any text, and not JSON."""

    @property
    def joined(self) -> str:
        return f"{self.namespace}__{self.name}" if self.namespace else self.name


@dataclass(slots=True)
class ToolNames:
    """The tools of a request by the names that a chat endpoint gets, and back."""

    _flat: dict[tuple[str, str], str] = field(default_factory=dict)
    _tools: dict[str, ToolName] = field(default_factory=dict)

    @classmethod
    def of(cls, tools: Iterable[ToolName]) -> "ToolNames":
        """Plain names first: a tool whose name can stay keeps it, wherever in the list it is."""
        listed = list(tools)
        names = cls()
        for tool in sorted(
            listed, key=lambda tool: tool.joined != tool.name or _allowed(tool.name) != tool.name
        ):
            names.add(tool)
        return names

    def add(self, tool: ToolName) -> str:
        """The name of a tool; of one that is known already, the same."""
        key = (tool.namespace, tool.name)
        if key not in self._flat:
            flat = _allowed(tool.joined)
            if flat in self._tools:
                flat = _shortened(tool)
            self._flat[key] = flat
            self._tools[flat] = tool
        return self._flat[key]

    def split(self, flat: str) -> ToolName:
        """The tool a reply means; a name that nobody offered stays as it is."""
        return self._tools.get(flat, ToolName(flat))


def _allowed(joined: str) -> str:
    clean = _FOREIGN.sub("_", joined)
    if clean == joined and 0 < len(clean) <= MOST_CHARS:
        return clean
    digest = hashlib.sha256(joined.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{clean[: MOST_CHARS - 9]}_{digest}"


def _shortened(tool: ToolName) -> str:
    key = f"{tool.namespace}\0{tool.name}".encode("utf-8", "replace")
    return f"{_FOREIGN.sub('_', tool.joined)[: MOST_CHARS - 13]}_{hashlib.sha256(key).hexdigest()[:12]}"
