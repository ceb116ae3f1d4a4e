"""How people answer in words: what `approve` and `reject` mean for a decision, and which answer some words are."""

from overlord.command_ref import CommandRef, Hint, hint
from overlord.domain.answers import label_for, label_of
from overlord.domain.budgets.budget import parse_amount
from overlord.domain.decision import ApprovalKind, Decision, Subject, Verb
from overlord.domain.scope.approval import EXAMPLE
from overlord.errors import Refused


class NotAnAnswer(Refused):
    """Words that are none of a decision's answers."""


ALLOWS = (Verb.APPROVE, Verb.ACCEPT, Verb.INSTALL, Verb.ONCE, Verb.GRANT, Verb.ADOPT, Verb.UNRESTRICTED)
"""What says yes to what is asked; where both can be, to as little as does."""
OPENS = (*ALLOWS, Verb.LIMIT, Verb.WITHOUT_TESTS)
"""What lets a session do what it could not, or its work pass as it could not: where four eyes are wanted, not for who asked for
its work."""
_GOES_ON = (Verb.RETRY, Verb.ONE_MORE, Verb.RECHECK, Verb.REDELIVER)
"""What says yes where nothing is asked for but another try."""


def decision_verb(decision: Decision, *, approves: bool) -> Verb:
    """The one answer of a decision that `approve` or `reject` stands for. Raises Refused, saying what to type, where there is
    none or it could be several."""
    if decision.ref.kind is not ApprovalKind.DECISION:
        return Verb.APPROVE if approves else Verb.REJECT
    is_choice = decision.subject is Subject.UNTESTED or (
        decision.subject is Subject.ESCALATION and Verb.GRANT in decision.verbs
    )
    if approves and is_choice:
        raise Refused(f"{decision.ref.name} has no plain yes", hint=how_to_answer(decision))
    ways = (ALLOWS, _GOES_ON) if approves else ((Verb.REFUSE, Verb.REJECT), (Verb.KEEP, Verb.DROP))
    offered = ([verb for verb in way if verb in decision.verbs] for way in ways)
    found = next(filter(None, offered), [])
    if len(found) == 1 or found == [Verb.ONCE, Verb.GRANT]:
        return found[0]
    raise Refused(
        f"{decision.ref.name} has no plain {'yes' if approves else 'no'}", hint=how_to_answer(decision)
    )


def answer_in(decision: Decision, words: str) -> tuple[Verb, str]:
    """Which of a decision's answers some words are, and the text with it: one of its verbs with what follows, a button's words,
    an amount for a spent budget; else the reply, where words are an answer. Raises Refused, saying what to type, for anything
    else, and for words that could be another answer as well as a reply."""
    text = words.strip()
    first, rest = (*text.split(None, 1), "", "")[:2]
    for verb in decision.verbs:
        if text.casefold() in (label_of(verb).casefold(), label_for(decision.subject, verb).casefold()):
            return verb, ""
        if _names(verb, first):
            if rest and Verb.REPLY in decision.verbs and verb not in _TAKE_WORDS:
                raise Refused("that can be read in two ways", hint=_two_ways(decision, verb))
            return verb, rest
    if Verb.ADD_BUDGET in decision.verbs and _is_amount(text):
        return Verb.ADD_BUDGET, text
    if Verb.LIMIT in decision.verbs and text and all(word[0] == "+" for word in text.split()):
        return Verb.LIMIT, text
    is_a_verb = not rest and any(_names(verb, first) for verb in Verb)
    if Verb.REPLY in decision.verbs and text and (decision.session_id is not None or not is_a_verb):
        return Verb.REPLY, text
    raise NotAnAnswer(f"{decision.ref.name} takes another answer", hint=how_to_answer(decision))


def names_answer(decision: Decision, words: str) -> bool:
    """Whether some words begin with one of a decision's answers."""
    return any(_names(verb, words.split(None, 1)[0]) for verb in decision.verbs if words.strip())


_TAKE_WORDS = frozenset({Verb.REPLY, Verb.APPROVE, Verb.REJECT, *_GOES_ON})
"""What some words more do not turn into something else: they are told to the next session."""


def _names(verb: Verb, word: str) -> bool:
    """Whether a word is a verb's name, or what its button says, as `try-again`."""
    plain = word.casefold().replace("-", "_")
    return plain in (verb, label_of(verb).casefold().replace(" ", "_"))


def _two_ways(decision: Decision, verb: Verb) -> Hint:
    """Words that begin with an answer's name may be meant for the Minion: `drop the second test` is not to drop the job."""
    alone, reply = CommandRef("answer", (decision.ref.label, verb)), answer_ref(decision, Verb.REPLY)
    answer = f" alone if that is the answer ({label_of(verb)}), or "
    return hint("say ", alone, answer, reply, " to say it to the Minion")


def confirmation(decision: Decision) -> str:
    """What whoever answered is told: the answer, and where words of theirs go."""
    worded = decision.verb is not None and decision.answer != label_of(decision.verb)
    if decision.subject is Subject.ESCALATED:
        return f"Decision {decision.id}: {decision.answer.rstrip('.')}. The session that asked is told, or the next one."
    is_briefed = worded and decision.verb in _BRIEFED and decision.session_id is None
    more = " The next session reads it." if is_briefed else ""
    return f"Decision {decision.id}: {decision.answer.rstrip('.')}.{more}"


_BRIEFED = frozenset({Verb.REPLY, Verb.RETRY, Verb.ONE_MORE})
"""What another session begins with."""


def _is_amount(text: str) -> bool:
    try:
        parse_amount(text)
    except ValueError:
        return False
    return True


_AFTER = {Verb.REPLY: "your words", Verb.ADD_BUDGET: "500k", Verb.LIMIT: EXAMPLE}


def how_to_answer(decision: Decision) -> Hint:
    """What to say."""
    ways = [part for verb in decision.verbs for part in (" or ", answer_ref(decision, verb))]
    return hint("say ", *ways[1:])


def answer_ref(decision: Decision, verb: Verb, words: str = "") -> CommandRef:
    """The command that gives this answer: with an example of the words it takes, where none are given."""
    said = words or _AFTER.get(verb, "")
    return CommandRef("answer", (decision.ref.label, verb, *((said,) if said else ())))
