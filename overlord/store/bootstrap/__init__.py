"""What is kept of issues that people want opened, of discoveries, and of proposed contracts."""
