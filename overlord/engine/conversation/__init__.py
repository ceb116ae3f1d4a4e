"""What people say at issues and pull requests, heard and answered."""
