"""What only somebody at this prompt can ask for by a slash: the commands, and lines that look like one."""
