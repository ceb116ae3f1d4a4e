"""A skill's text as it would be understood: without the disguises a command or a sentence can wear.

Each logical line is read as it stands, and once more with its quotes, escapes, variables and pieces put together. What a reader
finds only in the second reading was meant not to be found.
"""

import binascii
import codecs
import re
import unicodedata
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from overlord.domain.text.hidden_character import unseen

MOST_READ = 8_000
"""So many characters of what a line comes to are read; `outgrows` tells of the others."""
_MOST_GROWN = 40
"""How many characters one can come to: a name of one letter stands for 80."""
_MANY_BLANKS = re.compile(r"\s{4,}")
_ASSIGNED = re.compile(
    r"(?:^|[\s;&`({])(?:export[ \t]+|local[ \t]+)?([A-Za-z_]\w{0,30})[ \t]?=[ \t]?([\"']?)([^\s\"';|&$`=]{1,60})\2(?=[\s;&`)},]|$)",
    re.MULTILINE,
)
_QUOTED_VALUE = re.compile(r"(?:^|[\s;&`({])([A-Za-z_]\w{0,30})=[\"']([\w./~ -]{1,80})[\"']", re.MULTILINE)
_ECHOED = re.compile(r"\$\(\s*(?:echo|printf)\s+(?:-\w+\s+)*[\"']?([\w./ -]{1,60})[\"']?\s*\)")
_NAMED = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?::?[-=+][^}]*)?\}|([A-Za-z_]\w*))")
_NOTHING = re.compile(
    r"(?<=[\w/.-])(?:\$\{[^}\w]?[^}]{0,20}\}|\$[@*!]|\$\(\)|``|''|\"\"|\\(?=[a-zA-Z]))(?=[\w/.-])"
)
_QUOTED = re.compile(r"(?<=\w)(?:'(?=\w)|\"(?=\w)|\\(?=\w))|(?<![\w\\])\\(?=[a-z]{2,}\b)")
_BEGUN = re.compile(r"(?<!\w)([\"'])(\w{1,8})\1(?=\w)")
_BLANK = re.compile(r"\$\{?IFS\}?(?:\$[0-9])?|\$'\\(?:t|x20|040)'|%20(?=\S)")
_ESCAPE = r"(?:\\x[0-9a-fA-F]{2}|\\u\{?00[0-9a-fA-F]{2}\}?|\\U000000[0-9a-fA-F]{2}|\\0?[01][0-7]{2}|&#(?:x[0-9a-fA-F]{2}|\d{2,3});|%[2-7][0-9a-fA-F])"
_ESCAPES = re.compile(rf"{_ESCAPE}(?:[a-zA-Z0-9]?{_ESCAPE})*")
_ONE_ESCAPE = re.compile(_ESCAPE)
_LISTED = re.compile(r"(?<=[\w/*~.}|-])([\"'])\s{0,3},\s{0,3}\1(?=[\w$./~*|-])")
_WHOLE = re.compile(r"(?<![\w=(\[,:])([\"'])([\w./~$-]{1,40})\1(?=[\s;&|)]|$)")
_PLUS = re.compile(r"[\"']\s{0,3}\+\s{0,3}[\"']")
_CODES = re.compile(r"(?:chr\(\s*(?:0x)?[0-9a-fA-F]{2,3}\s*\)\s*[+.,]?\s*){3,}")
_CODE = re.compile(r"\(\s*(0x[0-9a-fA-F]{2}|\d{2,3})\s*\)")
_CHAR_CODES = re.compile(
    r"(?:fromCharCode|bytes|bytearray|pack|map\(chr,)\s*\(?\s*\[?((?:\s*(?:0x[0-9a-fA-F]{2}|\d{2,3})\s*,){3,}\s*(?:0x[0-9a-fA-F]{2}|\d{2,3}))"
)
_BRACED = re.compile(r"(?<![\w$])\{([\w./-]+(?:,[^\s{},]+)+)\}")
_SPACED = re.compile(r"(?<!\w)(?:\w[ .*_-]){2,}\w(?!\w)")
_REVERSED = re.compile(
    r"([\"'])([^\"'\n]{6,300})\1\s*\[\s*::\s*-1\s*\]|\b(?:rev|reverse)\b\s*<<<\s*([\"'])([^\"'\n]{4,300})\3|echo\s+([\"'])([^\"'\n]{4,300})\5\s*\|\s*rev\b"
)
_BLOB = re.compile(r"(?<![\w/+.-])(?:[A-Za-z0-9+/]{16,}|[A-Za-z0-9_-]{16,})={0,2}(?![\w/+])")
_HEX_BLOB = re.compile(r"(?<!\w)(?:[0-9a-fA-F]{2}){8,}(?!\w)")
_LEAST_READABLE = 8
_LOOKALIKES = str.maketrans(
    "օսհցʀɪɢɴʟʏʙᴀᴅᴇꜰᴊᴋᴍᴘʜᴛᴜꜱаеосурхіјѕһԁԛԝӏвкмнтАВЕКМНОРСТХУІЈЅԚԜӀοαερικντυχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳɑɡɩʀᴄᴏᴠᴡᴢꜱꮯᎪᎬᏢᏚᏔ",
    "oubgRiGnLyBADEFJKMPHTUSaeocypxijshdqwlBKMHTABEKMHOPCTXYIJSQWIoaepikvtuxyABEZHIKMNOPTYXcjagiRcovwzscAEPSW",
)
_SMALL_CAPITALS = frozenset("ʀɪɢɴʟʏʙᴀᴄᴅᴇꜰᴊᴋᴍᴏᴘʜᴛᴜᴠᴡᴢꜱ")
_ACCENTED = re.compile("([A-Za-z])[\u0300-\u036f]+")
_MIXED = re.compile(r"(?<![\w./$-])(?=[013457]*[A-Za-z])[A-Za-z]*+[013457][A-Za-z013457]*+(?![\w/-]|\.\w)")
_FIGURES = str.maketrans("013457", "oieast")
_ROTATED = re.compile(r"\brot-?13\b|n-za-m", re.IGNORECASE)
_BACKWARDS = re.compile(r"\bbackwards?\b|\breversed?\b|\bright\s+to\s+left\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a logical line."""

    text: str
    disguised: bool
    in_words: bool = False
    """Whether only what is said to an agent could be meant by it, and no command."""


def names_in(text: str) -> dict[str, str]:
    """What short shell variables, and others like them, stand for in a text."""
    names = {match[1]: match[2] for match in _QUOTED_VALUE.finditer(text)}
    return names | {match[1]: match[3] for match in _ASSIGNED.finditer(text)}


def readings(line: str, names: Mapping[str, str]) -> tuple[Reading, ...]:
    """A line as people see it, and in each disguise that is taken off it."""
    plain = seen(line)
    found = [Reading(plain, disguised=False)]
    undone = undisguised(plain, names)
    found += [Reading(undone, disguised=True)] if undone != plain else []
    found += [Reading(seen(blob), disguised=True) for blob in decoded_blobs(plain)]
    found += [Reading(other, disguised=True, in_words=True) for other in _in_other_letters(plain)]
    known: dict[str, Reading] = {}
    for reading in found:
        known.setdefault(reading.text, reading)
    return tuple(known.values())


def seen(line: str) -> str:
    """One form for each character, nothing nobody sees, few blanks together, and letters that only look Latin as the Latin ones."""
    parts, at = [], 0
    for hidden in unseen(line):
        parts.append(line[at : hidden.start])
        at = hidden.end
    plain = few_blanks(unicodedata.normalize("NFKC", "".join([*parts, line[at:]])))
    if plain.isascii():
        return plain[:MOST_READ]
    return _WORD.sub(lambda word: _latin(word[0]), plain[:MOST_READ])


def outgrows(line: str, names: Mapping[str, str]) -> bool:
    """Whether a line comes to more than is read of it, by its variables or by characters that stand for many."""
    if len(line) * _MOST_GROWN <= MOST_READ:
        return False
    plain = seen(line)
    return max(len(plain), len(_filled(plain, names))) >= MOST_READ


def few_blanks(text: str) -> str:
    """A text without long runs of blanks, which mean no more than short ones and cost every pattern that lets some stand."""
    return _MANY_BLANKS.sub("   ", text)


def has_many_blanks(text: str) -> bool:
    """Whether there are such runs in a text."""
    return _MANY_BLANKS.search(text) is not None


def _in_other_letters(plain: str) -> Iterator[str]:
    """What a line says without accents, with letters for the figures in its words, and as it says itself that it is to be read."""
    folded = _MIXED.sub(lambda word: word[0].translate(_FIGURES), _without_accents(plain))
    if folded != plain:
        yield folded
    if _ROTATED.search(plain):
        yield codecs.encode(plain, "rot13")
    if _BACKWARDS.search(plain):
        yield plain[::-1]


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    parted = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", _ACCENTED.sub(r"\1", parted))


def lookalike(word: str) -> bool:
    """Whether a word mixes Latin letters with others that look like Latin ones, and nothing else."""
    return not word.isascii() and _latin(word) != word


def words(line: str) -> Iterator[str]:
    return (match[0] for match in _WORD.finditer(line))


def _latin(word: str) -> str:
    parts = re.split(r"([-'])", word)
    return "".join(_latin_part(part) for part in parts)


def _latin_part(part: str) -> str:
    if part.isascii() or not any("a" <= char.casefold() <= "z" or char in _SMALL_CAPITALS for char in part):
        return part
    folded = part.translate(_LOOKALIKES)
    return folded if folded.isascii() else part


def undisguised(line: str, names: Mapping[str, str]) -> str:
    """A line with escapes spelt, pieces joined, variables filled in and needless quotes gone."""
    made = _ECHOED.sub(r"\1", _BLANK.sub(" ", _filled(line, names)[:MOST_READ]))
    made = _BRACED.sub(lambda match: match[1].replace(",", " "), made)
    made = _PLUS.sub("", made)
    made = _WHOLE.sub(r"\2", _LISTED.sub(" ", made))
    made = _QUOTED.sub("", _NOTHING.sub("", _BEGUN.sub(r"\2", made)))
    return few_blanks(_SPACED.sub(_joined_letters, made))


def _filled(line: str, names: Mapping[str, str]) -> str:
    made = _ESCAPES.sub(lambda run: unescaped(run[0]), line)
    made = _CODES.sub(lambda run: _from_codes(_CODE.findall(run[0])), made)
    made = _CHAR_CODES.sub(lambda run: _from_codes(re.findall(r"0x[0-9a-fA-F]{2}|\d{2,3}", run[1])), made)
    made = _REVERSED.sub(lambda match: (match[2] or match[4] or match[6])[::-1], made)
    return _NAMED.sub(lambda match: names.get(match[1] or match[2], match[0]), made)


def _joined_letters(match: re.Match[str]) -> str:
    return re.sub(r"[ .*_-]", "", match[0])


def unescaped(run: str) -> str:
    """What a run of escapes spells."""
    return _ONE_ESCAPE.sub(lambda escape: _char(escape[0]), run)


def _char(escape: str) -> str:
    digits = escape.lstrip("\\&#%").rstrip(";").strip("{}")
    if escape.startswith("%"):
        code = int(digits, 16)
    elif digits[:1] in "xuU":
        code = int(digits[1:].strip("{}"), 16)
    elif escape.startswith("&"):
        code = int(digits)
    else:
        code = int(digits, 8)
    return chr(code) if 0x20 <= code < 0x7F else escape


def spelt_letters(line: str) -> str:
    """The plain letters that runs of escapes in a line spell; nobody needs escapes for those."""
    spelt = [unescaped(run[0]) for run in _ESCAPES.finditer(line) if not run[0].startswith("%")]
    return " ".join(word for word in spelt if len(re.findall(r"[A-Za-z]", word)) >= 3 and "\\" not in word)


def _from_codes(codes: list[str]) -> str:
    values = [int(code, 16) if code.startswith("0x") else int(code) for code in codes]
    return "".join(chr(value) for value in values if 0x20 <= value < 0x7F)


def decoded_blobs(line: str) -> Iterator[str]:
    """What base64 and hexadecimal texts in a line say, where they say something readable."""
    for match in _BLOB.finditer(line):
        body = match[0].rstrip("=").replace("-", "+").replace("_", "/")
        yield from _readable(_from_base64(body + "=" * (-len(body) % 4)))
    for match in _HEX_BLOB.finditer(line):
        yield from _readable(bytes.fromhex(match[0]))


def _from_base64(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except binascii.Error:
        return b""


def _readable(content: bytes) -> list[str]:
    text = content.decode(errors="replace")
    is_text = "\ufffd" not in text and all(char.isprintable() or char in "\n\t" for char in text)
    return text.splitlines() if is_text and len(text) >= _LEAST_READABLE else []
