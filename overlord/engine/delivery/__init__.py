"""What passed becomes a pull request, and what is said of it the next round."""
