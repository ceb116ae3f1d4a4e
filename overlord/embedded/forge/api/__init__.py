"""The embedded forge on the wire: GitHub's operations, shapes, errors and limits."""
