"""Chat completions: a request as it comes, the answer as it goes."""
