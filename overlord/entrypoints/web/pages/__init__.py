"""What each page shows: values read in one look, and the template that shows them."""
