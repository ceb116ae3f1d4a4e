"""One module a verb: its name is the verb's, its docstring the verb's help, `VERB` the declaration."""
