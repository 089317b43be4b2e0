"""A channel for programs: messages that come in by signed requests, and what is said that goes to an address."""
