"""Issues with the files that a good fix of each writes, over real layouts: see README.md beside this."""
