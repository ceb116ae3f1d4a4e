"""What a cycle decides: each part looks at one view of the portfolio and says what is to be done; nothing here does it."""
