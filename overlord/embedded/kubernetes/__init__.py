"""A Kubernetes cluster in a box: the API of the resources that sessions need, and nodes that run Pods as processes of this machine."""
