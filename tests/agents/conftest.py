"""The real programs are downloads of hundreds of megabytes: they are tried where REAL_AGENTS names them (`make real-agents`), and are
no part of a run that does not. There an image that is missing is a failure."""

from tests.agents.plays import asked_for

collect_ignore = [] if asked_for() else ["test_real_agents.py", "test_real_clients.py"]
