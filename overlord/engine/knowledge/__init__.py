"""Knowledge at work: what briefs are told, what is answered from it, what is distilled from jobs."""
