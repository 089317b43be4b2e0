"""`hookgate hooks` and `config check`: looking at hooks, putting one to the test."""
