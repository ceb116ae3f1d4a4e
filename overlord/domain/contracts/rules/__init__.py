"""The constitution: rules that no contract can relax, and how a contract is held against those its text can break."""
