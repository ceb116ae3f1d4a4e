"""What people are shown, before any interface renders it."""
