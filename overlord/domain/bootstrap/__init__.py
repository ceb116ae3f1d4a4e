"""The start of a governed project: what a repository is, and the contract that an architect proposes for it."""
