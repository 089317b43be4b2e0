"""Slack: the Web API over HTTP, events by Socket Mode or HTTP."""
