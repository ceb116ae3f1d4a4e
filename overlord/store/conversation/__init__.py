"""What people said at pull requests and to jobs."""
