"""`overlord init` at a terminal: a repository to begin in, the architect's questions, and the contract in the user's editor."""
