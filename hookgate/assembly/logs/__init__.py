"""Where what happened is written."""
