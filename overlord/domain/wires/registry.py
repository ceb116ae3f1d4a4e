"""The dialect of each wire."""

from collections.abc import Mapping

from overlord.domain.wires.chat import ChatDialect
from overlord.domain.wires.gemini import GeminiDialect
from overlord.domain.wires.messages import MessagesDialect
from overlord.domain.wires.responses import ResponsesDialect
from overlord.domain.wires.wire import Dialect, Wire

_EVERY: tuple[Dialect, ...] = (ChatDialect(), MessagesDialect(), ResponsesDialect(), GeminiDialect())
DIALECTS: Mapping[Wire, Dialect] = {dialect.wire: dialect for dialect in _EVERY}
