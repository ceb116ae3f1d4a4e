"""The files a repository's contract is written in: `.nebulus/contract/contract.yaml`, or `team.yaml` and `phases.yaml` beside each other."""

from collections.abc import Mapping
from typing import Any

import yaml

from overlord.domain.contracts.constitution import load_contract
from overlord.domain.contracts.contract import Contract
from overlord.domain.text.plain_yaml import load_yaml
from overlord.domain.text.problem import yaml_problem
from overlord.errors import ContractError

FOLDER = ".nebulus/contract"
WHOLE = "contract.yaml"
PAIR = ("team.yaml", "phases.yaml")
PATHS = tuple(f"{FOLDER}/{name}" for name in (WHOLE, *PAIR))
MOST_BYTES = 1_000_000


def load_contract_files(files: Mapping[str, bytes], source: str) -> Contract:
    """The contract in these files, by their paths. Raises ContractError where they are none, in words for people."""
    texts = {path.rpartition("/")[2]: text_of(content, path) for path, content in files.items()}
    pair = [name for name in PAIR if name in texts]
    if WHOLE in texts and pair:
        raise ContractError(f"{source} has {WHOLE} and {pair[0]}: keep the one file, or the two others")
    if WHOLE in texts:
        return load_contract(texts[WHOLE], source)
    if len(pair) == 1:
        other = next(name for name in PAIR if name not in pair)
        raise ContractError(f"{source} has {pair[0]} and no {other}: write both, or all of it in {WHOLE}")
    if not pair:
        raise ContractError(f"{source} has no {WHOLE}, and not {PAIR[0]} and {PAIR[1]} either")
    return load_contract(_joined({name: texts[name] for name in PAIR}, source), source)


def _joined(texts: Mapping[str, str], source: str) -> str:
    """Two files as one. Raises ContractError for a key that both have."""
    whole: dict[Any, Any] = {}
    for name, text in texts.items():
        try:
            document = load_yaml(text)
        except yaml.YAMLError as error:
            raise ContractError(f"{source}: {name} is not YAML: {yaml_problem(error)}") from None
        if not isinstance(document, dict):
            raise ContractError(
                f"{source}: {name} has no keys; {PAIR[0]} has the roles, {PAIR[1]} the phases"
            )
        if twice := whole.keys() & document.keys():
            raise ContractError(f"{source}: {min(map(str, twice))} stands in both files; keep it in one")
        whole |= document
    return yaml.safe_dump(whole, sort_keys=False, allow_unicode=True)


def text_of(content: bytes, path: str) -> str:
    """A file of a contract as text. Raises ContractError for one that is none, or too long."""
    if len(content) > MOST_BYTES:
        raise ContractError(f"{path} is larger than {MOST_BYTES:,} bytes; a contract is a page or two")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ContractError(f"{path} is not UTF-8: save it as text in that encoding") from None
