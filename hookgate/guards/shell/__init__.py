"""Judges a shell command line by what it is parsed into. No sandbox: what a script does when it runs stays unseen."""

from hookgate.guards.shell.guard import ShellGuard
from hookgate.guards.shell.policy import Profile, Refusal, judge

__all__ = ["Profile", "Refusal", "ShellGuard", "judge"]
