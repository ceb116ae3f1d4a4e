"""The contract at work: whose turn it is, what has to be so, who is asked."""
