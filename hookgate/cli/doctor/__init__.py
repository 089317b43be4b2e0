"""`hookgate doctor`: what is there, what is missing, and what to type; a module for each group of checks."""
