"""The HTTP API, `/api/v1`: every query and verb as JSON, for programs that come with an access token."""
