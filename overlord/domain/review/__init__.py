"""The model's review: what it is asked, the rubric, the only form of answer that counts."""
