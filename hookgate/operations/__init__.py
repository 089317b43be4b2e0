"""What an operator may ask of a running hookgate: one function each, whoever asks."""
