"""What only a swarm does: nodes that are lost, drained, cut off; engines that manage none. On a lab of real engines."""
