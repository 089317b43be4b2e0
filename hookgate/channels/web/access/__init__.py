"""Who may talk to a web channel: passwords, logins, and where a request may come from."""
