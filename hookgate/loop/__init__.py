"""What hookgate does with a message: read this folder from agent to gateway."""
