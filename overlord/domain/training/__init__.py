"""Training data: what a trainer's two sessions propose, the gate of code that decides what is kept, and the forms that trainers read."""
