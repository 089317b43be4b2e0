"""Claude Code's command hooks behind one hook process: programs that are run once a call, with JSON on stdin."""
