"""Secrets as they look: tokens with a shape of their own are found for certain, values that merely look random are guessed.

Found ones are never shown again: what goes into findings and to people is redacted here first.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_SHAPES: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (kind, hints, re.compile(pattern))
    for kind, hints, pattern in (
        (
            "private key",
            ("PRIVATE KEY",),
            r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----",
        ),
        (
            "GitHub token",
            ("gh", "github_pat_"),
            r"\b(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{40,255})",
        ),
        ("Overlord token", ("ovl_",), r"\bovl_[A-Za-z0-9_-]{43}"),
        ("GitLab token", ("glpat-",), r"\bglpat-[A-Za-z0-9_-]{20,255}"),
        (
            "Slack token",
            ("xox", "xapp-"),
            r"\b(?:xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,255}|xapp-[0-9]-[A-Za-z0-9-]{10,255})",
        ),
        (
            "Slack webhook",
            ("hooks.slack",),
            r"\bhooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,255}",
        ),
        ("AWS key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
        (
            "Google key",
            ("AIza", "GOCSPX-", "ya29."),
            r"\b(?:AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{30,255})",
        ),
        ("Anthropic key", ("sk-ant-",), r"\bsk-ant-[A-Za-z0-9_-]{20,255}"),
        (
            "OpenAI key",
            ("sk-",),
            r"\bsk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,255}|[A-Za-z0-9]{32,255}\b)",
        ),
        ("Stripe key", ("k_live_", "whsec_"), r"\b(?:[sr]k_live_|whsec_)[A-Za-z0-9]{20,255}"),
        ("npm token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
        ("PyPI token", ("pypi-AgE",), r"\bpypi-AgE[A-Za-z0-9_-]{40,255}"),
        ("Hugging Face token", ("hf_",), r"\bhf_[A-Za-z0-9]{30,255}\b"),
        ("SendGrid key", ("SG.",), r"\bSG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"),
        ("Telegram token", (":AA",), r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b"),
        (
            "JSON web token",
            ("eyJ",),
            r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,1000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}",
        ),
    )
)
"""Kind, words without which there is none (most text is done with in no time), and shape."""
_NAMES = ("passw", "passphrase", "secret", "token", "credential", "key")
_ASSIGNED = re.compile(
    r"(?i)(?:passw(?:or)?d|passphrase|secret|token|credential|api_?-?key|access_?-?key|private_?-?key)\w{0,20}"
    r"[\"']?\s{0,8}(?:=>|:=|[:=])\s{0,8}[\"']([^\"'\s]{16,200})[\"']"
)
_SIGNED_IN = re.compile(r"://[^\s/:@\"']{1,100}:([^\s/:@\"'{}$<>]{6,200})@")
_PLACEHOLDER = re.compile(r"(?i)example|placeholder|changeme|your[_-]|dummy|redacted|\{\{|\$\{|<|%\(")
_LEAST_CHARACTERS = 8
"""A token of fewer different characters (`ghp_xxxxxxxx…`) after its prefix stands for one and is none."""
_PREFIX = 6
_RANDOM_BITS = 3.5
"""Shannon entropy of a character above which a value looks random; English words stay below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A value that is, or looks like, a secret."""

    kind: str
    value: str
    certain: bool


def find_secrets(text: str) -> Iterator[Secret]:
    """Every secret of a known shape, then the values that look like one."""
    known = [
        Secret(kind=kind, value=match[0], certain=True)
        for kind, hints, pattern in _SHAPES
        if any(hint in text for hint in hints)
        for match in pattern.finditer(text)
        if kind == "private key" or _is_real(match[0])
    ]
    yield from known
    for match in _guesses(text):
        value = match[1]
        is_real = _PLACEHOLDER.search(value) is None and _looks_random(value)
        if is_real and not any(value in item.value or item.value in value for item in known):
            yield Secret(kind="random-looking value", value=value, certain=False)


def redacted(text: str) -> str:
    """The text without the secrets in it: their first characters stay, so that an owner knows them again."""
    for secret in find_secrets(text):
        text = text.replace(secret.value, _hint(secret))
    return text


def _guesses(text: str) -> Iterator[re.Match[str]]:
    folded = text.casefold()
    if any(name in folded for name in _NAMES):
        yield from _ASSIGNED.finditer(text)
    if "://" in text:
        yield from _SIGNED_IN.finditer(text)


def _is_real(value: str) -> bool:
    beyond_prefix = set(value[_PREFIX:])
    return _PLACEHOLDER.search(value) is None and len(beyond_prefix) >= _LEAST_CHARACTERS


def _looks_random(value: str) -> bool:
    counts = Counter(value)
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return bits > _RANDOM_BITS and any(char.isdigit() for char in value)


def _hint(secret: Secret) -> str:
    shown = secret.value[:4] if secret.certain and secret.kind != "private key" else ""
    return f"{shown}[{secret.kind}, {len(secret.value)} characters, not shown]"
