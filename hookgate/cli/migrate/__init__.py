"""`hookgate migrate`: another gateway's configuration as hookgate's."""
