"""Responses, after Open Responses: a request as it comes, what it says, the answer as it goes."""
