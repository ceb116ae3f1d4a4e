"""What a repository's commands run in: found out from its files, or said by them."""
