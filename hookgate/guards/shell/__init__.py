"""Judges a shell command line by what it is parsed into. No sandbox: what a script does when it runs stays unseen."""
