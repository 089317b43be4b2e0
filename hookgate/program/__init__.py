"""One run of the program: how it starts, what signals do to it, what ends it."""
