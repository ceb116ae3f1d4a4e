"""Sessions as services of a Docker Swarm: the engines place them on their nodes, we ask for them and look what became of them."""
