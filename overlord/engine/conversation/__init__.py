"""What people write at issues and pull requests: processed and answered."""
