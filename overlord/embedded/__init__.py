"""The world in a box: GitHub- and OpenAI-shaped servers that run the demo and hold up the tests."""
