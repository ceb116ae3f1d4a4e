"""Which models there are: whether each answers now, how fast it did, what it costs, and which disciplines and repositories it serves.

A name of models.yaml has the models that are tried in its order. Whether one answers is told from what sessions met lately; nobody is
asked for it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from overlord.domain.chat.lines import since, words
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.text.plain import count
from overlord.domain.view.span import Bold, Span
from overlord.domain.view.view import Heading, Note, Part, Table, View
from overlord.queries.look import Look
from overlord.queries.query import Cell, Nothing, Query
from overlord.settings.disciplines import model_for
from overlord.settings.model import Candidate
from overlord.store.budgets import model_answers, model_outages

_COLUMNS = ("name", "model", "now", "median", "USD per million, in/out", "serves")


class Answering(StrEnum):
    """Whether a model answers, as far as anybody knows."""

    YES = "yes"
    """It answered when it was asked last."""
    NO = "no"
    """It gave no reply when it was asked last."""
    UNKNOWN = "unknown"
    """Nobody has asked it, or no answer is remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TierModel:
    """One model that requests of a name may go to."""

    endpoint: str
    """Its name in the settings: `primary` is that of the model section."""
    model: str
    """What the endpoint calls it; empty where no model is set."""
    answers: Answering
    problem: str
    """Why it does not answer; empty where it does."""
    last_answer_at: datetime | None
    median_s: float | None
    """From a request to the end of its reply, over the newest answers."""
    counted: int
    """Over how many."""
    input_usd: float | None
    """Per million tokens that are sent; empty where no price is known."""
    output_usd: float | None
    """Per million tokens that come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TierLevel:
    """A name of models.yaml, which `model` of a call may have."""

    name: str
    models: tuple[TierModel, ...]
    """In the order they are tried."""
    disciplines: tuple[str, ...]
    """Those that work with it where a call names no model."""
    repositories: tuple[str, ...]
    """Those whose sessions work with it."""

    @property
    def answers(self) -> Answering:
        """Whether any of them answers."""
        states = {item.answers for item in self.models}
        return next((state for state in (Answering.YES, Answering.UNKNOWN) if state in states), Answering.NO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """All of them."""

    levels: tuple[TierLevel, ...]
    of_repository: tuple[str, ...]
    """Disciplines that work with their repository's model, because none is set for them."""


def _read(look: Look, _arguments: Nothing) -> Tier:
    settings = look.settings
    serving = {name: model_for(settings.discipline_models, name) for name in DisciplineName}
    seen = [name for name in settings.repositories if look.sees(name)]
    levels = tuple(
        TierLevel(
            name=name,
            models=tuple(_model(look, candidate) for candidate in candidates),
            disciplines=tuple(str(discipline) for discipline, model in serving.items() if model == name),
            repositories=tuple(space for space in seen if settings.space(space).model == name),
        )
        for name, candidates in settings.models.items()
    )
    return Tier(levels=levels, of_repository=tuple(str(name) for name, model in serving.items() if not model))


def _model(look: Look, candidate: Candidate) -> TierModel:
    settings = look.settings
    model = settings.model_name(candidate)
    outage = model_outages.of(look.connection, model)
    answers = model_answers.of_model(look.connection, model)
    price = settings.price(model)
    known = Answering.YES if answers.counted else Answering.UNKNOWN
    return TierModel(
        endpoint=candidate.endpoint,
        model=model,
        answers=known if outage is None else Answering.NO,
        problem=outage.line(look.at, is_short=True) if outage is not None else "",
        last_answer_at=answers.last_at,
        median_s=answers.median_s,
        counted=answers.counted,
        input_usd=price.input_usd if price is not None else None,
        output_usd=price.output_usd if price is not None else None,
    )


def _view(look: Look, found: Tier) -> View:
    answering = sum(level.answers is Answering.YES for level in found.levels)
    text = f"{count(len(found.levels), 'name')} of models, of which {answering} answered when last asked"
    rows = tuple(
        _row(level, item, look.at, is_first=not place)
        for level in found.levels
        for place, item in enumerate(level.models)
    )
    parts: list[Part] = [Heading("Models"), Table(_COLUMNS, rows)]
    if found.of_repository:
        parts.append(Note(f"With their repository's model: {', '.join(found.of_repository)}."))
    return View(summary=text, parts=tuple(parts))


def _row(level: TierLevel, item: TierModel, at: datetime, *, is_first: bool) -> tuple[tuple[Span, ...], ...]:
    serves = ", ".join((*level.disciplines, *map(words, level.repositories))) if is_first else ""
    place = f" ({words(item.endpoint)})" if item.endpoint != Candidate().endpoint else ""
    return (
        (Bold(words(level.name)),) if is_first else ("or else",),
        (f"{words(item.model) or 'none is set'}{place}",),
        (_now(item, at),),
        (f"{item.median_s:g} s of {item.counted}" if item.median_s is not None else "-",),
        (_price(item),),
        (serves or "-",),
    )


def _now(item: TierModel, at: datetime) -> str:
    if item.answers is Answering.NO:
        return words(item.problem)
    if item.last_answer_at is None:
        return "not asked yet"
    return f"answered {since(item.last_answer_at, at)} ago"


def _price(item: TierModel) -> str:
    if item.input_usd is None or item.output_usd is None:
        return "not known"
    return f"{item.input_usd:g} / {item.output_usd:g}"


def _csv(found: Tier) -> Iterator[Sequence[Cell]]:
    yield (
        *("name", "endpoint", "model", "answers", "problem", "last_answer_at", "median_s", "counted"),
        *("input_usd", "output_usd", "disciplines", "repositories"),
    )
    for level in found.levels:
        for item in level.models:
            last = item.last_answer_at
            yield (
                *(level.name, item.endpoint, item.model, str(item.answers), item.problem),
                *(last.isoformat() if last is not None else "", item.median_s, item.counted),
                *(item.input_usd, item.output_usd, " ".join(level.disciplines), " ".join(level.repositories)),
            )


QUERY = Query(
    read=_read,
    view=_view,
    csv=_csv,
    usage="tier",
    means="which models there are, whether they answer, how fast, and what they cost",
    position=28,
    finds_local=True,
    is_narrowed=True,
)
