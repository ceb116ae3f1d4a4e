"""The session API for sessions on other machines: one TLS listener, a token for each session."""
