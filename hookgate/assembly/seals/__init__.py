"""Whether what hookgate starts and believes is what a person left there."""
