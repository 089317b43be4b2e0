"""What hookgate keeps from its own tools, and whether it still is what a person left there."""
