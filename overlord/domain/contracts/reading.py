"""A contract as a repository writes it: one file of `.nebulus/contract/`, or two."""

from collections.abc import Mapping

from overlord.domain.contracts.constitution import load_contract
from overlord.domain.contracts.contract import Contract
from overlord.errors import ContractError

CONTRACT_DIR = ".nebulus/contract"


def read_contract(files: Mapping[str, bytes]) -> Contract:
    """Raises ContractError."""
    path = f"{CONTRACT_DIR}/contract.yaml"
    if path not in files:
        raise ContractError(f"{CONTRACT_DIR} has no contract.yaml")
    return load_contract(files[path].decode(errors="replace"), path)
