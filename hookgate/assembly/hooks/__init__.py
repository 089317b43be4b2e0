"""The hooks of a running hookgate, in the order in which they are asked."""
