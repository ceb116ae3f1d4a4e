"""`init`: an architect asks, writes vision and architecture, and proposes the contract that a person confirms."""
