"""hookgate as an agent in editors: the Agent Client Protocol on stdin and stdout."""
