"""Files of the workspace: which may be touched, reading, replacing, listing, what has changed."""
