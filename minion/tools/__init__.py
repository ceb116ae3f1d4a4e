"""What a model can do in a session. A tool that cannot do what it was asked says so in a sentence; it never crashes."""
