"""`hookgate config`: whether the file can be used, and what of what changed is to be believed."""
