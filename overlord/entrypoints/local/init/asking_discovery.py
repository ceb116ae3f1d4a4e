"""A discovery's questions at the terminal: one after the other, each accepted with one key, and left and taken up again anywhere."""

from collections.abc import Sequence

from overlord.domain.decision import Decision, Verb
from overlord.domain.discovery.question import Discovery, Question
from overlord.entrypoints.local.asking import Answered, flush_typed, read_line
from overlord.entrypoints.terminal.show import line, show_text

HELP = "Enter accepts what is proposed; or type your answer. ? tells more, < goes back, q leaves the rest for later."
_LEAVES = ("q", "quit", "exit")


async def ask_questions(decision: Decision, discovery: Discovery) -> tuple[Answered | None, bool]:
    """The person's answer to a batch, of None where there is none; and whether the rest is left for later."""
    flush_typed()
    batch = [item for name in decision.options if (item := discovery.get(name)) is not None]
    answers: list[str] = []
    total = len(discovery.questions)
    done = total - len(discovery.open)
    show_text("")
    if done == 0 or not any(item.by for item in discovery.questions):
        show_text(f"The architect has {len(discovery.open)} questions, and found the rest. {HELP}\n")
    while len(answers) < len(batch):
        question = batch[len(answers)]
        _show(question, number=done + len(answers) + 1, total=total)
        typed = await read_line("> ")
        if typed is None or typed.lower() in _LEAVES:
            return _answered(batch, answers), True
        if typed == "?":
            _explain(question)
            continue
        if typed == "<":
            del answers[-1:]
            continue
        answers.append(typed or question.proposed)
    return _answered(batch, answers), False


def _answered(batch: Sequence[Question], answers: Sequence[str]) -> Answered | None:
    if not answers:
        return None
    if list(answers) == [item.proposed for item in batch]:
        return Answered(verb=Verb.ACCEPT)
    folded = (" ".join(text.split()) for text in answers)
    return Answered(
        verb=Verb.REPLY, text="\n".join(f"{number}: {text}" for number, text in enumerate(folded, 1))
    )


def _show(question: Question, *, number: int, total: int) -> None:
    show_text(f"{number}/{total}  {line(question.section)}: {line(question.ask)}")
    if question.kind == "conflict":
        show_text("     Two sources say different things.")
    show_text(f"     Proposed: {line(question.proposed)}")
    if question.alternatives:
        show_text(f"     Or: {line('; '.join(question.alternatives))}")


def _explain(question: Question) -> None:
    show_text(f"     {line(question.rationale) or 'No reason was given.'}")
    if question.sources:
        show_text(f"     Read in {line(', '.join(question.sources))}; {question.confidence} confidence.")
    show_text(f"     {HELP}")
