"""Skills at base, their drafts, and pull requests that change them."""
