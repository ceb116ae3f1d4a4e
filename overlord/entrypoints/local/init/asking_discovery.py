"""A discovery's questions at the terminal: one after the other, each accepted with one key, and left and taken up again anywhere."""

from collections.abc import Sequence

from overlord.domain.decision import Decision, Verb
from overlord.domain.discovery.question import Discovery, Kind, Question
from overlord.domain.text.plain import count
from overlord.entrypoints.local.asking import Answered, flush_typed, read_line
from overlord.entrypoints.local.init.kept_answers import KeptAnswers
from overlord.entrypoints.terminal.show import show_text, show_wrapped

HELP = "Enter accepts what is proposed; or type your answer. ? tells more, < goes back, q leaves the rest for later."
INDENT = 5
_LEAVES = ("q", "quit", "exit")


async def ask_questions(
    decision: Decision, discovery: Discovery, kept: KeptAnswers
) -> tuple[Answered | None, bool]:
    """The person's answer to a batch, of None where there is none; and whether the rest is left for later. What was typed in a command
    that was cut off is not asked again."""
    flush_typed()
    batch = [item for name in decision.options if (item := discovery.get(name)) is not None]
    answers = kept.of(decision)
    asked = sum(bool(item.by) for item in discovery.questions)
    total = asked + len(discovery.open)
    show_text("")
    if not asked:
        found = len(discovery.questions) - total
        show_wrapped(f"The architect found {found} answers, and has {count(total, 'question')}. {HELP}")
        show_text("")
    if answers:
        show_wrapped(f"What you typed before is kept: {count(len(answers), 'answer')}. < goes back to it.")
        show_text("")
    while len(answers) < len(batch):
        question = batch[len(answers)]
        _show(question, number=asked + len(answers) + 1, total=total)
        typed = await read_line("> ")
        if typed is None or typed.lower() in _LEAVES:
            return _answered(batch, answers), True
        if typed == "?":
            _explain(question)
            continue
        if typed == "<":
            del answers[-1:]
        else:
            answers.append(typed or question.proposed)
        kept.keep(decision, answers)
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
    show_wrapped(f"{number}/{total}  {question.section}: {question.ask}")
    if question.kind is Kind.CONFLICT:
        show_wrapped("Two sources say different things.", indent=INDENT)
    show_wrapped(f"Proposed: {question.proposed}", indent=INDENT)
    if question.alternatives:
        show_wrapped(f"Or: {'; '.join(question.alternatives)}", indent=INDENT)


def _explain(question: Question) -> None:
    show_wrapped(question.rationale or "No reason was given.", indent=INDENT)
    if question.sources:
        show_wrapped(
            f"Read in {', '.join(question.sources)}; {question.confidence} confidence.", indent=INDENT
        )
    show_wrapped(HELP, indent=INDENT)
