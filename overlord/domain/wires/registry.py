"""The dialect of each wire."""

from collections.abc import Mapping

from overlord.domain.wires.chat import ChatDialect
from overlord.domain.wires.wire import Dialect, Wire

DIALECTS: Mapping[Wire, Dialect] = {wire: ChatDialect() for wire in Wire}
