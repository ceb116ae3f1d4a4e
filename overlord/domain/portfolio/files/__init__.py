"""The portfolio's files: where each lies, what people's say, and what Overlord writes into its own. Pure: nothing is read or written."""
