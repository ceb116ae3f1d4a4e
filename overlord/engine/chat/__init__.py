"""The chat: requests are carried out, and what is shown there is kept up to date."""
