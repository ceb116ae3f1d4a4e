"""What came up again is proposed, and what a person approved is opened."""
