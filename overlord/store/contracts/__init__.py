"""What a job keeps of its contract: the contract itself, the artifacts of its plan, what its roles were told."""
