"""The Minion: the coding agent of one session. It knows nothing of Overlord but the session API it was given."""
