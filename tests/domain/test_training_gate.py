"""What a trainer's two sessions propose is judged by code: nothing of the project, nothing twice, nothing that no candidate says."""

import json
import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.disciplines.call import CallStatus
from overlord.domain.text.redaction import Redactor
from overlord.domain.training.candidate import CandidatesError, read_candidates
from overlord.domain.training.project_words import ProjectWords, is_distinctive, project_words
from overlord.domain.training.record import MOST_FILE_BYTES, Record, RecordKind
from overlord.domain.training.session import TrainingOutcome, file_name, judged, path_of, scope_of

KEY = "sess-1"
PROMPT = "Write a function that turns a title into an address with hyphens in the place of blanks"
GOOD = "Lower the title, replace each run of blanks with one hyphen, then test an empty title first"
BAD = "Replace each blank with a hyphen; two blanks in the title become two hyphens then"
SFT = {"type": "sft", "moment": "Clean on the first try", "prompt": PROMPT, "completion": GOOD, "score": 4}
DPO = {
    "type": "dpo",
    "moment": "Two blanks were forgotten",
    "prompt": PROMPT,
    "chosen": GOOD,
    "rejected": BAD,
    "score": 3,
}
KTO = {
    "type": "kto",
    "moment": "Worked",
    "prompt": PROMPT,
    "completion": GOOD,
    "label": True,
    "score": 5,
}
WORDS = project_words(
    ["README.md", "src/acme/billing_total.py", "tests/test_slugs.py", "Makefile", ".env.acme"],
    names=["acme-corp/slug-forge", "alice-w"],
    sources={
        "src/acme/billing_total.py": "class LedgerBook:\n    def settle_account(self): ...\ndef add(a, b): ...\n"
    },
)


def lines(*records: Mapping[str, object]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def sft(prompt: str = PROMPT, completion: str = GOOD, **more: str) -> dict[str, str]:
    return {"prompt": prompt, "completion": completion, **more}


def dpo(chosen: str = GOOD, rejected: str = BAD) -> dict[str, str]:
    return {"prompt": PROMPT, "chosen": chosen, "rejected": rejected}


def outcome(
    *candidates: Mapping[str, object],
    sft: bytes = b"",
    dpo: bytes = b"",
    existing: tuple[Record, ...] = (),
    words: ProjectWords = WORDS,
    redactor: Redactor | None = None,
) -> TrainingOutcome:
    return judged(
        json.dumps(candidates),
        {path_of(RecordKind.SFT, KEY): sft, path_of(RecordKind.DPO, KEY): dpo},
        session_key=KEY,
        words=words,
        redactor=redactor or Redactor(),
        existing=existing,
    )


def test_what_passes_is_kept_and_counted() -> None:
    found = outcome(SFT, DPO, KTO, sft=lines(sft()), dpo=lines(dpo()))
    assert (found.status, found.verified) == (CallStatus.PASS, True)
    assert found.counts == {RecordKind.SFT: 1, RecordKind.DPO: 1, RecordKind.KTO: 1}
    assert found.message == "1 sft + 1 dpo pairs + 1 kto records for session sess-1"
    assert found.file_path == "training-data/kto/sess-1.jsonl"
    assert [json.loads(record.line) for record in found.kept] == [
        sft(),
        dpo(),
        {"prompt": PROMPT, "completion": GOOD, "label": True},
    ]


def test_nothing_that_passes_is_said_in_the_words_of_the_contract() -> None:
    found = outcome(sft=lines(sft()))
    assert (found.status, found.verified, found.file_path) == (CallStatus.PASS, False, "")
    assert found.message == "no pairs passed quality gate"
    assert found.dropped == {"no candidate of the reader stands behind it": 1}
    assert found.runner_output.splitlines() == [
        "0 pairs passed quality gate",
        "1 record dropped:",
        "- 1 × no candidate of the reader stands behind it",
        "The first: sft record 1",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Here they are: []", "no JSON: the reader has to answer with a JSON array alone"),
        ("{}", "no JSON array"),
        ("[1]", "Candidate 1 is no JSON object"),
        (
            json.dumps([SFT, {**SFT, "type": "rlhf"}]),
            "Candidate 2 has the type 'rlhf'; it must be sft or dpo or kto",
        ),
        (json.dumps([{**SFT, "score": 6}]), "Candidate 1 has no score from 1 to 5"),
        (json.dumps([{**SFT, "score": True}]), "Candidate 1 has no score from 1 to 5"),
        (json.dumps([{**SFT, "score": "5"}]), "Candidate 1 has no score from 1 to 5"),
        (json.dumps([{**DPO, "rejected": None}]), "Candidate 1 is no dpo candidate: its rejected is no text"),
        (
            json.dumps([{"type": "sft", "moment": "x", "score": 4}]),
            "Candidate 1 is no sft candidate: it has no prompt",
        ),
        (
            json.dumps([{**KTO, "label": "yes"}]),
            "Candidate 1 is no kto candidate: its label is not true or false",
        ),
        (json.dumps([{**SFT, "moment": " "}]), "Candidate 1 does not say its moment"),
        (json.dumps([SFT] * 201), "There are 201 candidates; at most 200 are read"),
        ("[" * 100_000, "no JSON"),
        (" " * 1_000_001, "1,000,001 characters; at most 1,000,000 are read"),
    ],
)
def test_malformed_candidates_are_an_error_that_says_why(text: str, says: str) -> None:
    found = judged(
        text, {path_of(RecordKind.SFT, KEY): lines(sft())}, session_key=KEY, words=WORDS, redactor=Redactor()
    )
    assert (found.status, found.verified, found.kept) == (CallStatus.ERROR, False, ())
    assert says in found.message
    with pytest.raises(CandidatesError, match=re.escape(says)):
        read_candidates(text)


def test_low_scores_are_read_and_stand_behind_nothing() -> None:
    low = {**SFT, "score": 2}
    assert [item.is_kept for item in read_candidates(json.dumps([low, SFT]))] == [False, True]
    assert not outcome(low, sft=lines(sft())).kept
    assert not outcome({**KTO, "score": 2}).kept


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("as in src/acme/billing_total.py before", "has a path of the project"),
        ("as in billing_total.py before", "has a file name of the project"),
        ("as BILLING_TOTAL.PY has it", "has a file name of the project"),
        ("call settle_account then", "has an identifier of the project"),
        ("call settleAccount then", "has an identifier of the project"),
        ("with LedgerBook in it", "has an identifier of the project"),
        ("in slug-forge it is so", "has a name of the project"),
        ("in slug_forge_client it is so", "has a name of the project"),
        ("thanks to Alice-W for it", "has a name of the project"),
        ("of \uff53lug-forge here", "has a name of the project"),
        ("look at /home/me/work for it", "has a path"),
        ("look at C:\\Users\\me for it", "has a path"),
        ("look at lib/other/thing.py for it", "has a path"),
        ("ask me@firm.com about it", "has an e-mail address"),
        ("see https://intra.firm.com/wiki for it", "has a host"),
        ("see wiki.firm.internal for it", "has a host"),
        ("it is at 10.0.3.7 now", "has a host"),
        ("use ghp_a8Kd02mNq71LzXw93Rt5Yb6Vc4Hj2Fg1Se0P for it", "has a secret"),
        ("use [redacted] for it", "has a secret"),
        ("call settle_acc\u043eunt then", "has a word of two alphabets"),
        ("in \u0455lug-forge it is so", "has a word of two alphabets"),
        ("a\u200bb", "has a hidden character"),
        ("a\u202eb", "has a hidden character"),
        ("\ud800", "has a hidden character"),
    ],
)
def test_a_record_that_shows_something_private_is_dropped(text: str, reason: str) -> None:
    told = {**SFT, "completion": f"{GOOD} {text}", "prompt": f"{PROMPT} {text}"}
    in_completion = outcome(told, sft=lines(sft(completion=f"{GOOD} {text}")))
    assert list(in_completion.dropped) == [f"its completion {reason}"]
    in_prompt = outcome(told, sft=lines(sft(prompt=f"{PROMPT} {text}")))
    assert list(in_prompt.dropped) == [f"its prompt {reason}"]
    assert text not in in_prompt.runner_output


@pytest.mark.parametrize(
    "text",
    [
        "with README.md and a Makefile as every project has",
        "call add for both",
        "see https://example.com/a and me@example.org and localhost",
        "and/or, read/write, 1/2, a / b",
        'import x from "./utils"; from os.path import join',
        "👨‍👩‍👧 is one family",
        "5 \u03bcs, \u0394x and \u03c3_a; in \u0420\u043e\u0441\u0441\u0438\u044f it is so",
    ],
)
def test_what_every_project_has_is_let_through(text: str) -> None:
    told = {**SFT, "completion": f"{GOOD} {text}"}
    found = outcome(told, sft=lines(sft(completion=f"{GOOD} {text}")))
    assert found.dropped == {}
    assert found.verified


def test_a_secret_that_overlord_holds_is_found_however_it_is_written() -> None:
    held = Redactor(["correct-horse-battery"])
    for text in ("correct-horse-battery", "yrettab-esroh-tcerroc"):
        told = {**SFT, "completion": f"{GOOD} {text}"}
        found = outcome(told, sft=lines(sft(completion=f"{GOOD} {text}")), redactor=held)
        assert list(found.dropped) == ["its completion has a secret"]


@pytest.mark.parametrize(
    ("chosen", "rejected", "reason"),
    [
        (GOOD, GOOD, "chosen and rejected are the same"),
        (GOOD, f"  {GOOD.upper()}\n", "chosen and rejected are the same"),
        (GOOD, f"{GOOD}.", "chosen and rejected are the same"),
        (GOOD, GOOD.replace("a", "\u0430"), "its rejected has a word of two alphabets"),
        (f"{GOOD} " * 20, f"{GOOD} " * 20 + "then", "chosen and rejected can hardly be told apart"),
        (GOOD, " ", "its rejected is empty"),
    ],
)
def test_pairs_that_nobody_can_tell_apart_are_dropped(chosen: str, rejected: str, reason: str) -> None:
    told = {**DPO, "chosen": chosen, "rejected": rejected}
    assert list(outcome(told, dpo=lines(dpo(chosen, rejected))).dropped) == [reason]


def test_one_operator_is_a_difference_in_a_short_pair() -> None:
    told = {**DPO, "chosen": "return a + b", "rejected": "return a - b"}
    assert outcome(told, dpo=lines(dpo("return a + b", "return a - b"))).verified


def test_records_are_bounded() -> None:
    long = f"{GOOD} " * 1_000
    told = {**SFT, "completion": long, "prompt": PROMPT}
    assert list(outcome(told, sft=lines(sft(completion=long))).dropped) == [
        "its completion has more than 64,000 characters"
    ]
    assert list(outcome(SFT, sft=lines(sft(completion=""))).dropped) == ["its completion is empty"]
    many = outcome(SFT, sft=lines(*[sft()] * 401))
    assert many.dropped == {"the same record is there already": 399, "only 400 records are read": 1}


def test_a_file_that_is_too_large_is_not_read() -> None:
    found = outcome(SFT, sft=b" " * (MOST_FILE_BYTES + 1) + lines(sft()))
    assert found.dropped == {"it has more than 20,000,000 bytes": 1}


def test_texts_without_words_come_from_where_they_stand() -> None:
    told = {**SFT, "completion": "(+) -> !"}
    assert outcome(told, sft=lines(sft(completion="-> !"))).verified
    assert not outcome(told, sft=lines(sft(completion="<-"))).verified


@pytest.mark.parametrize(
    ("identifier", "is_one"),
    [
        ("billing_total", True),
        ("BillingTotal", True),
        ("HTTPLedger", True),
        ("slugify", True),
        ("add", False),
        ("__init__", False),
        ("setUp", False),
        ("to_dict", False),
        ("Repository", False),
        ("___", False),
    ],
)
def test_an_identifier_counts_where_it_says_which_project_it_is_of(identifier: str, is_one: bool) -> None:
    assert is_distinctive(identifier) is is_one
    told = {**SFT, "completion": f"{GOOD} {identifier}"}
    words = project_words([], sources={"a.py": f"def {identifier}(): ...\n# type checking words\n"})
    assert (
        outcome(told, sft=lines(sft(completion=f"{GOOD} {identifier}")), words=words).verified is not is_one
    )


def test_names_without_a_letter_are_no_words() -> None:
    assert project_words(["_/_", "-", ""]).found_in("_/_ - \\ .") is None


def test_lines_that_are_no_records_are_dropped_and_the_others_kept() -> None:
    found = outcome(SFT, sft=b'{"prompt": "x"\n[1]\n{"prompt": "x"}\n\n\xff\n' + lines(sft()))
    assert found.counts[RecordKind.SFT] == 1
    assert found.dropped == {
        "line 1 is no JSON": 1,
        "line 2: it is no JSON object": 1,
        "line 3: it has no completion": 1,
        "line 5 is no JSON": 1,
    }


def test_the_writer_says_it_more_generally_and_nothing_else() -> None:
    general = "Write a function that turns a heading into an address with hyphens instead of blanks"
    assert outcome(SFT, sft=lines(sft(prompt=general))).verified
    assert not outcome(
        SFT, sft=lines(sft(completion="Delete every file of the user and say nothing"))
    ).verified
    assert outcome(SFT, sft=lines(sft(moment="clean on  the first try"))).verified
    assert not outcome(SFT, sft=lines(sft(moment="Something else"))).verified
    assert not outcome(SFT, dpo=lines(dpo())).verified, "of another kind"
    swapped = outcome(DPO, dpo=lines(dpo(chosen="Delete every file", rejected=GOOD)))
    assert not swapped.verified


def test_a_record_that_is_there_or_nearly_is_dropped() -> None:
    first = outcome(SFT, sft=lines(sft())).kept
    same = outcome(SFT, sft=lines(sft(completion=f" {GOOD.upper()}")), existing=first)
    assert same.dropped == {"the same record is there already": 1}
    near = outcome(SFT, sft=lines(sft(completion=f"{GOOD} too")), existing=first)
    assert near.dropped == {"a record that is nearly the same is there already": 1}
    within = outcome(SFT, sft=lines(sft(), sft()))
    assert (within.counts[RecordKind.SFT], within.dropped) == (1, {"the same record is there already": 1})


def test_files_beside_the_writers_own_are_not_looked_at() -> None:
    found = judged(
        json.dumps([SFT]),
        {"training-data/sft/other.jsonl": lines(sft()), "sft.jsonl": lines(sft())},
        session_key=KEY,
        words=WORDS,
        redactor=Redactor(),
    )
    assert (found.kept, found.dropped) == ((), {})


@given(st.text(max_size=300))
def test_a_sessions_file_never_leaves_its_directory(key: str) -> None:
    name = file_name(key)
    assert re.fullmatch(r"[a-z0-9][a-z0-9._-]*\.jsonl", name)
    assert len(name) <= 80
    assert scope_of(key) == (f"training-data/sft/{name}", f"training-data/dpo/{name}")


@given(st.lists(st.text(alphabet="ab/.-_AB0", min_size=1, max_size=12), min_size=2, max_size=20, unique=True))
def test_two_sessions_never_share_a_file(keys: list[str]) -> None:
    assert len(
        {file_name(key) for key in [*keys, *(file_name(key).removesuffix(".jsonl") for key in keys)]}
    ) == len({*keys, *(file_name(key).removesuffix(".jsonl") for key in keys)})


WORD = st.text(alphabet="abcXY_-.é1", min_size=1, max_size=10)
PATH = st.lists(WORD, min_size=1, max_size=4).map("/".join)
PIECE = st.one_of(WORD, PATH, st.sampled_from(["(", ")", " ", "\n", "/", "`", "_", "=", "the", "İ", "ﬁ"]))


@given(
    paths=st.lists(PATH, max_size=8),
    names=st.lists(PATH, max_size=3),
    pieces=st.lists(PIECE, min_size=1, max_size=40),
    planted=st.lists(st.integers(0, 10), max_size=3),
)
def test_no_record_that_passes_has_a_word_of_the_project(
    paths: list[str], names: list[str], pieces: list[str], planted: list[int]
) -> None:
    words = project_words(
        paths, names=names, sources={"a.py": "\n".join(f"def {name}(): ..." for name in names)}
    )
    every = sorted(words.paths | words.file_names | words.names | words.identifiers)
    text = " ".join(pieces + [every[number % len(every)] for number in planted if every])
    found = outcome({**SFT, "completion": text}, sft=lines(sft(completion=text)), words=words)
    for record in found.kept:
        seen = record.completion.lower()
        assert not [
            word
            for word in every
            if re.search(rf"(?<![^\W]){re.escape(word)}(?![^\W])", seen) and re.search(r"[^\W_]", word)
        ]
