"""What a job's sessions may write, and who said so."""
