"""A contract as one text that the operator or Overlord wrote, held against the constitution (`rules/registry.py`)."""

from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.reading import parse_files, read_contract


def parse_contract(text: str, source: str) -> Contract:
    """Read a contract's YAML, of either version; raises ContractError with every key that is wrong."""
    return parse_files({source: text.encode(errors="surrogatepass")})


def load_contract(text: str, source: str) -> Contract:
    """Parse a contract and hold it against the constitution; raises ContractError naming each broken rule."""
    return read_contract({source: text.encode(errors="surrogatepass")})
