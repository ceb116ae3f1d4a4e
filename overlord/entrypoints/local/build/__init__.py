"""What `overlord build` and `overlord fix` have beyond a run: documents as requirements, the plan of execution, what failed, merging back."""
