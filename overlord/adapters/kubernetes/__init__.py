"""Sessions as Jobs of a Kubernetes cluster, each in a Pod behind the walls of `pod.py`."""
