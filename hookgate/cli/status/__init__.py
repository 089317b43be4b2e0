"""`hookgate status`: how a running gateway is."""
