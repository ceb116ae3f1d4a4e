"""What is said at issues and pull requests, by people and to them."""
