"""The tools of a running hookgate, from every source."""
