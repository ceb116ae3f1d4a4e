"""What a query's command prints or writes beside its view: a document, a drawing. The same of this machine's daemon and of one elsewhere."""

from pathlib import Path
from typing import Any

from overlord.domain.text.plain import visible
from overlord.domain.view.graph import Graph
from overlord.domain.view.graph_svg import graph_document
from overlord.domain.view.view import View
from overlord.entrypoints.terminal.show import line, show_text
from overlord.errors import Refused
from overlord.queries import registry
from overlord.queries.registry import Question


def show_yaml(question: Question, data: Any) -> None:
    """What programs get of it, as a document."""
    text = registry.find(question.name).yaml
    assert text is not None, f"{question.name} has no document"
    print(visible(text(data)), end="")


def write_graph(view: View, path: str) -> None:
    """The view's graph as a drawing of its own. Raises Refused for a file that cannot be written."""
    graph = next(part for part in view.parts if isinstance(part, Graph))
    try:
        Path(path).write_text(graph_document(graph), encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise Refused(f"{path} cannot be written: {reason or error}") from None
    show_text(f"Written to {line(path)}.")
