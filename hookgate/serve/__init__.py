"""The gateway as a program that is left alone."""
