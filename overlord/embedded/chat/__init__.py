"""A Slack-shaped chat: the Web API, Socket Mode, signed deliveries, people who command and click, and a page to talk on."""
