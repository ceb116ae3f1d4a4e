"""The one way out, over real sockets."""
