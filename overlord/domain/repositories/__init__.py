"""What is known of a repository at the forge, and how much of it is fetched."""
