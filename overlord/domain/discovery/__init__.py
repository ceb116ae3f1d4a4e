"""Discovery: what a project is and wants, as questions that documents, code and a person answer."""
